"""Spans of formats other than the console exporter's: which format a decoded value is of, and its spans.

A format is a module with two functions, imported when a file has such a value:

is_document(value)          whether a decoded JSON value is a document of the format, or a part of one that holds whole
                            spans, as a trace of a Jaeger download, or the spans of one resource
spans_of(value, source)     its spans in the order of the document, with what is unusable left out and marked; a third
                            argument takes data that isn't a span where a span belongs
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from spanview.formats.rows import SpanColumns, SpanDetails, ignore_part
from spanview.model.codes import KIND_UNSPECIFIED
from spanview.model.ids import UNUSABLE
from spanview.model.problems import Warnings
from spanview.model.span import Source
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.model.span import Span

NOWHERE: Final = Source("", 0, 0)
"""The source of a span whose source isn't needed."""
_BY_KEY: Final = {
    "roots": "own.read",
    "traces": "own.read",
    "attributes": "own.read",
    "resourceSpans": "otlp.read",
    "resource_spans": "otlp.read",
    "batches": "otlp.read",
    "scopeSpans": "otlp.read",
    "scope_spans": "otlp.read",
    "instrumentationLibrarySpans": "otlp.read",
    "instrumentation_library_spans": "otlp.read",
    "trace": "otlp.read",
    "result": "otlp.read",
    "data": "jaeger.read",
    "traceID": "jaeger.read",
    "traceId": "zipkin.read",
}
"""Keys at the top of documents by which their formats are recognized."""
_WANTED: Final = {
    "OpenTelemetry SDK": ("context",),
    "OTLP": ("resourceSpans",),
    "Jaeger": ("data",),
    "Zipkin": ("traceId", "id", "timestamp"),
}
"""The keys by which most documents of a format are recognized."""
_MAX_KEYS: Final = 5
"""Keys that are shown of a document of another kind."""
_MAX_KEY_LENGTH: Final = 40
"""Characters that are shown of a key."""


class Format(Protocol):
    """What a format's module has."""

    def is_document(self, value: Any) -> bool:
        """Tell whether a decoded value is of the format."""

    def spans_of(self, value: Any, source: Source, pass_over: Callable[[Any], None] = ignore_part) -> list[Span]:
        """Return its spans."""


def format_of(value: Any) -> Format | None:
    """Return the format that a decoded JSON value is of; None if it has none of their spans."""
    first = next((part for part in _objects(value) if not part.keys().isdisjoint(_BY_KEY)), {})
    for name in (*{_BY_KEY[key]: None for key in first if key in _BY_KEY}, "wrapped"):
        module = _module(name)
        if module.is_document(value):
            return module
    return None


@cache
def _module(name: str) -> Format:
    """Return the module of a format; importing it again would take a third of the time for a document of none."""
    return cast(Format, import_module(f"spanview.formats.{name}"))


def what_it_lacks(value: Any) -> str:
    """Return the first keys of a document without spans, or of the first one in a list, and what it lacks.

    That is the first key of each format that it hasn't.

    Returns:
        `its keys are id, name, without context (OpenTelemetry SDK), …`; empty for what has no keys.
    """
    keys = [*next(_objects(value), {})]
    known = ", ".join(key[:_MAX_KEY_LENGTH] for key in keys[:_MAX_KEYS]) + (", …" if len(keys) > _MAX_KEYS else "")
    missing = {name: [key for key in wanted if key not in keys] for name, wanted in _WANTED.items()}
    lacking = ", ".join(f"{of_format[0]} ({name})" for name, of_format in missing.items() if of_format)
    return f"its keys are {known}" + (f", without {lacking}" if lacking else "") if keys else ""


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield a value, or the objects in a list, or in a list of lists: the first may be damaged."""
    for part in value if isinstance(value, list) else [value]:
        for item in part if isinstance(part, list) else [part]:
            if isinstance(item, dict):
                yield item


def columns_of(spans: Sequence[Span]) -> SpanColumns:
    """Return the columns of spans."""
    return SpanColumns(
        trace_ids=[UNUSABLE if span.trace_id is None else int(span.trace_id, 16) for span in spans],
        span_ids=[UNUSABLE if span.span_id is None else int(span.span_id, 16) for span in spans],
        parent_ids=[UNUSABLE if span.parent_id is None else int(span.parent_id, 16) for span in spans],
        start_ns=[NO_TIME if span.start_ns is None else span.start_ns for span in spans],
        end_ns=[NO_TIME if span.end_ns is None else span.end_ns for span in spans],
        names=[span.name for span in spans],
        services=[span.service for span in spans],
        kinds=[KIND_UNSPECIFIED if span.kind_value is None else span.kind_value for span in spans],
        statuses=[span.status.code_value for span in spans],
        warnings=[int(_warnings_of(span)) for span in spans],
        processes=[span.resource.process for span in spans],
    )


def details_of(span: Span) -> SpanDetails:
    """Return what the columns don't have of a span."""
    return SpanDetails(
        trace_id=UNUSABLE if span.trace_id is None else int(span.trace_id, 16),
        span_id=UNUSABLE if span.span_id is None else int(span.span_id, 16),
        status_description=span.status.description,
        attributes=span.attributes,
        events=span.events,
        links=span.links,
        trace_state=span.trace_state,
        resource=span.resource,
        scope=span.scope,
        extra=span.extra,
    )


def _warnings_of(span: Span) -> Warnings:
    """Return the warnings of a span, whatever its format."""
    warnings = span.warnings
    if span.trace_id is None or span.span_id is None:
        warnings |= Warnings.BAD_ID
    if span.end_ns is None:
        warnings |= Warnings.NO_END
    elif span.start_ns is not None and span.end_ns < span.start_ns:
        warnings |= Warnings.NEGATIVE_DURATION
    return warnings
