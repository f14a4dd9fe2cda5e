"""OTLP's JSON read: every spelling of it, what else stands in such files, and what is no good in it.

what stands there                       what becomes of it
-----------------                       ------------------
another spelling of the same            the same span
what the protocol doesn't have          left out, or shown as text, and the span is marked
lines of metrics and logs               skipped and counted
a line that breaks off                  that line is lost, and told with file and offset
"""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan

from builders import MemoryReader, store_of, store_of_files
from otlp_messages import DOCUMENTS
from programs import spanview as run
from records import whole
from spanview.formats import foreign
from spanview.formats.jsontext import loads_exact
from spanview.formats.otlp import read as otlp
from spanview.formats.otlp.fields import ENUMS, FieldKind, snake_case
from spanview.formats.own.write import dumps_span, span_value
from spanview.formats.rows import columns_of_rows
from spanview.formats.tracestate import format_trace_state_header, parse_trace_state_header
from spanview.formats.usual import row_of_span
from spanview.index.summary import summary_of
from spanview.model.problems import ProblemKind, Warnings
from spanview.model.span import BytesText, Scope, Source
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from spanview.model.span import Span

FIXTURE: Final = Path(__file__).parents[3] / "fixtures" / "otlp-json" / "spans"
NOWHERE: Final = Source("", 0, 0)
TRACE_ID: Final = "5b8efff798038103d269b633813fc60c"
SPAN_ID: Final = "eee19b7ec3c1b174"


def document(*spans: Any, **of_resource: Any) -> dict[str, Any]:
    """Return a document with these spans."""
    return {"resourceSpans": [{"scopeSpans": [{"spans": [*spans]}], **of_resource}]}


def span_of(**fields: Any) -> Span:
    """Return the span that an object with these fields is read as."""
    value = document({"traceId": TRACE_ID, "spanId": SPAN_ID, **fields})
    assert otlp.is_document(value)
    (span,) = otlp.spans_of(value, NOWHERE)
    return span


def value_of(value: Any) -> tuple[Any, bool]:
    """Return what an attribute's value is read as, and whether that is odd."""
    span = span_of(attributes=[{"key": "a", "value": value}])
    return span.attributes["a"], Warnings.ODD_VALUE in span.warnings


# -- spellings --------------------------------------------------------------------------------------------------------

VALUES: Final = [
    ({"stringValue": ""}, ""),
    ({"stringValue": None, "intValue": "1"}, 1),
    ({"boolValue": False}, False),
    ({"intValue": "-9223372036854775808"}, -(2**63)),
    ({"intValue": 7}, 7),
    ({"intValue": 7.0}, 7),
    ({"int_value": "7"}, 7),
    ({"doubleValue": 1}, 1.0),
    ({"doubleValue": "1.5e3"}, 1500.0),
    ({"doubleValue": "-Infinity"}, float("-inf")),
    ({"bytesValue": "-_8"}, BytesText("+/8=")),
    ({"arrayValue": {}}, []),
    ({"array_value": {"values": [{"intValue": "1"}, {}, {"stringValue": "a"}]}}, [1, None, "a"]),
    ({"kvlistValue": {"values": [{"key": "k", "value": {"arrayValue": {"values": []}}}]}}, {"k": []}),
    ({}, None),
    (None, None),
]
ODD_VALUES: Final = [
    ({"stringValue": 5}, "5"),
    ({"boolValue": "true"}, "true"),
    ({"intValue": "1.5"}, "1.5"),
    ({"intValue": str(2**63)}, 2**63),
    ({"intValue": True}, True),
    ({"doubleValue": "much"}, "much"),
    ({"doubleValue": 10**400}, 10**400),
    ({"bytesValue": "!"}, "!"),
    ({"arrayValue": [{"intValue": "1"}]}, [1]),
    ({"arrayValue": {"values": {"a": 1}}}, '{"values":{"a":1}}'),
    ({"kvlistValue": "x"}, "x"),
    ({"kvlistValue": {"values": [{"key": "k", "value": {"intValue": "1"}}, 5]}}, {"k": 1}),
    ({"futureValue": 1}, None),
    ("bare", "bare"),
    ([1], "[1]"),
]


@pytest.mark.parametrize(("value", "expected"), VALUES, ids=str)
def test_values(value: Any, expected: Any) -> None:
    """Each kind of value has its type, in each spelling."""
    found, is_odd = value_of(value)
    assert (found, type(found), is_odd) == (expected, type(expected), False)


