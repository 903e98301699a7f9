"""Saved models: JSON that people can read, is checked in full when loaded and runs no code."""
