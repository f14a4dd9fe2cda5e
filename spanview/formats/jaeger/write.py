"""Spans as Jaeger's JSON: what its query service answers with, and what its user interface takes for an upload.

Source: `internal/uimodel/model.go` of jaegertracing/jaeger, and `types/trace.ts` of jaegertracing/jaeger-ui. Processes
are kept apart from spans; the names of a part's tags are those of "OpenTelemetry to Jaeger Transformation".
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.console.columns import as_text
from spanview.formats.jsontext import dumps_sorted
from spanview.formats.tags import (
    ERROR_TAG,
    EVENTS_AT_ZERO,
    KIND,
    RESERVED,
    STATUS_CODE,
    STATUS_DESCRIPTION,
    dropped_in,
    ignore_loss,
    lose_extra,
    lose_reserved,
    lose_unsupported,
    micros_of,
    shared_tags,
    short_trace_id,
    text_of,
)
from spanview.model.codes import ERROR, KIND_NAMES
from spanview.model.span import BytesText

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from spanview.model.span import Event, Resource, Span

FORMAT: Final = "jaeger"
"""The key of `extra` for what only Jaeger has."""
KINDS: Final = {name.lower(): value for value, name in enumerate(KIND_NAMES)}
"""What the tag for the kind says."""
EVENT: Final = "event"
"""The field of a log that has the event's name."""
EVENT_DROPPED: Final = "otel.event.dropped_attributes_count"
PARENT_TYPES: Final = ("CHILD_OF", "FOLLOWS_FROM")
NO_END: Final = "spanview: no end time; the duration is unknown"
"""A warning of a span, for what Jaeger has no field for."""
TAKEN_FOR_PARENT: Final = "dropped {link} of spans without a parent, which Jaeger would take for the parent"
_MAX_SAFE_INTEGER: Final = 2**53 - 1
"""The largest integer that the user interface holds exactly."""
_PLAIN: Final = frozenset((str, int, bool))
LOOKED_AT: Final = RESERVED | {ERROR_TAG}
"""Attributes whose values change more than what is written of themselves."""
_INT64: Final = 2**63
_MAX_KNOWN_RESOURCES: Final = 256
"""Resources whose processes are known at once."""


class ProcessTable:
    """The processes of one trace, each once, named in the order in which spans first have them.

    Args:
        known: What is written of resources, by their identity, for whoever writes many traces: the resource, its
            process, the same as a text, and what was lost of it.
    """

    def __init__(self, known: dict[int, tuple[Resource, dict[str, Any], bytes, list[str]]] | None = None) -> None:
        self.values: dict[str, dict[str, Any]] = {}
        """By their names."""
        self._names: dict[bytes, str] = {}
        self._known = {} if known is None else known

    def of(self, resource: Resource, lose: Callable[[str], None]) -> str:
        """Return the name of a resource's process."""
        known = self._known.get(id(resource))
        if known is None:
            lost: list[str] = []
            process = process_of(resource, lost.append)
            if len(self._known) >= _MAX_KNOWN_RESOURCES:
                self._known.clear()
            known = self._known[id(resource)] = resource, process, dumps_sorted(process), lost
        for sentence in known[3]:
            lose(sentence)
        return self._named(known[1], known[2])

    def name_of(self, process: dict[str, Any]) -> str:
        """Return the name of a process."""
        return self._named(process, dumps_sorted(process))

    def _named(self, process: dict[str, Any], text: bytes) -> str:
        name = self._names.setdefault(text, f"p{len(self._names) + 1}")
        self.values.setdefault(name, process)
        return name


