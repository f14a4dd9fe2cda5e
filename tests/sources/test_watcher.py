"""Hints come soon, and following does without them: a search at least once a second finds everything."""

from __future__ import annotations

import os
import shutil
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from builders import Builder, file_of
from spanview.index.store import Store
from spanview.model.problems import Problem, ProblemKind
from spanview.sources.details import RecordReader
from spanview.sources.follow import Watcher, follow
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.machine

DEADLINE_S = 20.0


@pytest.fixture
def problems() -> list[Problem]:
    """Return the list to which the watcher's problems go."""
    return []


@pytest.fixture
def watcher(problems: list[Problem]) -> Iterator[Watcher]:
    """Return a watcher that watches nothing yet."""
    watcher = Watcher(problems.append)
    yield watcher
    watcher.close()


def hears_of(watcher: Watcher, path: Path) -> bool:
    """Touch a file until a hint of it comes; a watch takes a moment to begin."""
    for _ in range(100):
        path.write_bytes(os.urandom(8))
        if str(path) in watcher.wait(DEADLINE_S / 100):
            return True
    return False


def test_changes_are_hinted_at(watcher: Watcher, tmp_path: Path, problems: list[Problem]) -> None:
    """A change in a folder that is watched is heard of, in one that isn't any more it isn't."""
    (tmp_path / "low").mkdir()
    watcher.watch(frozenset([str(tmp_path), str(tmp_path / "low")]))
    assert hears_of(watcher, tmp_path / "1.json")
    assert hears_of(watcher, tmp_path / "low" / "2.json")
    assert problems == []


def test_folder_that_is_made_again_is_heard_of(watcher: Watcher, tmp_path: Path, problems: list[Problem]) -> None:
    """A folder that was removed and made again at once, with the inode it had, is watched anew by the next search."""
    folder = tmp_path / "spans"
    folder.mkdir()
    for _ in range(3):
        watcher.watch(frozenset([str(folder)]))
        assert hears_of(watcher, folder / "1.json")
        shutil.rmtree(folder)
        folder.mkdir()
        while str(folder) not in watcher.wait(DEADLINE_S):
            pass
    assert problems == []


def test_folder_that_is_gone_is_no_failure(watcher: Watcher, tmp_path: Path, problems: list[Problem]) -> None:
    """A folder that went between search and watch is no problem, and watched once it is there."""
    folder = tmp_path / "spans"
    watcher.watch(frozenset([str(folder)]))
    folder.mkdir()
    watcher.watch(frozenset([str(folder)]))
    assert hears_of(watcher, folder / "1.json")
    assert problems == []


def fails(*_arguments: Any, **_options: Any) -> None:
    """Stand for a watch that the system refuses."""
    raise OSError("no watches left")


def test_failure_is_told_once_and_following_goes_on(
    tmp_path: Path, problems: list[Problem], watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without watches changes are found by searching, within a second, and the screen can say so."""
    monkeypatch.setattr("watchfiles.watch", fails)
    monkeypatch.setattr("spanview.sources.follow._FIRST_RETRY_S", 0.01)
    (tmp_path / "1.json").write_bytes(file_of([Builder().span("a")]))
    details = RecordReader()
    store = Store(details)
    session = Session(ReadOptions((str(tmp_path),), follow=True), store, details)
    for _ in session.load():
        pass
    stop = threading.Event()
    updates = follow(session, watcher, stop, iter(range(1000)).__next__)
    for rounds, update in enumerate(updates, 1):
        is_polling = update.is_polling
        with (tmp_path / "1.json").open("ab") as file:
            file.write(file_of([Builder().span(f"round {rounds}")]))
        # A hint ends the wait at once, as a second that passes does.
        watcher.wake()
        if rounds == 20:
            stop.set()
    session.close()
    details.close()
    assert is_polling
    # What was written after the last look is nobody's.
    assert len(store.spans) == 20
    assert [problem.kind for problem in problems] == [ProblemKind.WATCHER]
    assert "no watches left" in problems[0].detail


def test_watcher_that_hears_nothing_is_polling(
    tmp_path: Path, watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """News that searching finds again and again, and of which no hint comes, mean that watching is of no use."""
    monkeypatch.setattr("watchfiles.watch", lambda *_, stop_event, **__: stop_event.wait() and iter(()))
    path = tmp_path / "1.json"
    path.write_bytes(b"")
    details = RecordReader()
    session = Session(ReadOptions((str(tmp_path),), follow=True), Store(details), details)
    for _ in session.load():
        pass
    stop, polling, clock = threading.Event(), [], SimpleNamespace(now=0)
    for rounds, update in enumerate(follow(session, watcher, stop, lambda: clock.now)):
        polling.append(update.is_polling)
        if rounds in {1, 3, 5}:
            with path.open("ab") as file:
                file.write(file_of([Builder().span()]))
        if rounds == 6:
            # A hint, at last.
            watcher._paths.add(str(path))
            watcher.wake()
        else:
            clock.now += 1
        if rounds == 8:
            stop.set()
    session.close()
    details.close()
    assert polling == [False] * 4 + [True] * 3 + [False] * 2
