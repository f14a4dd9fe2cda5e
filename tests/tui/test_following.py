"""While spans come: what is looked at stays where it is, and the header says what is going on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from builders import Builder, Document
from spanview.tui.app.feed import FeedState
from spanview.tui.app.opening import Opening
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.trace.waterfall import Waterfall
from spanview.tui.traces import traces_screen
from spanview.tui.traces.group_list import GroupList
from spanview.tui.traces.trace_list import TraceList
from spanview.tui.widgets.header import state_text
from viewers import Growing, Look, looking_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.tui.widgets.linelist import LineList

FOLLOWING = FeedState(loading=False, following=True)


def traces(numbers: Iterable[int]) -> list[Document]:
    """Return a trace of one span for each number, later ones with greater numbers."""
    builder = Builder()
    return [builder.span(f"t{number:03d}", trace=number, span=number, start=number * 10) for number in numbers]


def place(rows: LineList) -> int:
    """Return the line of a list on which its cursor stands, counted from the list's first."""
    return rows.cursor - rows.scroll_offset.y


def selected(look: Look) -> str:
    """Return the root name of the selected trace."""
    trace = look.screen.query_one(TraceList).selected
    assert trace is not None
    return look.app.root_name(trace)


# -- the header -------------------------------------------------------------------------------------------------------

STATES = [
    (FeedState(), "reading"),
    (FeedState(bytes_read=2048), "reading 2 KiB"),
    (FeedState(bytes_read=25, bytes_total=100), "reading ━━━─────────  25%"),
    (FeedState(bytes_read=300, bytes_total=100), "reading ━━━━━━━━━━━━ 100%"),
    (FeedState(loading=False), ""),
    (FOLLOWING, "● following"),
    (FeedState(loading=False, following=True, spans_per_second=214.4), "● following   214 spans/s"),
    (FeedState(loading=False, following=True, spans_per_second=0.2), "● following"),
    (FeedState(loading=False, following=True, polling=True), "● following by polling"),
    (FeedState(loading=False, following=True, waiting_for=("/a",)), "○ waiting for /a"),
    (FeedState(loading=False, following=True, waiting_for=("/a", "/b", "/c")), "○ waiting for /a and 2 more"),
    (FeedState(loading=False, failure="disk [on]\n\x1b[31mfire"), "✖ reading ended: disk [on]␊␛[31mfire"),
]
"""How the reading stands, and what the header says."""


@pytest.mark.parametrize(("state", "expected"), STATES)
def test_states(state: FeedState, expected: str) -> None:
    """Loading, following, waiting and failing are said in words."""
    assert state_text(state, paused=False) == expected


async def test_the_header_says_what_is_going_on() -> None:
    """How the reading stands is said on every screen."""
    async with looking_at(*traces([1])) as look:
        for state, expected in STATES:
            await look.tell(state)
            assert look.header.rstrip().endswith(expected)
        await look.press("enter")
        assert look.is_on(TraceScreen)
        for state, expected in STATES:
            await look.tell(state)
            assert look.header.rstrip().endswith(expected)


async def test_the_header_of_a_narrow_screen() -> None:
    """What is going on is said whole, whatever the PATH is called."""
    opening = Opening(("/a/very/long/path/" * 10,))
    async with looking_at(*traces([1]), size=(80, 24), opening=opening) as look:
        await look.tell(FeedState(loading=False, following=True, polling=True))
        assert look.header.rstrip().endswith("● following by polling")
        assert "/path/   1 trace · 1 span " in look.header
        assert len(look.header) == 80


async def test_loading() -> None:
    """While bytes are still unread a trace is loading, not incomplete, and can be opened already."""
    async with looking_at(Builder().span("child", parent=9)) as look:
        await look.tell(FeedState(bytes_read=10, bytes_total=100))
        assert "loading" in look.text
        assert "incomplete" not in look.text
        await look.press("enter")
        assert "loading" in look.header
        await look.tell(FOLLOWING)
        assert "incomplete" in look.header
        await look.press("escape")
        assert "incomplete" in look.text


async def test_nothing_yet() -> None:
    """An empty folder says that it is read, then that there is nothing yet; the first span takes its place."""
    opening = Opening(("spans",), follow=True, nothing=("looked in spans",))
    data = Growing()
    data.add(path="spans/worker.log")
    data.store.tallies.add_bytes("spans/worker.log", 5)
    async with looking_at(opening=opening, data=data) as look:
        await look.tell(FOLLOWING)
        await look.until_shown("no spans yet; 1 file of another kind", "looked in spans")
        await look.grow(*traces([1]))
        assert "t001" in look.text
        assert "looked in" not in look.text
        await look.press("enter")
        assert look.is_on(TraceScreen)


