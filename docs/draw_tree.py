"""Draws docs/tree.png, the picture in the README. Needs matplotlib."""

from pathlib import Path

import matplotlib as mpl
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treemeans import ExKMC, plot_tree

if __name__ == "__main__":
    mpl.use("Agg")
    wines = load_wine()
    reference = make_pipeline(StandardScaler(), KMeans(3, n_init=10, random_state=0))
    model = ExKMC(3, max_leaf_nodes=5, reference=reference).fit(wines.data)
    names = [name.replace("_", " ") for name in wines.feature_names]
    axes = plot_tree(model, feature_names=names, fontsize=11)
    axes.figure.savefig(Path(__file__).with_name("tree.png"), dpi=150)