def value_of(span: Span, processes: ProcessTable, lose: Callable[[str], None] = ignore_loss) -> dict[str, Any] | None:
    """Return one span, or None where it can't be written because an id is unusable."""
    if span.trace_id is None or span.span_id is None:
        lose("dropped {span} without usable ids")
        return None
    own = own_extra(span.extra)
    lose_unsupported(span, FORMAT, lose)
    start, end = micros_of(span.start_ns, lose), micros_of(span.end_ns, lose)
    duration = 0 if span.duration_ns is None else end - start
    if span.start_ns is None:
        lose("wrote {span} without a start as starting in 1970")
        if span.end_ns is not None:
            lose("dropped the ends of {span} without a start")
    if span.duration_ns is not None and span.duration_ns < 0:
        lose("wrote {negative duration} as 0")
    kept, flags = own.get("duration"), own.get("flags")
    warnings = [text for text in texts_in(own.get("warnings")) if text != NO_END]
    if span.end_ns is None and not is_count(kept):
        warnings.append(NO_END)
    return {
        "traceID": short_trace_id(span.trace_id),
        "spanID": span.span_id,
        **({"flags": flags} if is_count(flags) else {}),
        "operationName": span.name,
        "references": references_of(span, lose),
        "startTime": start,
        "duration": kept if span.end_ns is None and is_count(kept) else max(duration, 0),
        "tags": apply_changes(tags_of(span, lose), own),
        "logs": [log_of(event, lose) for event in span.events] if span.events else [],
        "processID": processes.of(span.resource, lose),
        "warnings": warnings or None,
    }


