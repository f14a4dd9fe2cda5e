"""Spans as OTLP's JSON, a line for some spans of one trace, as the collector's file exporter writes and reads them.

Source: as in `otlp`. Ids are in lower-case hex digits, enums numbers, integers of 64 bits text, and what has its
default is left out. Spans stand in the order in which they come, those of one resource and scope together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanview.formats.jsontext import dumps_strict
from spanview.formats.otlp import DROPPED, KINDS, LINK_EXTRA, SPAN_EXTRA
from spanview.formats.otlp_value import UINT32, OtlpValueWriter, snake_case
from spanview.formats.tracestate import format_trace_state_header
from spanview.model.problems import Warnings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from spanview.formats.otlp_value import Lose
    from spanview.model.span import Event, Link, Resource, Scope, Span, Status

_MOST_BYTES: Final = 512 * 1024
"""Of the spans in a line, but for one that is longer: the collector's receiver for files reads lines of 1 MiB."""
_IDS: Final = frozenset(("trace_id", "span_id", "parent_span_id"))
_BAD_IDS: Final = "unusable ids left out"
_LOST_MARKS: Final = (
    (Warnings.ODD_VALUE, "marks of spans with an odd field left out"),
    (Warnings.DETAIL_LOST, "spans whose details their files don't hold any more"),
)


def lines_of(spans: Iterable[Span], lose: Lose) -> Iterator[bytes]:
    """Yield the lines of spans, each a `TracesData` with its line feed.

    Args:
        spans: In the order in which they are to be written.
        lose: Takes note of what can't be said.
    """
    lines = _Line(lose)
    for span in spans:
        if lines.add(span) >= _MOST_BYTES:
            yield lines.taken()
    if lines.size:
        yield lines.taken()


class _Line:
    """The spans of one line, by resource and scope.

    Args:
        lose: Takes note of what can't be said.
    """

    def __init__(self, lose: Lose) -> None:
        self._writer = OtlpValueWriter(lose)
        self._key_writer = OtlpValueWriter(lambda _: None)
        self._groups: dict[tuple[bytes, bytes], dict[tuple[bytes, bytes], list[bytes]]] = {}
        """Spans by what stands before and behind them, of the scope and of the resource."""
        self._last: tuple[Resource | None, tuple[bytes, bytes]] = None, (b"", b"")
        """The resource of the last span, and what stands before and behind its spans: the next has the same, mostly."""
        self.size = 0
        """Bytes of the spans."""

    def add(self, span: Span) -> int:
        """Add a span, and return the size."""
        # What can't be said of a resource is lost once a line, not once a span.
        if span.resource is not self._last[0]:
            self._last = span.resource, _resource_ends(span.resource, self._key_writer)
        key = self._last[1]
        scopes = self._groups.get(key)
        if scopes is None:
            scopes = self._groups[_resource_ends(span.resource, self._writer)] = {}
        key = _scope_ends(span.scope, self._key_writer)
        spans = scopes.get(key)
        if spans is None:
            spans = scopes[_scope_ends(span.scope, self._writer)] = []
        text = dumps_strict(span_object(span, self._writer), has_odd_numbers=False)
        spans.append(text)
        self.size += len(text)
        return self.size

    def taken(self) -> bytes:
        """Return the line and begin a new one."""
        of_resources = [
            before + b",".join([head + b",".join(spans) + tail for (head, tail), spans in scopes.items()]) + behind
            for (before, behind), scopes in self._groups.items()
        ]
        self._groups, self.size = {}, 0
        return b'{"resourceSpans":[' + b",".join(of_resources) + b"]}\n"


def _resource_ends(resource: Resource, writer: OtlpValueWriter) -> tuple[bytes, bytes]:
    fields = _filled(
        attributes=writer.attributes(resource.attributes),
        **_counts(resource.extra, DROPPED, writer, {"entity_refs"}),
        entityRefs=_entities(resource.extra, writer),
    )
    return b'{"resource":%b,"scopeSpans":[' % _dumps(fields), b"]%b}" % _schema_url(resource.schema_url, writer)


def _scope_ends(scope: Scope | None, writer: OtlpValueWriter) -> tuple[bytes, bytes]:
    if scope is None:
        return b'{"spans":[', b"]}"
    fields = _filled(
        name=writer.text(scope.name),
        version=writer.text(scope.version or ""),
        attributes=writer.attributes(scope.attributes),
        **_counts(scope.extra, DROPPED, writer),
    )
    return b'{"scope":%b,"spans":[' % _dumps(fields), b"]%b}" % _schema_url(scope.schema_url or "", writer)


