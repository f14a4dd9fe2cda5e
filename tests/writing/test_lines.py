"""A span of the SDK as a line: the layout byte by byte, and every value that the SDK takes.

in the program                          in the line
--------------                          -----------
a root, a child, a child of a remote    no parent, a parent, a parent and a bit of the flags
an error, an event, a link, a state     each in its place, left out where there is none
texts that are no Unicode               U+FFFD
integers of more than 64 bits           as text
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.json_format import Parse
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
    set_span_in_context,
)

from independent_otlp import records_of
from spanview.formats.otlp import read as otlp
from spanview.model.problems import Warnings
from spanview.model.span import Source
from spanview.ray.lines import frame_of, line_of, loss_line_of

TRACE, PARENT = 0x88AEF1AD547167B44A15479F57A6383E, 0x59989B70393625E3


class Made:
    """A tracer whose spans can be looked at once they have ended."""

    def __init__(self, limits: SpanLimits | None = None) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(
            span_limits=limits, resource=Resource({"service.name": "shop", "host.name": "node7"}, "https://r.example/1")
        )
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = provider.get_tracer("shop", "1.2", "https://s.example/1", {"kept": True})

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans, in the order of their ends."""
        return list(self._exporter.get_finished_spans())


def framed(span: ReadableSpan) -> bytes:
    """Return the line of a span."""
    resource = span.resource
    return line_of(span, frame_of(resource.attributes, resource.schema_url, span.instrumentation_scope))


def test_layout() -> None:
    """Two spans, the second with all that a span can have, are written as these bytes."""
    made = Made(SpanLimits(max_span_attributes=2))
    remote = SpanContext(TRACE, PARENT, True, TraceFlags(1), TraceState([("rojo", "00f0")]))
    parent = set_span_in_context(NonRecordingSpan(remote))
    span = made.tracer.start_span(
        "work",
        parent,
        SpanKind.CONSUMER,
        {"dropped": "gone", "text": 'a "b"', "list": [1, 2]},
        [Link(remote, {"why": "batch"})],
        1_700_000_000_000_000_001,
    )
    span.add_event("exception", {"exception.type": "ValueError"}, 1_700_000_000_000_000_002)
    span.set_status(Status(StatusCode.ERROR, "ValueError: bad"))
    span.end(1_700_000_000_000_000_003)
    root = made.tracer.start_span("räksmörgås", start_time=1_700_000_000_000_000_004)
    root.end(1_700_000_000_000_000_005)
    first, second = made.spans
    before = (
        '{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},'
        '{"key":"host.name","value":{"stringValue":"node7"}}]},"scopeSpans":[{"scope":{"name":"shop","version":"1.2",'
        '"attributes":[{"key":"kept","value":{"boolValue":true}}]},"spans":['
    )
    after = '],"schemaUrl":"https://s.example/1"}],"schemaUrl":"https://r.example/1"}]}\n'
    expected = (
        f'{{"traceId":"88aef1ad547167b44a15479f57a6383e","spanId":"{span.get_span_context().span_id:016x}",'
        '"parentSpanId":"59989b70393625e3","flags":769,"name":"work","kind":5,'
        '"startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000000000000003",'
        '"status":{"code":2,"message":"ValueError: bad"},"attributes":['
        r'{"key":"text","value":{"stringValue":"a \"b\""}},'
        '{"key":"list","value":{"arrayValue":{"values":[{"intValue":"1"},{"intValue":"2"}]}}}],'
        '"events":[{"timeUnixNano":"1700000000000000002","name":"exception",'
        '"attributes":[{"key":"exception.type","value":{"stringValue":"ValueError"}}]}],'
        '"links":[{"traceId":"88aef1ad547167b44a15479f57a6383e","spanId":"59989b70393625e3","flags":769,'
        '"traceState":"rojo=00f0","attributes":[{"key":"why","value":{"stringValue":"batch"}}]}],'
        '"traceState":"rojo=00f0","droppedAttributesCount":1}'
    )
    assert framed(first).decode() == before + expected + after
    context = root.get_span_context()
    expected = (
        f'{{"traceId":"{context.trace_id:032x}","spanId":"{context.span_id:016x}","flags":{256 + context.trace_flags},'
        '"name":"räksmörgås","kind":1,"startTimeUnixNano":"1700000000000000004","endTimeUnixNano":"1700000000000000005",'
        '"status":{},"attributes":[]}'
    )
    assert framed(second).decode() == before + expected + after


