"""Exports that are killed, run into a full disk or find their target taken: the old file is whole, or the new one is.

target before    told to           what happens              target afterwards
-------------    -------           ------------              -----------------
old              --force           a kill at the Nth byte    old, and nothing beside it
nothing                            the disk is full          nothing at all
old              --force           nothing                   new
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import threading
from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, Final

from builders import Builder, file_of
from forked import Server, no_disk_of_its_own, no_failing_calls
from spanview.exports.jsonl import jsonl_chunks
from spanview.index.store import Store
from spanview.model.problems import Warnings
from spanview.sources.details import RecordReader
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

from .figures import Figures, Row
from .shown import spans_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from forked import Ended

_FORMATS: Final = ("trace-tree", "jsonl", "otlp", "jaeger", "zipkin", "chrome", "html")
_OLD: Final = b"what stood there before\n" * 500
_TARGET: Final = "out.json"
_HIDDEN: Final = ".spanview-"


def _files_have_names(folder: Path) -> bool:
    """Tell whether every file has a name there, so that a kill must leave a hidden one."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
    except (AttributeError, OSError):
        return True
    return not os.path.exists("/proc/self/fd")


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to export."""

    format: str
    force: bool
    has_old: bool

    @property
    def words(self) -> tuple[str, ...]:
        """Command and options, but for the target."""
        return ("export", "--format", self.format, *(("--force",) if self.force else ()))


_WAYS: Final = tuple(
    _Way(form, force, has_old) for force, has_old in ((True, True), (True, False), (False, False)) for form in _FORMATS
)


class _Exports:
    """Exports of one folder of spans to one target, and what they leave.

    Args:
        server: Runs spanview.
        spans: The folder of spans.
        folder: Where the target is.
        inside: The same as the server sees it.
    """

    def __init__(self, server: Server, spans: Path, folder: Path, inside: str = "") -> None:
        self._server = server
        self._spans = spans
        self._folder = folder
        self._inside = inside or str(folder)
        self._may_leave_hidden = _files_have_names(folder)
        self.whole: dict[str, bytes] = {}
        """What each format comes to when nothing happens."""
        for form in _FORMATS:
            path = spans.parent / "whole"
            assert not server.call("export", spans, "--format", form, output=path).status
            self.whole[form] = path.read_bytes()

    def attempt(
        self,
        way: _Way,
        *,
        largest: int | None = None,
        dies: bool = False,
        kill_after_s: float = 60.0,
        fails: str = "",
    ) -> tuple[Ended, str]:
        """Export once; return how it ended, and whether the target is `old`, `new`, or in which way it is broken."""
        target = self._folder / _TARGET
        target.unlink(missing_ok=True)
        if way.has_old:
            target.write_bytes(_OLD)
        ended = self._server.call(
            *way.words,
            self._spans,
            "-o",
            f"{self._inside}/{_TARGET}",
            largest=largest,
            dies=dies,
            kill_after_s=kill_after_s,
            fails=fails,
        )
        return ended, self._left(way)

    def _left(self, way: _Way) -> str:
        found = {path.name: path.read_bytes() for path in self._folder.iterdir() if path.name != "ballast"}
        old, whole = {_TARGET: _OLD} if way.has_old else {}, self.whole[way.format]
        hidden = [name for name in found if name.startswith(_HIDDEN)]
        for name in hidden:
            (self._folder / name).unlink()
            # Between two system calls a new file that is to replace an old one has both of its names.
            if (way.force and way.has_old and found[name] == whole) or self._may_leave_hidden:
                del found[name]
        if found == {_TARGET: whole}:
            return "new"
        return "old" if found == old else f"broken: { ({name: len(data) for name, data in found.items()}) }"


def _some_spans(folder: Path, count: int = 300) -> Path:
    """Make a folder of spans whose exports take several writes."""
    spans = folder / "spans"
    spans.mkdir()
    build, chance = Builder(), random.Random(21)
    for number in range(3):
        documents = [
            build.span(
                f"span {at}",
                trace=at % 7 + 1,
                parent=None if at < 7 else at - 6,
                attributes={"noise": chance.randbytes(800).hex()},
            )
            for at in range(number * count // 3, (number + 1) * count // 3)
        ]
        (spans / f"{number}.json").write_bytes(file_of(documents))
    return spans


def _at_byte(trials: int, folder: Path, *, dies: bool) -> Figures:
    """Let exports end at bytes that are spread over their whole length and one beyond."""
    figures, target = Figures(), folder / "target"
    target.mkdir()
    with Server() as server:
        exports = _Exports(server, _some_spans(folder), target)
        for trial, way in enumerate(islice(cycle(_WAYS), trials)):
            size = len(exports.whole[way.format])
            largest = round(trial * (size + len(_WAYS)) / max(1, trials - 1))
            ended, left = exports.attempt(way, largest=largest, dies=dies)
            figures.trials += 1
            where = f"{way}, {largest:,} bytes of {size:,}: {ended}: {left}"
            if largest >= size:
                figures.expect(holds=(ended.status, left) == (0, "new"), what=where)
            elif dies:
                figures.expect(holds=(ended.status, left) == (-signal.SIGXFSZ, "old"), what=where)
            else:
                figures.expect(holds=_is_told(ended, "can't write") and left == "old", what=where)
    return figures


def _is_told(ended: Ended, text: str) -> bool:
    """Tell whether a call that couldn't be carried out said so in one line."""
    return ended.status == 2 and ended.notices.count("\n") == 1 and f"spanview: {text}" in ended.notices


