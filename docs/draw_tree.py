"""Draws docs/tree.png, the picture in the README. Needs matplotlib."""

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treemeans import ExKMC, ThresholdTree

COLOURS = ("#8fbcd4", "#f2c078", "#a8c69f")


def places(tree: ThresholdTree) -> dict[int, tuple[float, float]]:
    """Leaves side by side, every inner node above the middle of its children."""
    depth = tree.depth
    found: dict[int, tuple[float, float]] = {}
    column = 0
    stack = [(0, False)]
    while stack:
        node, children_done = stack.pop()
        if tree.is_leaf[node]:
            found[node] = (column, -float(depth[node]))
            column += 1
        elif children_done:
            x = (found[tree.left[node]][0] + found[tree.right[node]][0]) / 2
            found[node] = (x, -float(depth[node]))
        else:
            stack += [(node, True), (tree.right[node], False), (tree.left[node], False)]
    return found


def draw(tree: ThresholdTree, names: list[str], file: Path) -> None:
    """One box a node, one colour a cluster."""
    at = places(tree)
    figure, axes = plt.subplots(figsize=(9.6, 4.4), dpi=150)
    for node, (x, y) in at.items():
        if tree.is_leaf[node]:
            label = tree.label[node]
            text, colour = f"cluster {label}\n{tree.weight[node]:.0f} wines", COLOURS[label]
        else:
            name = names[tree.feature[node]].replace("_", " ")
            text, colour = f"{name}\n≤ {tree.threshold[node]:.4g}", "#f4f4f2"
            for child, word in ((tree.left[node], "yes"), (tree.right[node], "no")):
                cx, cy = at[child]
                axes.plot((x, cx), (y, cy), color="#9a9a9a", lw=1.2, zorder=1)
                axes.text(
                    (x + cx) / 2,
                    (y + cy) / 2,
                    word,
                    size=8,
                    ha="center",
                    va="center",
                    color="#666",
                    bbox={"fc": "white", "ec": "none", "pad": 1},
                    zorder=2,
                )
        axes.text(
            x,
            y,
            text,
            size=9.5,
            ha="center",
            va="center",
            zorder=3,
            bbox={"boxstyle": "round,pad=0.45", "fc": colour, "ec": "#777", "lw": 0.8},
        )
    axes.margins(0.12, 0.14)
    axes.axis("off")
    figure.savefig(file, bbox_inches="tight")


if __name__ == "__main__":
    mpl.use("Agg")
    wines = load_wine()
    reference = make_pipeline(StandardScaler(), KMeans(3, n_init=10, random_state=0))
    model = ExKMC(3, max_leaf_nodes=5, reference=reference).fit(wines.data)
    draw(model.tree_, wines.feature_names, Path(__file__).with_name("tree.png"))