def test_span_that_runs() -> None:
    """Before its end a span has the same line without one, and whatever it has by then."""
    made = Made()
    span: Any = made.tracer.start_span("work", attributes={"part": 1})
    started = json.loads(framed(span))
    span.end()
    (whole,) = [json.loads(framed(each)) for each in made.spans]
    del whole["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["endTimeUnixNano"]
    assert started == whole


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", "text"),
        ("", ""),
        ("lone \ud800 half", "lone \ufffd half"),
        ("\x00\x1b]0;title\x07\u202e\n", "\x00\x1b]0;title\x07\u202e\n"),
        (True, True),
        (0, 0),
        (-(2**63), -(2**63)),
        (2**70, str(2**70)),
        (1.5, 1.5),
        (1e300, 1e300),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        ([], []),
        (["a", "b"], ["a", "b"]),
        ([1.0, 2.5], [1.0, 2.5]),
    ],
)
def test_values(value: Any, expected: Any) -> None:
    """What the SDK takes is in the line, which is strict JSON, for a second reader and for spanview."""
    made = Made()
    made.tracer.start_span(f"name {value}", attributes={"key": value, f"key {value}": "too"}).end()
    line = framed(made.spans[0])
    (record,) = records_of(json.loads(line, parse_constant=pytest.fail))
    assert record["attributes"]["key"] == expected
    assert type(record["attributes"]["key"]) is type(expected)
    assert len(record["attributes"]) == 2
    assert line.count(b"\n") == 1
    (span,) = otlp.spans_of(json.loads(line), Source("", 0, 0))
    read = value if isinstance(value, float) else expected
    assert (repr(span.attributes["key"]), span.warnings) == (repr(read), Warnings(0))
    Parse(line, TracesData())


def test_bytes_and_nested_values() -> None:
    """Newer SDKs keep bytes and maps; older ones turn or throw them away before they can be written."""
    made = Made()
    span = made.tracer.start_span("work")
    span.set_attributes({"bytes": b"\xff\x00", "map": {"a": [{"b": None}]}})
    span.end()
    (written,) = json.loads(framed(made.spans[0]))["resourceSpans"][0]["scopeSpans"][0]["spans"]
    values = {pair["key"]: pair["value"] for pair in written["attributes"]}
    item = {"kvlistValue": {"values": [{"key": "b", "value": {}}]}}
    expected = {
        "bytes": {"bytesValue": "/wA="},
        "map": {"kvlistValue": {"values": [{"key": "a", "value": {"arrayValue": {"values": [item]}}}]}},
    }
    kept = {key for key, value in (made.spans[0].attributes or {}).items() if not isinstance(value, str)}
    assert {key: values[key] for key in kept} == {key: expected[key] for key in kept}


def test_line_about_losses() -> None:
    """It is a log record with the severity WARN, which no reader of spans takes for one."""
    line = loss_line_of({"service.name": "shop"}, 1_700_000_000_000_000_000, 2, 'no "room"\n')
    document = json.loads(line)
    ((scope,),) = [each["scopeLogs"] for each in document["resourceLogs"]]
    assert scope["logRecords"] == [
        {
            "timeUnixNano": "1700000000000000000",
            "severityNumber": 13,
            "severityText": "WARN",
            "body": {"stringValue": '2 spans that ended before this could not be written: no "room"\n'},
            "attributes": [
                {"key": "spanview.not_written", "value": {"intValue": "2"}},
                {"key": "spanview.reason", "value": {"stringValue": 'no "room"\n'}},
            ],
        }
    ]
    assert line.count(b"\n") == 1
