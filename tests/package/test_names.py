"""Names that occur once in the package, and tests that are imported without changing the path."""

import ast
from collections import Counter
from pathlib import Path

import treemeans

PACKAGE = Path(treemeans.__file__).parent
TESTS = Path(__file__).resolve().parents[1]


def repeated(names):
    return [name for name, count in Counter(names).items() if count > 1]


def test_a_module_name_occurs_once():
    stems = [path.stem for path in PACKAGE.rglob("*.py") if path.stem != "__init__"]
    assert len(stems) > 100
    assert repeated(stems) == []


def test_a_folder_name_occurs_once_and_is_no_module():
    folders = [path.parent.name for path in PACKAGE.rglob("*/__init__.py")]
    modules = [path.stem for path in PACKAGE.rglob("*.py") if path.stem != "__init__"]
    assert repeated([*folders, *modules]) == []


def test_a_public_class_name_occurs_once():
    classes = [
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert len(classes) > 100
    assert set(repeated(classes)) <= {"Rules"}  # the result of rules(), and the rules of a fit


def changes_path(tree):
    """Whether a module changes ``sys.path``, by a method or an assignment."""
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and ast.unparse(called.value) == "sys.path":
            return True
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(ast.unparse(target).startswith("sys.path") for target in targets):
                return True
    return False


def test_changes_of_the_path_are_found():
    for code in ("sys.path.insert(0, 'x')", "sys.path += ['x']", "sys.path[:0] = ['x']"):
        assert changes_path(ast.parse(code))
    assert not changes_path(ast.parse("':'.join(sys.path)"))


def test_tests_do_not_change_the_path():
    changed = [
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        if changes_path(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert changed == []
