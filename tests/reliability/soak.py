"""Fifty programs write, rotate, cut, remove and re-make files for minutes: nothing is lost, and nothing else grows.

what is counted    how it is compared
---------------    ------------------
spans              each written one is printed, once
memory             grows by no more than the columns need
descriptors        no more in the second half than in the first, but for those of files that are there
inotify watches    no more than folders; fewer for a moment, when a folder was removed and all are made again
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import IO, Final

import orjson

from programs import Following
from terminals import Terminal

from .figures import Figures, Row
from .soak_writers import OWN_FOLDER_EACH, SHOWN, WRITTEN, Counts, name_of

ROOT: Final = Path(__file__).parent.parent.parent
_WRITERS: Final = 50
_FOLDERS: Final = 1 + _WRITERS // OWN_FOLDER_EACH
"""That of all, and those of writers that have one of their own."""
_WARM_S: Final = 12.0
"""After so long as many files that are gone are held as ever will be: they are given up after ten seconds."""
_GIVEN_UP_S: Final = 10.0
_BYTES_OF_SPAN: Final = {"the program": 300, "the viewer": 500}
"""What a span may cost that is kept: ids and a digest, or columns and its place in the spool."""
_SLACK: Final = 12 * 1024 * 1024
"""Tables grow by leaps."""


class _Printed(Following):
    """`spanview spans --follow`, of which no line is kept.

    Args:
        folder: What is followed.
        counts: Where to tell what was printed.
    """

    def __init__(self, folder: Path, counts: Counts) -> None:
        self.times = [bytearray() for _ in range(_WRITERS)]
        """How often each span of each writer was printed."""
        self.others: list[str] = []
        """Lines that are no span of a writer, or have a warning."""
        self.spans = 0
        self._counts = counts
        super().__init__("spans", "--follow", folder)

    def _read(self, stream: IO[bytes], lines: list[str], times_ns: list[int]) -> None:
        if lines is self.notices:
            super()._read(stream, lines, times_ns)
            return
        with stream:
            for line in stream:
                span = orjson.loads(line)
                of, _, number = span["name"].removeprefix("writer ").partition(" ")
                if span["warnings"] or span["attributes"].get("of") != span["name"]:
                    self.others.append(span["name"])
                with self._changed:
                    self._take(int(of), int(number))

    def _take(self, writer: int, number: int) -> None:
        times = self.times[writer]
        times.extend(bytes(max(0, number + 1 - len(times))))
        if not times[number]:
            self._counts.set(writer, SHOWN, self._counts.get(writer, SHOWN) + 1)
        times[number] += 1
        self.spans += 1
        self._changed.notify_all()

    @property
    def printed(self) -> list[str]:
        """The names of the spans that were printed, as often as they were."""
        return [
            name_of(writer, number)
            for writer, times in enumerate(self.times)
            for number, count in enumerate(times)
            for _ in range(count)
        ]


class _Viewer(Terminal):
    """The viewer, of which only the last output is kept."""

    def _kept(self, output: bytes) -> bytes:
        self._seen = 0
        return output[-65536:]

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid


@dataclass(frozen=True, slots=True)
class _Sample:
    """What a process has at a moment."""

    spans: int
    memory: int
    """Bytes of its own."""
    descriptors: int
    """But for those of files that are there: of these there are more with each writer's first rotation."""
    watches: int


def _sample(pid: int, spans: int) -> _Sample:
    process = Path("/proc", str(pid))
    kilobytes = re.search(r"RssAnon:\s+(\d+)", (process / "status").read_text(encoding="ascii"))
    assert kilobytes is not None
    descriptors = watches = 0
    for descriptor in (process / "fdinfo").iterdir():
        try:
            watches += descriptor.read_text(encoding="ascii").count("inotify wd:")
            descriptors += not Path(os.readlink(process / "fd" / descriptor.name)).is_file()
        except OSError:
            # It was closed just now.
            continue
    return _Sample(spans, 1024 * int(kilobytes[1]), descriptors, watches)


def _soak(seconds: int, folder: Path) -> Figures:
    figures, spans = Figures(), folder / "spans"
    spans.mkdir()
    counts = Counts(folder / "counts", _WRITERS)
    with ExitStack() as stack:
        printed = stack.enter_context(_Printed(spans, counts))
        viewer = stack.enter_context(_Viewer("--follow", str(spans)))
        words = (sys.executable, "-m", "tests.reliability.soak_writers", spans, str(_WRITERS), folder / "counts")
        writers = stack.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, cwd=ROOT))
        processes = {"the program": printed.pid, "the viewer": viewer.pid}
        samples: dict[str, list[_Sample]] = {what: [] for what in processes}
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            time.sleep(0.5)
            if time.monotonic() > began + min(_WARM_S, seconds / 2):
                for what, pid in processes.items():
                    samples[what].append(_sample(pid, printed.spans))
        figures.trials = seconds
        writers.communicate()
        figures.expect(holds=writers.returncode == 0, what="a writer failed")
        written = [counts.get(writer, WRITTEN) for writer in range(_WRITERS)]
        printed.is_soon(lambda: all(counts.get(writer, SHOWN) >= count for writer, count in enumerate(written)))
        figures.expect(holds=viewer.is_running, what="the viewer has ended")
        viewer.send(b"q")
        figures.expect(holds=viewer.wait() == 0, what="the viewer's exit status")
        figures.expect(holds=printed.stop() == 0, what="the program's exit status")
    expected = [name_of(writer, number) for writer, count in enumerate(written) for number in range(count)]
    figures.compare(expected, printed.printed)
    figures.expect(holds=not printed.others, what=f"odd spans: {printed.others[:3]}")
    figures.expect(holds=printed.notices == [], what=printed.notices[:3])
    for what, found in samples.items():
        _compare_halves(figures, what, found, seconds / 2)
    return figures


def _compare_halves(figures: Figures, what: str, samples: list[_Sample], half_s: float) -> None:
    first, second = samples[: len(samples) // 2], samples[len(samples) // 2 :]
    spans = second[-1].spans - second[0].spans
    grown, allowed = second[-1].memory - second[0].memory, spans * _BYTES_OF_SPAN[what] + _SLACK
    figures.expect(holds=grown <= allowed, what=f"{what} grew by {grown:,} bytes, for {spans:,} spans")
    before, after = (mean(sample.descriptors for sample in half) for half in (first, second))
    # What comes by chance and goes after a while swings by the root of how much of it there is.
    swing = 4 * math.sqrt(before * min(1.0, _GIVEN_UP_S / half_s))
    figures.expect(holds=after <= before + swing, what=f"{what}: descriptors: {before:.1f}, then {after:.1f}")
    watches = median(sample.watches for sample in second)
    figures.expect(holds=watches <= _FOLDERS, what=f"{what}: {watches} watches for {_FOLDERS} folders")


def _no_proc() -> str:
    return "" if os.path.exists("/proc/self/fdinfo") else "there is no /proc here"


ROWS: Final = (Row("30b", "fifty writers", "seconds", 600, 8, _soak, unavailable=_no_proc),)
