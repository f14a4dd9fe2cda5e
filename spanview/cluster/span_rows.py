"""Spans on their way between processes: the rows of a store, divided, and a store of rows from many of them.

A row has all by which the index decides about duplicates and snapshots, which it does again where the rows of whole
traces have come together. Columns travel as they are in memory, and are looked at where they arrive without a copy.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.cluster.shared_files import SharedReader, SharedSources
from spanview.formats.decoder import decode_span
from spanview.formats.rows import Batch, SpanColumns
from spanview.index.arrays import copy_of, hashes_of, process_numbers
from spanview.index.store import Store
from spanview.index.table import NO_ROW, Interned
from spanview.model.problems import Warnings
from spanview.model.span import Source
from spanview.model.times import NO_TIME
from spanview.quick.adopt import Adopted
from spanview.quick.rows import ROW_BYTES, ScannedRows

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places, Words

_OF_SPANS: Final = ("span_id", "parent_id", "start_ns", "end_ns", "kind", "status", "warnings", "offset", "length")
"""Columns that the span table has as well."""
_TEXTS: Final = ("name", "service", "process")
_NOT_SCANNED: Final = ("warnings", "document_offset", "document_length")
"""Columns that a scan doesn't have."""


@dataclass(frozen=True, slots=True)
class SpanRows:
    """N spans, of any order."""

    columns: Mapping[str, NDArray[Any]]
    """As the span table has them; `trace_high`, `trace_low`, the number that a file has everywhere as `source`, and
    `document_offset` and `document_length` of those that share a document with others."""
    texts: Mapping[str, Sequence[str]]
    """What the numbers in `name` and `service` stand for, and what resources say of each `process`."""
    cut: frozenset[str]
    """The names that aren't kept whole."""
    packed: frozenset[int]
    """The files that are compressed."""

    def __len__(self) -> int:
        return len(self.columns["span_id"])

    def column(self, name: str) -> NDArray[Any]:
        """Return a column; zeros where no span has anything there."""
        values = self.columns.get(name)
        return np.zeros(len(self), np.uint64) if values is None else values

    def with_columns(self, **columns: NDArray[Any]) -> SpanRows:
        """Return these rows with some more columns."""
        return replace(self, columns={**self.columns, **columns})

    def taken(self, rows: Sequence[int] | Places | Flags) -> SpanRows:
        """Return some of the rows, in their order."""
        return self._part({name: values[rows] for name, values in self.columns.items()}, slice(None))

    def of_traces(self, trace_ids: Collection[int]) -> SpanRows:
        """Return the rows of some traces."""
        high, low = self.columns["trace_high"], self.columns["trace_low"]
        order, firsts = grouped_ids(high, low)
        ids = zip(high[order[firsts]].tolist(), low[order[firsts]].tolist(), strict=True)
        wanted = {*trace_ids}
        are_wanted = np.array([first << 64 | second in wanted for first, second in ids], np.bool_)
        flags = np.zeros(len(self), np.bool_)
        flags[order] = are_wanted[np.cumsum(firsts) - 1]
        return self.taken(flags)

    def divided(self, numbers: Places, count: int) -> list[SpanRows]:
        """Return the rows in parts, those with each number from 0 to `count` - 1."""
        order = np.argsort(numbers, kind="stable")
        columns = {name: values[order] for name, values in self.columns.items()}
        ends = np.searchsorted(numbers[order], np.arange(1, count + 1)).tolist()
        return [self._part(columns, slice(first, end)) for first, end in zip([0, *ends], ends, strict=False)]

    def _part(self, columns: Mapping[str, NDArray[Any]], rows: slice) -> SpanRows:
        part, texts = {name: values[rows] for name, values in columns.items()}, dict[str, list[str]]()
        for name in _TEXTS:
            numbers, indexes = np.unique(part[name], return_inverse=True)
            part[name] = indexes.astype(np.uint32)
            texts[name] = [self.texts[name][number] for number in numbers.tolist()]
        return SpanRows(part, texts, self.cut.intersection(texts["name"]), self.packed)


def rows_of(store: Store, sources: Sequence[int], packed: Collection[int]) -> SpanRows:
    """Return the spans of a store; `sources` and `packed` have the numbers that its files have everywhere."""
    return _rows(store, _columns_of(store), sources, packed)


