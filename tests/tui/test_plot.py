"""The plot above the list of traces.

in the store     start     duration
quick             0 µs        20 µs
failed           10 µs        30 µs    an error
slow             90 µs     5,000 µs
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from textual.message_pump import MessagePump

from builders import EPOCH_NS, Builder
from spanview.analysis.ray.running import Living, Running
from spanview.analysis.trace_columns import Points
from spanview.index.lives import OpenEnd
from spanview.model.times import NO_TIME
from spanview.tui.app.feed import FeedState
from spanview.tui.traces.plot import ROWS, Plot
from spanview.tui.traces.plot_model import Grid, grid_of, label_of
from spanview.tui.traces.traces_screen import TracesScreen
from viewers import Growing, Look, looking_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


MS = 1_000_000


def drawing(grid: Grid | None, rows: int) -> list[str]:
    """Return what is drawn."""
    assert grid is not None
    return ["".join(grid.glyph(column, row, grid.most) for column in range(grid.columns)) for row in range(rows)]


DRAWINGS = [
    ([(0, 5, False)], ["▁    ", "     ", "     "], 0),
    # A column for each stretch of time, a row for each power of ten.
    ([(0, 5 * MS, False), (99, 50 * MS, False)], ["    ▁", "▁    ", "     "], 7),
    # Many are drawn higher, by logarithm; an error is a mark of its own, however many are there.
    ([(0, 5, False)] * 100 + [(50, 5, False)] * 10 + [(99, 5, False)], ["█ ▅ ▁"], 0),
    ([(0, 5, False)] * 100 + [(0, 5, True), (99, 5, False)], ["✖   ▁"], 0),
    # Where there are too few rows, the slowest trace has one, and of the others most have that of their own power.
    ([(0, 5, False)] * 3 + [(40, 50, False)] * 3 + [(99, 10**15, False)], ["    ▁", "  █  ", "█    "], 15),
    ([(0, 5, False)] * 9 + [(40, 500, False)] * 4 + [(99, 10**15, False)], ["    ▁", "█ ▅  "], 15),
    # Without an end, without a length, without a start.
    ([(0, -1, False), (50, 0, False), (NO_TIME, 10**9, True), (99, 1, False)], ["▁ ▁ ▁"], 0),
]


def grid_with(points: Sequence[tuple[int, int, bool]], columns: int, rows: int) -> Grid | None:
    """Return traces in cells, given the start and the duration of each, and whether it failed."""
    starts, durations = (np.array([point[place] for point in points], np.int64) for place in (0, 1))
    return grid_of(Points(starts, durations, np.array([point[2] for point in points], np.bool_)), columns, rows)


@pytest.mark.parametrize(("points", "expected", "top"), DRAWINGS)
def test_drawings(points: list[tuple[int, int, bool]], expected: list[str], top: int) -> None:
    """What is drawn of some traces."""
    grid = grid_with(points, 5, len(expected))
    assert grid is not None
    assert (grid.powers[0], drawing(grid, len(expected))) == (top, expected)


def test_nothing_to_draw() -> None:
    """Without a start there is no place."""
    assert grid_with([], 5, 3) is None
    assert grid_with([(NO_TIME, 5, False)], 5, 3) is None


def test_columns_and_times() -> None:
    """The time at which a column begins lies in it."""
    grid = grid_with([(EPOCH_NS, 1, False), (EPOCH_NS + 86_400 * 10**9 * 400, 1, False)], 97, 3)
    assert grid is not None
    assert [grid.column_of(grid.time_of(column + 0.5)) for column in range(97)] == [*range(97)]
    assert (grid.column_of(0), grid.column_of(2**62)) == (0, 96)


@pytest.mark.parametrize(
    ("power", "expected"), [(0, "1 ns"), (5, "100 µs"), (6, "1 ms"), (10, "10 s"), (12, "1,000 s"), (14, "1e5 s")]
)
def test_labels(power: int, expected: str) -> None:
    """Each fits its place."""
    assert label_of(power) == expected


def test_the_edges_say_what_they_have_besides() -> None:
    """The top row is the slowest trace's. A row that has slower ones than its power, or quicker ones, says so."""
    usual = [(0, 5_000, False)] * 3 + [(0, 50_000, False)] * 3
    for more, expected in (
        ([], ["10 µs", "1 µs"]),
        ([(9, 10**15, False)], ["1e6 s", "<1e6 s"]),
        ([(9, 10**15, False)], ["1e6 s", "≥10 µs", "1 µs"]),
        ([(9, 1, False)], ["10 µs", "<10 µs"]),
    ):
        points = usual + more
        grid = grid_with(points, 5, len(expected))
        assert grid is not None
        assert [grid.label(row, len(expected)) for row in range(len(expected))] == expected


def test_the_nearest_column() -> None:
    """One with a trace that is near; else the one that was meant."""
    grid = grid_with([(0, 5, False), (50, 5, False), (99, 5, False)], 50, 1)
    assert grid is not None
    assert [grid.near(column, 3) for column in (0, 2, 4, 20, 27, 30, 47)] == [0, 0, 4, 20, 25, 30, 49]


