"""Zipkin's v2 JSON, read and written; `SCHEMA` is ListOfSpans of zipkin2-api.yaml.

[{"traceId": …, "id": …, "kind": "CLIENT", "timestamp": µs, "duration": µs, "localEndpoint": {…}, "tags": {…}}]
"""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from any_spans import JSON, SOURCE, SPAN_IDS, TEXTS, TRACE_IDS, keys_but, records, spans
from records import whole
from spanview.formats.foreign import format_of
from spanview.formats.jsontext import dumps_strict
from spanview.formats.zipkin.read import is_document, spans_of, value_of
from spanview.formats.zipkin.write import annotation_of, clean, parse_annotation
from spanview.model.codes import KIND_NAMES
from spanview.model.problems import NO_WARNINGS, Warnings
from spanview.model.span import Event, Link, Resource, Scope, Span, Status

Json: TypeAlias = dict[str, Any]
START: Final = 1_700_000_000_000_000
TRACE: Final = "00000000000000aa"
WEB: Final = {"serviceName": "web", "ipv4": "10.0.0.1", "port": 80}
DB: Final = {"serviceName": "db", "ipv4": "10.0.0.2"}
_INT64: Final = {"type": "integer"}
_ENDPOINT: Final = {
    "type": "object",
    "properties": {
        "serviceName": {"type": "string"},
        "ipv4": {"type": "string", "format": "ipv4"},
        "ipv6": {"type": "string", "format": "ipv6"},
        "port": {"type": "integer"},
    },
    "additionalProperties": False,
}
SCHEMA: Final = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["traceId", "id"],
        "additionalProperties": False,
        "properties": {
            "traceId": {"type": "string", "minLength": 16, "maxLength": 32, "pattern": "^([a-f0-9]{16}|[a-f0-9]{32})$"},
            "name": {"type": "string"},
            "parentId": {"type": "string", "pattern": "^[a-f0-9]{16}$"},
            "id": {"type": "string", "pattern": "^[a-f0-9]{16}$"},
            "kind": {"type": "string", "enum": ["CLIENT", "SERVER", "PRODUCER", "CONSUMER"]},
            "timestamp": _INT64,
            "duration": {"type": "integer", "minimum": 1},
            "debug": {"type": "boolean"},
            "shared": {"type": "boolean"},
            "localEndpoint": _ENDPOINT,
            "remoteEndpoint": _ENDPOINT,
            "annotations": {
                "type": "array",
                "uniqueItems": True,
                "items": {
                    "type": "object",
                    "required": ["timestamp", "value"],
                    "properties": {"timestamp": _INT64, "value": {"type": "string"}},
                },
            },
            "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    },
}


