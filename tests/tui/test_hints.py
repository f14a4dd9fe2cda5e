"""Every action by the palette and by the mouse, on every screen, and what the footer says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder
from seeds import sample
from spanview.tui.app.feed import FeedState
from spanview.tui.app.palette import PaletteScreen
from spanview.tui.calls.calls_screen import CallsScreen
from spanview.tui.calls.function_calls_screen import FunctionCallsScreen
from spanview.tui.check.check_screen import CheckScreen
from spanview.tui.diff.diff_screen import DiffScreen
from spanview.tui.diff.other_side_screen import OtherSideScreen
from spanview.tui.explanation.explanation_screen import ExplanationScreen
from spanview.tui.flame.flame_screen import FlameBlocks, FlameScreen
from spanview.tui.help.help_screen import HelpScreen
from spanview.tui.keys import On, action_of, footer_text, keys_on, spelt
from spanview.tui.log.log_screen import LogScreen
from spanview.tui.running.running_screen import RunningScreen
from spanview.tui.serve.serve_screen import ServeScreen
from spanview.tui.span.span_screen import SpanScreen
from spanview.tui.stats.spans_screen import SpansScreen
from spanview.tui.stats.stats_screen import StatsScreen
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.trace.waterfall import Waterfall
from spanview.tui.traces.traces_screen import TracesScreen
from spanview.tui.widgets.linelist import LineList
from spanview.tui.workers.workers_screen import WorkersScreen
from viewers import looking_at

if TYPE_CHECKING:
    from pathlib import Path

    from builders import Document
    from spanview.tui.widgets.base_screen import BaseScreen
    from viewers import Look

SCREENS: Final[list[tuple[type[BaseScreen], tuple[str, ...]]]] = [
    (TracesScreen, ()),
    (TraceScreen, ("enter",)),
    (SpanScreen, ("enter", "enter")),
    (StatsScreen, ("t",)),
    (SpansScreen, ("t", "enter")),
    (FlameScreen, ("F",)),
    (DiffScreen, ("d", "down", "d")),
    (OtherSideScreen, ("D",)),
    (CallsScreen, ("A",)),
    (FunctionCallsScreen, ("A", "enter")),
    (WorkersScreen, ("L",)),
    (ServeScreen, ("H",)),
    (LogScreen, ("enter", "v")),
    (CheckScreen, ("exclamation_mark",)),
    (ExplanationScreen, ("x",)),
    (RunningScreen, ("J",)),
    (HelpScreen, ("question_mark",)),
]
"""The screens of the table, and the keys that lead there."""
MOVES: Final = frozenset(
    (
        *("help", "move", "page", "edge", "open", "back", "leave", "search"),
        *("view", "explain", "running", "by_key", "palette"),
        *("sibling", "parent", "longest", "error", "collapse", "expand"),
        *("log", "own_lines", "pan_text"),
    )
)
"""Actions that change no more than where one is."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the current folder be a new one: a picture is drawn there, and a log lies beside the spans."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spans").mkdir()
    (tmp_path / "spans" / "worker-abc1-01000000-7.out").write_text("loading\n")


def documents() -> list[Document]:
    """Return four traces, the newest one with an error, the oldest ones a call and a request."""
    build, of_worker = Builder(), {"ray.worker_id": "abc1", "ray.pid": "7", "ray.job_id": "01000000"}
    return [
        build.span("call ray.remote", trace=3, start=-50, kind="PRODUCER"),
        build.span("early", trace=2, start=0),
        build.span("proxy_http_request shop GET /", trace=4, start=-90),
        build.span("batch", trace=1, span=1, start=100, duration=100, service="shop", attributes=of_worker),
        build.span("load", trace=1, parent=1, start=110, status="ERROR", service="store"),
    ]


def test_every_screen_is_here() -> None:
    """No screen of the table is left out of these tests."""
    assert {screen.ON for screen, _ in SCREENS} == set(On)


