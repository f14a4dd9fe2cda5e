"""Go's spans, read: a document each, or a list of them.

{"Name": …, "SpanContext": {"TraceID": …, "SpanID": …}, "Parent": {…}, "SpanKind": 2, "Status": {"Code": "Ok"}, …}
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from any_spans import JSON, SCALARS, SOURCE, SPAN_IDS, TEXTS, TRACE_IDS, records, spans
from builders import store_of_files
from go_stubs import stub_of
from records import whole
from spanview.formats.go import is_document, span_of, spans_of
from spanview.index.summary import summary_of
from spanview.model.problems import NO_WARNINGS, Warnings
from spanview.model.span import Event, Link, Resource, Scope, Span, Status

TRACE, OWN, PARENT = f"{0xA1:032x}", f"{0xB1:016x}", f"{0xC1:016x}"
SPAN: Final = Span(
    *(TRACE, OWN, PARENT, "charge", 2, 1_700_000_000_000_000_001, 1_700_000_000_000_000_900, Status(2, "declined")),
    {"text": "a", "count": 2**60, "ratio": 1.0, "cached": False, "items": ["x"], "counts": [1], "shares": [1.0]},
    (Event("exception", 1_700_000_000_000_000_002, {"exception.message": "no"}),),
    (Link(TRACE, PARENT, {"a": "1"}, {"why": "order"}, {"flags": 0x101}),),
    {"vendor": "t61"},
    Resource({"service.name": "shop", "process.pid": 7}),
    Scope("lib", "1.2"),
    {"dropped_events_count": 3, "flags": 0x101},
    SOURCE,
)


def read(**members: Any) -> Span:
    """Return the span with some members replaced."""
    return span_of({**stub_of(SPAN), **members}, SOURCE)


def test_a_span() -> None:
    """Everything that a document says is in its place, numbers in the types that Go names."""
    assert whole(read()) == whole(SPAN)
    assert [type(value) for value in read().attributes.values()] == [str, int, float, bool, list, list, list]


@pytest.mark.parametrize(
    ("code", "expected"), [("Unset", 0), ("Ok", 1), ("Error", 2), (0, 0), (1, 2), (2, 1), (None, 0)]
)
def test_status(code: Any, expected: int) -> None:
    """A code may be Go's own number, as BuildKit writes it: 1 is an error there, 2 isn't."""
    span = read(Status={"Code": code, "Description": ""})
    assert (span.status, span.warnings) == (Status(expected), NO_WARNINGS)


@pytest.mark.parametrize(
    ("flags", "is_remote", "extra"),
    [("01", False, 0x101), ("00", False, 0x100), ("01", True, 0x301), (None, True, None)],
)
def test_flags(flags: str | None, is_remote: bool, extra: int | None) -> None:  # noqa: FBT001 - a table of cases
    """Flags say whether the parent is in another process, as Go's exporter of OTLP has it."""
    context, parent = {**stub_of(SPAN)["SpanContext"], "TraceFlags": flags}, {"SpanID": PARENT, "Remote": is_remote}
    assert read(SpanContext=context, Parent=parent).extra.get("flags") == extra


def test_older_and_newer_releases() -> None:
    """What named the tracer was a library first; types that aren't known are taken as they are."""
    library = {"Name": "old", "Version": "", "SchemaURL": "u"}
    assert read(InstrumentationScope=None, InstrumentationLibrary=library).scope == Scope("old", None, "u")
    assert read(InstrumentationLibrary=library).scope == Scope("lib", "1.2")
    span = read(Attributes=[{"Key": "m", "Value": {"Type": "MAP", "Value": {"a": [1]}}}])
    assert (span.attributes, span.warnings) == ({"m": {"a": [1]}}, NO_WARNINGS)


def test_times_with_another_zone() -> None:
    """Go writes times in the zone of its machine."""
    noon = int(datetime(2026, 11, 24, 11, tzinfo=UTC).timestamp()) * 10**9
    assert read(StartTime="2026-11-24T12:00:00.5+01:00").start_ns == noon + 5 * 10**8
    assert read(StartTime="0001-01-01T00:00:00Z").start_ns is None


