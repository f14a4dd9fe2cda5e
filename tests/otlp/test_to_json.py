"""Bodies of protobuf become lines that say the same, as protobuf's own reader of JSON finds.

body                        what becomes of it
----                        ------------------
any message                 all of its spans, each with its resource and scope
one damaged span            the others
cut, or damaged elsewhere   nothing
"""

from __future__ import annotations

import json
import random
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

from otlp_messages import DOCUMENTS, message_of, parts_of
from receivers import request_of, spans_in
from seeds import seeds
from spanview.otlp.body import Acceptance, MalformedError, Refused
from spanview.otlp.to_json import lines_of_protobuf
from spanview.otlp.wire import DELIMITED, sized, tag

if TYPE_CHECKING:
    from collections.abc import Callable


def taken(body: bytes) -> tuple[list[bytes], Acceptance]:
    """Return the lines of a body, and what became of it."""
    outcome = Acceptance()
    return [*lines_of_protobuf(body, outcome)], outcome


def message(number: int, content: bytes) -> bytes:
    """Return a field that is a message."""
    return tag(number, DELIMITED) + sized(content)


def in_scope(*fields: bytes) -> bytes:
    """Return a body with one scope that has some fields."""
    return message(1, message(2, b"".join(fields)))


SPAN = request_of(7).resource_spans[0].scope_spans[0].spans[0].SerializeToString()


@settings(max_examples=1000, deadline=None)
@given(DOCUMENTS)
def test_lines_say_what_the_message_says(document: dict[str, Any]) -> None:
    """Every field of every span, resource and scope is there, in OTLP's own spelling."""
    sent = message_of(document)
    lines, outcome = taken(sent.SerializeToString())
    assert parts_of(*(message_of(json.loads(line)) for line in lines)) == parts_of(sent)
    assert (outcome.accepted, outcome.refused) == (len(parts_of(sent)), 0)
    assert all(line.endswith(b"}\n") and line.count(b"\n") == 1 for line in lines)


def test_an_empty_body_is_empty() -> None:
    """Nothing is sent, nothing is refused."""
    assert taken(b"") == ([], Acceptance())


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"trace_id": b""}, "trace id"),
        ({"trace_id": bytes(16)}, "trace id"),
        ({"trace_id": b"1" * 15}, "trace id"),
        ({"span_id": b"1" * 9, "trace_id": b"1" * 16}, "span id"),
        ({"span_id": bytes(8)}, "span id"),
        ({"parent_span_id": b"123"}, "parent span id"),
    ],
)
def test_a_span_with_a_bad_id_is_refused(fields: dict[str, bytes], reason: str) -> None:
    """The others are kept, and the reason says what is wrong."""
    sent = request_of(1, 2)
    sent.MergeFrom(request_of(3, **fields))
    lines, outcome = taken(sent.SerializeToString())
    assert [span["name"] for span in spans_in(lines)] == ["span 1", "span 2"]
    assert (outcome.accepted, outcome.refused) == (2, 1)
    assert reason in outcome.reason


@pytest.mark.parametrize("fields", [(9,), (11,), (13,), (11, 3), (13, 4), (9, 2, 5, 1), (9, 2, 6, 1, 2, 5, 1)])
def test_many_values_in_one_span(fields: tuple[int, ...]) -> None:
    """What has no content isn't decoded in any number, wherever it is: it takes 100 times its bytes."""
    *outer, innermost = fields
    content = message(innermost, b"") * 201_000
    for number in reversed(outer):
        content = message(number, content)
    many = Span(trace_id=b"1" * 16, span_id=b"1" * 8, name="many").SerializeToString() + content
    lines, outcome = taken(request_of(1).SerializeToString() + in_scope(message(2, many)))
    assert (len(lines), outcome.refused) == (1, 1)
    assert "more than 200,000 values" in outcome.reason
    with pytest.raises(MalformedError, match="too many attributes"):
        taken(message(1, message(1, message(1, b"") * 201_000) + message(2, message(2, many))))