async def go_to(look: Look, screen: type[BaseScreen], way: tuple[str, ...]) -> None:
    """Go to a screen from the list of traces, while something is followed, and let it find out what it shows."""
    await look.tell(FeedState(loading=False, following=True))
    for key in way:
        # A list has nothing to open before it is known.
        await look.press(key)
        await look.rest()
    await look.until(lambda: look.is_on(screen))
    await look.app.workers.wait_for_complete()
    if screen is FlameScreen:
        await look.until(lambda: look.screen.query_one(FlameBlocks).model)
    if isinstance(below := look.screen, WorkersScreen):
        await look.until(lambda: below.live.has_answer)
    await look.pilot.pause()


@pytest.mark.parametrize("screen", [screen for screen, _ in SCREENS])
def test_every_key_can_be_done(screen: type[BaseScreen]) -> None:
    """A screen has the action of each of its keys."""
    for key in keys_on(screen.ON):
        assert hasattr(screen, f"action_{key.action.split('(')[0]}")


@pytest.mark.shortened
@pytest.mark.parametrize(("screen", "way"), sample(SCREENS, 5))
async def test_the_palette_has_all_of_a_screen(screen: type[BaseScreen], way: tuple[str, ...]) -> None:
    """Each action of the screen below is offered, with its key."""
    async with looking_at(*documents(), size=(120, 90)) as look:
        await go_to(look, screen, way)
        await look.press("colon")
        assert look.is_on(PaletteScreen)
        for key in keys_on(screen.ON):
            if key.action != "palette":
                assert any(key.text in line and key.shown in line for line in look.lines), key
        assert "forget settings" in look.text


@pytest.mark.shortened(8)
@pytest.mark.parametrize(("screen", "way"), SCREENS)
async def test_each_change_is_told(screen: type[BaseScreen], way: tuple[str, ...]) -> None:
    """What a key did that changes something, or why it did nothing, stands in the footer."""
    async with looking_at(*documents(), size=(140, 40)) as look:
        await go_to(look, screen, way)
        for key in keys_on(screen.ON):
            if key.action.split("(")[0] in MOVES:
                continue
            look.app.said = ""
            await look.press(key.keys.split(",")[0])
            # An export says first that it begins.
            await look.until(lambda: look.app.said and look.app.said in look.footer)
            assert look.is_on(screen), key


async def test_folding_is_told() -> None:
    """Keys that fold or move say what they have folded."""
    async with looking_at(*documents()) as look:
        await look.press("enter", "left")
        assert "1 span hidden" in look.footer
        await look.press("right")
        assert "expanded" in look.footer


# -- the footer --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on", list(On))
def test_each_hint_names_a_key(on: On) -> None:
    """What a hint begins with is the key of one action, spelt out as well."""
    for hint in footer_text(on).split("  "):
        shown = hint.split()[0]
        assert action_of(on, shown) is not None, hint
        assert action_of(on, spelt(shown)) == action_of(on, shown)


