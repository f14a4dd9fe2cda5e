"""How much is painted: the rows in sight, and of them only those that have changed, however long the list is.

100,000 rows      painted
------------      -------
the first time    the rows in sight
Down              the row that the cursor leaves and the one that it comes to

a screen          laid out    painted whole
--------          --------    -------------
is opened         once        once
is left           never       once: the one below
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from textual._compositor import Compositor
from textual.color import Color
from textual.geometry import Size
from textual.screen import Screen

from builders import Builder
from spanview.tui.app.palette import CommandLines
from spanview.tui.trace.waterfall import Waterfall
from spanview.tui.traces.trace_list import TraceList
from spanview.tui.widgets.paint import Encodable
from spanview.tui.workers.worker_lines import WorkerLines
from spanview.tui.workers.workers_screen import WorkersScreen
from viewers import Growing, looking_at, many_spans

if TYPE_CHECKING:
    from spanview.tui.widgets.linelist import LineList

MANY: Final = 100_000
HEIGHT: Final = 40


@cache
def spans(*, one_trace: bool) -> Growing:
    """Return a store of many spans, each a trace of its own or all in one: made once for all tests, which only look."""
    numbers = range(1, MANY + 1)
    return many_spans(
        [1] * MANY if one_trace else numbers,
        [0, *[1] * (MANY - 1)] if one_trace else [0] * MANY,
        [f"name {number}" for number in numbers],
        ["service"] * MANY,
    )


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list into which every row comes that a list of traces or of spans paints."""
    rows: list[int] = []

    def note(kind: type[LineList]) -> None:
        paint = kind.segments_of

        def segments_of(self: LineList, row: int, width: int) -> list[Segment]:
            rows.append(row)
            return paint(self, row, width)

        monkeypatch.setattr(kind, "segments_of", segments_of)

    note(TraceList)
    note(Waterfall)
    note(CommandLines)
    note(WorkerLines)
    return rows


@pytest.fixture
def laid_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list into which comes what is done with the whole screen."""
    done: list[str] = []

    def note(kind: type, name: str, what: str) -> None:
        method = getattr(kind, name)

        def noted(self: object, *arguments: object, **named: object) -> object:
            done.append(what)
            return method(self, *arguments, **named)

        monkeypatch.setattr(kind, name, noted)

    note(Compositor, "reflow", "laid out")
    note(Compositor, "render_full_update", "painted")
    return done


@pytest.mark.parametrize(
    ("way", "key", "screen"),
    [((), "t", "StatsScreen"), ((), "question_mark", "HelpScreen"), (("enter",), "enter", "SpanScreen")],
)
async def test_a_screen_is_laid_out_and_painted_once(
    laid_out: list[str], way: tuple[str, ...], key: str, screen: str
) -> None:
    """A key that opens a screen has it laid out once, and the one that leaves it only has the other painted again."""
    async with looking_at(Builder().span("alone"), paints=True) as look:
        await look.press(*way)
        await look.rest()
        laid_out.clear()
        await look.press(key)
        await look.rest()
        assert type(look.screen).__name__ == screen
        assert laid_out == ["laid out", "painted"]
        laid_out.clear()
        await look.press("escape")
        await look.rest()
        assert laid_out == ["painted"]


async def test_the_screen_is_painted_when_the_terminal_comes_back(laid_out: list[str]) -> None:
    """Textual asks for all of the screen when another program had the terminal."""
    async with looking_at(Builder().span("alone"), paints=True) as look:
        await look.rest()
        laid_out.clear()
        look.app.refresh(layout=True)
        await look.rest()
        assert laid_out == ["painted"]


async def test_another_trace_is_painted_once(laid_out: list[str]) -> None:
    """A trace that takes the place of another one isn't painted again when that is gone."""
    build = Builder()
    spans = [build.span(f"{trace}", trace=trace, status="ERROR") for trace in (1, 2)]
    async with looking_at(*spans, paints=True) as look:
        await look.press("e")
        await look.rest()
        laid_out.clear()
        await look.press("e")
        await look.rest()
        assert look.header.startswith(" ‹ 1")
        assert laid_out.count("painted") == 1


async def test_a_long_list_of_traces_paints_what_is_in_sight(painted: list[int]) -> None:
    """Neither the first painting, nor moving, nor jumping to the end looks at rows that nobody sees."""
    async with looking_at(data=spans(one_trace=False), size=(120, HEIGHT), paints=True) as look:
        assert look.app.screen.query_one(TraceList).row_count == MANY
        assert max(painted) < HEIGHT
        await look.rest()
        painted.clear()
        await look.press("down")
        assert sorted(painted) == [0, 1]
        painted.clear()
        await look.press("end")
        assert {row for row in painted if row > 1} <= set(range(MANY - HEIGHT, MANY))