def test_each_reason_is_counted_and_its_first_span_named() -> None:
    """One message says all of it, in order, and doesn't grow with the request."""
    sent = request_of(1)
    for number, fields in enumerate(({"trace_id": b""}, {"span_id": b"1"}, {"trace_id": b"1"}), 2):
        sent.MergeFrom(request_of(number, **fields))
    sent.resource_spans[0].scope_spans[0].spans.add().name = "x"
    _, outcome = taken(sent.SerializeToString())
    assert outcome.reason == (
        "1 span: a span without a trace id or span id (span 2); "
        "2 spans: a trace id that isn't 16 bytes, or all zeros (the first is span 3, span 2); "
        "1 span: a span id that isn't 8 bytes, or all zeros (span 4, span 3)"
    )
    many = Acceptance()
    for number in range(1000):
        many.refuse(Refused(f"reason {number}", "n" * 1000))
    assert len(many.reason) < 1000
    assert "995 spans: other reasons (the first is span 6, nnn" in many.reason
    assert many.refused == 1000


def test_a_parent_of_zeros_is_none() -> None:
    """As everywhere in OTLP, zeros are no id."""
    (line,), _ = taken(request_of(1, parent_span_id=bytes(8)).SerializeToString())
    assert "parentSpanId" not in spans_in([line])[0]


@pytest.mark.parametrize(
    "damaged",
    [
        SPAN[:-3],
        SPAN + b"\x2a\x02\xff\xfe",
        SPAN + b"\x0a",
        b"\x08" * 40,
    ],
    ids=["cut", "no UTF-8", "a tag alone", "numbers for ids"],
)
def test_a_damaged_span_costs_itself_only(damaged: bytes) -> None:
    """What is before it and after it is kept."""
    lines, outcome = taken(in_scope(message(2, SPAN), message(2, damaged), message(2, SPAN)))
    assert len(spans_in(lines)) == outcome.accepted == 2
    assert outcome.refused == 1
    assert outcome.reason


def test_a_cut_body_gives_nothing() -> None:
    """Wherever it is cut, it is malformed as a whole, or ends between two resources."""
    body = request_of(1, 2, 3).SerializeToString()
    for end in range(1, len(body)):
        outcome = Acceptance()
        with pytest.raises(MalformedError):
            next(lines_of_protobuf(body[:end], outcome))
        assert outcome == Acceptance()


@pytest.mark.parametrize("seed", seeds(60))
def test_damage_is_never_an_error_of_ours(seed: int) -> None:
    """Bytes that are changed, taken out or put in make a body malformed, or refuse spans; no line is damaged."""
    chance = random.Random(seed)
    body = request_of(*range(1, 6)).SerializeToString()
    for _ in range(100):
        damaged = bytearray(body)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(damaged))
            damaged[at : at + chance.randint(0, 2)] = chance.randbytes(chance.randint(0, 2))
        try:
            lines, outcome = taken(bytes(damaged))
        except MalformedError:
            continue
        assert len(spans_in(lines)) == outcome.accepted


def test_what_scopes_were_called_is_read() -> None:
    """Exporters of before 2022 send what is now `scope_spans` in another field."""
    (of_resource,) = request_of(1).resource_spans
    (of_scope,) = of_resource.scope_spans
    body = message(
        1, message(1, of_resource.resource.SerializeToString()) + message(1000, of_scope.SerializeToString())
    )
    assert taken(body) == taken(request_of(1).SerializeToString())


def test_parts_in_any_order_belong_together() -> None:
    """A resource counts that comes after its spans, and in two pieces."""
    one, other = ResourceSpans(), ResourceSpans()
    one.resource.attributes.add(key="a").value.int_value = 1
    other.resource.attributes.add(key="b").value.int_value = 2
    scope = message(2, message(2, SPAN) + message(1, b"\x0a\x01s") + message(3, b"https://scope"))
    pieces = [message(1, each.resource.SerializeToString()) for each in (one, other)]
    (line,), _ = taken(message(1, pieces[0] + scope + message(3, b"https://resource") + pieces[1]))
    (of_resource,) = json.loads(line)["resourceSpans"]
    assert [pair["key"] for pair in of_resource["resource"]["attributes"]] == ["a", "b"]
    assert of_resource["schemaUrl"] == "https://resource"
    assert of_resource["scopeSpans"][0]["scope"] == {"name": "s"}
    assert of_resource["scopeSpans"][0]["schemaUrl"] == "https://scope"


