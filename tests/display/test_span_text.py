"""A span's details as lines: what each section says, and that no line is wider than the screen.

key         text
---         ----
http.url    https://example.org/a/lo     a value that is longer goes on below,
            ng/way                       and so does a key
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from builders import Builder, MemoryReader, file_of, span_id, store_of, store_of_files, time_text, trace_id
from spanview.display.parts import DetailLine, value_text
from spanview.display.span_in_tree import SpanInTree
from spanview.display.span_text import SECTIONS, detail_lines, empty_sections, section_titles

if TYPE_CHECKING:
    from builders import Document
    from spanview.index.store import Store

WIDTH = 60


pytestmark = pytest.mark.usefixtures("universal_time")


def subject_in(store: Store, node: int) -> SpanInTree:
    """Return a node of a store's first trace."""
    tree = store.tree(0)
    return SpanInTree(store.span(tree.rows[node]), store, 0, tree, node)


def lines_of(section: str, *documents: Document, node: int = 0, width: int = WIDTH) -> list[DetailLine]:
    """Return the lines of a section of one of the nodes of a trace, which come by start."""
    return detail_lines(subject_in(store_of(*documents), node), section, width)


def shown(lines: list[DetailLine]) -> list[tuple[str, str]]:
    """Return keys and texts."""
    return [(line.key, line.text) for line in lines]


def of_attributes(attributes: dict[str, Any], width: int = WIDTH) -> list[DetailLine]:
    """Return the lines of a span with these attributes."""
    return lines_of("Attributes", Builder().span(attributes=attributes), width=width)


# -- sections ---------------------------------------------------------------------------------------------------------


def test_titles_count_what_can_be_counted() -> None:
    """A section with things in it says how many, and the empty ones are known."""
    builder = Builder()
    event: Document = {"name": "e", "timestamp": time_text(1), "attributes": {}}
    store = store_of(builder.span(attributes={"a": 1, "b": 2}, events=[event]))
    assert section_titles(store.span(0)) == [
        *("Attributes 2", "Events 1", "Links 0", "Resource", "Timing"),
        "Log",
        "Raw",
    ]
    assert empty_sections(store.span(0)) == {"Links", "Resource", "Log"}
    assert empty_sections(store.span(0), is_linked=True) == {"Resource", "Log"}
    failed = store_of(builder.span(status="ERROR", description="gone"))
    assert empty_sections(failed.span(0)) == {"Attributes", "Links", "Resource", "Log"}
    assert shown(lines_of("Events", builder.span(status="ERROR", description="gone"))) == [("", "✖ gone")]


@pytest.mark.parametrize(
    ("section", "text"),
    [("Attributes", "no attributes"), ("Events", "no events"), ("Links", "no links"), ("Resource", "no resource")],
)
def test_empty_sections_say_so(section: str, text: str) -> None:
    """A section with nothing in it is no blank page."""
    assert shown(lines_of(section, Builder().span())) == [("", text)]


def test_attributes() -> None:
    """Texts stand as they are, other values as JSON; what is copied is the whole value."""
    lines = of_attributes({"route": "/cart", "tries": 3, "ok": True, "none": None, "list": [1, "a"], "big": 2**70})
    assert shown(lines) == [
        ("route", "/cart"),
        ("tries", "3"),
        ("ok", "true"),
        ("none", "null"),
        ("list", '[1,"a"]'),
        ("big", str(2**70)),
    ]
    assert [line.value for line in lines] == [line.text for line in lines]


def test_resource() -> None:
    """The resource's attributes and its schema."""
    document = Builder().span() | {
        "resource": {"attributes": {"service.name": "shop"}, "schema_url": "https://example.org/1"}
    }
    assert shown(lines_of("Resource", document)) == [
        ("service.name", "shop"),
        ("schema_url", "https://example.org/1"),
    ]


def test_scope_and_what_a_format_says_besides() -> None:
    """Who made a span stands with its resource; flags and counts of what was dropped are marked as no attributes."""
    span = {
        "traceId": "1" * 32,
        "spanId": "2" * 16,
        "name": "f",
        "flags": 257,
        "attributes": [{"key": "a", "value": {"intValue": "1"}}],
        "events": [{"name": "e", "timeUnixNano": "1", "droppedAttributesCount": 3}],
    }
    scope = {"name": "app", "version": "1.2", "attributes": [{"key": "b", "value": {"boolValue": True}}]}
    document = {"resourceSpans": [{"scopeSpans": [{"scope": scope, "spans": [span], "schemaUrl": "https://a/1"}]}]}
    assert shown(lines_of("Attributes", document)) == [("a", "1"), ("· flags", "257")]
    assert shown(lines_of("Resource", document)) == [
        ("scope", "app 1.2"),
        ("  b", "true"),
        ("  schema_url", "https://a/1"),
    ]
    assert shown(lines_of("Events", document, width=120))[-1] == ("  · dropped_attributes_count", "3")


