"""ExKMC, the estimator: reference clustering, cost table, base tree, expansion."""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treemeans.fit_result import FitResult, measure
from treemeans.group_data import GroupData
from treemeans.growth import grow
from treemeans.growth.limited_growth import LimitedTree, grow_within_limits
from treemeans.limits import Limits
from treemeans.optimal.prove import ProofBudget, prove
from treemeans.partitioned.gather_rows import GatheredTable, gather
from treemeans.partitioned.map_reduce import PartitionedRows
from treemeans.partitioned.partitioned_fit import (
    PartitionedFitOptions,
    check_base,
    fit_partitioned,
    needs_one_memory,
)
from treemeans.partitioned.readers.dask_partitions import DaskPartitions, in_memory, is_dask
from treemeans.partitioned.readers.open_partitioned import as_partitioned
from treemeans.partitioned.tree_refinement.partitioned_refinement import RefineSettings
from treemeans.progress import Progress
from treemeans.reference import Reference, kind_of
from treemeans.reference.given_costs import warn_if_forbidden
from treemeans.reference.given_labels import is_labels
from treemeans.refine import Budget, refine
from treemeans.refine.limited_refinement import LimitedRefinement
from treemeans.renamed_parameters import DEPRECATED, given, warn_renamed
from treemeans.threads import n_threads
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree
from treemeans.tree_estimator import TreeEstimator
from treemeans.validation import (
    check_allowed_features,
    check_balance,
    check_base_tree,
    check_feature_costs,
    check_max_leaves,
    check_parameters,
    check_protected,
    check_weights_of_proof,
    tree_seed,
    without_protected,
)


