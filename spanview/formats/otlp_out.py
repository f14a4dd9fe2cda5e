"""Spans as OTLP's JSON, a line for some spans of one trace, as the collector's file exporter writes and reads them.

Source: as in `otlp`. Ids are in lower-case hex digits, enums numbers, integers of 64 bits text, and defaults
are left out. Spans stay in their order, those of one resource and scope together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from spanview.formats.jsontext import dumps_strict
from spanview.formats.otlp import DROPPED, LINK_EXTRA, SPAN_EXTRA
from spanview.formats.otlp_value import UINT32, OtlpValueWriter, snake_case
from spanview.formats.tracestate import format_trace_state_header
from spanview.model.codes import STATUS_NAMES
from spanview.model.problems import Warnings
from spanview.model.span import Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from spanview.formats.otlp_value import Lose
    from spanview.model.span import Event, Link, Scope, Span, Status

_MAX_LINE_BYTES: Final = 512 * 1024
"""Of the spans in a line, unless one alone is longer: the collector's file receiver reads lines of 1 MiB."""
_STATUSES: Final = ({}, *({"code": value} for value in range(1, len(STATUS_NAMES))))
"""Those without a message, by their codes."""
_MAX_KNOWN: Final = 256
"""Resources and scopes whose ends are kept."""
_NOT_COUNTS: Final = frozenset(("trace_id", "span_id", "parent_span_id", "trace_state"))
"""Fields of `extra` that aren't counts."""
_BAD_IDS: Final = "unusable ids left out"
_LOST_WARNINGS: Final = (
    (Warnings.ODD_VALUE, "marks of spans with a malformed field left out"),
    (Warnings.DETAIL_LOST, "spans whose details their files don't hold any more"),
)

_Ends: TypeAlias = tuple[bytes, bytes]
"""The text before and after the spans of a resource or a scope."""
_Group = TypeVar("_Group")


class OtlpLines:
    """Writes the lines of traces.

    Args:
        lose: Takes note of what the format can't represent.
    """

    def __init__(self, lose: Lose) -> None:
        self._writer = OtlpValueWriter(lose)
        self._known: dict[int, tuple[Resource | Scope | None, _Ends, list[str]]] = {}
        """By the identity of a resource or a scope: its ends, and what was lost of it."""
        self._groups: dict[_Ends, dict[_Ends, list[bytes]]] = {}
        """The spans of a line, by the ends of resource and scope."""

    def of(self, spans: Iterable[Span]) -> Iterator[bytes]:
        """Yield the lines of spans of one trace, each a `TracesData` with its line feed.

        Args:
            spans: In the order in which they are to be written.
        """
        size = 0
        for span in spans:
            scopes = self._group(span.resource, self._groups, dict)
            text = dumps_strict(span_object(span, self._writer), has_non_finite=False)
            self._group(span.scope, scopes, list).append(text)
            size += len(text)
            if size >= _MAX_LINE_BYTES:
                yield self._take_line()
                size = 0
        if size:
            yield self._take_line()

    def _group(self, part: Resource | Scope | None, groups: dict[_Ends, _Group], new: Callable[[], _Group]) -> _Group:
        """Return the group of a resource or a scope; it is made if it is new in the line."""
        known = self._known.get(id(part))
        if known is None:
            lost: list[str] = []
            writer = OtlpValueWriter(lost.append)
            ends = _resource_ends(part, writer) if isinstance(part, Resource) else _scope_ends(part, writer)
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[id(part)] = part, ends, lost
        group = groups.get(known[1])
        if group is None:
            group = groups[known[1]] = new()
            # What is lost of a resource is counted once a line, not once a span.
            for sentence in known[2]:
                self._writer.lose(sentence)
        return group

    def _take_line(self) -> bytes:
        """Return the line and begin a new one."""
        of_resources = [
            resource_head
            + b",".join([head + b",".join(spans) + tail for (head, tail), spans in scopes.items()])
            + resource_tail
            for (resource_head, resource_tail), scopes in self._groups.items()
        ]
        self._groups.clear()
        return b'{"resourceSpans":[' + b",".join(of_resources) + b"]}\n"


def _resource_ends(resource: Resource, writer: OtlpValueWriter) -> _Ends:
    fields = _filled(
        attributes=writer.attributes(resource.attributes),
        **_counts(resource.extra, DROPPED, writer, {"entity_refs"}),
        entityRefs=_entities(resource.extra, writer),
    )
    return b'{"resource":%b,"scopeSpans":[' % _dumps(fields), b"]%b}" % _schema_url(resource.schema_url, writer)


def _scope_ends(scope: Scope | None, writer: OtlpValueWriter) -> _Ends:
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
    return dumps_strict(value, has_non_finite=False)


def span_object(span: Span, writer: OtlpValueWriter) -> dict[str, Any]:
    """Return the object of a span."""
    for flag, sentence in _LOST_WARNINGS if span.warnings else ():
        if flag in span.warnings:
            writer.lose(sentence)
    extra, status = span.extra, span.status
    if "parent_span_id" in extra:
        writer.lose(_BAD_IDS)
    return _filled(
        traceId=_id(span.trace_id, writer),
        spanId=_id(span.span_id, writer),
        traceState=_trace_state(span, writer) if extra or span.trace_state else "",
        parentSpanId=span.parent_id,
        name=writer.text(span.name),
        kind=0 if span.kind_value is None else span.kind_value + 1,
        startTimeUnixNano=_time(span.start_ns, writer),
        endTimeUnixNano=_time(span.end_ns, writer),
        attributes=writer.attributes(span.attributes),
        events=[_event(event, writer) for event in span.events] if span.events else (),
        links=[_link(link, writer) for link in span.links] if span.links else (),
        status=_STATUSES[status.code_value] if status.description is None else _status(status, writer),
        **_counts(extra, SPAN_EXTRA, writer, _NOT_COUNTS),
    )


def _filled(**fields: Any) -> dict[str, Any]:
    """Return the fields that don't have their defaults."""
    return {name: value for name, value in fields.items() if value}


def _id(value: str | None, writer: OtlpValueWriter) -> str | None:
    if value is None:
        writer.lose(_BAD_IDS)
    return value


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
        **_counts(link.extra, LINK_EXTRA, writer, _NOT_COUNTS),
    )


def _counts(
    extra: Mapping[str, Any], names: Sequence[str], writer: OtlpValueWriter, others: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the fields of 32 bits; anything else but `others` is lost."""
    if not extra:
        return {}
    counts = {name: extra[snake_case(name)] for name in names if _is_count(extra.get(snake_case(name)))}
    if extra.keys() - {*map(snake_case, counts)} - {*others}:
        writer.lose("parts with fields that only other formats have left out")
    return counts


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
    result = []
    for entity in entities:
        texts = {name: entity.get(snake_case(name)) for name in ("schemaUrl", "type")}
        lists = {name: entity.get(snake_case(name)) for name in ("idKeys", "descriptionKeys")}
        result.append(
            {name: writer.text(text) for name, text in texts.items() if isinstance(text, str)}
            | {
                name: [writer.text(text) for text in part if isinstance(text, str)]
                for name, part in lists.items()
                if isinstance(part, list)
            }
        )
    return result
