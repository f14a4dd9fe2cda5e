"""What each key of the list of traces takes, of the groups, and of what opens from there; also while traces come.

writer    appends new traces to a file of its own, so many a second
viewer    follows both folders, and writes down what each key took
here      presses the keys, at moments that have nothing to do with what the viewer does
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from .figures import Figure
from .folders import late_span
from .terminal import DOWN, ESCAPE, PAGE_DOWN, PAGE_UP, UP, Terminal
from .timed_viewer import DONE, TIMES
from .viewer import LOADED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from multiprocessing.process import BaseProcess
    from multiprocessing.synchronize import Event

_LIMIT_MS: Final = 50
_A_SECOND: Final = 200
"""New traces that a writer writes."""
_SETTLED_S: Final = 8.0
"""The checking of what was scanned has the processor for so long, at the most, after a million spans are loaded."""
_BETWEEN_S: Final = 0.3
"""Between keys, at the most."""
_PATIENCE_S: Final = 30.0
_LOOK_S: Final = 0.01
_IN_LIST: Final = (
    *(DOWN, DOWN, DOWN, UP, PAGE_DOWN, PAGE_UP, b"G", b"g"),
    *(b"s", b"s", b"s", b"s", b"S", b"S", b"s"),
    *(PAGE_DOWN, b"{", PAGE_DOWN, b"}", ESCAPE),
    *(b"/", b"s", b"t", b"a", b"g", b"e", b"_", b"1", b"\r", DOWN, b"/", b"2", b"\x7f", b"\r", ESCAPE),
    *(b"e", ESCAPE, b"\r", ESCAPE, b"y", b" ", b" "),
    *(b"t", DOWN, ESCAPE, b"F", DOWN, ESCAPE, b"?", b"?", b":", ESCAPE),
)
_GROUPS: Final = 8
"""Columns that groups can be sorted by, or more."""
_IN_GROUPS: Final = (
    *(b"r", DOWN, DOWN, UP, b"G", b"g", *[b"s"] * _GROUPS, b"S", b"S"),
    *(b"e", ESCAPE, b"\r", b"G", b"g", b"s", b"S", ESCAPE, b"t", ESCAPE, b"F", ESCAPE),
    *(b"/", b"1", b"2", b"\r", ESCAPE, b"?", b"?", b":", ESCAPE, b"r"),
)


def each_key(folder: Path, rounds: int, *, followed: bool) -> list[Figure]:
    """Measure how long each key takes until it is painted, and how long the screen is held by it.

    Args:
        folder: What is shown.
        rounds: How often all keys are pressed.
        followed: Whether traces come meanwhile.
    """
    with tempfile.TemporaryDirectory() as scratch:
        times, new = Path(scratch) / "times", Path(scratch) / "new"
        times.mkdir()
        new.mkdir()
        words = ["--no-cache", str(folder), *(["--follow", str(new)] if followed else [])]
        writer: AbstractContextManager[object] = _Writer(new) if followed else nullcontext()
        with Terminal("-m", "tests.benchmarks.timed_viewer", str(times), *words) as terminal:
            terminal.seconds_until(LOADED)
            _wait(terminal, _SETTLED_S)
            with writer:
                _press(terminal, rounds, times / DONE)
        return [*_figures(times / TIMES, "while traces come, " if followed else "")]


def _press(terminal: Terminal, rounds: int, done: Path) -> None:
    chance = random.Random(rounds)
    done.touch()
    # What a key took is written down when the next one comes.
    for number, key in enumerate((*(_IN_LIST + _IN_GROUPS) * rounds, b"g"), 1):
        terminal.press(key)
        until = time.monotonic() + _PATIENCE_S
        while done.stat().st_size < number:
            if time.monotonic() > until:
                raise TimeoutError(f"{key!r} was not painted")
            terminal.read(_LOOK_S)
        _wait(terminal, chance.uniform(0, _BETWEEN_S))


def _wait(terminal: Terminal, seconds: float) -> None:
    """Read what is written for some seconds."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        terminal.read(left)


def _figures(times: Path, when: str) -> Iterator[Figure]:
    taken: dict[tuple[str, str], list[dict[str, float]]] = {}
    for line in times.read_text("utf-8").splitlines():
        values = json.loads(line)
        taken.setdefault((values.pop("screen"), values.pop("key")), []).append(values)
    for (screen, key), every in sorted(taken.items()):
        what = f"{when}{screen}: {key}"
        own = [each["own"] for each in every]
        yield Figure("keys", f"{what}, processor's time until it is painted, median of {len(every)}", median(own), "ms")
        yield Figure("keys", f"{what}, longest", max(own), "ms", None, _LIMIT_MS)
        held = max(each["held"] for each in every)
        yield Figure("keys", f"{what}, longest of anything until the next key", held, "ms", None, _LIMIT_MS)
        yield Figure(
            "keys", f"{what}, of all threads until it is painted", max(each["process"] for each in every), "ms"
        )
        yield Figure("keys", f"{what}, by the clock, median", median([each["taken"] for each in every]), "ms")
        yield Figure("keys", f"{what}, by the clock, longest", max(each["taken"] for each in every), "ms")


class _Writer:
    """A process that writes traces while the context lasts.

    Args:
        folder: Where its file is made.
    """

    def __init__(self, folder: Path) -> None:
        context = get_context("spawn")
        self._end: Event = context.Event()
        self._process: BaseProcess = context.Process(target=_write, args=(str(folder), self._end), daemon=True)

    def __enter__(self) -> None:
        self._process.start()

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._process.join()


def _write(folder: str, end: Event) -> None:
    with open(f"{folder}/1.txt", "ab", buffering=0) as file:
        while not end.wait(1 / _A_SECOND):
            file.write(late_span(1, time.time_ns(), in_lines=True).encode())
