"""Parquet files on a scheduler of dask: what a worker is sent is the place of the rows."""

from __future__ import annotations

import uuid
from typing import Any

from treemeans.extras import need
from treemeans.parts.sources.arrow import Taker
from treemeans.parts.sources.dask import FAN_IN, DaskParts, Traffic, merge_replies
from treemeans.parts.sources.errand import Errand, Reply, size_of
from treemeans.parts.sources.parquet import ParquetParts, Piece
from treemeans.parts.sources.running import Scheduler


class DaskFiles(DaskParts):
    """The parts of files, each read by the worker that is asked about it.

    Parameters
    ----------
    files : parts that this process could read; the workers must see the same files
    """

    def __init__(self, files: ParquetParts) -> None:
        self.scheduler = Scheduler.current()
        self.traffic = Traffic()
        self.files = files
        self.firsts = None
        self.n_parts, self.n_features = files.n_parts, files.n_features
        self.names, self.dates = files.names, files.dates
        self.n_rows, self.n_bytes = files.n_rows, files.n_bytes

    def _graph(self, errand: Errand) -> Any:
        """A task for each piece of the files, and a tree of merges."""
        delayed = need("dask", "dask").delayed
        token = uuid.uuid4().hex
        sent = delayed(errand, name=f"treemeans-errand-{token}", traverse=False)
        ask, merge = delayed(ask_piece, pure=False), delayed(merge_replies, pure=False)
        taker = delayed(self.files.taker, name=f"treemeans-taker-{token}", traverse=False)
        replies = [
            ask(piece, taker, sent, dask_key_name=(f"ask-piece-{token}", piece.number))
            for piece in self.files.cut
        ]
        while len(replies) > FAN_IN:
            few = [replies[i : i + FAN_IN] for i in range(0, len(replies), FAN_IN)]
            replies = [merge(sent, each) for each in few]
        return merge(sent, replies)


def ask_piece(piece: Piece, taker: Taker, errand: Errand) -> Reply:
    """The reply of some parts that are read one after the other."""
    reply = Reply()
    try:
        for block in piece.blocks(taker, errand.firsts):
            errand.stop.check()
            answer = errand.question.ask(block)
            del block  # before the next one is read
            reply = errand.merge([reply, Reply(answer, asked=1, sent=size_of(answer))])
    except ValueError as error:
        return Reply(refused=str(error))
    return reply
