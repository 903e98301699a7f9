"""Random tables, regrets and terms for the kernels that choose cuts."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from tests.oracles import refine_oracle as oracle
from tests.oracles.search_oracle import between
from tests.rows.test_search_oracle import LONG_COLUMNS
from treemeans import _core
from treemeans.rows import Table

FEW = {
    "binary": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "few": lambda rng, n: rng.integers(-2, 3, n) / 2,
    "constant": lambda rng, n: np.full(n, 0.3),
    "mostly zero": lambda rng, n: np.where(rng.random(n) < 0.2, rng.integers(-3, 4, n), 0.0),
    "continuous": lambda rng, n: rng.normal(size=n),
}


class Case:
    """A table with its terms, as the oracle and as the kernels want them."""

    def __init__(self, X, regrets, *, weights=None, min_weight=1, prices=None, as_table=np.asarray):
        self.table = Table.of(as_table(X), 1)
        self.weights, self.min_weight = weights, min_weight
        self.rows = np.arange(len(X)) if weights is None else np.flatnonzero(weights)
        self.slot_prices = None if prices is None else self.by_slot(prices)
        self.terms = oracle.Terms(
            X,
            regrets,
            np.ones(len(X), dtype=np.int64) if weights is None else weights,
            min_weight,
            np.zeros(X.shape[1], dtype=np.int64) if prices is None else prices,
        )

    def by_slot(self, prices):
        """Prices of the features in the order of the table's slots."""
        return np.ascontiguousarray(prices[np.array(self.table.bins.feature, dtype=int)])

    def priced(self, prices):
        """The oracle's terms with other prices."""
        return oracle.Terms(
            self.terms.X, self.terms.regrets, self.terms.weights, self.min_weight, prices
        )

    def surrogate_cut(self, rows, n_threads):
        """The kernel's answer, for a leaf with these rows."""
        totals = self.terms.regrets[rows].sum(axis=0)
        return _core.surrogate_cut(
            self.table.bins,
            self.table.points,
            rows.astype(np.int32),
            self.terms.regrets,
            totals,
            int(totals.argmin()),
            self.limits(),
            n_threads,
        )

    def limits(self, max_depth=None):
        """As the kernels want them."""
        return _core.Limits(self.weights, self.min_weight, self.slot_prices, max_depth)

    def mutable_tree(self, cuts=(), max_depth=None):
        """A tree of one leaf, or with the cuts of ``random_tree``."""
        tree = _core.MutableTree(
            self.table.bins,
            self.table.points,
            self.terms.regrets,
            self.rows.astype(np.int32),
            self.limits(max_depth),
        )
        stack = [(0, cuts)] if isinstance(cuts, tuple) and cuts else []
        while stack:
            node, (feature, threshold, *sides) = stack.pop()
            children = tree.split(node, feature, threshold)
            stack += [pair for pair in zip(children, sides, strict=True) if pair[1] is not None]
        return tree

    def random_tree(self, rng, n_cuts):
        """Cuts at random that the least weight permits, as a tree of the oracle."""
        root = oracle.grown(self.terms, self.rows, None)
        for _ in range(n_cuts):
            leaves = leaves_of(root)
            leaf = leaves[rng.integers(len(leaves))]
            feature = int(rng.integers(self.terms.X.shape[1]))
            values = np.unique(self.terms.X[leaf.rows, feature])
            if len(values) < 2:
                continue
            at = rng.integers(len(values) - 1)
            threshold = between(values[at], values[at + 1])
            goes_left = self.terms.X[leaf.rows, feature] <= threshold
            sides = leaf.rows[goes_left], leaf.rows[~goes_left]
            if min(map(self.terms.weight, sides)) < self.min_weight:
                continue
            leaf.become(oracle.grown(self.terms, leaf.rows, (feature, threshold, None, None)))
        return root


def leaves_of(node):
    return [node] if node.is_leaf else leaves_of(node.left) + leaves_of(node.right)


def cuts_of(node):
    """The cuts of an oracle's tree; None for a leaf."""
    if node.is_leaf:
        return None
    return node.feature, node.threshold, cuts_of(node.left), cuts_of(node.right)


def as_tuple(tree, node=0):
    """A mutable tree in the form of the oracle's ``Node.as_tuple``."""
    nodes = {node.number: node for node in tree.nodes()}

    def nested(at):
        node = nodes[at]
        if node.is_leaf:
            return node.label
        return node.feature, node.threshold, nested(node.left), nested(node.right)

    return nested(node)


def random_regrets(rng, n, k, size):
    """Of every row at least one zero; few sizes, so that sums tie, or many."""
    regrets = rng.integers(0, size, (n, k))
    return regrets - regrets.min(axis=1, keepdims=True)


def random_terms(rng, X, size):
    """Weights, least weight and prices, each of them at times left out."""
    n, d = X.shape
    terms = {}
    if rng.random() < 0.5:
        terms["weights"] = rng.integers(0, 5, n)
        terms["weights"][rng.integers(n)] = 1
    if rng.random() < 0.5:
        weight = n if "weights" not in terms else int(terms["weights"].sum())
        terms["min_weight"] = int(rng.integers(1, max(2, weight // 3)))
    if rng.random() < 0.5:
        terms["prices"] = random_prices(rng, d, size * n // 8)
    return terms


def random_prices(rng, d, most):
    """Some free, some with a price, some forbidden."""
    prices = rng.integers(0, most + 2, d)
    prices[rng.random(d) < 0.3] = 0
    prices[rng.random(d) < 0.25] = -1
    return prices


@st.composite
def cases(draw, kinds=FEW, sizes=(2, 5, 20, 60), most_columns=4):
    """A `Case`, and the generator it was drawn with."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.sampled_from(sizes))
    names = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=most_columns))
    X = np.column_stack([kinds[name](rng, n) for name in names])
    size = draw(st.sampled_from([2, 10, 10**12]))
    regrets = random_regrets(rng, n, draw(st.integers(2, 6)), size)
    as_table = draw(st.sampled_from([np.asarray, sparse.csr_array]))
    return Case(X, regrets, as_table=as_table, **random_terms(rng, X, size)), rng


def long_cases():
    """More values than there are bins."""
    return cases(kinds=LONG_COLUMNS, sizes=(300, 1100, 3000))


def wide_case(rng, as_table):
    """Enough rows and columns for every kernel to share them out."""
    kinds = ["clusters", "rounded", "rare continuous", "few", "rare wide integers", "normal"]
    X = np.column_stack([LONG_COLUMNS[kinds[i % 6]](rng, 6000) for i in range(12)])
    nearest = np.digitize(X[:, 0] + X[:, 2], [-3.0, 2.0, 6.0])
    regrets = random_regrets(rng, 6000, 4, 10**12)
    regrets += 10**12 * (nearest[:, None] != np.arange(4))
    regrets -= regrets.min(axis=1, keepdims=True)
    return Case(
        X,
        regrets,
        weights=rng.integers(0, 4, 6000),
        min_weight=200,
        prices=random_prices(rng, 12, 10**13),
        as_table=as_table,
    )
