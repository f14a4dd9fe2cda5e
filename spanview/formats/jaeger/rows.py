"""The rows of Jaeger's spans that are just as its query service has them, without making spans of them.

Whatever isn't usual is left to `read`, which gives the same for all that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanview.formats.jaeger.read import is_document, resources_of, span_of, spans_of, traces_in, valid_records
from spanview.formats.jaeger.write import KINDS, PARENT_TYPES
from spanview.formats.rows import Row, ignore_part
from spanview.formats.tags import ERROR_TAG, KIND, STATUS_CODE, status_named, time_of_micros, times_of
from spanview.formats.usual import (
    NOWHERE,
    OWN_BYTES,
    TRACE_BYTES,
    UnusualError,
    names_in,
    row_of_span,
    time_warnings,
    usual_ids,
)
from spanview.model.codes import ERROR, KIND_UNSPECIFIED

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.model.span import Resource

__all__ = ["is_document", "rows_of", "spans_of"]

_USUAL_KINDS: Final = frozenset((("string", str), ("bool", bool), ("int64", int), ("float64", float), ("float64", int)))
"""Types of tags, and what JSON has for them."""
_ONLY_TEXT: Final = frozenset((str,))
_TYPES: Final = (str, list, list, str)
"""Of a name, tags, logs and the name of a process."""


def rows_of(value: Any, pass_over: Callable[[Any], None] = ignore_part) -> list[Row]:
    """Return the rows of what `spans_of` returns spans of."""
    rows = list[Row]()
    for trace in traces_in(value, pass_over):
        processes = trace.get("processes")
        names = {key: _names_in(process) for key, process in processes.items()} if type(processes) is dict else {}
        resources: dict[str, tuple[Resource, bool]] | None = None
        for span in valid_records(trace, pass_over):
            row = _row(span, trace["traceID"], names)
            if row is None:
                resources = resources_of(trace) if resources is None else resources
                row = row_of_span(span_of(span, trace, resources, NOWHERE))
            rows.append(row)
    return rows


def _names_in(process: Any) -> tuple[str, str] | None:
    """Return service and text of a process; None where something about it isn't usual."""
    try:
        name, attributes = process["serviceName"], _values_of(process.get("tags", []))
        return names_in({**attributes, "service.name": name}) if name and type(name) is str else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _values_of(tags: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the values of tags.

    Raises:
        ValueError, TypeError, KeyError: Something about them isn't usual.
    """
    if type(tags) is not list:
        raise UnusualError
    values = {tag["key"]: tag["value"] for tag in tags}
    kinds = {(tag["type"], type(tag["value"])) for tag in tags}
    if len(values) != len(tags) or not kinds <= _USUAL_KINDS or not {*map(type, values)} <= _ONLY_TEXT:
        raise UnusualError
    return values


def _row(span: dict[str, Any], trace_id: Any, names: dict[str, tuple[str, str] | None]) -> Row | None:
    """Return the row of a span; None where something isn't usual."""
    try:
        name, references, tags = span["operationName"], span["references"], span["tags"]
        logs, process_id = span["logs"], span["processID"]
        if (
            (*map(type, (name, tags, logs, process_id)),) != _TYPES
            or span["traceID"] != trace_id
            or type(references) is not list
            or span.get("warnings")
            or "process" in span
            or "parentSpanID" in span
        ):
            return None
        ids, parent_id = usual_ids(trace_id, span["spanID"], None), b""
        for reference in references:
            kind, other = reference["refType"], usual_ids(reference["traceID"], reference["spanID"], None)
            if type(kind) is not str:
                return None
            if not parent_id and other[:TRACE_BYTES] == ids[:TRACE_BYTES] and kind in PARENT_TYPES:
                parent_id = other[TRACE_BYTES:OWN_BYTES]
        for log in logs:
            if time_of_micros(log["timestamp"])[1]:
                return None
            _values_of(log["fields"])
        service, process = names[process_id] or (None, None)
        start, end, is_malformed = times_of(span["startTime"], span["duration"])
        if is_malformed or service is None or process is None:
            return None
        values = _values_of(tags)
        kind = values.get(KIND)
        failed = values.get(ERROR_TAG)
        status = ERROR if failed is True or failed == "true" else status_named(values.get(STATUS_CODE)) or 0
        return Row(
            (
                *(ids[:OWN_BYTES] + parent_id if parent_id else ids, start, end, name, service),
                KINDS.get(kind, KIND_UNSPECIFIED) if type(kind) is str else KIND_UNSPECIFIED,
                *(status, time_warnings(start, end), process),
            )
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
