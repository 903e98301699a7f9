"""One pass on a Dask scheduler: it ends within a time limit, with a result or an error."""

from __future__ import annotations

import contextvars
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass
from typing import Any, NoReturn

from treemeans.optional_imports import need
from treemeans.partitioned.partition_cache import forget_fit
from treemeans.partitioned.readers.pass_task import PassCancellation, PassReply

TIMEOUT = "treemeans.timeout"
DEFAULT_TIMEOUT = "1 hour"
# Names of the functions that map a partition: dask names their tasks after them.
MAP_TASKS = ("map_array_chunk", "map_frame_partition", "map_read_task")
_READ_ON = "partitions that are being read are read to their end"
_PATIENCE = 3.0  # seconds for the scheduler to say how many workers there are


@dataclass(frozen=True)
class PassTimeout:
    """How long a pass may take; None for no limit."""

    seconds: float | None
    deadline: float | None

    @classmethod
    def configured(cls) -> PassTimeout:
        """The limit that the user has set in dask's configuration."""
        given = need("dask", "dask").config.get(TIMEOUT, DEFAULT_TIMEOUT)
        if given is None:
            return cls(None, None)
        seconds = float(need("dask.utils", "dask").parse_timedelta(given))
        return cls(seconds, time.time() + seconds)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.deadline is not None and time.time() > self.deadline

    @property
    def words(self) -> str:
        """The limit in words."""
        return "" if self.seconds is None else f"{self.seconds:g} seconds"


@dataclass(frozen=True)
class DaskScheduler:
    """Where graphs are computed.

    It is looked up once for all passes of a fit: if a client is lost between two passes, the
    next one must not silently run here instead.

    Attributes
    ----------
    get : dask's function of the scheduler
    client : of a cluster; None for the schedulers within this machine
    """

    get: Callable[..., Any]
    client: Any

    @classmethod
    def current(cls) -> DaskScheduler:
        """The scheduler that dask would use now."""
        base, delayed = need("dask.base", "dask"), need("dask.delayed", "dask")
        get = base.get_scheduler(cls=delayed.Delayed)
        owner = getattr(get, "__self__", None)
        is_client = type(owner).__module__.split(".")[0] == "distributed"
        return cls(get, owner if is_client else None)

    def stop(self, limit: PassTimeout) -> PassCancellation:
        """What ends a pass here; on a cluster, whose clocks may differ, its scheduler does."""
        return PassCancellation(limit.deadline if self.client is None else None)

    @property
    def processes(self) -> int:
        """Processes that share the memory of a machine, at most."""
        here = self.client is None and self.get in _schedulers_here()
        return 1 if here else os.cpu_count() or 1

    def forget(self, fit: str) -> None:
        """Drop what is kept of a fit, here and on the workers of a cluster."""
        forget_fit(fit)
        if self.client is not None and self.client.status == "running":
            try:
                self.client.run(forget_fit, fit, on_error="ignore")
            except Exception:  # a cluster that is gone keeps nothing
                return

    def run(self, graph: Any, stop: PassCancellation, limit: PassTimeout) -> PassReply:
        """Compute a reply."""
        if self.client is None:
            return _run_here(graph, self.get, stop, limit)
        return _run_on_cluster(graph, self.client, limit)


def _schedulers_here() -> list[Any]:
    """Schedulers that run in threads of this process."""
    return [need("dask.threaded", "dask").get, need("dask.local", "dask").get_sync]