@pytest.mark.parametrize(
    ("body", "is_malformed"),
    [
        (b"\x0a\x00" * 100, False),
        (b"\x0a\x00" * 70_000, True),
        (message(1, b"\x12\x00" * 8_000) * 3, True),
        (message(1, b"\x12\x02\x12\x00" * 4_000) * 3, True),
        (message(1, b"\x12\x22" + b"\x12\x00" * 17) * 1_000, False),
        (in_scope(b"\x12\x00" * 8_000), False),
        (message(1, b"\x0a\x00" * 8_000) * 3, False),
        (b"\x0b" * 100_000, True),
        (b"\x80" * 100_000, True),
    ],
    ids=[
        "resources",
        "too many",
        "scopes",
        "scopes with a span",
        "scopes with spans",
        "spans",
        "resource",
        "groups",
        "a number without end",
    ],
)
def test_nothing_grows_out_of_a_small_body(body: bytes, is_malformed: bool) -> None:  # noqa: FBT001 - a parameter
    """What is empty takes no memory, however often it is there."""
    tracemalloc.start()
    try:
        lines, _ = taken(body)
        assert lines == []
        assert not is_malformed
    except MalformedError:
        assert is_malformed
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 200_000


def test_a_span_that_readers_would_not_take_is_refused() -> None:
    """More than 16 MiB in one line isn't read by default, so it isn't acknowledged."""
    body = request_of(1).SerializeToString() + request_of(2, name="n" * (16 << 20)).SerializeToString()
    lines, outcome = taken(body)
    assert [span["name"] for span in spans_in(lines)] == ["span 1"]
    assert outcome.refused == 1
    assert "more than readers take" in outcome.reason


def test_a_long_resource_is_not_repeated_for_each_short_span() -> None:
    """What is written grows with what is sent, not with the product of both."""
    request = request_of(*range(1, 501))
    request.resource_spans[0].resource.attributes.add(key="long").value.string_value = "x" * 50_000
    lines, outcome = taken(request.SerializeToString())
    assert outcome.accepted == len(spans_in(lines)) == 500
    assert 1 < len(lines) < 100
    assert sum(map(len, lines)) < 17 * sum(len(json.dumps(span)) for span in spans_in(lines)) + 60_000


def deepest(wrap: Callable[[dict[str, Any]], dict[str, Any]], levels: int) -> dict[str, Any]:
    """Return a value in so many others."""
    value: dict[str, Any] = {"intValue": "1"}
    for _ in range(levels):
        value = wrap(value)
    return value


def test_as_deep_as_protobuf_goes() -> None:
    """Whatever protobuf takes is written; deeper values refuse their span."""
    value = message(1, b"1")
    for _ in range(120):
        value = message(5, message(1, value))
    deep_span = SPAN + message(9, message(1, b"deep") + message(2, value))
    assert taken(in_scope(message(2, deep_span)))[1].refused == 1
    deep = deepest(lambda inner: {"arrayValue": {"values": [inner]}}, 40)
    sent = message_of(
        {
            "resourceSpans": [
                {
                    "scopeSpans": [
                        {
                            "spans": [
                                {
                                    "traceId": "1" * 32,
                                    "spanId": "1" * 16,
                                    "attributes": [{"key": "deep", "value": deep}],
                                }
                            ]
                        }
                    ]
                }
            ]
        }
    )
    lines, _ = taken(sent.SerializeToString())
    assert spans_in(lines)[0]["attributes"][0]["value"] == deep
