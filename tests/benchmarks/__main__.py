"""Measure spanview and print a table, then the same as JSON: `python -m tests.benchmarks [--quick] [P2 P4 …]`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from . import processes, viewer
from .figures import Figure, as_installed, table
from .folders import Shape, folder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FULL, _QUICK = 200_000, 10_000
_LARGER: Final = 5
"""So many times more spans have the folders of what is measured on large ones."""
_GOALS: Final = ("P1", "P2", "P3", "P4", "P5", "P6", "P8", "P9")


def main(words: Sequence[str]) -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("goals", nargs="*", metavar="GOAL", help=f"one of {' '.join(_GOALS)}; all without")
    parser.add_argument("--quick", action="store_true", help="smaller folders: minutes become seconds")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is run, in turns")
    given = parser.parse_args(words)
    as_installed()
    figures: list[Figure] = []
    for goal, measure in _measures(_QUICK if given.quick else _FULL, given.rounds):
        if not given.goals or goal in given.goals:
            figures += measure()
            sys.stderr.write(f"measured {goal}\n")
    sys.stdout.write(table(figures) + "\n\n")
    sys.stdout.write(json.dumps([{**asdict(figure), "ratio": figure.ratio} for figure in figures], indent=1) + "\n")
    return 0


def _measures(spans: int, rounds: int) -> list[tuple[str, Callable[[], list[Figure]]]]:
    many = spans * _LARGER

    def memory() -> list[Figure]:
        with tempfile.TemporaryDirectory() as empty:
            return processes.memory(folder_of(Shape(many)), many, Path(empty), rounds)

    def growth() -> list[Figure]:
        return processes.growth((folder_of(Shape(many)), many), (folder_of(Shape(spans)), spans), rounds)

    def in_list() -> list[Figure]:
        return viewer.keys_in_list(folder_of(Shape(spans, 2)), folder_of(Shape(spans // 100, 2)), 8 * rounds)

    def in_trace() -> list[Figure]:
        long = folder_of(Shape(spans // 2, spans // 2))
        return viewer.keys_in_trace(long, folder_of(Shape(spans // 200, spans // 200)), 8 * rounds)

    return [
        ("P1", lambda: processes.loading(folder_of(Shape(many)), rounds)),
        ("P2", lambda: processes.statistics(folder_of(Shape(many)), rounds)),
        ("P3", lambda: processes.duckdb(folder_of(Shape(many)), rounds)),
        ("P4", memory),
        ("P5", growth),
        ("P6", in_list),
        ("P6", in_trace),
        ("P8", lambda: viewer.first_rows(folder_of(Shape(spans)), folder_of(Shape(200)), rounds)),
        ("P9", lambda: processes.start(4 * rounds)),
        ("P11", lambda: processes.export(folder_of(Shape(spans)), rounds)),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
