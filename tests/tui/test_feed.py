"""The reading thread: what comes after everything is on the screen."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from builders import Builder, file_of
from spanview.index import blocks
from spanview.index.store import Store
from spanview.model.problems import Warnings
from spanview.quick import proof
from spanview.reports.traces import traces_table
from spanview.reports.traces_model import TracesModel
from spanview.sources import kept
from spanview.sources.details import RecordReader
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions
from spanview.tui.app import feed
from spanview.tui.app.feed import Feed, FeedState
from spanview.tui.widgets.header import state_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(name="folder")
def make_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder in which one record of a hundred is damaged among its attributes."""
    monkeypatch.setattr(kept, "cache_folder", lambda: str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "_RACY_NS", 0)
    monkeypatch.setattr(feed, "_UPDATE_INTERVAL_S", 0.0)
    # Each file is a block of its own.
    monkeypatch.setattr(blocks, "_SMALL_BYTES", 0)
    build = Builder()
    records = [file_of([build.span(attributes={"key": f"value {number}"})]) for number in range(100)]
    records[70] = records[70].replace(b'"value 70"', b'"value "70')
    (folder := tmp_path / "spans").mkdir()
    for number in range(10):
        (folder / f"{number}.json").write_bytes(b"".join(records[number * 10 : number * 10 + 10]))
    return folder


@contextmanager
def _fed(*paths: Path, follow: bool = False) -> Iterator[tuple[Store, list[FeedState], Feed]]:
    details = RecordReader()
    store = Store(details, notes_changes=True)
    states: list[FeedState] = []
    options = ReadOptions(tuple(map(os.fspath, paths)), quick_from=1, use_cache=True, newest_first=True, follow=follow)
    fed = Feed(store, lambda: Session(options, store, details), follow=follow)
    fed.go_on()
    fed.listen(states.append)
    try:
        yield store, states, fed
    finally:
        fed.stop()
        fed.wait(10)


def _lost(store: Store) -> list[int]:
    return [row for row, bits in enumerate(store.spans.warnings) if bits & Warnings.DETAIL_LOST]


def test_everything_is_decoded_in_the_end(folder: Path) -> None:
    """What only a decoder sees is marked, and that is known the next time."""
    with _fed(folder) as (store, states, fed):
        fed.wait(30)
    assert len(store.spans) == 100
    (row,) = _lost(store)
    assert (store.sources[store.spans.source[row]].path, store.tallies.torn) == (str(folder / "7.json"), 1)
    (problem,) = store.problems()
    assert (problem.kind, problem.file, problem.offset) == ("torn", str(folder / "7.json"), store.spans.offset[row])
    shares = [state.to_check for state in states if not state.loading]
    # Told before it begins and when all is done; in between less and less is left.
    assert (shares[0], shares[-1]) == (0.0, 0.0)
    assert shares[1:] == sorted(shares[1:], reverse=True)
    assert len({*shares}) > 5
    assert state_text(states[-4], paused=False).startswith("checking")
    # What was decoded isn't decoded again.
    assert [[*proof.prove(store, first)][:1] for first in (90, 100)] == [[0], []]

    with (
        patch.object(Session, "_load_files", side_effect=AssertionError("read")),
        patch.object(proof, "agreeing", side_effect=AssertionError("decoded")),
        _fed(folder) as (again, states, fed),
    ):
        fed.wait(30)
    assert not any(state.failure or state.to_check for state in states)
    # All of it came at once: it is painted once.
    assert {state.loading for state in states} == {False}
    assert (_lost(again), again.tallies.torn) == ([row], 1)
    assert again.problems() == store.problems()


def test_a_list_that_was_there_first_has_what_was_kept(folder: Path) -> None:
    """The columns of an index that was kept take the place of those that were asked for before."""
    with _fed(folder) as (store, _, fed):
        fed.wait(30)
    with _fed(folder) as (again, _, fed):
        values = {column.name: column.value for column in traces_table(again, TracesModel(again), 0).columns}
        fed.wait(30)
    counts = store.trace_table.span_count.tolist()
    for name, expected in (("span_count", counts), ("error_count", [0] * len(counts))):
        value = values[name]
        assert value is not None
        assert [value(trace) for trace in range(len(again.trace_table))] == expected


