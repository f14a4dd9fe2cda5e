"""Files that are cut and written anew, renamed, replaced and removed while they are followed.

what happens to a file                                     what is shown
----------------------                                     -------------
opened with mode "w", written to later                     what it had, then what it has
emptied under a writer that appends                        the same
cut to a part, in a record or between two, appended to     the same, and the part once
removed, renamed or replaced, and still written to         its last records, then those of the path's next file
cut, written anew and removed                              the same
removed, and its inode given to the path's next file       what it had, then what the next one has
"""

from __future__ import annotations

import os
import random
import resource
from contextlib import contextmanager
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.index.store import Store
from spanview.model.problems import ProblemKind
from spanview.sources.details import RecordReader
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

from .figures import Figures, Row
from .followed import InProcess, Program, Records, play
from .shown import spans_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_Follower: TypeAlias = InProcess | Program
_Event: TypeAlias = "tuple[float, Callable[[], object]]"

_AT_ONCE: Final = 10
"""Files to which things happen at the same time."""
_LONGEST_S: Final = 0.3
"""Seconds at most between a cut and what is written then, or a removal and the last record."""
_WIDEST: Final = 3_000


class _Rewritten:
    """A file whose content is replaced again and again.

    Args:
        path: The file; it has three records already.
        of_one_width: Whether all records are equally wide, and mostly as many as before.
    """

    def __init__(self, path: Path, records: Records, dice: random.Random, *, of_one_width: bool) -> None:
        self.path = path
        self._records = records
        self._dice = dice
        self._of_one_width = of_one_width
        self.first = self._next()
        path.write_bytes(b"".join(self._lines))
        self._writer = path.open("ab", buffering=0)

    def _next(self) -> list[str]:
        """Make the next content, and return the names of its spans."""
        one_width, dice = self._of_one_width, self._dice
        count = 3 if one_width and dice.random() < 0.5 else dice.randint(1, 6)
        made = [self._records.make(padding=0 if one_width else dice.randint(1, _WIDEST)) for _ in range(count)]
        self._lines = [line for _, line in made]
        return [name for name, _ in made]

    def _open_anew(self) -> None:
        self._writer.close()
        # As Ray's bundled hook does in a process that got the number of an earlier one.
        self._writer = self.path.open("wb", buffering=0)

    def _empty(self) -> None:
        self._writer.close()
        self._writer = self.path.open("ab", buffering=0)
        os.truncate(self.path, 0)

    def _cut_short(self, size: int) -> None:
        self._writer.close()
        self._writer = self.path.open("ab", buffering=0)
        os.truncate(self.path, size)

    def _write(self, lines: list[bytes]) -> None:
        for line in lines:
            self._writer.write(line)

    def plan(self) -> tuple[list[str], list[_Event]]:
        """Return the names of the spans that come next, and what happens."""
        dice, size = self._dice, self.path.stat().st_size
        places = [dice.randrange(size), self.path.read_bytes().rfind(b"\n", 0, size - 1) + 1]
        cut_short = partial(self._cut_short, dice.choice(places))
        cuts: list[Callable[[], object]] = [self._open_anew, self._open_anew, self._empty, cut_short]
        names = self._next()
        at = dice.uniform(0, 0.05)
        grown = at + dice.choice([0, dice.uniform(0, 0.02), dice.uniform(0, _LONGEST_S)])
        return names, [(at, dice.choice(cuts)), (grown, partial(self._write, self._lines))]

    def close(self) -> None:
        """Give the file back."""
        self._writer.close()


def _rewrite(trials: int, folder: Path, follow: Callable[[Path], _Follower]) -> Figures:
    dice, records = random.Random(trials), Records()
    files = [
        _Rewritten(folder / f"{number}.txt", records, dice, of_one_width=bool(number % 2)) for number in range(_AT_ONCE)
    ]
    first = [name for file in files for name in file.first]
    return _play(trials, files, follow(folder), first)


def _play(trials: int, files: Sequence[_Rewritten] | Sequence[_Held], followed: _Follower, first: list[str]) -> Figures:
    """Let files do what they plan, again and again, and see what is shown of it.

    Args:
        trials: Plans in all.
        files: Each plans something whenever it is asked.
        followed: What follows them.
        first: The names of the spans that stand in them at the beginning.
    """
    figures, expected = Figures(), list(first)
    with followed as follower:
        is_shown = follower.wait_for_names(expected)
        while is_shown and figures.trials < trials:
            plans = [file.plan() for file in files[: trials - figures.trials]]
            play(event for _, events in plans for event in events)
            names = [name for new, _ in plans for name in new]
            expected += names
            is_shown = follower.wait_for_names(names)
            figures.trials += len(plans)
        follower.stop()
        _compare(figures, expected, follower, may_lack=first)
    for file in files:
        file.close()
    return figures


def _compare(figures: Figures, expected: list[str], follower: _Follower, may_lack: list[str]) -> None:
    """Compare what was shown in the end, and its attributes but for those spans that nobody read live."""
    if isinstance(follower, InProcess):
        figures.compare(expected, [span.name for span in spans_of(follower.store)])
        odd = [name for name in follower.odd if name not in may_lack]
        kinds = {problem.kind for problem in follower.store.problems()}
        figures.expect(holds=kinds <= {ProblemKind.TRUNCATED, ProblemKind.TORN}, what=f"problems: {kinds}")
    else:
        figures.compare(expected, follower.names)
        odd = follower.odd
        figures.expect(holds=follower.notices == [], what=follower.notices[:3])
    figures.expect(holds=not odd, what=f"attributes are gone: {odd[:3]}")


