"""Tables in files: read, turned into numbers, labelled, written. Needs pyarrow."""
