"""What only a decoder sees: records that look right from their front to their end, and are damaged among attributes."""

from __future__ import annotations

from itertools import groupby
from operator import eq, itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from spanview.formats.console import columns as console
from spanview.formats.decoder import decode_span, kept_of
from spanview.formats.jsontext import loads_usual
from spanview.formats.rows import Row, Rows, columns_of_rows
from spanview.formats.usual import NOWHERE
from spanview.index.arrays import copy_of, slices
from spanview.index.blocks import blocks, in_file_order
from spanview.index.room import are_scanned
from spanview.model.problems import Problem, ProblemKind, Warnings

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.formats.rows import SpanColumns
    from spanview.index.arrays import Flags, Places
    from spanview.index.blocks import Block
    from spanview.index.store import Store

_COLUMNS = ("span_id", "parent_id", "start_ns", "end_ns", "name", "service", "kind", "status")
"""Columns of the span table that are compared, besides the trace."""


def agreeing(
    records: Iterable[tuple[bytes | memoryview, int]],
    columns: Mapping[str, NDArray[Any]],
    names: Mapping[str, int],
    services: Mapping[str, int],
) -> Flags:
    """Return which spans are in their records what a scan has read.

    Args:
        records: Each with how many of the spans are in it, all in their order.
    """
    of_sdk, of_others = list[int](), list[int]()
    fields, rows = list[Any](), list[Row]()
    index = 0
    for record, count in records:
        kept = kept_of(loads_usual(record))
        if type(kept) is tuple:
            of_sdk.append(index)
            fields.append(kept)
        elif type(kept) is Row or (type(kept) is Rows and len(kept) == count and not kept.passed):
            of_others += range(index, index + count)
            rows += [kept] if type(kept) is Row else kept
        index += count
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


def prove(store: Store, first: int = 0) -> Iterator[int]:
    """Decode every record that was scanned; those that differ are marked, and are problems.

    Args:
        store: What was loaded; other threads may add to it and read it meanwhile.
        first: The row to begin with.

    Yields:
        How many spans are still to be decoded.
    """
    spans, scanned = store.spans, are_scanned(store.intake)
    scanned[:first] = False
    remaining = int(np.count_nonzero(scanned))
    for block in _blocks(store, scanned):
        remaining -= len(block.rows)
        if not spans.length[int(block.rows[0])]:
            for of_document, agrees in _agreeing_parts(store, block.rows):
                _note(store, of_document[~agrees].tolist())
                yield remaining
            continue
        # What can't be read any more is reported when it is opened.
        if block.data is not None:
            data = memoryview(block.data)
            records = [
                (data[start:end], 1) for start, end in zip(block.starts.tolist(), block.ends.tolist(), strict=True)
            ]
            agrees = agreeing(records, _columns(store, block.rows), store.names, store.services)
            _note(store, block.rows[~agrees].tolist())
        yield remaining


def _blocks(store: Store, scanned: Flags) -> Iterator[Block]:
    """Yield the records of some rows: those that share documents, then the others, few at a time to save room."""
    are_parts = copy_of(store.spans.length)[: len(scanned)] == 0
    yield from blocks(store, in_file_order(store, np.flatnonzero(scanned & are_parts)))
    scanned &= ~are_parts
    for part in slices(len(scanned)):
        yield from blocks(store, in_file_order(store, part.start + np.flatnonzero(scanned[part])))


def _agreeing_parts(store: Store, rows: Places) -> Iterator[tuple[Places, Flags]]:
    """Yield the rows that share each document, in file order, and which of them are in it what a scan has read."""
    spans, details = store.spans, store.intake.details
    places = [(spans.source[row], *details.place(spans.source[row], spans.offset[row], 0)) for row in rows.tolist()]
    for (source, begin, size), of_document in groupby(zip(places, rows.tolist(), strict=True), itemgetter(0)):
        parts = np.array([row for _, row in of_document])
        document = details.reader.read(source, begin, size)
        agrees = np.ones(len(parts), np.bool_)
        if document is not None:
            kept = kept_of(loads_usual(document))
            numbers = [spans.offset[row] - begin for row in parts.tolist()]
            agrees[:] = False
            if type(kept) is Rows and max(numbers) < len(kept):
                decoded = columns_of_rows([kept[number] for number in numbers])
                agrees = _equal(decoded, _columns(store, parts), store.names, store.services)
        yield parts, agrees


def _columns(store: Store, rows: Places) -> dict[str, NDArray[Any]]:
    """Return what the tables have of some rows."""
    spans, traces = store.spans, store.trace_table
    columns = {name: _values(getattr(spans, name), rows) for name in _COLUMNS}
    numbers = _values(spans.trace, rows)
    return columns | {"trace_high": _values(traces.id_high, numbers), "trace_low": _values(traces.id_low, numbers)}


def _note(store: Store, rows: Sequence[int]) -> None:
    """Mark the rows of spans that decode to something else, or to nothing."""
    spans, details, damaged = store.spans, store.intake.details, set[tuple[int, int]]()
    for row in rows:
        # Some values are unusual but not damaged: the general decoder decides.
        if Warnings.DETAIL_LOST in store.span(row).warnings:
            spans.warnings[row] |= Warnings.DETAIL_LOST.value
            source = spans.source[row]
            offset, length = details.place(source, spans.offset[row], spans.length[row])
            if (source, offset) not in damaged:
                damaged.add((source, offset))
                _report(store, source, offset, length)
        elif not spans.length[row]:
            span = details.span(spans.source[row], spans.offset[row])
            spans.warnings[row] |= 0 if span is None else span.warnings.value
        elif (decoded := decode_span(store.record(row) or b"", NOWHERE)) is not None:
            spans.warnings[row] |= decoded.warnings.value


def _values(column: array[int], rows: NDArray[Any]) -> NDArray[Any]:
    """Return some values of a column, which may grow meanwhile."""
    return np.array([*map(column.__getitem__, rows.tolist())], np.asarray(column[:0]).dtype)


def _report(store: Store, source: int, offset: int, length: int) -> None:
    tallies = store.tallies
    detail = f"a record that begins at byte {offset:,} is damaged among its attributes; its span is shown without them"
    tallies.torn += 1
    tallies.add_problem(Problem(ProblemKind.TORN, store.sources[source].path, offset, length, detail))
