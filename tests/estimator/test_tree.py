"""ThresholdTree: what it refuses, what it answers, and that it cannot be changed."""

import copy
import pickle
import sys
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from scipy import sparse

from tests.helpers.random_trees import accepted, leaves_by_walking, mixed_rows, mixed_tree
from treemeans import ThresholdTree
from treemeans.split import Split

NAN = float("nan")

# x0 <= 2.5 ? (x1 <= -1 ? cluster 0 : cluster 2) : cluster 1, and what seven rows cost.
PARTS = {
    "feature": [0, 1, -1, -1, -1],
    "threshold": [2.5, -1.0, NAN, NAN, NAN],
    "left": [1, 3, -1, -1, -1],
    "right": [2, 4, -1, -1, -1],
    "label": [1, 0, 1, 0, 2],
    "n_features": 3,
    "weight": [7.0, 4.0, 3.0, 1.0, 3.0],
    "costs": [
        [9.0, 5.0, 8.0],
        [2.0, 4.0, 3.0],
        [7.0, 1.0, 5.0],
        [0.5, 3.0, 2.5],
        [1.5, 1.0, 0.5],
    ],
    "growth": [2, 3, 0, 0, 0],
    "gap": [[2.0, 3.0], [-1.5, 0.25], [NAN, NAN], [NAN, NAN], [NAN, NAN]],
    "missing_left": [-1, -1, -1, -1, -1],
    "category_first": [0, 0, 0, 0, 0, 0],
    "category_codes": np.empty(0, dtype=int),
    "has_seen_missing": False,
}
ARRAYS = tuple(name for name in PARTS if name not in ("n_features", "has_seen_missing"))


def tree_of(**changes):
    return ThresholdTree(**(PARTS | changes))


@pytest.fixture
def tree():
    return tree_of()


def chain(n_leaves):
    """The deepest tree of its size: the cut at 0, 1, 2, ... each time of the right-hand leaf."""
    n = 2 * n_leaves - 1
    inner = np.arange(0, n - 1, 2)
    feature, left, right = (np.full(n, -1) for _ in range(3))
    threshold = np.full(n, NAN)
    feature[inner], threshold[inner] = 0, np.arange(n_leaves - 1)
    left[inner], right[inner] = inner + 1, inner + 2
    return ThresholdTree(feature, threshold, left, right, np.arange(n) % 7, n_features=1)


# ---- what it knows -------------------------------------------------------------------------------


def test_shape(tree):
    assert (tree.n_nodes, tree.n_leaves, tree.n_clusters, tree.n_features) == (5, 3, 3, 3)
    assert tree.is_leaf.tolist() == [False, False, True, True, True]
    assert tree.leaves.tolist() == [2, 3, 4]
    assert tree.depth.tolist() == [0, 1, 1, 2, 2]


def test_types(tree):
    for name in ("feature", "left", "right", "label", "growth"):
        assert getattr(tree, name).dtype == np.int32, name
    for name in ("threshold", "weight", "costs"):
        assert getattr(tree, name).dtype == np.float64, name


def test_surrogate_cost_is_that_of_the_leaves(tree):
    assert tree.surrogate_cost == 1.0 + 0.5 + 0.5


def test_cost_saved_by_each_feature(tree):
    # Root: 5 -> 2 + 1, on feature 0. Node 1: 2 -> 0.5 + 0.5, on feature 1.
    np.testing.assert_allclose(tree.cost_saved(), [2.0, 1.0, 0.0])


def test_a_single_leaf():
    leaf = ThresholdTree([-1], [0.0], [-1], [-1], [1], n_features=2)
    assert leaf.n_leaves == 1
    assert leaf.n_clusters == 2
    assert leaf.predict(np.zeros((3, 2))).tolist() == [1, 1, 1]
    assert np.isnan(leaf.threshold).all()
    assert leaf.with_leaves(1) == leaf
    saved = leaf.cost_saved()
    assert saved.tolist() == [0.0, 0.0]
    assert saved.dtype == np.float64


