"""``python -m treemeans``: the main job, on data that comes with scikit-learn."""

from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treemeans import ExKMC, export_text


def main() -> None:
    """Cluster the wines of three growers, and print the tree and what each size of it costs."""
    wines = load_wine()
    reference = make_pipeline(StandardScaler(), KMeans(3, n_init=10, random_state=0))
    model = ExKMC(n_clusters=3, max_leaf_nodes=8, reference=reference).fit(wines.data)
    print(f"{len(wines.data)} wines, {wines.data.shape[1]} measurements, clustered on scaled data;")
    print("the rules are in the units of the measurements:\n")
    print(export_text(model.with_leaves(3).tree_, wines.feature_names))
    print("\nMore leaves come closer to k-means:\n")
    print("leaves   cost / k-means   rows as in k-means")
    for row in model.path_:
        print(f"{row['n_leaves']:6}   {row['ratio']:14.4f}   {row['accuracy']:18.1%}")


if __name__ == "__main__":
    main()