@pytest.mark.parametrize(("value", "expected"), ODD_VALUES, ids=lambda value: str(value)[:30])
def test_odd_values(value: Any, expected: Any) -> None:
    """What the protocol doesn't have is shown as it stands, or as text, and marked."""
    assert value_of(value) == (expected, True)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"kind": 2}, 1),
        ({"kind": "2"}, 1),
        ({"kind": "SPAN_KIND_CONSUMER"}, 4),
        ({"kind": "CLIENT"}, 2),
        ({"kind": 0}, None),
        ({"kind": None}, None),
        ({}, None),
    ],
)
def test_kinds(field: dict[str, Any], expected: int) -> None:
    """A kind is a number or a name; none is none."""
    span = span_of(**field)
    assert (span.kind_value, span.warnings) == (expected, Warnings(0))


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"kind": 6}, "kind_value=None"),
        ({"kind": "SPAN_KIND_ODD"}, "kind_value=None"),
        ({"kind": []}, "kind_value=None"),
        ({"status": {"code": 3}}, "status='UNSET'"),
        ({"status": 2}, "status='UNSET'"),
        ({"name": ["a"]}, "name='[\"a\"]'"),
        ({"startTimeUnixNano": str(2**63)}, "start_ns=None"),
        ({"startTimeUnixNano": "1.5"}, "start_ns=None"),
        ({"startTimeUnixNano": "2024-05-28"}, "start_ns=None"),
        ({"endTimeUnixNano": -1}, "end_ns=None"),
        ({"events": {}}, "events=()"),
        ({"events": [5]}, "events=()"),
        ({"links": [{"traceId": "x", "spanId": SPAN_ID}]}, f"Link(trace_id=None, span_id='{SPAN_ID}'"),
        ({"attributes": {"a": {"intValue": 1}}}, "attributes={'a': 1}"),
        ({"attributes": [{"key": 5, "value": {"intValue": 1}}]}, "attributes={'5': 1}"),
        ({"attributes": [{"key": "a", "value": {}}, {"key": "a", "value": {"intValue": 1}}]}, "attributes={'a': 1}"),
        ({"traceState": "nonsense"}, "extra={'trace_state': 'nonsense'}"),
        ({"flags": 2**32}, "extra={}"),
    ],
    ids=str,
)
def test_odd_fields(field: dict[str, Any], expected: str) -> None:
    """A field that isn't as the protocol has it is left out or shown as text, and the span is marked."""
    span = span_of(**field)
    assert span.warnings == Warnings.ODD_VALUE
    assert expected in repr(span)


@pytest.mark.parametrize(
    ("fields", "ids", "extra"),
    [
        ({"traceId": TRACE_ID.upper()}, (TRACE_ID, SPAN_ID, None), {}),
        ({"traceId": "W47/95gDgQPSabYzgT/GDA=="}, (TRACE_ID, SPAN_ID, None), {}),
        ({"traceId": "W47_95gDgQPSabYzgT_GDA", "spanId": "7uGbfsPBsXQ"}, (TRACE_ID, SPAN_ID, None), {}),
        ({"parentSpanId": ""}, (TRACE_ID, SPAN_ID, None), {}),
        ({"parentSpanId": "0" * 16}, (TRACE_ID, SPAN_ID, None), {}),
        ({"parentSpanId": "AAAAAAAAAAA="}, (TRACE_ID, SPAN_ID, None), {}),
        ({"parentSpanId": "xyz"}, (TRACE_ID, SPAN_ID, None), {"parent_span_id": "xyz"}),
        ({"traceId": "7" * 33}, (None, SPAN_ID, None), {"trace_id": "7" * 33}),
        ({"traceId": None, "spanId": 5}, (None, None, None), {"span_id": 5}),
    ],
)
def test_ids(fields: dict[str, Any], ids: tuple[str | None, ...], extra: dict[str, Any]) -> None:
    """Ids are hex digits or base64; one that is no good is kept as it is written."""
    span = span_of(**fields)
    assert (span.trace_id, span.span_id, span.parent_id) == ids
    assert span.extra == extra
    assert span.warnings == (Warnings.BAD_ID if extra or None in ids[:2] else Warnings(0))