def _killed_at_byte(trials: int, folder: Path) -> Figures:
    return _at_byte(trials, folder, dies=True)


def _refused_at_byte(trials: int, folder: Path) -> Figures:
    return _at_byte(trials, folder, dies=False)


def _killed_at_random(trials: int, folder: Path) -> Figures:
    """Kill exports at random moments; `--force` over an old file is where a kill can find most."""
    figures, target, chance = Figures(), folder / "target", random.Random(211)
    target.mkdir()
    outcomes = set()
    with Server() as server:
        exports = _Exports(server, _some_spans(folder), target)
        usual_s = max(exports.attempt(way)[0].seconds for way in _WAYS[: len(_FORMATS)])
        for way in islice(cycle((*_WAYS, *_WAYS[: len(_FORMATS)])), trials):
            after_s = chance.uniform(0, 1.2 * usual_s)
            ended, left = exports.attempt(way, kill_after_s=after_s)
            figures.trials += 1
            outcomes.add((ended.status, left))
            where = f"{way}, after {after_s * 1000:.1f} ms: {ended}: {left}"
            is_right = left in ("old", "new") if ended.status == -signal.SIGKILL else (ended.status, left) == (0, "new")
            figures.expect(holds=is_right, what=where)
    figures.expect(holds=(-signal.SIGKILL, "old") in outcomes, what=f"no export was killed midway: {outcomes}")
    return figures


def _full_disk(trials: int, folder: Path) -> Figures:
    """Export to a disk on which there is more and more room, into files and by redirected output."""
    figures, outcomes, size = Figures(), set(), 3 * 1024 * 1024
    with Server(size) as server:
        exports = _Exports(server, _some_spans(folder), server.disk, server.disk_inside)
        longest = max(map(len, exports.whole.values()))
        for trial, way in enumerate(islice(cycle(_WAYS), trials)):
            room = round(trial * 1.1 * longest / max(1, trials - 1))
            (server.disk / "ballast").write_bytes(bytes(size - len(_OLD) - 8192 - room))
            ended, left = exports.attempt(way)
            what = f"{way}, room for {room:,} bytes: {left}"
            is_told = _is_told(ended, "can't write") and "the disk is full" in ended.notices and left == "old"
            figures.expect(holds=is_told or (left == "new" and not ended.status), what=f"{what}: {ended}")
            outcomes.add(left)
            (server.disk / _TARGET).unlink(missing_ok=True)
            redirected = server.disk / "redirected"
            ended = server.call(*way.words, folder / "spans", output=f"{server.disk_inside}/redirected")
            written, whole = redirected.read_bytes(), exports.whole[way.format]
            is_told = _is_told(ended, "standard output can't be written: No space left on device")
            is_told = is_told and len(written) < len(whole) and whole.startswith(written)
            figures.expect(
                holds=is_told or (written == whole and not ended.status), what=f"redirected, {what}: {ended}"
            )
            redirected.unlink()
            figures.trials += 1
    figures.expect(holds=outcomes == {"old", "new"}, what=f"the disk was never full, or always: {outcomes}")
    return figures


