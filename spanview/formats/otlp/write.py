"""Spans as OTLP has them: as lines of JSON, which the collector's file exporter writes and reads, and in other forms.

Source: as in `otlp`. Ids are in lower-case hex digits, enums numbers, integers of 64 bits text, and defaults
are left out. Spans stay in their order, those of one resource and scope together.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from spanview.formats.jsontext import dumps_strict
from spanview.formats.otlp.fields import MESSAGES, FieldKind, snake_case
from spanview.formats.otlp.values import UINT32, OtlpValueWriter
from spanview.formats.tracestate import format_trace_state_header
from spanview.model.codes import STATUS_NAMES
from spanview.model.problems import Warnings
from spanview.model.span import Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from spanview.formats.otlp.values import Lose
    from spanview.model.span import Scope, Span, Status

    Write: TypeAlias = Callable[[OtlpValueWriter, Any], Any]
    """Returns a part of a span as the protocol has it; something that is false for a default."""

_MAX_LINE_BYTES: Final = 512 * 1024
"""Of the spans in a line, unless one alone is longer: the collector's file receiver reads lines of 1 MiB."""
_STATUSES: Final = ({}, *({"code": value} for value in range(1, len(STATUS_NAMES))))
"""Statuses without a message, by their codes."""
_MAX_KNOWN: Final = 256
"""Resources and scopes whose ends are kept."""
_BAD_IDS: Final = "dropped {unusable id}"
_PARTS: Final = {"Resource": (b"resource", b"scopeSpans"), "InstrumentationScope": (b"scope", b"spans")}
"""By message, what it is called where it stands, and what stands beside it."""
_LOST_WARNINGS: Final = (
    (Warnings.ODD_VALUE, "dropped the warning of {span} with a malformed field"),
    (Warnings.DETAIL_LOST, "lost the details of {span}, which are no longer in the files"),
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

    def ends(self, message: str, value: dict[str, Any] | None, schema_url: str, /) -> tuple[bytes, bytes]:
        """Return what comes before and after the spans of a part.

        Args:
            message: `Resource` or `InstrumentationScope`.
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

    def ends(self, message: str, value: dict[str, Any] | None, schema_url: str) -> tuple[bytes, bytes]:
        """Return what comes before and after the spans of a part."""
        name, beside = _PARTS[message]
        part = b"" if value is None else b'"%b":%b,' % (name, _dumps(value))
        tail = b',"schemaUrl":%b' % _dumps(schema_url) if schema_url else b""
        return b'{%b"%b":[' % (part, beside), b"]%b}" % tail

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
                ends = self._form.ends("Resource", _resource(part, writer), writer.text(part.schema_url))
            elif part is None:
                ends = self._form.ends("InstrumentationScope", None, "")
            else:
                value = _object(part, "InstrumentationScope", writer)
                ends = self._form.ends("InstrumentationScope", value, writer.text(part.schema_url or ""))
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

    def of(self, spans: Iterable[Span | OtlpPart]) -> Iterator[bytes]:
        """Yield the lines of spans of one trace, in their order, each a `TracesData` with its line feed."""
        size, parts = 0, []
        for span in spans:
            part = span if isinstance(span, OtlpPart) else self._parts.of(span)
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


def _dumps(value: Any) -> bytes:
    return dumps_strict(value, has_non_finite=False)


def span_object(span: Span, writer: OtlpValueWriter) -> dict[str, Any]:
    """Return the object of a span."""
    for flag, sentence in _LOST_WARNINGS if span.warnings else ():
        if flag in span.warnings:
            writer.lose(sentence)
    if "parent_span_id" in span.extra:
        writer.lose(_BAD_IDS)
    return _object(span, "Span", writer)


def _object(part: Any, message: str, writer: OtlpValueWriter) -> dict[str, Any]:
    """Return a message of the protocol as an object, with the fields that don't have their defaults."""
    result = {name: written for name, get, write in _FIELDS[message] if (written := write(writer, get(part)))}
    return result | _in_extra(part, message, writer) if message != "Status" and part.extra else result


def _id(writer: OtlpValueWriter, value: str | None) -> str | None:
    if value is None:
        writer.lose(_BAD_IDS)
    return value


def _trace_state(writer: OtlpValueWriter, entries: Mapping[str, str]) -> str:
    if not entries:
        return ""
    text = format_trace_state_header(entries)
    if text is None:
        writer.lose("dropped {trace state} invalid in W3C's format")
    return writer.text(text or "")


def _time(writer: OtlpValueWriter, ns: int | None) -> str | None:
    if ns is not None and ns > 0:
        return str(ns)
    if ns is not None:
        writer.lose("dropped {time} before 1970")
    return None


def _status(writer: OtlpValueWriter, status: Status) -> dict[str, Any]:
    return _STATUSES[status.code_value] if status.description is None else _object(status, "Status", writer)


def _list_of(message: str) -> Write:
    return lambda writer, parts: [_object(part, message, writer) for part in parts] if parts else ()


_WRITES: Final[Mapping[FieldKind, Write]] = {
    FieldKind.TEXT: lambda writer, text: writer.text(text) if text else "",
    FieldKind.TRACE_ID: _id,
    FieldKind.SPAN_ID: _id,
    FieldKind.PARENT_ID: lambda _, value: value,
    FieldKind.TRACE_STATE: _trace_state,
    FieldKind.TIME: _time,
    FieldKind.SPAN_KIND: lambda _, value: 0 if value is None else value + 1,
    FieldKind.STATUS_CODE: lambda _, value: value,
    FieldKind.ATTRIBUTES: OtlpValueWriter.attributes,
    FieldKind.MESSAGE: _status,
}


_FIELDS: Final = {
    message: [
        (field.name, attrgetter(field.part), _WRITES.get(field.kind) or _list_of(field.message))
        for field in sorted(fields, key=attrgetter("number"))
        if field.part
    ]
    for message, fields in MESSAGES.items()
}
"""The fields of a message that are parts of ours, in the order of their numbers."""
_IN_EXTRA: Final = {
    message: {
        snake_case(field.name): field.name if field.kind in {FieldKind.COUNT, FieldKind.FLAGS} else ""
        for field in fields
    }
    for message, fields in MESSAGES.items()
}
"""What `extra` may have of a message: a number, by its name; or, empty, what is written apart or can't be written."""


def _in_extra(part: Any, message: str, writer: OtlpValueWriter) -> dict[str, Any]:
    """Return the fields of a message that are in `extra`; anything that isn't the protocol's is lost."""
    result, is_lost = {}, False
    for key, value in part.extra.items():
        name = _IN_EXTRA[message].get(key)
        if name is None or (name and not _is_count(value)):
            is_lost = True
        elif name and value:
            result[name] = value
    if is_lost:
        writer.lose("dropped fields of {span part} that only other formats have")
    raw = part.extra.get("trace_state")
    if isinstance(raw, str) and message in {"Span", "Link"} and not part.trace_state:
        result["traceState"] = writer.text(raw)
    return result


def _is_count(value: Any) -> bool:
    return type(value) is int and value in UINT32


def _resource(resource: Resource, writer: OtlpValueWriter) -> dict[str, Any]:
    """Return the object of a resource, with references to entities as far as they are as `read` has them."""
    refs = resource.extra.get("entity_refs")
    entities = [_entity(ref, writer) for ref in refs if isinstance(ref, dict)] if isinstance(refs, list) else []
    return _object(resource, "Resource", writer) | ({"entityRefs": entities} if entities else {})


def _entity(ref: dict[str, Any], writer: OtlpValueWriter) -> dict[str, Any]:
    entity: dict[str, Any] = {}
    for name, _, kind, *_ in MESSAGES["EntityRef"]:
        value = ref.get(snake_case(name))
        if kind is FieldKind.TEXTS and isinstance(value, list):
            entity[name] = [writer.text(text) for text in value if isinstance(text, str)]
        elif kind is FieldKind.TEXT and isinstance(value, str):
            entity[name] = writer.text(value)
    return entity
