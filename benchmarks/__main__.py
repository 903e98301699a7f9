"""``python -m benchmarks paper``: the ExKMC paper's evaluation."""

from __future__ import annotations

import sys

COMMANDS = ("paper",)


def main() -> None:
    """Run the command that is named first."""
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"usage: python -m benchmarks {{{','.join(COMMANDS)}}} [--help]")
    from benchmarks.paper.command import main as paper

    paper(sys.argv[2:])


if __name__ == "__main__":
    main()
