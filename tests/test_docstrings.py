"""Every example in a docstring runs."""

import doctest
import importlib
import pkgutil

import pytest

import treemeans

MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(treemeans.__path__, "treemeans.")
    if not name.endswith(("__main__", "_core"))
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_main_classes_have_examples():
    for thing in (treemeans.ExKMC, treemeans.ThresholdTree, treemeans.export_text):
        assert doctest.DocTestFinder().find(thing, thing.__name__)[0].examples
