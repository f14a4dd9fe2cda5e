"""Clocks that are set while files grow: this machine's, and those by which files get their times."""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING, Final, Self

from spanview.index.store import Store
from spanview.index.summary import summary_of
from spanview.sources.details import RecordReader
from spanview.sources.follow import Watcher
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

from .figures import Figures, Row
from .followed import InProcess, Records, append

if TYPE_CHECKING:
    from pathlib import Path

_DAY_S: Final = 86_400
_STEPS_S: Final = (-_DAY_S, -3_600, -1, 0, 1, 3_600, _DAY_S)
_TICK_S: Final = 0.03
"""Longer than a tick of the clocks by which files get their times."""
_SECOND_NS: Final = 1_000_000_000


class _Clock:
    """The clock of this process, which is set again and again; a context that puts it right."""

    def __init__(self) -> None:
        self.ahead_s = 0
        self._time, self._time_ns = time.time, time.time_ns

    def __enter__(self) -> Self:
        time.time = lambda: self._time() + self.ahead_s
        time.time_ns = lambda: self._time_ns() + self.ahead_s * _SECOND_NS
        return self

    def __exit__(self, *_: object) -> None:
        time.time, time.time_ns = self._time, self._time_ns


class _Files:
    """Files that are written to in ways that dice choose: whole records, halves, and cut and written anew.

    Args:
        steps: Whether the clocks are set at each step too.
    """

    def __init__(self, folder: Path, dice: random.Random, *, steps: bool) -> None:
        self._paths = [folder / f"{number}.json" for number in range(4)]
        self._halves = dict.fromkeys(self._paths, b"")
        self._dice = dice
        self._clocks = random.Random(0) if steps else None
        self._half_name = ""
        self._records = Records()
        self.names: list[str] = []
        """Of the spans that stood whole in a file, in the order in which they did."""

    def write(self) -> None:
        """Write to a file, or cut it."""
        path = self._dice.choice(self._paths)
        before_ns = path.stat().st_mtime_ns if path.exists() else 0
        way = self._dice.choice(["append", "half", "rewrite", "rewrite"])
        name, line = self._records.make()
        if way == "rewrite":
            # To the same size, where there was one whole record.
            path.write_bytes(line)
            self._halves[path] = b""
            self.names.append(name)
        elif self._halves[path]:
            append(path, self._halves[path])
            self._halves[path] = b""
            self.names.append(self._half_name)
        elif way == "append":
            append(path, line)
            self.names.append(name)
        else:
            self._finish_half()
            append(path, line[:200])
            self._halves[path], self._half_name = line[200:], name
        if self._clocks is not None:
            self._set_time(path, before_ns, self._clocks)

    def _finish_half(self) -> None:
        for path, rest in self._halves.items():
            if rest:
                append(path, rest)
                self.names.append(self._half_name)
                self._halves[path] = b""

    def _set_time(self, path: Path, before_ns: int, clocks: random.Random) -> None:
        now_ns = path.stat().st_mtime_ns
        far_ns = clocks.choice(_STEPS_S) * _SECOND_NS
        # Also to what it was before, and to a whole second, as file systems have it that count those.
        at_ns = clocks.choice([now_ns, now_ns + far_ns, before_ns, before_ns, now_ns // _SECOND_NS * _SECOND_NS])
        os.utime(path, ns=(at_ns, at_ns))


def _outcome(steps: int, folder: Path, *, sets_clocks: bool) -> tuple[list[str], list[str], list[object]]:
    """Follow files through so many steps; return the names that were written and read, and what else is told."""
    folder.mkdir()
    files, clocks, pauses = _Files(folder, random.Random(steps), steps=sets_clocks), random.Random(1), random.Random(2)
    details = RecordReader()
    store = Store(details)
    session = Session(ReadOptions((str(folder),), follow=True), store, details)
    for _ in session.load():
        pass
    with _Clock() as clock:
        for _ in range(steps):
            files.write()
            session.look()
            if pauses.random() < 0.3:
                # So long that the file's times are trusted.
                time.sleep(_TICK_S)
                session.look()
            if sets_clocks:
                clock.ahead_s = clocks.choice(_STEPS_S)
        session.look()
        session.close()
    texts, spans = store.names.texts, store.spans
    shown = [texts[spans.name[row]] for row in store.rows_in_order()]
    told = [shown, summary_of(store), [(problem.kind, problem.offset) for problem in store.problems()]]
    details.close()
    return files.names, shown, told


def _set_clocks(trials: int, folder: Path) -> Figures:
    figures = Figures(trials)
    _, _, plain = _outcome(trials, folder / "plain", sets_clocks=False)
    written, shown, told = _outcome(trials, folder / "set", sets_clocks=True)
    figures.compare(written, shown)
    figures.expect(holds=told == plain, what="what is told has changed")
    return figures


class _Deaf(Watcher):
    """A watcher that hears nothing."""

    def watch(self, folders: frozenset[str]) -> None:
        """Watch nothing."""


def _set_clocks_live(trials: int, folder: Path) -> Figures:
    """Set the clocks while a thread follows, which nobody tells of changes."""
    figures, dice, records = Figures(), random.Random(trials), Records()
    expected = []
    with _Clock() as clock, InProcess(folder, watcher=_Deaf) as follower:
        for number in range(trials):
            clock.ahead_s = dice.choice(_STEPS_S)
            path = folder / f"{number % 3}.json"
            name, line = records.make()
            expected.append(name)
            append(path, line)
            at_ns = time.time_ns()
            os.utime(path, ns=(at_ns, at_ns))
            time.sleep(dice.choice([0, dice.uniform(0, 0.1)]))
            clock.ahead_s = dice.choice(_STEPS_S)
            began = time.monotonic()
            if not follower.wait_for_names([name]):
                break
            figures.took(time.monotonic() - began)
            figures.trials += 1
        follower.stop()
        figures.compare(expected, follower.names)
    return figures


ROWS: Final = (
    Row("29a", "clocks set by up to a day", "steps", 2_000, 100, _set_clocks),
    Row("29b", "clocks set while a thread follows", "steps", 100, 10, _set_clocks_live, 1.5),
)
