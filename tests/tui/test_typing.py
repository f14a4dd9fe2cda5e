"""What is typed and pasted in one go: each key finds the screen as the key before it has left it.

sent in one go             what it comes to
--------------             ----------------
/ q u i c k                a filter
Esc s /                    no filter any more; sorted anew; the prompt
Enter Enter q q            a trace, its span, and back
Ctrl+P, some letters, ⏎    an action
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input

from builders import Builder, Document
from spanview.tui.app.palette import PaletteScreen
from spanview.tui.diff.diff_screen import DiffScreen
from spanview.tui.diff.other_side_screen import OtherSideScreen
from spanview.tui.help.help_screen import HelpScreen
from spanview.tui.span.span_screen import SpanScreen
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.traces.group_list import GroupList
from spanview.tui.traces.matching import TraceMatcher
from spanview.tui.traces.trace_list import TraceList
from spanview.tui.traces.traces_screen import TracesScreen
from spanview.tui.widgets.prompt import Prompt
from viewers import DEADLINE_S, Look, looking_at

if TYPE_CHECKING:
    from spanview.tui.widgets.base_screen import BaseScreen

ESCAPE, ENTER = "escape", "enter"


def documents() -> list[Document]:
    """Return three traces; the newest has three spans."""
    builder = Builder()
    return [
        builder.span("batch", trace=1, span=10),
        builder.span("quick", trace=2, span=20),
        *builder.draw("root 100-200\n  load 110-150\n    load more 120-130\n  store 150-160", trace=3),
    ]


def typed(look: Look) -> str:
    """Return what stands in the prompt of the screen."""
    return look.screen.query_one(Prompt).query_one(Input).value if look.screen.query_one(Prompt).display else "(closed)"


async def test_a_filter() -> None:
    """What comes right behind the slash is a part of the filter; what comes behind Enter and Esc is keys again."""
    async with looking_at(*documents()) as look:
        await look.send(*"/quick")
        await look.until_shown("1 of 3 traces")
        await look.send(ESCAPE, "s", "S", "/", "b")
        await look.until_shown("1 of 3 traces", "DURATION ▴")
        assert typed(look) == "b"
        await look.send("a", ENTER, "j", "G", "/", "t")
        await look.until_shown("1 of 3 traces")
        assert typed(look) == "bat"
        await look.send(ESCAPE, ENTER)
        await look.until(lambda: look.is_on(TraceScreen))


async def test_screens() -> None:
    """Screens are opened and left as often as the keys say."""
    async with looking_at(*documents()) as look:
        steps: tuple[tuple[list[str], type[BaseScreen]], ...] = (
            ([ENTER, ESCAPE], TracesScreen),
            ([ENTER, ENTER, "q", "q"], TracesScreen),
            ([ENTER, "j", "j", ENTER], SpanScreen),
            (["q", "q", "question_mark", ESCAPE, ENTER, "question_mark"], HelpScreen),
            ([ESCAPE, ESCAPE, "e", "tab"], TracesScreen),
            (["r", "j", ENTER, ENTER], TraceScreen),
        )
        for keys, screen in steps:
            await look.send(*keys)
            await look.until(partial(look.is_on, screen))
            assert look.app.is_running


async def test_a_search() -> None:
    """Enter goes to the first match, n to the next one."""
    async with looking_at(*documents()) as look:
        await look.send(ENTER, *"/load", ENTER)
        await look.until_shown("2 matches, n N", "match 1 of 2")
        await look.send("n")
        await look.until_shown("match 2 of 2")
        await look.send(ESCAPE, "slash", *"st", ENTER)
        await look.until_shown("1 match, n N", "match 1 of 1")
        await look.send(ESCAPE, ESCAPE, "slash")
        await look.until(lambda: look.is_on(TracesScreen))
        assert typed(look) == ""


@pytest.fixture(name="found")
def make_found(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return what lets queries find something, as late as the test wants them to."""
    found, next_traces = threading.Event(), TraceMatcher._next

    def later(matcher: TraceMatcher) -> set[int]:
        found.wait(DEADLINE_S)
        return next_traces(matcher)

    monkeypatch.setattr(TraceMatcher, "_next", later)
    return found


