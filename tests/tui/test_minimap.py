"""The line above a trace's ruler.

root         0 - 100 µs
  early     10 -  20 µs
  failed    40 -  60 µs   an error
  late      50 -  60 µs
"""

from __future__ import annotations

from array import array

import pytest
from textual import events

from builders import EPOCH_NS, Builder, Document
from spanview.analysis.intervals import Timed
from spanview.analysis.window import Window
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.widgets.minimap import Minimap
from spanview.tui.workers.workers_screen import WorkersScreen
from viewers import Look, looking_at


def _documents() -> list[Document]:
    build = Builder()
    return [
        build.span("root", span=1, start=0, duration=100),
        build.span("early", span=2, parent=1, start=10, duration=10),
        build.span("failed", span=3, parent=1, start=40, duration=20, status="ERROR"),
        build.span("late", span=4, parent=1, start=50, duration=10),
    ]


PROFILES = [
    ([], [0] * 10),
    ([(0, 100)], [1] * 10),
    ([(0, 0)], [1] + [0] * 9),
    ([(100, 100)], [0] * 9 + [1]),
    ([(0, 100), (15, 29), (50, 50)], [1, 2, 2, 1, 1, 2, 1, 1, 1, 1]),
]


@pytest.mark.parametrize(("intervals", "expected"), PROFILES)
def test_profile(intervals: list[tuple[int, int]], expected: list[int]) -> None:
    """What runs in each tenth of a window."""
    timed = Timed(array("q", [start for start, _ in intervals]), array("q", sorted(end for _, end in intervals)))
    assert timed.profile(Window(0, 100), 10) == expected


def _shown(look: Look) -> tuple[int, int]:
    screen = look.screen
    assert isinstance(screen, TraceScreen)
    window = screen._model.shown
    return round((window.start_ns - EPOCH_NS) / 1000), round((window.end_ns - EPOCH_NS) / 1000)


async def test_it_shows_the_whole_trace() -> None:
    """How much runs, where an error ends, and the part that is looked at."""
    async with looking_at(*_documents(), size=(100, 30)) as look:
        await look.press("enter")
        line = look.body[1]
        assert len(line.rstrip()) == 100
        assert line[60] == "✖"
        assert line[30] < line[15] < line[55]
        await look.grow(Builder().span("new", span=9, parent=1, start=0, duration=30))
        assert look.body[1][30] != line[30] or look.body[1][5] != line[5]


@pytest.mark.parametrize("key", [None, "L"])
async def test_the_wheel(key: str | None) -> None:
    """With Ctrl it zooms around the mouse, with Shift it pans; alone it does neither."""
    async with looking_at(*_documents(), size=(100, 30)) as look:
        await look.press("enter", *([] if key is None else [key]))
        screen = look.screen
        assert isinstance(screen, TraceScreen | WorkersScreen)
        await look.until(lambda: screen.zoom.zoomable.whole.length_ns == 100_000)
        cells, y = screen.rows.time_cells, screen.rows.region.y

        async def turn(
            kind: type[events.MouseEvent], at: int, *, ctrl: bool = False, shift: bool = False
        ) -> tuple[int, int]:
            x = 99 - cells + at
            look._put(kind(screen.rows, x, y, 0, 0, 0, shift, False, ctrl, screen_x=x, screen_y=y))
            await look.press()
            whole, shown = screen.zoom.zoomable.whole, screen.zoom.zoomable.shown
            return shown.start_ns - whole.start_ns, shown.end_ns - whole.start_ns

        assert await turn(events.MouseScrollUp, 0) == (0, 100_000)
        start, end = await turn(events.MouseScrollUp, cells - 1, ctrl=True)
        assert start > 0.9 * (100_000 - end) > 0
        assert end - start < 70_000
        earlier = await turn(events.MouseScrollUp, 0, shift=True)
        assert earlier[0] < start
        assert earlier[1] - earlier[0] == end - start
        assert await turn(events.MouseScrollDown, 0, shift=True) == (start, end)
        for _ in range(3):
            whole = await turn(events.MouseScrollDown, 3, ctrl=True)
        assert whole == (0, 100_000)


async def test_a_stretch_is_picked_with_the_mouse() -> None:
    """Drawing over it zooms, a click moves, a second click shows everything."""
    async with looking_at(*_documents(), size=(100, 30)) as look:
        await look.press("enter")
        y = look.screen.query_one(Minimap).region.y
        await look.pilot.mouse_down(offset=(20, y))
        await look.pilot.hover(offset=(39, y))
        await look.pilot.mouse_up(offset=(39, y))
        await look.until(lambda: _shown(look) == (20, 40))
        await look.pilot.click(offset=(70, y))
        await look.until(lambda: _shown(look) in {(60, 80), (61, 81)})
        await look.pilot.click(offset=(99, y))
        await look.until(lambda: _shown(look) == (80, 100))
        await look.pilot.click(offset=(50, y), times=2)
        await look.until(lambda: _shown(look) == (0, 100))
