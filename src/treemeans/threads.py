"""How many threads a kernel may use."""

import os

import joblib

from treemeans import _core

_forked = False


def _after_fork() -> None:
    # GNU OpenMP's pool does not survive a fork: a second thread in the child would wait for ever.
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def n_threads(n_jobs: int | None) -> int:
    """Threads for ``n_jobs``, by joblib's rules and within OpenMP's own limit.

    That limit is what ``threadpoolctl`` and ``OMP_NUM_THREADS`` set, so workers of an outer
    parallel loop do not oversubscribe the machine.
    """
    limit = 1 if _forked else _core.max_threads()
    if limit <= 1 and n_jobs is None:  # joblib takes longer than a small prediction
        return 1
    return max(1, min(int(joblib.effective_n_jobs(n_jobs)), limit))
