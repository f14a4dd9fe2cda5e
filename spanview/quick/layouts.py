"""The two layouts in which the SDK itself writes a span: the text between the values.

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
", "description": "                                 a text, or nothing of this
"}, "attributes": {                                 attributes, which are skipped here
}, "events": [                                      nothing mostly
], "links": [], "resource": {                       the tail, which many records have in common

Indented by 4, the white space differs. A record that has anything else, links for instance, is one for the general
decoder.

Source: `ReadableSpan.to_json` of opentelemetry-sdk; `json.dumps` of the standard library writes both.
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
    description: bytes
    attributes: bytes
    events: bytes
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
        "status": {"status_code": _PLACEHOLDER, "description": _PLACEHOLDER},
        "attributes": {_PLACEHOLDER: 0},
        "events": [],
        "links": [],
        "resource": {_PLACEHOLDER: 0},
    }
    text = json.dumps(span, indent=indent).replace('"parent_id": 0', f'"parent_id": {_PLACEHOLDER}')
    *parts, before_tail, _ = text.encode().split(_PLACEHOLDER.encode())
    # White space follows the braces of attributes and resource, if they aren't empty.
    attributes = parts[-1][: parts[-1].rindex(b"{") + 1]
    begin, middle, end = before_tail.index(b"}"), before_tail.index(b"]"), before_tail.rindex(b"{") + 1
    return Layout(*[*parts[:-1], attributes, before_tail[begin:middle], before_tail[middle:end]])


ONE_LINE: Final = _layout(None)
INDENTED: Final = _layout(4)
