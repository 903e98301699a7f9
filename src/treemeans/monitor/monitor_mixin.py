"""What a fitted model can do while its clusters are in use."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treemeans.explain.cluster_names import checked_names
from treemeans.explain.rules import Rules
from treemeans.explain.warning_record import SegmentWarning
from treemeans.fit_result import FitResult
from treemeans.model_file.saved_parameters import NotSaved
from treemeans.monitor.confidence import Confidence, measure_confidence
from treemeans.monitor.drift import measure_drift
from treemeans.monitor.drift_result import Drift, DriftLimits
from treemeans.monitor.refit import refit_model
from treemeans.progress import Progress
from treemeans.threads import n_threads
from treemeans.validation import tree_seed

if TYPE_CHECKING:
    from treemeans.monitor.alternatives_result import Alternatives
    from treemeans.monitor.stability_result import Stability


class MonitorMixin:
    """Names, warnings, stability, refits and drift of a fitted model."""

    _fit_result: FitResult
    n_leaves_: int
    n_jobs: int | None

    if TYPE_CHECKING:

        def predict(self, X: Any) -> NDArray[np.int32]: ...  # noqa: D102
        def rules(self) -> Rules: ...  # noqa: D102
        def _set_fitted_attributes(self, n_leaves: int) -> Self: ...

    @property
    def cluster_names_(self) -> tuple[str, ...]:
        """Name of each cluster: as given to ``with_names``, or an automatic one.

        An automatic name says in which columns the cluster differs most from the other rows. All
        names of a model differ from each other.
        """
        check_is_fitted(self)
        return self._fit_result.cluster_names

    @property
    def warnings_(self) -> tuple[SegmentWarning, ...]:
        """What is wrong with the clusters, each with what to do; empty if nothing is.

        Clusters of a single row or of less than 1 % of the rows, clusters that are one category,
        starts of k-means that disagree, clusters no more compact than in shuffled columns (which
        ``check_segments`` compares more thoroughly than ``fit``). ``rules()`` and reports show
        them, and ``fit`` shows them as one Python warning, a `BadSegmentWarning`.

        Examples
        --------
        >>> import numpy as np
        >>> from treemeans import ExKMC
        >>> X = np.append(np.arange(60.0) % 5, 1000.0)[:, None]
        >>> for warning in ExKMC(2, max_leaf_nodes=2, random_state=0).fit(X).warnings_:
        ...     print(warning)
        cluster 1 has only 1 of 61 rows (row 60, counting from 0; x0 is 1000, on average 2 \
elsewhere): it may be an outlier; use scale="robust" (--scale robust), drop the row, or ask for \
fewer clusters.
        """
        check_is_fitted(self)
        return self.rules().warnings

    def check_segments(
        self, X: Any, *, sample_weight: Any = None, random_state: Any = None
    ) -> Self:
        """The same model, with warnings about what only the rows show.

        They are added to ``warnings_``: clusters that are no more compact than those of k-means
        on the same columns, each shuffled by itself; and, if the reference does not say, whether
        its starts disagree. Looks at up to 2,000 rows, and takes about a second at most. Reports
        with a table do this by themselves. ``fit`` makes a shorter comparison with shuffled
        columns, of a few rows on most tables, which takes at most a few percent of its time; with
        a reference that is given it often ends without an answer.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            The table of the fit.
        sample_weight : array of shape (n_samples,), optional
        random_state : int, RandomState instance or None, default=None
            Seed of the shuffles; None is always the same seed.

        Returns
        -------
        TreeModel
            A new model; this one is unchanged.

        Examples
        --------
        >>> import numpy as np
        >>> from treemeans import ExKMC
        >>> noise = np.random.default_rng(0).normal(size=(300, 3))
        >>> model = ExKMC(4, random_state=0).fit(noise).check_segments(noise)
        >>> [warning.kind for warning in model.warnings_]
        ['starts', 'not compact']
        """
        from treemeans.monitor.segment_checks import check_rows

        check_is_fitted(self)
        found = check_rows(self, X, sample_weight, tree_seed(random_state))
        model = copy.copy(self)
        model._fit_result = replace(self._fit_result, warnings=found)
        return model

    def _with_checked_segments(self, X: Any) -> Self:
        """The model after `check_segments`; unchanged if that is done, or cannot be done."""
        record = self._fit_result
        if record.warnings or isinstance(record.reference.pipeline, NotSaved):
            return self
        return self.check_segments(X)

    def with_names(self, names: Sequence[str] | Mapping[int, str] | None) -> Self:
        """The same model, with names for its clusters, which rules, plots and exports use.

        Parameters
        ----------
        names : sequence of str, or dict of int to str, or None
            A name for each cluster, or for some of them by number: the others keep theirs. None
            gives automatic names again.

        Returns
        -------
        TreeModel
            A new model; this one is unchanged.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
        >>> model.with_names({1: "setosa"}).cluster_names_
        ('low x1', 'setosa', 'high x0, high x3')
        """
        check_is_fitted(self)
        given = () if names is None else checked_names(names, self.cluster_names_)
        model = copy.copy(self)
        model._fit_result = replace(self._fit_result, given_names=given)
        return model._set_fitted_attributes(self.n_leaves_)

    def confidence(self, X: Any, *, within: float = 0.1) -> Confidence:
        """How near each row is to another cluster, and how many rows of a cluster are close calls.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        within : float
            A row is a close call if it is nearer than this to a threshold that parts it from
            another cluster (in standard deviations of the threshold's column), or if its cluster
            is cheaper than the next by less than this share.

        Returns
        -------
        Confidence
            ``cut_distance``, ``advantage`` and ``is_close`` of each row, ``close_shares`` of the
            clusters.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> X = load_iris().data
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
        >>> found = model.confidence(X)
        >>> found.cut_distance[:2].round(2).tolist(), found.advantage[:2].round(2).tolist()
        ([0.6, 0.6], [1.0, 0.98])
        >>> print(found)
        12 % of 150 rows are close calls
        cluster 0 (low x1): 20 %
        cluster 1 (low x2, low x3): 0 %
        cluster 2 (high x0, high x3): 15 %
        """
        check_is_fitted(self)
        return measure_confidence(self, X, within)

    def drift(
        self,
        X: Any,
        *,
        psi: float = 0.25,
        outside: float = 0.05,
        cost_ratio: float = 1.5,
        level: float = 0.01,
    ) -> Drift:
        """What has changed in new rows since the fit: shares of clusters, columns, costs.

        The model holds histograms of its training columns for this, and no rows.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Or an iterator of such tables, the batches of one that does not fit in memory, or a
            dask data frame. Memory does not grow with the number of batches.
        psi : float
            Population stability index of a column, or of the rules, from which on it counts as
            drift.
        outside : float
            Share of rows outside a column's training range, or with a category that no training
            row had, beyond the share in training.
        cost_ratio : float
            Mean cost of a row over that in training.
        level : float
            Probability that rows of the same distribution are found to have drifted: what exceeds
            a limit must also be more than chance explains, at this level for all tests together.

        Returns
        -------
        Drift
            ``print`` it, or use ``findings``, ``to_dict`` and ``to_frame``.

        Examples
        --------
        >>> import numpy as np
        >>> from treemeans import ExKMC
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(m, 1, (500, 2)) for m in (0, 8)])
        >>> model = ExKMC(2, random_state=0).fit(X)
        >>> model.drift(X[::2]).findings
        ()
        >>> model.drift(X + [0.0, 1.0]).findings[0]
        'x1 has drifted (PSI 0.90)'
        """
        check_is_fitted(self)
        return measure_drift(self, X, DriftLimits(psi, outside, cost_ratio, level))

    def refit(
        self,
        X: Any,
        sample_weight: Any = None,
        *,
        n_clusters: int | None = None,
        keep_structure: bool = False,
        shared: Any = None,
        reference: Any = None,
    ) -> Self:
        """The same segmentation on new rows; clusters keep their numbers, names and colours.

        K-means (k-medians, spherical k-means) starts from the centers of this model, in the same
        space, and a tree of the same size is grown for its clusters. Centers that would hardly move
        stay where they are, so the same rows give the same clusters. Each cluster is matched with
        an old one; ``changes_`` of the new model says which are kept, new, gone, split or merged.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Columns as in the fit. Categories that occur for the first time are added.
        sample_weight : array of shape (n_samples,), optional
        n_clusters : int, optional
            Another number of clusters.
        keep_structure : bool
            Keep the cuts of the tree, and move only their thresholds: each no further than to
            where as large a share of the rows goes left as in training.
        shared : table, or tuple of two tables, optional
            Rows to match clusters on, such as customers who are in the old table and in the new
            one, with their values then and now: clusters are the same that hold the same of them.
            Without it, clusters are matched by their centers.
        reference : fitted Pipeline, optional
            Needed by a model that was loaded from a file, if its reference is a pipeline that
            files do not hold.

        Returns
        -------
        ExKMC, or another model of treemeans
            A new model; this one is unchanged.

        Examples
        --------
        >>> import numpy as np
        >>> from treemeans import ExKMC
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(m, 1, (50, 2)) for m in (0, 8, 16)])
        >>> model = ExKMC(3, random_state=0).fit(X).with_names(["small", "large", "middle"])
        >>> again = model.refit(X[::-1] + 0.5)
        >>> again.cluster_names_ == model.cluster_names_
        True
        >>> print(again.changes_.fates[0].text)
        cluster 0 (small) is kept: 50 rows by the old rules, 50 by the new
        """
        check_is_fitted(self)
        found: Self = refit_model(
            self,
            X,
            sample_weight,
            n_clusters=n_clusters,
            keep_structure=keep_structure,
            shared=shared,
            reference=reference,
        )
        return found

    def predict_names(self, X: Any) -> NDArray[np.object_]:
        """Name of the cluster of each row of X.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of str, shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> X = load_iris().data
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
        >>> model.predict_names(X[:2]).tolist()
        ['low x2, low x3', 'low x2, low x3']
        """
        return np.array(self.cluster_names_, dtype=object)[np.asarray(self.predict(X))]

    def stability(
        self,
        X: Any,
        n_resamples: int = 100,
        *,
        method: str = "bootstrap",
        sample_weight: Any = None,
        random_state: Any = None,
        verbose: int = 1,
    ) -> Stability:
        """Whether the clusters are real: what becomes of them on resamples of the table.

        On each resample k-means starts from the reference's centers (and from fresh ones, in case
        that is better), and the tree is grown again with the model's parameters. A search takes 200
        rounds, unless ``search_rounds`` says otherwise. Then the clusters are matched with the
        model's own, one to one. A pipeline of the reference is not fitted again. With k-medians or
        the cosine as cost, their centers are moved in the same way; labels and other given costs
        stay, and only the tree is grown again.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            The table of the fit.
        n_resamples : int, default=100
        method : {"bootstrap", "subsample"}, default="bootstrap"
            As many rows as the table has, drawn with replacement; or half of the rows.
        sample_weight : array of shape (n_samples,), optional
        random_state : int, RandomState instance or None, default=None
            Seed of the draws; None is always the same seed.
        verbose : int, default=1
            1 shows a progress bar on a terminal. Ctrl-C keeps the resamples that are done.

        Returns
        -------
        Stability
            For each cluster the Jaccard index (Hennig 2007), for each rule and cut how often it
            comes back and the interval of its threshold, for each feature how often it is used.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> X = load_iris().data
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
        >>> found = model.stability(X, 50)
        >>> [each.grade for each in found.clusters]
        ['very stable', 'very stable', 'very stable']
        """
        from treemeans.monitor.stability import measure_stability

        with Progress("treemeans: resamples", n_resamples, bool(verbose)) as progress:
            return measure_stability(
                self,
                X,
                n_resamples,
                method=method,
                sample_weight=sample_weight,
                random_state=random_state,
                n_threads=n_threads(self.n_jobs),
                tell=progress.update,
            )

    def alternatives(
        self,
        X: Any,
        n: int = 5,
        within: float = 0.01,
        *,
        sample_weight: Any = None,
        verbose: int = 1,
    ) -> Alternatives:
        """Other trees as good as this one that cut other columns, to choose from.

        Trees with at most as many leaves are grown and refined without some of the columns that
        the tree cuts, in up to 60 combinations. Of those that are good enough, those that differ
        most from this tree and from each other in the columns that they cut are returned.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            The table of the fit.
        n : int, default=5
            Most trees to return.
        within : float, default=0.01
            How much more they may cost, as a share of the cost; for labels (``cost="labels"``), the
            additional share of rows that may be in a wrong cluster.
        sample_weight : array of shape (n_samples,), optional
        verbose : int, default=1
            1 shows a progress bar on a terminal. Ctrl-C keeps what is found.

        Returns
        -------
        Alternatives
            A sequence; each has a fitted ``model``, its ``columns`` and ``rules``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> X = load_iris().data
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
        >>> found = model.alternatives(X, within=0.2)
        >>> [other.columns for other in found]
        [('x3',), ('x0', 'x3')]
        >>> found[0].rules
        ('0.8 < x3 <= 1.75', 'x3 <= 0.8', 'x3 > 1.75')
        """
        from treemeans.monitor.alternatives import MOST_FITS, find_alternatives

        with Progress("treemeans: trees", MOST_FITS, bool(verbose)) as progress:
            return find_alternatives(
                self,
                X,
                n,
                within,
                sample_weight=sample_weight,
                n_threads=n_threads(self.n_jobs),
                tell=progress.update,
            )
