"""Covertype, UCI 31: Blackard, Dean 1999; copyright Jock A. Blackard, Colorado State University.

54 columns about each of 581,012 patches of forest; the classes are seven types of trees. The 4
columns of wilderness areas and the 40 of soil types are 0 or 1, and are kept: the paper's d is 54.
The file is the one that scikit-learn's ``fetch_covtype`` reads, with the sum that it checks.
"""

import gzip
from typing import BinaryIO

import numpy as np

from treemeans.datasets.prepared_data import Prepared
from treemeans.datasets.sources.download_source import Raw, Source

_NAMES = (
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
    *(f"Wilderness_Area{i}" for i in range(1, 5)),
    *(f"Soil_Type{i}" for i in range(1, 41)),
)
_TYPES = (
    "Spruce-Fir",
    "Lodgepole Pine",
    "Ponderosa Pine",
    "Cottonwood/Willow",
    "Aspen",
    "Douglas-fir",
    "Krummholz",
)


def parse(file: BinaryIO) -> Prepared:
    """Read the table; the last column is the class, from 1."""
    with gzip.open(file, "rt", encoding="ascii") as lines:
        table = np.loadtxt(lines, dtype=np.int16, delimiter=",", comments=None, ndmin=2)
    if table.shape[1] != len(_NAMES) + 1:
        raise ValueError(f"the table has {table.shape[1]} columns, not {len(_NAMES) + 1}")
    X = np.ascontiguousarray(table[:, :-1])
    return Prepared(X, table[:, -1].astype(np.intp) - 1, _NAMES, _TYPES)


SOURCE = Source(
    raw=Raw(
        name="covtype.data.gz",
        addresses=(
            "https://ndownloader.figshare.com/files/5976039",
            "https://api.figshare.com/v2/file/download/5976039",
            "https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz",
        ),
        size=11_240_707,
        sha256="614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
    ),
    parse=parse,
    digest="698875790e73976e8b1ad1c771b25dd7ba8a956bdf16fc742679d954f80b851a",
)
