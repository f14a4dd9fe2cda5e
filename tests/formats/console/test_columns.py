"""The console exporter's JSON: every SDK's spelling is one span, and odd values cost a warning, not the span.

spelling                                             comes to
--------                                             --------
"parent_id": "0x…", "…" (1.1.0 to 1.4.1)             the same parent
"resource": {"a": 1}, {"attributes": {"a": 1}, …}    the same resource
"kind": "SpanKind.SERVER", "SERVER"                  the same kind
"end_time": null                                     no end, `no_end`
"end_time": "soon", 5                                no end, `no_end` and `odd_value`
"""

from __future__ import annotations

import copy
import json
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry import trace as api
from opentelemetry.sdk.resources import Resource as SdkResource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from builders import EPOCH_NS, Builder, Document, span_id, store_of, store_of_files, time_text, trace_id
from records import whole
from spanview.formats.console.columns import columns_of, fields_of, is_span, lenient_row, parse_parent
from spanview.formats.console.spans import span_of
from spanview.formats.rows import SpanColumns
from spanview.formats.tracestate import parse_trace_state
from spanview.index.summary import summary_of
from spanview.model.codes import known_kind
from spanview.model.problems import Warnings
from spanview.model.span import Event, Link, Resource, Source, Span, Status
from spanview.model.times import known

SDK_VERSIONS: Final = Path(__file__).parents[3] / "fixtures" / "sdk-versions" / "spans"
NOWHERE: Final = Source("", 0, 0)


def one_by_one(documents: list[Document]) -> list[list[Any]]:
    """Return the columns that the careful path gives; its rows say nothing of processes."""
    rows = list(map(lenient_row, documents))
    return [*([row[at] for row in rows] for at in range(len(fields(SpanColumns)) - 1)), []]


def at_once(documents: list[Document]) -> list[list[Any]]:
    """Return the columns that the quick path gives."""
    return list(map(list, astuple(columns_of([*map(fields_of, documents)]))))


# Values that a field may have, the usual ones among them --------------------------------------------------------------

ODD: Final[list[Any]] = [None, "", "x", 0, 1, 1.5, True, [], {}, ["a"], {"a": 1}, float("nan"), "\ud800"]
TRACE_IDS: Final = [
    trace_id(1),
    trace_id(2**127),
    trace_id(0),
    "1" * 32,
    "0X" + "A" * 32,
    "0x" + "AB" * 16,
    "1" * 34,
    "0x 1" + "1" * 30,
    "\uff10x" + "1" * 32,
]
SPAN_IDS: Final = [
    span_id(1),
    span_id(2**63),
    span_id(0),
    "1" * 16,
    "0x" + "Ab" * 8,
    "1" * 18,
    "0x0x" + "1" * 14,
    "0x" + " 1" * 8,
    "1x" + "1" * 16,
]
TIMES: Final = [
    *map(time_text, (0, 1, 10**6, -(10**15))),
    "2023-11-14T22:13:20Z",
    "2023-02-30T22:13:20.000000Z",
    "9999-12-31T23:59:59.000000Z",
    "2023-11-14 22:13:20.000000Z",
    "2023-11-14T22:13:60.000000Z",
    "2023-11-14T22:13:20.000000+",
]
VALUES: Final[dict[tuple[str, ...], list[Any]]] = {
    ("context", "trace_id"): TRACE_IDS,
    ("context", "span_id"): SPAN_IDS,
    ("context", "trace_state"): ["['{key=a, value=1}']"],
    ("parent_id",): SPAN_IDS,
    ("start_time",): TIMES,
    ("end_time",): TIMES,
    ("name",): ["a name"],
    ("kind",): ["SpanKind.SERVER", "CLIENT", "server", "SpanKind.", 3],
    ("status",): ["OK", {"status_code": "StatusCode.ERROR"}, {"code": 2}],
    ("status", "status_code"): ["OK", "ERROR", "ok", "StatusCode.OK"],
    ("status", "description"): ["a description"],
    ("attributes",): [{"a": {"b": []}}],
    ("events",): [[{}], [{"name": 1, "timestamp": 2, "attributes": 3}], [1]],
    ("links",): [[{}], [{"context": 1}], [{"context": {"trace_id": 1}}], [1]],
    ("resource",): [{"service.name": "flat"}, {"attributes": None}],
    ("resource", "attributes"): [{"service.name": 5}, {"service.name": "s"}],
    ("resource", "schema_url"): ["a URL"],
}
_GONE: Final = object()