def test_what_only_otlp_says() -> None:
    """Flags, counts of what was dropped, addresses of schemas and references to entities are kept."""
    value = document(
        {
            "traceId": TRACE_ID,
            "spanId": SPAN_ID,
            "flags": 257,
            "droppedAttributesCount": 1,
            "droppedEventsCount": 2,
            "droppedLinksCount": "3",
            "deprecated": [5],
            "events": [{"timeUnixNano": "5", "droppedAttributesCount": 4}],
            "links": [{"traceId": TRACE_ID, "spanId": SPAN_ID, "flags": 256, "traceState": "a=1, b=2"}],
        },
        resource={"droppedAttributesCount": 5, "entityRefs": [{"type": "host", "idKeys": ["host.id"]}]},
        schemaUrl="https://r",
    )
    value["resourceSpans"][0]["scopeSpans"][0] |= {"scope": {"name": "s", "version": "1"}, "schemaUrl": "https://s"}
    (span,) = otlp.spans_of(value, NOWHERE)
    assert span.extra == {
        "flags": 257,
        "dropped_attributes_count": 1,
        "dropped_events_count": 2,
        "dropped_links_count": 3,
    }
    assert (span.events[0].timestamp_ns, span.events[0].extra) == (5, {"dropped_attributes_count": 4})
    assert (span.links[0].extra, span.links[0].trace_state) == ({"flags": 256}, {"a": "1", "b": "2"})
    assert span.resource.extra == {
        "dropped_attributes_count": 5,
        "entity_refs": [{"type": "host", "id_keys": ["host.id"]}],
    }
    assert (span.resource.schema_url, span.scope) == ("https://r", Scope("s", "1", "https://s"))
    assert span.warnings == Warnings(0)


def _in_snake_case(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_in_snake_case, value)]
    return {snake_case(key): _in_snake_case(part) for key, part in value.items()} if isinstance(value, dict) else value


_NAMED: Final = {"code": ("UNSET", "OK", "ERROR"), "kind": ENUMS[FieldKind.SPAN_KIND][1]}
_OLD_NAMES: Final = {"scopeSpans": "instrumentationLibrarySpans", "scope": "instrumentationLibrary"}


def _as_protobuf(value: Any) -> Any:
    """Return a document as protobuf's JSON has it: ids in base64, enums by name; integers as numbers, old names."""
    if isinstance(value, list):
        return [*map(_as_protobuf, value)]
    if not isinstance(value, dict):
        return value
    fields: dict[str, Any] = value
    changed: dict[str, Any] = {}
    for key, part in fields.items():
        if key.endswith(("Id", "traceId")):
            changed[key] = b64encode(bytes.fromhex(part)).decode()
        elif key in _NAMED:
            changed[key] = {"code": "STATUS_CODE_", "kind": "SPAN_KIND_"}[key] + _NAMED[key][part]
        elif key == "intValue" or key.endswith("UnixNano"):
            changed[key] = int(part)
        else:
            changed[_OLD_NAMES.get(key, key)] = _as_protobuf(part)
    return changed


@settings(max_examples=200, deadline=None)
@given(DOCUMENTS)
def test_one_meaning_of_all_spellings(value: dict[str, Any]) -> None:
    """Field names, ids, enums and integers come to the same in each spelling; nothing is odd in any."""
    expected = [repr(span) for span in otlp.spans_of(value, NOWHERE)]
    assert not any(span.warnings for span in otlp.spans_of(value, NOWHERE))
    for spelled in (
        _in_snake_case(value),
        _as_protobuf(value),
        _in_snake_case(_as_protobuf(value)),
        {"batches": value["resourceSpans"]},
        {"trace": value},
    ):
        assert otlp.is_document(spelled)
        assert [repr(span) for span in otlp.spans_of(spelled, NOWHERE)] == expected
    parts = [otlp.spans_of(part, NOWHERE) for part in value["resourceSpans"] if otlp.is_document(part)]
    assert [repr(span) for part in parts for span in part] == expected


@pytest.mark.parametrize("text", ["1.7e18", "1700000000000000001", "1700000000000000000.0", "+5", "1E3"])
def test_integers_as_text(text: str) -> None:
    """An integer may have an exponent, or a fraction of zero, as JSON's mapping of protobuf has it."""
    expected = ParseDict({"startTimeUnixNano": text}, ProtoSpan()).start_time_unix_nano
    span = span_of(startTimeUnixNano=text)
    assert (span.start_ns, span.warnings) == (expected, Warnings(0))


# -- anything ---------------------------------------------------------------------------------------------------------

_NAMES: Final = [
    *("resource", "scopeSpans", "scope", "spans", "schemaUrl", "instrumentationLibrary", "trace_id", "traceId"),
    *("spanId", "parentSpanId", "name", "kind", "status", "code", "message", "attributes", "key", "value", "values"),
    *("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue", "arrayValue", "kvlistValue", "events"),
    *("links", "flags", "traceState", "timeUnixNano", "startTimeUnixNano", "entityRefs", "idKeys", "type"),
]
_JSON: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["NaN", "2", "SPAN_KIND_SERVER", TRACE_ID, "AAEC", "\ud800", "a=1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=6),
    max_leaves=30,
)
_ANY: Final = st.dictionaries(st.sampled_from(_NAMES), _JSON, max_size=8)


