"""Reading and mapping as one task, so that no worker holds rows that wait to be mapped."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any


def fused(graph: dict[Any, Any], asks: Iterable[Any]) -> dict[Any, Any]:
    """The graph, with what only one of ``asks`` needs made part of that task.

    Dask does so itself where a task has one dependency. Mapping has two, the rows and the step, and
    without this a worker reads the next partition before it has mapped the last. Which part of dask
    knows tasks is not public; where it is not found, the graph stays as it is.
    """
    try:
        spec = importlib.import_module("dask._task_spec")
        graph = spec.convert_legacy_graph(graph)
        fuse, kinds = spec.Task.fuse, (spec.Task, spec.Alias)
    except (ImportError, AttributeError):
        return graph
    needed = Counter(key for task in graph.values() for key in task.dependencies)

    def may_move(key: Any, task: Any) -> bool:
        known = type(task) in kinds and task.key == key
        return known and not getattr(task, "block_fusion", False)

    def own(task: Any) -> list[Any]:
        """Tasks that nothing else depends on."""
        own_keys = (key for key in task.dependencies if needed[key] == 1 and key in graph)
        return [graph[key] for key in own_keys if may_move(key, graph[key])]

    graph = dict(graph)
    for key in asks:
        before = [task for first in own(graph[key]) for task in _chain(first, own)]
        if before:
            graph[key] = fuse(*before, graph[key], key=key)
            for task in before:
                del graph[task.key]
    return graph


def _chain(task: Any, own: Any) -> Iterator[Any]:
    """A task and those before it, one by one; not a tree, which workers had better share."""
    yield task
    before = own(task)
    while len(before) == 1:
        yield before[0]
        before = own(before[0])