def _failing_sync(trials: int, folder: Path) -> Figures:
    """Export where the disk takes every byte, and then can't keep them."""
    figures, target = Figures(), folder / "target"
    target.mkdir()
    with Server() as server:
        exports = _Exports(server, _some_spans(folder), target)
        for way in islice(cycle(_WAYS), trials):
            ended, left = exports.attempt(way, fails="fsync")
            figures.trials += 1
            is_right = _is_told(ended, "can't write") and left == "old"
            figures.expect(holds=is_right, what=f"{way}: {ended}: {left}")
    return figures


_PRINTING: Final[tuple[tuple[str, ...], ...]] = (
    ("spans",),
    ("export",),
    *(("export", "--format", form) for form in _FORMATS[1:]),
    ("tree",),
    ("stats",),
    ("stats", "--json"),
    ("check", "--json"),
    ("diff", "name~1", "name~2"),
    ("diff", "--json", "name~1", "name~2"),
    ("spans", "--follow"),
)


def _redirected(trials: int, folder: Path) -> Figures:
    """Let standard output be a file that may grow to some size only."""
    figures, chance, path = Figures(), random.Random(212), folder / "redirected"
    spans = _some_spans(folder)
    with Server() as server:
        for words in islice(cycle(_PRINTING), trials):
            # What follows would go on for ever; its lines are nearly as long, for self times aren't known yet.
            ended = server.call(*(word for word in words if word != "--follow"), spans, output=path)
            whole = path.read_bytes()
            figures.expect(holds=not ended.status and whole != b"", what=f"{words}: {ended}")
            most = len(whole) * 9 // 10 if "--follow" in words else len(whole)
            largest = chance.choice((0, most - 1, chance.randrange(most)))
            ended = server.call(*words, spans, output=path, largest=largest)
            written = path.read_bytes()
            is_right = _is_told(ended, "standard output can't be written") and len(written) == largest
            is_right = is_right and ("--follow" in words or whole.startswith(written))
            figures.trials += 1
            figures.expect(holds=is_right, what=f"{words}, {largest:,} of {len(whole):,}: {ended}")
    return figures


# -- the spool ---------------------------------------------------------------------------------------------------------

_LIVE_FILES, _SPANS_A_FILE = 6, 60


def _noisy(chance: random.Random, count: int, first: int) -> dict[str, str]:
    """Return names of spans and an attribute for each that can't be compressed much."""
    return {f"span {number}": chance.randbytes(1_500).hex() for number in range(first, first + count)}


def _full_spool(trials: int, folder: Path) -> Figures:
    """Follow files, and read standard input, while the disk for what can't be read again fills up."""
    figures, chance = Figures(), random.Random(213)
    with Server() as server:
        for trial in range(trials):
            where = folder / f"{trial}"
            where.mkdir()
            room = chance.choice((0, 1_000, chance.randrange(300_000)))
            written = _noisy(chance, _LIVE_FILES * _SPANS_A_FILE, 0)
            if trial % 2:
                _piped(figures, server, where, written, room)
            else:
                _followed(figures, where, written, room)
            figures.trials += 1
            shutil.rmtree(where)
    return figures


