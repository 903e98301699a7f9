"""The benchmarks are not part of a source distribution; without them there is nothing to test."""

from pathlib import Path

if not (Path(__file__).resolve().parents[2] / "benchmarks").is_dir():
    collect_ignore_glob = ["test_*.py"]