# -- on the screen ----------------------------------------------------------------------------------------------------


async def test_what_runs_moves_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace is in the row of how long it has lasted by now, as the list has it."""
    build, now = Builder(), [EPOCH_NS + 2_000_000]
    data = Growing(build.span("job", span=1, start=0, duration=None), build.span("step", span=2, parent=1, duration=9))
    runs = frozenset({0})
    living = Living(runs, runs, {}, {}, {}, {0: OpenEnd.RUNS})
    monkeypatch.setattr(time, "time_ns", lambda: now[0])
    monkeypatch.setattr(Running, "living", lambda _: living)
    async with looking_at(data=data) as look:
        await look.tell(FeedState(loading=False, following=True))
        plot = look.screen.query_one(Plot)

        def slowest() -> str:
            return "" if plot._grid is None else plot._grid.label(0, ROWS)

        await look.until(lambda: slowest() == "1 ms")
        now[0] = EPOCH_NS + 3_000_000_000
        await look.until(lambda: slowest() == "1 s")


async def test_rows_are_painted_before_the_plot(monkeypatch: pytest.MonkeyPatch) -> None:
    """What importing numpy takes doesn't hold the first rows."""
    waiting: list[Callable[[], object]] = []
    call = MessagePump.call_after_refresh

    def later(self: MessagePump, callback: Callable[..., object], *arguments: object) -> bool:
        if getattr(callback, "__name__", "") not in {"_draw_plot", "count_anew"}:
            return call(self, callback, *arguments)
        waiting.append(callback)
        return True

    monkeypatch.setattr(MessagePump, "call_after_refresh", later)
    async with looking_at(Builder().span("first")) as look:
        plot = look.screen.query_one(Plot)
        await look.until(lambda: "first" in look.text and plot.size.width > 0)
        assert plot._grid is None
        for draw in waiting:
            draw()
        assert plot._grid is not None


def _data() -> Growing:
    build = Builder()
    return Growing(
        build.span("quick", trace=1, start=0, duration=20),
        build.span("failed", trace=2, start=10, duration=30, status="ERROR"),
        build.span("slow", trace=3, start=90, duration=5_000),
    )


def _names(look: Look) -> list[str]:
    screen = look.screen
    assert isinstance(screen, TracesScreen)
    return [screen._model.root_name(trace) or "" for trace in screen._model.order]


async def test_it_is_there_where_there_is_room() -> None:
    """At 80 x 24 the list has the room."""
    async with looking_at(data=_data(), size=(80, 24)) as look:
        assert not look.screen.query_one(Plot).display
    async with looking_at(data=_data(), size=(100, 36)) as look:
        assert look.screen.query_one(Plot).display
        text = "\n".join(look.body[:7])
        assert "1 ms┤" in text
        assert "✖" in text
        # The times of the axis are told from one another.
        times = re.findall("╵([0-9:.]+)", text)
        assert len(times) > 2
        assert len({*times}) == len(times)


async def test_a_range_is_picked_with_keys() -> None:
    """From the selected trace on, up to another one, and all again."""
    async with looking_at(data=_data(), size=(100, 36)) as look:
        assert _names(look) == ["slow", "failed", "quick"]
        await look.press("j", "{")
        assert _names(look) == ["slow", "failed"]
        assert "2 traces; Esc: all" in look.footer
        await look.press("}")
        assert _names(look) == ["failed"]
        await look.press("escape")
        assert _names(look) == ["slow", "failed", "quick"]


async def test_a_click_beside_a_trace_means_it() -> None:
    """Some cells beside it there is no other one."""
    async with looking_at(data=_data(), size=(100, 36)) as look:
        plot = look.screen.query_one(Plot)
        assert plot._grid is not None
        column = max(column for column, _ in plot._grid.counts)
        await look.pilot.click(offset=(plot.region.x + 8 + column - 2, plot.region.y + 1))
        assert _names(look) == ["slow"]


async def test_traces_of_one_moment() -> None:
    """A time that the digits don't tell from the one before isn't written again."""
    async with looking_at(Builder().span("a"), size=(200, 40)) as look:
        assert next(line for line in look.lines if "╵" in line).count("╵") == 1


async def test_a_range_is_picked_with_the_mouse() -> None:
    """What is drawn over is listed, and the plot still shows the rest."""
    async with looking_at(data=_data(), size=(100, 36)) as look:
        plot = look.screen.query_one(Plot)
        y = plot.region.y + 2
        await look.pilot.mouse_down(offset=(plot.region.x + 8, y))
        await look.pilot.hover(offset=(plot.region.x + 40, y))
        await look.pilot.mouse_up(offset=(plot.region.x + 40, y))
        await look.pilot.pause()
        assert _names(look) == ["failed", "quick"]
        assert "1 ms┤" in look.text
        # What is beside it is no time.
        await look.pilot.click(offset=(plot.region.x + 3, y))
        assert _names(look) == ["failed", "quick"]
        await look.press("escape")
        assert _names(look) == ["slow", "failed", "quick"]
