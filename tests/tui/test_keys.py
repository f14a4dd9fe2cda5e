"""One table of keys: what the screens do, what the footer hints at, what the help says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pytest
from textual.keys import Keys, _character_to_key

from benchmarks.key_scripts import LISTED, OPENED, left_out
from builders import Builder
from spanview.docs import PAGES, summary_of
from spanview.tui.calls.calls_screen import CallsScreen
from spanview.tui.calls.function_calls_screen import FunctionCallsScreen
from spanview.tui.check.check_screen import CheckScreen
from spanview.tui.diff.diff_screen import DiffScreen
from spanview.tui.explanation.explanation_screen import ExplanationScreen
from spanview.tui.flame.flame_screen import FlameScreen
from spanview.tui.help.help_screen import HelpScreen, KeyLines, Page, PageScreen
from spanview.tui.keys import KEYS, Key, On, footer_text, keys_on
from spanview.tui.log.log_screen import LogScreen
from spanview.tui.running.running_screen import RunningScreen
from spanview.tui.serve.serve_screen import ServeScreen
from spanview.tui.span.details import EVENTS
from spanview.tui.span.span_screen import SpanScreen
from spanview.tui.stats.spans_screen import SpansScreen
from spanview.tui.stats.stats_screen import StatsScreen
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.traces.traces_screen import TracesScreen
from spanview.tui.workers.workers_screen import WorkersScreen
from viewers import looking_at

if TYPE_CHECKING:
    from builders import Document
    from spanview.tui.widgets.base_screen import BaseScreen

SCREENS: list[tuple[On, type[BaseScreen]]] = [
    (On.TRACES, TracesScreen),
    (On.TRACE, TraceScreen),
    (On.SPAN, SpanScreen),
    (On.HELP, HelpScreen),
    (On.STATS, StatsScreen),
    (On.CHECK, CheckScreen),
    (On.SPANS, SpansScreen),
    (On.FLAME, FlameScreen),
    (On.DIFF, DiffScreen),
    (On.CALLS, CallsScreen),
    (On.CALLS, FunctionCallsScreen),
    (On.WORKERS, WorkersScreen),
    (On.SERVE, ServeScreen),
    (On.LOG, LogScreen),
    (On.EXPLANATION, ExplanationScreen),
    (On.RUNNING, RunningScreen),
]


def actions(key: Key) -> str:
    """Return the name of a key's action without what it is given."""
    return key.action.split("(")[0]


@pytest.mark.parametrize(("on", "screen"), SCREENS)
def test_every_key_does_something(on: On, screen: type[BaseScreen]) -> None:
    """Each screen has all the actions that the table says it has."""
    for key in keys_on(on):
        name = actions(key)
        assert name.startswith("app.") or hasattr(screen, f"action_{name}"), key
    assert on == screen.ON


def test_what_each_key_takes_is_measured() -> None:
    """The benchmark presses each key of the table on each screen where it acts."""
    assert left_out([LISTED, OPENED]) == []


def test_no_key_means_two_things() -> None:
    """On no screen do two lines of the table have the same key."""
    for on, _ in SCREENS:
        names = [name for key in keys_on(on) for name in key.keys.split(",")]
        assert len(names) == len(set(names))


def test_keys_are_known_to_textual() -> None:
    """Each key has a name that Textual gives to one."""
    words = {key.value for key in Keys} | {"space"}
    for key in KEYS:
        for name in key.keys.split(","):
            is_character = len(name) == 1 or any(_character_to_key(chr(code)) == name for code in range(32, 127))
            assert is_character or name in words, name


@pytest.mark.parametrize("on", list(On))
def test_the_footer_fits(on: On) -> None:
    """The hints of each screen fit 100 cells, and the way to the help stands first, where no screen cuts it off."""
    assert len(footer_text(on)) <= 98
    assert footer_text(on).startswith("? help  ")


