"""Run the examples of README.md and docs/, and write down what they print.

    python docs/rewrite.py            # rewrite every output that has changed
    python docs/rewrite.py README.md  # of some pages only

Three kinds of blocks are run, those of a page in order and in one process:

- ``python`` blocks with prompts (``>>>``), as doctest runs them;
- ``python`` blocks without prompts; what they print is in the ``text`` block right after them;
- ``console`` blocks: commands after ``$``, each with what it prints. They run in a folder of their
  own that holds the data of docs/data.

``tests/package/test_docs.py`` runs the same code, and fails where an output would be rewritten.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    "README.md",
    *(
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if "_build" not in path.parts
    ),
]
BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BETWEEN = re.compile(r"```\s*```text\n")  # a block of code and its output
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n", re.MULTILINE)
SECONDS = re.compile(r" +\d+\.\d\d(?=( +<- lowest)?$)", re.MULTILINE)  # which no two runs share


def rewritten(text: str) -> str:
    """A page with the outputs that its examples have now; an unchanged one if they are right."""
    page = Page()
    with page.folder():
        pieces, place, waiting = [], 0, None
        for block in BLOCK.finditer(text):
            between = text[place : block.start(2)]
            kind, content = block.groups()
            if waiting is not None and BETWEEN.fullmatch(between):
                content = waiting
            waiting = None
            if kind == "console":
                content = page.console(content)
            elif kind == "python" and ">>> " in content:
                content = page.prompts(content)
            elif kind == "python":
                waiting = page.code(content)
            pieces += [between, content]
            place = block.end(2)
        return "".join([*pieces, text[place:]])


class Page:
    """The examples of one page, which share their names and their folder."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.checker = doctest.OutputChecker()

    @contextlib.contextmanager
    def folder(self) -> Iterator[None]:
        """Work in a temporary folder that holds the data, as the examples name them."""
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as name:
            shutil.copytree(ROOT / "docs" / "data", Path(name, "docs", "data"))
            for path in (ROOT / "docs" / "data").glob("*.csv"):
                shutil.copy(path, name)
            os.chdir(name)
            try:
                yield
            finally:
                os.chdir(before)

    def code(self, source: str) -> str:
        """What a block without prompts prints."""
        return self._run(source, "exec")

    def prompts(self, content: str) -> str:
        """A block with prompts and the outputs that they have now."""
        pieces = []
        for piece in doctest.DocTestParser().parse(content):
            if isinstance(piece, str):
                pieces.append(piece)
                continue
            found = _as_doctest(self._run(piece.source, "single"))
            flags = sum(flag for flag, on in piece.options.items() if on)
            if piece.exc_msg is not None:  # of a traceback, only the last line counts
                raised = found.partition("\n")[2]
                same = self.checker.check_output(piece.exc_msg, raised, flags)
            else:
                same = self.checker.check_output(piece.want, found, flags)
            lines = piece.source.rstrip("\n").split("\n")
            prompts = [f"{'...' if i else '>>>'} {line}".rstrip() for i, line in enumerate(lines)]
            pieces.append("\n".join(prompts) + "\n" + (piece.want if same else found))
        return "".join(pieces)

    def console(self, content: str) -> str:
        """A block of commands with the outputs that they have now."""
        _, *parts = COMMAND.split(content)
        pieces = []
        for command, shown in zip(parts[::2], parts[1::2], strict=True):
            found = _command(command)
            if SECONDS.sub("", found.rstrip()) == SECONDS.sub("", shown.rstrip()):
                found = shown
            pieces.append(f"$ {command}\n{found}")
        return "".join(pieces)

    def _run(self, source: str, mode: str) -> str:
        """What source prints; of an error, the last line of its traceback."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                exec(compile(source, "<example>", mode), self.names)
            except Exception as error:
                if mode == "exec":
                    raise
                said = "".join(traceback.format_exception_only(error))
                out.write(f"Traceback (most recent call last):\n{said}")
        return out.getvalue()


def _as_doctest(text: str) -> str:
    return re.sub(r"^$(?=.*\n)", "<BLANKLINE>", text, flags=re.MULTILINE).removesuffix(
        "<BLANKLINE>"
    )


def _command(command: str) -> str:
    """What a command prints, run in this process."""
    program, *arguments = shlex.split(command.replace("\\\n", " "))
    if program == "head":
        number, path = arguments
        lines = Path(path).read_text(encoding="utf-8").splitlines(keepends=True)
        return "".join(lines[: -int(number)])
    from typer.testing import CliRunner

    from treemeans.cli.app import app

    if program != "treemeans":
        raise ValueError(f"An example runs {program!r}; only treemeans and head are run.")
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "100", "TERM": "dumb"})
    if result.exit_code:
        raise ValueError(f"{command} ends with code {result.exit_code}: {result.output}")
    return result.output


def main() -> None:
    """Rewrite the pages named, or all."""
    for page in sys.argv[1:] or PAGES:
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        if not BLOCK.search(text):
            continue
        new = rewritten(text)
        if new != text:
            path.write_text(new, encoding="utf-8")
        print(f"{page}: {'rewritten' if new != text else 'as it was'}")


if __name__ == "__main__":
    main()
