"""Folders that come and go, links that lead elsewhere, and watching that fails.

what happens                                   what is shown
------------                                   -------------
the folder isn't there, or no more             `waiting for …`; its spans within 1.5 s of its coming
the link leads to another session              its spans within 1.5 s, and the last ones of the old session
more files at once than the kernel tells of    all within 3 s
the file system tells nothing                  within 1.2 s; the screen says that it is polling
no inotify instances are left                  the same; one notice; watching comes back when some are left
a name that is no text                         all; one notice at most
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from programs import Following

from .figures import Figures, Row
from .followed import PATIENCE_S, Program, Records, all_of, append, play
from .writer import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NOTICED_S: Final = 1.5
"""Ceiling for what no hint tells of."""


# -- folders that come and go ------------------------------------------------------------------------------------------


def _come_and_go(trials: int, folder: Path) -> Figures:
    figures, dice, records = Figures(), random.Random(trials), Records()
    places = [folder / f"{number}" / "not" / "yet" for number in range(min(10, trials))]
    expected: list[str] = []
    awaited = dict.fromkeys(places, 1)
    removed = dict.fromkeys(places, 1)
    with Program(*places) as program:
        while figures.trials < trials:
            program.is_soon(lambda: all(_waits(program, place) >= awaited[place] for place in places), PATIENCE_S)
            comings = [_Coming(place, *records.make()) for place in places]
            play((dice.uniform(0, 0.7), coming.happen) for coming in comings)
            expected += [coming.name for coming in comings]
            if not program.wait_for_names(coming.name for coming in comings):
                break
            for coming in comings:
                figures.took(program.seconds_until(coming.name, coming.written_ns))
                name, line = records.make()
                expected.append(name)
                append(coming.path, line)
            figures.trials += len(comings)
            if not program.wait_for_names(expected):
                break
            for place in places:
                _vanish(place, folder, dice)
                removed[place] += 1
                if dice.random() < 0.7:
                    awaited[place] = _waits(program, place) + 1
        program.is_soon(lambda: all(_waits(program, place) >= awaited[place] for place in places), PATIENCE_S)
        figures.expect(holds=program.stop() == 0, what="the exit status")
        figures.compare(expected, program.names)
        for place in places:
            waits = _waits(program, place)
            figures.expect(holds=awaited[place] <= waits <= removed[place], what=f"waited {waits} times for {place}")
        odd = [notice for notice in program.notices if "waiting for" not in notice]
        figures.expect(holds=not odd, what=odd[:3])
    return figures


def _waits(program: Program, place: Path) -> int:
    return program.notices.count(f"spanview: waiting for {place}")


class _Coming:
    """A folder that comes with a file in it."""

    def __init__(self, place: Path, name: str, line: bytes) -> None:
        self.name = name
        self.path = place / "1.json"
        self.written_ns = 0
        self._line = line

    def happen(self) -> None:
        """Make the folder, and write the file at once."""
        self.path.parent.mkdir(parents=True)
        append(self.path, self._line)
        self.written_ns = time.time_ns()


def _vanish(place: Path, folder: Path, dice: random.Random) -> None:
    """Remove a folder with those above it, or alone, or move it away."""
    top = dice.choice([place, place.parent.parent])
    if dice.random() < 0.5:
        away = folder / "away"
        top.rename(away)
        top = away
    shutil.rmtree(top)


# -- a session's link --------------------------------------------------------------------------------------------------

_BELOW: Final = Path("logs", "serve", "spans")


def _repoint(trials: int, folder: Path) -> Figures:
    figures, dice, records = Figures(), random.Random(trials), Records()
    expected: list[str] = []
    link, busy = folder / "session_latest", folder / "busy"
    busy.mkdir()
    session = _session(folder, 0)
    link.symlink_to(session.name)
    with ExitStack() as stack:
        program = stack.enter_context(Program(link / _BELOW, busy))
        load = stack.enter_context(_load(busy))
        old = stack.enter_context((session / _BELOW / "1.json").open("ab", buffering=0))
        name, line = records.make()
        expected.append(name)
        old.write(line)
        program.wait_for_names(expected)
        for number in range(1, trials + 1):
            made = {which: records.make() for which in ("before", "after", "late", "new", "next")}
            times: dict[str, int] = {}
            session = _session(folder, number)
            new = stack.enter_context((session / _BELOW / f"{dice.randint(1, 2)}.json").open("ab", buffering=0))

            def write(file: Any, which: str, times: dict[str, int] = times, made: Any = made) -> None:
                file.write(made[which][1])
                times[which] = time.time_ns()

            after, late = dice.uniform(0, 0.5), dice.uniform(0.5, 1.5)
            play(
                [
                    (0, partial(write, old, "before")),
                    (0, partial(_lead, link, session, dice)),
                    (dice.choice([0, dice.uniform(0, 0.3)]), partial(write, new, "new")),
                    (after, partial(write, old, "after")),
                    (late, partial(write, old, "late")),
                    (late, partial(write, new, "next")),
                ]
            )
            expected += [name for name, _ in made.values()]
            if not program.wait_for_names(name for name, _ in made.values()):
                break
            for which, (name, _) in made.items():
                figures.took(program.seconds_until(name, times[which]))
            figures.trials += 1
            old = new
        loaded = load.end()
        program.wait_for_names(loaded)
        figures.expect(holds=program.stop() == 0, what="the exit status")
        figures.compare(expected + loaded, program.names)
        figures.expect(holds=not program.odd, what=program.odd[:1])
        # Between the two steps of re-pointing it there is no link.
        odd = [notice for notice in program.notices if "waiting for" not in notice]
        figures.expect(holds=not odd, what=odd[:3])
    return figures


def _session(folder: Path, number: int) -> Path:
    session = folder / f"session {number}"
    (session / _BELOW).mkdir(parents=True)
    return session


def _lead(link: Path, session: Path, dice: random.Random) -> None:
    """Let a link lead elsewhere, in one step or in two."""
    if dice.random() < 0.5:
        fresh = link.with_name("fresh")
        fresh.symlink_to(session.name)
        fresh.replace(link)
    else:
        link.unlink()
        link.symlink_to(session.name)


_LOADED: Final = 1_000
"""The first number of a trace that `Records` doesn't use."""


