"""Mutation testing: change one operator, constant or call at a time; some test must then fail.

``python -m fuzz.mutants --most 200 src/treemeans/growth -- tests/growth`` collects the tests once,
notes which functions each of them calls, and forks a process for every mutant, in which it swaps
the code of one function of the installed package and runs the tests that call it, the quickest
first. What no test notices is printed: a survivor.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np
import pytest

PACKAGE = "treemeans"
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NAMES = {
    "min": "max", "max": "min", "any": "all", "all": "any", "argmin": "argmax",
    "argmax": "argmin", "minimum": "maximum", "maximum": "minimum",
}  # fmt: skip
NOT_SWAPPED = 2
SECONDS_OF_A_MUTANT = 20
"""Processor time after which a mutant counts as noticed: it may never end."""


@dataclass(frozen=True)
class Mutant:
    """One change in one function.

    Attributes
    ----------
    path : of the source
    function : qualified name of the outermost function that is changed
    line, what : where the change is, and the change
    tree : the module with the change
    """

    path: Path
    function: str
    line: int
    what: str
    tree: ast.Module


# ---- changes -------------------------------------------------------------------------------------


def changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """What a node may become, in words and as a function that changes a copy of it in place."""
    if isinstance(node, ast.Compare):
        other = COMPARISONS[type(node.ops[0])]
        yield f"{_name(node.ops[0])} -> {other.__name__}", lambda n: n.ops.__setitem__(0, other())
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in ARITHMETIC:
        swapped = ARITHMETIC[type(node.op)]
        yield f"{_name(node.op)} -> {swapped.__name__}", lambda n: setattr(n, "op", swapped())
    elif isinstance(node, ast.BoolOp):
        joined = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{_name(node.op)} -> {joined.__name__}", lambda n: setattr(n, "op", joined())
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield "condition negated", lambda n: setattr(n, "test", _not(n.test))
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str)):
        value = node.value
        if isinstance(value, bool):
            new: Any = not value
        else:
            new = value + "x" if isinstance(value, str) else value + 1
        yield f"{value!r} -> {new!r}", lambda n: setattr(n, "value", new)
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield f"{node.id} -> {NAMES[node.id]}", lambda n: setattr(n, "id", NAMES[n.id])
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield f"{node.attr} -> {NAMES[node.attr]}", lambda n: setattr(n, "attr", NAMES[n.attr])
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "call left out", lambda n: setattr(n, "value", ast.Constant(None))
    elif isinstance(node, (ast.Break, ast.Continue)):
        yield f"{_name(node)} left out", lambda n: setattr(n, "__class__", ast.Pass)


def _name(node: ast.AST) -> str:
    return type(node).__name__


def _not(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """The outermost functions of a module and of its classes, by qualified name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All mutants of a file. Annotations, decorators, docstrings and messages stay as they are."""
    whole = ast.parse(path.read_text(encoding="utf-8"))
    for name, function in functions(whole):
        for place in list(_places(function)):
            for what, change in changes(_at(function, place)):
                tree = copy.deepcopy(whole)
                node = _at(dict(functions(tree))[name], place)
                change(node)
                line = getattr(node, "lineno", 0)
                yield Mutant(path, name, line, what, ast.fix_missing_locations(tree))


def _places(node: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Ways to the nodes below a node whose change a test should notice."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "args") and not _is_call(node):
            continue
        for i, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(child, ast.AST) or isinstance(child, (ast.Raise, ast.Assert)):
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue  # a docstring
            here = (*way, (field, i))
            yield here
            yield from _places(child, here)


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call)


def _at(node: Any, way: tuple[Any, ...]) -> Any:
    for field, i in way:
        node = getattr(node, field) if i is None else getattr(node, field)[i]
    return node


# ---- running -------------------------------------------------------------------------------------


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def swap(mutant: Mutant, installed: Path) -> bool:
    """Give the live function the mutant's code; whether there was one."""
    made = compile(mutant.tree, str(installed), "exec", dont_inherit=True)
    new = {(code.co_qualname, code.co_firstlineno): code for code in codes(made)}
    found = False
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename == str(installed):
            code = each.__code__
            other = new.get((code.co_qualname, code.co_firstlineno))
            if code.co_qualname != mutant.function or other is None:
                continue
            if other.co_freevars == code.co_freevars:
                each.__code__, found = other, True
    return found