def _followed(figures: Figures, folder: Path, written: dict[str, str], room: int) -> None:
    """Follow files that are cut when they were read, so that only the spool has their details."""
    paths = [folder / f"{number}.json" for number in range(_LIVE_FILES)]
    details = RecordReader()
    store = Store(details)
    session = Session(ReadOptions((str(folder),), follow=True), store, details)
    for _ in session.load():
        pass
    build, pairs = Builder(), iter(written.items())
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for path in paths:
        for name, noise in islice(pairs, _SPANS_A_FILE):
            with path.open("ab") as file:
                file.write(file_of([build.span(name, attributes={"noise": noise})]))
            # No file but the spool's may meet the limit.
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
            try:
                session.look()
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    for path in paths:
        path.write_bytes(b"")
    session.look()
    lines = [json.loads(line) for line in b"".join(jsonl_chunks(store, store.rows_in_order())).splitlines()]
    _expect_columns(figures, lines, written, f"followed, room for {room:,} bytes")
    figures.compare([*written], [span.name for span in spans_of(store)], "the trees of what was followed")
    notices = [problem.detail for problem in store.problems() if "can't be kept" in problem.detail]
    figures.expect(holds=len(notices) == 1, what=f"followed, room for {room:,} bytes: {notices}")
    session.close()
    details.close()


def _piped(figures: Figures, server: Server, folder: Path, written: dict[str, str], room: int) -> None:
    """Read standard input, which can't be read again at all; a pipe takes the output, which no limit touches."""
    build = Builder()
    (folder / "piped").write_bytes(file_of(build.span(name, attributes={"noise": it}) for name, it in written.items()))
    os.mkfifo(folder / "output")
    with subprocess.Popen(("cat", folder / "output"), stdout=subprocess.PIPE) as reader:
        gathered: list[bytes] = []
        gathering = threading.Thread(target=lambda: gathered.append(reader.communicate()[0]))
        gathering.start()
        ended = server.call("spans", "-", given=folder / "piped", output=folder / "output", largest=room)
        gathering.join()
    where = f"piped, room for {room:,} bytes: {ended}"
    lines = [json.loads(line) for line in gathered[0].splitlines()]
    _expect_columns(figures, lines, written, where)
    is_told = ended.notices.startswith("spanview: details of spans read live can't be kept: ")
    figures.expect(holds=not ended.status and is_told and ended.notices.count("\n") == 1, what=where)


def _expect_columns(figures: Figures, lines: Sequence[dict[str, object]], written: dict[str, str], where: str) -> None:
    """Every span is there; its details are exact, or it says that they are lost, and some have to be."""
    figures.compare([*written], [line["name"] for line in lines], where)
    lost = 0
    for line in lines:
        is_lost = line["warnings"] == [Warnings.DETAIL_LOST.name.lower()]
        lost += is_lost
        expected = {} if is_lost else {"noise": written[str(line["name"])]}
        is_right = line["attributes"] == expected and (is_lost or not line["warnings"])
        figures.expect(holds=is_right, what=f"{where}: {line['name']}: {line['warnings']}")
    figures.expect(holds=lost > 0, what=f"{where}: nothing was lost")


def _rows() -> Iterator[Row]:
    posix = _not_posix
    yield Row("21a", "export killed at the Nth byte", "kills", 1_000, 10, _killed_at_byte, unavailable=posix)
    yield Row(
        "21b", "write error at the Nth byte of an export", "errors", 1_000, 10, _refused_at_byte, unavailable=posix
    )
    yield Row("21c", "disk really full", "exports", 300, 4, _full_disk, unavailable=no_disk_of_its_own)
    yield Row("21d", "export killed at a random moment", "kills", 1_000, 4, _killed_at_random, unavailable=posix)
    yield Row("21e", "fsync fails", "exports", 60, len(_WAYS), _failing_sync, unavailable=no_failing_calls)
    yield Row("21f", "disk full behind redirected output", "calls", 400, len(_PRINTING), _redirected, unavailable=posix)
    yield Row("21g", "disk of the spool full", "readings", 60, 6, _full_spool, unavailable=posix)


def _not_posix() -> str:
    return "" if os.name == "posix" else "processes have no such limits here"


ROWS: Final = tuple(_rows())
