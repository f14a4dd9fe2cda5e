"""Spans of one resource and scope as lines of OTLP's JSON: one a line, each with its resource and scope.

{"resourceSpans":[{"resource":{…},"scopeSpans":[{"scope":{…},"spans":[   before: the same for a resource and scope
{"traceId":"…","spanId":"…",…}                                           the span
]}]}]}                                                                   after

The fields of a span are in the order in which `spanview.ray.lines` writes them, so that such lines are scanned. A line
for each request would have half as many bytes, and 240,000 spans in such lines take seven times as long to read. A line
of one span can also be read again alone, and no number of spans makes it longer than readers take. Only where a
resource is much longer than spans do several share a line: no body grows without limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson

from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS
from spanview.otlp.body import Refused, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from spanview.otlp.body import Acceptance

Json: TypeAlias = dict[str, Any]

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""Bytes of the longest line: what spanview reads unless it is told otherwise."""
_MIN_PART_BYTES: Final = 16
"""Bytes of a body for each of its resources and scopes, if not more: empty ones take long to look at, and no room."""
_MOST_REPEATED: Final = 16
"""How many times as long as its spans the resource and scope of a line may be."""
_NO_TRACE_ID, _NO_SPAN_ID = "0" * TRACE_ID_DIGITS, "0" * SPAN_ID_DIGITS


@dataclass(frozen=True, slots=True)
class LineFrame:
    """The bytes of a line before its spans and after them."""

    before: bytes
    after: bytes


def frame_of(resource: Json, beside_resource: Json, scope: Json, beside_scope: Json) -> LineFrame:
    """Return what all lines of a resource and a scope have in common.

    Args:
        beside_resource: What stands beside the resource and its spans: `{"schemaUrl": "…"}`, mostly nothing.
        beside_scope: What stands beside the scope and its spans.

    Raises:
        RefusedError: It nests too deep, or is too long.
    """
    before = b'{"resourceSpans":[{"resource":%b,"scopeSpans":[{"scope":%b,"spans":[' % (_dumps(resource), _dumps(scope))
    after = b"]%b}]%b}]}\n" % (_fields(beside_scope), _fields(beside_resource))
    if len(before) + len(after) > MAX_LINE_BYTES:
        raise RefusedError("a resource and scope that are too long")
    return LineFrame(before, after)


def _fields(fields: Json) -> bytes:
    return b",%b" % _dumps(fields)[1:-1] if fields else b""


def _dumps(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        raise RefusedError("values that nest too deep") from None


def lines_of(frame: LineFrame, spans: Iterable[Json | Refused], outcome: Acceptance) -> Iterator[bytes]:
    """Yield the lines of spans that are kept, and count what becomes of each."""
    width = len(frame.before) + len(frame.after)
    waiting: list[bytes] = []
    size = 0
    for span in spans:
        text = _text(span, MAX_LINE_BYTES - width)
        if isinstance(text, Refused):
            outcome.refuse(text)
            continue
        outcome.accepted += 1
        waiting.append(text)
        size += len(text)
        if size * _MOST_REPEATED >= width:
            yield b"%b%b%b" % (frame.before, b",".join(waiting), frame.after)
            waiting, size = [], 0
    if waiting:
        yield b"%b%b%b" % (frame.before, b",".join(waiting), frame.after)


def _text(span: Json | Refused, cap: int) -> bytes | Refused:
    if isinstance(span, Refused):
        return span
    try:
        text = _dumps(span)
    except RefusedError as error:
        return Refused(str(error), span["name"])
    if len(text) > cap:
        return Refused(f"a span of {len(text):,} bytes, more than readers take", span["name"])
    return text


def checked(span: Json) -> Json:
    """Return a span, without a parent of zeros, which is none.

    Raises:
        RefusedError: One of its ids can't be an id.
    """
    if len(span["traceId"]) != TRACE_ID_DIGITS or span["traceId"] == _NO_TRACE_ID:
        raise RefusedError(f"a trace id that isn't {TRACE_ID_DIGITS // 2} bytes, or all zeros")
    if len(span["spanId"]) != SPAN_ID_DIGITS or span["spanId"] == _NO_SPAN_ID:
        raise RefusedError(f"a span id that isn't {SPAN_ID_DIGITS // 2} bytes, or all zeros")
    parent_id = span.get("parentSpanId")
    if parent_id and len(parent_id) != SPAN_ID_DIGITS:
        raise RefusedError(f"a parent span id that isn't {SPAN_ID_DIGITS // 2} bytes")
    if parent_id in {"", _NO_SPAN_ID}:
        del span["parentSpanId"]
    return span


def most_parts(size: int) -> int:
    """Return how many resources and scopes a body of a size may have."""
    return 100 + size // _MIN_PART_BYTES


def without(fields: Mapping[str, Any], names: Iterable[str]) -> Json:
    """Return the fields of an object but for some."""
    dropped = {*names}
    return {name: value for name, value in fields.items() if name not in dropped}
