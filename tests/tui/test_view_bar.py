"""The bar of views: what it says at each width, where it leads, and of what.

Traces ──Enter──▶ trace          A, t, L … above either; the same key again leads back
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder
from spanview.tui.app.opening import Opening
from spanview.tui.calls.calls_screen import CallsScreen
from spanview.tui.calls.function_calls_screen import FunctionCallsScreen
from spanview.tui.diff.other_side_screen import OtherSideScreen
from spanview.tui.flame.flame_screen import FlameScreen
from spanview.tui.keys import View
from spanview.tui.stats.stats_screen import StatsScreen
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.traces import traces_screen
from spanview.tui.traces.traces_screen import TracesScreen
from viewers import looking_at

if TYPE_CHECKING:
    from builders import Document
    from viewers import Look


def documents() -> list[Document]:
    """Return a trace with a Ray call, and one without."""
    build = Builder()
    return [
        build.span("run", trace=1, span=1, start=0, duration=90),
        build.span("f ray.remote", trace=1, span=2, parent=1, start=1, kind="PRODUCER"),
        build.span("f ray.remote_worker", trace=1, span=3, parent=2, start=20, duration=30, kind="CONSUMER"),
        build.span("other", trace=2, span=4, start=200, status="ERROR"),
    ]


BARS: Final = [
    (110, "Traces   Groups r   Calls A   Requests H   Workers L   Stats t   Flame F   Compare D   Check !"),
    (80, "Traces Groups r Calls A Requests H Workers L Stats t Flame F Compare D Check !"),
    (72, "Traces Groups r Calls A Requests H Workers L Stats t Flame F D !"),
    (60, "Traces ▾"),
]


@pytest.mark.parametrize(("width", "text"), BARS)
async def test_widths(width: int, text: str) -> None:
    """Names give way to keys, and these to one word."""
    async with looking_at(*documents(), size=(width, 24)) as look:
        assert " ".join(look.bar.split()) == " ".join(text.split())


async def test_from_view_to_view() -> None:
    """Each key takes the place of the view that is shown; its own key leads back to what it is of."""
    async with looking_at(*documents()) as look:
        await look.press("A", "enter")
        assert look.is_on(FunctionCallsScreen)
        await look.press("t")
        assert look.is_on(StatsScreen)
        assert "2 traces" in look.header
        await look.press("F", "F")
        assert look.is_on(TracesScreen)
        await look.press("G", "enter", "t")
        assert look.is_on(StatsScreen)
        assert look.bar.rstrip().endswith("in run")
        assert "statistics of run" in look.header
        await look.press("A")
        assert look.is_on(CallsScreen)
        await look.press("escape")
        assert look.is_on(TraceScreen)
        await look.press("F", "r")
        assert look.is_on(TracesScreen)
        assert look.screen.query_one("GroupList").display
        await look.press("r")
        assert look.screen.query_one("TraceList").display


async def test_what_there_is_nothing_of() -> None:
    """A view without data isn't opened: its key says why, of all traces and of one."""
    async with looking_at(*documents()) as look:
        await look.press("H")
        assert "no Ray Serve requests here" in look.footer
        await look.press("enter", "A")
        assert "no Ray calls in this trace" in look.footer
        assert look.is_on(TraceScreen)
    async with looking_at(Builder().span("alone")) as look:
        await look.press("D")
        assert "only one trace" in look.footer


async def _click(look: Look, text: str) -> None:
    await look.pilot.click(offset=(look.bar.index(text) + 1, 1))
    await look.press()


async def test_the_mouse() -> None:
    """Views, the scope and the folded word can be clicked."""
    async with looking_at(*documents()) as look:
        await look.press("G", "enter")
        await _click(look, "Flame F")
        assert look.is_on(FlameScreen)
        await _click(look, "in run")
        assert look.is_on(TraceScreen)
        await _click(look, "in run")
        assert look.is_on(TracesScreen)
        await _click(look, "Compare")
        assert look.is_on(OtherSideScreen)
        assert "/ query" in look.footer
        await look.press("t")
        assert look.is_on(StatsScreen)
    async with looking_at(*documents(), size=(60, 24)) as look:
        await _click(look, "Traces")
        await look.until_shown("some words of an action")


async def test_without_colours() -> None:
    """The view that one is in is in brackets, and one without data has no key."""
    async with looking_at(*documents(), opening=Opening(("spans",), colorless=True)) as look:
        assert "[Traces]" in look.bar
        assert "Requests –" in look.bar
        await look.press("t")
        assert "[Stats t]" in look.bar


async def test_few_names_of_many_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many traces have few names, their groups come first, unless a filter says what is wanted."""
    monkeypatch.setattr(traces_screen, "_MANY_TRACES", 2)
    async with looking_at(*documents()) as look:
        assert "[Groups" not in look.bar
        await look.tell(look.app.feed_state)
        await look.until(lambda: look.app.first_screen.view is View.GROUPS)
    async with looking_at(*documents(), opening=Opening(("spans",), query="name=run")) as look:
        await look.tell(look.app.feed_state)
        assert look.app.first_screen.view is View.TRACES


async def test_what_the_bar_names_when_one_comes_back() -> None:
    """Back on the list from wherever, the bar is the list's own; the check is of everything."""
    async with looking_at(*documents()) as look:
        own = look.bar
        await look.press("G", "enter", "D", "escape", "escape")
        assert look.is_on(TracesScreen)
        assert look.bar == own
        await look.press("e", "escape")
        assert look.bar == own
        await look.press("enter", "exclamation_mark")
        assert " in " not in look.bar


async def test_a_scope_takes_as_much_room_as_it_needs() -> None:
    """Names go from the right until it has it; the lit view keeps its own."""
    async with looking_at(*documents(), size=(80, 24)) as look:
        await look.press("down", "enter", "F")
        assert " ".join(look.bar.split()) == "Traces Groups r Calls A Requests H Workers L Stats t Flame F D ! in run"


async def test_where_nothing_is_listed_no_view_opens() -> None:
    """All of them say why, and are dim; so are calls and requests where the listed traces have none."""
    async with looking_at(*documents()) as look:
        await look.press("slash", *"zzz", "enter")
        await look.until_shown("no trace matches")
        for key in "AHLtFD":
            await look.press(key)
            assert look.is_on(TracesScreen)
            assert "no traces listed: Esc clears the filter" in look.footer
        await look.press("escape", "slash", *"other", "enter")
        await look.until_shown("1 of 2 traces")
        await look.press("A")
        assert look.is_on(TracesScreen)
        assert "no Ray calls in the listed traces" in look.footer
        await look.press("t")
        assert look.is_on(StatsScreen)


async def test_leaving_a_trace_for_groups_is_said() -> None:
    """They are of all traces, not of the one that was shown."""
    async with looking_at(*documents()) as look:
        await look.press("enter", "r")
        assert "the trace was left: groups of all 2 traces" in look.footer
