"""Trees of any shape, and names of any kind, for what draws them."""

import numpy as np

from treemeans import ThresholdTree

HOSTILE = (
    "$x^2$",
    "a_b_{c}\\frac{1}{2}$",
    "<b>&lt;img src=x onerror=alert(1)></b>",
    'say "hi" \\N \\n %s',
    "two\nlines\r\n\tand a tab\x00\x07",
    "right \u202eto left",
    "lone \ud800 half",
    "z" + "\u0301" * 30,
    "w" * 200,
    "many words that go on and on, one after the other, " * 5,
    "",
    " ",
)


def grown(n_leaves, pick, *, n_features=4, n_clusters=5, weighted=True, seed=0):
    """A tree of ``n_leaves`` leaves; ``pick`` says which of the leaves so far is cut next."""
    rng = np.random.default_rng(seed)
    left, right, growth = [-1], [-1], [0]
    leaves = [0]
    while len(leaves) < n_leaves:
        at = pick(len(leaves), rng)
        node = leaves[at]
        left[node], right[node] = len(left), len(left) + 1
        growth[node] = len(leaves) + 1
        leaves[at : at + 1] = [len(left), len(left) + 1]
        for links in (left, right):
            links += [-1, -1]
        growth += [0, 0]
    n = len(left)
    inner = np.array(left) >= 0
    weight = np.zeros(n)
    weight[~inner] = np.round(10 ** rng.uniform(0, 5, n_leaves))
    for node in reversed(range(n)):
        if inner[node]:
            weight[node] = weight[left[node]] + weight[right[node]]
    return ThresholdTree(
        np.where(inner, rng.integers(n_features, size=n), -1),
        np.where(inner, rng.normal(size=n) * 10.0 ** rng.integers(-5, 6, size=n), np.nan),
        left,
        right,
        rng.integers(n_clusters, size=n),
        n_features,
        weight=weight if weighted else None,
        costs=np.zeros((n, n_clusters)),
        growth=growth,
    )


def chain(n_leaves, **options):
    """Every cut but the first is on the right of another."""
    return grown(n_leaves, lambda n, rng: n - 1, **options)


def left_chain(n_leaves, **options):
    return grown(n_leaves, lambda n, rng: 0, **options)


def zigzag(n_leaves, **options):
    """Inwards, by turns from the left and from the right."""
    return grown(n_leaves, lambda n, rng: n // 2, **options)


def scattered(n_leaves, **options):
    return grown(n_leaves, lambda n, rng: int(rng.integers(n)), **options)


def balanced(n_leaves, **options):
    """Level by level."""
    order = []

    def pick(n, rng):
        if not order:
            order.extend(range(0, 2 * n, 2))
        return order.pop(0)

    return grown(n_leaves, pick, **options)


SHAPES = (chain, left_chain, zigzag, scattered, balanced)