@settings(max_examples=500, deadline=None)
@given(_ANY, _ANY, _ANY)
def test_any_shape(span: dict[str, Any], of_scope: dict[str, Any], of_resource: dict[str, Any]) -> None:
    """Whatever stands in a document, its spans are read, and each can be kept."""
    value = {"resourceSpans": [{**of_resource, "scopeSpans": [{**of_scope, "spans": [span]}, of_scope]}, of_resource]}
    assert otlp.is_document(value)
    spans = otlp.spans_of(value, NOWHERE)
    assert spans
    assert len(columns_of_rows(map(row_of_span, spans))) == len(spans)
    for found in spans:
        # It can be shown and written, whatever is in it.
        assert loads_exact(dumps_span(span_value(found, None)))["span_id"] == found.span_id


def test_very_deep() -> None:
    """A value that nests deeper than anybody needs is shown as text from there on."""
    deep: Any = {"stringValue": "end"}
    for _ in range(5_000):
        deep = {"arrayValue": {"values": [deep]}}
    value, is_odd = value_of(deep)
    assert is_odd
    levels = 0
    while isinstance(value, list):
        (value,), levels = value, levels + 1
    assert (levels, value[:24], value[-12:]) == (64, '{"values":[{"arrayValue"', "}]}}]}}]}}]}")


def test_what_is_no_document() -> None:
    """Other JSON, metrics and logs are not taken for it."""
    values: list[Any] = [None, [], {}, {"resourceSpans": {}}, {"resourceMetrics": []}, {"resourceLogs": []}]
    values += [{"trace": "x"}, {"result": {"spans": []}}, [document()]]
    assert not any(map(otlp.is_document, values))
    assert not any(foreign.format_of(value) for value in values)


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=3)))
def test_trace_states(entries: dict[str, str]) -> None:
    """What is written of a trace state is read as the same, in order; what can't be written is told."""
    text = format_trace_state_header(entries)
    assert text is None or [*(parse_trace_state_header(text) or {}).items()] == [*entries.items()]
    assert format_trace_state_header({"b": "1", "a": "x=y"}) == "b=1,a=x=y"
    assert parse_trace_state_header(" a=1 ,, b=2\t") == {"a": "1", "b": "2"}


# -- files ------------------------------------------------------------------------------------------------------------


def lines_of(number: int) -> bytes:
    """Return a line with two spans."""
    spans = [{"traceId": TRACE_ID, "spanId": f"{2 * number + at:016x}", "name": f"s{number}"} for at in (1, 2)]
    return json.dumps(document(*spans)).encode() + b"\n"


def test_metrics_and_logs_are_skipped() -> None:
    """A collector's file has lines of metrics and logs between those of spans: they are counted."""
    metrics, logs = b'{"resourceMetrics":[{"scopeMetrics":[]}]}\n', b'{"resourceLogs":[{"scopeLogs":[]}]}\n'
    store = store_of_files({"a.jsonl": metrics + lines_of(0) + logs + lines_of(1) + metrics})
    summary = summary_of(store)
    assert (summary.spans, summary.skipped, summary.torn) == (4, 3, 0)
    assert [problem.kind for problem in store.problems()] == [ProblemKind.SKIPPED]


