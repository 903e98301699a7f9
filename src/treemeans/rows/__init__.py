"""Dense and sparse tables as the kernels read them, and their bins."""

from treemeans.rows.feature_table import Table, as_points

__all__ = ["Table", "as_points"]
