"""20 Newsgroups, sorted by date: Lang 1995.

How often each of 1,893 words is in each of 18,846 messages; the classes are the newsgroups. Whole
messages, headers included, without English stop words and without words that are in less than one
message in a hundred: that gives the paper's number of columns. The rows are in the order of
scikit-learn's ``fetch_20newsgroups(subset="all")``, whose file this is and whose sum is checked.
"""

import re
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

from treemeans.datasets.prepared_data import Prepared
from treemeans.datasets.sources.archive import tar_members
from treemeans.datasets.sources.download_source import Raw, Source

_MEMBER = re.compile(r"20news-bydate-(train|test)/([^/]+)/([^/]+)")
_LIMIT = 2_000_000
_HALF_SEED, _SEED = 0, 42  # scikit-learn's own defaults


def parse(file: BinaryIO) -> Prepared:
    """Count the words of the messages."""
    halves: dict[str, list[tuple[str, str, str]]] = {"train": [], "test": []}
    for path, contents in tar_members(file, _LIMIT):
        part = _MEMBER.fullmatch(path)
        if part is None:
            raise ValueError(f"{path!r} is no message")
        half, group, number = part.groups()
        halves[half].append((group, number, contents.decode("latin-1")))
    messages = [message for half in halves.values() for message in _shuffled_half(half)]
    order = _shuffled(len(messages), _SEED)
    groups = sorted({group for group, _, _ in messages})
    counter = CountVectorizer(stop_words="english", min_df=0.01)
    counts = counter.fit_transform(messages[i][2] for i in order)
    return Prepared(
        counts.astype(np.uint16),
        np.array([groups.index(messages[i][0]) for i in order], dtype=np.intp),
        tuple(str(word) for word in counter.get_feature_names_out()),
        tuple(groups),
    )


def _shuffled_half(half: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    half = sorted(half)
    return [half[i] for i in _shuffled(len(half), _HALF_SEED)]


def _shuffled(n: int, seed: int) -> NDArray[np.intp]:
    order = np.arange(n)
    np.random.RandomState(seed).shuffle(order)
    return order


SOURCE = Source(
    raw=Raw(
        name="20news-bydate.tar.gz",
        addresses=(
            "https://ndownloader.figshare.com/files/5975967",
            "https://api.figshare.com/v2/file/download/5975967",
            "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
        ),
        size=14_464_277,
        sha256="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
    ),
    parse=parse,
    digest="7f0368aff7dde649b491d3ebf378ba527482f6a49d145cda053125df63c69f42",
)