async def test_the_help_has_every_key() -> None:
    """On each screen the help shows all keys, those of the screen first."""
    async with looking_at(Builder().span(), size=(100, 240)) as look:
        for on in (On.TRACES, On.TRACE, On.SPAN):
            await look.press("question_mark")
            assert look.is_on(HelpScreen)
            lines = [line.strip() for line in look.lines]
            others = lines.index("on the other screens")
            for key in KEYS:
                # Signs are explained in words, some of which end as a key's do.
                of_key = [
                    at
                    for at, line in enumerate(lines)
                    if re.fullmatch(rf"{re.escape(key.shown)}  +{re.escape(key.text)}", line)
                ]
                assert of_key, key
                assert (of_key[0] < others) == bool(key.on & on), key
            await look.press("escape", "enter")


async def test_the_help_leads_to_the_pages() -> None:
    """The pages of the manual are in a list, Enter opens one, and Esc leads back to the list."""
    async with looking_at(Builder().span(), size=(100, 60)) as look:
        await look.press("question_mark")
        lines = look.screen.query_one(KeyLines)
        listed = [line[0].shown for line in lines._lines if isinstance(line[0], Page)]
        assert [*dict.fromkeys(listed)] == [*PAGES]
        lines.move_to(next(at for at, line in enumerate(lines._lines) if line[1].strip() == "query"))
        await look.press("enter")
        assert look.is_on(PageScreen)
        assert "‹ query" in look.lines[0]
        assert summary_of("query").replace("`", "") in look.text
        assert "|---|" not in look.text
        await look.press("G", "T", "y", "enter", "escape")
        assert look.is_on(HelpScreen)
        assert "pages of the manual" in look.text


async def test_the_help_scrolls() -> None:
    """On a small screen the rest of the help is reached by the keys that move."""
    async with looking_at(Builder().span(), size=(80, 24)) as look:
        await look.press("question_mark")
        assert "on the other screens" not in look.text
        await look.press("G")
        assert "this help" not in look.text
        await look.press("pageup", "k", "g")
        assert look.screen.query_one(KeyLines).cursor == 0
        await look.press("tab", "o", "y")
        assert look.is_on(HelpScreen)


async def test_the_help_is_whole_where_it_is_narrow() -> None:
    """What has no room on a line goes on below; each of its lines is the key's."""
    async with looking_at(Builder().span(), size=(60, 220)) as look:
        await look.press("question_mark")
        told = " ".join(" ".join(look.lines).split())
        assert all(" ".join(key.text.split()) in told for key in KEYS)
        lines = look.screen.query_one(KeyLines)
        at = look.line_of("compare the marked or shown") - lines.region.y
        assert lines._lines[at][0] is lines._lines[at + 1][0]


CALLED: Final = {"request_method": "GET", "app": "shop", "deployment": "Cart"}


def _views(*, failing: bool) -> list[Document]:
    """Return a call and a request, after which an older call and an older request failed, or didn't."""
    build, status = Builder(), "ERROR" if failing else "OK"
    spans: list[Document] = []
    for trace, function, ended, code in ((1, "f", "OK", 200), (2, "g", status, 500 if failing else 201)):
        call: dict[str, Any] = {"trace": trace, "start": 100 * trace}
        spans += [
            build.span(f"m.{function} ray.remote", span=10 * trace, kind="PRODUCER", **call),
            build.span(f"m.{function} ray.remote_worker", parent=10 * trace, kind="CONSUMER", status=ended, **call),
            build.span(
                "proxy_http_request Cart",
                trace=10 + trace,
                kind="SERVER",
                attributes=CALLED | {"http.status_code": code},
            ),
        ]
    for span in spans[3:] if failing else ():
        kind = {"exception.type": "ValueError"}
        span["events"] = [{"name": "exception", "timestamp": span["end_time"], "attributes": kind}]
    return spans


NOTHING: Final = "no call, no request, no error in these, no span here has, no block here has, no span has"