def test_events() -> None:
    """An event says how long after the span's start it happened, and what it carries."""
    events = [
        {"name": "sent", "timestamp": time_text(7), "attributes": {"bytes": 12}},
        {"name": "", "timestamp": None, "attributes": {}},
    ]
    assert shown(lines_of("Events", Builder().span(start=0, events=events))) == [
        ("sent", "+7 µs"),
        ("  bytes", "12"),
        ("(no name)", ""),
    ]


def test_exceptions() -> None:
    """An exception comes before other events, in full width: what was raised, own frames, and what else there is."""
    stack = (
        'Traceback (most recent call last):\n  File "/x/dist-packages/lib.py", line 1, in run\n    call()\n'
        '  File "app.py", line 31, in fail\n\traise ValueError\nValueError: bad\nvery\n'
    )
    attributes = {
        "exception.type": "ValueError",
        "exception.message": "bad\nvery",
        "exception.stacktrace": stack,
        "exception.escaped": "False",
    }
    event = {"name": "exception", "timestamp": time_text(9), "attributes": attributes}
    before: Document = {"name": "sent", "timestamp": time_text(7), "attributes": {}}
    lines = lines_of("Events", Builder().span(start=0, events=[before, event]))
    assert shown(lines) == [
        ("", "✖ ValueError: bad   +9 µs"),
        ("", "  very"),
        ("", "  ⋯ 1 frame in lib"),
        ("", "  app.py:31 fail     raise ValueError"),
        ("", "  ⋯ as recorded, 7 lines"),
        ("  exception.escaped", "False"),
        ("sent", "+7 µs"),
    ]
    assert lines[0].value == "ValueError: bad\nvery"
    assert lines[3].value == stack


@pytest.mark.parametrize(
    ("attributes", "title"),
    [
        ({"exception.type": "KeyError"}, "✖ KeyError"),
        ({"exception.message": "gone"}, "✖ gone"),
        ({"exception.message": 5, "exception.type": ["a"]}, '✖ ["a"]: 5'),
        ({}, "✖ exception"),
        ({"exception.type": "E", "exception.stacktrace": "not python"}, "✖ E"),
        ({"exception.type": "E", "exception.stacktrace": 5}, "✖ E"),
    ],
)
def test_half_an_exception(attributes: dict[str, Any], title: str) -> None:
    """An exception without type or message says what it has, of whatever kind that is."""
    event = {"name": "exception", "timestamp": None, "attributes": attributes}
    first, *more = shown(lines_of("Events", Builder().span(events=[event])))
    assert first == ("", title)
    stack = attributes.get("exception.stacktrace")
    assert [text for _, text in more] == ([] if stack is None else [str(stack)])


def test_links() -> None:
    """A link says whether it leaves the trace, and what is copied are both ids."""
    links = [
        {"context": {"trace_id": trace_id(1), "span_id": span_id(5), "trace_state": "[]"}, "attributes": {"why": "x"}},
        {
            "context": {"trace_id": trace_id(2), "span_id": span_id(6), "trace_state": "['{key=k, value=v}']"},
            "attributes": {},
        },
    ]
    lines = lines_of("Links", Builder().span(links=links), width=120)
    assert shown(lines) == [
        ("link", f"span {5:016x} of this trace"),
        ("  why", "x"),
        ("link", f"span {6:016x} of trace {2:032x}"),
        ("  k", "v"),
    ]
    assert lines[2].value == f"{2:032x} {6:016x}"


def test_names_of_links() -> None:
    """What is linked to has its name where it was read, in this trace and in another one."""
    build = Builder()
    links = [
        {"context": {"trace_id": trace_id(trace), "span_id": span_id(span), "trace_state": "[]"}, "attributes": {}}
        for trace, span in ((1, 2), (2, 3), (2, 2))
    ]
    documents = [build.span("a", span=1, links=links), build.span("b", span=2), build.span("c", trace=2, span=3)]
    assert [text for _, text in shown(lines_of("Links", *documents, width=120))] == [
        f"b  ({2:016x}) of this trace",
        f"c  ({3:016x}) of trace {2:032x}",
        f"span {2:016x} of trace {2:032x}",
    ]


def test_timing() -> None:
    """Times, self time, and where the span lies in its trace and its parent."""
    documents = Builder().draw("a 0-100\n  b 20-120\n    c 30-40\n    d 35-60")
    assert shown(lines_of("Timing", *documents, node=1, width=100)) == [
        ("start", "2023-11-14 22:13:20.000020"),
        ("end", "2023-11-14 22:13:20.000120"),
        ("duration", "100 µs"),
        ("self time", "70 µs (70%)"),
        ("in the trace", "starts 20 µs after the trace   83.3% of the trace"),
        ("parent", "a  (0000000000000001)"),
        ("", "starts 20 µs after its parent   100.0% of its parent"),
        ("", "ends 20 µs after its parent"),
        ("trace id", f"{1:032x}"),
        ("span id", f"{2:016x}"),
        ("record", "spans/1.json @ 398, 413 bytes"),
    ]