@pytest.mark.parametrize("cut", [1, 20, 60, 120, len(lines_of(1)) - 2])
def test_a_torn_line(cut: int, tmp_path: Path) -> None:
    """A line that breaks off costs the spans of a resource at the most; file and offset are told."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of(0) + lines_of(1)[:cut] + b"\n" + lines_of(2))
    done = run("check", "--json", path)
    report = json.loads(done.output)
    is_whole = cut == len(lines_of(1)) - 2
    assert (done.status, report["summary"]["spans"], report["summary"]["torn"]) == (1, 6 if is_whole else 4, 1)
    (problem,) = report["problems"]
    assert (problem["kind"], problem["file"]) == (ProblemKind.TORN, str(path))
    assert 0 <= problem["offset"] - len(lines_of(0)) <= len('{"resourceSpans": [')


def test_details_come_from_the_document() -> None:
    """A span is found again in its line; its place is that of the line."""
    reader = MemoryReader()
    store = store_of_files({"a.jsonl": lines_of(0) + lines_of(1)}, reader=reader)
    place = Source("a.jsonl", len(lines_of(0)), len(lines_of(1)) - 1)
    assert [(store.span(row).name, store.span(row).source) for row in (2, 3)] == [("s1", place)] * 2


def test_doubles_in_two_spellings() -> None:
    """The same spans in hex and in base64 are doubles."""
    value = document({"traceId": TRACE_ID, "spanId": SPAN_ID, "kind": 2, "startTimeUnixNano": "5"})
    store = store_of(value, _as_protobuf(value), value)
    assert (len(store.spans), summary_of(store).duplicates) == (1, 2)


def test_three_spellings_of_a_recording() -> None:
    """A file in hex, one in base64 and the console exporter's agree on all that the latter can say."""
    hexed, base64ed, console = (
        load_store(str(FIXTURE / name))
        for name in ("otlp_file_hex_ids.jsonl", "protobuf_json_base64_ids.json", "same_spans_console.json")
    )
    spans = [[store.span(row) for row in range(len(store.spans))] for store in (hexed, base64ed, console)]
    assert [*map(len, spans)] == [6, 6, 6]
    bare = [[replace(span, source=NOWHERE) for span in some] for some in spans]
    assert [*map(whole, bare[0])] == [*map(whole, bare[1])]
    by_id = {(span.trace_id, span.span_id): span for span in spans[2]}
    for span in spans[0]:
        other = by_id[span.trace_id, span.span_id]
        for name in ("parent_id", "name", "kind_value", "status", "attributes", "trace_state"):
            assert getattr(span, name) == getattr(other, name)
        assert span.resource.attributes == other.resource.attributes
        # The console exporter rounds to microseconds, through a float.
        assert abs((span.start_ns or 0) - (other.start_ns or 0)) < 2_000
        assert abs((span.end_ns or 0) - (other.end_ns or 0)) < 2_000
        assert [(event.name, event.attributes) for event in span.events] == [
            (event.name, event.attributes) for event in other.events
        ]
        assert [(link.trace_id, link.span_id, link.attributes) for link in span.links] == [
            (link.trace_id, link.span_id, link.attributes) for link in other.links
        ]
        assert (span.scope is None, other.scope) == (False, None)


def test_lists_of_documents() -> None:
    """A list of documents, and one of the spans of resources, are read element by element."""
    values = [json.loads(lines_of(number)) for number in range(2)]
    for listed in (values, [value["resourceSpans"][0] for value in values]):
        for indent in (None, 2):
            assert len(store_of_files({"a.json": json.dumps(listed, indent=indent).encode()}).spans) == 4


USUAL: Final = {
    "traceId": TRACE_ID,
    "spanId": SPAN_ID,
    "parentSpanId": SPAN_ID[::-1],
    "flags": 768,
    "name": "f",
    "kind": 4,
    "startTimeUnixNano": "1780000000000000000",
    "endTimeUnixNano": "1780000000000136000",
    "status": {"code": 2, "message": "no"},
    "attributes": [{"key": "a", "value": {"stringValue": "b"}}],
}
ODD: Final[tuple[Any, ...]] = (
    *(
        None,
        "",
        "0",
        "00",
        " 1",
        "1",
        "-1",
        "²",
        "\u0661",
        "x",
        "OK",
        "0" * 16,
        "0" * 32,
        "F" * 16,
        "9" * 19,
        "8" * 20,
        0,
        1,
        3,
    ),
    *(7, -1, 2**32, 2**63, 1.0, True, False, [], {}, [{}], [0], {"code": 3}, {"code": True}, {"message": 1}, {"x": 1}),
    *(
        [{"key": "a"}],
        [{"key": 1, "value": {}}],
        [{"key": "logfire.span_type", "value": {"stringValue": "pending_span"}}],
    ),
)


@pytest.mark.parametrize("name", [*USUAL, "traceState", "events", "links", "droppedEventsCount", "else"])
def test_the_quick_way_reads_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a field holds, or if it isn't there; most spans go that way, and what isn't usual doesn't."""
    documents = [USUAL, {key: value for key, value in USUAL.items() if key != name}]
    documents += [{**USUAL, name: value} for value in ODD]
    quick = [otlp.span_of(fields, otlp.parts_of({}, {}), NOWHERE) for fields in documents]
    assert otlp._usual(USUAL, otlp.parts_of({}, {}), NOWHERE) == quick[0]
    monkeypatch.setattr(otlp, "_usual", lambda *_: None)
    for fields, span in zip(documents, quick, strict=True):
        other = otlp.span_of(fields, otlp.parts_of({}, {}), NOWHERE)
        assert (whole(span), span.warnings) == (whole(other), other.warnings), fields
