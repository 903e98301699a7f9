"""``python -m treemeans``: the command line."""

from treemeans.cli import interrupt


def main() -> None:
    """Run a command; if packages that it needs are not installed, say which."""
    interrupt.exit_at_once()
    try:
        _run()
    finally:
        interrupt.end_silently()


def _run() -> None:
    from treemeans.optional_imports import need

    try:
        for package in ("typer", "rich", "pyarrow"):
            need(package, "cli")
    except ImportError as error:
        raise SystemExit(f"Error: {error}") from error
    from treemeans.cli.app import app

    app(prog_name="treemeans")


if __name__ == "__main__":
    main()
