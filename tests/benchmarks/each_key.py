"""What each key takes on each screen, until it is painted and of anything until the next one; also while traces come.

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

from .figures import Figure, share_of
from .folders import Text, late_span, write_logs
from .key_scripts import REST, SIZE, pressed, sent
from .terminal import Terminal
from .timed_viewer import BUSY, DONE, TIMES
from .viewer import LOADED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from multiprocessing.process import BaseProcess
    from multiprocessing.synchronize import Event

    from .key_scripts import Script

_LIMIT_MS: Final = 50
_A_SECOND: Final = 200
"""New traces that a writer writes."""
_SETTLED_S: Final = 8.0
"""The checking of what was scanned has the processor for so long, at the most, after a million spans are loaded."""
_BETWEEN_S: Final = 0.05
"""Between keys, at the most."""
_QUIET_S: Final = 0.5
_UNQUIET_S: Final = 0.5
"""So long is waited for quiet while traces come: it never is."""
_PATIENCE_S: Final = 30.0
_LOOK_S: Final = 0.01


def each_key(folder: Path, script: Script, *, followed: bool = False) -> list[Figure]:
    """Measure how long each key takes until it is painted, and how long the screen is held by it.

    Args:
        folder: What is shown.
        script: What is pressed, once: it presses each kind of key four times on average.
        followed: Whether traces come meanwhile.
    """
    write_logs()
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
                # Where nothing is followed, the space bar begins anew.
                keys = [(place, key) for place, key in pressed(script) if followed or key != "space"]
                _press(terminal, keys, times / DONE, _UNQUIET_S if followed else _PATIENCE_S)
        return [*_figures(times / TIMES, f"{folder.name}, {'while traces come, ' if followed else ''}")]


def _press(terminal: Terminal, keys: list[tuple[str, str]], done: Path, most_s: float) -> None:
    chance, number = random.Random(len(keys)), 0
    # Where groups come first, the list is a key away. The first size of the terminal is taken for a key, too.
    done.touch()
    terminal.press(b"g")
    _painted(terminal, done, 1)
    _rest(terminal, done.with_name(BUSY), most_s)
    if done.read_text().rstrip().endswith("groups"):
        terminal.press(b"r")
        _rest(terminal, done.with_name(BUSY), most_s)
    done.write_text("")
    # What a key took is written down when the next one comes.
    for place, key in (*keys, (keys[0][0], "g")):
        if key == REST:
            _rest(terminal, done.with_name(BUSY), most_s)
            continue
        if key.startswith(SIZE):
            terminal.resize(*map(int, key.removeprefix(SIZE).split("x")))
        else:
            terminal.press(sent(key))
        number += 1
        places = _painted(terminal, done, number)
        if places[-1] != place:
            raise ValueError(f"{key!r} was for {place}, and came to {places[-1]}, as key {number}")
        _wait(terminal, chance.uniform(0, _BETWEEN_S))


def _painted(terminal: Terminal, done: Path, number: int) -> list[str]:
    """Return the screens of all keys, when so many are painted."""
    until = time.monotonic() + _PATIENCE_S
    # A line that is being written doesn't count yet.
    while len(places := done.read_text().rpartition("\n")[0].splitlines()) < number:
        if time.monotonic() > until:
            raise TimeoutError(f"key {number} was not painted; the last one was for {places[-1:]}")
        terminal.read(_LOOK_S)
    return places


def _rest(terminal: Terminal, busy: Path, most_s: float) -> None:
    """Read what is written until all is quiet, and what is shown has been computed."""
    until = time.monotonic() + most_s
    while (terminal.read(_QUIET_S) and time.monotonic() < until) or busy.exists():
        pass


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
    yield from _summary(taken, when)
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


def _summary(taken: dict[tuple[str, str], list[dict[str, float]]], when: str) -> Iterator[Figure]:
    """Yield what all kinds of keys take; each counts once, with its median."""
    usual = {f"{screen}: {key}": median([each["own"] for each in every]) for (screen, key), every in taken.items()}
    slowest, kinds = max(usual, key=usual.__getitem__), [*usual.values()]
    what = f"{when}{len(kinds)} kinds of keys, processor's time until painted"
    yield Figure("keys", f"{what}, median", median(kinds), "ms")
    yield Figure("keys", f"{what}, p95", share_of(kinds, 95), "ms", None, _LIMIT_MS)
    yield Figure("keys", f"{what}, so many over {_LIMIT_MS} ms", sum(each > _LIMIT_MS for each in kinds), "kinds")
    yield Figure("keys", f"{what}, longest: {slowest}", usual[slowest], "ms")


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
            file.write(late_span(1, time.time_ns(), Text.LINE).encode())