async def test_the_other_side(found: threading.Event) -> None:
    """Enter right behind a query compares as soon as it has found something."""
    async with looking_at(*documents()) as look:
        await look.send("d", "D", "slash", *"name=batch", ENTER)
        assert look.is_on(OtherSideScreen)
        found.set()
        await look.until(lambda: look.is_on(DiffScreen))
        await look.send(ESCAPE, "D", "slash", *"zz", "backspace", "backspace", ENTER)
        await look.until(lambda: look.is_on(DiffScreen))


async def test_the_other_side_is_typed_on(found: threading.Event) -> None:
    """What is typed behind Enter makes another query of it, which waits for an Enter of its own."""
    async with looking_at(*documents()) as look:
        await look.send("d", "D", "slash", *"name=batch", ENTER, *" OR quick")
        found.set()
        await look.until_shown("2 of 3 traces")
        assert look.is_on(OtherSideScreen)
        await look.send(ENTER)
        await look.until(lambda: look.is_on(DiffScreen))


async def test_keys_behind_the_last_one() -> None:
    """Keys that come behind the one that quits find nothing to act on."""
    async with looking_at(*documents()) as look:
        await look.send("q", "e", ENTER, "ctrl+p", "slash", "x")
        await look.until(lambda: not look.app.is_running)
        assert look.app.return_code == 0


# -- the palette -------------------------------------------------------------------------------------------------------


async def test_the_palette_does_what_the_keys_do() -> None:
    """Some letters find an action, Enter does it on the screen below."""
    async with looking_at(*documents()) as look:
        await look.press("ctrl+p")
        await look.until_shown("some words of an action", "traces grouped by root name", "Requests H")
        await look.type("grouped by root")
        await look.until_shown("1 action")
        await look.press(ENTER)
        assert look.is_on(TracesScreen)
        await look.until(lambda: look.screen.query_one(GroupList).display)


async def test_the_palette_in_one_go() -> None:
    """What is typed behind the key that opens it finds an action, and Enter does the one that was found by then."""
    async with looking_at(*documents()) as look:
        await look.send("colon", *"sort by the", ENTER, "j")
        await look.until_shown("DURATION ▾")
        assert look.screen.query_one(TraceList).cursor == 1
        await look.send("ctrl+p", ESCAPE, *"/kk", ENTER)
        await look.until_shown("0 of 3 traces")
        await look.send("ctrl+p", *"help", "pagedown", "pageup", "up", ENTER, ESCAPE, ESCAPE)
        await look.until_shown("quick")
        await look.send("ctrl+p", *"one row", "down", "down", "up", ENTER)
        await look.until(lambda: look.is_on(TracesScreen))
        await look.send("ctrl+p", *"no such thing", ENTER, "down", "pagedown")
        await look.until_shown("0 actions")
        assert look.is_on(PaletteScreen)


async def test_the_palette_on_every_screen() -> None:
    """It offers what the keys of the screen below do, and a theme is taken at once."""
    async with looking_at(*documents(), size=(120, 120)) as look:
        for opening, offered, missing in (
            ((), "sort by the next column", "zoom in"),
            ((ENTER,), "zoom in", "sort by the next column"),
            ((ENTER,), "show or hide the raw JSON", "zoom in"),
            (("question_mark",), "one page up", "show or hide the raw JSON"),
        ):
            await look.send(*opening, "ctrl+p")
            await look.until_shown(offered)
            assert missing not in look.text
            await look.send(*"theme light", ENTER)
            assert look.app.theme == "light"
            look.app.theme = "dark"


async def test_the_palette_by_the_mouse() -> None:
    """A click selects, and a second one does it, once; the wheel scrolls."""
    async with looking_at(*documents()) as look:
        await look.press("ctrl+p")
        at = look.line_of("open the selected row")
        for _ in range(4):
            await look.pilot.click(offset=(20, at))
        await look.until(lambda: look.is_on(TraceScreen))
        assert len(look.app.screen_stack) == 3


