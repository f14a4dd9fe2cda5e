"""Statistics in the viewer.

trace 1           trace 2
a  0 - 100 µs     a  200 - 500 µs   ERROR
  b 10 -  20 µs     b 210 - 250 µs
                    b 300 - 301 µs
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, store_of
from span_graphs import graphs
from spanview.analysis.grouping import GROUPINGS, column_of
from spanview.analysis.stats import groups_of, spans_of, statistics
from spanview.display.bars import HISTOGRAM, histogram_text
from spanview.tui.stats import stats_screen
from spanview.tui.stats.spans_screen import SpansScreen
from spanview.tui.stats.stats_screen import StatsScreen
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.widgets.table import TableHeads, TableList
from viewers import Growing, looking_at

if TYPE_CHECKING:
    from builders import Document
    from spanview.analysis import stats
    from spanview.analysis.grouping import Column


def _documents() -> list[Document]:
    build = Builder()
    return [
        build.span("a", trace=1, span=1, start=0, duration=100, service="shop"),
        build.span("b", trace=1, span=2, parent=1, start=10, duration=10),
        build.span("a", trace=2, span=3, start=200, duration=300, status="ERROR", service="shop"),
        build.span("b", trace=2, span=4, parent=3, start=210, duration=40),
        build.span("b", trace=2, span=5, parent=3, start=300, duration=1),
    ]


HISTOGRAMS = [
    ([0] * 16, " " * 8),
    ([1] + [0] * 15, "▁       "),
    ([0] * 15 + [1], "       ▁"),
    ([0, 0, 0, 0, 100, 10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], " █▅▁    "),
]


@pytest.mark.parametrize(("counts", "expected"), HISTOGRAMS)
def test_histograms(counts: list[int], expected: str) -> None:
    """A cell a power of ten; what is quicker or slower than all of them is in the cells at the edges."""
    assert histogram_text(counts) == expected
    assert len(expected) == HISTOGRAM


@settings(max_examples=100, deadline=None)
@given(graphs(most=20), st.integers(1, 8))
def test_slowest(documents: list[Document], most: int) -> None:
    """The spans of a group by their durations."""
    store = store_of(*documents)
    for by in GROUPINGS:
        for group in statistics(store, by):
            for traces in (None, range(0, len(store.trace_table), 2)):
                found = spans_of(store, column_of(store, by), group.key, traces, most)
                lengths = [store.spans.end_ns[row] - store.spans.start_ns[row] for row in found]
                assert lengths == sorted(lengths, reverse=True)
                if traces is None:
                    assert len(found) == min(most, sum(group.histogram))


async def test_from_the_traces_to_one_span() -> None:
    """Statistics, the spans behind a row, and the trace of one of them, at that span."""
    async with looking_at(*_documents(), size=(120, 40)) as look:
        await look.press("t")
        await look.until(lambda: look.is_on(StatsScreen) and look.screen.query_one(TableList).items)
        assert "statistics of 2 traces   by name   2 rows" in look.header
        await look.until(
            lambda: "all 2 traces: median 100 µs = 90 µs in a" in look.body[0] and "slowest 300 µs = " in look.body[0]
        )
        assert look.body[2].split()[:8] == ["a", "2", "1", "400", "µs", "349", "µs", "100"]
        await look.pilot.click(TableHeads, offset=(look.body[1].index("COUNT"), 0))
        assert "sorted by count" in look.footer
        assert look.body[2].split()[:2] == ["b", "3"]
        await look.press("enter")
        assert look.is_on(SpansScreen)
        assert look.body[0].split() == ["DURATION", "▾", "START", "SPAN"]
        assert [line.split()[0] for line in look.body[1:4]] == ["40", "10", "1"]
        assert "in a" in look.body[1]
        await look.press("S")
        assert [line.split()[0] for line in look.body[1:4]] == ["1", "10", "40"]
        await look.press("S", "j", "y")
        assert "copied the span id" in look.footer
        await look.press("enter")
        screen = look.screen
        assert isinstance(screen, TraceScreen)
        assert screen.rows.node is not None
        assert screen._model.stitched.key(screen.rows.node) == 1
        await look.press("q", "q", "q")
        await look.press("q")


async def test_of_one_trace_and_by_other_things() -> None:
    """From a trace only its own spans; `b` groups by the next thing."""
    async with looking_at(*_documents(), size=(80, 24)) as look:
        await look.press("enter", "t")
        await look.until(lambda: look.is_on(StatsScreen) and look.screen.query_one(TableList).items)
        assert "statistics of a   by name" in look.header
        assert look.body[2].split()[:3] == ["a", "1", "1"]
        await look.press("b")
        await look.until(lambda: "SERVICE" in look.body[1])
        assert "shop" in look.text
        await look.press("b", "y")
        await look.until(lambda: "KIND" in look.body[1])
        assert "INTERNAL" in look.text
        assert all(len(line) <= 80 for line in look.lines)


async def test_what_is_on_critical_paths() -> None:
    """`b` comes to what names take of critical paths: a trace's end waits for the root, less for what it called."""
    async with looking_at(*_documents(), size=(110, 24)) as look:
        await look.press("t", "b", "b", "b")
        await look.until_shown("by critical path   2 rows")
        assert look.body[1].split() == ["CRITICAL", "PATH", "TRACES", "TOTAL", "▾", "SELF", "WAIT", "ERRORS"]
        assert look.body[2].split() == ["a", "2", "349", "µs", "349", "µs", "0", "µs", "1"]
        assert look.body[3].split() == ["b", "2", "51", "µs", "51", "µs", "0", "µs"]
        await look.press("enter")
        assert "critical path a   2 spans" in look.header