def changed(document: Document, changes: list[tuple[tuple[str, ...], Any]]) -> Document:
    """Return a copy of a document with other values at these places, or without them, where there are such places."""
    document = copy.deepcopy(document)
    for path, value in changes:
        holder: Any = document
        for key in path[:-1]:
            holder = holder.get(key) if isinstance(holder, dict) else None
        if isinstance(holder, dict):
            if value is _GONE:
                holder.pop(path[-1], None)
            else:
                # Its own, or a later change could put it into itself.
                holder[path[-1]] = copy.deepcopy(value)
    return document


CHANGES: Final = [(path, value) for path, values in VALUES.items() for value in (*values, *ODD, _GONE)]
ANY_SPANS: Final = st.lists(st.lists(st.sampled_from(CHANGES), max_size=3), min_size=1, max_size=30).map(
    lambda many: [
        document
        for number, changes in enumerate(many)
        if is_span(document := changed(Builder().span(f"span {number % 3}", span=number + 1, service="s"), changes))
    ]
)


def test_quick_path_is_the_careful_path_for_one_odd_value() -> None:
    """Each odd value in each field, alone and among usual neighbours, gives the columns of the careful path."""
    usual = [Builder().span("usual", span=number, parent=9) for number in range(1, 12)]
    assert len(CHANGES) > 250
    for change in CHANGES:
        document = changed(Builder().span("odd", service="s"), [change])
        if is_span(document):
            assert at_once([document]) == one_by_one([document]), change
            mixed = [*usual[:5], document, *usual[5:]]
            assert at_once(mixed) == one_by_one(mixed), change


@settings(max_examples=1_000, deadline=None)
@given(ANY_SPANS)
def test_quick_path_is_the_careful_path(documents: list[Document]) -> None:
    """Whatever documents come together, the columns are those of each document on its own."""
    if documents:
        assert at_once(documents) == one_by_one(documents)


@settings(max_examples=500, deadline=None)
@given(ANY_SPANS)
def test_every_document_that_is_a_span_becomes_one(documents: list[Document]) -> None:
    """Wrong shapes anywhere in a span raise nothing, and the details agree with the columns."""
    for document in documents:
        span = span_of(document, NOWHERE)
        row = lenient_row(document)
        assert (int(span.trace_id or "0", 16), int(span.span_id or "0", 16), int(span.parent_id or "0", 16)) == row[:3]
        start, end, *texts, kind = row[3:8]
        assert (span.start_ns, span.end_ns) == (known(start), known(end))
        assert [span.name, span.service, span.kind_value] == [*texts, known_kind(kind)]
        assert (span.status.code_value, span.warnings.value) == row[8:]
        assert isinstance(span.attributes, dict)


@pytest.mark.parametrize("depth", [1, 900, 1_500, 5_000, 19_000])
@pytest.mark.parametrize("field", ["name", "description", "schema_url", "event"])
def test_nested_values_where_a_text_belongs(field: str, depth: int) -> None:
    """However deep it is, the span is kept, shown with the JSON as its text, and its neighbour stays."""
    texts = dict.fromkeys(("name", "description", "schema_url", "event"), '"usual"')
    nested = texts[field] = "[" * depth + "]" * depth
    document = Builder().span("@name", status="ERROR", description="@description")
    document["resource"]["schema_url"] = "@schema_url"
    document["events"] = [{"name": "@event", "timestamp": time_text(1), "attributes": {}}]
    text = json.dumps(document)
    for each, value in texts.items():
        text = text.replace(f'"@{each}"', value)
    store = store_of_files({"1.json": f"{text}\n{json.dumps(Builder().span('neighbour', span=2))}\n".encode()})
    span, neighbour = (store.span(row) for row in store.rows_in_order())
    shown = {
        "name": span.name,
        "description": span.status.description,
        "schema_url": span.resource.schema_url,
        "event": span.events[0].name,
    }
    assert shown == dict.fromkeys(texts, "usual") | {field: nested}
    assert span.warnings == Warnings.ODD_VALUE
    assert neighbour.name == "neighbour"


