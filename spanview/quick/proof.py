"""What only a decoder sees: records that look right from their front to their end, and are damaged among attributes."""

from __future__ import annotations

from operator import eq
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from spanview.formats.console import columns as console
from spanview.formats.decoder import decode_span, kept_of
from spanview.formats.rows import Row, columns_of_rows
from spanview.formats.usual import NOWHERE
from spanview.index.blocks import blocks, in_file_order
from spanview.index.room import are_scanned
from spanview.model.problems import Problem, ProblemKind, Warnings

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from spanview.formats.rows import SpanColumns
    from spanview.index.arrays import Flags
    from spanview.index.store import Store

_COLUMNS = ("span_id", "parent_id", "start_ns", "end_ns", "name", "service", "kind", "status")
"""Columns of the span table that are compared, besides the trace."""


def agreeing(
    records: Iterable[bytes | memoryview],
    columns: Mapping[str, NDArray[Any]],
    names: Mapping[str, int],
    services: Mapping[str, int],
) -> Flags:
    """Return which records decode to what a scan has read."""
    of_sdk, of_others = list[int](), list[int]()
    fields, rows = list[Any](), list[Row]()
    for index, record in enumerate(records):
        try:
            kept = kept_of(orjson.loads(record))
        except orjson.JSONDecodeError:
            continue
        if type(kept) is tuple:
            of_sdk.append(index)
            fields.append(kept)
        elif type(kept) is Row:
            of_others.append(index)
            rows.append(kept)
    agrees = np.zeros(len(columns["span_id"]), np.bool_)
    for indexes, decoded in ((of_sdk, console.columns_of(fields)), (of_others, columns_of_rows(rows))):
        if indexes:
            agrees[indexes] = _equal(
                decoded, {name: values[indexes] for name, values in columns.items()}, names, services
            )
    return agrees


def _equal(
    decoded: SpanColumns, columns: Mapping[str, NDArray[Any]], names: Mapping[str, int], services: Mapping[str, int]
) -> Flags:
    """Return which spans are the same in columns that were decoded and in those of a scan, and are nothing unusual."""
    halves = [divmod(trace_id, 2**64) for trace_id in decoded.trace_ids]
    expected: dict[str, list[int | None]] = {
        "trace_high": [high for high, _ in halves],
        "trace_low": [low for _, low in halves],
        "span_id": [*decoded.span_ids],
        "parent_id": [*decoded.parent_ids],
        "start_ns": [*decoded.start_ns],
        "end_ns": [*decoded.end_ns],
        "name": [names.get(text) for text in decoded.names],
        "service": [services.get(text) for text in decoded.services],
        "kind": [*decoded.kinds],
        "status": [*decoded.statuses],
    }
    fits: Flags = np.array(decoded.warnings, np.uint16) & ~np.uint16(Warnings.NO_END) == 0
    for name, values in expected.items():
        known = columns[name].tolist()
        # Mostly all agree, and checking that is cheaper than comparing one by one.
        if known != values:
            fits &= np.array([*map(eq, known, values)], np.bool_)
    return fits


def prove(store: Store) -> Iterator[int]:
    """Decode every record that was scanned; those that differ are marked, and are problems.

    Args:
        store: What was loaded; other threads may add to it and read it meanwhile.

    Yields:
        How many spans are still to be decoded.
    """
    spans, traces, intake = store.spans, store.trace_table, store.intake
    rows = np.flatnonzero(are_scanned(intake))
    remaining = len(rows)
    for block in blocks(store, in_file_order(store, rows)):
        remaining -= len(block.rows)
        # What can't be read any more is reported when it is opened.
        if block.data is not None:
            data = memoryview(block.data)
            records = [data[start:end] for start, end in zip(block.starts.tolist(), block.ends.tolist(), strict=True)]
            columns = {name: _values(getattr(spans, name), block.rows) for name in _COLUMNS}
            numbers = _values(spans.trace, block.rows)
            columns |= {"trace_high": _values(traces.id_high, numbers), "trace_low": _values(traces.id_low, numbers)}
            for row in block.rows[~agreeing(records, columns, store.names, store.services)].tolist():
                # Some values are unusual but not damaged: the general decoder decides.
                if Warnings.DETAIL_LOST in store.span(row).warnings:
                    _mark(store, row)
                elif (decoded := decode_span(store.record(row) or b"", NOWHERE)) is not None:
                    spans.warnings[row] |= decoded.warnings.value
        yield remaining


def _values(column: array[int], rows: NDArray[Any]) -> NDArray[Any]:
    """Return some values of a column, which may grow meanwhile."""
    return np.array([*map(column.__getitem__, rows.tolist())], column.typecode)


def _mark(store: Store, row: int) -> None:
    spans, tallies = store.spans, store.tallies
    spans.warnings[row] |= Warnings.DETAIL_LOST.value
    path, offset, length = store.sources[spans.source[row]].path, spans.offset[row], spans.length[row]
    detail = f"a record that begins at byte {offset:,} is damaged among its attributes; its span is shown without them"
    tallies.torn += 1
    tallies.add_problem(Problem(ProblemKind.TORN, path, offset, length, detail))