def assert_valid(values: list[Json]) -> None:
    """Fail where a list of spans isn't what Zipkin's own description allows."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(values, SCHEMA)
    for value in values:
        for endpoint in (value.get("localEndpoint", {}), value.get("remoteEndpoint", {})):
            assert endpoint.get("port", 1) in range(1, 65536)
            IPv4Address(endpoint.get("ipv4", "0.0.0.0"))  # noqa: S104 - any address that is one
            IPv6Address(endpoint.get("ipv6", "::"))


def record(span_id: str = "000000000000000b", **members: Any) -> Json:
    """Return a span as Zipkin has it."""
    return {"traceId": TRACE, "id": span_id, "name": "op", "timestamp": START, "duration": 5, **members}


def only(**members: Any) -> Span:
    """Return the span of a record that comes alone."""
    (span,) = spans_of(record(**members), SOURCE)
    return span


def test_a_span() -> None:
    """Everything that a record says stands in its place."""
    span = only(
        parentId="a",
        kind="CLIENT",
        localEndpoint=WEB,
        remoteEndpoint=DB,
        annotations=[{"timestamp": START + 1, "value": "ws"}, {"timestamp": START + 2, "value": '"ev": {"n":1}'}],
        tags={"http.status_code": "500", "error": "bad", "otel.scope.name": "lib", "w3c.tracestate": "a=1"},
    )
    expected = Span(
        TRACE.rjust(32, "0"),
        "000000000000000b",
        "000000000000000a",
        "op",
        KIND_NAMES.index("CLIENT"),
        START * 1000,
        START * 1000 + 5000,
        Status(2, "bad"),
        {
            "peer.service": "db",
            "http.status_code": "500",
            "network.local.address": "10.0.0.1",
            "network.local.port": 80,
            "network.peer.address": "10.0.0.2",
        },
        (Event("ws", START * 1000 + 1000), Event("ev", START * 1000 + 2000, {"n": 1})),
        (),
        {"a": "1"},
        Resource({"service.name": "web"}),
        Scope("lib"),
        # The writer would add this tag.
        {"zipkin": {"tags": {"otel.status_code": None}}},
        SOURCE,
        NO_WARNINGS,
    )
    assert whole(span) == whole(expected)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({}, Status()),
        ({"error": ""}, Status(2)),
        ({"error": "false"}, Status(2)),
        ({"error": "true"}, Status(2)),
        ({"error": "timeout"}, Status(2, "timeout")),
        ({"otel.status_code": "OK"}, Status(1)),
        ({"otel.status_code": "STATUS_CODE_ERROR", "otel.status_description": "d"}, Status(2, "d")),
        ({"otel.status_code": "OK", "error": ""}, Status(2)),
    ],
)
def test_status(tags: Json, expected: Status) -> None:
    """A present `error` tag means failed, whatever it says."""
    assert only(tags=tags).status == expected


@pytest.mark.parametrize(
    ("kind", "tags", "expected"),
    [
        ("SERVER", {}, 1),
        (None, {}, None),
        (None, {"span.kind": "internal"}, 0),
        ("ODD", {}, None),
    ],
)
def test_kind(kind: str | None, tags: Json, expected: int | None) -> None:
    """Zipkin has no INTERNAL; the collector says it in a tag."""
    assert only(kind=kind, tags=tags).kind_value == expected


@pytest.mark.parametrize(
    ("members", "start", "end", "warning"),
    [
        ({"timestamp": None}, None, None, NO_WARNINGS),
        ({"duration": None}, START * 1000, None, NO_WARNINGS),
        ({"duration": 0.25}, START * 1000, START * 1000 + 250, NO_WARNINGS),
        ({"timestamp": "x"}, None, None, Warnings.ODD_VALUE),
        ({"duration": 10**30}, START * 1000, None, Warnings.ODD_VALUE),
    ],
)
def test_times(members: Json, start: int, end: int, warning: Warnings) -> None:
    """Times are numbers of microseconds; what is none is left out and marked."""
    span = only(**members)
    assert (span.start_ns, span.end_ns, span.warnings) == (start, end, warning)


@pytest.mark.parametrize(
    ("members", "warning"),
    [
        ({"id": "no"}, Warnings.BAD_ID),
        ({"parentId": 5}, Warnings.BAD_ID),
        ({"parentId": "0b"}, NO_WARNINGS),
        ({"name": 5}, Warnings.ODD_VALUE),
        ({"kind": 5}, Warnings.ODD_VALUE),
        ({"tags": {"a": 5}}, Warnings.ODD_VALUE),
        ({"tags": []}, Warnings.ODD_VALUE),
        ({"annotations": [{"timestamp": START, "value": 5}]}, Warnings.ODD_VALUE),
        ({"annotations": ["x"]}, Warnings.ODD_VALUE),
        ({"localEndpoint": "x"}, Warnings.ODD_VALUE),
        ({"remoteEndpoint": {"ipv4": "1.2.3"}}, Warnings.ODD_VALUE),
        ({"remoteEndpoint": {"port": 0}}, NO_WARNINGS),
        ({"remoteEndpoint": {"port": False}}, Warnings.ODD_VALUE),
        ({"localEndpoint": {"serviceName": []}}, Warnings.ODD_VALUE),
        ({"localEndpoint": {"serviceName": None, "ipv4": ""}}, NO_WARNINGS),
    ],
)
def test_odd_values(members: Json, warning: Warnings) -> None:
    """What is unusable is left out or shown as text, and marked."""
    assert only(**members).warnings == warning


@pytest.mark.parametrize("value", [record(), [record()], [[record()], []], [5, record()]])
def test_what_is_a_document(value: Any) -> None:
    """Spans, lists of them and lists of lists are Zipkin's."""
    assert is_document(value)


def test_it_is_found_by_content() -> None:
    """A list of spans is told by its first one."""
    assert format_of([record()]) is not None
    assert format_of([[], [record()]]) is not None


@pytest.mark.parametrize("value", [{}, [], [[]], {"traceId": "a"}, record(binaryAnnotations=[]), [[[record()]]], "x"])
def test_what_is_none(value: Any) -> None:
    """Other values, and records of version 1, aren't taken for version 2."""
    assert not is_document(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ws", ("ws", {}, 0)),
        ('"a": {"k": 1}', ("a", {"k": 1}, 0)),
        ('{"a": {"k": [1]}}', ("a", {"k": [1]}, 0)),
        ('a|{"k":"x|y"}|2', ("a", {"k": "x|y"}, 2)),
        ('"a": 5', ('"a": 5', {}, 0)),
        ("a|{|2", ("a|{|2", {}, 0)),
        ("{" * 5000, ("{" * 5000, {}, 0)),
    ],
)
def test_annotations(text: str, expected: tuple[str, Json, int]) -> None:
    """Attributes of events are read as the specification and both kinds of exporters write them."""
    assert parse_annotation(text) == expected


