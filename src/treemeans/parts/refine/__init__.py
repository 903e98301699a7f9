"""A grown tree made cheaper, on rows in parts."""
