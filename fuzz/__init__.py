"""A fuzzer: random tables and parameters, checked against laws and slow oracles.

``python -m fuzz --seconds 60`` draws cases (`cases.py`: the kinds of columns, weights, references
and parameters are registries), fits each, and checks the laws (`laws_*.py`, one function each).
A failure is made smaller (`shrink.py`) and written to ``tests/fuzz_cases``, where the tests run
it for ever. To add a feature, add an entry to a registry: a kind of column, a parameter, a law.
"""
