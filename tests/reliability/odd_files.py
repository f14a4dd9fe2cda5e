"""Files with holes, files that can't be read, and more files than may be open.

what a file is                               what is shown
--------------                               -------------
mostly holes, a tebibyte of them             the records before, between and behind, at once
torn at a hole                               the others
growing by holes, its last hole filled       each record as it comes
one whose Nth read fails, once               everything
one whose reads fail from the Nth on         one notice; everything that the other files have
one without permission, or of /proc          the same, and everything once it may be read
one of ten thousand, 256 may be open         everything
"""

from __future__ import annotations

import os
import random
import shutil
import time
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Self

from programs import SPANVIEW, spanview
from spanview.model.problems import ProblemKind
from spanview.sources.loading import load_store

from .figures import Figures, Row
from .followed import Program, Records, append, session_on
from .shown import spans_of

if TYPE_CHECKING:
    from pathlib import Path

    from spanview.sources.session import Session


# -- holes -------------------------------------------------------------------------------------------------------------

_TEBIBYTE: Final = 1 << 40
_PAGE: Final = 4_096
_LONG: Final = 75
"""Pages of a record that is read in more than one piece."""
_GAPS: Final = (1, 100, _PAGE - 1, _PAGE, _PAGE + 1, 200_000, 1 << 20, 1 << 33)
"""Bytes between two records that nobody wrote; short ones are no holes on the disk, but NULs."""


class _Sparse:
    """A file of a tebibyte and more that is written here and there."""

    def __init__(self, path: Path, records: Records, dice: random.Random) -> None:
        self._file = path.open("w+b", buffering=0)
        self._records = records
        self._dice = dice
        self._at = 0

    def write(self) -> str:
        """Write a record where the last one ended, and return its name."""
        name, line = self._records.make(padding=self._dice.choice([0, 10, 100, 5_000, 50_000]))
        self._put(line, self._at)
        self._at += len(line)
        return name

    def tear(self) -> None:
        """Write a record of which the end is missing, or the middle, without which it would be whole too."""
        _, line = self._records.make(padding=_LONG * _PAGE)
        self._put(line[:_PAGE], self._at)
        if self._dice.random() < 0.7:
            # Where a page begins, so that nothing but the hole stands between.
            behind = -self._at % _PAGE + (_LONG - 1) * _PAGE
            self._put(line[behind:], self._at + behind)
        self._at += len(line)

    def _put(self, data: bytes, at: int) -> None:
        os.pwrite(self._file.fileno(), data, at)

    def pass_over(self, size: int) -> None:
        """Go on so much further behind."""
        self._at += size

    def write_before(self, end: int) -> str:
        """Write a record that ends there, without an end of line; return its name."""
        name, line = self._records.make()
        self._at = end
        self._put(line[:-1], end - len(line) + 1)
        return name

    def grow(self, size: int) -> None:
        """Make the file longer by a hole."""
        self._file.truncate(self._at + size)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


def _read_sparse(trials: int, folder: Path) -> Figures:
    figures, dice, records, path = Figures(), random.Random(trials), Records(), folder / "1.json"
    for _ in range(trials):
        sparse = _Sparse(path, records, dice)
        expected = [sparse.write()]
        for gap in dice.choices(_GAPS, k=6):
            sparse.pass_over(gap)
            expected += [sparse.write() for _ in range(dice.randint(1, 3))]
            if dice.random() < 0.3:
                sparse.tear()
        expected.append(sparse.write_before(_TEBIBYTE))
        sparse.close()
        began = time.thread_time()
        store = load_store(path)
        figures.took(time.thread_time() - began)
        figures.compare(expected, [span.name for span in spans_of(store)])
        figures.expect(holds=path.stat().st_size == _TEBIBYTE, what="no tebibyte")
        figures.trials += 1
        path.unlink()
    return figures