@settings(deadline=None)
@given(
    st.builds(
        Event,
        TEXTS,
        st.just(0),
        st.dictionaries(TEXTS, st.integers() | TEXTS, max_size=2),
        st.sampled_from([{}, {"dropped_attributes_count": 2}]),
    )
)
def test_an_event_as_text(event: Event) -> None:
    """Name and attributes of an event are told apart again, whatever is in the name."""
    name, attributes, _ = parse_annotation(annotation_of(event))
    assert (name, attributes) == (event.name, json.loads(dumps_strict(dict(event.attributes))))


AS_ZIPKIN_WRITES: Final = [
    record(traceId="5" * 32, parentId="000000000000000a", kind="SERVER", shared=True, debug=True),
    record(localEndpoint={**WEB, "ipv6": "::1"}, remoteEndpoint={"ipv6": "fe80::1", "port": 1}),
    record(localEndpoint=DB, remoteEndpoint=DB, tags={"peer.service": "other", "network.peer.port": "9"}),
    record(kind="CLIENT", remoteEndpoint={"serviceName": "h"}, tags={"server.address": "h", "peer.service": ""}),
    record(kind="CLIENT", tags={"server.address": "h"}),
    record(tags={"error": "true", "otel.status_code": "OK", "otel.library.name": "old", "otlp.link.0": "junk"}),
    record(
        tags={"otlp.link.0": f'{"a" * 32}|{"b" * 16}|a=1|{{"k":1}}|2', "otlp.link.1": f"{'a' * 32}|{'b' * 16}||{{}}|0"}
    ),
    record(annotations=[{"timestamp": START, "value": '"a":{ }'}, {"timestamp": START + 1, "value": "a|{}|0"}]),
    {"traceId": TRACE, "id": "000000000000000b"},
    {"traceId": TRACE, "id": "000000000000000b", "duration": 5},
]


@pytest.mark.parametrize("value", AS_ZIPKIN_WRITES)
def test_a_span_is_written_as_it_was_read(value: Json) -> None:
    """Nothing that Zipkin can say gets lost on the way."""
    (span,) = spans_of(value, SOURCE)
    assert value_of(span) == value
    assert span.warnings & ~Warnings.NO_END == NO_WARNINGS


NUMBERS: Final = st.integers(-5, 2**55) | st.floats() | st.integers()
ENDPOINTS: Final = records(
    {
        "serviceName": st.sampled_from(["web", "db"]),
        "ipv4": st.sampled_from(["10.0.0.1", "x"]),
        "ipv6": st.sampled_from(["::1", "x"]),
        "port": st.integers(-1, 70000),
    }
)
RECORDS: Final = records(
    {
        "traceId": TRACE_IDS,
        "id": SPAN_IDS,
        "parentId": SPAN_IDS,
        "name": TEXTS,
        "kind": st.sampled_from(["CLIENT", "SERVER", "PRODUCER", "CONSUMER", "x"]),
        "timestamp": NUMBERS,
        "duration": NUMBERS,
        "debug": st.booleans(),
        "shared": st.booleans(),
        "localEndpoint": ENDPOINTS,
        "remoteEndpoint": ENDPOINTS,
        "annotations": st.lists(records({"timestamp": NUMBERS, "value": TEXTS}) | JSON, max_size=3),
        "tags": st.dictionaries(
            TEXTS | st.sampled_from(["peer.service", "otel.status_code", "otlp.link.0", "span.kind", "server.address"]),
            TEXTS | st.sampled_from(["OK", "ERROR", "internal", "web"]) | JSON,
            max_size=4,
        ),
    },
    "traceId",
    "id",
)


@settings(deadline=None)
@given(st.lists(RECORDS | JSON | st.lists(RECORDS, max_size=2), max_size=4))
def test_any_json_is_read_and_written_as_it_was(value: list[Any]) -> None:
    """Nothing raises, no record vanishes, and what is valid of each comes back, all of it valid."""
    flat = [part for item in value for part in (item if isinstance(item, list) else [item])]
    flat = [
        part
        for part in flat
        if isinstance(part, dict) and part.keys() >= {"traceId", "id"} and "binaryAnnotations" not in part
    ]
    read = spans_of(value, SOURCE)
    assert len(read) == len(flat)
    for raw, span in zip(flat, read, strict=True):
        written = value_of(span)
        if written is None:
            assert Warnings.BAD_ID in span.warnings
            continue
        written = json.loads(dumps_strict(written))
        assert_valid([written])
        texts = raw.get("tags")
        expected = clean(json.loads(dumps_strict({**raw, "tags": {}})))
        if expected.get("parentId") == expected["id"] and "shared" not in expected:
            expected.pop("parentId")
        tags = written.pop("tags", {})
        if isinstance(raw.get("name"), str | None) and isinstance(raw.get("annotations", []), list):
            values = {item["value"] for item in written.pop("annotations", [])}
            assert {item["value"] for item in expected.pop("annotations", [])} <= values
            assert written == expected
        if isinstance(texts, dict):
            assert (
                tags.items() >= {k: v for k, v in json.loads(dumps_strict(texts)).items() if isinstance(v, str)}.items()
            )


