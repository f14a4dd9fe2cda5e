"""Whole processes: loading with statistics, memory, and a start that does next to nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

from .figures import Figure, cpu_seconds_of, in_turns, seconds_of

if TYPE_CHECKING:
    from pathlib import Path

_DECODE_ALL: Final = """
import glob, re, sys
import orjson
end = re.compile(rb"\\n\\}\\n")
for path in sorted(glob.glob(sys.argv[1] + "/*")):
    with open(path, "rb") as file:
        data = file.read()
    view, at = memoryview(data), 0
    for match in end.finditer(data):
        orjson.loads(view[at : match.end()])
        at = match.end()
"""
_MEMORY: Final = """
import gc, os, resource, subprocess, sys
import spanview
store = spanview.load(sys.argv[1])
gc.collect()
held = subprocess.run(["ps", "-o", "rss=", "-p", str(os.getpid())], capture_output=True, check=True).stdout
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(int(held) * 1024, peak * (1 if sys.platform == "darwin" else 1024))
"""


def statistics(folder: Path, rounds: int) -> list[Figure]:
    """P2: `spanview stats --json` against decoding the same objects and throwing them away."""
    ours = ("-m", "spanview", "stats", "--json", "--no-cache", str(folder))
    base = ("-c", _DECODE_ALL, str(folder))
    measures = [lambda: seconds_of(*ours), lambda: seconds_of(*base)]
    measures += [lambda: cpu_seconds_of(*ours), lambda: cpu_seconds_of(*base)]
    whole, whole_base, cpu, cpu_base = in_turns(measures, rounds)
    return [
        Figure("P2", "stats --json, whole process, against orjson.loads of all objects", whole, "s", whole_base, 2.5),
        Figure("P2", "the same in processor time", cpu, "s", cpu_base, 2.5),
    ]


def memory(folder: Path, spans: int, empty: Path, rounds: int) -> list[Figure]:
    """P4: what a loaded store holds, and the most that the process had, above the same program without spans."""
    held, peak, empty_held = in_turns(
        [lambda: _memory(folder)[0], lambda: _memory(folder)[1], lambda: _memory(empty)[0]], rounds
    )
    return [
        Figure("P4", f"held by {spans:,} spans, a span", (held - empty_held) / spans, "B", None, 120),
        Figure("P4", "the same, the process at its peak", peak / 1_000_000, "MB", None, 200),
    ]


def _memory(folder: Path) -> tuple[int, int]:
    words = [sys.executable, "-c", _MEMORY, str(folder)]
    held, peak = subprocess.run(words, capture_output=True, check=True).stdout.split()
    return int(held), int(peak)


def start(rounds: int) -> list[Figure]:
    """P9: `spanview --help` against a Python that does nothing."""
    ours, base = in_turns([lambda: seconds_of("-m", "spanview", "--help"), lambda: seconds_of("-c", "pass")], rounds)
    return [Figure("P9", "spanview --help against bare Python", ours * 1000, "ms", base * 1000, 5)]