def test_timing_of_a_call() -> None:
    """What waited before it ran says how long; a later attempt waited since the one before it ended."""
    builder = Builder()
    documents = [
        builder.span(kind="PRODUCER", start=0, duration=10),
        builder.span(kind="CONSUMER", parent=1, start=60, duration=5),
    ]
    said = ("waited", "50 µs from its submission to its start")
    assert said in shown(lines_of("Timing", *documents, node=1, width=100))
    documents.append(builder.span(kind="CONSUMER", parent=1, start=95, duration=5))
    assert ("waited", "30 µs after the previous attempt ended") in shown(
        lines_of("Timing", *documents, node=2, width=100)
    )


def test_timing_of_a_call_whose_attempt_was_lost() -> None:
    """When that was isn't known, so it is said how long the next one waited at most; an actor lived in between."""
    for name, said in (
        ("f", [("waited", "at most 35 µs after the previous attempt, which has no end")]),
        ("A.__init__", []),
    ):
        builder = Builder()
        documents = [
            builder.span(f"{name} ray.remote", kind="PRODUCER", start=0, duration=10),
            builder.span(f"{name} ray.remote_worker", kind="CONSUMER", parent=1, start=60, duration=None),
            builder.span(f"{name} ray.remote_worker", kind="CONSUMER", parent=1, start=95, duration=5),
        ]
        lines = shown(lines_of("Timing", *documents, node=2, width=100))
        assert [line for line in lines if line[0] == "waited"] == said


def test_timing_of_a_call_without_an_attempt() -> None:
    """It has its reason, how sure that is, and what it rests on."""
    documents = [Builder().span("f ray.remote", span=1, kind="PRODUCER", status="ERROR")]
    said = ("attempt", "submit failed: submitting it failed, so it never ran")
    assert said in shown(lines_of("Timing", *documents, width=100))
    documents[0]["status"] = {"status_code": "UNSET"}
    text = "no attempt seen: it waited or ran when the files were written, died, was cancelled, lacked an argument,"
    assert ("attempt", f"{text} ran untraced, or could never start") in shown(lines_of("Timing", *documents, width=180))
    documents.append(Builder().span("f ray.remote_worker", span=2, parent=1, kind="CONSUMER", start=20))
    assert "attempt" not in {key for key, _ in shown(lines_of("Timing", *documents, width=100))}


def test_timing_of_a_generator() -> None:
    """Its run time isn't known, and the first call of a process may have waited for the process."""
    name = "ray.data._internal.x._map_task"
    build = Builder()
    documents = [
        build.span(f"{name} ray.remote", span=1, kind="PRODUCER", start=0, duration=2),
        build.span(f"{name} ray.remote_worker", span=2, parent=1, kind="CONSUMER", start=200_000, duration=2)
        | {"attributes": {"ray.remote": "function"}},
    ]
    lines = shown(lines_of("Timing", *documents, node=1, width=120))
    assert ("run time", "a generator, run time not known: its span ends when the generator is made") in lines
    assert ("", "likely for a new worker or its code: its process ran nothing before") in lines


def test_timing_of_damaged_spans() -> None:
    """What is missing or can't be is said in words."""
    builder = Builder()
    documents = [
        builder.span(parent=9, start=0, duration=None),
        builder.span(start=5, duration=-3, context={"trace_id": trace_id(1), "span_id": None, "trace_state": "[]"}),
    ]
    no_end = dict(shown(lines_of("Timing", *documents, node=0, width=120)))
    assert no_end["end"] == no_end["duration"] == "–"
    assert no_end["parent"] == "0000000000000009, not seen: still running, or lost"
    assert no_end["warning"] == "the record has no end time"
    backwards = shown(lines_of("Timing", *documents, node=1, width=120))
    assert ("duration", "-3 µs") in backwards
    assert ("span id", "unusable") in backwards
    assert [text for key, text in backwards if key == "warning"] == [
        "it ends before it starts",
        "the trace id, span id or parent id is invalid",
    ]


def test_raw() -> None:
    """The record stands as the file has it, but for blanks; what its first line copies is all of it."""
    document = Builder().span("raw")
    data = file_of([document], indent=4)
    lines = detail_lines(subject_in(store_of_files({"1.json": data}), 0), "Raw", 200)
    assert json.loads("".join(line.text.replace("▾ ", "") for line in lines)) == document
    assert lines[0].value == data.decode().strip()


