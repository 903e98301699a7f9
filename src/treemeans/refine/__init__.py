"""Refining a tree of fixed size: its splits chosen again, its centers moved, parts regrown."""
