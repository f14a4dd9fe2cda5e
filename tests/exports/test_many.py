"""Exports of many spans, whose trees are told at once, are to the byte those of few, whatever the files hold.

folders         as `quick/folders.py` makes them: both layouts, odd records, damage, doubles, missing parents
afterwards      files are cut, overwritten or gone
shares          small ones, so that they end anywhere
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

import orjson
import pytest

from builders import Builder, file_of, store_of_files
from quick.folders import make
from spanview.analysis import walk
from spanview.exports import shares, span_texts, trace_tree
from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.trace_tree import trace_tree_chunks
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from spanview.index.store import Store

SEEDS: Final = range(20)


def exported(store: Store, traces: Sequence[int], rows: Sequence[int]) -> tuple[bytes, bytes]:
    """Return both exports, of some traces and of some rows."""
    tree = trace_tree_chunks(store, traces, summary=store.summary(), problems=store.problems())
    return b"".join(tree), b"".join(jsonl_chunks(store, rows))


def both_ways(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    traces: Sequence[int] | None = None,
    rows: Sequence[int] | None = None,
) -> list[tuple[bytes, bytes]]:
    """Return both exports as they are made of few spans and of many."""
    traces = store.traces_in_order() if traces is None else traces
    rows = store.rows_in_order() if rows is None else rows
    ways = []
    for most in (1 << 60, 0):
        with monkeypatch.context() as patch:
            patch.setattr(span_texts, "NUMPY_FROM_SPANS", most)
            ways.append(exported(store, traces, rows))
    return ways


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make shares and batches so small that they end anywhere."""
    monkeypatch.setattr(shares, "SHARE_SPANS", 37)
    monkeypatch.setattr(trace_tree, "BATCH", 11)
    monkeypatch.setattr(walk, "_DEEPEST", 6)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_the_files_hold(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random folders, whole or changed since they were read, and some of their traces and rows in any order."""
    dice = random.Random(seed)
    make(tmp_path, dice, files=5, records=150, anywhere=True)
    store = load_store(tmp_path)
    if dice.random() < 0.4:
        _change(tmp_path, dice)
    traces, rows = store.traces_in_order(), store.rows_in_order()
    if dice.random() < 0.3:
        traces = dice.sample(traces, dice.randint(0, len(traces)))
        rows = dice.sample(rows, dice.randint(0, len(rows)))
    one_by_one, at_once = both_ways(store, monkeypatch, traces, rows)
    assert at_once[0] == one_by_one[0]
    assert at_once[1] == one_by_one[1]


def _change(folder: Path, dice: random.Random) -> None:
    for path in sorted(folder.iterdir()):
        data = bytearray(path.read_bytes())
        for _ in range(dice.choice((0, 1, 20, 200)) if data else 0):
            data[dice.randrange(len(data))] = dice.choice(b'0a}" \n\\\xff')
        path.write_bytes(data[: dice.choice((len(data), len(data), len(data) // 2))])
        if dice.random() < 0.2:
            path.unlink()


def test_lines_are_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of a group without a trace id among others begin as they should."""
    store = store_of_files({"a": file_of([Builder().span(trace=0), Builder().span(trace=5)])})
    (_, one_by_one), (_, at_once) = both_ways(store, monkeypatch)
    assert at_once == one_by_one
    assert {orjson.loads(line)["trace_id"] for line in at_once.splitlines()} == {None, f"{5:032x}"}


def test_a_growing_store_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another thread adds to can't be looked at as a whole."""
    store = store_of_files({"a": file_of([Builder().span()])})
    monkeypatch.setattr(span_texts, "NUMPY_FROM_SPANS", 0)
    assert span_texts.are_many(store, 1)
    store.is_growing = True
    assert not span_texts.are_many(store, 1)
