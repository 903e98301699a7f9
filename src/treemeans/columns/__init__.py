"""What the columns of X are, and how conditions on them are worded.

``column``: the description of a column (number, whole number, flag, date, time, category, codes),
with its unit. ``detect_columns``: descriptions found from the rows. ``dates``: dates as numbers.
``condition_text``: conditions, values and means in words. ``threshold_rounding``: short thresholds.
``number_text``: numbers as text. ``table_schema``: what becomes of each column of a user's table.
``frame_values``, ``encode_frame`` and ``encoded_table``: a data frame as numbers. ``group_column``:
columns that limits on clusters are about.
"""

from treemeans.columns.column import Column, Columns, describe_columns, plain_columns
from treemeans.columns.condition_text import Reader
from treemeans.columns.threshold_rounding import round_thresholds

__all__ = ["Column", "Columns", "Reader", "describe_columns", "plain_columns", "round_thresholds"]