async def click_hint(look: Look, hint: str) -> None:
    """Click on the middle of a hint."""
    await look.pilot.click(offset=(look.lines[-1].index(hint) + len(hint) // 2, len(look.lines) - 1))
    await look.press()


@pytest.mark.shortened
@pytest.mark.parametrize(("screen", "way"), sample(SCREENS, 5))
async def test_a_click_on_a_hint_does_it(
    screen: type[BaseScreen], way: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every hint of every footer does what its key does."""
    done: list[str] = []
    async with looking_at(*documents(), size=(120, 40)) as look:
        await go_to(look, screen, way)

        async def note(action: str) -> None:
            done.append(action)

        monkeypatch.setattr(look.screen, "run_action", note)
        hints = (screen.HINTS or footer_text(screen.ON)).split("  ")
        for hint in hints:
            await click_hint(look, hint)
        assert done == [action_of(screen.ON, hint.split()[0]) for hint in hints]
        # Between hints there is nothing.
        await look.pilot.click(offset=(look.lines[-1].index("  "), len(look.lines) - 1))
        await look.pilot.click(offset=(119, len(look.lines) - 1))
        assert len(done) == len(hints)


async def test_enter_and_escape_by_the_mouse() -> None:
    """Hints open, go back, and take what is typed into a prompt, as their keys do."""
    async with looking_at(*documents(), size=(120, 40)) as look:
        await click_hint(look, "⏎ open")
        assert look.is_on(TraceScreen)
        await click_hint(look, "⏎ open")
        assert look.is_on(SpanScreen)
        await click_hint(look, "Esc back")
        await click_hint(look, "Esc back")
        assert look.is_on(TracesScreen)
        await click_hint(look, "/ find")
        await look.type("early")
        await look.until_shown("1 of 4 traces")
        await click_hint(look, "⏎ open")
        assert isinstance(look.app.focused, LineList)
        await click_hint(look, "Esc back")
        await look.until(lambda: "early" in look.text and "batch" in look.text)


async def test_what_a_key_did_hides_no_hint() -> None:
    """It is said above the footer, and a click on it does nothing to what is below."""
    async with looking_at(*documents(), size=(80, 24)) as look:
        await look.press("enter", "c")
        await look.until_shown("critical path", "in batch")
        said, hints = look.app.said, look.lines[-1]
        assert look.lines[-2].rstrip().endswith(said)
        assert hints.strip() == "  ".join(footer_text(On.TRACE).split("  ")[: hints.strip().count("  ") + 1])
        node = look.screen.query_one(Waterfall).node
        await look.pilot.click(offset=(79 - len(said) // 2, 22))
        assert (look.app.said, look.screen.query_one(Waterfall).node) == (said, node)


async def test_hints_are_whole() -> None:
    """A hint that hasn't room for all of it is left out."""
    hints = footer_text(On.TRACES).split("  ")
    async with looking_at(*documents(), size=(60, 24)) as look:
        shown = look.lines[-1].strip().split("  ")
        assert shown == hints[: len(shown)]
        assert 3 < len(shown) < len(hints)


async def test_what_is_long_is_said_in_lines() -> None:
    """Why a critical path isn't sure is told whole, in as many lines as it takes; then they are given back."""
    build = Builder()
    spans = [build.span(f"s{number}", parent=90 + number, start=10 - number, duration=None) for number in range(4)]
    async with looking_at(*spans, build.span("last", start=5), size=(60, 24)) as look:
        await look.press("enter", "c")
        await look.until(lambda: "not sure" in look.app.said)
        at = look.line_of(" critical path")
        assert at < 22
        assert " ".join("".join(look.lines[at:-1]).split()) == look.app.said
        assert look.app.said.endswith("4 spans have no end")
        await look.press("1")
        assert look.line_of("self shown") == 22


async def test_the_palette_by_the_mouse() -> None:
    """Its hints move and do; a second click on a line does it."""
    async with looking_at(*documents(), size=(120, 40)) as look:
        await look.press("colon")
        await look.type("theme: light")
        await click_hint(look, "⏎ do it")
        assert look.is_on(TracesScreen)
        assert look.app.theme == "light"
        await look.press("colon")
        await click_hint(look, "↑ ↓ move")
        await click_hint(look, "Esc back")
        assert look.is_on(TracesScreen)


async def test_the_help_does_what_it_tells() -> None:
    """From the help each action of the screen below is a second click, or Enter, away; others are not done."""
    async with looking_at(*documents(), size=(120, 100)) as look:
        await click_hint(look, "? help")
        assert look.is_on(HelpScreen)
        at = look.line_of("sort by the next column")
        await look.pilot.click(offset=(20, at))
        await look.pilot.click(offset=(20, at))
        await look.until_shown("sorted by duration")
        assert look.is_on(TracesScreen)
        await look.press("question_mark")
        at = look.line_of("zoom in")
        await look.pilot.click(offset=(20, at))
        await look.press("enter")
        assert look.is_on(HelpScreen)
        await click_hint(look, "Esc back")
        assert look.is_on(TracesScreen)