def test_ids_that_only_add_up_are_not_mixed() -> None:
    """An id that is too long beside one that is too short doesn't lend it digits."""
    build = Builder()
    documents = [build.span("a", parent_id="1" * 18), build.span("b", parent_id="0x0x" + "2" * 14)]
    assert at_once(documents) == one_by_one(documents)
    assert at_once(documents)[2] == [0, 0]


def test_no_documents() -> None:
    """Columns of nothing are empty."""
    assert len(columns_of([])) == 0


def test_usual_documents_take_the_quick_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents as the SDK writes them are never converted one by one."""
    monkeypatch.setattr("spanview.formats.console.columns.lenient_row", None)
    build = Builder()
    documents = [build.span(f"{number}", parent=number or None, kind="CONSUMER", status="OK") for number in range(100)]
    assert len(columns_of([*map(fields_of, documents)])) == 100


# Recognition ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        "span",
        [],
        {},
        {"name": "event", "timestamp": "2023-11-14T22:13:20.000000Z", "attributes": {}},
        {"context": {"trace_id": "0x1", "span_id": "0x1", "trace_state": "[]"}, "attributes": {}},
        {"name": "a", "context": None, "kind": "SpanKind.SERVER"},
        {"name": "a", "context": []},
        {"name": "a", "context": {}},
        {"resourceSpans": []},
        {"traceId": "1", "name": "a", "kind": "SERVER"},
    ],
)
def test_foreign_value_is_no_span(value: Any) -> None:
    """Events, links and other programs' objects are not taken for spans."""
    assert not is_span(value)


def test_span_in_any_key_order_is_one() -> None:
    """A span is known by what it has, not by where it stands."""
    document = Builder().span()
    assert is_span(document)
    assert is_span(dict(reversed(document.items())))