def test_defaults_of_weight_costs_and_growth():
    tree = tree_of(weight=None, costs=None, growth=None)
    assert tree.weight.tolist() == [0.0] * 5
    assert tree.costs.tolist() == [[0.0] * 3] * 5
    assert tree.growth.tolist() == [2, 3, 0, 0, 0]


def test_default_growth_goes_level_by_level():
    # The root's right child is node 1, its left node 2; both are cut.
    tree = ThresholdTree(
        feature=[0, 0, 0, -1, -1, -1, -1],
        threshold=[0, 1, -1, 0, 0, 0, 0],
        left=[2, 3, 5, -1, -1, -1, -1],
        right=[1, 4, 6, -1, -1, -1, -1],
        label=[0] * 7,
        n_features=1,
    )
    assert tree.growth.tolist() == [2, 4, 3, 0, 0, 0, 0]


def test_repr(tree):
    assert repr(tree) == "ThresholdTree(n_leaves=3, n_clusters=3, depth=2, n_features=3)"


# ---- it cannot be changed ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_are_read_only(tree, name):
    with pytest.raises(ValueError, match="read-only"):
        getattr(tree, name)[0] = 0


@pytest.mark.parametrize("name", PARTS)
def test_fields_cannot_be_set(tree, name):
    with pytest.raises(FrozenInstanceError):
        setattr(tree, name, getattr(tree, name))


def test_arrays_are_copies_of_what_was_given():
    given = {name: np.array(PARTS[name]) for name in ARRAYS}
    tree = ThresholdTree(**given, n_features=3)
    for name, array in given.items():
        assert array.flags.writeable, name
        array[...] = 0
    assert tree == tree_of()