def only_in_temporary_folders(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook: a mutant of code that writes must not reach any other file of the system.

    A changed check may let a test replace a device, or remove what is not its own.
    """
    names: list[Any] = []
    if event in ("os.rename", "os.link", "os.symlink"):
        names = list(arguments[:2])
    elif event in ("os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.truncate"):
        names = [arguments[0]]
    elif event == "open" and isinstance(arguments[2], int):
        writes = arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        names = [arguments[0]] if writes else []
    for name in names:
        if isinstance(name, (str, bytes, os.PathLike)):
            path = os.path.realpath(os.fsdecode(name))
            if not path.startswith((*_TEMPORARY, "/proc/", "/dev/shm/", "pipe:")):
                raise PermissionError(f"a mutant may not write to {path!r}")


_TEMPORARY = (os.path.realpath(tempfile.gettempdir()) + os.sep,)


def in_fork(work: Callable[[], int]) -> int:
    """Exit code of a silent child that does the work; it is not zero where the child never ends.

    Tests only run in children: threads that a library starts in one are in no other.
    """
    child = os.fork()
    if child == 0:
        used = int(time.process_time()) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (used + SECONDS_OF_A_MUTANT, -1))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20 * SECONDS_OF_A_MUTANT)  # and where it waits for ever
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        sys.addaudithook(only_in_temporary_folders)
        code = 9
        try:
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Mutation:
    """The pytest plugin: a baseline of all tests, then the mutants."""

    def __init__(self, mutants: list[Mutant], root: Path) -> None:
        self.mutants, self.root = mutants, root
        self.called: dict[tuple[str, str], list[int]] = defaultdict(list)
        self.took: dict[int, float] = {}
        self.failed = False
        self.survivors: list[Mutant] = []
        self.seen: dict[str, int] = defaultdict(int)

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._baseline(session.items)
        for mutant in self.mutants:
            self._check(mutant, session.items)
        return True

    def _run(self, item: pytest.Item) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)

    def _baseline(self, items: list[pytest.Item]) -> None:
        folder = str(self.root)
        for number, item in enumerate(items):
            seen: set[tuple[str, str]] = set()

            def note(frame: FrameType, event: str, _: Any, seen: Any = seen) -> None:
                if event == "call" and frame.f_code.co_filename.startswith(folder):
                    seen.add((frame.f_code.co_filename, frame.f_code.co_qualname))

            with tempfile.TemporaryFile() as answer:

                def run_once(item: Any = item, note: Any = note, seen: Any = seen) -> int:
                    sys.setprofile(note)
                    try:
                        self._run(item)
                    finally:
                        sys.setprofile(None)
                    answer.write(json.dumps(sorted(seen)).encode())
                    answer.flush()
                    return int(self.failed)

                self.failed, began = False, time.perf_counter()
                code = in_fork(run_once)
                self.took[number] = time.perf_counter() - began
                if code:
                    print(f"not used, since it fails without a change: {item.nodeid}")
                    continue
                answer.seek(0)
                for file, function in json.loads(answer.read()):
                    self.called[file, function].append(number)

    def _check(self, mutant: Mutant, items: list[pytest.Item]) -> None:
        installed = self.root.joinpath(*mutant.path.parts[mutant.path.parts.index(PACKAGE) + 1 :])
        tests = self.called.get((str(installed), mutant.function), [])
        if not tests:
            self._ended(mutant, "not called")
            return

        def run_mutant() -> int:
            if not swap(mutant, installed):
                return NOT_SWAPPED
            for number in sorted(tests, key=self.took.__getitem__):
                self.failed = False
                self._run(items[number])
                if self.failed:
                    return 1
            return 0

        status = in_fork(run_mutant)
        self._ended(mutant, {0: "survived", NOT_SWAPPED: "not swapped"}.get(status, "noticed"))

    def _ended(self, mutant: Mutant, how: str) -> None:
        self.seen[how] += 1
        if how in ("survived", "not called"):
            self.survivors.append(mutant)
            place = f"{mutant.path}:{mutant.line} {mutant.function}"
            print(f"\n{how}: {place}: {mutant.what}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.mutants", description=__doc__)
    parser.add_argument("--most", type=int, default=200, help="mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("paths", nargs="+", type=Path, help="files or folders of src/treemeans")
    given = sys.argv[1:]
    cut = given.index("--")
    options, tests = parser.parse_args(given[:cut]), given[cut + 1 :]
    import treemeans

    assert treemeans.__file__ is not None
    files = [f for p in options.paths for f in (sorted(p.rglob("*.py")) if p.is_dir() else [p])]
    every = [mutant for file in files for mutant in mutants_of(file)]
    order = np.random.default_rng(options.seed).permutation(len(every))[: options.most]
    plugin = Mutation([every[i] for i in sorted(order)], Path(treemeans.__file__).parent)
    # Servers, browsers and examples drawn anew would make a mutant's end a matter of chance.
    arguments = [*tests, "-n0", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    pytest.main([*arguments, "--no-header", "--capture=sys", "--hypothesis-seed=0"], [plugin])
    print(f"\nmutants: {len(every)} possible, {len(plugin.mutants)} drawn: {dict(plugin.seen)}")
    return 1 if plugin.survivors else 0


if __name__ == "__main__":
    sys.exit(main())