# Spellings ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields_", "expected", "warnings"),
    [
        ({}, {}, Warnings(0)),
        ({"kind": "CLIENT"}, {"kind_value": 2}, Warnings(0)),
        ({"kind": "SpanKind.NEW"}, {"kind_value": None}, Warnings.ODD_VALUE),
        ({"kind": None}, {"kind_value": None}, Warnings.ODD_VALUE),
        ({"status": {"status_code": "ERROR", "description": "no"}}, {"status": Status(2, "no")}, Warnings(0)),
        ({"status": {"status_code": "StatusCode.OK"}}, {"status": Status(1)}, Warnings(0)),
        ({"status": {"status_code": 2}}, {"status": Status(0)}, Warnings.ODD_VALUE),
        ({"name": None}, {"name": ""}, Warnings.ODD_VALUE),
        ({"name": 7}, {"name": "7"}, Warnings.ODD_VALUE),
        ({"name": ""}, {"name": ""}, Warnings(0)),
        ({"end_time": None}, {"end_ns": None}, Warnings.NO_END),
        ({"end_time": 5}, {"end_ns": None}, Warnings.NO_END | Warnings.ODD_VALUE),
        ({"start_time": None}, {"start_ns": None}, Warnings(0)),
        ({"start_time": "soon"}, {"start_ns": None}, Warnings.ODD_VALUE),
        ({"end_time": time_text(-1)}, {"end_ns": EPOCH_NS - 1_000}, Warnings.NEGATIVE_DURATION),
        ({"end_time": time_text(0)}, {"end_ns": EPOCH_NS}, Warnings(0)),
        ({"attributes": [1]}, {"attributes": {}}, Warnings.ODD_VALUE),
        ({"events": {}}, {"events": ()}, Warnings.ODD_VALUE),
        ({"links": None}, {"links": ()}, Warnings.ODD_VALUE),
        ({"events": [1]}, {"events": ()}, Warnings.ODD_VALUE),
        ({"events": [{}]}, {"events": (Event("", None),)}, Warnings.ODD_VALUE),
        ({"events": [{"name": "e", "timestamp": 2}]}, {"events": (Event("e", None),)}, Warnings.ODD_VALUE),
        ({"events": [{"name": "e", "attributes": 3}]}, {"events": (Event("e", None),)}, Warnings.ODD_VALUE),
        ({"events": [{"name": "e"}]}, {"events": (Event("e", None),)}, Warnings(0)),
        ({"links": [1]}, {"links": ()}, Warnings.ODD_VALUE),
        ({"links": [{"context": None}]}, {"links": (Link(None, None),)}, Warnings.ODD_VALUE),
        ({"resource": None}, {"resource": Resource()}, Warnings.ODD_VALUE),
        ({"resource": [1]}, {"resource": Resource()}, Warnings.ODD_VALUE),
        (
            {"status": {"status_code": "ERROR", "description": {}}},
            {"status": Status(2, "{}")},
            Warnings.ODD_VALUE,
        ),
        (
            {"resource": {"a": 1, "service.name": "s"}},
            {"resource": Resource({"a": 1, "service.name": "s"})},
            Warnings(0),
        ),
        (
            {"resource": {"attributes": {"a": 1}, "schema_url": "u"}},
            {"resource": Resource({"a": 1}, "u")},
            Warnings(0),
        ),
        (
            {"events": [{"name": "e", "timestamp": time_text(1), "attributes": {"k": None}}]},
            {"events": (Event("e", EPOCH_NS + 1_000, {"k": None}),)},
            Warnings(0),
        ),
        (
            {"links": [{"context": {"trace_id": trace_id(2), "span_id": span_id(3), "trace_state": "[]"}}]},
            {"links": (Link("0" * 31 + "2", "0" * 15 + "3"),)},
            Warnings(0),
        ),
    ],
)
def test_spelling(fields_: dict[str, Any], expected: dict[str, Any], warnings: Warnings) -> None:
    """Each spelling comes to its value, with a warning where it is unusable."""
    usual = span_of(Builder().span(), NOWHERE)
    read = span_of(Builder().span() | fields_, NOWHERE)
    assert whole(read) == whole(replace(usual, **expected, warnings=warnings))


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("[]", {}),
        (
            "['{key=congo, value=t61rcWkgMzE}', '{key=rojo, value=00f0=67}']",
            {"congo": "t61rcWkgMzE", "rojo": "00f0=67"},
        ),
        ("['{key=a@b, value=}']", {"a@b": ""}),
        ("""["{key=a, value=it's}"]""", {"a": "it's"}),
        (
            repr(["{key=a, value='\"}", "{key=b, value=}{}", "{key=d, value=\\}"]),
            {"a": "'\"", "b": "}{", "d": "\\"},
        ),
        ("['{key=a, value=1}', nonsense]", {}),
        ("['{key=a, value=1}", {}),
        ("['a']", {}),
        ('"\\"' * 100_000, {}),
        ("[" + "'{key=" * 100_000, {}),
        ("", {}),
        (None, {}),
        ([], {}),
    ],
)
def test_trace_state(text: object, entries: dict[str, str]) -> None:
    """The repr of a list that the SDK writes is read back to its entries."""
    assert parse_trace_state(text) == entries


@pytest.mark.parametrize(
    ("value", "parent"),
    [
        (None, (0, False)),
        ("", (0, False)),
        ("0x0000000000000000", (0, False)),
        ("0000000000000000", (0, False)),
        ("0x000000000000000a", (10, False)),
        ("000000000000000a", (10, False)),
        ("none", (0, True)),
        (0, (0, True)),
        ([], (0, True)),
    ],
)
def test_parent(value: object, parent: tuple[int, bool]) -> None:
    """Nothing and all zeros mean no parent; anything else that is no id is said to be bad."""
    assert parse_parent(value) == parent


# What the SDK really writes -------------------------------------------------------------------------------------------


def spans_of_version(version: str, file: str) -> dict[str, Span]:
    """Return the spans that an SDK wrote, by name, without what differs from one process to the next."""
    store = store_of_files({file: (SDK_VERSIONS / version / file).read_bytes()})
    spans = {}
    for row in range(len(store.spans)):
        span = store.span(row)
        own = {"telemetry.sdk.version", "service.instance.id"}
        attributes = {key: value for key, value in span.resource.attributes.items() if key not in own}
        events = tuple(map(_without_stack, span.events))
        spans[span.name] = replace(span, source=NOWHERE, resource=Resource(attributes), events=events)
    return spans


def _without_stack(event: Event) -> Event:
    """Return an event without the stack trace, which has the path of the program in it."""
    attributes = {key: value for key, value in event.attributes.items() if key != "exception.stacktrace"}
    return replace(event, attributes=attributes)


