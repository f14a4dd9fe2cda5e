"""Whole spans of many rows: what the columns and earlier records tell of them isn't decoded again."""

from __future__ import annotations

from dataclasses import fields, make_dataclass
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.jsontext import has_long_integer
from spanview.index.blocks import batches, read_records
from spanview.index.known_lines import KnownLines
from spanview.index.known_records import KnownRecords
from spanview.model.problems import NO_WARNINGS
from spanview.model.span import STATUSES, Source, Span, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.index.store import Store

READ_SPANS: Final = 1024
"""Spans that are read at once."""
_OpenSpan: Final[Any] = make_dataclass("_OpenSpan", [field.name for field in fields(Span)], slots=True, eq=False)
"""What a span is until it is filled: its own class is frozen, and sets each field by a call, which takes six times as
long, 2.5 of the 27 µs that a span takes in OTLP."""


def spans_at(store: Store, rows: Sequence[int], known: KnownRecords | None = None) -> Iterator[Span]:
    """Yield the spans of any rows, as `Store.span` returns them.

    Args:
        known: What earlier records have told, for whoever asks more than once.
    """
    known, lines = KnownRecords(store) if known is None else known, KnownLines()
    for batch in batches(store, rows, READ_SPANS):
        records, columns = read_records(store, rows[batch]), known.columns(rows[batch])
        fields = zip(rows[batch], records, known.parts(records, columns), zip(*columns, strict=True), strict=True)
        for row, record, parts, of_columns in fields:
            layout, trace_id, span_id, parent_id, _, _, start, end, source, offset, length = of_columns
            details, status = None, STATUSES[0] if layout is None else layout.status
            if parts is not None and not has_long_integer(parts[0]):
                _, attributes, (_, details, _) = parts
            elif layout is not None and record is not None and (details := lines.details(record)) is not None:
                attributes = details.attributes
                if details.status_description is not None:
                    status = Status(status.code_value, details.status_description)
                if details.trace_id != int(trace_id, 16) or details.span_id != int(span_id, 16):
                    # Another record may be there by now.
                    details = None
            if details is None or layout is None:
                yield store.span(row) if record is None else store.span_in(row, record)
                continue
            span = _OpenSpan(
                trace_id.decode(),
                span_id.decode(),
                parent_id.decode() if layout.has_parent else None,
                layout.name,
                layout.kind,
                start,
                end,
                status,
                attributes,
                details.events,
                details.links,
                details.trace_state,
                details.resource,
                details.scope,
                details.extra,
                Source(store.sources[source].path, offset, length),
                NO_WARNINGS,
            )
            span.__class__ = Span
            yield span