async def test_names_of_several_services() -> None:
    """Where there are several, `b` comes to names in services, and each is opened."""
    build = Builder()
    spans = [build.span("GET", trace=at, span=at, service=("shop", "cart")[at % 2]) for at in range(1, 4)]
    async with looking_at(*spans, size=(110, 24)) as look:
        await look.press("t", "b")
        await look.until_shown("by service+name   2 rows")
        assert [line[:9] for line in look.body[2:4]] == ["cart: GET", "shop: GET"]
        await look.press("enter")
        assert "service+name cart: GET   2 spans" in look.header
        assert all("cart  in GET" in line for line in look.body[1:3])
        await look.press("escape", "b")
        await look.until_shown("by service   2 rows")


def _with_keys() -> list[Document]:
    build = Builder()
    return [
        build.span("a", trace=1, span=1, start=0, duration=100, attributes={"color": "red", "kind of": 1}),
        build.span("b", trace=1, span=2, parent=1, start=10, duration=10, attributes={"color": "blue"}),
        build.span("c", trace=2, span=3, start=200, duration=300, attributes={"size": 4}),
    ]


async def test_an_answer_leaves_who_types_alone() -> None:
    """What was counted comes while another key is typed: the typing goes on, and the groups are there behind it."""
    async with looking_at(*_with_keys(), size=(80, 24)) as look:
        await look.press("t")
        await look.until_shown("by name   3 rows")
        count, begun, go = groups_of, threading.Event(), threading.Event()

        def slowly(*arguments: Any) -> list[stats.Group]:
            begun.set()
            go.wait()
            return count(*arguments)

        with patch.object(stats_screen, "groups_of", slowly):
            await look.press("b")
            await look.until(begun.is_set)
            for key in "Bco":
                # One at a time: between keys that are pressed together, what is worked on is waited for.
                await look.press(key)
            go.set()
            await look.until_shown("by service   1 row")
            await look.type("lor")
        await look.press("enter")
        await look.until_shown("by color   3 rows")


async def test_by_any_attribute() -> None:
    """`b` takes a key; an unknown one is said so, and can be mended; `r` goes on from it and comes back."""
    async with looking_at(*_with_keys(), size=(80, 24)) as look:
        await look.press("t")
        await look.until_shown("by name   3 rows")
        await look.press("B")
        await look.type("colo")
        await look.press("enter")
        await look.until_shown("no span here has colo")
        assert "by name   3 rows" in look.header
        await look.type("r")
        assert "no span here" not in look.text
        await look.press("enter")
        await look.until_shown("by color   3 rows")
        assert look.body[2].split()[0] == "color"
        assert [line.split()[0] for line in look.body[3:6]] == ["(none)", "red", "blue"]
        await look.press("j", "y")
        assert look.app.clipboard == "red"
        await look.press("enter")
        assert "color red   1 span" in look.header
        await look.press("q", "b")
        await look.until_shown("by name   3 rows")
        await look.press("b", "b", "b", "b")
        await look.until_shown("by color   3 rows")
        await look.press("B")
        await look.type("  ")
        await look.press("enter", "B", "escape")
        assert look.is_on(StatsScreen)
        await look.press("escape")
        assert not look.is_on(StatsScreen)


async def test_the_key_is_completed() -> None:
    """While a key is typed, those that spans have are proposed; Tab takes one as it is written, Enter counts by it."""
    async with looking_at(*_with_keys(), size=(80, 24)) as look:
        await look.press("t")
        await look.until_shown("by name   3 rows")
        await look.press("B")
        await look.until_shown("›color", "kind of", "size")
        assert "duration" not in look.body[2]
        await look.type("ki")
        await look.until_shown("1 of 1")
        await look.press("tab", "enter")
        await look.until_shown("by kind of   2 rows")


