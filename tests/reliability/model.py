"""Random things that happen to files, and what of their content must be shown, by the simplest reckoning.

when a search looks, a record that stands whole in                is
--------------------------------------------------                --
a file below the folder                                           shown, once
a file that was there at an earlier search, wherever it is now    shown, once
what nobody can reach, or was cut away before                     shown at most once
nothing, at any time                                              never shown
"""

from __future__ import annotations

import os
import random
import shutil
from typing import TYPE_CHECKING, Final

from spanview.index.store import Store
from spanview.sources.details import RecordReader
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

from .figures import Figures, Row
from .followed import Records
from .shown import spans_of

if TYPE_CHECKING:
    from pathlib import Path

_STEPS: Final = 25
"""Things that happen in a run."""
_WIDTHS: Final = (0, 0, 0, 40, 900, 3_000)


class _File:
    """A file, which keeps its writers and its reader wherever its name goes."""

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path
        self.writer = path.open("ab", buffering=0)
        self.content = b""
        self.rest = b""
        """What is left to be written of a record."""
        self.was_found = False
        """Whether a search has found it, so that it is held open."""

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self.writer.write(data)
        self.content += data

    def cut(self, size: int) -> None:
        """Cut it to so many bytes."""
        os.truncate(self.writer.fileno(), size)
        self.content = self.content[:size]


class _World:
    """A folder, the files that are in it or were, and what is known of their content.

    Args:
        top: The folder.
        aside: A folder that nobody looks at.
    """

    def __init__(self, top: Path, aside: Path, dice: random.Random) -> None:
        self.top, self._aside, self._dice = top, aside, dice
        self.done: list[str] = []
        self.files: list[_File] = []
        self.must: set[str] = set()
        self.may: set[str] = set()
        self._records = Records()
        self._made: dict[str, bytes] = {}
        top.mkdir()
        aside.mkdir()
        self._paths = [top / "1.json", top / "2.json", top / "below" / "1.json"]
        self._ways = [
            *[self._append] * 6,
            *[self._begin_record] * 3,
            *[self._end_record] * 3,
            self._die,
            self._rotate,
            self._move_out,
            self._move_in,
            self._swap,
            self._replace,
            self._empty,
            self._cut,
            self._write_anew,
            self._write_anew,
            self._copy_and_empty,
            self._remove,
            self._remove_folder,
        ]

    def happen(self) -> None:
        """Let something happen."""
        way = self._dice.choice(self._ways)
        self.done.append(way.__name__.strip("_"))
        way()
        self.may |= self._whole(self.files)

    def search(self) -> None:
        """Take note of what a search must find now."""
        for file in self.files:
            file.was_found = file.was_found or (file.path is not None and self.top in file.path.parents)
        self.must |= self._whole([file for file in self.files if file.was_found])

    def close(self) -> None:
        """Give all files back."""
        for file in self.files:
            file.writer.close()

    def _whole(self, files: list[_File]) -> set[str]:
        return {name for name, text in self._made.items() for file in files if text in file.content}

    # -- what may happen ----------------------------------------------------------------------------------------------

    def _some(self) -> _File:
        """Return a file that is written to, a new one where its path has none; some are nowhere any more."""
        dice, path = self._dice, self._dice.choice(self._paths)
        nowhere = [file for file in self.files if file.path is None or self.top not in file.path.parents]
        if nowhere and dice.random() < 0.3:
            return dice.choice(nowhere)
        return self._at(path) or self._make(path)

    def _at(self, path: Path) -> _File | None:
        return next((file for file in self.files if file.path == path), None)

    def _make(self, path: Path) -> _File:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _File(path)
        self.files.append(file)
        return file

    def _record(self) -> bytes:
        name, line = self._records.make(padding=self._dice.choice(_WIDTHS))
        self._made[name] = line.rstrip()
        return line

    def _append(self) -> None:
        file = self._some()
        self._finish(file)
        for _ in range(self._dice.randint(1, 3)):
            file.write(self._record())

    def _begin_record(self) -> None:
        file = self._some()
        self._finish(file)
        line = self._record()
        at = self._dice.randrange(1, len(line))
        file.write(line[:at])
        file.rest = line[at:]

    def _finish(self, file: _File) -> None:
        file.write(file.rest)
        file.rest = b""

    def _end_record(self) -> None:
        begun = [file for file in self.files if file.rest]
        if begun:
            self._finish(self._dice.choice(begun))

    def _die(self) -> None:
        """Let all who are in the middle of a record be killed there; others append to their files."""
        for file in self.files:
            file.rest = b""

    def _rotate(self) -> None:
        file = self._some()
        if file.path is not None:
            self._move(file, file.path.with_suffix(".1"))

    def _move(self, file: _File, path: Path) -> None:
        there = self._at(path)
        if there is not None and there is not file:
            there.path = None
        if file.path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            file.path.rename(path)
            file.path = path

    def _move_out(self) -> None:
        self._move(self._some(), self._aside / str(len(self.done)))

    def _move_in(self) -> None:
        outside = [file for file in self.files if file.path is not None and file.path.parent == self._aside]
        if outside:
            self._move(self._dice.choice(outside), self._dice.choice(self._paths))

    def _swap(self) -> None:
        here = [file for file in self.files if file.path is not None]
        if len(here) > 1:
            one, other = self._dice.sample(here, 2)
            path, second = one.path, other.path
            self._move(one, self._aside / "between")
            if path is not None and second is not None:
                self._move(other, path)
                self._move(one, second)

    def _replace(self) -> None:
        old = self._some()
        if old.path is not None:
            new = self._make(self._aside / "new")
            new.write(self._record())
            self._move(new, old.path)

    def _empty(self) -> None:
        self._some().cut(0)

    def _cut(self) -> None:
        file = self._some()
        if file.content:
            ends = [at + 1 for at, byte in enumerate(file.content) if byte == ord("\n")]
            file.cut(self._dice.choice([self._dice.randrange(len(file.content)), *ends[-2:]]))
            file.rest = b""

    def _write_anew(self) -> None:
        """Cut it and write it anew, perhaps to the same size."""
        file = self._some()
        lines = file.content.count(b"\n") if self._dice.random() < 0.5 else self._dice.randint(1, 4)
        file.cut(0)
        file.rest = b""
        for _ in range(lines):
            file.write(self._record())

    def _copy_and_empty(self) -> None:
        file = self._some()
        if file.path is not None:
            path = file.path.with_suffix(".2")
            copy = self._at(path) or self._make(path)
            copy.cut(0)
            copy.rest = b""
            copy.write(file.content)
            file.cut(0)

    def _remove(self) -> None:
        file = self._some()
        if file.path is not None:
            file.path.unlink()
            file.path = None

    def _remove_folder(self) -> None:
        folder = self._dice.choice([self.top, self.top / "below"])
        shutil.rmtree(folder, ignore_errors=True)
        for file in self.files:
            if file.path is not None and folder in file.path.parents:
                file.path = None
        if self._dice.random() < 0.7:
            folder.mkdir(parents=True, exist_ok=True)


