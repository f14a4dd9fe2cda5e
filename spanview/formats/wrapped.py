"""Documents that are whole JSON, and of no format as a whole: the items of a list in them are read one by one.

[null, {"name": …}, …           a list of the SDK's spans, or of spanview's, of which the first is none
{"dbta": [{"traceID": …}, …     traces, or the spans of resources, after an unknown key, as damage makes one
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.console import columns as console
from spanview.formats.rows import Row, ignore_part
from spanview.formats.usual import NOWHERE, row_of_span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanview.formats.foreign import Format
    from spanview.model.span import Source, Span

_CONTAINERS: Final = {
    "roots": ("own.rows", "traces"),
    "spans": ("jaeger.rows", "data"),
    "scopeSpans": ("otlp.rows", "resourceSpans"),
    "scope_spans": ("otlp.rows", "resourceSpans"),
    "instrumentationLibrarySpans": ("otlp.rows", "resourceSpans"),
}
"""By a key of the parts the format, and the key that the list of them should have."""


def is_document(value: Any) -> bool:
    """Tell whether a decoded value holds records, or parts of a format, in a list."""
    return any(map(_is_record, value)) if isinstance(value, list) else _unwrapped(value) is not None


def spans_of(value: Any, source: Source, pass_over: Callable[[Any], None] = ignore_part) -> list[Span]:
    """Return the spans of a value for which `is_document` holds, in its order."""
    if isinstance(value, list):
        return [*_records(value, source, pass_over)]
    unwrapped = _unwrapped(value)
    return [] if unwrapped is None else unwrapped[0].spans_of(unwrapped[1], source, pass_over)


def rows_of(value: Any, pass_over: Callable[[Any], None] = ignore_part) -> list[Row]:
    """Return the rows of what `spans_of` returns spans of."""
    unwrapped = None if isinstance(value, list) else _unwrapped(value)
    if unwrapped is None:
        return [*map(row_of_span, spans_of(value, NOWHERE, pass_over))]
    return unwrapped[0].rows_of(unwrapped[1], pass_over)


def _is_record(value: Any) -> bool:
    from spanview.formats.foreign import reader_alone

    return console.is_span(value) or reader_alone(value) is not None


def _records(values: list[Any], source: Source, pass_over: Callable[[Any], None]) -> Iterator[Span]:
    from spanview.formats.console.spans import span_of
    from spanview.formats.foreign import reader_alone

    for value in values:
        if console.is_span(value):
            yield span_of(value, source)
        elif (read := reader_alone(value)) is not None:
            yield read(value, source)
        else:
            pass_over(value)


def _unwrapped(value: Any) -> tuple[Format, dict[str, Any]] | None:
    """Return the format of the first list of parts, and a document that has it under the key that it should have."""
    for parts in value.values() if isinstance(value, dict) else ():
        for key in {key for part in parts if isinstance(part, dict) for key in part} if isinstance(parts, list) else ():
            if key in _CONTAINERS:
                name, container = _CONTAINERS[key]
                module: Any = import_module(f"spanview.formats.{name}")
                document = {container: parts}
                if any(map(module.is_document, parts)) and module.is_document(document):
                    return module, document
    return None