def own_extra(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of an `extra` that only Jaeger has."""
    own = extra.get(FORMAT) if extra else None
    return own if isinstance(own, dict) else {}


def is_count(value: object) -> bool:
    """Tell whether a value is a number that Jaeger can have for a duration or for flags."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _INT64


def texts_in(value: object) -> list[str]:
    """Return the texts of a list; [] of anything else."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def warnings_of_trace(span: Span) -> list[str]:
    """Return the warnings of a trace, which its first span has kept."""
    return texts_in(own_extra(span.extra).get("traceWarnings"))


def references_of(span: Span, lose: Callable[[str], None] = ignore_loss) -> list[dict[str, Any]]:
    """Return the parent and the links.

    Readers take the first reference within the trace for the parent. So the parent comes first, and where a span has
    none, a link within its trace can't be written.
    """
    kept = own_extra(span.extra).get("references")
    if isinstance(kept, list) and all(map(is_reference, kept)):
        return kept
    references = [] if span.parent_id is None else [_reference("CHILD_OF", str(span.trace_id), span.parent_id)]
    for link in span.links:
        if link.trace_id is None or link.span_id is None:
            lose("dropped {link} without usable ids")
            continue
        if span.parent_id is None and link.trace_id == span.trace_id:
            lose(TAKEN_FOR_PARENT)
            continue
        for _ in link.attributes:
            lose("dropped {link attribute}")
        if link.trace_state:
            lose("dropped the trace states of {link}")
        lose_extra(link.extra, FORMAT, lose)
        references.append(_reference("FOLLOWS_FROM", link.trace_id, link.span_id))
    return references


def with_references_within(
    value: dict[str, Any], max_count: int, lose: Callable[[str], None] = ignore_loss
) -> dict[str, Any]:
    """Return a written span with only the first references within its trace, and those into others.

    The user interface takes the first one within the trace for the parent, whatever precedes it.
    """
    references = []
    for reference in value["references"]:
        if reference["traceID"] == value["traceID"] and reference["refType"] in PARENT_TYPES:
            if not max_count:
                lose(TAKEN_FOR_PARENT)
                continue
            max_count -= 1
        references.append(reference)
    return {**value, "references": references}


def is_reference(value: Any) -> bool:
    """Tell whether a value is a reference as it is written."""
    return (
        isinstance(value, dict)
        and value.keys() == {"refType", "traceID", "spanID"}
        and all(isinstance(part, str) for part in value.values())
    )


def _reference(kind: str, trace_id: str, span_id: str) -> dict[str, Any]:
    return {"refType": kind, "traceID": short_trace_id(trace_id), "spanID": span_id}


def process_of(resource: Resource, lose: Callable[[str], None]) -> dict[str, Any]:
    """Return the process of a resource; its service name is empty if the resource has none."""
    attributes = dict(resource.attributes)
    service = attributes.pop("service.name", None)
    if service is not None and not isinstance(service, str):
        lose("wrote {value} of types that Jaeger lacks as text")
    tags = [tag_of(key, value, lose) for key, value in attributes.items()]
    return {"serviceName": as_text(service), "tags": apply_changes(tags, own_extra(resource.extra))}


def tags_of(span: Span, lose: Callable[[str], None] = ignore_loss) -> list[dict[str, Any]]:
    """Return the tags, those for parts of the span first: of several with one name, the first one counts."""
    pairs = shared_tags(span, lose)
    if span.kind_name is not None:
        pairs.append((KIND, span.kind_name.lower()))
    if span.status.code_value:
        pairs.append((STATUS_CODE, str(span.status)))
    if span.status.code_value == ERROR:
        pairs.append((ERROR_TAG, True))
    if span.status.description is not None:
        pairs.append((STATUS_DESCRIPTION, span.status.description))
    attributes = {**span.attributes}
    if span.status.code_value != ERROR and attributes.get(ERROR_TAG) in (True, "true"):
        lose("dropped {error attribute} of spans that didn't fail")
        del attributes[ERROR_TAG]
    lose_reserved(pairs, attributes, KINDS, lose)
    return [tag_of(key, value, lose) for key, value in (*pairs, *attributes.items())]


def log_of(event: Event, lose: Callable[[str], None] = ignore_loss) -> dict[str, Any]:
    """Return an event as a log."""
    dropped = dropped_in(event.extra, "dropped_attributes_count")
    pairs: list[tuple[str, Any]] = [(EVENT, event.name)] if event.name else []
    pairs += [] if dropped is None else [(EVENT_DROPPED, dropped)]
    lose_extra(event.extra, FORMAT, lose, "dropped_attributes_count")
    if event.timestamp_ns is None:
        lose(EVENTS_AT_ZERO)
    fields = [tag_of(key, value, lose) for key, value in (*pairs, *event.attributes.items())]
    return {"timestamp": micros_of(event.timestamp_ns, lose), "fields": apply_changes(fields, own_extra(event.extra))}


def tag_of(key: str, value: Any, lose: Callable[[str], None] = ignore_loss) -> dict[str, Any]:
    """Return an attribute as a tag with its type; what Jaeger has no type for is text."""
    if type(value) is str:
        return {"key": key, "type": "string", "value": value}
    match value:
        case BytesText():
            return {"key": key, "type": "binary", "value": str(value)}
        case str():
            return {"key": key, "type": "string", "value": value}
        case bool():
            return {"key": key, "type": "bool", "value": value}
        case int() if -_INT64 <= value < _INT64:
            return {"key": key, "type": "int64", "value": value if abs(value) <= _MAX_SAFE_INTEGER else str(value)}
        case float():
            return {"key": key, "type": "float64", "value": value}
    lose("wrote {value} of types that Jaeger lacks as text")
    return {"key": key, "type": "string", "value": text_of(value)}


def apply_changes(tags: list[dict[str, Any]], own: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return tags without those that the file didn't have, and with those that nothing else keeps."""
    if not own:
        return tags
    less, more = ([tag for tag in _list(own.get(key)) if is_tag(tag)] for key in ("less", "more"))
    return _with_tags(_without_tags(tags, less), more) if less or more else tags


def tag_changes(written: list[dict[str, Any]], raw: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the changes by which `apply_changes` turns the written tags into those of the file."""
    if written == raw:
        # Tags of different types have different names of them.
        return {}
    parts = {"less": _without_tags(written, raw), "more": _without_tags(raw, written)}
    return {key: tags for key, tags in parts.items() if tags}


def is_tag(value: Any) -> bool:
    """Tell whether a value is a tag as it is written."""
    return isinstance(value, dict) and value.keys() == {"key", "type", "value"} and isinstance(value["key"], str)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _with_tags(tags: list[dict[str, Any]], more: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return tags with others, before the last one of the same key: readers take that for the attribute."""
    last = {tag["key"]: index for index, tag in enumerate(tags)}
    before: dict[int, list[dict[str, Any]]] = {}
    for tag in more:
        before.setdefault(last.get(tag["key"], len(tags)), []).append(tag)
    return [tag for index in range(len(tags) + 1) for tag in (*before.get(index, ()), *tags[index : index + 1])]


def _without_tags(tags: list[dict[str, Any]], others: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return tags but for those that others are equal to, one for one."""
    counts = Counter(map(_identity_of, others))
    remaining = []
    for tag in tags:
        identity = _identity_of(tag)
        if counts[identity] > 0:
            counts[identity] -= 1
        else:
            remaining.append(tag)
    return remaining


def _identity_of(tag: dict[str, Any]) -> Hashable:
    """Return what two tags share exactly when they are equal, types included."""
    value = tag["value"]
    if type(value) in _PLAIN and type(tag["type"]) is str:
        return tag["key"], tag["type"], type(value), value
    return dumps_sorted(tag)