async def test_many_lanes_paint_what_is_in_sight(painted: list[int]) -> None:
    """The same holds for lanes; within one, moving from block to block paints it alone."""
    number = 5_000
    services = [f"service {number % 2_500}" for number in range(number)]
    data = many_spans(range(1, number + 1), [0] * number, ["name"] * number, services)
    async with looking_at(data=data, size=(120, HEIGHT), paints=True) as look:
        painted.clear()
        await look.press("L")
        await look.until(lambda: isinstance(look.screen, WorkersScreen) and look.screen.live.has_answer)
        await look.pilot.pause()
        assert look.app.screen.query_one(WorkerLines).row_count == 2_500
        assert max(painted) < HEIGHT
        painted.clear()
        await look.press("down")
        assert {*painted} == {0, 1}
        painted.clear()
        await look.press("right")
        assert {*painted} == {1}
        painted.clear()
        await look.press("end")
        assert {row for row in painted if row > 1} <= set(range(2_500 - HEIGHT, 2_500))


async def test_a_screen_is_laid_out_once_for_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes into sight isn't laid out for its size again when it is told of it."""
    sizes: list[Size] = []
    lay_out = Screen._refresh_layout

    def noted(self: Screen[Any], size: Size | None = None, scroll: bool = False) -> None:  # noqa: FBT001, FBT002 - as Textual has it
        if size is not None:
            sizes.append(size)
        lay_out(self, size, scroll)

    data = many_spans([1] * 60, [0, *[1] * 59], [f"name {at}" for at in range(60)], ["service"] * 60)
    async with looking_at(data=data, size=(80, 24), paints=True) as look:
        monkeypatch.setattr(Screen, "_refresh_layout", noted)
        for key, seen in (("enter", "SPAN"), ("question_mark", "on this screen")):
            sizes.clear()
            await look.press(key)
            await look.until_shown(seen)
            await look.pilot.pause()
            assert sizes == [Size(80, 24)], key


async def test_a_long_trace_paints_what_is_in_sight(painted: list[int]) -> None:
    """The same holds for the rows of one trace."""
    async with looking_at(data=spans(one_trace=True), size=(120, HEIGHT), paints=True) as look:
        painted.clear()
        await look.press("enter")
        await look.until(lambda: look.app.screen.query_one(Waterfall).row_count == MANY)
        assert max(painted) < HEIGHT
        await look.rest()
        painted.clear()
        await look.press("down")
        assert sorted(painted) == [0, 1]
        painted.clear()
        await look.press("end")
        assert {row for row in painted if row > 1} <= set(range(MANY - HEIGHT, MANY))


async def test_a_screen_that_opens_paints_each_row_once(painted: list[int]) -> None:
    """That the list is told its size behind its first painting is no reason to paint it again."""
    async with looking_at(data=spans(one_trace=True), size=(120, HEIGHT), paints=True) as look:
        # What processes show of the trace comes later, and paints its row in the list of traces.
        await look.rest()
        painted.clear()
        await look.press("colon")
        assert sorted(painted) == list(range(len(painted)))
        await look.press("escape")
        painted.clear()
        await look.pilot.resize_terminal(100, HEIGHT)
        await look.press()
        assert 0 in painted


async def test_a_smaller_terminal_has_the_cursor_in_sight() -> None:
    """Lines are as wide as it is, and the list goes on to the cursor."""
    async with looking_at(data=spans(one_trace=False), size=(120, HEIGHT)) as look:
        await look.press("end")
        rows = look.screen.query_one(TraceList)
        await look.pilot.resize_terminal(90, HEIGHT // 2)
        await look.press()
        assert 0 <= rows.cursor - rows.scroll_offset.y < rows.size.height
        await look.until(lambda: "1 finding" in look.text and "looking" not in look.text)
        async with looking_at(data=spans(one_trace=False), size=(90, HEIGHT // 2)) as opened:
            await opened.press("end")
            await opened.until(lambda: "1 finding" in opened.text and "looking" not in opened.text)
            assert look.lines == opened.lines


# -- what a terminal's encoding lacks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "text", "expected"),
    [
        ("ascii", "▐██▌┈┈✖ 41 µs │ ▾ ● … ‹", "####..x 41 us | v * ~ <"),
        ("ascii", "plain", "plain"),
        ("ascii", "漢字 é ␛", "???? ? ?"),
        ("latin-1", "é µs █ 漢", "é µs # ??"),
        ("cp437", "█▌ é 漢", "█▌ é ??"),
    ],
)
def test_what_an_encoding_lacks(encoding: str, text: str, expected: str) -> None:
    """Bars are drawn with signs that every terminal has, and no cell is added or lost."""
    segments = Encodable(encoding).apply([Segment(text)], Color(0, 0, 0))
    assert [segment.text for segment in segments] == [expected]
    assert cell_len(expected) == cell_len(text)