@pytest.mark.parametrize(
    ("members", "warning"),
    [
        ({"Parent": None}, NO_WARNINGS),
        ({"Parent": {"SpanID": "0" * 16}}, NO_WARNINGS),
        ({"Parent": {"SpanID": "x"}}, Warnings.BAD_ID),
        ({"SpanContext": {}}, Warnings.BAD_ID),
        ({"SpanKind": 6}, Warnings.ODD_VALUE),
        ({"SpanKind": True}, Warnings.ODD_VALUE),
        ({"Status": {"Code": 3}}, Warnings.ODD_VALUE),
        ({"Status": {"Code": []}}, Warnings.ODD_VALUE),
        ({"StartTime": "yesterday"}, Warnings.ODD_VALUE),
        ({"Name": None}, NO_WARNINGS),
        ({"Name": 5}, Warnings.ODD_VALUE),
        ({"DroppedEvents": -1}, Warnings.ODD_VALUE),
        ({"Attributes": {"a": 1}}, Warnings.ODD_VALUE),
        ({"Attributes": [{"Key": "a", "Value": {"Type": "INT64", "Value": "1"}}]}, Warnings.ODD_VALUE),
        ({"Attributes": [{"Key": "a", "Value": {"Type": "INT64SLICE", "Value": None}}]}, NO_WARNINGS),
        ({"Attributes": [{"Key": "a", "Value": {"Type": "STRINGSLICE", "Value": [1]}}]}, Warnings.ODD_VALUE),
        ({"Attributes": [{"Key": "a", "Value": 1}]}, Warnings.ODD_VALUE),
        ({"Attributes": [{"Key": "a", "Value": {"Type": "STRING", "Value": "1"}}] * 2}, Warnings.ODD_VALUE),
        ({"Links": [{"SpanContext": {}}]}, Warnings.ODD_VALUE),
        ({"Events": ["x"]}, Warnings.ODD_VALUE),
    ],
)
def test_odd_values(members: dict[str, Any], warning: Warnings) -> None:
    """What is unusable is left out or shown as text, and marked."""
    assert read(**members).warnings == warning


@pytest.mark.parametrize("value", [{}, [], {"Name": "a"}, {"Name": "a", "SpanContext": "b"}, {"SpanContext": {}}, "x"])
def test_what_is_none(value: Any) -> None:
    """Links and other objects aren't taken for spans."""
    assert not is_document(value)


@settings(deadline=None)
@given(spans())
def test_a_span_is_read_as_it_was_written(span: Span) -> None:
    """Whatever a span has that Go can say is read again."""
    (again,) = spans_of(json.loads(json.dumps(stub_of(span))), SOURCE)
    status = Status(span.status.code_value, span.status.description or None)
    links = tuple(replace(link, extra={"flags": 0x101}) for link in span.links)
    assert whole(again) == whole(replace(span, status=status, links=links, extra={**span.extra, "flags": 0x101}))


PAIRS: Final = st.lists(
    records(
        {
            "Key": TEXTS,
            "Value": records({"Type": st.sampled_from(["INT64", "FLOAT64", "STRINGSLICE"]), "Value": SCALARS}),
        }
    ),
    max_size=2,
)
CONTEXTS: Final = records({"TraceID": TRACE_IDS, "SpanID": SPAN_IDS, "TraceFlags": TEXTS, "TraceState": TEXTS})
TIMES: Final = st.sampled_from(["2026-11-24T12:00:00Z", "0001-01-01T00:00:00Z", "2026-11-24T12:00:00.123456789+05:30"])
STUBS: Final = records(
    {
        "Name": TEXTS,
        "SpanContext": CONTEXTS,
        "Parent": CONTEXTS,
        "SpanKind": st.integers(0, 6),
        "StartTime": TIMES,
        "EndTime": TIMES,
        "Attributes": PAIRS,
        "Events": st.lists(records({"Name": TEXTS, "Time": TIMES, "Attributes": PAIRS}), max_size=2),
        "Links": st.lists(records({"SpanContext": CONTEXTS, "Attributes": PAIRS}), max_size=2),
        "Status": records({"Code": st.sampled_from(["Ok", "Error", 1]), "Description": TEXTS}),
        "DroppedLinks": st.integers(-1, 2**33),
        "Resource": PAIRS,
        "InstrumentationScope": records({"Name": TEXTS, "Attributes": PAIRS}),
    },
    "Name",
    "SpanContext",
)


@settings(deadline=None)
@given(st.lists(STUBS | JSON, max_size=4))
def test_any_json_is_read(value: list[Any]) -> None:
    """Nothing raises, and no record vanishes: what isn't read is passed over."""
    passed: list[Any] = []
    assert len(spans_of(value, SOURCE, passed.append)) + len(passed) == len(value)


def test_in_other_text() -> None:
    """Spans are found behind a program's own words, after a torn one, and in a list."""
    line = json.dumps(stub_of(SPAN)).encode()
    other = json.dumps(stub_of(replace(SPAN, span_id=f"{7:016x}"))).encode()
    third = json.dumps(stub_of(replace(SPAN, span_id=f"{8:016x}"))).encode()
    store = store_of_files(
        {"a.log": b"== APP == " + line + b"\n" + other[:200] + other + b"\n[" + third + b", null]\n"}
    )
    assert (summary_of(store).spans, summary_of(store).torn) == (3, 1)
    assert [store.span(row).attributes["count"] for row in store.rows_in_order()] == [2**60] * 3