def _schema_url(url: str, writer: OtlpValueWriter) -> bytes:
    return b',"schemaUrl":%b' % _dumps(writer.text(url)) if url else b""


def _dumps(value: Any) -> bytes:
    return dumps_strict(value, has_odd_numbers=False)


def span_object(span: Span, writer: OtlpValueWriter) -> dict[str, Any]:
    """Return the object of a span."""
    for flag, what in _LOST_MARKS:
        if flag in span.warnings:
            writer.lose(what)
    if "parent_span_id" in span.extra:
        writer.lose(_BAD_IDS)
    return _filled(
        traceId=_id(span.trace_id, writer),
        spanId=_id(span.span_id, writer),
        traceState=_trace_state(span, writer),
        parentSpanId=span.parent_id,
        name=writer.text(span.name),
        kind=0 if span.kind_value is None else KINDS.index(span.kind_name or ""),
        startTimeUnixNano=_time(span.start_ns, writer),
        endTimeUnixNano=_time(span.end_ns, writer),
        attributes=writer.attributes(span.attributes),
        events=[_event(event, writer) for event in span.events],
        links=[_link(link, writer) for link in span.links],
        status=_status(span.status, writer),
        **_counts(span.extra, SPAN_EXTRA, writer, _IDS | {"trace_state"}),
    )


def _filled(**fields: Any) -> dict[str, Any]:
    """Return the fields that don't have their defaults."""
    return {name: value for name, value in fields.items() if value}


def _id(found: str | None, writer: OtlpValueWriter) -> str | None:
    if found is None:
        writer.lose(_BAD_IDS)
    return found


def _time(ns: int | None, writer: OtlpValueWriter) -> str | None:
    if ns is not None and ns > 0:
        return str(ns)
    if ns is not None:
        writer.lose("times before 1970 left out")
    return None


def _status(status: Status, writer: OtlpValueWriter) -> dict[str, Any]:
    return _filled(message=writer.text(status.description or ""), code=status.code_value)


def _event(event: Event, writer: OtlpValueWriter) -> dict[str, Any]:
    return _filled(
        timeUnixNano=_time(event.timestamp_ns, writer),
        name=writer.text(event.name),
        attributes=writer.attributes(event.attributes),
        **_counts(event.extra, DROPPED, writer),
    )


def _link(link: Link, writer: OtlpValueWriter) -> dict[str, Any]:
    return _filled(
        traceId=_id(link.trace_id, writer),
        spanId=_id(link.span_id, writer),
        traceState=_trace_state(link, writer),
        attributes=writer.attributes(link.attributes),
        **_counts(link.extra, LINK_EXTRA, writer, _IDS | {"trace_state"}),
    )


def _counts(
    extra: Mapping[str, Any], names: Sequence[str], writer: OtlpValueWriter, others: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the fields of 32 bits; what else there is but `others` can't be said."""
    if not extra:
        return {}
    found = {name: extra[snake_case(name)] for name in names if _is_count(extra.get(snake_case(name)))}
    if extra.keys() - {*map(snake_case, found)} - {*others}:
        writer.lose("parts with fields that only other formats have left out")
    return found


def _is_count(value: Any) -> bool:
    return type(value) is int and value in UINT32


def _trace_state(holder: Span | Link, writer: OtlpValueWriter) -> str:
    raw = holder.extra.get("trace_state")
    if isinstance(raw, str) and not holder.trace_state:
        return writer.text(raw)
    text = format_trace_state_header(holder.trace_state)
    if text is None:
        writer.lose("trace states that W3C's form can't hold left out")
    return writer.text(text or "")


def _entities(extra: Mapping[str, Any], writer: OtlpValueWriter) -> list[dict[str, Any]]:
    """Return the references to entities, as far as they are as `otlp` reads them."""
    refs = extra.get("entity_refs")
    entities = [entity for entity in refs if isinstance(entity, dict)] if isinstance(refs, list) else []
    found = []
    for entity in entities:
        texts = {name: entity.get(snake_case(name)) for name in ("schemaUrl", "type")}
        lists = {name: entity.get(snake_case(name)) for name in ("idKeys", "descriptionKeys")}
        found.append(
            {name: writer.text(text) for name, text in texts.items() if isinstance(text, str)}
            | {
                name: [writer.text(text) for text in part if isinstance(text, str)]
                for name, part in lists.items()
                if isinstance(part, list)
            }
        )
    return found
