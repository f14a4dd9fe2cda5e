"""Ray's own events that are cut anywhere, rotated, late, alone, or beside nothing: what is told is what is written.

What stands whole in the files is read a second time by a reader of its own, and what spanview says of each call, what
it waited for and what became of it, is held against that.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from claims import differences, tasks_by_name
from spanview.index.store import Store
from spanview.sources.details import RecordReader
from spanview.sources.loading import load_store
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
_RECORDINGS: Final = ("ray-events-hook", "ray-events-bundled")
_LAST_LINES: Final = 3
"""Of the driver's file, which are cut at every byte."""
_MOST_STEPS: Final = 12
"""Pieces in which a file is written."""


def _cut(trials: int, folder: Path) -> Figures:
    """Cut all files after a share of their bytes, and the driver's in its last lines at every byte."""
    figures, dice = Figures(), random.Random(35)
    for recording in _RECORDINGS:
        place = folder / recording
        shutil.copytree(_FIXTURES / recording, place)
        whole = _events_of(place)
        driver = max(whole, key=lambda path: len(whole[path]))
        tail = len(b"".join(whole[driver].splitlines(keepends=True)[-_LAST_LINES:]))
        for trial in range(trials // len(_RECORDINGS)):
            share = dice.random()
            for path, data in whole.items():
                path.write_bytes(data[: int(len(data) * share)])
            if trial % 2:
                # What is torn is always the end of the file that says most.
                driver.write_bytes(whole[driver][: len(whole[driver]) - 1 - trial // 2 % tail])
            _compare(load_store(place), place, figures, f"{recording}, trial {trial}")
            figures.trials += 1
    return figures


def _followed(trials: int, folder: Path) -> Figures:
    """Let events come late, in pieces, and be rotated, while their folder is followed."""
    figures = Figures()
    for trial in range(trials):
        recording, dice = _RECORDINGS[trial % len(_RECORDINGS)], random.Random(trial)
        place = folder / f"{trial}"
        shutil.copytree(_FIXTURES / recording, place)
        whole = _events_of(place)
        left = dict(whole)
        for path in whole:
            path.unlink()
        details = RecordReader()
        store = Store(details)
        session = Session(ReadOptions((str(place),), follow=True), store, details)
        for _ in session.load():
            pass
        while any(left.values()):
            _write_on(left, whole, dice)
            changes = session.look()
            while changes.has_more or changes.bytes:
                changes = session.look()
            _compare(store, place, figures, f"trial {trial}")
        session.close()
        _compare(store, place, figures, f"trial {trial}, all of it")
        figures.trials += 1
        shutil.rmtree(place)
    return figures


def _write_on(left: dict[Path, bytes], whole: Mapping[Path, bytes], dice: random.Random) -> None:
    """Write a piece of each file, and begin some anew under their name, as rotation does."""
    for path, data in left.items():
        size = dice.randrange(1 + len(whole[path]) // _MOST_STEPS, 2 + len(whole[path]) // 2)
        piece, left[path] = data[:size], data[size:]
        if path.exists() and path.read_bytes().endswith(b"\n") and dice.random() < 0.2:
            path.rename(path.with_name(f"{path.name}.{dice.randrange(10**6)}"))
        with path.open("ab") as file:
            file.write(piece)


def _alone(trials: int, folder: Path) -> Figures:
    """Read events without spans, and spans without events, neither of which is a complaint."""
    figures = Figures()
    for trial in range(trials):
        recording = _RECORDINGS[trial % len(_RECORDINGS)]
        place = folder / f"{trial}"
        shutil.copytree(_FIXTURES / recording / "logs", place / "logs")
        store = load_store(place)
        figures.expect(holds=not len(store.spans) and store.ray is not None, what=f"{recording}: events alone")
        figures.expect(holds=not store.problems(), what=store.problems()[:1])
        spans = load_store(_FIXTURES / recording / "spans")
        figures.expect(holds=spans.ray is None and len(spans.spans) > 0, what=f"{recording}: spans alone")
        figures.trials += 1
    return figures


def _events_of(place: Path) -> dict[Path, bytes]:
    events = place / "logs" / "export_events"
    return {path: path.read_bytes() for path in sorted(events.glob("event_EXPORT_TASK_*.log"))}


def _compare(store: Store, place: Path, figures: Figures, where: str) -> None:
    wrong = differences(store, tasks_by_name(store, place / "logs" / "export_events"))
    figures.expect(holds=not wrong, what=f"{where}: {wrong[:2]}")


ROWS: Final = (
    Row("35a", "Ray's own events, cut anywhere", "cuts", 4_000, 40, _cut),
    Row("35b", "the same, late, in pieces and rotated while followed", "programs", 100, 2, _followed),
    Row("35c", "the same, without spans, and spans without them", "folders", 2, 2, _alone),
)