def test_it_begins_before_anybody_listens(folder: Path) -> None:
    """What is read first is in the store when somebody comes to show it; it is told then, and the rest is read."""
    details = RecordReader()
    store = Store(details, notes_changes=True)
    options = ReadOptions((os.fspath(folder),), newest_first=True)
    fed = Feed(store, lambda: Session(options, store, details), follow=False)
    states: list[FeedState] = []
    deadline = time.monotonic() + 30
    try:
        fed.start()
        while not fed.state.bytes_read and time.monotonic() < deadline:
            time.sleep(0.01)
        assert 0 < len(store.spans) < 100
        first = fed.state
        fed.go_on()
        fed.listen(states.append)
        fed.wait(30)
    finally:
        fed.stop()
        fed.wait(10)
    assert states[0] == first
    # One of the hundred is damaged.
    assert (len(store.spans), fed.state.loading, states[-1]) == (99, False, fed.state)


def test_it_ends_though_nobody_ever_listened(folder: Path) -> None:
    """A start that fails leaves no thread behind."""
    details = RecordReader()
    store = Store(details, notes_changes=True)
    options = ReadOptions((os.fspath(folder),), newest_first=True)
    fed = Feed(store, lambda: Session(options, store, details), follow=False)
    fed.start()
    fed.stop()
    fed.wait(30)
    assert not any(thread.name == "spanview-feed" and thread.is_alive() for thread in threading.enumerate())


def test_it_ends_when_it_is_told_to(folder: Path) -> None:
    """In the middle of the checking; the index that was kept before says that it isn't proven."""
    agreeing = proof.agreeing
    with _fed(folder) as (store, _, fed):

        def agree_and_stop(*words: Any) -> Any:
            fed.stop()
            return agreeing(*words)

        with patch.object(proof, "agreeing", agree_and_stop):
            fed.wait(30)
    assert len(store.spans) == 100
    with _fed(folder) as (again, states, fed):
        fed.wait(30)
    assert any(state.to_check for state in states)
    assert len(_lost(again)) == 1


def test_what_is_followed_is_decoded_too(folder: Path) -> None:
    """Beside the following, which goes on."""
    with _fed(folder, follow=True) as (store, states, _):
        deadline = time.monotonic() + 30
        while not _lost(store) and time.monotonic() < deadline:
            time.sleep(0.02)
        with (folder / "0.json").open("ab") as file:
            file.write(file_of([Builder().span("new", trace=77)]))
        while len(store.spans) < 101 and time.monotonic() < deadline:
            time.sleep(0.02)
    assert len(_lost(store)) == 1
    assert len(store.spans) == 101
    assert all(state.following for state in states)


def test_what_comes_is_decoded_in_the_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So much of it comes at once that it is scanned, too; it is decoded when less comes."""
    monkeypatch.setattr(feed, "_MANY_SPANS", 10)
    build, path = Builder(), folder / "0.json"
    damaged = file_of([build.span("new", trace=77, attributes={"key": "value"})]).replace(b'"value"', b'"val"ue')
    with _fed(folder, follow=True) as (store, states, _):
        deadline = time.monotonic() + 30
        while (len(_lost(store)) != 1 or not states[-1].following) and time.monotonic() < deadline:
            time.sleep(0.02)
        with path.open("ab") as file:
            usual = [file_of([build.span("new", trace=77)]) for _ in range(50)]
            file.write(b"".join([*usual[:25], damaged, *usual[25:]]))
        while len(_lost(store)) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        # What is gone from the disk was kept.
        path.write_bytes(b"")
        rows = [row for row in range(100, len(store.spans)) if row != _lost(store)[-1]]
        assert [store.span(row).name for row in rows] == ["new"] * 50
    assert (len(store.spans), len(_lost(store))) == (151, 2)
    assert all(state.following for state in states)


def test_what_is_waited_for(folder: Path, tmp_path: Path) -> None:
    """A PATH that isn't there is waited for only while none of them is; what is followed is no waiting."""
    (tmp_path / "empty").mkdir()
    for paths, expected in (
        ((tmp_path / "no", tmp_path / "none"), (f"{tmp_path}/no", f"{tmp_path}/none")),
        ((folder, tmp_path / "no"), ()),
        ((tmp_path / "no", tmp_path / "empty"), ()),
    ):
        with _fed(*paths, follow=True) as (_, states, _):
            deadline = time.monotonic() + 10
            # The first of them is told before it is looked for what has come.
            while sum(state.following and not state.loading for state in states) <= 1:
                assert time.monotonic() < deadline
                threading.Event().wait(0.005)
            assert states[-1].waiting_for == expected
