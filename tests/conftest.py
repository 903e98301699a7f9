"""Settings of all tests."""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from tests.helpers.examples import SLOW

os.environ.setdefault("MPLBACKEND", "Agg")  # plots open no window
# Threads that wait sleep: two test processes of two threads each share two cores.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# Workers of dask's clusters are forked from a process that has imported dask: a third of the time.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")
# A shell starts background jobs with SIGINT ignored, and so do their children: tests of Ctrl-C
# would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run; a slow machine is no failure.
settings.register_profile(
    "stable",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("stable")


def pytest_collection_modifyitems(config, items):
    """Leave out the slow tests, unless TREEMEANS_SLOW=1 asks for them."""
    slow = [] if SLOW else [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


@pytest.fixture(scope="module")
def one_thread():
    """Small tables: on a busy machine a second thread of k-means only waits."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def two_threads():
    """As many as ``n_jobs`` asks for, up to two."""
    with threadpool_limits(2):
        yield


@pytest.fixture
def no_collection():
    """For a KeyboardInterrupt at any moment: it is lost where a library's callback runs in one."""
    gc.disable()
    yield
    gc.enable()
