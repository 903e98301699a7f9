"""Tables in files: read, turned into numbers, and written.

The flow, with the module of each step::

    file, pipe                      a fitted model
        | table_source                   |
        | read_table  (delimited_text,   |
        |              json_lines)       |
    Arrow table or batches ------------- | -----.
        | text_types      the type of a column  |
        |                 of text               |
        | file_schema     the kind of a column, |
        |   infer_schema  or why it is left out;|
        |                 missing values        |
    columns (treemeans.columns) <--------'      |
        | file_schema.encode_for_model <--------'
    X, float64                                table with labels
                                                | write_table (csv_lines)
                                              file

A table in memory is treated as one batch. Each question is answered in one place:

- the format of a file: ``table_source`` from its first bytes, ``file_formats`` from its name;
- the type of a column of text: ``text_types``, in a first pass over the file;
- the kind of a column: ``treemeans.columns.table_schema``, from a ``ColumnSummary``;
- the number that a value becomes: ``treemeans.columns.encode_frame``, for fits and for predictions;
- the bytes of a file that is written: ``write_table``, which replaces whole files only.

Errors in a file are ``file_errors.InputError``, each with one sentence for the user.
"""