def test_raw_with_too_much_in_it() -> None:
    """A record of very many members stands line by line as the file has it, and is copied as a whole."""
    data = file_of([Builder().span("raw", attributes={"k": [1] * 7_000})], indent=4)
    lines = detail_lines(subject_in(store_of_files({"1.json": data}), 0), "Raw", 200)
    assert [line.text for line in lines] == data.decode().strip().split("\n")
    assert {line.value for line in lines} == {data.decode().strip()}


def test_raw_that_is_gone() -> None:
    """A record that can't be read again says so, and the span's other sections still stand."""
    reader = MemoryReader()
    store = store_of_files({"1.json": file_of([Builder().span("gone")])}, reader=reader)
    reader.files[0] = None
    subject = subject_in(store, 0)
    assert shown(detail_lines(subject, "Raw", WIDTH)) == [("", "the record can't be read again")]
    timing = [line for line in detail_lines(subject, "Timing", WIDTH) if line.key == "warning"]
    assert timing[0].text.startswith("its record can't be read again")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("text", "text"), ("", ""), (1.5, "1.5"), (None, "null"), ({"a": [1]}, '{"a":[1]}'), (float("nan"), '"NaN"')],
)
def test_values_as_text(value: object, expected: str) -> None:
    """A value is written as a person would."""
    assert value_text(value) == expected


# -- wrapping ---------------------------------------------------------------------------------------------------------


def test_a_long_value_goes_on_below() -> None:
    """A value is broken where the line ends; its key stands at its first line only."""
    lines = of_attributes({"k": "x" * 100}, width=50)
    assert shown(lines) == [("k", "x" * 46), ("", "x" * 46), ("", "x" * 8)]
    assert {line.value for line in lines} == {"x" * 100}
    assert [line.is_strong for line in lines] == [True, False, False]


def test_a_long_key_goes_on_below() -> None:
    """A key takes a third of the width and no more; neither it nor its value loses anything."""
    key = "http.request.header.x_forwarded_for_and_more"
    lines = of_attributes({key: "y" * 100, "k": "v"}, width=60)
    assert "".join(line.key for line in lines[:-1]) == key
    assert "".join(line.text for line in lines[:-1]) == "y" * 100
    assert shown(lines)[-1] == ("k", "v")
    assert max(len(line.key) for line in lines) == 24


def test_wide_characters_are_never_cut_in_two() -> None:
    """A character of two cells goes to the next line when only one cell is left."""
    lines = of_attributes({"漢字": "漢" * 30}, width=20)
    assert "".join(line.text for line in lines) == "漢" * 30
    assert all(cell_len(line.text) <= 20 - 4 - 3 for line in lines)


@settings(max_examples=200)
@given(
    st.dictionaries(st.text(max_size=80), st.one_of(st.text(max_size=300), st.integers()), max_size=4),
    st.integers(24, 200),
)
def test_no_line_is_wider_than_the_screen(attributes: dict[str, Any], width: int) -> None:
    """Whatever keys and values are made of, key, gap and text fit the width together, and are safe to print."""
    lines = of_attributes(attributes, width=width)
    column = max(cell_len(line.key) for line in lines)
    for line in lines:
        assert 1 + column + (2 if column else 0) + cell_len(line.text) <= width
        assert (line.key + line.text).isprintable()


@pytest.mark.parametrize("character", ["x", "漢", "\x1b", "\n", "\t", "\u202e"])
def test_a_value_of_ten_megabytes_takes_no_time(character: str) -> None:
    """What is shown of a huge value is bounded; what is copied is all of it."""
    value = character * 10_000_000
    plain = subject_in(store_of(Builder().span()), 0)
    subject = replace(plain, span=replace(plain.span, attributes={"huge": value}))
    begun = time.thread_time()
    lines = detail_lines(subject, "Attributes", WIDTH)
    taken = time.thread_time() - begun
    assert taken < 1.0
    assert len(lines) <= 20_001
    assert lines[0].value == value


def test_every_section_has_lines() -> None:
    """Each section of a plain span says something."""
    for section in SECTIONS:
        assert lines_of(section, Builder().span()), section


def test_a_conversation_is_among_the_attributes() -> None:
    """The section of attributes begins with it, and doesn't repeat its attributes; events alone are enough, too."""
    attributes = {"gen_ai.prompt": "What is it?", "gen_ai.completion": "It rains.", "gen_ai.request.model": "m"}
    assert shown(of_attributes(attributes, 100)) == [
        ("conversation", "▸ 2 messages   user: What is it? › assistant: It rains."),
        ("gen_ai.request.model", "m"),
    ]
    event = {"name": "gen_ai.user.message", "timestamp": time_text(1), "attributes": {"content": "What is it?"}}
    assert "Attributes" not in empty_sections(store_of(Builder().span(events=[event])).span(0))
