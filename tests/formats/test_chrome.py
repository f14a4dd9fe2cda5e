"""Chrome's trace events; `Slices` is what Perfetto makes of them.

pid 1   lane 1   |a--------------------|       a, and what stands inside it
                    |b----|   |d----|
        lane 2          |c------|              overlaps b and d
"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from any_spans import JSON, SOURCE, spans
from builders import EPOCH_NS
from spanview.formats.chrome import NO_NAME, ChromeDrafts, ChromeWriter
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.span import Event, Link, Resource, Span

Json: TypeAlias = dict[str, Any]
TRACE = f"{1:032x}"


def drawn(drawing: str, **fields: Any) -> list[Span]:
    """Return spans of lines `name start-end`, in microseconds, indented below their parents; `?` is no end."""
    found: list[Span] = []
    above: list[tuple[int, str]] = []
    for line in filter(str.strip, drawing.splitlines()):
        indent = len(line) - len(line.lstrip())
        name, _, times = line.strip().partition(" ")
        start, _, end = times.partition("-")
        while above and above[-1][0] >= indent:
            above.pop()
        span_id = f"{len(found) + 1:016x}"
        found.append(
            Span(
                TRACE,
                span_id,
                above[-1][1] if above else None,
                name,
                0,
                EPOCH_NS + int(Decimal(start) * 1000),
                None if end == "?" else EPOCH_NS + int(Decimal(end) * 1000),
                source=SOURCE,
                **fields,
            )
        )
        above.append((indent, span_id))
    return found


def events_of(*traces: list[Span], lost: list[str] | None = None) -> list[Json]:
    """Return the events of traces, with exact numbers."""
    drafts, writer = ChromeDrafts(EPOCH_NS, ([] if lost is None else lost).append), ChromeWriter(EPOCH_NS)
    drafted = ([span for span in map(drafts.drafted, spans) if span is not None] for spans in traces)
    events = [event for spans in drafted for event in writer.events_of(drafts.of(spans))]
    return [json.loads(event, parse_float=Decimal) for event in events]


def lanes_of(events: list[Json]) -> dict[str, list[str]]:
    """Return the names in each lane, with those of what they stand in."""
    lanes: dict[str, list[str]] = {}
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    for tid, name, above in nested(events):
        lanes.setdefault(names[tid], []).append("/".join([*above, name]))
    return lanes


def nested(events: list[Json]) -> list[tuple[int, str, list[str]]]:
    """Do what Perfetto does: sort by time, nest per thread, bind flows; fail where it would drop or mend something.

    Returns:
        Thread, name and the names around it, of each slice.
    """
    named = {(event["name"], event["pid"], event["tid"]) for event in events if event["ph"] == "M"}
    assert len(named) == sum(event["ph"] == "M" for event in events)
    stacks: dict[int, list[tuple[Decimal, str]]] = {}
    found, flows = [], dict[int, list[str]]()
    for event in sorted((event for event in events if event["ph"] != "M"), key=lambda event: event["ts"]):
        tid, time = event["tid"], Decimal(event["ts"])
        assert time >= 0
        assert event["name"]
        assert ("process_name", event["pid"], 0) in named
        assert ("thread_name", event["pid"], tid) in named
        stack = stacks.setdefault(tid, [])
        while stack and stack[-1][0] <= time and event["ph"] in "XB":
            stack.pop()
        if event["ph"] in "XB":
            end = time + Decimal(event["dur"]) if event["ph"] == "X" else Decimal("Infinity")
            assert not stack or end <= stack[-1][0]
            found.append((tid, event["name"], [name for _, name in stack]))
            stack.append((end, event["name"]))
        elif event["ph"] in "sf":
            assert stack
            assert stack[-1][0] >= time
            assert event["ph"] == "s" or event["bp"] == "e"
            flows.setdefault(event["id"], []).append(event["ph"])
        else:
            assert event["ph"] == "i"
            assert event["s"] == "t"
    assert all(ends == ["s", "f"] for ends in flows.values())
    return found


def test_what_overlaps_gets_a_lane_of_its_own() -> None:
    """A span stands in its parent, and no span inside one that isn't above it."""
    events = events_of(drawn("a 0-100\n  b 10-50\n  c 20-40\n  d 50-90\n    e 60-95\n    f 60-90"))
    assert lanes_of(events) == {"lane 1": ["a", "a/b", "a/d", "a/d/f"], "lane 2": ["c", "e"]}


def test_lanes_are_used_again() -> None:
    """Another trace takes the lanes in which nothing is open any more."""
    events = events_of(drawn("a 0-10\n  b 5-15"), drawn("c 12-20"), drawn("d 14-30"), drawn("e 20-25"))
    assert lanes_of(events) == {"lane 1": ["a", "c"], "lane 2": ["b", "e"], "lane 3": ["d"]}


def test_a_span_without_an_end() -> None:
    """It is begun and never ended, and nothing else gets into its lane but what it is above."""
    events = events_of(drawn("a 0-?\n  b 10-20"), drawn("c 100-200"))
    assert [event["ph"] for event in events if event["name"] == "a"] == ["B"]
    assert lanes_of(events) == {"lane 1": ["a", "a/b"], "lane 2": ["c"]}