def undecided_rows_of(store: Store, sources: Sequence[int], packed: Collection[int]) -> SpanRows:
    """Return the spans of a store that has some files of many; those that haven't ended with all their records."""
    columns, names = _columns_of(store), store.names
    more = dict[str, list[int]]()
    for row, (source, offset, length) in [*store.intake.snapshots()]:
        record = store.intake.details.read(source, offset, length)
        span = None if record is None else decode_span(record, Source("", 0, 0))
        if span is not None:
            of_record = {"source": source, "offset": offset, "length": length, "warnings": span.warnings.value}
            of_record |= {"name": names.number(span.name), "status": span.status.code_value}
            for name, values in columns.items():
                more.setdefault(name, []).append(of_record.get(name, int(values[row])))
    for name, added in more.items():
        columns[name] = np.append(columns[name], np.array(added, columns[name].dtype))
    return _rows(store, columns, sources, packed)


def _columns_of(store: Store) -> dict[str, NDArray[Any]]:
    return {name: copy_of(getattr(store.spans, name)) for name in (*_OF_SPANS, *_TEXTS, "trace", "source")}


def _rows(store: Store, columns: dict[str, NDArray[Any]], sources: Sequence[int], packed: Collection[int]) -> SpanRows:
    table, names = store.trace_table, store.names
    trace, source = columns.pop("trace"), columns["source"]
    columns |= {"trace_high": copy_of(table.id_high)[trace], "trace_low": copy_of(table.id_low)[trace]}
    columns["source"] = np.array(sources, np.uint32)[source] if len(source) else source
    if store.intake.details.are_there:
        columns |= _documents(store, source, columns)
    cut = frozenset(names.texts[number] for number in names.cut)
    processes = [*map(store.processes.said, range(len(store.processes)))]
    texts = {"name": names.texts, "service": store.services.texts, "process": processes}
    return SpanRows(columns, texts, cut, frozenset(packed))


def partitions_of(rows: SpanRows, count: int) -> Places:
    """Return for each span the one of so many partitions to which those of its trace belong."""
    hashes = hashes_of(rows.columns["trace_high"], rows.columns["trace_low"])
    return (hashes % np.uint64(count)).astype(np.int64)


