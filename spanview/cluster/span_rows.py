"""Spans on their way between processes: the rows of a store as tables of Arrow, and a store of such rows.

A row has all by which the index decides about duplicates and snapshots, which it does again where rows of other files
join it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.cluster.shared_files import SharedReader
from spanview.formats.rows import Batch, SpanColumns
from spanview.index.arrays import copy_of, hashes_of
from spanview.index.store import Store
from spanview.model.problems import Warnings
from spanview.quick.adopt import Adopted
from spanview.quick.rows import ROW_BYTES, ScannedRows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from spanview.cluster.shared_files import SharedFile
    from spanview.index.arrays import Places

_TABLE_ROWS: Final = 65536
"""Rows of a table."""
_NUMBERS: Final = {
    "trace_high": "uint64",
    "trace_low": "uint64",
    "span_id": "uint64",
    "parent_id": "uint64",
    "start_ns": "int64",
    "end_ns": "int64",
    "kind": "uint8",
    "status": "uint8",
    "warnings": "uint16",
    "source": "uint32",
    "offset": "uint64",
    "length": "uint32",
    "document_offset": "uint64",
    "document_length": "uint32",
    "is_packed": "bool_",
}
"""Columns, and their types in Arrow."""
_COLUMNS: Final = {**_NUMBERS, "name": "binary", "service": "binary", "partition": "int64", "report": "binary"}
_SHARED: Final = ("span_id", "parent_id", "start_ns", "end_ns", "kind", "status", "warnings", "offset", "length")
"""Columns that the span table has as well."""
_ENCODING: Final = ("utf-8", "surrogatepass")
"""JSON can hold halves of characters, which Arrow's texts can't."""


def tables_of(store: Store, sources: Sequence[int], packed: Collection[int], partitions: int) -> Iterator[Any]:
    """Yield the spans of a store as tables of Arrow, with the partition of each.

    Args:
        sources: The number that each of its files has everywhere.
        packed: Which of its files are compressed.
        partitions: How many there are; the spans of one trace go to one.
    """
    arrow: Any = import_module("pyarrow")
    texts = [
        arrow.array([text.encode(*_ENCODING) for text in interned.texts], arrow.binary())
        for interned in (store.names, store.services)
    ]
    numbers, are_packed = np.array(sources, np.uint32), np.isin(np.arange(len(sources)), [*packed])
    high, low = copy_of(store.trace_table.id_high), copy_of(store.trace_table.id_low)
    for first in range(0, len(store.spans), _TABLE_ROWS):
        rows = slice(first, first + _TABLE_ROWS)
        columns = {name: np.asarray(getattr(store.spans, name)[rows]) for name in _SHARED}
        # The partition decides it anew.
        columns["warnings"] &= ~np.uint16(Warnings.DUPLICATE_ID)
        trace, source = np.asarray(store.spans.trace[rows]), np.asarray(store.spans.source[rows])
        columns |= {"trace_high": high[trace], "trace_low": low[trace]}
        columns |= {"source": numbers[source], "is_packed": are_packed[source]}
        columns |= _documents(store, source, columns)
        columns["partition"] = (hashes_of(high[trace], low[trace]) % np.uint64(partitions)).astype(np.int64)
        table = {name: arrow.array(values) for name, values in columns.items()}
        for name, of_texts in zip(("name", "service"), texts, strict=True):
            table[name] = of_texts.take(arrow.array(np.asarray(getattr(store.spans, name)[rows])))
        table["report"] = arrow.nulls(len(trace), arrow.binary())
        yield arrow.table(table, schema=_schema())


def report_table(report: bytes, partition: int) -> Any:
    """Return a table of one row that has something else than a span, for a partition without spans."""
    arrow: Any = import_module("pyarrow")
    known = {"report": report, "partition": partition}
    return arrow.table({name: [known.get(name)] for name in _COLUMNS}, schema=_schema())


def _schema() -> Any:
    arrow: Any = import_module("pyarrow")
    return arrow.schema([(name, getattr(arrow, kind)()) for name, kind in _COLUMNS.items()])


def _documents(store: Store, sources: NDArray[Any], columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return where the documents are of the spans that have no records of their own."""
    offsets, lengths = np.zeros(len(sources), np.uint64), np.zeros(len(sources), np.uint32)
    for index in np.flatnonzero(columns["length"] == 0).tolist():
        place = store.intake.details.place(int(sources[index]), int(columns["offset"][index]), 0)
        offsets[index], lengths[index] = place
    return {"document_offset": offsets, "document_length": lengths}


def store_of(table: Any, files: Sequence[SharedFile], folder: str) -> Store:
    """Return a store of the spans of a table of Arrow.

    Args:
        table: Rows as `tables_of` makes them, of any order.
        files: By the numbers that they have everywhere.
        folder: What is read again is copied there.
    """
    columns = {name: table[name].combine_chunks().to_numpy(zero_copy_only=False) for name in _NUMBERS}
    order = np.lexsort((columns["offset"], columns["source"]))
    columns = {name: values[order] for name, values in columns.items()}
    everywhere, columns["source"] = np.unique(columns["source"], return_inverse=True)
    packed = {*np.unique(columns["source"][columns["is_packed"]]).tolist()}
    store = Store(SharedReader([files[number] for number in everywhere.tolist()], packed, folder))
    for number in everywhere.tolist():
        store.add_source(files[number].shown)
    texts = []
    for name in ("name", "service"):
        coded = table[name].combine_chunks().dictionary_encode()
        columns[name] = coded.indices.to_numpy(zero_copy_only=False)[order]
        texts.append([text.decode(*_ENCODING) for text in coded.dictionary.to_pylist()])
    are_usual = (columns["warnings"] == 0) & (columns["length"] > 0) & (columns["span_id"] != 0)
    are_usual &= (columns["trace_high"] | columns["trace_low"]) != 0
    _adopt(store, columns, texts, np.flatnonzero(are_usual))
    others = np.flatnonzero(~are_usual)
    for source in np.unique(columns["source"][others]).tolist():
        store.add(source, _batch_of(columns, texts, others[columns["source"][others] == source]))
    return store


def _adopt(store: Store, columns: dict[str, NDArray[Any]], texts: list[list[str]], rows: Places) -> None:
    """Add spans as those of a scan."""
    if not len(rows):
        return
    scanned = ScannedRows(bytearray(ROW_BYTES * len(rows)), len(rows))
    left_out = {"warnings", "is_packed", "document_offset", "document_length"}
    scanned.append({name: values for name, values in columns.items() if name not in left_out}, rows)
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
        for offset, length in zip(of_rows["document_offset"], of_rows["document_length"], strict=True)
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