def test_processes() -> None:
    """Spans of different resources stand in different processes, named and with their resource."""
    one, other = Resource({"service.name": "web", "process.pid": 7}), Resource({"service.name": "db"})
    events = events_of(drawn("a 0-10\n  b 1-2", resource=one), drawn("c 0-10", resource=other))
    names = [event["args"] for event in events if event["name"] == "process_name"]
    assert names == [
        {"name": "web (pid 7)", "resource": dict(one.attributes)},
        {"name": "db", "resource": dict(other.attributes)},
    ]
    assert len({event["pid"] for event in events}) == 2
    assert not {event["pid"] for event in events} & {event["tid"] for event in events}


def test_flows() -> None:
    """Arrows run from producers to their consumers and from linked spans, each with a number of its own."""
    producer, consumer, linked = drawn("p 0-10\n  c 20-30\nl 40-50")
    some = [
        Span(TRACE, producer.span_id, None, "p", PRODUCER, producer.start_ns, producer.end_ns, source=SOURCE),
        Span(
            TRACE, consumer.span_id, producer.span_id, "c", CONSUMER, consumer.start_ns, consumer.end_ns, source=SOURCE
        ),
        Span(
            TRACE,
            linked.span_id,
            None,
            "l",
            0,
            linked.start_ns,
            linked.end_ns,
            links=(Link(TRACE, consumer.span_id), Link("f" * 32, consumer.span_id)),
            source=SOURCE,
        ),
    ]
    lost: list[str] = []
    events = events_of(some, lost=lost)
    nested(events)
    flows = [(event["ph"], event["name"], event["id"], event["ts"]) for event in events if event["ph"] in "sf"]
    assert flows == [("s", "message", 1, 0), ("f", "message", 1, 20), ("s", "link", 2, 20), ("f", "link", 2, 40)]
    assert lost == ["wrote {link} to spans outside the trace without arrows"]


def test_no_arrow_goes_back_in_time() -> None:
    """Readers would drop its end and leave its begin open: it is left out, and that is said."""
    early, late = drawn("a 0-10\nb 5-20")
    lost: list[str] = []
    events = events_of([replace(early, links=(Link(TRACE, late.span_id),)), late], lost=lost)
    nested(events)
    assert not [event for event in events if event["ph"] in "sf"]
    assert lost == ["dropped {arrow} back in time, which readers don't draw"]


def test_no_digit_is_lost() -> None:
    """Times have all digits of their nanoseconds, a year after the base too."""
    year = 365 * 24 * 3600 * 10**6
    (span,) = drawn(f"a {year}.001-{year + 1}.999")
    event = events_of([span])[-1]
    assert (event["ts"], event["dur"]) == (Decimal(f"{year}.001"), Decimal("1.998"))


def test_events_and_what_is_odd() -> None:
    """Events of a span are instants of its lane; what has no place is said."""
    (span,) = drawn("a 10-20", events=(Event("e", EPOCH_NS + 12_500, {"k": 1}), Event("", None), Event("x", 5)))
    (backwards,) = drawn("b 30-25")
    unplaced = Span(TRACE, f"{9:016x}", None, "", 0, None, None)
    lost: list[str] = []
    events = events_of([span], [backwards], [unplaced], lost=lost)
    nested(events)
    instants = [(event["name"], event["ts"], event["args"].get("attributes")) for event in events if event["ph"] == "i"]
    assert instants == [("e", Decimal("12.5"), {"k": 1}), (NO_NAME, 10, {}), ("x", 0, {})]
    assert lost == [
        "moved {event} without a time to the start of the span",
        "moved {event} before all spans to the start of the first span",
        "wrote {negative duration} as 0",
        "dropped {span} without a start",
    ]


@settings(deadline=None)
@given(st.lists(st.lists(spans(values=JSON, trace_ids=st.just(TRACE), unit=1000), max_size=6), max_size=3))
def test_perfetto_takes_any_spans(traces: list[list[Span]]) -> None:
    """Whatever overlaps: everything nests, flows are bound, no span is left out."""
    starts = sorted(traces, key=lambda some: min((span.start_ns or 0 for span in some), default=0))
    assert len(nested(events_of(*starts))) == sum(map(len, traces))


SMALL = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(-1, 5)), max_size=7)


@settings(deadline=None)
@given(st.lists(SMALL, max_size=3))
def test_perfetto_takes_what_overlaps(traces: list[list[tuple[int, int, int]]]) -> None:
    """The same with small times, where starts and ends often are the same."""
    some = [
        [
            Span(
                TRACE,
                f"{at + 1:016x}",
                f"{up + 1:016x}" if up >= 0 else None,
                f"{at}",
                PRODUCER if at % 2 else CONSUMER,
                EPOCH_NS + start * 1000,
                EPOCH_NS + (start + length) * 1000,
                links=(Link(TRACE, f"{up + 1:016x}"),),
                source=SOURCE,
            )
            for at, (start, length, up) in enumerate(trace)
        ]
        for trace in traces
    ]
    assert len(nested(events_of(*some))) == sum(map(len, some))
