"""A web server on this machine that fails in every way, and a small data set to fetch from it."""

import hashlib
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from treemeans.datasets import TABLE, Size
from treemeans.datasets.prepared_data import Prepared, by_class, digest
from treemeans.datasets.sources import SOURCES
from treemeans.datasets.sources.archive import csv_rows, numbers
from treemeans.datasets.sources.download_source import Raw, Source


class Web:
    """``with Web({"a.csv": b"..."}) as web``: serves the files, and notes what was asked for.

    ``faults`` holds what to do instead, one for each request to come: ("status", 503),
    ("cut", n) to break off after n bytes, ("no length",) to not say how much there is, ("wait",) to
    stop half way until ``web.go`` is set.
    """

    def __init__(self, files, *faults, ranges=True):
        self.files, self.faults, self.ranges = files, list(faults), ranges
        self.asked = []
        self.half_way, self.go = threading.Event(), threading.Event()

    def __enter__(self):
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                web.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        return self

    def __exit__(self, *_):
        self.go.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, request):
        name, part = request.path.lstrip("/"), request.headers.get("Range")
        self.asked.append((name, part))
        fault = self.faults.pop(0) if self.faults else ("none",)
        if fault[0] == "status" or name not in self.files:
            request.send_response(fault[1] if fault[0] == "status" else 404)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        body = self.files[name]
        first = int(part.removeprefix("bytes=").removesuffix("-")) if part and self.ranges else 0
        request.send_response(206 if first else 200)
        if first:
            request.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
        if fault[0] != "no length":
            request.send_header("Content-Length", str(len(body) - first))
        request.end_headers()
        stop = fault[1] if fault[0] == "cut" else len(body)
        if fault[0] == "wait":
            request.wfile.write(body[first : len(body) // 2])
            first = len(body) // 2
            self.half_way.set()
            self.go.wait(30)
        with suppress(OSError):  # the client may have gone
            request.wfile.write(body[first:stop])
        request.close_connection = True


TOY = "1.5,2,a\n3,4,b\n5,6.25,a\n7,8,b\n" + "9,10,b\n" * 25_000
TOY_SIZE = Size(2, 25_004, 2)


def toy_parse(file):
    rows = csv_rows(file.read().decode("ascii"), 3)
    y, names = by_class([row[2] for row in rows])
    return Prepared(numbers(rows, [0, 1]), y, ("left", 'right "<b>"\n😀'), names)


def toy_digest():
    X = np.array([[1.5, 2], [3, 4], [5, 6.25], [7, 8], *[[9, 10]] * 25_000])
    y = np.array([0, 1, 0, 1, *[1] * 25_000])
    return digest(Prepared(X, y, ("left", 'right "<b>"\n😀'), ("a", "b")))


def toy_source(*addresses, known=True, digest=None):
    sha256 = hashlib.sha256(TOY.encode()).hexdigest() if known else None
    raw = Raw("toy table.csv", addresses, len(TOY), sha256)
    return Source(raw, toy_parse, digest or toy_digest())


def add_toy(**options):
    """Make ``load("toy")`` work, in a process of its own."""
    TABLE["toy"] = TOY_SIZE
    SOURCES["toy"] = toy_source(**options)


FILES = {"toy%20table.csv": TOY.encode()}
