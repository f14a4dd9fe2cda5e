"""Files that were scanned are read on as if they had been read as usual, whatever was written to them meanwhile."""

from __future__ import annotations

import os
import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from builders import Builder, file_of
from seeds import seeds
from spanview.index.store import Store
from spanview.index.summary import summary_of
from spanview.quick import pages, processes
from spanview.sources import quickly
from spanview.sources.details import RecordReader
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions, WorkerStart

from .folders import make
from .test_same import contents

if TYPE_CHECKING:
    from pathlib import Path

_NEVER = 1 << 60


def _followed(folder: Path, **how: Any) -> tuple[Session, Store]:
    details = RecordReader()
    store = Store(details)
    session = Session(ReadOptions((str(folder),), follow=True, **how), store, details)
    for _ in session.load():
        pass
    return session, store


def _change(folder: Path, whole: Path, dice: random.Random) -> None:
    """Write on to files, or do to them what happens to files; the same dice do the same."""
    for path in sorted(folder.iterdir()):
        data, known = (whole / path.name).read_bytes(), path.stat().st_size
        what = dice.random()
        if what < 0.6:
            with path.open("ab") as file:
                file.write(data[known : known + dice.randrange(len(data) - known + 1)])
        elif what < 0.7:
            # Written anew, as long as before or longer.
            with path.open("r+b") as file:
                file.write(data[::-1][: known + 7])
        elif what < 0.8:
            os.truncate(path, dice.randrange(known + 1))
        elif what < 0.9:
            path.rename(path.with_name(f"moved-{path.name}"))
            shutil.copy(whole / path.name, whole / f"moved-{path.name}")
    if dice.random() < 0.5:
        shutil.copy(whole / min(os.listdir(whole)), whole / "new.json")
        shutil.copy(whole / "new.json", folder / "new.json")


@pytest.mark.parametrize("seed", seeds(60))
def test_same(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two folders live through the same, one of them scanned when it was loaded, and what is new in it, too."""
    dice = random.Random(seed)
    monkeypatch.setattr(pages, "PAGE_BYTES", dice.choice((1_500, 4_000, pages.PAGE_BYTES)))
    monkeypatch.setattr(quickly, "_MAX_GROWN_BYTES", dice.choice((700, 5_000, 1 << 20)))
    monkeypatch.setattr(quickly, "_MAX_WAITING_BYTES", dice.choice((1_000, 8 << 20)))
    (whole := tmp_path / "whole").mkdir()
    make(whole, dice, files=6, records=40)
    found = []
    how = {"newest_first": dice.random() < 0.5}
    changes = dice.getrandbits(32)
    for at, quick_from in enumerate((_NEVER, 0)):
        # Both have one name, because that is part of what is compared.
        (folder := tmp_path / f"{at}" / "spans").mkdir(parents=True)
        again = random.Random(changes)
        for path in sorted(whole.iterdir()):
            data = path.read_bytes()
            (folder / path.name).write_bytes(data[: again.randrange(len(data) + 1)])
            os.utime(folder / path.name, (1, again.randrange(100)))
        monkeypatch.chdir(folder.parent)
        session, store = _followed(folder.relative_to(folder.parent), quick_from=quick_from, **how)
        shutil.copytree(whole, tmp_path / f"whole {at}")
        for _ in range(3):
            _change(folder, tmp_path / f"whole {at}", again)
            while session.look().has_more:
                pass
            # Those that are read in larger pieces are quiet, too, by now.
            session.look()
        session.close()
        found.append(contents(store))
        (folder.parent).rename(tmp_path / f"done {at}")
    for part, value in found[0].items():
        assert found[1][part] == value, part


@pytest.mark.parametrize("kind", WorkerStart)
def test_only_what_is_new_is_read(kind: WorkerStart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a scan a file is read from its end on; a record whose front was there already is whole then."""
    monkeypatch.setattr(quickly, "process_count", lambda files: min(2, files))
    monkeypatch.setattr(processes, "BLOCK_ROWS", pages.PAGE_BYTES // 100)
    build = Builder()
    records = [file_of([build.span(attributes={"k": "v" * 50})]) for _ in range(3_000)]
    parts = [b"".join(records[at::4]) for at in range(4)]
    for at, part in enumerate(parts):
        (tmp_path / f"{at}.json").write_bytes(part[:-100])
    session, store = _followed(tmp_path, quick_from=0, processes=kind)
    assert len(store.spans) == 3_000 - 4
    assert store.tallies.bytes == sum(map(len, parts)) - 400
    read = 0
    for at, part in enumerate(parts):
        with (tmp_path / f"{at}.json").open("ab") as file:
            file.write(part[-100:])
    read = session.look().bytes
    assert read == 400
    assert len(store.spans) == 3_000
    assert not store.problems()
    assert summary_of(store).duplicates == 0
    session.close()
