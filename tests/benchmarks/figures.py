"""What is measured, and against what: values in turns, so that both sides see the same machine."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEPT: Final = Path(tempfile.gettempdir()) / "spanview-benchmarks"
"""Where folders and bytecode are kept."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    goal: str
    """Its name in the table of goals, such as P2."""
    what: str
    value: float
    unit: str
    base: float | None = None
    """What `value` is held against, in the same unit; None where it stands for itself."""
    limit: float | None = None
    """The ratio that shall not be exceeded, or the value where there is no base."""

    @property
    def ratio(self) -> float | None:
        """The value against its base."""
        return None if self.base is None else self.value / self.base


def as_installed() -> None:
    """Let the processes that are started find bytecode, as those of an installed package do, and keep nothing."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(KEPT / "bytecode")
    # Reading is measured; what is kept of it is measured in a place of its own.
    os.environ["XDG_CACHE_HOME"] = os.environ["XDG_CONFIG_HOME"] = os.devnull


def in_turns(measures: Sequence[Callable[[], float]], rounds: int) -> list[float]:
    """Return the median of each measure, taken one after the other again and again; the first time doesn't count."""
    taken: list[list[float]] = [[] for _ in measures]
    for measure in measures:
        measure()
    for _ in range(rounds):
        for measure, values in zip(measures, taken, strict=True):
            values.append(measure())
    return [median(values) for values in taken]


def seconds_in(work: Callable[[], object]) -> Callable[[], float]:
    """Return a measure: how long some work takes in this process."""

    def measure() -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    return measure


def seconds_of(*words: str, program: str = sys.executable) -> float:
    """Return how long a fresh process takes, of this Python or of another program, its output thrown away."""
    began = time.perf_counter()
    subprocess.run([program, *words], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def share_of(values: Sequence[float], percent: int) -> float:
    """Return the smallest value that so many percent of them don't exceed."""
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def cpu_seconds_of(*words: str) -> float:
    """Return how much of the processor a fresh process takes, which other programs disturb less than its time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds_of(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as lines of text."""
    rows = [("GOAL", "VALUE", "AGAINST", "RATIO", "LIMIT", "", "")]
    for figure in figures:
        base = "" if figure.base is None else f"{figure.base:,.4g} {figure.unit}"
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
        limit = "" if figure.limit is None else f"{figure.limit:g}"
        measured = figure.value if figure.ratio is None else figure.ratio
        over = "over" if figure.limit is not None and measured > figure.limit else ""
        rows.append((figure.goal, f"{figure.value:,.4g} {figure.unit}", base, ratio, limit, over, figure.what))
    widths = [max(len(row[at]) for row in rows) for at in range(6)]
    lines = ["  ".join(f"{text:>{width}}" for text, width in zip(row, widths, strict=False)) for row in rows]
    return "\n".join(f"{line}  {row[-1]}".rstrip() for line, row in zip(lines, rows, strict=True))