@pytest.mark.parametrize(
    "twin",
    [lambda tree: pickle.loads(pickle.dumps(tree)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_a_copy_is_equal_and_cannot_be_changed_either(tree, twin):
    other = twin(tree)
    assert other == tree
    assert other.predict([[0.0, 0.0, 0.0]]).tolist() == [2]
    for name in ARRAYS:
        assert not getattr(other, name).flags.writeable, name


def test_methods_leave_the_tree_alone(tree):
    X = np.zeros((2, 3))
    tree.apply(X), tree.predict(X), tree.decision_path(X), tree.with_leaves(2), tree.cost_saved()
    assert tree == tree_of()


# ---- equality ------------------------------------------------------------------------------------


def test_equal_to_itself_and_to_its_like(tree):
    assert tree == tree_of()
    assert not tree != tree_of()  # noqa: SIM202


@pytest.mark.parametrize(
    "changes",
    [
        {"feature": [0, 2, -1, -1, -1]},
        {"threshold": [2.5, -1.5, NAN, NAN, NAN]},
        {"left": [2, 3, -1, -1, -1], "right": [1, 4, -1, -1, -1]},
        {"label": [1, 0, 1, 0, 1]},
        {"n_features": 4},
        {"weight": [7.0, 4.0, 3.0, 2.0, 2.0]},
        {"costs": None},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_different_if_any_part_is(tree, changes):
    assert tree != tree_of(**changes)


def test_different_from_other_things(tree):
    assert tree != "tree"
    assert tree != chain(3)


def test_not_hashable(tree):
    with pytest.raises(TypeError, match="unhashable"):
        hash(tree)


# ---- what it refuses -----------------------------------------------------------------------------

REFUSED = {
    "no nodes": (
        {name: [] for name in ("feature", "threshold", "left", "right", "label")},
        "at least one node",
    ),
    "too few thresholds": ({"threshold": [2.5]}, r"5 nodes needs 5 entries in threshold"),
    "too few left": ({"left": [1, 3]}, r"5 entries in left"),
    "too many right": ({"right": [2, 4, -1, -1, -1, -1]}, r"5 entries in right"),
    "too few labels": ({"label": [0]}, r"5 entries in label"),
    "features not whole": ({"feature": [0.5, 1, -1, -1, -1]}, "feature .* array of integers"),
    "labels in 2-d": ({"label": [[1, 0, 1, 0, 2]]}, "label .* 1-d array of integers"),
    "weight too short": ({"weight": [1.0]}, "one row for each of its 5 nodes"),
    "costs too short": ({"costs": [[1.0, 2.0, 3.0]]}, "one row for each of its 5 nodes"),
    "costs in 1-d": ({"costs": [1.0] * 5}, "one row for each of its 5 nodes"),
    "child beyond the end": ({"right": [5, 4, -1, -1, -1]}, "Node 0 .* child 5, which is no node"),
    "child beyond 32 bits": ({"left": [2**32 + 1, 3, -1, -1, -1]}, "child|left"),
    "negative child": ({"left": [1, -2, -1, -1, -1]}, "Node 1 .* child -2, which is no node"),
    "missing child": ({"left": [1, -1, -1, -1, -1]}, "Node 1 .* child -1, which is no node"),
    "root as a child": ({"right": [2, 0, -1, -1, -1]}, "Node 1 .* child 0, which is no node"),
    "leaf with a child": ({"left": [1, 3, 4, -1, -1]}, "Node 2 .* leaf .* has a child"),
    "child of two": ({"left": [1, 2, -1, -1, -1]}, "Node 2 .* child of two"),
    "own child": ({"left": [3, 1, -1, -1, -1]}, "cycle|does not reach"),
    "feature beyond the end": ({"feature": [0, 3, -1, -1, -1]}, "Node 1 .* feature 3, .* 3 feat"),
    "negative feature": ({"feature": [-2, 1, -1, -1, -1]}, "Node 0 .* feature -2"),
    "NaN threshold": ({"threshold": [2.5, NAN, NAN, NAN, NAN]}, "Node 1 .* not finite"),
    "infinite threshold": (
        {"threshold": [float("inf"), -1.0, NAN, NAN, NAN]},
        "Node 0 .* not finite",
    ),
    "negative label": ({"label": [1, 0, 1, -1, 2]}, "label .* negative"),
    "label beyond the costs": ({"label": [1, 0, 1, 0, 3]}, "label 3, but costs of 3 clusters"),
    "growth too short": ({"growth": [2, 3]}, "entry for each node"),
    "growth at a leaf": ({"growth": [2, 3, 4, 0, 0]}, "0 at the leaves"),
    "growth with a gap": ({"growth": [2, 4, 0, 0, 0]}, "2, 3, ..., parents first"),
    "growth of a child first": ({"growth": [3, 2, 0, 0, 0]}, "parents first"),
    "growth not whole": ({"growth": [2.0, 3.0, 0.0, 0.0, 0.0]}, "growth .* integers"),
    "negative number of features": (
        {"feature": [-1], "threshold": [0.0], "left": [-1], "right": [-1], "label": [0]}
        | {"weight": None, "costs": None, "growth": None, "n_features": -1},
        "n_features",
    ),
}


@pytest.mark.parametrize(("changes", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused_with_a_sentence(changes, sentence):
    with pytest.raises(ValueError, match=sentence) as refusal:
        tree_of(**changes)
    message = str(refusal.value)
    assert "\n" not in message
    assert message.endswith(".")


def test_unreachable_nodes_are_refused():
    # The root is a leaf; nodes 1 and 2 go round in a circle on their own.
    with pytest.raises(ValueError, match="cycle, or nodes that its root does not reach"):
        ThresholdTree(
            feature=[-1, 0, 0, -1, -1],
            threshold=[0.0] * 5,
            left=[-1, 2, 1, -1, -1],
            right=[-1, 3, 4, -1, -1],
            label=[0] * 5,
            n_features=1,
        )


def test_replace_is_checked_too(tree):
    with pytest.raises(ValueError, match="not finite"):
        replace(tree, threshold=[NAN] * 5)


# ---- apply, predict, decision_path ---------------------------------------------------------------

ROWS = np.array(
    [
        [2.5, -1.0, 0.0],  # on both thresholds: left and left
        [np.nextafter(2.5, 3), -1.0, 0.0],  # just above the first
        [2.5, np.nextafter(-1.0, 0), 0.0],  # just above the second
        [0.0, 0.0, 0.0],
        [0.0, -5.0, 0.0],
        [9.0, -5.0, 0.0],
        [-1e300, 1e300, 0.0],
    ]
)
LEAF_OF_ROW = [3, 2, 4, 4, 3, 2, 4]

FORMS = {
    "array": np.asarray,
    "list": lambda X: X.tolist(),
    "F-order": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed": lambda X: X[::-1].copy()[::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "longdouble": lambda X: X.astype(np.longdouble),
    "objects": lambda X: X.astype(object),
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "csr array": sparse.csr_array,
    "csr with stored zeros": lambda X: with_stored_zeros(X),
}


def with_stored_zeros(X):
    rows, columns = np.indices(X.shape)
    return sparse.csr_matrix((X.ravel(), (rows.ravel(), columns.ravel())), shape=X.shape)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_apply_and_predict(tree, form, n_threads):
    X = form(ROWS)
    leaf = tree.apply(X, n_threads=n_threads)
    assert leaf.tolist() == LEAF_OF_ROW
    assert leaf.dtype == np.int32
    assert tree.predict(X, n_threads=n_threads).tolist() == tree.label[LEAF_OF_ROW].tolist()


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, bool]
)
def test_number_types(tree, dtype):
    X = np.array([[0, 1, 0], [1, 0, 1]]).astype(dtype)
    assert tree.predict(X).tolist() == [2, 2]
    assert tree_of(threshold=[0.5, 0.5, NAN, NAN, NAN], gap=None).predict(X).tolist() == [2, 1]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_unsigned_types(dtype):
    tree = tree_of(threshold=[200.5, -1.0, NAN, NAN, NAN], gap=None)
    X = np.array([[200, 0, 0], [201, 0, 0]], dtype=dtype)
    assert tree.predict(X).tolist() == [2, 1]


def test_float32_values_are_compared_as_they_are():
    # float32(0.1) is above 0.1, so a row of it goes right of a cut at 0.1.
    tree = tree_of(threshold=[0.1, -1.0, NAN, NAN, NAN], gap=None)
    assert tree.predict(np.full((1, 3), 0.1)).tolist() == [2]
    assert tree.predict(np.full((1, 3), 0.1, dtype=np.float32)).tolist() == [1]


@pytest.mark.parametrize(
    ("threshold", "side"), [(0.0, 1), (-0.0, 1), (5e-324, 1), (-5e-324, 2), (-1.0, 2), (1.0, 1)]
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_a_zero_that_is_not_stored_is_a_zero(threshold, side, form):
    tree = ThresholdTree([1, -1, -1], [threshold, NAN, NAN], [1, -1, -1], [2, -1, -1], [0] * 3, 3)
    assert tree.apply(form(np.array([[7.0, 0.0, -7.0]]))).tolist() == [side]


def test_no_rows(tree):
    X = np.empty((0, 3))
    assert tree.apply(X).shape == (0,)
    assert tree.predict(sparse.csr_matrix(X)).shape == (0,)
    assert tree.decision_path(X).shape == (0, 5)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_decision_path(tree, form):
    path = tree.decision_path(form(ROWS))
    assert sparse.issparse(path)
    assert path.format == "csr"
    ways = {2: [0, 2], 3: [0, 1, 3], 4: [0, 1, 4]}
    expected = np.zeros((len(ROWS), 5))
    for row, leaf in enumerate(LEAF_OF_ROW):
        expected[row, ways[leaf]] = 1
    assert path.toarray().tolist() == expected.tolist()


@pytest.mark.parametrize("method", ["apply", "predict", "decision_path"])
@pytest.mark.parametrize(
    "X", [np.zeros((2, 2)), np.zeros((2, 4)), np.zeros(3), np.zeros((1, 2, 3)), [1.0, 2.0, 3.0]]
)
def test_wrong_shapes_are_refused(tree, method, X):
    with pytest.raises(ValueError, match=r"made for 3 columns, but X has shape \("):
        getattr(tree, method)(X)


# ---- smaller trees inside ------------------------------------------------------------------------


def test_with_leaves(tree):
    assert tree.with_leaves(3) == tree
    two = tree.with_leaves(2)
    assert two == ThresholdTree(
        feature=[0, -1, -1],
        threshold=[2.5, NAN, NAN],
        left=[1, -1, -1],
        right=[2, -1, -1],
        label=[1, 0, 1],
        n_features=3,
        weight=[7.0, 4.0, 3.0],
        costs=PARTS["costs"][:3],
        growth=[2, 0, 0],
        gap=PARTS["gap"][:3],
    )
    one = tree.with_leaves(1)
    assert (one.n_nodes, one.n_clusters, one.label.tolist()) == (1, 3, [1])


def test_a_gap_that_is_not_given_is_the_threshold():
    tree = tree_of(gap=None)
    assert tree.gap[:2].tolist() == [[2.5, 2.5], [-1.0, -1.0]]
    assert np.isnan(tree.gap[2:]).all()


@pytest.mark.parametrize(
    ("gap", "says"),
    [
        ([[2.0, 3.0]], "two entries for each node"),
        ([[2.6, 3.0], *PARTS["gap"][1:]], "between its ends"),
        ([[2.0, 2.4], *PARTS["gap"][1:]], "between its ends"),
        ([[NAN, 3.0], *PARTS["gap"][1:]], "between its ends"),
    ],
)
def test_a_gap_holds_its_threshold(gap, says):
    with pytest.raises(ValueError, match=says):
        tree_of(gap=gap)


@pytest.mark.parametrize("n_leaves", [0, 4, -1])
def test_with_leaves_it_never_had(tree, n_leaves):
    with pytest.raises(ValueError, match=rf"trees of 1 to 3 leaves .* not one of {n_leaves}"):
        tree.with_leaves(n_leaves)


def test_with_leaves_follows_the_growth_not_the_numbering():
    rng = np.random.default_rng(0)
    tree = random_tree(rng, n_leaves=40)
    X = rng.normal(size=(300, 4))
    for n_leaves in range(1, 41):
        small = tree.with_leaves(n_leaves)
        assert small.n_leaves == n_leaves
        assert small.predict(X).tolist() == walk(tree, X, n_leaves).tolist()
        assert small.with_leaves(1) == tree.with_leaves(1)


def random_tree(rng, n_leaves):
    """A tree grown at random, its nodes then renumbered at random (but for the root)."""
    feature, threshold, left, right, growth = [-1], [NAN], [-1], [-1], [0]
    for size in range(2, n_leaves + 1):
        node = rng.choice([i for i, f in enumerate(feature) if f < 0])
        feature[node], threshold[node] = rng.integers(4), rng.normal()
        left[node], right[node], growth[node] = len(feature), len(feature) + 1, size
        for values in (feature, left, right):
            values += [-1, -1]
        threshold += [NAN, NAN]
        growth += [0, 0]
    n = len(feature)
    order = np.append(0, 1 + rng.permutation(n - 1))  # new number -> old
    number = np.append(np.argsort(order), -1)  # old -> new; the last stands for -1
    parts = {"feature": feature, "threshold": threshold, "growth": growth}
    return ThresholdTree(
        **{name: np.array(values)[order] for name, values in parts.items()},
        left=number[np.array(left)[order]],
        right=number[np.array(right)[order]],
        label=rng.integers(5, size=n),
        n_features=4,
    )


def walk(tree, X, n_leaves):
    """The labels of rows that stop at cuts made later than the tree had ``n_leaves`` leaves."""
    labels = []
    for row in X:
        node = 0
        while tree.feature[node] >= 0 and tree.growth[node] <= n_leaves:
            below = row[tree.feature[node]] <= tree.threshold[node]
            node = tree.left[node] if below else tree.right[node]
        labels.append(tree.label[node])
    return np.array(labels)


# ---- nothing recurses ----------------------------------------------------------------------------


def test_five_thousand_leaves_in_a_chain():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        tree = chain(5000)
        X = np.array([[-0.5], [0.0], [0.5], [4998.0], [4999.0]])
        leaf = [1, 1, 3, 9997, 9998]
        assert tree.apply(X).tolist() == leaf
        assert tree.depth.max() == 4999
        assert tree.with_leaves(4000).n_leaves == 4000
        assert tree.decision_path(X).sum(axis=1).ravel().tolist() == [[2, 2, 3, 5000, 5000]]
        assert pickle.loads(pickle.dumps(tree)) == tree
        assert "n_leaves=5000" in repr(tree)
    finally:
        sys.setrecursionlimit(limit)


# ---- other kinds of splits -----------------------------------------------------------------------

# country (x1) in {0, 2} ? (x0 <= 2.5 or missing ? cluster 0 : 1) : (x0 missing ? cluster 2 : 0)
MIXED = PARTS | {
    "feature": [1, 0, 0, -1, -1, -1, -1],
    "threshold": [NAN, 2.5, -np.inf, NAN, NAN, NAN, NAN],
    "left": [1, 3, 5, -1, -1, -1, -1],
    "right": [2, 4, 6, -1, -1, -1, -1],
    "label": [0, 0, 2, 0, 1, 2, 0],
    "weight": None,
    "costs": None,
    "growth": None,
    "gap": None,
    "missing_left": [-1, 1, 1, -1, -1, -1, -1],
    "category_first": [0, 2, 2, 2, 2, 2, 2, 2],
    "category_codes": [0, 2],
}


def mixed_of(**changes):
    return ThresholdTree(**(MIXED | changes))


def test_categories_and_missing_values():
    tree = mixed_of()
    assert tree.split(0) == Split(1, categories=(0, 2))
    assert tree.split(1) == Split(0, 2.5, missing_left=True)
    assert tree.split(2) == Split(0, -np.inf, missing_left=True)
    rows = [[2.5, 0, 9], [3, 2, 9], [NAN, 0, 9], [NAN, 1, 9], [7, 1, 9], [7, 99, NAN]]
    assert tree.predict(rows).tolist() == [0, 1, 0, 2, 0, 0]
    assert tree.predict(sparse.csr_array(np.array(rows))).tolist() == [0, 1, 0, 2, 0, 0]
    assert tree.decision_path(rows[:1]).toarray().tolist() == [[1, 1, 0, 1, 0, 0, 0]]


@pytest.mark.parametrize("row", [[1.0, NAN, 0.0], [np.inf, 0.0, 0.0], [1.0, 0.0, np.inf]])
def test_missing_values_need_a_side(row):
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        mixed_of().predict([row])


def test_a_leaf_has_no_split():
    with pytest.raises(ValueError, match="Node 3 of the tree is a leaf"):
        mixed_of().split(3)


@pytest.mark.parametrize("missing", ["none", "some", "all"])
@pytest.mark.parametrize("seed", range(5))
def test_every_kind_of_split_by_walking(missing, seed):
    rng = np.random.default_rng(seed)
    tree = mixed_tree(rng, 20, missing=missing)
    X = mixed_rows(rng, 400)
    taken = X[accepted(tree, X)]
    assert len(taken) > 20
    assert tree.apply(taken).tolist() == leaves_by_walking(tree, taken).tolist()
    assert tree.apply(sparse.csr_array(taken)).tolist() == tree.apply(taken).tolist()
    for row in X[~accepted(tree, X)][:20]:
        with pytest.raises(ValueError, match="X contains NaN or infinity"):
            tree.predict(row[None, :])


def test_smaller_trees_keep_their_splits():
    rng = np.random.default_rng(0)
    tree = mixed_tree(rng, 20, missing="all")
    X = mixed_rows(rng, 300)
    for n_leaves in range(2, 21):  # without a split, a tree accepts no missing values
        small = tree.with_leaves(n_leaves)
        ancestor = tree.ancestor_in(tree.cut_by(n_leaves))
        assert small.predict(X).tolist() == tree.label[ancestor[tree.apply(X)]].tolist()
        for copied in (pickle.loads(pickle.dumps(small)), copy.deepcopy(small)):
            assert copied == small
    assert mixed_of() != mixed_of(missing_left=[0, 1, 1, -1, -1, -1, -1])
    assert mixed_of() != mixed_of(category_codes=[0, 3])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"missing_left": [1, 1]}, "missing_left of a tree needs an entry for each of its 7 nodes"),
        ({"missing_left": [2, 1, 1, -1, -1, -1, -1]}, "1 for left, 0 for right, -1 for none"),
        ({"missing_left": [257, 1, 1, -1, -1, -1, -1]}, "1 for left, 0 for right, -1 for none"),
        ({"missing_left": [0.5] * 7}, "1-d array of integers"),
        ({"missing_left": [-1, 1, 0, -1, -1, -1, -1]}, "Node 2 .* threshold that is not finite"),
        ({"missing_left": [-1, 1, -1, -1, -1, -1, -1]}, "Node 2 .* threshold that is not finite"),
        ({"category_first": [0, 2]}, "7 nodes needs 8 entries"),
        ({"category_first": [1, 2, 2, 2, 2, 2, 2, 2]}, "rise from 0 to the 2 entries"),
        ({"category_first": [0, 2, 1, 2, 2, 2, 2, 2]}, "rise from 0 to the 2 entries"),
        ({"category_first": [0, 2, 2, 2, 2, 2, 2, 3]}, "rise from 0 to the 2 entries"),
        ({"category_codes": [2, 0]}, "category codes of node 0 of the tree must ascend"),
        ({"category_codes": [2, 2]}, "category codes of node 0 of the tree must ascend"),
        (
            {"category_codes": [-1, 2]},
            "Node 0 .* category code -1; codes are from 0 to 16777215",
        ),
        ({"category_codes": [0, 2**24]}, "Node 0 of the tree has the category code 16777216"),
        ({"category_codes": [0.5, 2]}, "category_codes of a tree must be a 1-d array of integers"),
        ({"category_codes": [0, 2**31]}, "category_codes of a tree holds a number .* out of range"),
        (
            {"category_first": [0] * 8, "category_codes": np.empty(0, int)},
            "Node 0 .* threshold that is not finite",
        ),
        (
            {"threshold": [1.0, 2.5, -np.inf, NAN, NAN, NAN, NAN]},
            "Node 0 of the tree has a threshold and categories",
        ),
        (
            {
                "threshold": [1.0, 2.5, -np.inf, NAN, NAN, NAN, NAN],
                "category_first": [0, 0, 0, 0, 2, 2, 2, 2],
            },
            "Node 3 of the tree is a leaf .* but has categories",
        ),
    ],
)
def test_bad_kinds_of_splits(changes, says):
    with pytest.raises(ValueError, match=says):
        mixed_of(**changes)


def test_every_field_is_covered_here():
    assert {field.name for field in fields(ThresholdTree)} == PARTS.keys()
