"""The cells of a tree in a plane of two of its columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.tree import ThresholdTree


@dataclass(frozen=True)
class Cell:
    """A rectangle of the plane, above < x <= upto on both axes, and its leaf."""

    above: tuple[float, float]
    upto: tuple[float, float]
    leaf: int


def cells(
    tree: ThresholdTree,
    features: tuple[int, int],
    elsewhere: NDArray[np.float64],
    above: tuple[float, float],
    upto: tuple[float, float],
) -> list[Cell]:
    """The cells that share the window from ``above`` to ``upto``.

    ``elsewhere`` has a value for every column: where the plane lies in all but the two.
    """
    found: list[Cell] = []
    stack = [Cell(above, upto, 0)]
    while stack:
        cell = stack.pop()
        feature, threshold = int(tree.feature[cell.leaf]), float(tree.threshold[cell.leaf])
        left, right = int(tree.left[cell.leaf]), int(tree.right[cell.leaf])
        if feature < 0:
            found.append(cell)
        elif feature not in features:
            side = left if elsewhere[feature] <= threshold else right
            stack.append(Cell(cell.above, cell.upto, side))
        else:
            axis = features.index(feature)
            if cell.above[axis] < threshold:
                end = min(threshold, cell.upto[axis])
                stack.append(Cell(cell.above, _moved(cell.upto, axis, end), left))
            if threshold < cell.upto[axis]:
                start = max(threshold, cell.above[axis])
                stack.append(Cell(_moved(cell.above, axis, start), cell.upto, right))
    return found


def _moved(corner: tuple[float, float], axis: int, value: float) -> tuple[float, float]:
    return (value, corner[1]) if axis == 0 else (corner[0], value)
