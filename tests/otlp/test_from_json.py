"""Bodies of JSON become lines in one spelling, with every span that the protocol's readers would take, and no other.

body                                   what becomes of it
----                                   ------------------
anything that protobuf's reader takes  all of its spans, whatever the spelling
a value of the wrong type in a span    the other spans
anywhere else, or no JSON              nothing
unknown fields                         kept as they are
"""

from __future__ import annotations

import json
import random
from base64 import b64encode
from contextlib import nullcontext
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given, settings

from otlp_messages import DOCUMENTS, message_of, parts_of
from receivers import document, span, spans_in
from seeds import seeds
from spanview.formats.otlp import read as otlp
from spanview.formats.usual import NOWHERE
from spanview.model.problems import Warnings
from spanview.otlp.body import Acceptance, MalformedError, TooLargeError
from spanview.otlp.from_json import check_decoded_size, lines_of_json

if TYPE_CHECKING:
    from collections.abc import Iterator

ODD: Final[tuple[Any, ...]] = (None, True, 0, -1, 1.5, 2**63, "", "x", "0x1", [], [1], [None], {}, {"x": 1}, [{}], [[]])
"""Values of which most are wrong wherever they stand."""


def taken(body: Any) -> tuple[list[bytes], Acceptance]:
    """Return the lines of a body, and what became of it."""
    outcome = Acceptance()
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return [*lines_of_json(data, outcome)], outcome


@settings(max_examples=1000, deadline=None)
@given(DOCUMENTS)
def test_lines_say_what_the_document_says(sent: dict[str, Any]) -> None:
    """Protobuf's own reader finds the same in the lines as in the document."""
    lines, outcome = taken(sent)
    message = message_of(sent)
    assert parts_of(*(message_of(json.loads(line)) for line in lines)) == parts_of(message)
    assert (outcome.accepted, outcome.refused) == (len(parts_of(message)), 0)


@pytest.mark.parametrize(
    ("given_fields", "written"),
    [
        ({"traceId": b64encode(bytes(15) + b"\x01").decode()}, {"traceId": f"{1:032x}"}),
        ({"traceId": "AB" * 16}, {"traceId": "ab" * 16}),
        ({"parent_span_id": "cd" * 8}, {"parentSpanId": "cd" * 8}),
        ({"parentSpanId": ""}, {}),
        ({"parentSpanId": "0" * 16}, {}),
        ({"kind": "SPAN_KIND_SERVER"}, {"kind": 2}),
        ({"kind": 77}, {"kind": 77}),
        ({"status": {"code": "STATUS_CODE_ERROR", "message": "no"}}, {"status": {"code": 2, "message": "no"}}),
        ({"startTimeUnixNano": 1_700_000_000_000_000_001}, {"startTimeUnixNano": "1700000000000000001"}),
        ({"endTimeUnixNano": "0"}, {"endTimeUnixNano": None}),
        ({"endTimeUnixNano": None}, {"endTimeUnixNano": None}),
        ({"dropped_events_count": "3"}, {"droppedEventsCount": 3}),
        (
            {"attributes": [{"key": "a", "value": {"int_value": 7}}]},
            {"attributes": [{"key": "a", "value": {"intValue": "7"}}]},
        ),
        ({"later": {"a": [1]}}, {"later": {"a": [1]}}),
        (
            {"attributes": [{"key": "a", "value": {"laterValue": 1}, "later": 2}]},
            {"attributes": [{"key": "a", "value": {"laterValue": 1}, "later": 2}]},
        ),
    ],
)
def test_every_spelling_becomes_one(given_fields: dict[str, Any], written: dict[str, Any]) -> None:
    """Whatever the specification lets senders write, readers find the one form that all of them know."""
    lines, outcome = taken(document(span(**given_fields)))
    (found,) = spans_in(lines)
    expected = span(status={}, attributes=[]) | written
    assert found == {name: value for name, value in expected.items() if value is not None}
    assert outcome.refused == 0


