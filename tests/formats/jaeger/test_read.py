"""Jaeger's JSON, read and written; `uploaded` is what jaeger-ui does with an upload.

{"data": [{"traceID": …, "spans": [{… "references": […], "processID": "p1"}], "processes": {"p1": …}}]}
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from any_spans import JSON, SOURCE, SPAN_IDS, TEXTS, TRACE_IDS, keys_but, records, spans
from records import jaeger_trace, whole
from spanview.formats.foreign import format_of
from spanview.formats.jaeger.read import is_document, spans_of
from spanview.formats.jaeger.write import NO_END, tag_of
from spanview.formats.jsontext import dumps_strict
from spanview.model.codes import KIND_NAMES
from spanview.model.problems import NO_WARNINGS, Warnings
from spanview.model.span import BytesText, Event, Link, Resource, Scope, Span, Status

Json: TypeAlias = dict[str, Any]
TRACE: Final = "00000000000000aa"
WHOLE: Final = TRACE.rjust(32, "0")
START: Final = 1_700_000_000_000_000


def tag(key: str, kind: str, value: object) -> Json:
    """Return a tag."""
    return {"key": key, "type": kind, "value": value}


def ref(span_id: str, kind: str = "CHILD_OF", trace_id: str = TRACE) -> Json:
    """Return a reference."""
    return {"refType": kind, "traceID": trace_id, "spanID": span_id}


def record(span_id: str = "000000000000000b", **members: Any) -> Json:
    """Return a span as Jaeger has it."""
    return {
        "traceID": TRACE,
        "spanID": span_id,
        "operationName": "op",
        "references": [],
        "startTime": START,
        "duration": 5,
        "tags": [],
        "logs": [],
        "processID": "p1",
        "warnings": None,
        **members,
    }


def trace(*some: Json, **members: Any) -> Json:
    """Return a trace as Jaeger has it."""
    processes = {"p1": {"serviceName": "web", "tags": [tag("ip", "string", "10.0.0.1")]}}
    return {"traceID": TRACE, "spans": [*some], "processes": processes, "warnings": None, **members}


def only(**members: Any) -> Span:
    """Return the span of a record."""
    (span,) = spans_of(trace(record(**members)), SOURCE)
    return span


def uploaded(document: Json) -> list[tuple[str, str | None]]:
    """Do what jaeger-ui does with an upload: return span and parent of each, and fail where it would mend something."""
    edges = []
    for one in document["data"]:
        assert one["traceID"]
        known = {span["spanID"] for span in one["spans"]}
        assert len(known) == len(one["spans"])
        for span in one["spans"]:
            assert span["traceID"] == one["traceID"]
            assert isinstance(one["processes"][span["processID"]]["serviceName"], str)
            assert type(span["startTime"]) is type(span["duration"]) is int
            assert span["duration"] >= 0
            assert isinstance(span["operationName"], str)
            lists = [span["tags"], one["processes"][span["processID"]]["tags"]]
            lists += [log["fields"] for log in span["logs"]]
            for tags in lists:
                assert all(isinstance(each["key"], str) and {"type", "value"} < each.keys() for each in tags)
                assert all(isinstance(each["value"], str | int | float) for each in tags)
            assert all(type(log["timestamp"]) is int for log in span["logs"])
            parents = [r["spanID"] for r in span["references"] if r["refType"] in ("CHILD_OF", "FOLLOWS_FROM")]
            edges.append((span["spanID"], next((parent for parent in parents if parent in known), None)))
    return edges


def canonical(one: Json) -> Json:
    """Return a trace without what writing it anew may change: order of tags, names of processes."""
    one = deepcopy(one)
    processes = {name: canonical_tags(process, "tags") for name, process in one["processes"].items()}
    for span in one["spans"]:
        span["process"] = processes[span.pop("processID")]
        canonical_tags(span, "tags")
        for log in span["logs"]:
            canonical_tags(log, "fields")
    return {**one, "processes": None}


def canonical_tags(holder: Json, key: str) -> Json:
    """Order the tags of a holder."""
    holder[key] = sorted(map(json.dumps, holder[key]))
    return holder


def test_a_span() -> None:
    """Everything that a record says stands in its place."""
    span = only(
        flags=1,
        references=[ref("1", "FOLLOWS_FROM", "bb"), ref("2"), ref("3", "FOLLOWS_FROM")],
        tags=[
            tag("span.kind", "string", "server"),
            tag("otel.status_code", "string", "ERROR"),
            tag("error", "bool", True),
            tag("otel.status_description", "string", "bad"),
            tag("otel.scope.name", "string", "lib"),
            tag("otel.scope.version", "string", "2"),
            tag("w3c.tracestate", "string", "a=1,b=2"),
            tag("http.status_code", "int64", 500),
            tag("big", "int64", str(2**60)),
            tag("share", "float64", 1),
            tag("raw", "binary", "AAE="),
        ],
        logs=[
            {"timestamp": START + 1, "fields": [tag("event", "string", "exception"), tag("n", "int64", 1)]},
            {"timestamp": START + 2, "fields": []},
        ],
        warnings=["clock skew"],
    )
    expected = Span(
        WHOLE,
        "000000000000000b",
        "0000000000000002",
        "op",
        KIND_NAMES.index("SERVER"),
        START * 1000,
        START * 1000 + 5000,
        Status(2, "bad"),
        {"http.status_code": 500, "big": 2**60, "share": 1.0, "raw": "AAE="},
        (Event("exception", START * 1000 + 1000, {"n": 1}), Event("", START * 1000 + 2000)),
        (Link(f"{0xBB:032x}", "0000000000000001"), Link(WHOLE, "0000000000000003")),
        {"a": "1", "b": "2"},
        Resource({"service.name": "web", "ip": "10.0.0.1"}),
        Scope("lib", "2"),
        span.extra,
        SOURCE,
        NO_WARNINGS,
    )
    assert whole(span) == whole(expected)
    assert isinstance(span.attributes["share"], float)
    assert isinstance(span.attributes["raw"], BytesText)
    assert span.extra["jaeger"]["flags"] == 1
    assert span.extra["jaeger"]["warnings"] == ["clock skew"]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([], Status()),
        ([tag("error", "bool", False)], Status()),
        ([tag("error", "bool", True)], Status(2)),
        ([tag("error", "string", "true")], Status(2)),
        ([tag("otel.status_code", "string", "OK")], Status(1)),
        ([tag("otel.status_code", "string", "Error"), tag("otel.status_description", "string", "d")], Status(2, "d")),
        ([tag("otel.status_code", "string", "OK"), tag("error", "bool", True)], Status(2)),
    ],
)
def test_status(tags: list[Json], expected: Status) -> None:
    """The status stands in tags; an error wins."""
    status = only(tags=tags).status
    assert (status, status.description) == (expected, expected.description)


@pytest.mark.parametrize(
    ("members", "start", "end", "warning"),
    [
        ({}, START * 1000, START * 1000 + 5000, NO_WARNINGS),
        ({"startTime": START + 0.5}, START * 1000 + 500, START * 1000 + 5500, NO_WARNINGS),
        ({"startTime": 0}, None, None, NO_WARNINGS),
        ({"startTime": "now"}, None, None, Warnings.ODD_VALUE),
        ({"startTime": 2**62}, None, None, Warnings.ODD_VALUE),
        ({"duration": None}, START * 1000, None, NO_WARNINGS),
        ({"duration": True}, START * 1000, None, Warnings.ODD_VALUE),
        ({"duration": 0, "warnings": [NO_END]}, START * 1000, None, NO_WARNINGS),
    ],
)
def test_times(members: Json, start: int, end: int, warning: Warnings) -> None:
    """Times are numbers of microseconds; fractions are kept, and what is no time is left out."""
    span = only(**members)
    assert (span.start_ns, span.end_ns, span.warnings) == (start, end, warning)


@pytest.mark.parametrize(
    ("members", "warning"),
    [
        ({"spanID": "no"}, Warnings.BAD_ID),
        ({"traceID": 5}, Warnings.BAD_ID),
        ({"references": [ref("no")]}, Warnings.BAD_ID),
        ({"references": "x"}, Warnings.BAD_ID),
        ({"operationName": None}, Warnings.ODD_VALUE),
        ({"tags": {}}, Warnings.ODD_VALUE),
        ({"tags": [5]}, Warnings.ODD_VALUE),
        ({"tags": [tag("a", "int64", "x")]}, Warnings.ODD_VALUE),
        ({"tags": [tag("a", "float64", 10**400)]}, Warnings.ODD_VALUE),
        ({"logs": [5]}, Warnings.ODD_VALUE),
        ({"logs": [{"timestamp": "x", "fields": []}]}, Warnings.ODD_VALUE),
        ({"processID": "p9"}, Warnings.ODD_VALUE),
    ],
)
def test_odd_values(members: Json, warning: Warnings) -> None:
    """What is unusable is left out or shown as text, and marked."""
    assert only(**members).warnings == warning


@pytest.mark.parametrize(
    "value", [trace(record()), {"data": [trace()]}, {"data": [], "errors": None}, {"data": [5, trace()], "total": 1}]
)
def test_what_is_a_document(value: Json) -> None:
    """A document and a trace of it are recognised by content."""
    assert is_document(value)
    assert format_of(value) is not None


def test_a_document_of_one_trace_without_a_list() -> None:
    """The user interface takes it for an upload, whatever else stands beside the trace."""
    value = {"data": {"services": [], **trace(record(), record("2"))}, "state": "FETCH_DONE"}
    assert format_of(value) is not None
    read = [*map(whole, spans_of(value, SOURCE))]
    assert read == [*map(whole, spans_of({"data": [value["data"]]}, SOURCE))] != []


@pytest.mark.parametrize(
    "value", [{}, [], {"data": []}, {"data": [{"a": 1}]}, {"data": {}}, {"traceID": "a"}, record()]
)
def test_what_is_none(value: Any) -> None:
    """Other objects aren't taken for Jaeger's."""
    assert not is_document(value)


AS_JAEGER_WRITES: Final = [
    trace(
        record(
            "0000000000000001",
            flags=1,
            tags=[tag("sampler.type", "string", "const"), tag("span.kind", "string", "client")],
        ),
        record("0000000000000002", references=[ref("0000000000000001")], tags=[tag("error", "bool", True)]),
        record("0000000000000003", references=[ref("0000000000000001", "FOLLOWS_FROM")], warnings=["skewed"]),
        record(
            "0000000000000004",
            references=[ref("0000000000000009", trace_id="00000000000000bb"), ref("0000000000000002")],
        ),
        warnings=["trace is large"],
    ),
    trace(
        record(
            tags=[
                tag("a", "string", "1"),
                tag("a", "string", "2"),
                tag("a", "string", "2"),
                tag("error", "string", "true"),
            ]
        ),
        record(
            "000000000000000c",
            logs=[{"timestamp": START, "fields": [tag("event", "string", "e"), tag("event", "int64", 5)]}],
        ),
        record("000000000000000d", startTime=0, duration=7),
        record(
            "000000000000000e", tags=[tag("otel.library.name", "string", "old"), tag("span.kind", "string", "weird")]
        ),
        record("000000000000000f", tags=[tag("service.name", "string", "x")], processID="p2"),
        processes={
            "p1": {"serviceName": "", "tags": [tag("k", "int64", 1), tag("k", "int64", 2)]},
            "p2": {"serviceName": "b", "tags": [tag("service.name", "string", "c")]},
        },
    ),
    trace(record(traceID="5" * 32, references=[ref("00000000000000ff", trace_id="5" * 32)]), traceID="5" * 32),
]


@pytest.mark.parametrize("value", AS_JAEGER_WRITES)
def test_a_trace_is_written_as_it_was_read(value: Json) -> None:
    """Nothing that Jaeger can say gets lost on the way."""
    written = jaeger_trace(spans_of(value, SOURCE))
    assert canonical(written) == canonical(value)


NUMBERS: Final = st.integers(-5, 2**55) | st.floats() | st.integers()
TAGS: Final = st.builds(tag, TEXTS, st.sampled_from(["string", "bool", "int64", "float64", "binary", "odd"]), JSON)
REFERENCES: Final = st.builds(ref, SPAN_IDS | TEXTS, st.sampled_from(["CHILD_OF", "FOLLOWS_FROM", "x"]), TRACE_IDS)
LOGS: Final = records({"timestamp": NUMBERS, "fields": st.lists(TAGS, max_size=3)})
RECORDS: Final = records(
    {
        "traceID": TRACE_IDS,
        "spanID": SPAN_IDS,
        "parentSpanID": SPAN_IDS,
        "operationName": TEXTS,
        "references": st.lists(REFERENCES, max_size=3),
        "startTime": NUMBERS,
        "duration": NUMBERS,
        "flags": NUMBERS,
        "tags": st.lists(TAGS | JSON, max_size=3),
        "logs": st.lists(LOGS | JSON, max_size=2),
        "processID": st.just("p1"),
        "process": JSON,
        "warnings": st.lists(TEXTS | st.just(NO_END), max_size=2),
    }
)
PROCESSES: Final = st.fixed_dictionaries({"p1": records({"serviceName": TEXTS, "tags": st.lists(TAGS, max_size=3)})})


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "traceID": TRACE_IDS | JSON,
            "spans": st.lists(RECORDS | JSON, max_size=3),
            "processes": PROCESSES | JSON,
            "warnings": JSON,
        }
    )
)
def test_any_json_is_read_and_settles(value: Json) -> None:
    """Nothing raises, no record vanishes, and once it is written it is read and written the same for ever."""
    read = spans_of(value, SOURCE)
    assert len(read) == sum(isinstance(part, dict) for part in value["spans"])
    of_one = [span for span in read if span.trace_id == read[0].trace_id]
    once = json.loads(dumps_strict(jaeger_trace(of_one)))
    if once["spans"]:
        again = json.loads(dumps_strict(jaeger_trace(spans_of(once, SOURCE))))
        assert canonical(again) == canonical(once)


TAKEN: Final = (
    *("span.kind", "error", "otel.status_code", "otel.status_description", "event", "w3c.tracestate"),
    *("otel.scope.name", "otel.scope.version", "otel.library.name", "otel.library.version", "service.name"),
)


@settings(deadline=None)
@given(spans(keys=keys_but(*TAKEN), unit=1000))
def test_a_span_comes_back(span: Span) -> None:
    """A span with values that Jaeger has types for is the same again; links of a root within its trace are lost."""
    lost: list[str] = []
    (again,) = spans_of(json.loads(dumps_strict(jaeger_trace([span], lost.append))), SOURCE)
    links = tuple(link for link in span.links if span.parent_id is not None or link.trace_id != span.trace_id)
    floats = {key for key, value in again.attributes.items() if isinstance(value, float)}
    assert whole(again) == whole(replace(span, links=links, extra=again.extra))
    assert floats == {key for key, value in span.attributes.items() if isinstance(value, float)}
    assert again.extra == span.extra
    assert len(lost) == len(span.links) - len(links)


@settings(deadline=None)
@given(st.lists(spans(values=JSON, trace_ids=st.just(WHOLE)), max_size=4, unique_by=lambda span: span.span_id))
def test_jaeger_ui_takes_what_is_written(some: list[Span]) -> None:
    """An upload of any spans is mended nowhere, and its tree is that of the spans where their parents are there."""
    document = json.loads(dumps_strict({"data": [jaeger_trace(some)] if some else []}))
    known = {str(span.span_id): span.parent_id for span in some}
    edges = uploaded(document)
    assert {span_id for span_id, _ in edges} == {*known}
    # Where a parent is missing, jaeger-ui takes the next reference that is there.
    whole = [(span_id, known[span_id]) for span_id, _ in edges if known[span_id] in known or known[span_id] is None]
    assert [edge for edge in edges if edge in whole] == whole


@pytest.mark.parametrize(
    ("value", "kind", "written"),
    [
        (2**53 - 1, "int64", 2**53 - 1),
        (-(2**53), "int64", str(-(2**53))),
        (2**63, "string", str(2**63)),
        (1.0, "float64", 1.0),
        (BytesText("AAE="), "binary", "AAE="),
        ([1, None], "string", "[1,null]"),
        (None, "string", "null"),
    ],
)
def test_types(value: object, kind: str, written: object) -> None:
    """Integers that a browser would round are text of their own type; what Jaeger has no type for is JSON as text."""
    found = tag_of("k", value)
    assert found == tag("k", kind, written)
    assert type(found["value"]) is type(written)


def test_losses() -> None:
    """What Jaeger has no word for is said, once for each."""
    lost: list[str] = []
    span = Span(
        WHOLE,
        "000000000000000b",
        "000000000000000c",
        "a",
        0,
        START * 1000 + 1,
        START * 1000,
        attributes={"list": [1], "none": None, "huge": 2**64},
        links=(Link(None, None), Link(WHOLE, "000000000000000d", {"a": "1"}, {"k": 1, "l": 2}, {"flags": 1})),
        trace_state={"a": "1,2"},
        resource=Resource({}, "http://schema"),
        scope=Scope("s", None, "http://schema", {"k": 1}),
        extra={"flags": 1, "dropped_events_count": 2},
    )
    jaeger_trace([span, replace(span, span_id=None)], lost.append)
    assert sorted(lost) == [
        "dropped the trace states of {link}",
        "dropped {field} that only other formats have",
        "dropped {field} that only other formats have",
        "dropped {link attribute}",
        "dropped {link attribute}",
        "dropped {link} without usable ids",
        "dropped {resource schema URL}",
        "dropped {scope attribute}",
        "dropped {scope schema URL}",
        "dropped {span} without usable ids",
        "dropped {trace state} unfit for a header",
        "rounded {time} down to microseconds",
        "wrote {negative duration} as 0",
        "wrote {value} of types that Jaeger lacks as text",
        "wrote {value} of types that Jaeger lacks as text",
        "wrote {value} of types that Jaeger lacks as text",
    ]


def test_names_that_stand_for_parts() -> None:
    """What readers would take for a part of the span is told; a success isn't turned into a failure."""
    lost: list[str] = []
    attributes = {"error": True, "otel.status_description": "d", "otel.scope.name": 7, "span.kind": "weird", "a": 1}
    span = Span(WHOLE, "000000000000000b", None, "a", 0, START * 1000, START * 1000, Status(1), attributes)
    (again,) = spans_of(json.loads(dumps_strict(jaeger_trace([span], lost.append))), SOURCE)
    assert again.status == Status(1, "d")
    assert again.attributes == {"otel.scope.name": 7, "span.kind": "weird", "a": 1}
    assert lost == [
        "dropped {error attribute} of spans that didn't fail",
        "wrote {attribute} with names that readers take for parts of the span",
    ]


