"""Following while other processes write: how soon a span is printed, and whether the viewer keeps up with many.

writers   append a span each now and then, to a file of their own share; the span's task id is the moment in nanoseconds
spanview  `spans -f` prints it into a pipe
here      reads the pipe, on the same clock

writers   append as much as they are told to, all the time, and count the spans
viewer    says in its header how many it has; some key is pressed again and again
here      reads both on the same clock
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from .figures import Figure, cpu_seconds_of, share_of
from .folders import TASK_KEY, Layout, Shape, Text, folder_of, late_span
from .processes import LOAD
from .terminal import DOWN, UP, Terminal
from .timed_viewer import TIMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from ctypes import Array, c_long
    from multiprocessing.synchronize import Barrier

_WRITTEN: Final = re.compile(rf'"{re.escape(TASK_KEY)}":"([0-9a-f]+)"'.encode())
_SPANS_A_FILE: Final = 4
_PIECE: Final = 1 << 20
_SETTLED_S: Final = 12.0
"""A file that changed just now is looked at twice more, and of thousands of files each look comes seconds later."""
_PATIENCE_S: Final = 60.0
_PAUSE_S: Final = 0.1
_WRITERS: Final = 8
_BYTES_A_SECOND: Final = 50_000_000
_SPAN_BYTES: Final = 1_190
"""Of an indented one, as a folder has them."""
_WRITTEN_AT_ONCE: Final = 1 << 16
_END: Final = b"\n}\n"
"""Of each span."""
_COUNTED: Final = re.compile(rb"([\d,]+) spans")
"""What the header says, and of fewer a trace."""
_LOOK_S: Final = 0.05
_BETWEEN_KEYS_S: Final = 0.25


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


def flood(seconds: float) -> list[Figure]:
    """P16: how far the viewer is behind eight writers of 50 MB/s; P7: its keys meanwhile.

    What is behind is told by the header: how old the oldest span is that it doesn't count yet.
    """
    source = folder_of(Shape(int(seconds * _BYTES_A_SECOND / _SPAN_BYTES)))
    context = get_context("spawn")
    with tempfile.TemporaryDirectory() as scratch:
        folder, times = Path(scratch) / "spans", Path(scratch) / "times"
        folder.mkdir()
        times.mkdir()
        words = ("-m", "tests.benchmarks.timed_viewer", str(times), "--no-cache", "--follow", str(folder))
        written = context.Array("l", _WRITERS, lock=False)
        writers = [
            context.Process(target=_pour, args=(str(source), str(folder), number, seconds, written), daemon=True)
            for number in range(_WRITERS)
        ]
        with Terminal(*words) as terminal:
            terminal.wait_until_quiet(_SETTLED_S / 4)
            used = _processor_s(terminal.pid)
            for writer in writers:
                writer.start()
            behind = _behind(terminal, written, lambda: any(writer.is_alive() for writer in writers))
            used = _processor_s(terminal.pid) - used
        taken = [json.loads(line)["taken"] for line in (times / TIMES).read_text("utf-8").splitlines()]
        loading = cpu_seconds_of("-c", LOAD, str(folder))
        spans, size = sum(written), sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    what = f"the viewer, {_WRITERS} writers, {size / seconds:.0f} MB/s together for {seconds:.0f} s"
    return [
        Figure("P16", f"{what}: behind by, p95", share_of(behind, 95), "s", None, 0.5),
        Figure("P16", "the same, when they have ended, until it shows all", behind[-1], "s", None, 0.5),
        Figure(
            "P16",
            "the same, processor time a span against spanview.load",
            1e6 * used / spans,
            "µs",
            1e6 * loading / spans,
            3.0,
        ),
        Figure(
            "P7", f"Down and Up meanwhile, {len(taken):,} keys, until painted, p95", share_of(taken, 95), "ms", None, 50
        ),
    ]


def _behind(terminal: Terminal, written: Array[c_long], are_writing: Callable[[], bool]) -> list[float]:
    """Return how many seconds the viewer was behind, whenever its header was drawn; the last is when it shows all."""
    counts, behind = list[tuple[float, int]](), list[float]()
    rest, keys, due = b"", itertools.cycle((DOWN, UP)), time.monotonic() + _BETWEEN_KEYS_S
    most, grown, patience = 0, 0.0, time.monotonic() + 10 * _PATIENCE_S
    while time.monotonic() < patience:
        is_over = not are_writing()
        rest = rest[-_WRITTEN_AT_ONCE:] + terminal.read(_LOOK_S)
        now = time.monotonic()
        counts.append((now, sum(written)))
        if found := _COUNTED.findall(rest):
            shown, rest = max(int(each.replace(b",", b"")) for each in found), b""
            if shown < most:
                continue
            most, grown = shown, grown if shown == most else now
            # Since when there was more than it shows.
            behind.append(now - next((since for since, count in counts if count > shown), now))
        if is_over and most >= counts[-1][1]:
            # Processes take a while to end after what they have written.
            ended = next(since for since, count in counts if count == counts[-1][1])
            return [*behind, max(0.0, grown - ended)]
        if not is_over and now >= due:
            terminal.press(next(keys))
            due = now + _BETWEEN_KEYS_S
    raise TimeoutError(f"the viewer never showed all: {behind[-1:]}")


def _pour(source: str, folder: str, number: int, seconds: float, written: Array[c_long]) -> None:
    """Append what files hold to files of the same names, in a process of its own, at its share of the rate."""
    paths = sorted(Path(source).iterdir())[number::_WRITERS]
    began, size = time.monotonic(), 0
    with ExitStack() as stack:
        pairs = [
            (
                stack.enter_context(path.open("rb")),
                stack.enter_context((Path(folder) / path.name).open("ab", buffering=0)),
            )
            for path in paths
        ]
        for read, write in itertools.cycle(pairs):
            piece = read.read(_WRITTEN_AT_ONCE)
            end = piece.rfind(_END) + len(_END)
            read.seek(end - len(piece), os.SEEK_CUR)
            piece = piece[:end]
            if time.monotonic() - began > seconds:
                return
            write.write(piece)
            size += len(piece)
            written[number] += piece.count(_END)
            time.sleep(max(0.0, began + size * _WRITERS / _BYTES_A_SECOND - time.monotonic()))


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
    used, began = _processor_s(process.pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (_processor_s(process.pid) - used) / (time.monotonic() - began)


def _processor_s(pid: int) -> float:
    """Return how much processor time another process has had; on Linux alone."""
    # The kernel's number for that clock.
    return time.clock_gettime((~pid << 3) | 2)


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
