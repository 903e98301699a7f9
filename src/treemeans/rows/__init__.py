"""Where the points live: the only code that knows."""

from treemeans.rows.feature_table import Table, as_points

__all__ = ["Table", "as_points"]
