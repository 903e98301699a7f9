"""CLTree by hand: one point at a time, one cut at a time."""

import math

TINY = 1e-12


def entropy(y, n):
    shares = [part / (y + n) for part in (y, n) if part > 0]
    return -sum(share * math.log2(share) for share in shares)


def p15(y, n):
    return -sum((part / (y + n)) ** 1.5 for part in (y, n) if y + n > 0)


IMPURITY = {"entropy": entropy, "p15": p15}


def density(y, n):
    if y == 0:
        return 0.0
    return y / n if n > 0 else math.inf


class Region:
    """An interval of one feature: the values of its points, and its virtual points."""

    def __init__(self, values, low, high, n):
        self.values, self.low, self.high, self.n = sorted(values), low, high, n

    @property
    def density(self):
        return density(len(self.values), self.n)

    def part(self, cut):
        share = math.floor(self.n * (cut - self.low) / (self.high - self.low) + 1e-9)
        left = [value for value in self.values if value <= cut]
        right = [value for value in self.values if value > cut]
        return Region(left, self.low, cut, share), Region(right, cut, self.high, self.n - share)

    def lower_side(self, cut):
        left, right = self.part(cut)
        return left if left.density <= right.density else right

    def gain(self, cut, min_split, impurity):
        """None where the cut is not allowed."""
        sides = [(len(side.values), side.n) for side in self.part(cut)]
        if any(y + max(n, y) < min_split for y, n in sides):
            return None
        y, n = len(self.values), self.n
        left = sum((a + b) / (y + n) * impurity(a, b) for a, b in sides if a + b > 0)
        return impurity(y, n) - left

    def best_cut(self, min_split, impurity):
        best, most = None, 0.0
        if self.low == self.high:
            return None
        for value in sorted(set(self.values) - {self.high}):
            gain = self.gain(value, min_split, impurity)
            if gain is not None and gain > most + TINY:
                best, most = value, gain
        return best


def look_ahead(region, min_split, impurity):
    """(density of what is left emptier, cut) of one feature, or None."""
    cut1 = region.best_cut(min_split, impurity)
    if cut1 is None:
        return None
    lower = region.lower_side(cut1)
    cut2 = lower.best_cut(min_split, impurity)
    if cut2 is None:
        return lower.density, cut1
    left, right = lower.part(cut2)
    near, far = (left, right) if lower.low == cut1 and lower.high != cut1 else (right, left)
    if near.density > far.density:
        return far.density, cut2
    cut3 = near.best_cut(min_split, impurity)
    if cut3 is None:
        return near.density, cut2
    return near.lower_side(cut3).density, cut3


class Node:
    def __init__(self, rows, box, n):
        self.rows, self.box, self.n = rows, box, max(n, len(rows))
        self.cut, self.children, self.stop = None, [], False

    @property
    def y(self):
        return len(self.rows)

    @property
    def rd(self):
        return 100 * self.y / self.n if self.n else 0.0


def grow(X, min_split, criterion):
    """X: a list of tuples."""
    box = [(min(column), max(column)) for column in zip(*X, strict=True)]
    root = Node(list(range(len(X))), box, len(X))
    waiting = [root]
    while waiting:
        node = waiting.pop()
        best = None
        for feature, (low, high) in enumerate(node.box):
            region = Region([X[row][feature] for row in node.rows], low, high, node.n)
            found = look_ahead(region, min_split, IMPURITY[criterion])
            if found is not None and (best is None or found[0] < best[0] - TINY):
                best = (*found, feature, region)
        if best is None:
            continue
        _, cut, feature, region = best
        node.cut = feature, cut
        left, right = region.part(cut)
        for side, keep in ((left, True), (right, False)):
            rows = [row for row in node.rows if (X[row][feature] <= cut) == keep]
            box = list(node.box)
            box[feature] = side.low, side.high
            node.children.append(Node(rows, box, side.n))
        waiting += [child for child in node.children if child.y > 0]
    return root


def prune(node, m, min_rd):
    if not node.children:
        node.stop = True
        return
    for child in node.children:
        child.stop = True
        if child.y >= m:
            prune(child, m, min_rd)
    a, b = node.children
    node.stop = (
        a.stop
        and b.stop
        and ((a.rd > min_rd and b.rd > min_rd) or (a.y < m and b.y < m) or a.y == 0 or b.y == 0)
    )


def finished(node):
    """(rows, n) of a leaf, or (feature, cut, left, right)."""
    if node.stop:
        return tuple(node.rows), node.n
    full = [child for child in node.children if child.y > 0]
    if len(full) == 1:
        return finished(full[0])
    return (*node.cut, *(finished(child) for child in node.children))


def cltree(X, min_split, min_y, min_rd, criterion="entropy"):
    root = grow(X, min_split, criterion)
    prune(root, math.floor(min_y / 100 * len(X) + 1e-9), min_rd)
    return finished(root)


def touching(boxes, dense):
    """Numbers of the leaves, in sets that hang together."""
    sets = [{leaf} for leaf in range(len(boxes))]

    def touch(one, other):
        flat = 0
        for a, b in zip(one, other, strict=True):
            if a == b:
                continue
            length = min(a[1], b[1]) - max(a[0], b[0])
            if length < 0:
                return False
            flat += length == 0
        return flat == 1

    for a in range(len(boxes)):
        for b in range(a):
            if dense[a] and dense[b] and touch(boxes[a], boxes[b]):
                one, other = (next(s for s in sets if leaf in s) for leaf in (a, b))
                if one is not other:
                    one |= other
                    sets.remove(other)
    return {frozenset(s) for s in sets}