def _run(number: int, folder: Path, figures: Figures) -> None:
    dice = random.Random(number)
    world = _World(folder / "spans", folder / "aside", dice)
    for _ in range(dice.choice([0, 0, 3])):
        world.happen()
    details = RecordReader()
    store = Store(details)
    session = Session(ReadOptions((str(world.top),), follow=True), store, details)
    for _ in session.load():
        pass
    world.search()
    not_live = set(store.names.texts)
    for _ in range(_STEPS):
        before = {path for path in world.top.rglob("*") if path.is_file()}
        world.happen()
        match dice.choice(["search", "search", "hint", "hint", "nothing"]):
            case "search":
                session.look()
                world.search()
                world.done.append("SEARCH")
            case "hint":
                # Some of what changed is told, some isn't, some was told too often.
                paths = before | {path for path in world.top.rglob("*") if path.is_file()}
                session.look([str(path) for path in paths if dice.random() < 0.5])
                world.done.append("HINT")
            case _:
                pass
    session.look()
    world.search()
    session.close()
    shown = list(spans_of(store))
    names = [span.name for span in shown]
    perhaps = {name for name in names if name in world.may} - world.must
    where = f"run {number}: {' '.join(world.done)}"
    figures.compare([*world.must, *perhaps], names, where)
    odd = [span.name for span in shown if span.attributes.get("of") != span.name and span.name not in not_live]
    figures.expect(holds=not odd, what=f"{where}: attributes are gone: {odd}")
    figures.trials += 1
    details.close()
    world.close()


def _run_all(trials: int, folder: Path) -> Figures:
    figures = Figures()
    for number in range(trials):
        own = folder / str(number)
        own.mkdir()
        _run(number, own, figures)
        shutil.rmtree(own)
    return figures


ROWS: Final = (Row("30a", "random writes, rotations, cuts, removals and kills", "runs", 5_000, 50, _run_all),)
