"""Terminals without colours: NO_COLOR, TERM=dumb, and encodings that lack what screens are drawn with.

what colours say elsewhere       what says it there
--------------------------       ------------------
the selected row                 ›, or · in a list that the keys don't go to
an error                         ✖
the critical path                • behind the name; full blocks among light ones
what children run in             ▒
what was searched for            ╱ behind the name
services, processes, kinds …     a letter behind the name, and in the legend
what lies outside of a range     ·
the open section                 [ ]
the selected block               ›
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder
from spanview.tui.app.opening import Opening
from spanview.tui.flame.flame_screen import FlameBlocks, FlameScreen
from spanview.tui.widgets.paint import Encodable
from spanview.tui.workers.workers_screen import WorkersScreen
from terminals import ESCAPE, Terminal
from viewers import Growing, looking_at

if TYPE_CHECKING:
    from builders import Document

ROOT: Final = Path(__file__).parent.parent.parent
RECORDING: Final = str(ROOT / "fixtures" / "ray-tasks-bundled-hook" / "spans")
PLAIN: Final = Opening(("spans",), colorless=True)
_COLOR: Final = re.compile(rb"\x1b\[(?:[\d;]*;)?(?:3\d|4\d|9\d|10\d)(?:;[\d;]*)?m")


def documents() -> list[Document]:
    """Return a trace of two services and kinds, in which one span fails, and a newer trace of its own."""
    build = Builder()
    return [
        build.span("batch", span=1, start=0, duration=100, kind="SERVER", service="shop"),
        build.span("load", span=2, parent=1, start=10, duration=40, kind="CLIENT", service="store"),
        build.span("index", span=3, parent=2, start=12, duration=20, service="store"),
        build.span("store", span=4, parent=1, start=60, duration=30, status="ERROR", service="store"),
        build.span("late", trace=2, start=2_000_000, service="shop"),
    ]


async def test_the_list_of_traces() -> None:
    """The selected row has a mark before it, and the heads stand above their columns."""
    async with looking_at(*documents(), opening=PLAIN, size=(110, 36)) as look:
        at = look.line_of("START ▾")
        assert look.lines[at].startswith("  START ▾")
        late, batch = look.lines[at + 1 : at + 3]
        assert late.startswith("› ")
        assert batch.startswith("  ")
        assert "✖ batch" in batch
        assert look.lines[at].index("TRACE") == late.index("late") == batch.index("batch")
        await look.press("down")
        assert look.lines[at + 1].startswith("  ")
        assert look.lines[at + 2].startswith("› ")
        # The plot has its marks, and what is outside of the range that was picked is there as a dot.
        assert "✖" in "".join(look.lines[1:at])
        await look.press("up", "left_curly_bracket")
        assert "·" in "".join(look.lines[1:at])
        await look.press("escape", "r")
        assert sum(line.startswith("› ") for line in look.lines) == 1


async def test_a_trace() -> None:
    """Errors, folds, the critical path, matches and colours are all in the text."""
    async with looking_at(*documents(), opening=PLAIN, size=(120, 40)) as look:
        await look.press("down", "enter")
        top = look.line_of("SPAN") + 1
        batch, load, index, store = look.lines[top : top + 4]
        assert batch.startswith("› ▾ batch")
        assert "▒" in batch
        assert "▒" not in index
        assert "✖" in store
        legend = next(line for line in look.lines if line.startswith(" service"))
        shop, stored = (re.search(rf"(\w) {name}", legend) for name in ("shop", "store"))
        assert shop is not None
        assert stored is not None
        assert re.search(rf" {shop[1]} +100 µs", batch)
        assert all(re.search(rf" {stored[1]} +\d", line) for line in (load, index, store))
        await look.press("left")
        assert "▸ batch" in look.lines[top]
        assert "+3 ✖1" in look.lines[top]
        await look.press("right", "c")
        await look.until(lambda: "•" in look.lines[top])
        assert "░" in look.lines[top]
        assert "█" in look.lines[top]
        await look.press("c", "slash")
        await look.type("index")
        await look.until_shown("1 match")
        assert "╱" in look.lines[look.line_of("  index ")]
        assert "╱" not in look.lines[look.line_of("▾ load ")]
        await look.press("enter", "plus", "plus")
        assert "·" in look.lines[look.line_of("SPAN") - 1]


async def test_clicks_hit_what_they_are_meant_for() -> None:
    """The mark before the rows doesn't put clicks beside arrows and heads."""
    async with looking_at(*documents(), opening=PLAIN, size=(120, 40)) as look:
        heads = look.line_of("START ▾")
        await look.pilot.click(offset=(look.lines[heads].index("DURATION"), heads))
        assert "DURATION ▾" in look.text
        await look.press("enter")
        top = look.line_of("▾ batch")
        await look.pilot.click(offset=(look.lines[top].index("▾"), top))
        assert "▸ batch" in look.lines[top]


async def test_a_comparison() -> None:
    """The heads stand above their columns, and a click hits the one that is under it, at its ends too."""
    async with looking_at(*documents(), opening=PLAIN, size=(120, 40)) as look:
        await look.press("d", "down", "d")
        await look.until_shown("PATH")
        heads = look.line_of("SELF A")
        paths = [line for line in look.lines[heads + 1 :] if line.rstrip().endswith(("batch", "late", "store"))]
        assert paths
        # Each of the two roots is compared with the other, whatever they are called.
        roots = [line for line in paths if line.rstrip().endswith("→ batch")]
        assert {line.index("late → batch") for line in roots} == {look.lines[heads].index("PATH")}
        for head in ("SELF A", "SELF B"):
            await look.pilot.click(offset=(look.lines[heads].index(head) + len(head) - 1, heads))
            assert f"{head} ▾" in look.lines[heads]


