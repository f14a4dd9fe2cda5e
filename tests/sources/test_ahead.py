"""Files decoded by other processes are what this one would have made of them.

files      f0   f1   f2   f3   …
processes  A    B    A    B         two files for each under way
taken in   f0   f1   f2   f3        in their order, whoever is done first
"""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spanview.index.store import Store
from spanview.sources import ahead
from spanview.sources.details import Details
from spanview.sources.session import Session
from spanview.sources.tail import FileTail
from spanview.sources.terms import ReadOptions

if TYPE_CHECKING:
    from spanview.sources.discover import FoundFile

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
linux_only = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="other processes are used on Linux only")


def read(paths: tuple[str, ...], *, processes: bool) -> Store:
    """Read PATHs, with other processes or without."""
    details = Details()
    store = Store(details)
    session = Session(ReadOptions(paths, processes=processes), store, details)
    for _ in session.load():
        pass
    session.close()
    return store


def contents(store: Store) -> list[object]:
    """Return all that a store knows, in an order of its own."""
    spans = [store.span(row) for row in store.rows_in_order()]
    return [store.summary(), [problem.to_json() for problem in store.problems()], spans]


@pytest.fixture
def _pays_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "PAYS_FROM", 1)
    monkeypatch.setattr(ahead, "_cores", lambda: 2)


@linux_only
@pytest.mark.usefixtures("_pays_at_once")
@pytest.mark.parametrize("folder", ["ray-tasks-bundled-hook", "serve", "sdk-versions", "made", "pid-reuse"])
def test_other_processes_read_the_same(folder: str) -> None:
    """Spans, doubles, problems and counts are the same, damaged files and doubled spans included."""
    paths = (str(FIXTURES / folder),)
    assert contents(read(paths, processes=True)) == contents(read(paths, processes=False))


@linux_only
@pytest.mark.usefixtures("_pays_at_once")
def test_file_that_vanishes_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is gone when another process opens it is reported, and the others are read."""
    shutil.copytree(FIXTURES / "serve" / "spans", tmp_path / "spans")
    gone = tmp_path / "spans" / "proxy_192.0.2.2_tracing.json"

    def open_late(found: FoundFile, *, cap: int, attempts: int) -> FileTail:
        gone.unlink(missing_ok=True)
        return FileTail(found, cap=cap, attempts=attempts)

    monkeypatch.setattr(ahead, "FileTail", open_late)
    store = read((str(tmp_path),), processes=True)
    assert [(problem.kind, problem.file) for problem in store.problems()] == [("unreadable", str(gone))]
    assert len(store.spans) == 566 - 102


@linux_only
@pytest.mark.usefixtures("_pays_at_once")
def test_killed_process_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a process is killed, what it would have read is read here."""

    def open_and_die(found: FoundFile, *, cap: int, attempts: int) -> FileTail:
        if "Model" in found.shown:
            os.kill(os.getpid(), signal.SIGKILL)
        return FileTail(found, cap=cap, attempts=attempts)

    monkeypatch.setattr(ahead, "FileTail", open_and_die)
    paths = (str(FIXTURES / "serve" / "spans"),)
    assert contents(read(paths, processes=True)) == contents(read(paths, processes=False))
