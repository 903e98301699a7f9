"""How a person reads the columns: names, units, categories, dates, whole numbers."""

from treemeans.columns.column import Column, Columns, described, plain_columns
from treemeans.columns.reader import Reader
from treemeans.columns.rounding import rounded

__all__ = ["Column", "Columns", "Reader", "described", "plain_columns", "rounded"]
