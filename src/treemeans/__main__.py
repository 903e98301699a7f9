"""``python -m treemeans``: the command line."""

from treemeans.extras import need


def main() -> None:
    """Run it; without the packages it needs, say which to install."""
    try:
        for package in ("typer", "rich", "pyarrow"):
            need(package, "cli")
    except ImportError as error:
        raise SystemExit(f"Error: {error}") from error
    from treemeans.cli.app import app

    app(prog_name="treemeans")


if __name__ == "__main__":
    main()
