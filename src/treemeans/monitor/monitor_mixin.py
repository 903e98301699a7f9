"""What a fitted model can do while its segments are in use."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treemeans.explain.cluster_names import checked_names
from treemeans.fit_result import FitResult
from treemeans.progress import Progress
from treemeans.threads import n_threads

if TYPE_CHECKING:
    from treemeans.monitor.stability_result import Stability


class MonitorMixin:
    """Names, warnings, stability, refits and drift of a fitted model."""

    _fit_result: FitResult
    n_leaves_: int
    n_jobs: int | None

    if TYPE_CHECKING:

        def predict(self, X: Any) -> NDArray[np.int32]: ...  # noqa: D102
        def _set_fitted_attributes(self, n_leaves: int) -> Self: ...

    @property
    def cluster_names_(self) -> tuple[str, ...]:
        """Name of each cluster: as given to ``with_names``, or an automatic one.

        An automatic name says in which columns the cluster differs most from the other rows. All
        names of a model differ from each other.
        """
        check_is_fitted(self)
        return self._fit_result.cluster_names

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

        On each resample k-means goes on from the reference's centers (and from fresh ones, in case
        that is better), and the tree is grown again with the model's parameters. A search takes
        200 rounds, unless ``search_rounds`` says otherwise. Then the clusters are matched with the
        model's own, one to one. A pipeline of the reference is not fitted again.

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
