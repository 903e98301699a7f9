"""The command line. Its modules import pyarrow, so that nothing else may import them."""
