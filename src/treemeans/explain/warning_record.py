"""SegmentWarning: one thing that is wrong with clusters, and what to do about it."""

from __future__ import annotations

import unicodedata
from dataclasses import asdict, dataclass
from typing import Any

KINDS = ("single row", "small", "one category", "not compact", "starts")


class BadSegmentWarning(UserWarning):
    """The warning that ``fit`` gives: one, with the sentences of all `SegmentWarning`.

    Examples
    --------
    >>> import warnings
    >>> from treemeans import BadSegmentWarning
    >>> warnings.filterwarnings("ignore", category=BadSegmentWarning)
    """


@dataclass(frozen=True)
class SegmentWarning:
    """A reason not to rely on some clusters.

    Attributes
    ----------
    kind : "single row", "small", "one category", "not compact" or "starts"
    clusters : those it is about; empty if it is about all
    what : what is wrong; if it is about clusters, the sentence without its subject
    advice : what to do
    detail : which row or value it is, as far as the model knows; neither files nor reports hold it

    Examples
    --------
    >>> print(SegmentWarning("small", (3,), "has 0.2 % of the rows", "ask for fewer clusters"))
    cluster 3 has 0.2 % of the rows: ask for fewer clusters.
    """

    kind: str
    clusters: tuple[int, ...]
    what: str
    advice: str
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; not the detail, which may name a row."""
        written = asdict(self) | {"clusters": list(self.clusters)}
        del written["detail"]
        return written

    def __str__(self) -> str:
        numbers = [str(cluster) for cluster in self.clusters]
        subject = f"cluster {numbers[0]} " if len(numbers) == 1 else ""
        if len(numbers) > 1:
            subject = f"clusters {', '.join(numbers[:-1])} and {numbers[-1]} "
        detail = f" ({self.detail})" if self.detail else ""
        return on_one_line(f"{subject}{self.what}{detail}: {self.advice}.")


def on_one_line(text: str) -> str:
    r"""Text with control characters, which names and values may hold, written out.

    Examples
    --------
    >>> print(on_one_line("two\nlines"))
    two\nlines
    """
    if text.isprintable():
        return text
    return "".join(
        repr(letter)[1:-1] if unicodedata.category(letter) in ("Cc", "Zl", "Zp") else letter
        for letter in text
    )