async def test_the_palette_quits() -> None:
    """The end is an action too."""
    async with looking_at(*documents()) as look:
        await look.send("ctrl+p", *"quit", ENTER)
        await look.until(lambda: not look.app.is_running)
        assert look.app.return_code == 0


# -- what is pasted ----------------------------------------------------------------------------------------------------

PASTED = [
    # pasted, what stands in the prompt, what it means
    ("quick", "quick", "quick"),
    ("two\nlines", "two", "two"),
    ("\r\nfirst\rsecond", "first", "first"),
    ("a\x1b[31mb", "a␛[31mb", "a\x1b[31mb"),
    ("\x9bx\u202ey\u200bz\ud800", "\\x9bx\\u202ey\\u200bz\\ud800", "\x9bx\u202ey\u200bz\ud800"),
    ("tab\there", "tab␉here", "tab\there"),
    ("wide\u3000blank", "wide\u3000blank", "wide\u3000blank"),
    ("\u2028\x85", "\\u2028\\x85", "\u2028\x85"),
    ("[@click=app.quit]x[/nope]", "[@click=app.quit]x[/nope]", "[@click=app.quit]x[/nope]"),
    ("C:\\x41\\u0042\\U99999999", "C:\\x41\\u0042\\U99999999", "C:\\x41\\u0042\\U99999999"),
    ("x" * 100_000, "x" * 4096, "x" * 4096),
    ("", "", ""),
]


@pytest.mark.parametrize(("text", "shown", "means"), PASTED)
async def test_what_is_pasted(text: str, shown: str, means: str) -> None:
    """The first line is taken, with visible stand-ins, which mean what they stand for; keys behind it are keys."""
    async with looking_at(*documents()) as look:
        look._send("slash")
        look.paste(text)
        await look.send("é", "home", "(")
        assert typed(look) == f"({shown}é"
        assert look.screen.query_one(Prompt).text == f"({means}é"
        assert all(line.isprintable() for line in look.lines)
        await look.send(ESCAPE, "ctrl+p")
        look.paste(text)
        await look.send("!")
        assert typed(look) == f"{shown}!"
        assert all(line.isprintable() for line in look.lines)
        await look.send(ESCAPE)
        look.paste("q")
        await look.send("down")
        assert look.is_on(TracesScreen)
        assert look.screen.query_one(TraceList).cursor == 1


async def test_what_was_copied_can_be_pasted() -> None:
    """Ctrl+V takes what was copied in the viewer, in the place of what is selected, and as harmless as from outside."""
    async with looking_at(*documents()) as look:
        for text, shown, _ in filter(lambda pasted: pasted[0], PASTED):
            look.app.copy(text, "text")
            await look.send("slash", *"old", "shift+home", "ctrl+v")
            assert typed(look) == shown.replace("\\ud800", "?")
            await look.send(ESCAPE)
        await look.send("ctrl+p", "ctrl+v")
        assert typed(look) == shown


async def test_a_name_finds_itself() -> None:
    """A name that has invisible characters is found by what is pasted, and by what the screen shows for it."""
    builder = Builder()
    spans = [builder.span(name, trace=number) for number, name in enumerate(("fa\u200dmily\x1b!", "other"), 1)]
    async with looking_at(*spans) as look:
        for text in ("fa\u200dmily\x1b!", "fa\\u200dmily␛!"):
            look._send("slash")
            look.paste(text)
            await look.until_shown("1 of 2 traces")
            await look.press(ESCAPE)


async def test_a_click_that_another_screen_overtook() -> None:
    """What was clicked doesn't open above the screen that a key opened meanwhile."""
    async with looking_at(*documents()) as look:
        rows = look.screen.query_one(TraceList)
        await look.press("question_mark")
        rows.post_message(TraceList.Chosen(rows))
        await look.rest()
        assert look.is_on(HelpScreen)
        await look.press(ESCAPE)
        assert look.is_on(TracesScreen)
