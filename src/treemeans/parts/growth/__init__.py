"""The search for cuts in passes, and the trees that grow by it."""
