"""Refinement of a grown tree on rows in partitions."""
