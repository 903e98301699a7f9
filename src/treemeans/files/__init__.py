"""Tables in files: read, turned into numbers, and written.

The flow, with the module of each step::

    file, pipe                      a fitted model
        | table_source                   |
        | read_table  (delimited_text,   |
        |              infer_types)      |
    Arrow table or batches ------------- | -----.
        | value_summary   one pass over the     |
        |                 values of each column |
        | infer_column    the kind of a column, |
        |                 or why it is skipped  |
        | encode_table    rows with missing     |
        |                 values                |
    columns (treemeans.columns) <--------'      |
        | encode_for_model <--------------------'
    X, float64                                table with labels
                                                | write_table (csv_lines)
                                              file

A table in memory and one that comes in batches take the same way: a table in memory is one batch.
Each question is answered in one place:

- the format of a file: ``table_source`` from its first bytes, ``file_formats`` from its name;
- the kind of a column: ``infer_column``, from a ``ValueSummary``;
- the number that a value becomes: ``arrow_to_float`` and, for text, ``parse_text``;
- the numbers that a row becomes: ``encode_for_model``, for fits and for predictions;
- the bytes of a file that is written: ``write_table``, which replaces whole files only.

The types of text are inferred by pyarrow if a file is read whole, and by ``infer_types`` if it is
read in batches, in a first pass over the file. Errors in a file are ``file_errors.InputError``,
each with one sentence for the user.
"""
