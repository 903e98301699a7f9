"""The structure that CONTRIBUTING promises: few types in a fit, a short way to the best cut."""

from benchmarks.structure import calls_to_the_best_cut, code_lines, cpp_code_lines, types_of_a_fit


def test_few_types_take_part_in_a_fit():
    running, created = types_of_a_fit()
    assert {"ExKMC", "InMemoryTree", "TrainingData", "KMeansCost", "Limits"} <= running
    assert "Pruning" in created
    assert len(running) <= 18


def test_the_way_to_the_best_cut_is_short():
    assert calls_to_the_best_cut() == ["estimator.py: fit", "expansion.py: grow"]


def test_lines_of_code_are_counted():
    text = """'A docstring.'

# why
x = [
    1,
]  # here


def f():
    'F.'
    return 'a'
"""
    assert code_lines(text) == 5
    assert cpp_code_lines("// why\n\nint x = 1;  // here\n  // and\n}\n") == 2
