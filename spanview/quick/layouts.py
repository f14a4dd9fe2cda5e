"""The layouts of spans that are scanned: the text between the values.

The two in which the SDK itself writes a span:

in one line                                         value that follows
-----------                                         ------------------
{"name": "                                          the name, a text of JSON without its quotes
", "context": {"trace_id": "0x                      32 hexadecimal digits
", "span_id": "0x                                   16 of them
", "trace_state": "                                 [] mostly
"}, "kind": "SpanKind.                              a kind
", "parent_id":                                     null, or "0x, 16 hexadecimal digits and "
, "start_time": "                                   a time of 27 characters
", "end_time": "                                    a time of 27 characters
", "status": {"status_code": "                      a code
"}, "attributes": {                                 attributes, which are skipped here
}, "events": [], "links": [], "resource": {         the tail, which many records have in common

Indented by 4, the white space differs. A record that has anything else, events or a description of the status for
instance, is one for the general decoder.

Source: `ReadableSpan.to_json` of opentelemetry-sdk; `json.dumps` of the standard library writes both.

The one in which `spanview.ray` writes a span as a line of OTLP:

in one line                                         value that follows
-----------                                         ------------------
{"resourceSpans":[…"spans":[                        resource and scope, which many lines have in common
{"traceId":"                                        32 hexadecimal digits
","spanId":"                                        16 of them
","parentSpanId":"                                  16 of them; left out of roots
","flags":                                          3 decimal digits
,"name":"                                           the name, a text of JSON without its quotes
","kind":                                           a digit
,"startTimeUnixNano":"                              19 decimal digits
","endTimeUnixNano":"                               19 of them; left out of spans that haven't ended
","status":{                                        nothing, or "code": and a digit, and perhaps "message": and a text
},"attributes":[                                    attributes, events, links, counts, which are skipped here
}]}]}]}                                             perhaps with schema URLs in between

Source: `spanview/ray/lines.py`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Layout:
    """The text before each value of a record."""

    name: bytes
    trace_id: bytes
    span_id: bytes
    trace_state: bytes
    kind: bytes
    parent_id: bytes
    start_time: bytes
    end_time: bytes
    status: bytes
    attributes: bytes
    tail: bytes


_PLACEHOLDER: Final = "@"


def _layout(indent: int | None) -> Layout:
    span = {
        "name": _PLACEHOLDER,
        "context": {"trace_id": f"0x{_PLACEHOLDER}", "span_id": f"0x{_PLACEHOLDER}", "trace_state": _PLACEHOLDER},
        "kind": f"SpanKind.{_PLACEHOLDER}",
        "parent_id": 0,
        "start_time": _PLACEHOLDER,
        "end_time": _PLACEHOLDER,
        "status": {"status_code": _PLACEHOLDER},
        "attributes": {_PLACEHOLDER: 0},
        "events": [],
        "links": [],
        "resource": {_PLACEHOLDER: 0},
    }
    text = json.dumps(span, indent=indent).replace('"parent_id": 0', f'"parent_id": {_PLACEHOLDER}')
    *parts, before_tail, _ = text.encode().split(_PLACEHOLDER.encode())
    # White space follows the braces of attributes and resource, if they aren't empty.
    attributes = parts[-1][: parts[-1].rindex(b"{") + 1]
    tail = before_tail[before_tail.index(b"}") : before_tail.rindex(b"{") + 1]
    return Layout(*[*parts[:-1], attributes, tail])


ONE_LINE: Final = _layout(None)
INDENTED: Final = _layout(4)


@dataclass(frozen=True, slots=True)
class OtlpLayout:
    """The text before each value of a line."""

    trace_id: bytes = b'{"traceId":"'
    span_id: bytes = b'","spanId":"'
    parent_id: bytes = b'"parentSpanId":"'
    flags: bytes = b'"flags":'
    name: bytes = b',"name":"'
    kind: bytes = b'","kind":'
    start_time: bytes = b',"startTimeUnixNano":"'
    end_time: bytes = b',"endTimeUnixNano":"'
    status: bytes = b',"status":{'
    code: bytes = b'"code":'
    attributes: bytes = b'},"attributes":['


OTLP: Final = OtlpLayout()