def test_unknown_times() -> None:
    """Jaeger has no word for a time that isn't known: that it becomes 1970 is told."""
    lost: list[str] = []
    span = Span(WHOLE, "000000000000000b", None, "a", 0, None, None, events=(Event("e", None),))
    (again,) = spans_of(json.loads(dumps_strict(jaeger_trace([span], lost.append))), SOURCE)
    assert (again.start_ns, again.end_ns, again.events) == (None, None, span.events)
    assert lost == ["wrote {span} without a start as starting in 1970", "wrote {event} without a time as of 1970"]


def test_the_last_of_a_name_stays_the_last() -> None:
    """Of tags with one name, the same is the attribute when what was read is written and read again."""
    value = trace(record(tags=[tag("a", "string", text) for text in "12324"] + [tag("b", "int64", 1)]))
    (span,) = spans_of(value, SOURCE)
    (again,) = spans_of(jaeger_trace([span]), SOURCE)
    assert span.attributes == again.attributes == {"a": "4", "b": 1}


def test_deep_values_are_read_and_written() -> None:
    """Nesting that no recursion comes to the end of goes in and out as text."""
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    span = only(tags=[tag("a", "string", deep), {"key": "b", "value": deep}], references=deep, operationName=deep)
    text = "[" * 10_001 + "]" * 10_001
    assert span.name == span.attributes["a"] == text
    written = jaeger_trace([span])["spans"][0]
    assert [each["value"] for each in written["tags"]] == [text, text]