def _run_here(
    graph: Any, get: Callable[..., Any], stop: PassCancellation, limit: PassTimeout
) -> PassReply:
    """Compute in a thread of its own, so that it can be given up."""
    outcome: dict[str, Any] = {}
    finished = threading.Event()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome["reply"] = context.run(graph.compute, scheduler=get, **_workers_for(get))
        except BaseException as error:
            outcome["error"] = error
        finally:
            finished.set()

    threading.Thread(target=work, name="treemeans-pass", daemon=True).start()
    try:
        while not finished.wait(_nap(limit)):
            if limit.is_over:
                raise _too_late(limit, _READ_ON)
    except BaseException:  # too late, or Ctrl-C
        stop.now()
        raise
    error = outcome.get("error")
    if isinstance(error, TimeoutError) and limit.is_over:  # a partition saw it first
        raise _too_late(limit, _READ_ON) from None
    if isinstance(error, BrokenExecutor):
        raise RuntimeError(
            "A process of dask's pool died while it read a partition, most likely because memory "
            "ran out; make the partitions smaller, or use fewer processes."
        ) from error
    if error is not None:
        raise error
    reply: PassReply = outcome["reply"]
    return reply


def _workers_for(get: Callable[..., Any]) -> dict[str, int]:
    """Dask's threads are as many as cores; outside the main thread it must be told so."""
    dask, threaded = need("dask", "dask"), need("dask.threaded", "dask")
    if get is not threaded.get or dask.config.get("num_workers", None) is not None:
        return {}
    return {"num_workers": need("dask.system", "dask").CPU_COUNT}


def _nap(limit: PassTimeout) -> float:
    """Seconds to wait at a time: some systems see Ctrl-C only in between."""
    left = 1.0 if limit.deadline is None else limit.deadline - time.time()
    return min(1.0, max(0.0, left))


def _run_on_cluster(graph: Any, client: Any, limit: PassTimeout) -> PassReply:
    """Compute on the workers; whatever happens, nothing of this pass stays there."""
    if client.status != "running":
        raise _lost(client)
    future = None
    try:
        future = client.compute(graph)
        reply: PassReply = future.result(timeout=limit.seconds)
        return reply
    except CancelledError as error:
        raise _lost(client) from error
    except Exception as error:
        _explain(error, future, client, limit)
    finally:
        if future is not None:
            future.release()


def _explain(error: Exception, future: Any, client: Any, limit: PassTimeout) -> NoReturn:
    """A sentence for what went wrong on a cluster."""
    distributed = need("distributed", "dask")
    if isinstance(error, TimeoutError) and (future is None or not future.done()):
        raise _too_late(limit, _workers(client)) from None
    if isinstance(error, distributed.scheduler.KilledWorker):
        raise RuntimeError(_killed(error)) from error
    if isinstance(error, distributed.CommClosedError):
        raise _lost(client) from error
    raise error


def _too_late(limit: PassTimeout, now: str) -> TimeoutError:
    return TimeoutError(
        f"A pass over the partitions took longer than {limit.words} ({now}); allow it more time "
        f'with dask.config.set({{"{TIMEOUT}": "2 hours"}}).'
    )


def _lost(client: Any) -> ConnectionError:
    """The error for a lost scheduler, or for work that someone else has cancelled."""
    where = getattr(client.scheduler, "address", "of this client")
    what = "cancelled the work" if client.status == "running" else "was lost"
    return ConnectionError(
        f"The dask scheduler {where} {what} in the middle of a fit; connect a new Client and fit "
        "again."
    )


def _killed(error: Any) -> str:
    """The error for a partition whose workers died; dask names any task that a worker had."""
    key, died = error.task, error.allowed_failures + 1
    ours = isinstance(key, tuple) and any(task in str(key[0]) for task in MAP_TASKS)
    where = f"partition {key[1]}" if ours else f"the task {key!r}"
    return (
        f"Dask gave up: {died} worker{'s' if died > 1 else ''} died while {where}, or another "
        "of the same worker, was being read, most likely because memory ran out; make the "
        "partitions smaller, or give the workers more memory."
    )


def _workers(client: Any) -> str:
    """What the scheduler says about its workers, in words."""
    try:
        found = len(client.sync(client.scheduler.ncores, callback_timeout=_PATIENCE))
    except Exception:  # whatever it is, the message is that the pass took too long
        return "the scheduler does not answer"
    if found == 0:
        return "the cluster has no workers now"
    return _READ_ON