def test_fields_are_in_the_order_that_is_scanned() -> None:
    """Whatever their order in the body."""
    (line,), _ = taken(document({name: span(parentSpanId="ab" * 8, flags=257)[name] for name in sorted(span())}))
    assert b'"spans":[{"traceId":"' in line
    (whole,), _ = taken(document(dict(reversed(span(parentSpanId="ab" * 8, flags=257, links=[]).items()))))
    assert [*spans_in([whole])[0]] == [
        *("traceId", "spanId", "parentSpanId", "flags", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"),
        *("status", "attributes", "links"),
    ]


@pytest.mark.parametrize("older", ["batches", "resource_spans"])
def test_older_names_of_lists_are_known(older: str) -> None:
    """What Tempo and exporters of before 2022 call them."""
    (of_resource,) = document(span())["resourceSpans"]
    (of_scope,) = of_resource.pop("scopeSpans")
    library = {"spans": of_scope["spans"], "instrumentationLibrary": of_scope["scope"]}
    assert taken({older: [of_resource | {"instrumentationLibrarySpans": [library]}]}) == taken(document(span()))


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"traceId": "00" * 16}, "trace id"),
        ({"traceId": "12"}, "traceId"),
        ({"traceId": 12}, "traceId"),
        ({"traceId": None}, "trace id"),
        ({"spanId": "zz" * 8}, "spanId"),
        ({"parentSpanId": "1"}, "parentSpanId"),
        ({"name": 7}, "name"),
        ({"kind": "SOMETHING"}, "kind"),
        ({"kind": 2**40}, "kind"),
        ({"flags": -1}, "flags"),
        ({"startTimeUnixNano": "soon"}, "startTimeUnixNano"),
        ({"startTimeUnixNano": -1}, "startTimeUnixNano"),
        ({"startTimeUnixNano": 2**64}, "startTimeUnixNano"),
        ({"attributes": {"a": 1}}, "attributes"),
        ({"attributes": [{"key": 1, "value": {}}]}, "key"),
        ({"attributes": [{"key": "a", "value": "b"}]}, "object"),
        ({"attributes": [{"key": "a", "value": {"intValue": 2**63}}]}, "intValue"),
        ({"attributes": [{"key": "a", "value": {"boolValue": 1}}]}, "boolValue"),
        ({"attributes": [{"key": "a", "value": {"doubleValue": "much"}}]}, "doubleValue"),
        ({"attributes": [{"key": "a", "value": {"bytesValue": "é"}}]}, "bytesValue"),
        ({"attributes": [{"key": "a", "value": {"arrayValue": []}}]}, "object"),
        ({"events": [{"timeUnixNano": "x"}]}, "timeUnixNano"),
        ({"links": [{"spanId": 1}]}, "spanId"),
        ({"status": "OK"}, "object"),
    ],
)
def test_a_value_of_a_wrong_type_refuses_its_span(wrong: dict[str, Any], reason: str) -> None:
    """The others are kept, and the reason names the field."""
    lines, outcome = taken(document(span(1), span(2, **wrong), span(3)))
    assert [found["name"] for found in spans_in(lines)] == ["span 1", "span 3"]
    assert outcome.refused == 1
    assert reason in outcome.reason


@pytest.mark.parametrize("value", [1, "x", [], None, [[]]])
def test_what_is_no_object_is_no_span(value: Any) -> None:
    """It is refused like a span that is malformed."""
    lines, outcome = taken(document(span(1), value))
    assert (len(lines), outcome.refused) == (1, 1)


def nested(wrap: str, levels: int) -> dict[str, Any]:
    """Return a value in so many lists or maps."""
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(levels):
        inner = [value] if wrap == "arrayValue" else [{"key": "k", "value": value}]
        value = {wrap: {"values": inner}}
    return value


@pytest.mark.parametrize(
    ("wrap", "levels", "is_kept"),
    [("arrayValue", 40, True), ("kvlistValue", 31, True), ("arrayValue", 200, False), ("kvlistValue", 200, False)],
)
def test_values_that_nest_too_deep_refuse_their_span(wrap: str, levels: int, is_kept: bool) -> None:  # noqa: FBT001
    """Whatever protobuf would take is kept."""
    deep = span(2, attributes=[{"key": "deep", "value": nested(wrap, levels)}])
    lines, outcome = taken(document(span(1), deep))
    assert (len(lines), outcome.refused) == (1 + is_kept, 1 - is_kept)
    if not is_kept:
        assert "too deep" in outcome.reason