@pytest.mark.shortened(11)
@pytest.mark.parametrize("failing", [True, False])
@pytest.mark.parametrize(
    "keys", ["A", "A G enter", "H", "H G enter", "L", "t", "t b enter", "F", "exclamation_mark", "d j d"]
)
async def test_failures_from_view_to_view(keys: str, failing: bool) -> None:  # noqa: FBT001 - a parameter
    """In each view the key opens the trace of what failed, at the span that did, or says that nothing has."""
    async with looking_at(*_views(failing=failing)) as look:
        for key in keys.split():
            await look.press(key)
            await look.rest()
        await look.press("e")
        await look.rest()
        said = (*NOTHING.split(", "), "no trace here")
        assert any(text in look.footer for text in said) != failing, look.footer
        assert look.is_on(TraceScreen) == failing
        if failing:
            screen = look.screen
            assert isinstance(screen, TraceScreen)
            node = screen.rows.node
            assert node is not None
            row = screen._model.stitched.tree.rows[node]
            assert look.data.store.span(row).events
            assert screen._pane.section == EVENTS
            # Back there, the key goes on to the next one: there is none other of this kind, so it is the same.
            await look.press("escape", "e")
            assert look.is_on(TraceScreen)


async def test_one_failure_of_a_row_after_the_other() -> None:
    """The newest first, what a retry made good last; then those of the next row, and of the first again."""
    build = Builder()
    f: dict[str, Any] = {"kind": "CONSUMER", "parent": 10, "trace": 1}
    name = "f ray.remote_worker"
    spans = [
        build.span("f ray.remote", trace=1, span=10, kind="PRODUCER", start=0, duration=1),
        build.span(name, start=900, duration=9, status="ERROR", **f),
        build.span(name, start=990, duration=9, **f),
        build.span(name, trace=2, start=100, duration=5, status="ERROR"),
        build.span(name, trace=3, start=300, duration=5, status="ERROR"),
        build.span("g", trace=4, start=300, duration=1, status="ERROR"),
    ]
    async with looking_at(*spans) as look:
        screen = look.screen
        assert isinstance(screen, TracesScreen)
        screen.marks.find()
        await look.until(lambda: screen.marks.are_known)
        await look.press("t")
        await look.rest()
        opened = []
        for _ in range(5):
            await look.press("e")
            assert isinstance(look.screen, TraceScreen)
            opened.append(look.data.store.trace_table.trace_id(look.screen.trace))
            await look.press("escape")
        assert opened == [3, 2, 1, 4, 3]


@pytest.mark.parametrize(
    ("view", "key", "text"),
    [
        ("L", "slash", "/ does nothing here; it works in Traces, Trace, Log, Compare"),
        ("t", "m", "m does nothing here; it works in Trace"),
        ("A", "d", "d does nothing here; it works in Traces, Trace"),
        ("L", "Q", ""),
        ("L", "j", ""),
    ],
)
async def test_a_key_of_other_screens_says_where_it_works(view: str, key: str, text: str) -> None:
    """One that no screen has says nothing, and one that does something here says that."""
    async with looking_at(Builder().span("f ray.remote", kind="PRODUCER"), size=(120, 30)) as look:
        await look.press(view)
        await look.until(lambda: not isinstance(look.screen, TracesScreen))
        await look.press(key)
        await look.pilot.pause()
        assert look.app.said == text


async def test_what_a_key_did_is_said_until_the_next_one() -> None:
    """But what was said because of what was read stays for its time."""
    async with looking_at(Builder().span("alpha"), size=(120, 30)) as look:
        await look.press("slash", "a", "escape")
        assert look.app.said == "filter cleared"
        await look.press("slash", "b")
        assert look.app.said == ""
        look.app.say("alpha was lost")
        await look.press("escape")
        assert look.app.said == "filter cleared"
        look.app.say("alpha was lost")
        await look.press("down")
        assert look.app.said == "alpha was lost"
