"""Coverage-guided fuzzing of all that takes bytes or texts from anybody; see `fuzz` for the targets."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Iterable

_ROOT: Final = Path(__file__).parents[2]
_RUNS: Final = re.compile(r"^stat::number_of_executed_units: (\d+)$", re.MULTILINE)
_TOLD: Final = 2_000
"""Characters of what the fuzzer says that are told."""


def _fuzz(target: str, runs: int, _: Path) -> Figures:
    words = [sys.executable, "-m", "tests.reliability.fuzz", target, f"-runs={runs}"]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", cwd=_ROOT, check=False)
    counted = _RUNS.search(done.stderr)
    figures = Figures(trials=int(counted[1]) if counted else 0)
    figures.expect(holds=not done.returncode, what=f"{target}: {_failure(done.stderr.splitlines())[:_TOLD]}")
    return figures


def _failure(lines: Iterable[str]) -> str:
    """Return what the fuzzer says of a failure, from the input on."""
    told = [line for line in lines if line and not line.startswith(("#", "INFO", "WARNING", "stat::", "\t"))]
    begin = next((number for number, line in enumerate(told) if line.startswith("input: ")), 0)
    return "\n".join(told[begin:])


def _unavailable() -> str:
    is_there = importlib.util.find_spec("atheris") is not None
    return "" if is_there else "the fuzzer has no wheel for this machine"


_TARGETS: Final = (
    # name, what it is, runs: some for a minute and more
    ("b", "framing", "any bytes as a file, fuzzed", 20_000),
    ("c", "json", "any bytes as a document, fuzzed", 60_000),
    ("d", "spans", "any changes of a span, fuzzed", 30_000),
    ("e", "query", "any text as a query, fuzzed", 100_000),
)
ROWS: Final = tuple(
    Row(f"14{letter}", fault, "runs", runs, runs // 400, partial(_fuzz, target), unavailable=_unavailable)
    for letter, target, fault, runs in _TARGETS
)
