"""Settings of the tests of partitioned rows."""

import pytest

from treemeans.partitioned import PartitionedRows


@pytest.fixture(autouse=True)
def in_passes(request, monkeypatch):
    """Small tables are fitted in passes, as large ones are, unless a test gathers them."""
    if not request.node.get_closest_marker("gathers"):
        monkeypatch.setattr(PartitionedRows, "gather_bytes", 0)
