"""One file for each data set that is downloaded: its address, its form, and how to prepare it."""

from treemeans.datasets.sources import anuran, avila, cifar10, covtype, mice_protein, newsgroups
from treemeans.datasets.sources.download_source import Source

SOURCES: dict[str, Source] = {
    "mice_protein": mice_protein.SOURCE,
    "anuran": anuran.SOURCE,
    "avila": avila.SOURCE,
    "covtype": covtype.SOURCE,
    "20newsgroups": newsgroups.SOURCE,
    "cifar10": cifar10.SOURCE,
}
