"""The fewest boxes that together are a cluster.

Each leaf of the cluster is grown into the largest boxes around it that meet no other cluster
(*prime* boxes, as of a logical expression); then as few of them are chosen as hold every leaf.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from treemeans.explain.grid_axes import Atoms, bits, lowest
from treemeans.explain.leaf_grid import Grid, GridBox, Leaves

_STEPS = 100_000  # of the search for prime boxes, over all leaves of a tree
_FEWEST_STEPS = 40  # for each leaf
_NODES = 200  # of the solver's tree
_PIECES = 2_000  # looked at to see whether a box is covered by others


def merged(grid: Grid, own: Leaves) -> list[GridBox]:
    """Boxes whose union is that of the leaves ``own``: the fewest, then with fewest conditions.

    They are chosen from all boxes that hold no point of other leaves, so that each leaf lies wholly
    in one of them; in a very large tree, from some of these boxes.

    Parameters
    ----------
    grid : Grid
    own : set of leaves

    Returns
    -------
    list of boxes
        None of them inside the union of the others.
    """
    found: dict[Leaves, tuple[int, GridBox]] = {}  # of boxes that hold the same, the simplest
    for leaf in bits(own):
        for box in _primes(grid, leaf, own):
            held, price = grid.held(box), grid.price(box)
            if held not in found or (price, _key(box)) < (found[held][0], _key(found[held][1])):
                found[held] = price, box
    chosen = _fewest(own, {held: price for held, (price, _) in found.items()})
    return _needed(grid, _shorter(grid, [found[held][1] for held in chosen]))


def _key(box: GridBox) -> list[tuple[int, Atoms]]:
    """A sort key, so that the order of boxes does not depend on how they were found."""
    return sorted(box.items())


# ---- prime boxes ---------------------------------------------------------------------------------


def _primes(grid: Grid, leaf: Leaves, own: Leaves) -> list[GridBox]:
    """The largest boxes that hold a leaf and meet only leaves of ``own``.

    From the box of everything, an unwanted leaf that is met is cut away along each axis that
    separates it: every prime box lies inside one of the outcomes, so in the end it is one of them.
    """
    start = grid.boxes[leaf.bit_length() - 1]
    ways = [
        (axis, grid.within(axis, side))
        for axis, atoms in sorted(start.items())
        for side in grid.axes[axis].sides(atoms)
    ]
    forced = _exactly_one([unwanted for _, unwanted in ways])
    found: dict[tuple[tuple[int, Atoms], ...], GridBox] = {}
    seen: set[tuple[tuple[int, Atoms], ...]] = set()
    stack: list[tuple[GridBox, Leaves]] = [({}, grid.all & ~own)]
    steps = max(_FEWEST_STEPS, _STEPS // len(grid.nodes))
    while stack and steps:
        steps -= 1
        box, unwanted = stack.pop()
        if not unwanted:
            prime = _grown(grid, box, own, list(box))
            found[tuple(_key(prime))] = prime
            continue
        unwanted_leaf = lowest(unwanted & forced or unwanted)
        other = grid.boxes[unwanted_leaf.bit_length() - 1]
        for axis, apart in ways:
            if unwanted_leaf & apart:
                kept = grid.axes[axis].without(start[axis], other[axis])
                kept &= box.get(axis, grid.axes[axis].all)
                smaller = box | {axis: kept}
                key = tuple(_key(smaller))
                if key not in seen:
                    seen.add(key)
                    stack.append((smaller, unwanted & grid.meeting(axis, kept)))
    if stack:
        for order in _orders(sorted(start)):
            prime = _grown(grid, start, own, order)
            found[tuple(_key(prime))] = prime
    return list(found.values())


def _exactly_one(sets: Sequence[Leaves]) -> Leaves:
    """The leaves that are in exactly one of the sets."""
    once = more = 0
    for each in sets:
        more |= once & each
        once |= each
    return once & ~more


def _grown(grid: Grid, box: GridBox, own: Leaves, order: Sequence[int]) -> GridBox:
    """A box extended along one axis after the other, as far as it meets only leaves of ``own``."""
    box = dict(box)
    for axis in order:
        atoms = box.pop(axis)
        unwanted = grid.met(box) & ~own
        if not unwanted:
            continue
        box[axis] = _extended(grid, axis, atoms, unwanted)
    return box


def _extended(grid: Grid, axis: int, atoms: Atoms, unwanted: Leaves) -> Atoms:
    """Atoms with all that can be added, step by step, without meeting an unwanted leaf."""
    while True:
        for larger in grid.axes[axis].larger(atoms):
            if not grid.meeting(axis, larger) & unwanted:
                atoms = larger
                break
        else:
            return atoms


def _orders(axes: list[int]) -> Iterator[list[int]]:
    """Some orders of the axes: forwards and backwards, from the start and from the middle."""
    middle = len(axes) // 2
    turned = axes[middle:] + axes[:middle]
    yield from (axes, axes[::-1], turned, turned[::-1])


# ---- the choice ----------------------------------------------------------------------------------


def _fewest(own: Leaves, prices: dict[Leaves, int]) -> list[Leaves]:
    """The fewest of some sets of leaves that together are ``own``, then the cheapest of those."""
    sets = sorted(prices, key=lambda held: (-held.bit_count(), prices[held], held))
    if own in prices or not own:
        return sets[:1]
    place = {leaf: i for i, leaf in enumerate(bits(own))}
    pairs = [(place[leaf], j) for j, held in enumerate(sets) for leaf in bits(held)]
    rows, columns = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    holds = sparse.csr_array((np.ones(len(pairs)), (rows, columns)), (len(place), len(sets)))
    # A rule costs more than all conditions that the fewest rules could save.
    costs = np.array([prices[held] for held in sets], dtype=np.float64)
    costs += 1 + len(place) * costs.max(initial=0)
    solved = milp(
        costs,
        integrality=np.ones(len(sets)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(holds, lb=1),
        options={"mip_rel_gap": 0, "node_limit": _NODES},
    )
    if solved.x is None:
        return _greedily(own, sets)
    return [held for held, taken in zip(sets, solved.x, strict=True) if taken > 0.5]


def _greedily(own: Leaves, sets: list[Leaves]) -> list[Leaves]:
    """A cover of ``own`` by the set that adds most leaves, again and again."""
    chosen = []
    while own:
        best = max(sets, key=lambda held: (held & own).bit_count())
        chosen.append(best)
        own &= ~best
    return chosen


def _shorter(grid: Grid, boxes: list[GridBox]) -> list[GridBox]:
    """The boxes with fewer categories where that is shorter and no leaf is left out.

    Of intervals the largest is the shortest; of categories, one is shorter than several.
    """
    boxes = list(boxes)
    held = [grid.held(box) for box in boxes]
    for i, box in enumerate(boxes):
        alone = held[i]
        for j, others in enumerate(held):
            alone &= ~others if j != i else alone
        for axis, atoms in box.items() if alone else ():
            less = grid.axes[axis].closed(grid.needed(axis, alone) & atoms)
            if grid.axes[axis].price(less) < grid.axes[axis].price(atoms):
                boxes[i] = boxes[i] | {axis: less}
        held[i] = grid.held(boxes[i])
    return boxes


def _needed(grid: Grid, boxes: list[GridBox]) -> list[GridBox]:
    """The boxes without those that the union of the others holds; the smallest go first."""
    for box in boxes[::-1]:
        others = [other for other in boxes if other is not box]
        if _is_covered(grid, box, others):
            boxes = others
    return boxes


def _is_covered(grid: Grid, box: GridBox, others: list[GridBox]) -> bool:
    """Whether the union of others holds a box; False where that takes too many steps to see."""
    stack, looked = [(box, 0)], 0
    while stack:
        piece, first = stack.pop()
        looked += 1
        meeting = (i for i in range(first, len(others)) if _meet(piece, others[i]))
        i = next(meeting, None)
        if i is None or looked > _PIECES:
            return False
        stack += [(rest, i + 1) for rest in _outside(grid, piece, others[i])]
    return True


def _meet(box: GridBox, other: GridBox) -> bool:
    return all(box[axis] & atoms for axis, atoms in other.items() if axis in box)


def _outside(grid: Grid, box: GridBox, other: GridBox) -> list[GridBox]:
    """The part of a box that is outside another, in pieces that do not overlap."""
    pieces = []
    for axis, atoms in other.items():
        here = box.get(axis, grid.axes[axis].all)
        if here & ~atoms:
            pieces.append(box | {axis: here & ~atoms})
        box = box | {axis: here & atoms}
    return pieces