async def test_details_and_lists() -> None:
    """The open section stands in brackets, and each list has its mark."""
    async with looking_at(*documents(), opening=PLAIN) as look:
        await look.press("down", "enter")
        await look.until_shown("[Attributes")
        assert any(line.startswith("· ") for line in look.lines)
        await look.press("tab")
        assert "[Links" in look.text
        for keys in (["escape", "t"], ["enter"], ["escape", "escape", "question_mark"], ["escape", "colon"]):
            await look.press(*keys)
            await look.until(lambda: sum(line.startswith("› ") for line in look.lines) == 1)


async def test_the_selected_block() -> None:
    """The selected block begins with its mark."""
    async with looking_at(*documents(), opening=PLAIN, size=(110, 36)) as look:
        await look.press("F")
        await look.until(lambda: look.is_on(FlameScreen) and look.screen.query_one(FlameBlocks).model)
        selected = [line for line in look.lines if "›" in line]
        assert any("›late" in line or "›batch" in line for line in selected)
        await look.press("down")
        assert "›" in look.text


async def test_the_selected_block_of_a_lane() -> None:
    """Functions are letters and names, what is full stays full, and the selected block begins with its mark."""
    data = Growing()
    data.add(*documents(), path="spans/services.json")
    async with looking_at(data=data, opening=PLAIN, size=(110, 36)) as look:
        await look.press("L")
        await look.until(lambda: isinstance(look.screen, WorkersScreen) and look.screen.live.has_answer)
        await look.press("f")
        top = look.line_of("› ")
        assert "›bat" in look.lines[top]
        # What only awaits the other service is a line.
        assert "─batch──" in look.lines[top]
        assert "▐load██" in look.lines[top + 1]
        assert look.line_of("function  a ") > top


async def test_no_color_is_painted() -> None:
    """Nothing that is painted has a colour; what is selected is turned round."""
    async with looking_at(*documents(), opening=PLAIN) as look:
        for keys in ((), ("down", "enter"), ("c",), ("tab", "enter"), ("question_mark",)):
            await look.press(*keys)
            strips = look.screen._compositor.render_strips()
            styles = [segment.style for strip in strips for segment in strip if segment.style is not None]
            assert not [style for style in styles if style.color is not None or style.bgcolor is not None]
            assert any(style.reverse for style in styles)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "TERM": "xterm"}])
def test_a_terminal_is_sent_no_colors(environment: dict[str, str]) -> None:
    """No byte of what is written changes a colour, on any screen, and themes don't bring colours back."""
    with Terminal(RECORDING, environment=environment) as terminal:
        for keys, seen in (
            (b"", "31 traces"),
            (b"\r", "‹ pipeline"),
            (b"c", "critical path"),
            (b"\r", "‹ pipeline › pipeline"),
            (b"?", "on this"),
        ):
            terminal.send(keys)
            assert terminal.has_soon(seen), terminal.lines
        terminal.send(ESCAPE)
        assert terminal.is_soon(lambda lines: not any("on this" in line for line in lines)), terminal.lines
        terminal.send(b"T")
        assert terminal.has_soon("theme: light, for terminals with colours"), terminal.lines
        assert any(line.startswith("› ") for line in terminal.lines)
        assert not _COLOR.findall(terminal.output)
        terminal.send(ESCAPE * 5, b"q")
        assert terminal.wait() == 0


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": ""}])
def test_colors_are_sent_otherwise(environment: dict[str, str]) -> None:
    """Without the wish, and at an empty one, there are colours, and more than greys."""
    with Terminal(RECORDING, environment=environment) as terminal:
        assert terminal.has_soon("START")
        terminal.rest(0.3)
        colors = set(re.findall(rb"[34]8;2;(\d+);(\d+);(\d+)", terminal.output))
        assert any(len(set(color)) > 1 for color in colors)


# -- encodings ---------------------------------------------------------------------------------------------------------


def _drawn_with() -> set[str]:
    """Return all characters beyond ASCII that the interface's own texts are made of."""
    modules = [*(ROOT / "spanview" / "tui").glob("*.py"), *(ROOT / "spanview" / "display").glob("*.py")]
    return {each for path in modules for each in path.read_text(encoding="utf-8") if ord(each) > 127}


def test_each_sign_has_a_stand_in() -> None:
    """No sign that screens are drawn with becomes a question mark where the encoding lacks it; keys are spelt out."""
    ascii_only = Encodable("ascii")
    spelt = set("⏎␣")
    lost = {each for each in _drawn_with() - spelt if ascii_only._encodable(each) == "?"}
    assert not lost


def test_a_terminal_without_utf_8() -> None:
    """Every screen has its meaning in ASCII: the keys by their names, bars, errors and the selected row."""
    environment = {"PYTHONIOENCODING": "ascii", "NO_COLOR": "1"}
    with Terminal(RECORDING, environment=environment, size=(120, 40)) as terminal:
        assert terminal.has_soon("Enter open", "x flaky", "31 traces"), terminal.lines
        assert any(line.startswith("> ") for line in terminal.lines)
        terminal.send(b"\r")
        assert terminal.has_soon("v pipeline", "####", "Right fold"), terminal.lines
        terminal.send(b"?")
        assert terminal.has_soon("Up k", "Enter  "), terminal.lines
        assert terminal.output.isascii()
        terminal.send(ESCAPE * 5, b"q")
        assert terminal.wait() == 0
