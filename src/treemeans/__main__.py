"""``python -m treemeans``: the command line."""

import sys
from importlib.util import find_spec

from treemeans.cli import interrupt

_NEEDED = ("typer", "rich", "pyarrow")  # packages of the extra ``cli``


def main() -> None:
    """Run a command; if packages that it needs are not installed, say which."""
    interrupt.exit_at_once()
    try:
        if sys.argv[1:] == ["--version"]:  # without importing anything that takes time
            from treemeans import __version__

            print(f"treemeans {__version__}")
        else:
            _run()
    except SystemExit as end:
        if isinstance(end.code, int) and end.code != 0:
            interrupt.leave_at_once(end.code)
        raise
    finally:
        interrupt.end_silently()


def _run() -> None:
    from treemeans.optional_imports import need

    try:
        for package in _NEEDED:
            if find_spec(package) is None:
                need(package, "cli")
    except ImportError as error:
        raise SystemExit(f"Error: {error}") from error
    from treemeans.cli.app import app

    app(prog_name="treemeans")


if __name__ == "__main__":
    main()
