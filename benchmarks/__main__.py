"""``python -m benchmarks COMMAND``: run a benchmark, or compare two builds."""

from __future__ import annotations

import sys
from importlib import import_module

COMMANDS = {
    "speed": ("benchmarks.speed", "seconds and memory of a fit (SPEED.md); two builds in turns"),
    "inertia": ("benchmarks.inertia", "FastKMeans beside ten starts of KMeans (INERTIA.md)"),
    "quality": ("benchmarks.quality", "what the trees of all methods cost (QUALITY.md)"),
    "rivals": ("benchmarks.rivals", "the search beside every other method (RIVALS.md)"),
    "proofs": ("benchmarks.proofs", "what is proven of small trees (PROOFS.md)"),
    "scale": ("benchmarks.scale", "how the cost of partitioned fits grows (SCALE.md)"),
    "gathered": ("benchmarks.gathered", "partitions that are gathered beside memory (SCALE.md)"),
    "folder": ("benchmarks.large_folder", "a whole fit on a folder of Parquet files (SCALE.md)"),
    "duckdb": ("benchmarks.duckdb_sums", "sums of a fit by SQL in DuckDB (SCALE.md)"),
    "paper": ("benchmarks.paper.evaluation", "the ExKMC paper's evaluation (RESULTS.md)"),
    "costs": ("benchmarks.costs", "labels beside CART, and k-medians (COSTS.md)"),
    "limits": ("benchmarks.limits", "what limits on clusters add to a reference (LIMITS.md)"),
    "mixed": ("benchmarks.mixed", "a table of categories beside their codes (SCALE.md)"),
    "commands": ("benchmarks.commands", "start-up and predict of the command line (COMMANDS.md)"),
    "trust": (
        "benchmarks.trust",
        "false alarms, time and memory of stability and warnings (TRUST.md)",
    ),
    "choices": ("benchmarks.choices", "numbers of clusters that `choose` suggests (TRUST.md)"),
    "monitor": ("benchmarks.monitor", "false alarms, detection and time of drift (MONITOR.md)"),
    "compare": ("benchmarks.compare", "trees, labels, rules and SQL of two builds"),
}


def main() -> None:
    """Run the command that is named first."""
    asked = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if asked in COMMANDS:
        import_module(COMMANDS[asked][0]).main(sys.argv[2:])
        return
    lines = [f"  {name:10}{about}" for name, (_, about) in COMMANDS.items()]
    usage = "\n".join(["usage: python -m benchmarks COMMAND [--help]", "", *lines])
    if asked not in ("-h", "--help"):
        sys.exit(f"There is no command {asked!r}.\n{usage}")
    print(usage)


if __name__ == "__main__":
    main()