class ExKMC(TreeEstimator):
    """Explainable k-means clustering with a threshold tree.

    A reference clustering gives ``n_clusters`` centers. A base tree with a leaf for each of them
    is built, then expanded leaf by leaf, always by the cut that lowers the *surrogate cost* (cost
    to the fixed reference centers) most. Every cut considers every value in the data. The method
    is ExKMC (Frost, Moshkovitz, Rashtchian 2020).

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters, k. None means that of ``reference``, or 8 without one.
    max_leaf_nodes : int, default=None
        Number of leaves, k' >= k; more leaves follow the reference more closely and make longer
        explanations. None means 2 k: in the paper's evaluation 2 k to 4 k leaves come within
        1-2 % of the cost of k-means on eleven of twelve data sets. The tree stops earlier once
        every leaf is pure.
    base_tree : str, ThresholdTree or fitted decision tree, default="imm"
        Where the expansion starts. Trees with one leaf for each center: ``"imm"`` (Iterative
        Mistake Minimization, the paper's), ``"emn"`` (the same, but cuts that part the centers
        evenly may make more mistakes), ``"exgreedy"`` (each cut leaves the least cost) and
        ``"random"`` (random cuts, the best of ``n_random_trees``). Trees with up to ``n_clusters``
        leaves: ``"kauri"`` (the largest drop in k-means cost first), ``"cart"`` (a decision tree
        on the reference's labels) and ``"kdtree"`` (median cuts). ``"none"``: a single leaf.
        ``"best"``: IMM, ExGreedy, EMN, Kauri and none, of which the cheapest after expansion is
        kept. Or the cuts of a given tree. Leaves carry the cheapest center, except those of a
        bare tree with a leaf for each center, which carry their own.
    reference : {"fast", "kmeans"}, clusterer, Pipeline, labels or centers, default=None
        The clustering to explain. None is ``"fast"``, which is `FastKMeans`: about the inertia of
        k-means with ten starts, on large tables in a twentieth to a quarter of the time.
        ``"kmeans"`` is the paper's ``KMeans(n_init=10, max_iter=300)``. Anything of one dimension
        (a list, an array, a series) holds one label of any kind for each row of X; -1, NaN and None
        are noise. An array of two dimensions holds centers, (n_clusters, d). Any clusterer will do:
        it is asked for ``cluster_centers_``, or else for ``labels_``; one that is fitted is used as
        it is, another is cloned and fitted (to keep a fitted one through ``clone`` or
        ``GridSearchCV``, wrap it in ``FrozenEstimator``). In a ``Pipeline`` that ends in one, costs
        are measured in the pipeline's space, while the tree cuts X itself, in raw units.
    cost : {"auto", "kmeans", "kmedians", "cosine", "labels"}, table or callable, default="auto"
        What it costs to put a row into a cluster. ``"kmeans"``: the squared distance to its
        center, which for labels is the mean of the group. ``"kmedians"``: the sum of absolute
        differences, to medians; the default reference is then `KMedians`. ``"cosine"``: one minus
        the cosine, to mean directions, with `SphericalKMeans`. ``"labels"``: 1 if the reference
        has the row in another cluster, so that the tree is a short description of these clusters.
        ``"auto"`` is ``"kmeans"``, but what `KMedians` and `SphericalKMeans` lower for these, and
        for a mixture (``GaussianMixture``) minus the logarithm of the responsibilities. A table
        (n_samples, n_clusters), or a function that makes one of X, is a reference by itself: a
        row's cluster is the cheapest. Its names of columns are those of the clusters. Negative
        costs are shifted so that the least is 0; an infinite one forbids a row to be in a cluster,
        and counts as more than all finite costs together where a tree is too small to keep all such
        rows apart.
    noise : {"ignore", "cluster"}, default="ignore"
        What becomes of rows that are labelled as noise: they are left out of the fit (as rows of
        weight 0, which still are in a leaf), or they are a cluster of their own.
    scale : {"auto", "none", "standard", "robust", "log", "rank"}, default="auto"
        How numbers are scaled before they are clustered, if ``reference`` is no pipeline; the
        tree cuts X itself, in raw units. ``"auto"`` clusters a table of numbers as it is. In a
        table with categories, dates or missing values it standardises numbers, and takes their
        logarithm or rank first where they are skewed; ``print(model.preparation_)`` says what it
        chose. Flags and categories are 0 and 1 in any case.
    refine : {"none", "local", "search", "optimal"}, default="none"
        How the k-means cost of the grown tree is lowered, at the same number of leaves.
        ``"none"`` is the paper's tree. ``"local"`` chooses every split again with the rest of the
        tree fixed and moves the centers to the means of the tree's clusters, twice, or
        once if that saves less than 0.1 %. ``"search"`` also removes parts of the
        tree and grows them differently (simulated annealing, from several base trees): it often
        halves what the tree costs above k-means, in seconds. Large tables are searched on a
        weighted sample, and the result is optimized on all rows. No refined tree costs more than
        the one it came from (``inertia_``, and the prices of its cuts if there are
        ``feature_costs``); it may have fewer leaves, if more would save nothing.
        ``"optimal"`` searches, then proves by branch and bound how good the tree is
        (``certificate_``), and replaces it if there is a better one. With ``n_clusters`` leaves the
        proof is about the k-means cost of any clusters; with more leaves, about the cost to the
        centers of the tree's own clusters. Small trees take seconds; each additional leaf takes
        many times as long.
    search_rounds : int, default=None
        Rounds of the search. None: see ``max_time``.
    max_time : float, default=None
        Seconds that a search, and a proof, may take; the tree then depends on the machine. Without
        ``search_rounds`` and ``max_time`` the effort is a fixed amount of work, three to four
        seconds on one core.
    min_samples_leaf : int or float, default=1
        Least weight of the rows in a leaf: their number, unless they have sample weights. 1 is no
        limit: any row may have a leaf of its own, whatever it weighs. Below 1, a share of the
        weight of all rows.
    max_depth : int, default=None
        Most cuts from the root to a leaf.
    max_categories : int, default=None
        Most categories that a cut lists, so that explanations stay short; all others go to the
        other side. None is no limit.
    allowed_features : sequence of int or str, or boolean mask, default=None
        Features that may be cut, by number or name. None allows all. Costs are measured on all.
    feature_costs : dict or array of shape (n_features,), default=None
        What a cut on a feature costs, as a share of the reference's cost: a cut is made only where
        it saves more than its own cost, and more than any other cut after its own cost. Where a
        search counts mistakes (IMM, EMN), it is a share of the rows; a base tree that gives every
        center a leaf uses a costly feature nevertheless where no other feature separates two
        centers. The cost that refinement lowers includes these costs.
    min_cluster_size, max_cluster_size : float, default=None
        Least and largest weight of the rows in every cluster: their number, unless they have
        sample weights. Below 1, a share of the weight of all rows. They hold exactly on the
        training rows, at every size of the tree: the labels of its leaves are the cheapest within
        the limits (an integer program), and cuts are chosen so that there are such labels.
        ``path_`` starts at the smallest tree that has some.
    balance : dict, default=None
        Bounds on the share of groups in every cluster: ``{"gender": (0.3, 0.7)}`` for the share of
        each value of a column (of a flag, 0 and 1 or false and true, only for the share of 1); or
        for some values, ``{"gender": {"f": (0.3, 0.7)}}``. Columns are given by name or number, and
        may be columns of X or of ``groups``, which is given to ``fit``.
    protected : sequence of int or str, default=None
        Columns that may not be cut, of X or of ``groups``. Costs are still measured on those of X;
        a column of ``groups`` has no part in the clustering. ``rules()`` and reports say how much
        of a column the clusters reveal nevertheless: R^2 of a number, Goodman and Kruskal's tau of
        a category, which is how many wrong guesses of a row's value are avoided by guessing from
        its cluster.
    round_thresholds : bool, default=False
        Take the shortest decimal in the gap around each threshold (500, not 502.13), and the first
        of a year, a month or a day for dates. No training row changes side.
    n_random_trees : int, default=10
        Trees that ``base_tree="random"`` tries.
    n_jobs : int, default=None
        Threads for building the tree and for prediction, by joblib's rules: None is 1 (unless in
        a ``joblib.parallel_config`` context), -1 is all. The tree is the same for every number.
    random_state : int, RandomState instance or None, default=None
        Seed of the reference clustering, where it has none of its own, and of the tree's own
        randomness (``"random"``, ``"search"``), for which None is always the same seed.
    verbose : int, default=0
        1 shows a progress bar on long fits, on a terminal. Ctrl-C ends a search early and keeps
        the best tree so far.
    max_iter, n_init : deprecated
        The old names of ``search_rounds`` and ``n_random_trees``, which in ``KMeans`` mean
        something else. They still work, with a warning.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each training row.
    cluster_centers_ : array of shape (n_clusters, dimension of the reference's space)
        Means of the tree's clusters (medians for ``cost="kmedians"``, directions for
        ``"cosine"``); a cluster without rows keeps its reference center. Where costs are given
        (labels, a mixture, a table), means in the columns of X.
    cluster_profiles_ : array of shape (n_clusters, n_features)
        Means of the tree's clusters in the columns of X; NaN for a cluster without rows. The same
        as ``cluster_centers_`` for k-means, unless the reference is a pipeline.
    reference_centers_ : array of shape (n_clusters, dimension of the reference's space)
    reference_labels_ : array of shape (n_samples,)
        Cluster that the reference gives each training row: the number of its label, or its
        cheapest cluster; -1 for noise.
    inertia_ : float
        Cost of the tree's clusters, by ``cost``: for k-means, the squared distances to their means.
    surrogate_inertia_ : float
        Cost of the tree's clusters to the centers it was grown for, never below ``inertia_``: the
        reference's or, once refined, the means of the clusters of the whole tree.
    reference_inertia_ : float
        Cost of the reference clustering.
    tree_ : ThresholdTree
    preparation_ : TablePreparation
        How each column was scaled or encoded for k-means, if it clustered neither X itself nor the
        output of a pipeline; ``print`` shows it.
    schema_ : TableSchema
        What each column of a data frame was read as, if it is not all numbers; ``print`` shows it.
    columns_ : tuple of Column
        How each column of X reads in rules, plots and exports; ``with_columns`` changes it.
    n_leaves_ : int
    path_ : structured array
        One row for every number of leaves from the base tree's to the tree's: ``n_leaves``,
        ``surrogate_cost``, ``kmeans_cost`` (the cost by ``cost``, of the tree's own clusters),
        ``ratio`` (of that to the reference's; infinite where the reference costs nothing),
        ``accuracy`` (share of rows with their reference label). Of a refined tree it starts at one
        leaf per cluster and has the cheapest trees inside it (optimal pruning), whose costs never
        rise. With limits on clusters it starts at the smallest tree that can meet them.
    certificate_ : Certificate or None
        What is proven of the tree: ``cost``, ``lower_bound``, ``gap``, ``kind`` and ``status``;
        ``str`` says it in a sentence. None without ``refine="optimal"``, and for other sizes
        (``with_leaves``) than the one that was fitted.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the surrogate cost that the tree's cuts save.
    n_iter_ : int
        1 for the growth of the tree, and 1 for each round of a search.
    n_features_in_ : int
    feature_names_in_ : array of str, if X has names that are all strings

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC
    >>> X = load_iris().data
    >>> model = ExKMC(n_clusters=3, max_leaf_nodes=6, random_state=0).fit(X)
    >>> model.n_leaves_
    6
    >>> model.path_["ratio"].round(3).tolist()
    [1.037, 1.016, 1.014, 1.014]
    >>> small = model.with_leaves(3)
    >>> small.predict(X).shape
    (150,)

    A description of existing clusters:

    >>> kinds = load_iris().target_names[load_iris().target]
    >>> model = ExKMC(reference=kinds, cost="labels").fit(X)
    >>> model.cluster_names_
    ('setosa', 'versicolor', 'virginica')
    >>> float((model.labels_ == load_iris().target).mean().round(2))
    0.99

    No cluster of fewer than 45 flowers:

    >>> model = ExKMC(3, max_leaf_nodes=6, min_cluster_size=45, random_state=0).fit(X)
    >>> np.bincount(model.labels_).tolist()
    [47, 50, 53]

    A better tree with the same number of leaves:

    >>> model = ExKMC(
    ...     n_clusters=3, max_leaf_nodes=6, refine="search", search_rounds=200, random_state=0
    ... ).fit(X)
    >>> round(float(model.path_["ratio"][-1]), 3)
    1.0
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        max_leaf_nodes: int | None = None,
        base_tree: Any = "imm",
        reference: Any = None,
        cost: Any = "auto",
        noise: str = "ignore",
        scale: str = "auto",
        refine: str = "none",
        search_rounds: int | None = None,
        max_time: float | None = None,
        min_samples_leaf: float = 1,
        max_depth: int | None = None,
        max_categories: int | None = None,
        allowed_features: Any = None,
        feature_costs: Any = None,
        min_cluster_size: float | None = None,
        max_cluster_size: float | None = None,
        balance: Any = None,
        protected: Any = None,
        round_thresholds: bool = False,
        n_random_trees: int = 10,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        max_iter: Any = DEPRECATED,
        n_init: Any = DEPRECATED,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_leaf_nodes = max_leaf_nodes
        self.base_tree = base_tree
        self.reference = reference
        self.cost = cost
        self.noise = noise
        self.scale = scale
        self.refine = refine
        self.search_rounds = search_rounds
        self.max_time = max_time
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.max_categories = max_categories
        self.allowed_features = allowed_features
        self.feature_costs = feature_costs
        self.min_cluster_size = min_cluster_size
        self.max_cluster_size = max_cluster_size
        self.balance = balance
        self.protected = protected
        self.round_thresholds = round_thresholds
        self.n_random_trees = n_random_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_init = n_init

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Cluster X and build the tree that explains the clusters.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Or rows that are not in one memory: a dask array or data frame. Then there is no
            ``labels_``: ``predict`` gives the labels.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts as two rows; one of weight 0 as none.
        groups : data frame or dict of str to array of shape (n_samples,), optional
            Columns that ``balance`` and ``protected`` name, and that are not clustered by; with
            rows of dask they may be dask's too.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from treemeans import ExKMC
        >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [8.0, 5.0], [9.0, 5.0]])
        >>> model = ExKMC(2, random_state=0).fit(X, sample_weight=[1, 1, 2, 0])
        >>> float(model.tree_.threshold[0])
        5.0
        """
        warn_renamed(self)
        check_parameters(self)
        model = copy.copy(self)  # a fit that fails leaves no attributes
        partitioned = as_partitioned(X, sample_weight)
        gathered = None
        if partitioned is not None:
            gathered = model._gather(partitioned)
            if gathered is None:
                model._refuse_partitioned_limits(groups, partitioned.gather_bytes)
                model._fit_partitioned(partitioned)
                self.__dict__ = model.__dict__
                return self
            raw, X, sample_weight = gathered.raw, gathered.X, gathered.weights
            groups = in_memory(groups)
        else:
            raw, X = X, model._validate(X, reset=True)
        base, limits, allowed = model._plan(X.shape[1])
        group_data = model._group_data(groups, raw, X)
        if group_data is not None:
            sizes = self.min_cluster_size, self.max_cluster_size
            limits = replace(limits, clusters=group_data.limits(*sizes))
        clusters = limits.clusters
        data, reference = model._prepare(raw, X, sample_weight, limits, allowed)
        if self.refine == "optimal":
            model._refuse_mixed(data)
            check_weights_of_proof(data.weights)
        n_init, seed = given(self, "n_random_trees"), tree_seed(self.random_state)
        data = replace(data, n_init=n_init, seed=seed)

        if self.refine == "optimal" and reference.cost != "kmeans":
            raise ValueError(
                'refine="optimal" proves k-means costs only; use refine="search" with '
                f'cost="{reference.cost}".'
            )
        max_leaves = check_max_leaves(self.max_leaf_nodes, reference.n_clusters, base)
        model.n_iter_, growing = 1, None
        with Progress("treemeans: leaves", max_leaves, bool(self.verbose)) as progress:
            if clusters is None:
                growing = grow(data, base, max_leaves, progress)
            else:
                clusters.refuse_impossible(data.costs, reference.n_clusters)
                limited = grow_within_limits(data, base, max_leaves, progress)
        if clusters is not None:
            result = model._label_within_limits(data, limited, max_leaves, reference)
        elif self.refine == "none":
            assert growing is not None
            assert growing.base_labels is not None  # it was expanded
            result = measure(growing, data.centers, data, reference).of_grown(growing.base_labels)
        else:
            assert growing is not None
            deadline = None if self.max_time is None else time.monotonic() + self.max_time
            with Progress("treemeans: search", 1000, bool(self.verbose)) as progress:
                rounds = given(self, "search_rounds")
                budget = Budget(rounds, self.max_time, data.costs.cheapest, progress)
                kind = "search" if self.refine == "optimal" else self.refine
                if self.refine == "optimal":
                    budget = Budget.before_proof(
                        rounds, self.max_time, data.costs.cheapest, progress
                    )
                refined, centers = refine(kind, data, growing.as_expanded(), max_leaves, budget)
            model.n_iter_ += budget.rounds
            certificate = None
            if self.refine == "optimal":
                with Progress("treemeans: proof", 1000, bool(self.verbose)) as progress:
                    proof = ProofBudget(deadline, progress)
                    refined, centers, certificate = prove(data, refined, centers, max_leaves, proof)
            result = measure(refined, centers, data, reference).of_refined()
            result = replace(result, certificate=certificate)
            growing = refined
        if group_data is not None:
            result = group_data.figures(result, data.weights)
        if gathered is None:
            model._finish(result, growing, data, raw)
        else:
            model._finish(result, growing, data, raw, (gathered.dates, gathered.booleans))
        if reference.costs is not None:
            warn_if_forbidden(reference.costs, model.labels_)
        if gathered is not None:
            model._forget_rows()
        self.__dict__ = model.__dict__
        return self

    def _refuse_mixed(self, data: TrainingData) -> None:
        """Refuse to prove trees that may cut by sets of categories, or send missing values."""
        if data.table.bins.mixed:
            assert self._encoded_table is not None
            names = [self._encoded_table.columns[i].name for i in data.table.bins.mixed]
            raise ValueError(
                'refine="optimal" proves trees of thresholds, but values of '
                f"{', '.join(map(repr, names[:8]))} are categories or missing; use "
                'refine="search", or encode and fill them in first.'
            )

    def _label_within_limits(
        self, data: TrainingData, tree: LimitedTree, max_leaves: int, reference: Reference
    ) -> FitResult:
        """Refine a tree whose clusters are within the limits, and label it at every size."""
        if self.refine == "none":
            result = measure(tree.growing, data.centers, data, reference)
            return result.of_limited(tree.labels, refined=False)
        refinement = LimitedRefinement(data, tree)
        with Progress("treemeans: search", 1000, bool(self.verbose)) as progress:
            rounds = given(self, "search_rounds")
            budget = Budget(rounds, self.max_time, data.costs.cheapest, progress)
            refinement.run(self.refine, max_leaves, budget)
        self.n_iter_ += budget.rounds
        result = measure(refinement.growing, refinement.centers, data, reference)
        return result.of_limited(refinement.labels(), refined=True)

    def _group_data(self, groups: Any, raw: Any, X: Any) -> GroupData | None:
        """Look up the columns that limits on clusters are about; None without such limits."""
        asked = (self.min_cluster_size, self.max_cluster_size, self.balance, self.protected, groups)
        if all(each is None for each in asked):
            return None
        encoded = self._encoded_table
        return GroupData.of(
            check_balance(self.balance),
            check_protected(self.protected),
            groups,
            raw if encoded is None else encoded.raw,
            X,
            getattr(self, "feature_names_in_", None),
            None if encoded is None else encoded.columns,
        )

    def _refuse_partitioned_limits(self, groups: Any, gather_bytes: int) -> None:
        """Refuse limits on clusters for rows that are not gathered: they are about all at once."""
        names = ("min_cluster_size", "max_cluster_size", "balance", "protected")
        asked = {name: getattr(self, name) for name in names} | {"groups": groups}
        for name, value in asked.items():
            if value is not None:
                raise ValueError(
                    needs_one_memory(name, gather_bytes, "an array or data frame of a sample")
                )

    def _plan(
        self, n_features: int
    ) -> tuple[str | ThresholdTree, Limits, NDArray[np.bool_] | None]:
        """Base tree, limits and the features that may be cut, all of them checked."""
        names = getattr(self, "feature_names_in_", None)
        base = check_base_tree(self.base_tree, n_features)
        costs = check_feature_costs(self.feature_costs, n_features, names)
        limits = Limits(
            self.min_samples_leaf, self.max_depth, costs, max_categories=self.max_categories
        )
        allowed = check_allowed_features(self.allowed_features, n_features, names)
        protected = check_protected(self.protected)
        return base, limits, without_protected(allowed, protected, n_features, names)

    def _gather(self, rows: PartitionedRows) -> GatheredTable | None:
        """Rows in partitions that fit into one memory, as `_validate` takes rows in memory."""
        rows.n_jobs = self.n_jobs
        self._partitioned_cost()
        if is_dask(self.reference) or is_labels(self.reference):
            return None  # labels stay with their partitions
        try:
            if rows.needs_schema:
                rows.infer_columns()
            gathered = gather(rows, self.reference, self.n_clusters)
        except BaseException:
            rows.release()
            raise
        if gathered is None:
            return None
        rows.release()
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.pop("schema_", None)
        self._encoded_table = gathered.encoded
        self.n_features_in_ = rows.n_features
        if gathered.encoded is not None:
            self._take_in(gathered.encoded)
        elif rows.names is not None:
            self.feature_names_in_ = rows.names
        return gathered

    def _forget_rows(self) -> None:
        """Drop the labels of rows that were gathered: predict gives them where the rows are."""
        self._fit_result = replace(self._fit_result, leaf_of_row=None, reference_labels=None)
        for of_rows in ("labels_", "reference_labels_"):
            self.__dict__.pop(of_rows, None)

    def _partitioned_cost(self) -> str:
        """The cost, if it is one that partitioned rows can have."""
        costs: tuple[str, ...] = ("auto", "kmeans", "kmedians", "cosine")
        if is_dask(self.reference) and self.cost == "labels":
            costs = ("labels",)
        if not isinstance(self.cost, str) or self.cost not in costs:
            raise ValueError(
                "Partitioned rows are priced by centers, or by cost='labels' and a dask series of "
                "labels as reference; otherwise pass an array of a sample of the rows."
            )
        if is_dask(self.reference) and self.cost != "labels":
            raise ValueError('Labels of partitioned rows need cost="labels".')
        return kind_of(self.reference) if self.cost == "auto" else self.cost

    def _refuse_partitioned_refinement(self, kind: str) -> None:
        """Refuse what passes cannot do, and would be possible if the rows were in one memory."""
        if kind in ("kmedians", "cosine", "labels") and self.refine != "none":
            raise ValueError(
                f'refine="{self.refine}" with cost="{kind}" needs all rows in one memory; use '
                'refine="none", or pass an array of a sample of the rows.'
            )
        if self.cost == "labels" and self.feature_costs is not None:
            raise ValueError(
                'feature_costs with cost="labels" need all rows in one memory; pass an array of a '
                "sample of the rows."
            )

    def _fit_partitioned(self, rows: PartitionedRows) -> None:
        """Reference, base tree and expansion in passes over the partitions."""
        rows.n_jobs = self.n_jobs
        if rows.needs_schema:
            rows.infer_columns()
        self.n_features_in_ = rows.n_features
        self.__dict__.pop("feature_names_in_", None)
        if rows.names is not None:
            self.feature_names_in_ = rows.names
        base, limits, allowed = self._plan(rows.n_features)
        check_base(base, rows.gather_bytes)
        cost = self._partitioned_cost()
        self._refuse_partitioned_refinement(cost)
        label_names: tuple[str, ...] = ()
        if isinstance(rows, DaskPartitions) and cost == "labels":
            label_names = rows.take_labels(self.reference, self.noise)
        refining = None
        if self.refine == "optimal":
            raise ValueError(
                needs_one_memory('refine="optimal"', rows.gather_bytes, 'refine="search"')
            )
        if self.refine != "none":
            rounds, threads = given(self, "search_rounds"), n_threads(self.n_jobs)
            refining = RefineSettings(self.refine, rounds, self.max_time, threads)
        options = PartitionedFitOptions(
            self.n_clusters,
            self.reference,
            base,
            self.max_leaf_nodes,
            limits,
            allowed,
            self.random_state,
            bool(self.verbose),
            refining,
            cost,
            label_names,
            self.scale,
        )
        short = bool(self.round_thresholds)
        self._fit_result, rounds = fit_partitioned(rows, options, short=short)
        self.__dict__.pop("schema_", None)
        self.__dict__.pop("_loaded_reads_by_name", None)
        if rows.schema is not None:
            self.schema_ = rows.schema
        self.n_iter_ = 1 + rounds
        self._set_fitted_attributes(self._fit_result.tree.n_leaves)
        self._show_warnings()
