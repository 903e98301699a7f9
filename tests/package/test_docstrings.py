"""Every example in a docstring runs."""

import doctest
import importlib
import pkgutil

import pytest

import treemeans
from treemeans import ExKMC, baselines

MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(treemeans.__path__, "treemeans.")
    if not name.endswith(("__main__", "_core"))
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


SAID_BY_MODELS = [
    name
    for name in dir(ExKMC)
    if not name.startswith("_")
    and getattr(getattr(ExKMC, name), "__module__", "").startswith("treemeans")
]


def examples_of(thing, name):
    return doctest.DocTestFinder(recurse=False).find(thing, name)[0].examples


@pytest.mark.parametrize("name", [n for n in treemeans.__all__ if n != "baselines"])
def test_public_names_have_examples(name):
    assert examples_of(getattr(treemeans, name), name)


@pytest.mark.parametrize("name", baselines.__all__)
def test_baselines_have_examples(name):
    assert examples_of(getattr(baselines, name), name)


@pytest.mark.parametrize("name", SAID_BY_MODELS)
def test_methods_have_examples(name):
    assert examples_of(getattr(ExKMC, name), name)