TAKEN: Final = (
    *("span.kind", "error", "otel.status_code", "otel.status_description", "w3c.tracestate", "service.name"),
    *("otel.scope.name", "otel.scope.version", "otel.library.name", "otel.library.version"),
)


@settings(deadline=None)
@given(spans(values=TEXTS, keys=keys_but(*TAKEN), unit=1000))
def test_a_span_comes_back(span: Span) -> None:
    """A span with texts is the same again; attributes of its resource are its own then, equal events are one."""
    value = json.loads(dumps_strict(value_of(span)))
    assert_valid([value])
    (again,) = spans_of(value, SOURCE)
    attributes = {
        **{key: part for key, part in span.resource.attributes.items() if key != "service.name"},
        **span.attributes,
    }
    events = tuple({(event.timestamp_ns, event.name, str(event.attributes)): event for event in span.events}.values())
    expected = replace(span, attributes=attributes, events=events, resource=Resource({"service.name": "web"}))
    assert whole(again) == whole(replace(expected, extra=again.extra, parent_id=again.parent_id))
    assert again.parent_id == (span.parent_id if span.parent_id != span.span_id else None)


@settings(deadline=None)
@given(spans(values=JSON, keys=TEXTS | st.sampled_from(["peer.service", "network.peer.port", "network.local.address"])))
def test_any_span_is_valid_zipkin(span: Span) -> None:
    """Whatever a span holds, what is written of it is valid."""
    assert_valid(json.loads(dumps_strict([value_of(span)])))


@settings(deadline=None)
@given(JSON)
def test_any_extra_is_valid_zipkin(own: Any) -> None:
    """What a file of spanview's own says that Zipkin had said is believed only where it is valid."""
    span = replace(
        only(), extra={"zipkin": {"id": own, "kind": own, "tags": {"a": own}, "annotations": own, "port": own}}
    )
    assert_valid(json.loads(dumps_strict([value_of(span)])))


def test_losses() -> None:
    """What Zipkin has no word for is said, once for each."""
    lost: list[str] = []
    span = Span(
        TRACE,
        "000000000000000b",
        None,
        "a",
        0,
        START * 1000,
        START * 1000,
        attributes={"n": 1, "error": False, "span.kind": "x", "a": "1", "otel.status_code": "OK"},
        events=(Event("e", START * 1000), Event("e", START * 1000), Event("f", None)),
        links=(Link(None, None), Link(TRACE, "000000000000000c", {"a": "1"}, {"k": 1}, {"flags": 1})),
        resource=Resource({"service.name": "web", "host": "h", "a": "2"}),
    )
    value_of(span, lost.append)
    value_of(replace(span, span_id=None), lost.append)
    assert sorted(lost) == [
        "dropped {attribute} with names reserved by Zipkin",
        "dropped {duplicate event}",
        "dropped {error attribute} of spans that didn't fail",
        "dropped {field} that only other formats have",
        "dropped {link} without usable ids",
        "dropped {resource attribute} that spans have under the same name",
        "dropped {span} without usable ids",
        "moved {resource attribute} onto spans",
        "rounded {duration} up to 1 µs",
        "wrote {attribute} as text",
        "wrote {attribute} with names that readers take for parts of the span",
        "wrote {event} without a time as of 1970",
    ]


@pytest.mark.parametrize(
    "text", ["|{" * 300_000 + "|1", "|" * 600_000, '"' * 300_000, "a|{}|" + "1" * 300_000, '{"a": ' * 100_000]
)
def test_long_texts_are_read_in_time(text: str) -> None:
    """No text of an annotation or of a tag takes the square of its length."""
    span = only(annotations=[{"timestamp": START, "value": text}], tags={"otlp.link.0": text})
    assert (span.events[0].name, span.attributes["otlp.link.0"]) == (text, text)


def test_deep_values_are_read() -> None:
    """Nesting that no recursion comes to the end of is text like any other."""
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    span = only(tags={"a": deep, "b": "1"}, annotations=deep, localEndpoint=deep, name=deep, kind=deep, id=deep)
    assert span.attributes["a"] == "[" * 10_001 + "]" * 10_001
    assert Warnings.BAD_ID in span.warnings
