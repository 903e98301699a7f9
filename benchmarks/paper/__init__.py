"""The evaluation of the ExKMC paper (Frost, Moshkovitz, Rashtchian 2020), whole.

``plan`` says what is fitted and ``fits`` how; ``results`` puts the fits together; ``paper_tables``,
``figures`` and ``claims`` show them; ``evaluation`` is the command.
"""
