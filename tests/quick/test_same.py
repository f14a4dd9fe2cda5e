"""The quick way comes to what the general decoder comes to, whatever is in the files.

columns, traces, roots, doubles, missing parents and problems are compared; pages are small, so that they end anywhere
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

import pytest

from spanview.index.store import Store
from spanview.index.table import NO_ROW
from spanview.quick import pages, processes
from spanview.sources import quickly, tail
from spanview.sources.details import Details
from spanview.sources.session import Session
from spanview.sources.terms import Processes, ReadOptions

from .folders import make

if TYPE_CHECKING:
    from pathlib import Path

_NEVER: Final = 1 << 60
_SIZES: Final = (1_500, 4_000, 20_000, pages.PAGE)


def load(*paths: Path, **how: Any) -> Store:
    """Read PATHs."""
    details = Details()
    store = Store(details)
    for _ in Session(ReadOptions(tuple(map(str, paths)), **how), store, details).load():
        pass
    return store


def contents(store: Store) -> dict[str, Any]:
    """Return all that a store knows, in an order of its own."""
    spans, traces = store.spans, store.trace_table

    def place(row: int) -> tuple[str, int]:
        return ("", 0) if row == NO_ROW else (store.sources[spans.source[row]].path, spans.offset[row])

    return {
        "spans": sorted(
            (
                place(row),
                spans.length[row],
                traces.trace_id(spans.trace[row]),
                spans.span_id[row],
                spans.parent_id[row],
                spans.start_ns[row],
                spans.end_ns[row],
                store.names.texts[spans.name[row]],
                store.services.texts[spans.service[row]],
                spans.kind[row],
                spans.status[row],
                spans.warnings[row],
            )
            for row in range(len(spans))
        ),
        "traces": sorted(
            (
                traces.trace_id(trace),
                traces.span_count[trace],
                traces.error_count[trace],
                traces.root_count[trace],
                traces.start_ns[trace],
                traces.end_ns[trace],
                place(traces.root_row[trace]),
                sorted(map(place, store.rows_of_trace(trace))),
            )
            for trace in range(len(traces))
        ),
        "problems": [problem.to_json() for problem in store.problems()],
        "summary": store.summary(),
    }


def _compare(folder: Path, **how: Any) -> None:
    expected = contents(load(folder, quick_from=_NEVER))
    found = contents(load(folder, quick_from=0, **how))
    for part, value in expected.items():
        assert found[part] == value, part


@pytest.mark.parametrize("seed", range(60))
def test_same(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process, with pages of any size."""
    dice = random.Random(seed)
    monkeypatch.setattr(pages, "PAGE", dice.choice(_SIZES))
    monkeypatch.setattr(tail, "BLOCK", dice.choice((700, 5_000)))
    if pages.PAGE in _SIZES[:-1]:
        # Rows of some pages, and of one page at least.
        monkeypatch.setattr(processes, "CAPACITY", dice.choice((60, processes.CAPACITY)))
    for number in range(5):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        make(folder, dice, files=6, records=40)
        _compare(folder)
        _compare(folder, newest_first=True)


@pytest.mark.parametrize("seed", range(30))
def test_same_with_damage_that_only_a_decoder_sees(seed: int, tmp_path: Path) -> None:
    """Where all is decoded, as `check` does it, records that are joined anywhere are told."""
    dice = random.Random(seed)
    for number in range(5):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        make(folder, dice, files=6, records=40, anywhere=True)
        _compare(folder, decodes_all=True)


@pytest.mark.parametrize("kind", [Processes.FORKED, Processes.STARTED])
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_same_with_other_processes(
    seed: int, count: int, kind: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With as many processes as there are cores."""
    dice = random.Random(seed)
    monkeypatch.setattr(pages, "PAGE", dice.choice(_SIZES))
    monkeypatch.setattr(quickly, "_cores", lambda: count)
    make(tmp_path, dice, files=20, records=100)
    _compare(tmp_path, processes=kind)