def _follow_sparse(trials: int, folder: Path) -> Figures:
    figures, dice, records, path = Figures(), random.Random(trials), Records(), folder / "1.json"
    sparse = _Sparse(path, records, dice)
    expected = [sparse.write()]
    with session_on(folder) as (session, store):
        sparse.pass_over(_TEBIBYTE)
        for _ in range(trials):
            gap = dice.choice(_GAPS)
            if dice.random() < 0.5:
                # It is longer before it is written there, and what is written begins anywhere in the new hole.
                sparse.grow(gap)
                figures.took(_look(session))
                sparse.pass_over(dice.choice([0, gap // 2, gap]))
            else:
                sparse.pass_over(gap)
            if dice.random() < 0.2:
                sparse.tear()
                figures.took(_look(session))
                sparse.pass_over(max(gap, _PAGE))
            expected += [sparse.write() for _ in range(dice.randint(1, 3))]
            figures.took(_look(session))
            figures.trials += 1
        session.close()
        figures.compare(expected, [span.name for span in spans_of(store)])
        figures.expect(holds=path.stat().st_size > _TEBIBYTE, what="no tebibyte")
    sparse.close()
    return figures


def _look(session: Session) -> float:
    # The processor's time, which reading holes takes too: others may keep this process from running.
    began = time.thread_time()
    session.look()
    return time.thread_time() - began


# -- reads that fail ---------------------------------------------------------------------------------------------------


class _Failing:
    """Lets reads of a file fail, in a context.

    Args:
        path: The file.
        first: The first read that fails, counted from 1.
        count: How many fail.
    """

    def __init__(self, path: Path, first: int, count: float) -> None:
        self._inode = path.stat().st_ino
        self._first, self._end = first, first + count
        self._read = os.pread
        self.reads = 0

    def _pread(self, descriptor: int, *arguments: Any) -> bytes:
        if os.fstat(descriptor).st_ino == self._inode:
            self.reads += 1
            if self._first <= self.reads < self._end:
                raise OSError(5, "Input/output error")
        return self._read(descriptor, *arguments)

    def __enter__(self) -> Self:
        os.pread = self._pread
        return self

    def __exit__(self, *_: object) -> None:
        os.pread = self._read


_FAILURES: Final = (1, 2, float("inf"))
_LOOKS: Final = 15
"""So many that more than 50 reads are made."""


def _fail(trials: int, folder: Path) -> Figures:
    figures, dice = Figures(), random.Random(trials)
    cases = list(product(range(1, 51), _FAILURES, (True, False)))
    for nth, count, follow in cases if trials >= len(cases) else dice.sample(cases, trials):
        where = f"read {nth}, {count} times, {follow=}"
        pair = _Pair(folder, dice)
        if not follow:
            for _ in range(_LOOKS):
                pair.grow(pair.bad)
        pair.grow(pair.bad, pair.good)
        with _Failing(pair.bad, nth, count) as failing, session_on(folder, follow=follow) as (session, store):
            for number in range(_LOOKS if follow else 0):
                pair.grow(pair.bad, pair.good)
                # Long ago, so that nothing but the error is a reason to look again.
                os.utime(pair.bad, (number, number + 0.5))
                session.look()
            for _ in range(3 if follow else 0):
                session.look()
            session.close()
            found = [store.names.texts[name] for name in store.spans.name]
            kinds = [problem.kind for problem in store.problems()]
        figures.expect(holds=failing.reads >= nth or not follow, what=f"{where}: {failing.reads} reads only")
        may_be = {ProblemKind.UNREADABLE}
        if failing.reads >= nth and count == float("inf"):
            # What could be read may end in the middle of a record, of the first one too.
            may_be |= {ProblemKind.TORN, ProblemKind.NO_SPANS}
            figures.expect(holds=ProblemKind.UNREADABLE in kinds, what=f"{where}: {kinds}")
            pair.names[pair.bad] = [name for name in pair.names[pair.bad] if name in found]
        figures.compare([*pair.names[pair.good], *pair.names[pair.bad]], found, where)
        figures.expect(holds=set(kinds) <= may_be and len(set(kinds)) == len(kinds), what=f"{where}: {kinds}")
        figures.trials += 1
        pair.remove()
    return figures


class _Pair:
    """A file that can't be read and one beside it, and the names of their spans."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.bad, self.good = folder / "bad.json", folder / "good.json"
        self.names: dict[Path, list[str]] = {self.bad: [], self.good: []}
        self._records = Records()
        self._dice = dice

    def grow(self, *paths: Path) -> None:
        """Append a record to files; some are long, and take many reads."""
        for path in paths:
            name, line = self._records.make(padding=self._dice.choice([0, 500, 250_000]))
            self.names[path].append(name)
            append(path, line)

    def remove(self) -> None:
        """Remove both."""
        self.bad.unlink()
        self.good.unlink()


_UNREADABLE: Final = "can't be read: "


def _refuse(trials: int, folder: Path) -> Figures:
    """Take away the right to read files and folders, and give it back, beside a file of /proc that can't be read."""
    figures, dice, records = Figures(), random.Random(trials), Records()
    good, below = folder / "good.json", folder / "below"
    below.mkdir()
    expected: list[str] = []

    def write(path: Path) -> str:
        name, line = records.make()
        expected.append(name)
        append(path, line)
        return name

    with Program(folder, "/proc/self/mem", program=(*_without_rights(), *SPANVIEW)) as program:
        program.wait_for_names([write(good), write(below / "0.json")])
        for number in range(trials):
            bad = folder / f"{number}.json"
            bad.touch(0)
            way = dice.choice([below, bad, good])
            mode = way.stat().st_mode
            write(bad)
            way.chmod(0)
            held = write(below / "0.json")
            if number < 10:
                program.wait_for_notice(f"{bad}: {_UNREADABLE}Permission denied")
            if not program.wait_for_names([write(good)] if way is below else [write(good), held]):
                break
            way.chmod(mode)
            bad.chmod(0o644)
            given_ns = time.time_ns()
            if not program.wait_for_names(expected):
                break
            figures.took(program.seconds_until(program.names[-1], given_ns))
            figures.trials += 1
        figures.expect(holds=program.stop() == 0, what="the exit status")
        figures.compare(expected, program.names)
        figures.expect(holds=not program.odd, what=program.odd[:1])
        told = [notice for notice in program.notices if _UNREADABLE in notice]
        figures.expect(holds=len(set(told)) == len(told), what=f"told twice: {told}")
        own = [notice for notice in told if "/proc/self/mem" in notice]
        figures.expect(holds=len(own) == 1, what=f"/proc/self/mem: {program.notices}")
    outcome = spanview("spans", "/proc/self/mem", folder)
    figures.expect(holds=outcome.status == 0 and len(outcome.lines) == 1, what=outcome.notices)
    return figures


def _without_rights() -> tuple[str, ...]:
    """Return the words before a program that take away its right to read everything, where it has it."""
    return () if os.geteuid() else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def _no_rights() -> str:
    if not os.path.exists("/proc/self/mem"):
        return "there is no /proc/self/mem here"
    if not os.geteuid() and shutil.which("setpriv") is None:
        return "setpriv isn't there to take rights away"
    return ""


# -- many files --------------------------------------------------------------------------------------------------------

_DESCRIPTORS: Final = 256
_SPARE: Final = 24
_IN_A_FOLDER: Final = 250


def _many(trials: int, folder: Path) -> Figures:
    figures, dice, records = Figures(), random.Random(trials), Records()
    expected: list[str] = []
    paths = [folder / str(number // _IN_A_FOLDER) / f"{number}.json" for number in range(trials)]

    def write(path: Path, mode: str, count: int = 1) -> None:
        with path.open(mode) as file:
            for _ in range(count):
                name, line = records.make()
                expected.append(name)
                file.write(line)

    for path in paths:
        path.parent.mkdir(exist_ok=True)
        write(path, "ab")
    limited = ("sh", "-c", f'ulimit -n {_DESCRIPTORS} && exec "$@"', "sh", *SPANVIEW)
    with Program(folder, program=limited) as program:
        is_shown, most = program.wait_for_names(expected, 60), 0
        for way in (_append, _cut, _append, _remove):
            dice.shuffle(paths)
            for path in paths:
                way(path)
                write(path, "ab", dice.randint(1, 2))
                if dice.random() < 100 / trials:
                    most = max(most, len(os.listdir(f"/proc/{program.pid}/fd")))
            is_shown = is_shown and program.wait_for_names(expected, 60)
            most = max(most, len(os.listdir(f"/proc/{program.pid}/fd")))
        figures.trials = trials if is_shown else 0
        figures.expect(holds=program.stop() == 0, what="the exit status")
        figures.compare(expected, program.names)
        # That not all are held open, which is as many as there can be with some left for everything else.
        is_told = len(program.notices) == 1 and f"{trials:,} files are followed" in program.notices[0]
        figures.expect(holds=is_told, what=program.notices[:3])
        figures.expect(holds=most < _DESCRIPTORS - _SPARE, what=f"{most} descriptors")
    return figures


def _append(_path: Path) -> None:
    """Leave what is there."""


def _cut(path: Path) -> None:
    os.truncate(path, 0)


def _remove(path: Path) -> None:
    path.unlink()


def _no_proc() -> str:
    return "" if os.path.exists("/proc/self/fd") else "there is no /proc here"


ROWS: Final = (
    Row("10a", "sparse file of 1 TiB", "files", 100, 10, _read_sparse, 0.1),
    Row("10b", "the same, growing while it is followed", "growths", 500, 50, _follow_sparse, 0.1),
    Row("16a", "I/O error at the Nth read", "faults", 300, 30, _fail),
    Row("16b", "no permission, and given back", "times", 30, 4, _refuse, 1.5, _no_rights),
    Row("28", "many files, ulimit -n 256", "files", 10_000, 400, _many, unavailable=_no_proc),
)
