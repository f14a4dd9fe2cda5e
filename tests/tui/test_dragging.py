"""Drawing the mouse over time, wherever a screen shows it.

root    0 - 100 µs
  a    10 -  20 µs
  b    60 -  90 µs
"""

from __future__ import annotations

import pytest
from textual.geometry import Offset
from textual.screen import Screen
from textual.widget import Widget

from builders import Builder, Document
from spanview.tui.app.opening import Opening
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.trace.waterfall import RulerLine
from spanview.tui.traces.plot import Plot
from spanview.tui.traces.traces_screen import TracesScreen
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.workers.worker_lines import WorkerHeads
from spanview.tui.workers.workers_screen import WorkersScreen
from viewers import Look, looking_at


def _documents() -> list[Document]:
    build = Builder()
    return [
        build.span("root", span=1, start=0, duration=100),
        build.span("a", span=2, parent=1, start=10, duration=10),
        build.span("b", span=3, parent=1, start=60, duration=30),
    ]


async def _draw(look: Look, y: int, first: int, last: int) -> str:
    """Draw the mouse over some cells, and return what was on the screen before the button was released."""
    await look.pilot.mouse_down(offset=(first, y))
    await look.pilot.hover(offset=(last, y))
    await look.pilot.pause()
    before = look.text
    await look.pilot.mouse_up(offset=(last, y))
    await look.press()
    return before


def _shown(look: Look) -> tuple[float, float]:
    screen = look.screen
    assert isinstance(screen, BaseScreen)
    assert screen.zoom is not None
    whole, shown = screen.zoom.zoomable.whole, screen.zoom.zoomable.shown
    start, end = ((ns - whole.start_ns) / whole.length_ns for ns in (shown.start_ns, shown.end_ns))
    return start, end


@pytest.mark.parametrize(
    ("keys", "screen", "ruler", "no_color"),
    [(("enter",), TraceScreen, RulerLine, False), (("L",), WorkersScreen, WorkerHeads, True)],
    ids=["trace", "workers"],
)
async def test_rows_and_ruler(
    keys: tuple[str, ...],
    screen: type[TraceScreen | WorkersScreen],
    ruler: type[RulerLine | WorkerHeads],
    *,
    no_color: bool,
) -> None:
    """Over the rows and over the ruler it zooms to what was drawn over, whose length is shown meanwhile."""
    async with looking_at(*_documents(), size=(100, 30), opening=Opening(("spans",), colorless=no_color)) as look:
        await look.press(*keys)
        shown = look.screen
        assert isinstance(shown, TraceScreen | WorkersScreen)
        await look.until(lambda: _shown(look) == (0, 1) and shown.rows.row_count)
        rows, heads = shown.rows, shown.query_one(ruler).region.y
        first = 99 - rows.time_cells
        for y in (rows.region.y, heads):
            cursor = rows.cursor
            before = await _draw(look, y, first + 10, first + 29)
            start, end = _shown(look)
            assert start == pytest.approx(10 / rows.time_cells, abs=0.02)
            assert end == pytest.approx(30 / rows.time_cells, abs=0.02)
            assert "├" in before.splitlines()[heads]
            assert "µs ─" in before.splitlines()[heads]
            assert "├" not in look.text
            # It was no click on a row.
            assert (look.is_on(screen), rows.cursor) == (True, cursor)
            await look.press("0")
        # Beside the time it is none either, nor is a hand that shakes.
        for cells in ((2, 12), (first + 10, first + 11)):
            await _draw(look, heads, *cells)
            assert _shown(look) == (0, 1)


async def test_time_is_moved() -> None:
    """With the right button, what is zoomed goes along with the mouse, as far as there is time."""
    async with looking_at(*_documents(), size=(100, 30)) as look:
        await look.press("L")
        shown = look.screen
        assert isinstance(shown, WorkersScreen)
        await look.until(lambda: _shown(look) == (0, 1) and shown.rows.row_count)
        await look.press("plus", "plus")
        before, y, x = _shown(look), shown.rows.region.y, 99 - shown.rows.time_cells
        await look.pilot.mouse_down(offset=(x + 20, y), button=3)
        await look.pilot.hover(offset=(x + 15, y))
        await look.press()
        moved = 5 / shown.rows.time_cells * (before[1] - before[0])
        assert _shown(look)[0] == pytest.approx(before[0] + moved, abs=1e-4)
        assert _shown(look)[1] - _shown(look)[0] == pytest.approx(before[1] - before[0])
        while _shown(look)[0] > 0:
            await look.press("<")
        await look.pilot.hover(offset=(x + 30, y))
        await look.pilot.mouse_up(offset=(x + 30, y))
        await look.press()
        assert _shown(look)[0] == 0
        await look.pilot.hover(offset=(x + 10, y))
        await look.press()
        assert (_shown(look)[0], look.is_on(WorkersScreen)) == (0, True)


async def test_a_key_ends_it() -> None:
    """Where one opens another screen while the button is down, nothing is picked, nor begun when one comes back."""
    async with looking_at(*_documents(), size=(100, 30)) as look:
        await look.press("enter")
        y = look.screen.query_one(RulerLine).region.y
        await look.pilot.mouse_down(offset=(60, y))
        await look.pilot.hover(offset=(80, y))
        await look.press("question_mark", "escape")
        await look.pilot.hover(offset=(90, y))
        await look.press()
        assert look.is_on(TraceScreen)
        assert "├" not in look.text
        assert _shown(look) == (0, 1)


async def test_nothing_is_picked() -> None:
    """A range without traces, and a click far from any, leave the list as it is and say so."""
    build = Builder()
    spans = [build.span("early", trace=1, start=0), build.span("late", trace=2, start=1000)]
    async with looking_at(*spans, size=(100, 36)) as look:
        assert isinstance(look.screen, TracesScreen)
        plot = look.screen.query_one(Plot).region
        for first, last in ((30, 60), (40, 40)):
            await _draw(look, plot.y + 2, plot.x + first, plot.x + last)
            assert "no trace starts in this range" in look.footer
            assert "early" in look.text
            assert "late" in look.text


async def test_back_by_mouse() -> None:
    """`‹` in the header goes back, the rest of it does nothing."""
    async with looking_at(*_documents(), size=(80, 24)) as look:
        await look.press("enter", "t")
        await look.pilot.click(offset=(20, 0))
        await look.press()
        assert not look.is_on(TraceScreen)
        await look.pilot.click(offset=(1, 0))
        await look.press()
        assert look.is_on(TraceScreen)
        await look.pilot.click(offset=(1, 0))
        await look.press()
        assert look.is_on(TracesScreen)
        await look.pilot.click(offset=(1, 0))
        await look.press()
        assert look.is_on(TracesScreen)


async def test_a_button_pressed_on_what_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual asks for the parent of what can be selected there; a widget that is being taken away has none."""
    async with looking_at(Builder().span("n")) as look:
        monkeypatch.setattr(Screen, "get_widget_and_offset_at", lambda *_: (Widget(), Offset()))
        assert look.screen.get_widget_and_offset_at(1, 1) == (None, None)
        await look.pilot.mouse_down(offset=(1, 1))
        assert look.app.is_running
