"""Spans of formats other than the console exporter's: which format a decoded value is of, and its spans."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from spanview.formats.rows import Row, Rows, SpanDetails, ignore_part
from spanview.model.ids import UNUSABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanview.model.span import Source, Span

_BY_KEY: Final = {
    "roots": "own.rows",
    "traces": "own.rows",
    "attributes": "own.rows",
    "resourceSpans": "otlp.rows",
    "resource_spans": "otlp.rows",
    "batches": "otlp.rows",
    "scopeSpans": "otlp.rows",
    "scope_spans": "otlp.rows",
    "instrumentationLibrarySpans": "otlp.rows",
    "instrumentation_library_spans": "otlp.rows",
    "trace": "otlp.rows",
    "result": "otlp.rows",
    "data": "jaeger.rows",
    "traceID": "jaeger.rows",
    "traceId": "zipkin.rows",
    "SpanContext": "go",
}
"""Keys at the top of documents by which their formats are recognized."""
_QUICK: Final = {"trace_id": "own.rows", "traceId": "zipkin.rows", "resourceSpans": "otlp.rows"}
"""By the first keys of documents with one span the modules that know whether they are just that."""
_ALONE: Final = {"trace_id": "own.rows", "SpanContext": "go"}
"""By a key of it the modules of formats whose spans are documents of their own, which tell whether one is that."""
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
    """What a format's module has, which is imported when a file has such a value."""

    def is_document(self, value: Any) -> bool:
        """Tell whether a decoded value is a document of the format, or a part of one that holds whole spans.

        Such a part is a trace of a Jaeger download, or the spans of one resource.
        """

    def spans_of(self, value: Any, source: Source, pass_over: Callable[[Any], None] = ignore_part) -> list[Span]:
        """Return its spans in the order of the document, with what is unusable left out and marked.

        What isn't a span where a span belongs goes to `pass_over`, here and in each format.
        """

    def rows_of(self, value: Any, pass_over: Callable[[Any], None] = ignore_part) -> list[Row]:
        """Return the same as rows: spans are made only of what isn't as the format has it, or is rare."""


def format_of(value: Any) -> Format | None:
    """Return the format that a decoded JSON value is of; None if it has none of their spans."""
    first = next((part for part in _objects(value) if not part.keys().isdisjoint(_BY_KEY)), {})
    for name in (*{_BY_KEY[key]: None for key in first if key in _BY_KEY}, "wrapped"):
        module: Format = _module(name)
        if module.is_document(value):
            return module
    return None


def kept_of(document: Any) -> Any:
    """Return what the columns need of a document that isn't the SDK's: a row where it is the record of its one span.

    Rows of one with several spans, or whose span is no record by itself; one without spans as it is.
    """
    quick = _QUICK.get(next(iter(document), "")) if type(document) is dict else None
    kept = None if quick is None else _module(quick).kept_quickly(document)
    if kept is not None:
        return kept
    format_ = format_of(document)
    if format_ is None:
        return document
    passed = list[Any]()
    rows = format_.rows_of(document, passed.append)
    if len(rows) == 1 and not passed and is_record(document):
        return rows[0]
    return Rows(rows, len(passed))


def is_record(document: Any) -> bool:
    """Tell whether a document is the record of its span, where it has exactly one: a line of OTLP's, ours or Go's."""
    return type(document) is dict and ("resourceSpans" in document or reader_alone(document) is not None)


def reader_alone(value: Any) -> Callable[[Any, Source], Span] | None:
    """Return what makes a span of a decoded value that is one; None for one that is none, or is the SDK's."""
    for key, name in _ALONE.items() if type(value) is dict else ():
        if key in value and _module(name).is_span(value):
            reader: Callable[[Any, Source], Span] = _module(name).span_of
            return reader
    return None


@cache
def _module(name: str) -> Any:
    """Return the module of a format; importing it again would take a third of the time for a document of none."""
    return import_module(f"spanview.formats.{name}")


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