class _Load:
    """Programs that write to files of their own."""

    def __init__(self, folder: Path, *, programs: int, per_second: int) -> None:
        words = [sys.executable, "-m", "tests.reliability.writer"]
        self._programs = [
            subprocess.Popen(
                [*words, folder / f"{each}.json", str(each), str(per_second)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=ROOT,
            )
            for each in range(_LOADED, _LOADED + programs)
        ]

    def end(self) -> list[str]:
        """End them and return the names of the spans that they wrote."""
        counts = [int(program.communicate()[0]) for program in self._programs]
        return [name_of(each, number) for each, count in enumerate(counts, _LOADED) for number in range(count)]

    def kill(self) -> None:
        """End them at once."""
        for program in self._programs:
            program.kill()
            program.wait()
            for stream in (program.stdin, program.stdout):
                if stream is not None:
                    stream.close()


@contextmanager
def _load(folder: Path) -> Iterator[_Load]:
    load = _Load(folder, programs=3, per_second=200)
    try:
        yield load
    finally:
        load.kill()


# -- watching that fails -----------------------------------------------------------------------------------------------

ROOT: Final = Path(__file__).parent.parent.parent
_UPDATES: Final = (sys.executable, "-m", "tests.reliability.updates")


class _Updates(Following):
    """What a viewer's thread is told, as it comes."""

    def __init__(self, *words: str | Path, before: tuple[str, ...] = ()) -> None:
        super().__init__(*words, folder=ROOT, program=(*before, *_UPDATES))
        self._seen = 0
        self.first_ns: dict[str, int] = {}
        """When each span came, in nanoseconds since 1970."""
        self.names: list[str] = []
        self.is_polling = False
        self.problems: list[str] = []
        self.heard = 0
        """Of how many paths hints came."""

    def _looked(self) -> Self:
        """Take in what came."""
        for line, at_ns in zip(self.lines[self._seen :], self.times_ns[self._seen :], strict=False):
            update = json.loads(line)
            self._seen += 1
            self.names += update["names"]
            self.first_ns |= dict.fromkeys(update["names"], at_ns)
            self.is_polling, self.problems, self.heard = update["polling"], update["problems"], update["heard"]
        return self

    def wait_for_names(self, names: Iterable[str], seconds: float = PATIENCE_S) -> bool:
        """Wait until spans of these names came; tell whether they did."""
        return self.is_soon(all_of(names, lambda: self._looked().names), seconds)

    def hears_of(self, path: Path, data: bytes = b"\n") -> bool:
        """Append to a file, and line ends until a hint comes: a watch takes a moment to begin. Tell whether one did."""
        heard = self.heard
        for _ in range(100):
            append(path, data)
            if self.is_soon(lambda: self._looked().heard > heard, PATIENCE_S / 100):
                return True
            data = b"\n"
        return False

    def wait_for_polling(self, *, polling: bool, seconds: float = PATIENCE_S) -> bool:
        """Wait until it says that it is polling, or isn't any more; tell whether it does."""
        return self.is_soon(lambda: self._looked().is_polling is polling, seconds)


_KNOWN: Final = 1_000
"""So many files are written to after all are known."""
_TIMES: Final = 8
"""So often each of them, which makes more events than the kernel keeps."""


def _overflow(trials: int, folder: Path) -> Figures:
    """Write files, then write to known ones, while the follower doesn't get to run, so that its events overflow."""
    figures, records = Figures(), Records()
    expected: list[str] = []

    def write(number: int) -> None:
        name, line = records.make()
        expected.append(name)
        append(folder / f"{number}.json", line)

    with _Updates(folder) as updates:
        for numbers in (range(trials), [number for number in range(_KNOWN) for _ in range(_TIMES)]):
            figures.expect(holds=updates.hears_of(folder / "first.json"), what="it heard of nothing")
            heard = updates.heard
            os.kill(updates.pid, signal.SIGSTOP)
            for number in numbers:
                write(number)
            written_ns = time.time_ns()
            os.kill(updates.pid, signal.SIGCONT)
            if not updates.wait_for_names(expected):
                break
            figures.took((max(updates.first_ns.values()) - written_ns) / 1e9)
            heard = updates.heard - heard
            figures.expect(holds=heard < len(set(numbers)), what=f"no overflow: it heard of {heard} files")
            figures.trials = trials
        figures.compare(expected, updates.names)
    return figures


def _silence(trials: int, folder: Path) -> Figures:
    """Write by names in another folder, of which nobody hears who watches this one; and without any watch at all."""
    figures, dice, records = Figures(), random.Random(trials), Records()
    spans, elsewhere = folder / "spans", folder / "elsewhere"
    spans.mkdir()
    elsewhere.mkdir()
    expected = []
    for number in range(2):
        name, line = records.make()
        expected.append(name)
        append(elsewhere / f"{number}.json", line)
        (spans / f"{number}.json").hardlink_to(elsewhere / f"{number}.json")
    for words in ((), ("--deaf",)):
        own = list(expected)
        with _Updates(*words, spans) as updates:
            updates.wait_for_names(own)
            for _ in range(trials // 2):
                time.sleep(dice.uniform(0, 0.7))
                name, line = records.make()
                own.append(name)
                append(elsewhere / f"{dice.randrange(2)}.json", line)
                written_ns = time.time_ns()
                if not updates.wait_for_names([name]):
                    break
                figures.took((updates.first_ns[name] - written_ns) / 1e9)
                figures.trials += 1
            figures.compare(own, updates.names, words)
            figures.expect(holds=updates.is_polling, what="it doesn't say that it is polling")
            figures.expect(holds=updates.problems == [], what=updates.problems)
            if not words:
                # A hint that comes says that watching works, though nobody heard of the others.
                name, line = records.make()
                append(spans / "0.json", line)
                figures.expect(holds=updates.wait_for_polling(polling=False), what="it says that it is polling")
                expected = [*own, name]
    return figures


_STRANGER: Final = "61234"
"""A user that nobody is; each has inotify instances of its own."""
_HOLD: Final = """\
import ctypes, os, resource, sys
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
library = ctypes.CDLL(None)
while library.inotify_init() >= 0:
    pass
os.close(os.open("/dev/null", os.O_RDONLY))  # not this process's descriptors have run out
print("all held", flush=True)
sys.stdin.read()
"""


def _as_stranger() -> tuple[str, ...]:
    """Return the words before a program that make it another user's, who may read what this one may read.

    Where that can't be had, because this user may not do so, all is done as this one.
    """
    if os.geteuid():
        return ()
    may_read = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    return "setpriv", f"--reuid={_STRANGER}", f"--regid={_STRANGER}", "--clear-groups", *may_read


def _no_instances(trials: int, folder: Path) -> Figures:
    figures, records = Figures(), Records()
    expected: list[str] = []
    for _ in range(trials):
        figures.trials += 1
        with _all_instances() as free, _Updates(folder, before=_as_stranger()) as updates:
            updates.wait_for_names(expected)
            for _ in range(3):
                name, line = records.make()
                expected.append(name)
                append(folder / "1.json", line)
                written_ns = time.time_ns()
                if updates.wait_for_names([name]):
                    figures.took((updates.first_ns[name] - written_ns) / 1e9)
            figures.expect(holds=updates.is_polling, what="it doesn't say that it is polling")
            free()
            name, line = records.make()
            expected.append(name)
            figures.expect(holds=updates.hears_of(folder / "2.json", line), what="watching doesn't come back")
            figures.expect(holds=updates.wait_for_polling(polling=False), what="it says that it is polling")
            updates.wait_for_names([name])
            figures.compare(expected, updates.names)
            figures.expect(holds=updates.problems == ["watcher"], what=updates.problems)
    return figures


@contextmanager
def _all_instances() -> Iterator[Any]:
    """Hold all of a user's inotify instances, until what is returned is called."""
    words = (*_as_stranger(), sys.executable, "-c", _HOLD)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"all held\n"
        try:
            yield holder.communicate
        finally:
            holder.kill()


def _no_inotify() -> str:
    if not sys.platform.startswith("linux"):
        return "there is no inotify here"
    if not os.geteuid() and shutil.which("setpriv") is None:
        return "setpriv isn't there to become another user"
    return ""


# -- names that are no text --------------------------------------------------------------------------------------------


def _plant(trials: int, folder: Path) -> Figures:
    figures, dice, records = Figures(), random.Random(trials), Records()
    beside = folder / "beside.json"
    expected: list[str] = []

    def write(path: str | bytes | Path) -> str:
        name, line = records.make()
        expected.append(name)
        append(os.fsdecode(path), line)
        return name

    with Program(folder) as program:
        program.wait_for_names([write(beside)])
        for number in range(trials):
            planted = os.path.join(os.fsencode(folder), b"\xff%d.json" % number)
            write(beside)
            if number % 3 == 1:
                # A file that is known gets such a name.
                known = folder / f"{number}.json"
                program.wait_for_names([write(known)])
                os.rename(known, planted)
            elif number % 3 == 2:
                os.mkdir(planted)
                planted = os.path.join(planted, b"below.json")
            write(planted)
            write(beside)
            time.sleep(dice.uniform(0, 0.2))
            write(planted)
            after, after_ns = write(beside), time.time_ns()
            if not program.wait_for_names(expected):
                break
            figures.took(program.seconds_until(after, after_ns))
            figures.trials += 1
        figures.expect(holds=program.stop() == 0, what="the exit status")
        figures.compare(expected, program.names)
        figures.expect(holds=len(program.notices) <= 1, what=program.notices[:5])
    return figures


ROWS: Final = (
    Row("6", "directory missing, removed, re-made", "cycles", 50, 10, _come_and_go, _NOTICED_S),
    Row("7", "session_latest re-pointed, under load", "re-points", 20, 3, _repoint, _NOTICED_S),
    Row("8a", "event overflow", "files", 20_000, 5_000, _overflow, 3.0),
    Row("8b", "silent file system", "spans", 20, 4, _silence, 1.2),
    Row("8c", "no inotify instances left", "times", 5, 1, _no_instances, 1.2, _no_inotify),
    Row("9", "file name with byte 0xFF", "names", 30, 3, _plant, _NOTICED_S),
)