async def test_no_value_and_an_empty_one() -> None:
    """Spans without the attribute are a row, those with an empty value another one; only the latter has a value."""
    build = Builder()
    spans = [build.span(duration=5), build.span(attributes={"k": ""}, duration=5), build.span(attributes={"k": "x"})]
    async with looking_at(*spans, size=(80, 24)) as look:
        await look.press("t", "B")
        await look.type("k")
        await look.press("enter")
        await look.until_shown("by k   3 rows")
        assert [line.split()[0] for line in look.body[3:6]] == ["x", '""', "(none)"]
        await look.press("G", "y")
        assert "these spans have no k: nothing to copy" in look.footer
        await look.press("enter")
        assert "‹ k (none)   1 span" in look.header
        await look.press("escape", "b", "b")
        await look.until_shown("by service   1 row")
        assert look.body[3].split()[0] == "(none)"


NARROW = [
    (110, "COUNT ERRORS TOTAL SELF P50 P95 MAX"),
    (80, "COUNT ERRORS TOTAL SELF P95"),
    (60, "COUNT TOTAL SELF"),
    (40, "TOTAL"),
    (18, ""),
]


@pytest.mark.parametrize(("width", "heads"), NARROW)
async def test_the_name_is_the_last_to_go(width: int, heads: str) -> None:
    """Where there is little room, columns give way to the name, and its middle goes before its end."""
    name = "Counter.increment worker of requests"
    async with looking_at(Builder().span(name), size=(width, 24)) as look:
        await look.press("t")
        await look.until_shown("NAME")
        head, line = look.lines[look.line_of("NAME") :][:2]
        assert head.replace("▾", "").split() == ["NAME", *heads.split()]
        shown, _, end = line[: max(17, head.index(heads[:1] or " ") - 4)].partition("…")
        assert name.startswith(shown.strip())
        assert end.strip() in name
        assert ("…" in line) == (width < 110)


@pytest.mark.parametrize("width", [40, 80, 120])
async def test_what_is_sorted_by_is_in_sight(width: int) -> None:
    """Whatever is sorted by has its column, and only that one has the arrow."""
    async with looking_at(Builder().span("a"), size=(width, 24)) as look:
        await look.press("t")
        await look.until_shown("NAME")
        for _ in range(9):
            await look.press("s")
            name = look.footer.split("sorted by ")[1].strip().upper()
            marked = [text for text in look.body[1].replace(" ▾", "▾").replace(" ▴", "▴").split() if text[-1] in "▾▴"]
            assert marked in ([f"{name}▾"], ["NAME▴"])


async def test_an_attribute_of_another_trace() -> None:
    """Of one trace only its own records count, and are read."""
    async with looking_at(*_with_keys(), size=(80, 24)) as look:
        await look.press("enter", "t")
        await look.until_shown("statistics of c   by name   1 row")
        await look.press("B")
        # Records of all traces are looked at for what may be typed.
        await look.until_shown("›color")
        await look.app.workers.wait_for_complete()
        look.data.reader.reads = 0
        await look.type("color")
        await look.press("enter")
        await look.until_shown("no span here has color")
        assert look.data.reader.reads == 1


async def test_counting_is_ended() -> None:
    """While records are read the header says how far it is; Esc ends that, and shows what was there."""
    ended = threading.Event()

    def slow(_store: Any, _by: str, _traces: Any, tell: Any) -> Column:
        try:
            while True:
                tell(0.5)
                threading.Event().wait(0.001)
        finally:
            ended.set()

    async with looking_at(*_with_keys(), size=(100, 24)) as look:
        await look.press("t")
        await look.until_shown("by name   3 rows")
        with patch.object(stats_screen, "column_of", slow):
            await look.press("B")
            await look.type("color")
            await look.press("enter")
            await look.until_shown("by color   counting … 25%; Esc ends it")
            await look.press("escape")
            await look.until(ended.is_set)
        assert look.is_on(StatsScreen)
        assert "by name   3 rows" in look.header
        assert "counting was stopped" in look.footer
        await look.press("b")
        await look.until_shown("by service   1 row")
        await look.press("escape")
        assert not look.is_on(StatsScreen)


async def test_what_comes_after_the_column_was_made() -> None:
    """Rows that are newer than a column of attributes don't count."""
    data = Growing(*_with_keys())
    column = column_of(data.store, "color")
    before = groups_of(data.store, column)
    listed = spans_of(data.store, column, "", None, 9)
    data.add(*[Builder().span("new", trace=1, span=90 + at, start=0, duration=0) for at in range(3)])
    assert groups_of(data.store, column) == groups_of(data.store, column, [0, 1]) == before
    assert spans_of(data.store, column, "", None, 9) == listed
