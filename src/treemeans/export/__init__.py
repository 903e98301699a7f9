"""Exports of trees to other tools and languages; they only read a ThresholdTree."""