VERSIONS: Final = sorted(path.name for path in SDK_VERSIONS.iterdir())
# The spans with an attribute of a kind that OpenTelemetry doesn't know: later SDKs write it, earlier ones drop it.
KEPT_BY_SOME: Final = {"odd-bytes", "odd-dict", "odd-mixed", "odd-none", "root", "odd-nan"}


@pytest.mark.parametrize("file", ["default.json", "compact.jsonl"])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_sdk_writes_the_same_spans(version: str, file: str) -> None:
    """The same program's spans are the same spans, whichever SDK and layout they come from."""
    newest, spans = spans_of_version("v1.45.2", "compact.jsonl"), spans_of_version(version, file)
    assert len(newest) == 18
    assert spans.keys() - newest.keys() == (set() if version == "v1.45.2" else {"odd-bytes"})
    for name in newest:
        if name not in KEPT_BY_SOME:
            assert whole(spans[name]) == whole(newest[name])
        assert whole(spans[name]) | {"attributes": {}} == whole(newest[name]) | {"attributes": {}}


def test_odd_values_of_the_sdk_are_kept() -> None:
    """NaN, infinity, integers over 64 bits and lone surrogates, which the SDK really writes, cost nothing."""
    spans = spans_of_version("v1.45.2", "default.json")
    assert repr(spans["odd-nan"].attributes["v"]) == "nan"
    assert spans["odd-inf"].attributes == {"v": float("inf")}
    assert spans["odd-huge"].attributes == {"v": 2**80}
    assert spans["odd-surrogate"].attributes == {"v": "\ud800"}
    assert spans["epoch"].start_ns is None
    assert spans["unended"].warnings == Warnings.NO_END
    assert spans["negative"].warnings == Warnings.NEGATIVE_DURATION
    assert spans["remote-parent"].trace_state == {"congo": "t61rcWkgMzE", "rojo": "00f067aa0ba902b7"}
    assert [event.is_exception for event in spans["child"].events] == [False, False, True]


@pytest.mark.parametrize("indent", [None, 4])
def test_installed_sdk(indent: int | None) -> None:
    """What the SDK of this environment writes is read back to what it recorded."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=SdkResource({"service.name": "made here"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("outer", kind=api.SpanKind.SERVER, attributes={"n": 1, "l": ["a"]}) as outer:
        link = api.Link(outer.get_span_context(), {"why": "so"})
        with tracer.start_as_current_span("inner", kind=api.SpanKind.CLIENT, links=[link]) as inner:
            inner.add_event("event", {"k": True})
            inner.set_status(api.StatusCode.ERROR, "broke")
    provider.shutdown()
    recorded = exporter.get_finished_spans()
    data = "\n".join(span.to_json(indent=indent) for span in recorded).encode()
    store = store_of_files({"1.json": data})
    read = {store.span(row).name: store.span(row) for row in range(len(store.spans))}
    assert read.keys() == {"outer", "inner"}
    for original in recorded:
        span, context = read[original.name], original.get_span_context()
        assert context is not None
        assert (span.trace_id, span.span_id) == (f"{context.trace_id:032x}", f"{context.span_id:016x}")
        assert span.parent_id == (None if original.parent is None else f"{original.parent.span_id:016x}")
        assert (span.kind, span.status.status_code) == (original.kind, original.status.status_code)
        assert span.status.description == original.status.description
        # The exporter rounds to microseconds, through a float.
        assert abs((span.start_ns or 0) - (original.start_time or 0)) <= 2_000
        assert abs((span.end_ns or 0) - (original.end_time or 0)) <= 2_000
        assert span.attributes == {
            key: [*value] if isinstance(value, tuple) else value for key, value in (original.attributes or {}).items()
        }
        assert [event.name for event in span.events] == [event.name for event in original.events]
        assert span.service == "made here"
        assert span.warnings == Warnings(0)
    assert read["inner"].links == (Link(read["outer"].trace_id, read["outer"].span_id, {}, {"why": "so"}),)


def test_parts_of_a_span_are_no_spans() -> None:
    """Events and links that stand alone are whole documents, but skipped."""
    build = Builder()
    event: Document = {"name": "e", "timestamp": time_text(0), "attributes": {}}
    store = store_of(build.span("a"), event, {"context": build.span()["context"], "attributes": {}})
    assert (summary_of(store).spans, summary_of(store).skipped) == (1, 2)
