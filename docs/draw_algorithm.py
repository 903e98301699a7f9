"""Draws the pictures of algorithm.md, and that of howto/choose.md. Needs matplotlib."""

import io
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs

from treemeans import ExKMC, plot_path, plot_regions
from treemeans.tree_layout.colors import ink

FOLDER = Path(__file__).with_name("pictures")
COLORS = [ink(cluster) for cluster in range(4)]
N_BINS = 12


def points():
    """Slanted groups, which a few splits along the axes do not separate well."""
    X, _ = make_blobs(
        [70, 70, 70, 70], centers=[[2, 2], [5, 4.5], [8, 2.5], [5.2, 8]], cluster_std=1.35,
        random_state=3,
    )  # fmt: skip
    return X @ np.array([[1.0, 0.35], [-0.3, 1.0]]) + [4.0, 0.0]


def save(figure, name):
    """Write a picture in few colours."""
    content = io.BytesIO()
    figure.savefig(content, dpi=110)
    plt.close(figure)
    few_colors = Image.open(content).convert("RGB").quantize(128)
    few_colors.save(FOLDER / name, optimize=True)


def bare(ax):
    """Axes without the upper and the right line of their frame."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def costs_of(X, centers):
    """The table of costs: squared distances of rows to centers."""
    return ((X[:, None] - centers) ** 2).sum(axis=2)


def draw_tables(X, kmeans):
    """Features, costs and regrets of a few rows."""
    rows = np.random.default_rng(2).choice(len(X), 7, replace=False)
    costs = costs_of(X[rows], kmeans.cluster_centers_)
    tables = {
        "features: what is cut": (X[rows], ["x0", "x1"]),
        "costs: to each center": (costs, ["0", "1", "2", "3"]),
        "regrets: costs less the lowest": (
            costs - costs.min(axis=1, keepdims=True),
            ["0", "1", "2", "3"],
        ),
    }
    figure, axes = plt.subplots(
        1, 3, figsize=(9, 3.1), layout="constrained", width_ratios=[2, 4, 4]
    )
    for ax, (title, (table, names)) in zip(axes, tables.items(), strict=True):
        shade = np.full(table.shape, np.nan) if ax is axes[0] else np.sqrt(table)
        ax.imshow(shade, cmap="Blues", aspect="auto", vmin=0, vmax=18)
        for (i, j), value in np.ndenumerate(table):
            color = "white" if shade[i, j] > 10 else "black"
            ax.text(j, i, f"{value:.1f}", ha="center", va="center", color=color, fontsize=9)
        ax.set_xticks(range(len(names)), names)
        ax.set_yticks([])
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.set_title(title, fontsize=10)
        ax.spines[:].set_color("0.8")
    save(figure, "tables.png")


def mistakes(X, labels, centers, feature):
    """Rows on the other side of a threshold than their center, for every threshold that parts."""
    values = np.sort(X[:, feature])
    thresholds = (values[:-1] + values[1:]) / 2
    c = centers[:, feature]
    thresholds = thresholds[(thresholds >= c.min()) & (thresholds < c.max())]
    own = c[labels]
    counts = [((X[:, feature] <= t) != (own <= t)).sum() for t in thresholds]
    return thresholds, np.array(counts)


def draw_mistakes(X, kmeans):
    """The first cut of IMM."""
    centers, labels = kmeans.cluster_centers_, kmeans.labels_
    curves = [mistakes(X, labels, centers, feature) for feature in (0, 1)]
    best = min((0, 1), key=lambda f: curves[f][1].min())
    cut = curves[best][0][curves[best][1].argmin()]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    wrong = (X[:, best] <= cut) != (centers[labels, best] <= cut)
    for c in range(len(centers)):
        left.scatter(*X[labels == c].T, s=9, color=COLORS[c])
    left.scatter(*X[wrong].T, s=60, facecolors="none", edgecolors="black", linewidths=1.2)
    left.scatter(*centers.T, s=110, marker="P", color=COLORS[:4], edgecolors="black")
    (left.axvline if best == 0 else left.axhline)(cut, color="black")
    bare(left).set(xlabel="x0", ylabel="x1", title=f"x{best} <= {cut:.2f} parts {wrong.sum()} rows")
    for feature, color in ((0, "0.6"), (1, "0.15")):
        right.plot(*curves[feature], drawstyle="steps-mid", color=color, label=f"x{feature}")
    right.plot(cut, curves[best][1].min(), "o", color="black")
    bare(right).set(xlabel="threshold", ylabel="mistakes", title="every threshold between centers")
    right.legend(frameon=False)
    save(figure, "mistakes.png")


def draw_expansion(model, X):
    """The cells of the tree as it grows."""
    figure, axes = plt.subplots(2, 2, figsize=(9, 7.4), layout="constrained")
    sizes = [4, 5, 6, 8]
    for ax, size in zip(axes.flat, sizes, strict=True):
        now = model.with_leaves(size)
        plot_regions(now, X, ax=ax)
        ax.get_legend().remove()
        ratio = now.path_["ratio"][-1]
        ax.set_title(f"{size} leaves, {ratio:.3f} times the cost of k-means", fontsize=10)
    save(figure, "expansion.png")


def draw_bound(X, kmeans):
    """Every cut of one leaf on one feature, and what the coarse bins know of them."""
    regrets = costs_of(X, kmeans.cluster_centers_)
    regrets -= regrets.min(axis=1, keepdims=True)
    order = np.argsort(X[:, 0])
    values, sums = X[order, 0], np.cumsum(regrets[order], axis=0)
    total = sums[-1]
    cost = sums.min(axis=1) + (total - sums).min(axis=1)  # of a cut after each row
    edges = np.linspace(0, len(X), N_BINS + 1).astype(int)[1:] - 1
    best_edge = cost[edges[:-1]].min()
    figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
    before, start = np.zeros(4), values[0]
    for edge in edges:
        bound = before.min() + (total - sums[edge]).min()
        alive = bound <= best_edge
        color = COLORS[1] if alive else "0.75"
        ax.plot([start, values[edge]], [bound, bound], color=color, linewidth=3)
        if alive:
            ax.axvspan(start, values[edge], color=COLORS[1], alpha=0.15, linewidth=0)
        before, start = sums[edge], values[edge]
    ax.plot(
        values[:-1], cost[:-1], color="0.2", linewidth=1, label="cost after a cut at each value"
    )
    ax.plot(values[edges[:-1]], cost[edges[:-1]], "o", color=COLORS[0], label="between two bins")
    ax.axhline(best_edge, color=COLORS[0], linestyle=":", label="best cut between two bins")
    ax.plot([], [], color="0.75", linewidth=3, label="no cut in this bin costs less")
    ax.plot([], [], color=COLORS[1], linewidth=3, label="the same, bin still to be searched")
    at = cost[:-1].argmin()
    ax.plot(values[at], cost[at], "*", color="black", markersize=13, label="best cut of all")
    bare(ax).set(xlabel="x0", ylabel="surrogate cost beyond k-means")
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, "bound.png")


def draw_refinement():
    """As many leaves: as grown, with every cut chosen again, and after a search."""
    X, _ = make_blobs(300, centers=5, cluster_std=1.5, center_box=(0, 12), random_state=4)
    kmeans = KMeans(5, n_init=10, random_state=0).fit(X)
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.1), layout="constrained", sharey=True)
    for ax, refine in zip(axes, ("none", "local", "search"), strict=True):
        model = ExKMC(
            5, max_leaf_nodes=6, reference=kmeans, refine=refine, search_rounds=200, random_state=0
        ).fit(X)
        plot_regions(model, X, ax=ax)
        ax.get_legend().remove()
        ax.label_outer()
        ax.set_title(f'"{refine}": {model.path_["ratio"][-1]:.3f}', fontsize=10)
    save(figure, "refinement.png")


def draw_gap(model, short, X):
    """The gap around the first threshold, and the number that rounding takes."""
    tree = model.tree_
    feature, (low, high) = int(tree.feature[0]), tree.gap[0]
    width = high - low
    near = X[np.abs(X[:, feature] - (low + high) / 2) < 6 * width, feature]
    figure, ax = plt.subplots(figsize=(9, 1.7), layout="constrained")
    ax.axvspan(low, high, color=COLORS[2], alpha=0.2, linewidth=0)
    ax.plot(near, np.zeros(len(near)), "|", color="0.2", markersize=16, markeredgewidth=1.5)
    for x, name, side in (
        (tree.threshold[0], "half way", -1),
        (short.tree_.threshold[0], "rounded", 1),
    ):
        ax.plot([x, x], [0, 0.7 * side], color=COLORS[1 if side > 0 else 0])
        ax.text(x, 0.75 * side, f"{name}: {float(x):.6g}", ha="center",
                va="bottom" if side > 0 else "top", fontsize=9)  # fmt: skip
    ax.set(ylim=(-1.9, 1.9), yticks=[], xlabel=f"x{feature}")
    ax.spines[["top", "right", "left"]].set_visible(False)
    save(figure, "gap.png")


def corners(box, least, most):
    """The corners of a box, as far as the picture goes."""
    sides = [(feature, box[feature]) for feature in (0, 1) if feature in box]
    lows, highs = list(least), list(most)
    for feature, side in sides:
        lows[feature] = max(side.above, lows[feature])
        highs[feature] = min(side.upto, highs[feature])
    return lows, highs


def draw_rules(model, X):
    """The leaves of a cluster, and the boxes they are merged into."""
    tree = model.tree_
    leaves = np.bincount(tree.label[tree.leaves], minlength=4)
    rules = model.rules()
    cluster = max(range(4), key=lambda c: leaves[c] - len(rules[c]))
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.9), layout="constrained", sharex=True, sharey=True
    )
    plot_regions(model, X, ax=left, reference=False)
    left.get_legend().remove()
    left.set_title(f"cluster {cluster} has {leaves[cluster]} leaves", fontsize=10)
    (x0, x1), (y0, y1) = left.get_xlim(), left.get_ylim()
    for rule, color in zip(rules[cluster], COLORS, strict=False):
        lows, highs = corners(rule.box, (x0, y0), (x1, y1))
        width, height = highs[0] - lows[0], highs[1] - lows[1]
        right.add_patch(plt.Rectangle(lows, width, height, facecolor=color, alpha=0.3))
        right.add_patch(plt.Rectangle(lows, width, height, fill=False, edgecolor=color, lw=2.5))
    mine = model.labels_ == cluster
    right.scatter(*X[~mine].T, s=6, color="0.75")
    right.scatter(*X[mine].T, s=9, color="0.15")
    text = "\nor ".join(str(rule) for rule in rules[cluster])
    bare(right).set_title(text, fontsize=9)
    right.set(xlabel="x0")
    save(figure, "rules.png")


def draw_path():
    """The price of each number of leaves."""
    model = ExKMC(10, max_leaf_nodes=40, random_state=0).fit(load_digits().data)
    save(plot_path(model).figure, "path.png")


def main():
    """All of them."""
    mpl.use("Agg")
    FOLDER.mkdir(exist_ok=True)
    X = points()
    kmeans = KMeans(4, n_init=10, random_state=0).fit(X)
    model = ExKMC(4, max_leaf_nodes=9, reference=kmeans).fit(X)
    short = ExKMC(4, max_leaf_nodes=9, reference=kmeans, round_thresholds=True).fit(X)
    draw_tables(X, kmeans)
    draw_mistakes(X, kmeans)
    draw_expansion(model, X)
    draw_bound(X, kmeans)
    draw_refinement()
    draw_gap(model, short, X)
    draw_rules(short, X)
    draw_path()


if __name__ == "__main__":
    main()
