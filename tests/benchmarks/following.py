"""`spanview spans -f` while other processes write: how soon a span is printed, and what waiting costs.

writers   append a span each now and then, to a file of their own share; the span's task id is the moment in nanoseconds
spanview  prints it into a pipe
here      reads the pipe, on the same clock
"""

from __future__ import annotations

import os
import random
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from .figures import Figure, share_of
from .folders import TASK_KEY, Layout, Shape, Text, folder_of, late_span

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.synchronize import Barrier

_WRITTEN: Final = re.compile(rf'"{re.escape(TASK_KEY)}":"([0-9a-f]+)"'.encode())
_SPANS_A_FILE: Final = 4
_PIECE: Final = 1 << 20
_SETTLED_S: Final = 12.0
"""A file that changed just now is looked at twice more, and of thousands of files each look comes seconds later."""
_PATIENCE_S: Final = 60.0
_PAUSE_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Load:
    """What happens in a folder that is followed."""

    files: int
    writers: int
    spans: int
    """So many each writes."""
    idle_s: float
    """So long nobody writes, before."""
    most_idle: float
    """The share of one core that waiting may cost, in percent."""
    most_ms: float | None = None
    """The limit of the 95th percentile."""


def latency(load: Load) -> list[Figure]:
    """P10: from a write to its line in the pipe, and the processor's share while nobody writes."""
    shape = Shape(_SPANS_A_FILE * load.files, files=load.files, layout=Layout.MIXED)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "spans"
        shutil.copytree(folder_of(shape), folder)
        with _following(folder, shape.spans) as process:
            idle = _idle_percent(process, load.idle_s)
            taken = _latencies(process, folder, load)
    who = f"{load.writers} writers" if load.writers > 1 else "one writer"
    printed = f"write until spans -f has printed it, {load.files:,} files, {who}"
    figures = [
        Figure("P10", f"{printed}, p95", share_of(taken, 95), "ms", None, load.most_ms),
        Figure("P10", "the same, median", median(taken), "ms"),
    ]
    if idle is not None:
        figures.append(Figure("P10", f"spans -f idle, {load.files:,} files", idle, "%", None, load.most_idle))
    return figures


@contextmanager
def _following(folder: Path, spans: int) -> Iterator[subprocess.Popen[bytes]]:
    """Follow a folder; what is there already has been printed, and the watching has begun."""
    words = [sys.executable, "-m", "spanview", "spans", "--follow", "--no-cache", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, bufsize=0) as process:
        try:
            printed = 0
            while printed < spans:
                printed += _read(process).count(b"\n")
            time.sleep(_SETTLED_S)
            yield process
        finally:
            process.kill()


def _read(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], _PATIENCE_S)[0]:
        raise TimeoutError("spanview printed nothing")
    data = os.read(process.stdout.fileno(), _PIECE)
    if not data:
        raise RuntimeError("spanview ended")
    return data


def _idle_percent(process: subprocess.Popen[bytes], seconds: float) -> float | None:
    """Return the share of one core that a process takes, in percent; None where that can't be told."""
    if not sys.platform.startswith("linux"):
        sys.stderr.write("left out: the idle share of P10 is told on Linux only\n")
        return None
    # The kernel's number for the clock of another process's processor time, in nanoseconds.
    clock = (~process.pid << 3) | 2
    used, began = time.clock_gettime(clock), time.monotonic()
    time.sleep(seconds)
    return 100 * (time.clock_gettime(clock) - used) / (time.monotonic() - began)


def _latencies(process: subprocess.Popen[bytes], folder: Path, load: Load) -> list[float]:
    """Return the milliseconds of each span that the writers write."""
    context = get_context("spawn")
    begin = context.Barrier(load.writers + 1)
    writers = [
        context.Process(target=_write, args=(str(folder), number, load, begin), daemon=True)
        for number in range(load.writers)
    ]
    for writer in writers:
        writer.start()
    begin.wait()
    taken: list[float] = []
    rest = b""
    while len(taken) < load.spans * load.writers:
        *lines, rest = (rest + _read(process)).split(b"\n")
        now = time.monotonic_ns()
        found = (_WRITTEN.search(line) for line in lines)
        taken += [(now - int(match[1], 16)) / 1e6 for match in found if match is not None]
    for writer in writers:
        writer.join()
    return taken


def _write(folder: str, number: int, load: Load, begin: Barrier) -> None:
    """Append spans to the files that are this writer's, in a process of its own."""
    chance = random.Random(number)
    paths = sorted(Path(folder).iterdir())
    begin.wait()
    for _ in range(load.spans):
        time.sleep(chance.uniform(0, 2 * _PAUSE_S))
        process = chance.randrange(number, load.files, load.writers)
        with open(paths[process], "ab", buffering=0) as file:
            file.write(late_span(process, time.monotonic_ns(), Text(paths[process].suffix[1:])).encode())
