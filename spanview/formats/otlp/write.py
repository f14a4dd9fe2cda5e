"""Spans as OTLP has them: as lines of JSON, which the collector's file exporter writes and reads, and in other forms.

Source: as in `otlp`. Ids are in lower-case hex digits, enums numbers, integers of 64 bits text, and defaults
are left out. Spans stay in their order, those of one resource and scope together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from spanview.formats.jsontext import dumps_strict
from spanview.formats.otlp.read import DROPPED, LINK_EXTRA, SPAN_EXTRA
from spanview.formats.otlp.values import UINT32, OtlpValueWriter, snake_case
from spanview.formats.tracestate import format_trace_state_header
from spanview.model.codes import STATUS_NAMES
from spanview.model.problems import Warnings
from spanview.model.span import Resource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from spanview.formats.otlp.values import Lose
    from spanview.model.span import Event, Link, Scope, Span, Status

_MAX_LINE_BYTES: Final = 512 * 1024
"""Of the spans in a line, unless one alone is longer: the collector's file receiver reads lines of 1 MiB."""
_STATUSES: Final = ({}, *({"code": value} for value in range(1, len(STATUS_NAMES))))
"""Statuses without a message, by their codes."""
_MAX_KNOWN: Final = 256
"""Resources and scopes whose ends are kept."""
_NOT_COUNTS: Final = frozenset(("trace_id", "span_id", "parent_span_id", "trace_state"))
"""Fields of `extra` that aren't counts."""
_BAD_IDS: Final = "unusable ids left out"
_SPANS_OF: Final = {"resource": b"scopeSpans", "scope": b"spans"}
_LOST_WARNINGS: Final = (
    (Warnings.ODD_VALUE, "marks of spans with a malformed field left out"),
    (Warnings.DETAIL_LOST, "spans whose details their files don't hold any more"),
)


class PartEnds(NamedTuple):
    """What is written before and after the spans of a resource or a scope."""

    head: bytes
    tail: bytes
    lost: tuple[str, ...]
    """A sentence for each thing of it that the format can't represent."""


class OtlpPart(NamedTuple):
    """A span that is written, and what it is to be put in."""

    resource: PartEnds
    scope: PartEnds
    span: bytes


Groups: TypeAlias = "dict[PartEnds, dict[PartEnds, list[bytes]]]"
"""Written spans by resource, then by scope."""


class Form(Protocol):
    """One of the forms that OTLP is written in; each part is first made as JSON has it."""

    def span(self, value: dict[str, Any], /) -> bytes:
        """Return a span."""

    def ends(self, name: str, value: dict[str, Any] | None, schema_url: str, /) -> tuple[bytes, bytes]:
        """Return what comes before and after the spans of a part.

        Args:
            name: `resource` or `scope`.
            value: The part; None for a scope that is not there.
            schema_url: Its schema's; empty for none.
        """

    def document(self, groups: Groups, /) -> bytes:
        """Return a `TracesData`."""


class JsonForm:
    """OTLP's JSON."""

    def span(self, value: dict[str, Any]) -> bytes:
        """Return a span."""
        return _dumps(value)

    def ends(self, name: str, value: dict[str, Any] | None, schema_url: str) -> tuple[bytes, bytes]:
        """Return what comes before and after the spans of a part."""
        part = b"" if value is None else b'"%b":%b,' % (name.encode(), _dumps(value))
        tail = b',"schemaUrl":%b' % _dumps(schema_url) if schema_url else b""
        return b'{%b"%b":[' % (part, _SPANS_OF[name]), b"]%b}" % tail

    def document(self, groups: Groups) -> bytes:
        """Return a `TracesData`."""
        of_resources = [
            resource.head
            + b",".join([scope.head + b",".join(spans) + scope.tail for scope, spans in scopes.items()])
            + resource.tail
            for resource, scopes in groups.items()
        ]
        return b'{"resourceSpans":[' + b",".join(of_resources) + b"]}"


class OtlpParts:
    """Writes spans one by one; resources and scopes once for all spans that have them."""

    def __init__(self, lose: Lose, form: Form) -> None:
        self._writer = OtlpValueWriter(lose)
        self._form = form
        self._known: dict[int, tuple[Resource | Scope | None, PartEnds]] = {}
        """By the identity of a resource or a scope."""

    def of(self, span: Span) -> OtlpPart:
        """Return a span as a part of a document."""
        text = self._form.span(span_object(span, self._writer))
        return OtlpPart(self._ends(span.resource), self._ends(span.scope), text)

    def _ends(self, part: Resource | Scope | None) -> PartEnds:
        known = self._known.get(id(part))
        if known is None:
            lost: list[str] = []
            writer = OtlpValueWriter(lost.append)
            if isinstance(part, Resource):
                ends = self._form.ends("resource", _resource_object(part, writer), writer.text(part.schema_url))
            elif part is None:
                ends = self._form.ends("scope", None, "")
            else:
                ends = self._form.ends("scope", _scope_object(part, writer), writer.text(part.schema_url or ""))
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[id(part)] = part, PartEnds(*ends, tuple(lost))
        return known[1]


def grouped(parts: Iterable[OtlpPart]) -> Groups:
    """Return written spans by resource and scope."""
    groups: Groups = {}
    for resource, scope, span in parts:
        groups.setdefault(resource, {}).setdefault(scope, []).append(span)
    return groups


def count_losses(groups: Groups, lose: Lose) -> None:
    """Take note of what was lost of resources and scopes: once a document, not once a span."""
    for resource, scopes in groups.items():
        for ends in (resource, *scopes):
            for sentence in ends.lost:
                lose(sentence)


class OtlpLines:
    """Writes the lines of traces."""

    def __init__(self, lose: Lose) -> None:
        self._lose = lose
        self._form = JsonForm()
        self._parts = OtlpParts(lose, self._form)

    def of(self, spans: Iterable[Span]) -> Iterator[bytes]:
        """Yield the lines of spans of one trace, in their order, each a `TracesData` with its line feed."""
        size, parts = 0, []
        for span in spans:
            part = self._parts.of(span)
            parts.append(part)
            size += len(part.span)
            if size >= _MAX_LINE_BYTES:
                yield self._line(parts)
                size, parts = 0, []
        if parts:
            yield self._line(parts)

    def _line(self, parts: list[OtlpPart]) -> bytes:
        groups = grouped(parts)
        count_losses(groups, self._lose)
        return self._form.document(groups) + b"\n"


def _resource_object(resource: Resource, writer: OtlpValueWriter) -> dict[str, Any]:
    return _filled(
        attributes=writer.attributes(resource.attributes),
        **_counts(resource.extra, DROPPED, writer, {"entity_refs"}),
        entityRefs=_entities(resource.extra, writer),
    )


def _scope_object(scope: Scope, writer: OtlpValueWriter) -> dict[str, Any]:
    return _filled(
        name=writer.text(scope.name),
        version=writer.text(scope.version or ""),
        attributes=writer.attributes(scope.attributes),
        **_counts(scope.extra, DROPPED, writer),
    )


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
        traceState=_trace_state(span, writer) if span.trace_state or "trace_state" in extra else "",
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