# -- the list ---------------------------------------------------------------------------------------------------------


async def test_the_first_row_stays_first() -> None:
    """Whoever looks at the top of the list sees the newest trace there."""
    async with looking_at(*traces([1, 2, 3])) as look:
        await look.grow(*traces([4]))
        assert selected(look) == "t004"
        assert "still coming in" in look.lines[look.line_of("t004")]


@pytest.mark.parametrize("down", [1, 5, 36, 60, 99])
async def test_the_list_holds_still(down: int) -> None:
    """The cursor stays on its trace, and on its line of the screen, near the top and far down; the plot may change."""
    async with looking_at(*traces(range(100))) as look:
        await look.press(*["down"] * (down % 10), *["pagedown"] * (down // 36))
        rows = look.screen.query_one(TraceList)
        top = look.line_of("START ▾")
        name, line, before = selected(look), place(rows), look.lines[top:-1]
        await look.grow(*traces([100, 101, 102]))
        assert selected(look) == name
        assert place(rows) == line
        assert [text[:60] for text in look.lines[top:-1]] == [text[:60] for text in before]
        await look.grow(*traces([103]))
        assert (selected(look), place(rows)) == (name, line)


async def test_the_list_holds_still_when_traces_grow() -> None:
    """A trace that grows past others in the order moves no line that is looked at."""
    async with looking_at(*traces(range(100))) as look:
        await look.press("s", *["down"] * 5, "pagedown")
        rows = look.screen.query_one(TraceList)
        name, line = selected(look), place(rows)
        await look.grow(Builder().span("more", trace=3, span=500, start=0, duration=5_000))
        assert (selected(look), place(rows)) == (name, line)


async def test_groups_hold_still() -> None:
    """The cursor stays on its group when another one becomes more frequent."""
    async with looking_at(*traces(range(10))) as look:
        await look.press("r", "down", "down")
        groups = look.screen.query_one(GroupList)
        assert groups.selected is not None
        name = groups.selected.name
        builder = Builder()
        await look.grow(*(builder.span("t009", trace=500 + n, span=500 + n) for n in range(3)))
        assert groups.items[0].name == "t009"
        assert groups.selected.name == name


async def test_a_filter_goes_on() -> None:
    """New traces that match the filter come into the list, others don't."""
    async with looking_at(*traces([1, 2])) as look:
        await look.press("slash")
        await look.type("name=t001")
        await look.until_shown("1 of 2 traces")
        builder = Builder()
        await look.grow(builder.span("t001", trace=8, span=80), builder.span("other", trace=9, span=90))
        await look.until_shown("2 of 4 traces")
        await look.grow(builder.span("t001", trace=9, span=91, start=5))
        await look.until_shown("3 of 4 traces")


# -- an open trace ----------------------------------------------------------------------------------------------------


def wide(numbers: Iterable[int]) -> list[Document]:
    """Return children of one root, with these numbers."""
    builder = Builder()
    return [builder.span(f"child {number:03d}", span=1000 + number, parent=1, start=number * 10) for number in numbers]


def name_here(look: Look) -> str:
    """Return the name of the span under the cursor."""
    rows = look.screen.query_one(Waterfall)
    assert rows.node is not None
    store = look.data.store
    return store.names.texts[store.spans.name[rows.model.tree.rows[rows.node]]]


@pytest.mark.parametrize("down", [0, 3, 90])
async def test_an_open_trace_grows_round_the_cursor(down: int) -> None:
    """Spans come before and behind; the cursor stays on its span and on its line of the screen."""
    root = Builder().span("root", span=1, start=0, duration=10_000)
    async with looking_at(root, *wide(range(10, 110))) as look:
        await look.press("enter", *["down"] * (3 if down else 0), *["pagedown"] * (down // 18))
        rows = look.screen.query_one(Waterfall)
        name, line = name_here(look), place(rows)
        await look.grow(*wide(range(5)), *wide(range(200, 205)))
        assert rows.row_count == 111
        assert name_here(look) == name
        assert place(rows) == line
        assert "111 spans" in look.header


async def test_folding_outlives_growth() -> None:
    """What was collapsed stays collapsed, and its count grows."""
    root = Builder().span("root", span=1, start=0, duration=10_000)
    async with looking_at(root, *wide(range(3))) as look:
        await look.press("enter", "left")
        assert "+3" in look.text
        await look.grow(*wide(range(3, 8)))
        assert "+8" in look.text
        assert look.screen.query_one(Waterfall).row_count == 1


async def test_a_parent_comes() -> None:
    """A placeholder gives way to the span it stood for; the cursor stays where it was."""
    async with looking_at(*wide(range(3))) as look:
        await look.press("enter", "down", "down")
        assert "? parent not seen" in look.text
        name = name_here(look)
        await look.grow(Builder().span("root", span=1, start=0, duration=100))
        assert "? parent not seen" not in look.text
        assert name_here(look) == name
        assert "● still coming in" in look.header
        await look.until(lambda: " complete " in look.header)
        assert "incomplete" not in look.header


async def test_details_follow_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    """The details below stay those of the span under the cursor."""
    monkeypatch.setattr("spanview.tui.trace.details_below._CURSOR_RESTS_S", 0.001)
    root = Builder().span("root", span=1, start=0, duration=10_000)
    async with looking_at(root, *wide(range(10, 13))) as look:
        await look.press("enter", "down", "down")
        await look.until_shown("child 011   INTERNAL")
        await look.grow(*wide(range(5)))
        await look.pilot.pause()
        assert "child 011   INTERNAL" in look.text


async def test_other_traces_leave_an_open_one_alone() -> None:
    """Growth elsewhere doesn't touch the trace that is looked at, but the list behind it."""
    async with looking_at(*traces([1, 2])) as look:
        await look.press("enter")
        tree = look.screen.query_one(Waterfall).model.tree
        await look.grow(*traces([3]))
        assert look.screen.query_one(Waterfall).model.tree is tree
        await look.press("escape")
        assert "t003" in look.text


# -- pausing ----------------------------------------------------------------------------------------------------------


async def test_pause() -> None:
    """Paused, the list and an open trace hold still, whatever comes; going on shows all of it."""
    async with looking_at(*traces([1, 2])) as look:
        await look.tell(FOLLOWING)
        await look.press("space")
        assert look.header.rstrip().endswith("‖ paused")
        assert "␣ resume" in look.footer
        rows = look.screen.query_one(TraceList)
        await look.grow(*traces([3, 4]))
        assert rows.row_count == 2
        assert "t004" not in look.text
        await look.press("down", "enter")
        await look.grow(Builder().span("later", trace=1, span=70))
        assert look.screen.query_one(Waterfall).row_count == 1
        await look.press("space")
        assert look.screen.query_one(Waterfall).row_count == 2
        assert look.header.rstrip().endswith("● following")
        await look.press("escape")
        assert rows.row_count == 4


async def test_what_is_said_falls_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a key did is said for a while only."""
    monkeypatch.setattr("spanview.tui.app.app._NOTICE_DURATION_S", 0.05)
    async with looking_at(*traces([1])) as look:
        await look.press("y")
        await look.until(lambda: "copied" not in look.footer)


async def test_growing_traces_calm_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace that grows no more loses its mark."""
    monkeypatch.setattr("spanview.tui.traces.traces_screen._GROWTH_MARK_S", 0.0)
    async with looking_at(*traces([1])) as look:
        await look.grow(*traces([2]))
        await look.until(lambda: "still coming in" not in look.text)


async def test_the_header_of_a_trace_holds_still() -> None:
    """It counts what is drawn below it."""
    async with looking_at(*traces([1])) as look:
        await look.tell(FOLLOWING)
        await look.press("enter", "space")
        assert "   1 span " in look.header
        await look.grow(Builder().span("later", trace=1, span=70))
        assert "   1 span " in look.header
        await look.press("space")
        assert "   2 spans " in look.header


async def test_what_was_read_at_first_has_not_grown() -> None:
    """Only what comes when everything was read is marked as growing."""
    async with looking_at(*traces([1])) as look:
        await look.tell(FeedState(loading=True, following=True))
        look.data.add(*traces([2]))
        await look.tell(FOLLOWING)
        assert "t002" in look.text
        assert "still coming in" not in look.text
        await look.grow(*traces([3]))
        assert "still coming in" in look.text


async def test_paused_holds_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes while it is paused changes neither the rows nor the header, however long; marks stay, too."""
    monkeypatch.setattr(traces_screen, "_GROWTH_MARK_S", 0.1)
    async with looking_at(*traces(range(4))) as look:
        await look.grow(*traces([4]))
        await look.press("space")
        assert "still coming in" in look.text
        before = look.lines[:-1]
        await look.grow(*traces([5, 6]))
        await look.pilot.pause(1.2)
        assert look.lines[:-1] == before
        assert "paused" in look.header
        await look.press("space")
        assert "7 traces" in look.header
