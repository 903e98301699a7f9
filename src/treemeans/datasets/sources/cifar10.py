"""CIFAR-10, the 50,000 training images: Krizhevsky 2009.

32 x 32 pixels of three colours; the classes are what is to be seen. A row is the red values line by
line, then the green, then the blue. The binary version is read, not the Python one, whose files are
pickles: reading a pickle can run code.
"""

from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from treemeans.datasets.prepared_data import Prepared
from treemeans.datasets.sources.archive import tar_members
from treemeans.datasets.sources.download_source import Raw, Source

_FOLDER = "cifar-10-batches-bin"
_BATCHES = range(1, 6)
_PIXELS = 3 * 32 * 32
_LIMIT = 10_000 * (1 + _PIXELS)
_NAMES = tuple(f"{colour}_{i}_{j}" for colour in "RGB" for i in range(32) for j in range(32))


def parse(file: BinaryIO) -> Prepared:
    """Read the batches: for each image its class, a byte, and its pixels."""
    wanted = {f"{_FOLDER}/data_batch_{i}.bin" for i in _BATCHES} | {f"{_FOLDER}/batches.meta.txt"}
    found = {name: data for name, data in tar_members(file, _LIMIT) if name in wanted}
    if missing := sorted(wanted - found.keys()):
        raise ValueError(f"the archive has no {missing[0]!r}")
    batches = [_batch(found.pop(f"{_FOLDER}/data_batch_{i}.bin")) for i in _BATCHES]
    X = np.concatenate([batch[:, 1:] for batch in batches])
    y = np.concatenate([batch[:, 0] for batch in batches]).astype(np.intp)
    return Prepared(X, y, _NAMES, tuple(found.popitem()[1].decode("ascii").split()))


def _batch(data: bytes) -> NDArray[np.uint8]:
    if len(data) % (1 + _PIXELS):
        raise ValueError(f"a batch of {len(data)} bytes ends in the middle of an image")
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, 1 + _PIXELS)


def from_parts(folder: Path) -> Prepared | None:
    """Read ``cifar10_1.npz`` ... ``cifar10_5.npz``; None if one is not there.

    Each holds, modulo 256, the planes G, R - G and B - G, differenced along lines and columns: that
    packs better than the pixels do.
    """
    files = [folder / f"cifar10_{i}.npz" for i in _BATCHES]
    if not all(file.is_file() for file in files):
        return None
    X, y = [], []
    target_names: tuple[str, ...] = ()
    for file in files:
        with np.load(file) as part:
            planes, labels = part["X_delta"], part["y"]
            target_names = tuple(str(name) for name in part["target_names"])
        for axis in (2, 3):
            np.cumsum(planes, axis=axis, dtype=np.uint8, out=planes)
        green = planes[0]
        images = np.stack([planes[1] + green, green, planes[2] + green], axis=1)
        X.append(images.reshape(len(labels), _PIXELS))
        y.append(labels)
    return Prepared(np.concatenate(X), np.concatenate(y).astype(np.intp), _NAMES, target_names)


SOURCE = Source(
    raw=Raw(
        name="cifar-10-binary.tar.gz",
        addresses=("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
        size=170_052_171,
        sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    ),
    parse=parse,
    digest="a7d95de5e08b54649854580568910e3070675443e6865ad5940acedc2fe051a2",
    from_folder=from_parts,
)
