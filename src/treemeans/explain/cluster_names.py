"""Names of clusters: automatic ones, from what sets a cluster apart, and checks of given ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from treemeans.columns import Column, Reader
from treemeans.explain.cluster_profile import Difference, differences, words_of
from treemeans.explain.model_facts import Facts

_MOST_TRAITS = 4  # columns in a name, at most
_SECOND = 0.6  # of the first trait's difference; a trait that is less marked is left out
_LONGEST = 60  # letters of an automatic name
_LONG_WORDS = 48  # letters of the names of columns in a name that would be longer
_LONGEST_GIVEN = 200


def automatic_names(facts: Facts) -> tuple[str, ...]:
    """A short, distinct name for each cluster, from the columns in which it differs most.

    A trait is a column whose mean in the cluster is the most standard deviations away from the
    mean of the other rows. A name has one trait, a second if that is nearly as marked, and more
    only where two clusters would have the same name. Clusters that differ in degree alone are
    told apart by the mean itself.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC
    >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
    >>> names = ["sepal length", "sepal width", "petal length", "petal width"]
    >>> model.with_columns(names=names).cluster_names_
    ('low sepal width', 'low petal length, low petal width', 'high sepal length, high petal width')
    """
    reader = Reader(facts.tree, facts.columns)
    n_clusters = facts.tree.n_clusters
    if n_clusters == 1:
        return ("all rows",)
    empty = facts.weight == 0
    found = differences(facts, reader, _MOST_TRAITS)
    length = [_traits_at_first(traits) for traits in found]
    while True:
        names = [
            "empty" if empty[i] else _joined(facts, found[i][: length[i]])
            for i in range(n_clusters)
        ]
        count = Counter(names)
        longer = [i for i in range(n_clusters) if count[names[i]] > 1 and length[i] < len(found[i])]
        if not longer:
            break
        for i in longer:
            length[i] += 1
    return _made_distinct(names, [_value(reader, traits) for traits in found])


def _traits_at_first(traits: Sequence[Difference]) -> int:
    """One, or two where the second is nearly as marked as the first."""
    if len(traits) < 2:
        return len(traits)
    return 2 if abs(traits[1].difference) >= _SECOND * abs(traits[0].difference) else 1


def _joined(facts: Facts, traits: Sequence[Difference]) -> str:
    # In the order of the columns: which of two is more marked changes from one sample to the next.
    ordered = sorted(traits, key=lambda trait: trait.feature)
    each = [(_named_column(facts, trait), trait.difference > 0) for trait in ordered]
    name = ", ".join(_trait(column, more) for column, more in each)
    if len(name) > _LONGEST:
        name = ", ".join(_trait(column, more, _LONG_WORDS // len(each)) for column, more in each)
    return _cut(name, _LONGEST) or "like all rows"


def _named_column(facts: Facts, trait: Difference) -> Column:
    """The column of a trait; of a category, the column that is 1 where a row has it."""
    column = facts.columns[trait.feature]
    if not trait.category:
        return column
    return Column(column.name, "category", source=column.name, value=trait.category)


def _trait(column: Column, more: bool, most: int = _LONGEST) -> str:
    """What is unusual about a column, in two or three words; names of ``most`` letters at most."""
    if column.kind == "category":
        source, value = _cut(column.source, most // 2), _cut(column.value, most // 2)
        return f"{source} {value}" if more else f"{source} not {value}"
    name = _cut(column.name, most)
    if column.kind == "flag":
        return name if more else f"no {name}"
    if column.is_date:
        return f"{'late' if more else 'early'} {name}"
    return f"{'high' if more else 'low'} {name}"


def _value(reader: Reader, traits: Sequence[Difference]) -> str:
    """The mean of the first trait, which tells clusters apart that differ in degree."""
    if not traits:
        return ""
    first = traits[0]
    words = words_of(reader, first.feature, first.mean, first.others, first.category)
    return words[1][0]


def _made_distinct(names: Sequence[str], values: Sequence[str]) -> tuple[str, ...]:
    """Names with a mean, then with a number, after those that are still the same."""
    count = Counter(names)
    told = [
        f"{name} ({value})" if count[name] > 1 and value else name
        for name, value in zip(names, values, strict=True)
    ]
    count = Counter(told)
    return tuple(
        f"{name} (cluster {i})" if count[name] > 1 else name for i, name in enumerate(told)
    )


def _cut(text: str, most: int) -> str:
    """A text of at most so many letters: the middle of a longer one is left out."""
    # Names of columns and categories may hold characters that no name of a cluster may.
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(text) <= most:
        return text
    tail = (most - 1) // 3  # the end of a name often tells more than its middle
    return text[: most - 1 - tail].rstrip() + "…" + text[len(text) - tail :].lstrip()


def names_with_numbers(names: Sequence[str], automatic: Sequence[str]) -> tuple[str, ...]:
    """Names as pictures and reports show them: automatic ones after the cluster's number.

    ``predict`` returns the number, so a name that nobody chose does not replace it.

    Examples
    --------
    >>> names_with_numbers(["high spend", "loyal"], ["high spend", "low spend"])
    ('0: high spend', 'loyal')
    """
    return tuple(
        f"{i}: {name}" if name == own else name
        for i, (name, own) in enumerate(zip(names, automatic, strict=True))
    )


def checked_names(names: Any, known: Sequence[str]) -> tuple[str, ...]:
    """Names as a user gives them: one for each cluster, or some by number; all distinct.

    Examples
    --------
    >>> checked_names({1: "loyal"}, ["high spend", "low spend"])
    ('high spend', 'loyal')
    """
    if isinstance(names, Mapping):
        found = list(known)
        for key, name in names.items():
            found[_number(key, len(known))] = name
    elif isinstance(names, str) or len(names) != len(known):
        raise ValueError(
            f"names must hold {len(known)} names, one for each cluster, or be a dict from "
            "numbers of clusters to names."
        )
    else:
        found = list(names)
    texts = [_checked_name(name, i) for i, name in enumerate(found)]
    for name, count in Counter(texts).items():
        if count > 1:
            raise ValueError(f"Two clusters are named {name!r}; give each a name of its own.")
    return tuple(texts)


def distinct_names(kept: Mapping[int, str], automatic: Sequence[str]) -> tuple[str, ...]:
    """Names that some clusters keep, and automatic ones for the others, all distinct.

    Examples
    --------
    >>> distinct_names({0: "high spend"}, ["low age", "high spend"])
    ('high spend', 'high spend (cluster 1)')
    """
    taken = set(kept.values())
    return tuple(
        kept.get(i) or (f"{name} (cluster {i})" if name in taken else name)
        for i, name in enumerate(automatic)
    )


def _number(key: Any, n_clusters: int) -> int:
    try:
        number = int(key)
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number < n_clusters:
        raise ValueError(
            f"There is no cluster {key!r}; clusters are numbered 0 to {n_clusters - 1}."
        )
    return number


def _checked_name(name: Any, cluster: int) -> str:
    text = " ".join(name.split()) if isinstance(name, str) else ""
    if not text or not text.isprintable():
        raise ValueError(f"The name of cluster {cluster} must be a text; got {name!r}.")
    if len(text) > _LONGEST_GIVEN:
        raise ValueError(
            f"The name of cluster {cluster} has {len(text)} letters; use at most {_LONGEST_GIVEN}."
        )
    return text