@pytest.mark.parametrize(
    "body",
    [
        *(b"{", b"[]", b"1", b'"x"', b"\xff", b"{}{}", b'{"resourceSpans": NaN}', b"[" * 2000, b'{"a":' * 2000),
        {"resourceSpans": {}},
        {"resourceSpans": [1]},
        {"resourceSpans": [{"scopeSpans": "x"}]},
        {"resourceSpans": [{"scopeSpans": [None]}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": {}}]}]},
        {"resourceSpans": [{"resource": 1, "scopeSpans": [{"spans": [span()]}]}]},
        {"resourceSpans": [{"resource": {"attributes": 1}, "scopeSpans": [{"spans": [span()]}]}]},
        {"resourceSpans": [{"scopeSpans": [{"scope": {"name": 1}, "spans": [span()]}]}]},
        {"resourceSpans": [{"schemaUrl": 1, "scopeSpans": [{"spans": [span()]}]}]},
        {"resourceSpans": [{"scopeSpans": [{}] * 200}]},
        document(span()) | {"batches": 1},
    ],
)
def test_no_request_gives_nothing(body: Any) -> None:
    """What isn't a request is malformed as a whole, before anything of it is taken."""
    outcome = Acceptance()
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(MalformedError):
        next(lines_of_json(data, outcome))
    assert outcome == Acceptance()


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (rb"\ud83d\ude00", "\U0001f600"),
        (rb"\ud83d", "\ufffd"),
        (rb"a\uDC00b", "a\ufffdb"),
        (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"\\\ud83d", "\\\ufffd"),
        (rb"\\ud83d\uD800", "\\ud83d\ufffd"),
        (rb"\ud800\u0041\udfff", "\ufffdA\ufffd"),
    ],
)
def test_half_a_surrogate_pair(escaped: bytes, text: str) -> None:
    """A text that was cut in the middle of a character costs that character, not the request."""
    body = json.dumps(document(span(1, name="NAME"), span(2))).encode().replace(b"NAME", escaped)
    lines, outcome = taken(body)
    assert (len(lines), outcome.refused) == (2, 0)
    (found,) = otlp.spans_of(json.loads(lines[0]), NOWHERE)
    assert found.name == text


@pytest.mark.parametrize(
    ("body", "is_too_large"),
    [
        (b"[" + b"{}," * 100_000 + b"{}]", True),
        (b"[" * 300_000, True),
        (b'["' + b"x" * 5_000_000 + b'"]', False),
        (json.dumps([document(*map(span, range(1, 2000)))]).encode(), False),
    ],
)
def test_decoded_size(body: bytes, is_too_large: bool) -> None:  # noqa: FBT001 - a parameter
    """What grows to many times its size is known before it is decoded; a limit of 8 MiB here."""
    said = (
        pytest.raises(TooLargeError, match=r"needs about \d+ MiB of memory, more than 8: ")
        if is_too_large
        else nullcontext()
    )
    with said:
        check_decoded_size(body, 8 << 20)


@pytest.mark.parametrize("body", [b"", b"{}", b'{"resourceSpans":null}', b'{"resourceSpans":[]}', b'{"other":1}'])
def test_an_empty_request_is_empty(body: bytes) -> None:
    """Nothing is sent, nothing is refused."""
    assert taken(body) == ([], Acceptance())


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container in a value, with each key or index in it."""
    keys: Any = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places_in(value[key])


@pytest.mark.parametrize("seed", seeds(60))
def test_whatever_is_taken_can_be_read(seed: int) -> None:
    """Anything in any place: it is malformed, refused, or read as a span that has its ids."""
    chance = random.Random(seed)
    whole = document(
        span(
            7,
            attributes=[{"key": "a", "value": nested("kvlistValue", 2)}, {"key": "b", "value": {"intValue": "7"}}],
            events=[{"timeUnixNano": "1", "name": "e", "attributes": [{"key": "c", "value": {"doubleValue": 0.5}}]}],
            links=[{"traceId": f"{1:032x}", "spanId": f"{1:016x}"}],
            status={"code": 2},
        )
    )
    for _ in range(100):
        changed = deepcopy(whole)
        holder, key = chance.choice([*places_in(changed)])
        holder[key] = chance.choice(ODD)
        try:
            lines, outcome = taken(changed)
        except MalformedError:
            continue
        assert outcome.accepted == len(lines)
        for line in lines:
            (found,) = otlp.spans_of(json.loads(line), NOWHERE)
            assert Warnings.BAD_ID not in found.warnings, changed
