"""The quick way comes to what the general decoder comes to, whatever is in the files.

columns, traces, roots, doubles, missing parents and problems are compared; pages are small, so that they end anywhere
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import Builder
from seeds import seeds
from spanview.index import store as index_store
from spanview.index.intake import Intake
from spanview.index.store import Store
from spanview.index.summary import summary_of
from spanview.index.table import NO_ROW
from spanview.quick import known_rows, pages, processes
from spanview.sources import quickly, tail
from spanview.sources.details import RecordReader
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions, WorkerStart

from .folders import make

if TYPE_CHECKING:
    from pathlib import Path

    from spanview.formats.rows import Batch
    from spanview.index.slots import Slots

_NEVER: Final = 1 << 60
_SIZES: Final = (1_500, 4_000, 20_000, pages.PAGE_BYTES)


def load(*paths: Path, **how: Any) -> Store:
    """Read PATHs."""
    details = RecordReader()
    store = Store(details)
    _read(store, details, *paths, **how)
    return store


def _read(store: Store, details: RecordReader, *paths: Path, **how: Any) -> None:
    for _ in Session(ReadOptions(tuple(map(str, paths)), **how), store, details).load():
        pass


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
                store.processes.text(spans.process[row]),
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
        "summary": summary_of(store),
        "files": store.tallies.each_file(),
    }


def _compare(folder: Path, **how: Any) -> None:
    expected = contents(load(folder, quick_from=_NEVER))
    found = contents(load(folder, quick_from=0, **how))
    for part, value in expected.items():
        assert found[part] == value, part


@pytest.mark.parametrize("seed", seeds(60))
def test_same(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process, with pages of any size."""
    dice = random.Random(seed)
    monkeypatch.setattr(pages, "PAGE_BYTES", dice.choice(_SIZES))
    monkeypatch.setattr(tail, "BLOCK_BYTES", dice.choice((700, 5_000)))
    if pages.PAGE_BYTES in _SIZES[:-1]:
        # ScannedRows of some pages, and of one page at least.
        monkeypatch.setattr(processes, "BLOCK_ROWS", dice.choice((60, processes.BLOCK_ROWS)))
    # Names that are forgotten, and batches that are small.
    monkeypatch.setattr(known_rows, "_MAX_ROWS", dice.choice((2, known_rows._MAX_ROWS)))
    monkeypatch.setattr(pages, "_MAX_WAITING_DOCUMENTS", dice.choice((1, 7, pages._MAX_WAITING_DOCUMENTS)))
    for number in range(5):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        make(folder, dice, files=6, records=40)
        _compare(folder)
        _compare(folder, newest_first=True)


@pytest.mark.parametrize("seed", seeds(30))
def test_same_with_damage_that_only_a_decoder_sees(seed: int, tmp_path: Path) -> None:
    """Where all is decoded, as `check` does it, records that are joined anywhere are told."""
    dice = random.Random(seed)
    for number in range(5):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        make(folder, dice, files=6, records=40, anywhere=True)
        _compare(folder, decodes_all=True)


@pytest.mark.parametrize("quick_from", [0, _NEVER])
@pytest.mark.parametrize("seed", seeds(20))
def test_same_with_room_given_up_in_between(
    seed: int, quick_from: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that holds no more than it needs says the same, and takes more as any other does."""
    dice = random.Random(seed)
    monkeypatch.setattr(index_store, "NUMPY_FROM_SPANS", 1)
    make(tmp_path, dice, files=8, records=60)
    files = sorted(tmp_path.iterdir())
    details = RecordReader()
    store = Store(details)
    for at in range(0, len(files), 3):
        _read(store, details, *files[at : at + 3], quick_from=quick_from)
        before, tables = contents(store), [*map(_slots_of, (store.intake.span_slots, store.intake.trace_slots))]
        store.give_up_room()
        assert store.spans.offset.itemsize <= 4 or not len(store.spans)
        assert contents(store) == before
        assert [*map(_slots_of, (store.intake.span_slots, store.intake.trace_slots))] == tables
        store.give_up_room()
    assert contents(store) == contents(load(*files, quick_from=_NEVER))


@pytest.mark.parametrize("indented", [0, 200])
def test_same_with_records_broken_in_two_lines(indented: int, tmp_path: Path) -> None:
    """A record with a line break in a text is none, also behind indented records, which have many short lines."""
    record = Builder().span("f", attributes={"k": "one two"})
    whole, (front, rest) = json.dumps(record), json.dumps(record).split(" two")
    others = [json.dumps({**record, "parent_id": f"0x{number:016x}"}, indent=4) for number in range(1, indented + 1)]
    (tmp_path / "a.json").write_text("\n".join([*others, whole, f"{front}\n two{rest}", whole, ""]))
    _compare(tmp_path)


def test_what_is_decoded_has_room_beside_what_is_scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans of a large list go into the index as scanned ones do, many at once, however many blocks they fill."""
    monkeypatch.setattr(pages, "PAGE_BYTES", 10_000)
    monkeypatch.setattr(processes, "BLOCK_ROWS", 1_000)
    one_by_one: list[int] = []

    def add(intake: Intake, source: int, batch: Batch) -> None:
        one_by_one.append(len(batch.columns))
        take(intake, source, batch)

    take = Intake.add
    monkeypatch.setattr(Intake, "add", add)
    spans = [{"traceId": f"{number:032x}", "id": f"{number:016x}", "timestamp": 9} for number in range(1, 5_000)]
    (tmp_path / "spans.json").write_text(json.dumps(spans))
    store = load(tmp_path, cap=10_000, quick_from=0)
    assert len(store.spans) == len(spans)
    assert sum(one_by_one) < len(spans) // 10


def _slots_of(slots: Slots) -> tuple[int, list[int]]:
    return len(slots.table), sorted(entry for entry in slots.table if entry)


@pytest.mark.parametrize("kind", [WorkerStart.FORKED, WorkerStart.STARTED])
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("seed", seeds(12))
def test_same_with_other_processes(
    seed: int, count: int, kind: WorkerStart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With as many processes as there are cores."""
    dice = random.Random(seed)
    monkeypatch.setattr(pages, "PAGE_BYTES", dice.choice(_SIZES))
    monkeypatch.setattr(quickly, "process_count", lambda files: min(count, files))
    make(tmp_path, dice, files=20, records=100)
    _compare(tmp_path, processes=kind)