def _documents(store: Store, sources: NDArray[Any], columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return where the documents are of the spans that have no records of their own."""
    offsets, lengths = np.zeros(len(sources), np.uint64), np.zeros(len(sources), np.uint32)
    for index in np.flatnonzero(columns["length"] == 0).tolist():
        place = store.intake.details.place(int(sources[index]), int(columns["offset"][index]), 0)
        offsets[index], lengths[index] = place
    return {"document_offset": offsets, "document_length": lengths}


def joined_rows(parts: Sequence[SpanRows]) -> SpanRows:
    """Return the rows of some parts, at least one, as one."""
    chosen = [part for part in parts if len(part)] or parts[:1]
    if len(chosen) == 1:
        return chosen[0]
    names = {name for part in chosen for name in part.columns}.difference(_TEXTS)
    columns = {name: np.concatenate([part.column(name) for part in chosen]) for name in names}
    texts = {}
    for name in _TEXTS:
        interned = Interned()
        numbers = [np.array(interned.numbers(part.texts[name]), np.uint32)[part.columns[name]] for part in chosen]
        columns[name], texts[name] = np.concatenate(numbers), interned.texts
    cut = frozenset[str]().union(*(part.cut for part in chosen))
    return SpanRows(columns, texts, cut, frozenset[int]().union(*(part.packed for part in chosen)))


def store_of(rows: SpanRows, reader: SharedReader) -> Store:
    """Return a store of spans, in which the index has decided about duplicates and snapshots."""
    store, columns = _empty_store(rows, reader)
    columns["warnings"] &= ~np.uint16(Warnings.DUPLICATE_ID)
    texts = [[*rows.texts[name]] for name in _TEXTS]
    are_usual = (columns["warnings"] == 0) & (columns["length"] > 0) & (columns["span_id"] != 0)
    # A scan finds no span without a start: it would be taken for when its trace started.
    are_usual &= columns["start_ns"] != NO_TIME
    are_usual &= (columns["trace_high"] | columns["trace_low"]) != 0
    _adopt(store, columns, texts, np.flatnonzero(are_usual))
    others = np.flatnonzero(~are_usual)
    for source in np.unique(columns["source"][others]).tolist():
        store.add(source, _batch_of(columns, texts, others[columns["source"][others] == source]))
    _note_cut(store, rows)
    return store


def settled_store_of(rows: SpanRows, reader: SharedReader) -> tuple[Store, Mapping[str, NDArray[Any]]]:
    """Return a store of spans about which the index has decided already, and all columns in the order of its rows.

    Its traces have ids and nothing else.

    Args:
        rows: As `rows_of` returns them, of one store or of several that have no trace in common.
    """
    store, columns = _empty_store(rows, reader)
    spans, high, low = store.spans, columns["trace_high"], columns["trace_low"]
    order, firsts = grouped_ids(high, low)
    store.trace_table.extend(high[order[firsts]].tobytes(), low[order[firsts]].tobytes())
    columns["trace"] = np.empty(len(order), np.uint32)
    columns["trace"][order] = np.cumsum(firsts) - 1
    for name, interned in (("name", store.names), ("service", store.services)):
        columns[name] = np.array(interned.numbers([*rows.texts[name]]), np.uint32)[columns[name]]
    said = columns["process"], rows.texts["process"]
    columns["process"] = process_numbers(store.processes, columns["source"], *said)
    for name in ("trace", "source", *_TEXTS, *_OF_SPANS):
        column = getattr(spans, name)
        column.frombytes(np.ascontiguousarray(columns[name], f"={column.typecode}").tobytes())
    spans.next_row.extend(array("I", [NO_ROW]) * len(order))
    if "document_length" in columns:
        for source in np.unique(columns["source"]).tolist():
            of_source = columns["source"] == source
            places = (columns[name][of_source].tolist() for name in ("document_offset", "document_length"))
            documents = {(offset, length) for offset, length in zip(*places, strict=True) if length}
            store.intake.details.note(source, sorted(documents))
    _note_cut(store, rows)
    return store, columns


def grouped_ids(high: Words, low: Words) -> tuple[Places, Flags]:
    """Return an order in which spans of one trace are neighbours, and which positions of it begin a trace."""
    order = np.lexsort((low, high))
    firsts = np.ones(len(order), np.bool_)
    firsts[1:] = (high[order[1:]] != high[order[:-1]]) | (low[order[1:]] != low[order[:-1]])
    return order, firsts


def _empty_store(rows: SpanRows, reader: SharedReader) -> tuple[Store, dict[str, NDArray[Any]]]:
    """Return a store that has the files of some rows, and the columns by file and offset, files as it numbers them."""
    order = np.lexsort((rows.columns["offset"], rows.columns["source"]))
    columns = {name: values[order] for name, values in rows.columns.items()}
    everywhere, columns["source"] = np.unique(columns["source"], return_inverse=True)
    reader.note_packed(rows.packed)
    numbers: list[int] = everywhere.tolist()
    store = Store(SharedSources(reader, numbers))
    for number in numbers:
        store.add_source(reader.files[number].shown)
    return store, columns


def _note_cut(store: Store, rows: SpanRows) -> None:
    store.names.cut.update(store.names.number(name) for name in rows.cut)


def _adopt(store: Store, columns: dict[str, NDArray[Any]], texts: list[list[str]], rows: Places) -> None:
    """Add spans as those of a scan."""
    if not len(rows):
        return
    scanned = ScannedRows(bytearray(ROW_BYTES * len(rows)), len(rows))
    scanned.append({name: values for name, values in columns.items() if name not in _NOT_SCANNED}, rows)
    adopted = Adopted(store.intake, lambda source: source)
    adopted.take_texts(*texts)
    adopted.take(scanned)
    # Whether their records have the SDK's layout, rows don't say.
    store.intake.scanned.clear()


def _batch_of(columns: dict[str, NDArray[Any]], texts: list[list[str]], rows: Places) -> Batch:
    """Return spans of one file as its decoder does."""
    of_rows = {name: values[rows].tolist() for name, values in columns.items()}
    names, services, processes = (
        [of_column[number] for number in of_rows[name]] for name, of_column in zip(_TEXTS, texts, strict=True)
    )
    halves = zip(of_rows["trace_high"], of_rows["trace_low"], strict=True)
    documents = {
        (offset, length)
        for offset, length in zip(of_rows.get("document_offset", ()), of_rows.get("document_length", ()), strict=True)
        if length
    }
    return Batch(
        SpanColumns(
            trace_ids=[high << 64 | low for high, low in halves],
            span_ids=of_rows["span_id"],
            parent_ids=of_rows["parent_id"],
            start_ns=of_rows["start_ns"],
            end_ns=of_rows["end_ns"],
            names=names,
            services=services,
            kinds=of_rows["kind"],
            statuses=of_rows["status"],
            warnings=of_rows["warnings"],
            processes=processes,
        ),
        of_rows["offset"],
        of_rows["length"],
        documents=sorted(documents),
    )
