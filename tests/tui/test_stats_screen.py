"""Statistics in the viewer.

trace 1           trace 2
a  0 - 100 µs     a  200 - 500 µs   ERROR
  b 10 -  20 µs     b 210 - 250 µs
                    b 300 - 301 µs
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, store_of
from span_graphs import graphs
from spanview.analysis import stats
from spanview.analysis.stats import GROUPINGS, spans_of, statistics
from spanview.tui.histogram import HISTOGRAM, histogram_text
from spanview.tui.stats_screen import GroupLines, SpansScreen, StatsScreen
from spanview.tui.trace_screen import TraceScreen
from viewers import looking_at

if TYPE_CHECKING:
    from builders import Document


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
    """The spans of a group by their durations; with numpy the same."""
    store = store_of(*documents)
    for by in GROUPINGS:
        for group in statistics(store, by):
            for traces in (None, range(0, len(store.trace_table), 2)):
                found = spans_of(store, by, group.key, traces, most)
                lengths = [store.spans.end_ns[row] - store.spans.start_ns[row] for row in found]
                assert lengths == sorted(lengths, reverse=True)
                if traces is None:
                    assert len(found) == min(most, sum(group.histogram))
                with patch.object(stats, "PAYS_FROM", 0):
                    assert spans_of(store, by, group.key, traces, most) == found


async def test_from_the_traces_to_one_span() -> None:
    """Statistics, the spans behind a row, and the trace of one of them, at that span."""
    async with looking_at(*_documents(), size=(120, 40)) as look:
        await look.press("t")
        await look.until(lambda: look.is_on(StatsScreen) and look.screen.query_one(GroupLines).groups)
        assert "statistics of 2 traces   by name   2 rows" in look.header
        assert look.lines[2].split()[:7] == ["2", "1", "400", "µs", "349", "µs", "100"]
        await look.press("s", "s")
        assert "sorted by count" in look.footer
        assert look.lines[2].split()[0] == "3"
        await look.press("enter")
        assert look.is_on(SpansScreen)
        assert [line.split()[0] for line in look.lines[1:4]] == ["40", "10", "1"]
        assert "in a" in look.lines[1]
        await look.press("j", "y")
        assert "copied the span id" in look.footer
        await look.press("enter")
        screen = look.screen
        assert isinstance(screen, TraceScreen)
        assert screen.rows.node is not None
        assert screen._model.key(screen.rows.node) == 1
        await look.press("q", "q", "q")
        await look.press("q")


async def test_of_one_trace_and_by_other_things() -> None:
    """From a trace only its own spans; `r` groups by the next thing."""
    async with looking_at(*_documents(), size=(80, 24)) as look:
        await look.press("enter", "t")
        await look.until(lambda: look.is_on(StatsScreen) and look.screen.query_one(GroupLines).groups)
        assert "statistics of a   by name" in look.header
        assert look.lines[2].split()[:2] == ["1", "1"]
        await look.press("r")
        await look.until(lambda: "SERVICE" in look.lines[1])
        assert "shop" in look.text
        await look.press("r", "y")
        await look.until(lambda: "KIND" in look.lines[1])
        assert "INTERNAL" in look.text
        assert all(len(line) <= 80 for line in look.lines)