class _Held:
    """A file that is held open by its writer and by whoever follows it, while it loses its name.

    Args:
        path: The file; it has a record already.
        aside: Where it is renamed to that nobody looks at.
    """

    def __init__(self, path: Path, aside: Path, records: Records, dice: random.Random) -> None:
        self.path = path
        self._aside = aside
        self._records = records
        self._dice = dice
        ways = [self._remove, self._remove_long, self._move_out, self._rotate, self._replace, self._rewrite_and_remove]
        self._ways = cycle(dice.sample(ways, len(ways)))
        self.first, line = records.make()
        self._writer = path.open("ab", buffering=0)
        self._writer.write(line)
        self._old = self._writer

    def _remove(self, last: bytes) -> None:
        self._old.write(last)
        self.path.unlink()

    def _remove_long(self, last: bytes) -> None:
        self._remove(last)

    def _move_out(self, last: bytes) -> None:
        self.path.rename(self._aside)
        self._old.write(last)

    def _rotate(self, last: bytes) -> None:
        self._old.write(last)
        # What was there before is removed by it.
        self.path.rename(self.path.with_suffix(".1"))

    def _replace(self, last: bytes) -> None:
        self._old.write(last)
        self._aside.write_bytes(b"")
        self._aside.replace(self.path)

    def _rewrite_and_remove(self, last: bytes) -> None:
        self._old.close()
        self._old = self.path.open("wb", buffering=0)
        self._old.write(last)
        self.path.unlink()

    def _make_again(self, line: bytes) -> None:
        self._writer = self.path.open("ab", buffering=0)
        self._writer.write(line)

    def _write_still(self, line: bytes) -> None:
        self._old.write(line)
        self._old.close()

    def plan(self) -> tuple[list[str], list[_Event]]:
        """Return the names of the spans that come next, and what happens."""
        dice, way = self._dice, next(self._ways)
        count = 500 if way == self._remove_long else dice.randint(1, 3)
        last = [self._records.make(padding=dice.randint(1, _WIDEST)) for _ in range(count)]
        still, new = self._records.make(), self._records.make()
        self._old = self._writer
        at = dice.uniform(0, 0.05)
        events: list[_Event] = [
            (at, partial(way, b"".join(line for _, line in last))),
            (at + dice.choice([0, dice.uniform(0, _LONGEST_S)]), partial(self._write_still, still[1])),
            (at + dice.choice([0, dice.uniform(0, _LONGEST_S)]), partial(self._make_again, new[1])),
        ]
        return [name for name, _ in (*last, still, new)], events

    def close(self) -> None:
        """Give the files back."""
        self._old.close()
        self._writer.close()


def _lose_names(trials: int, folder: Path, follow: Callable[[Path], _Follower]) -> Figures:
    dice, records = random.Random(trials), Records()
    spans, aside = folder / "spans", folder / "aside"
    spans.mkdir()
    aside.mkdir()
    files = [_Held(spans / f"{each}.json", aside / f"{each}", records, dice) for each in range(2 * _AT_ONCE)]
    first = [file.first for file in files]
    return _play(trials, files, follow(spans), first)


_DESCRIPTORS: Final = 64
_INODES: Final = 60
"""More than are held open with so few descriptors."""


def _reuse_inodes(trials: int, folder: Path) -> Figures:
    """Give the inodes of files that aren't held open to others, at the same paths and elsewhere."""
    figures, dice, records = Figures(), random.Random(trials), Records()
    expected, reused = [], 0
    details = RecordReader()
    store = Store(details)
    with _few_descriptors():
        session = Session(ReadOptions((str(folder),), follow=True), store, details)
    for _ in session.load():
        pass
    paths = [folder / f"{number:02}.json" for number in range(_INODES)]
    while figures.trials < trials or reused < trials:
        for path in paths:
            name, line = records.make(padding=dice.choice([0, dice.randint(1, _WIDEST)]))
            expected.append(name)
            path.write_bytes(line)
        session.look()
        inodes = {path.stat().st_ino for path in paths}
        for path in paths:
            path.unlink()
        dice.shuffle(paths)
        for path in paths:
            name, line = records.make(padding=dice.choice([0, dice.randint(1, _WIDEST)]))
            expected.append(name)
            path.write_bytes(line)
            reused += path.stat().st_ino in inodes
        session.look()
        figures.trials += len(paths)
        for path in paths:
            path.unlink()
        session.look()
    session.close()
    figures.compare(expected, [span.name for span in spans_of(store)])
    details.close()
    return figures


@contextmanager
def _few_descriptors() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_DESCRIPTORS, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


_REWRITE: Final = "file truncated and re-grown"
_LOSE: Final = "file renamed, re-created, deleted while read"

ROWS: Final = (
    Row("4a", _REWRITE, "trials", 500, 25, partial(_rewrite, follow=InProcess)),
    Row("4b", f"{_REWRITE}; the program", "trials", 500, 25, partial(_rewrite, follow=Program)),
    Row("5a", _LOSE, "cycles", 1_000, 40, partial(_lose_names, follow=InProcess)),
    Row("5b", f"{_LOSE}; the program", "cycles", 1_000, 40, partial(_lose_names, follow=Program)),
    Row("5c", "inode re-used", "cycles", 1_000, 40, _reuse_inodes),
)
