"""What a segmentation needs while it is in use: names, warnings, stability, refits, drift.

Every figure is defined, with its formula and source, on the page ``docs/figures.md``.
"""
