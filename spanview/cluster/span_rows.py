"""Spans on their way between processes: the rows of a store, divided, and a store of rows from many of them.

A row has all by which the index decides about duplicates and snapshots, which it does again where rows of other files
join it. Columns travel as they are in memory, and are looked at where they arrive without a copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.cluster.shared_files import SharedReader
from spanview.formats.rows import Batch, SpanColumns
from spanview.index.arrays import copy_of, hashes_of
from spanview.index.store import Store
from spanview.index.table import Interned
from spanview.model.problems import Warnings
from spanview.quick.adopt import Adopted
from spanview.quick.rows import ROW_BYTES, ScannedRows

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.cluster.shared_files import SharedFile
    from spanview.index.arrays import Places

_OF_SPANS: Final = ("span_id", "parent_id", "start_ns", "end_ns", "kind", "status", "warnings", "offset", "length")
"""Columns that the span table has as well."""
_TEXTS: Final = ("name", "service")
_NOT_SCANNED: Final = ("warnings", "document_offset", "document_length")
"""Columns that a scan doesn't have."""


@dataclass(frozen=True, slots=True)
class SpanRows:
    """N spans, of any order."""

    columns: Mapping[str, NDArray[Any]]
    """As the span table has them; `trace_high`, `trace_low`, the number that a file has everywhere as `source`, and
    `document_offset` and `document_length` of those that share a document with others."""
    texts: Mapping[str, Sequence[str]]
    """What the numbers in `name` and `service` stand for."""
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
    """Return the spans of a store.

    Args:
        sources: The number that each of its files has everywhere.
        packed: Which of these are compressed.
    """
    spans, table = store.spans, store.trace_table
    columns = {name: copy_of(getattr(spans, name)) for name in (*_OF_SPANS, *_TEXTS)}
    # Where the rows come together, it is decided anew.
    columns["warnings"] &= ~np.uint16(Warnings.DUPLICATE_ID)
    trace, source = copy_of(spans.trace), copy_of(spans.source)
    columns |= {"trace_high": copy_of(table.id_high)[trace], "trace_low": copy_of(table.id_low)[trace]}
    columns["source"] = np.array(sources, np.uint32)[source] if len(source) else source
    if store.intake.details.are_there:
        columns |= _documents(store, source, columns)
    names = store.names
    cut = frozenset(names.texts[number] for number in names.cut)
    return SpanRows(columns, {"name": names.texts, "service": store.services.texts}, cut, frozenset(packed))


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


def store_of(rows: SpanRows, files: Sequence[SharedFile], folder: str) -> Store:
    """Return a store of spans, in which the index has decided about duplicates and snapshots.

    Args:
        rows: The spans.
        files: By the numbers that they have everywhere.
        folder: What is read again is copied there.
    """
    order = np.lexsort((rows.columns["offset"], rows.columns["source"]))
    columns = {name: values[order] for name, values in rows.columns.items()}
    numbers, columns["source"] = np.unique(columns["source"], return_inverse=True)
    everywhere = numbers.tolist()
    packed = {index for index, number in enumerate(everywhere) if number in rows.packed}
    store = Store(SharedReader([files[number] for number in everywhere], packed, folder))
    for number in everywhere:
        store.add_source(files[number].shown)
    texts = [[*rows.texts[name]] for name in _TEXTS]
    are_usual = (columns["warnings"] == 0) & (columns["length"] > 0) & (columns["span_id"] != 0)
    are_usual &= (columns["trace_high"] | columns["trace_low"]) != 0
    _adopt(store, columns, texts, np.flatnonzero(are_usual))
    others = np.flatnonzero(~are_usual)
    for source in np.unique(columns["source"][others]).tolist():
        store.add(source, _batch_of(columns, texts, others[columns["source"][others] == source]))
    store.names.cut.update(store.names.number(name) for name in rows.cut)
    return store


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
    names, services = (
        [of_column[number] for number in of_rows[name]]
        for name, of_column in zip(("name", "service"), texts, strict=True)
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
        ),
        of_rows["offset"],
        of_rows["length"],
        documents=sorted(documents),
    )
