"""Every screen stays true while spans come: when loading ends, while following, and paused; and when it is computed.

trace 1                                         trace 2
run                0 - 900 µs   driver          run                -500 - -100 µs   driver
  f ray.remote     1 -   2                        proxy … Cart     -490 - -450   GET /a 200
    f …_worker    10 -  30      worker              replica        -480 - -455
  g ray.remote    40 -  41                        f ray.remote     -400 - -399   ERROR
    g …_worker    45 -  50 ✖    worker
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast
from unittest.mock import patch

import pytest
from textual import events

from builders import Builder
from pages import REPORTS
from seeds import sample
from spanview.tui.app.feed import FeedState
from spanview.tui.app.news import FeedNews
from spanview.tui.app.palette import PaletteScreen
from spanview.tui.app.warm import import_screens
from spanview.tui.calls.calls_screen import CallsScreen
from spanview.tui.calls.function_calls_screen import FunctionCallsScreen
from spanview.tui.check.check_screen import CheckScreen
from spanview.tui.diff.diff_screen import DiffScreen
from spanview.tui.diff.other_side_screen import OtherSideScreen
from spanview.tui.explanation.explanation_screen import ExplanationScreen
from spanview.tui.flame.flame_screen import FlameScreen
from spanview.tui.help.help_screen import HelpScreen, PageScreen
from spanview.tui.log.log_screen import LogScreen
from spanview.tui.running.running_screen import RunningScreen
from spanview.tui.serve.serve_screen import RequestsScreen, ServeScreen
from spanview.tui.span.span_screen import SpanScreen
from spanview.tui.stats.spans_screen import SpansScreen
from spanview.tui.stats.stats_screen import StatsScreen
from spanview.tui.trace import details_below
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.traces import traces_screen
from spanview.tui.traces.traces_screen import TracesScreen
from spanview.tui.widgets import live
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.live import AnyLive, Live
from spanview.tui.widgets.report_screen import ReportScreen
from spanview.tui.widgets.scope import ChosenTraces, TraceScope
from spanview.tui.workers.workers_screen import WorkersScreen
from viewers import Growing, Look, looking_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from builders import Document
    from spanview.analysis.telling import Tell

FOLLOWING: Final = FeedState(loading=False, following=True)
LOADING: Final = FeedState(bytes_read=10, bytes_total=100)
WORKER: Final = "spans/worker.txt"


@dataclass(frozen=True, slots=True)
class Way:
    """How to come to a screen, and what its cursor is on."""

    screen: type[BaseScreen]
    keys: tuple[str, ...]
    item: Callable[[Any], object]
    """Returns what tells the item under the cursor from all others."""
    again: tuple[str, ...] = ("down",)
    """The keys that lead to the second item of before when all spans are there."""


def _lane_block(screen: WorkersScreen) -> object:
    assert screen.rows.lane is not None
    return screen.rows.lane.process, screen.rows.row


def _path(screen: DiffScreen) -> object:
    model, path = screen.rows.model, screen.rows.selected
    assert model is not None
    assert path is not None
    return model.labels.path(path, 1000)


def _block(screen: FlameScreen) -> object:
    model = screen.blocks.model
    return model.tree.names(screen.blocks.selected)


def _call(screen: FunctionCallsScreen) -> object:
    call = screen.rows.selected
    assert call is not None
    return call.row


def _request(screen: RequestsScreen) -> object:
    assert screen.rows.selected is not None
    return screen.rows.selected.request_id


def _running(screen: RunningScreen) -> object:
    return None if screen.rows.selected is None else screen.rows.selected.row


def _node(screen: TraceScreen) -> object:
    assert screen.rows.node is not None
    return screen._model.stitched.key(screen.rows.node)


def _finding(screen: CheckScreen) -> object:
    chosen = screen.rows.selected
    assert chosen is not None
    return chosen.finding.kind if chosen.finding is not None else chosen.text


WAYS: Final = [
    Way(TracesScreen, (), lambda screen: screen.traces.selected),
    Way(TracesScreen, ("r",), lambda screen: screen.groups.selected.name),
    Way(TraceScreen, ("enter",), _node),
    Way(TraceScreen, ("enter", *["tab"] * 4), _node),
    Way(SpanScreen, ("enter", "enter", *["tab"] * 4), lambda screen: screen.rows.cursor),
    Way(StatsScreen, ("t",), lambda screen: screen.rows.selected.key),
    Way(StatsScreen, ("enter", "t"), lambda screen: screen.rows.selected.key),
    Way(StatsScreen, ("r", "t", "b"), lambda screen: screen.rows.selected.key),
    Way(SpansScreen, ("t", "enter"), lambda screen: screen.rows.selected),
    Way(FlameScreen, ("F",), _block),
    Way(DiffScreen, ("d", "down", "d"), _path),
    Way(DiffScreen, ("d", "D", "slash", *"step", "enter"), _path),
    Way(SpansScreen, ("d", "down", "d", *"ssss", "down", "enter"), lambda screen: screen.rows.selected),
    Way(CallsScreen, ("A",), lambda screen: screen.rows.selected.function),
    Way(FunctionCallsScreen, ("A", "enter"), _call),
    Way(WorkersScreen, ("L",), _lane_block, ("down", "down")),
    Way(ServeScreen, ("H",), lambda screen: screen.rows.selected.key, ("down", "down")),
    Way(RequestsScreen, ("H", "enter"), _request),
    Way(CheckScreen, ("exclamation_mark",), _finding),
    Way(RunningScreen, ("J",), _running),
    Way(ExplanationScreen, ("x",), lambda screen: screen.rows.selected.said.topic),
]
WITHOUT_FIGURES: Final = {HelpScreen, PageScreen, PaletteScreen, OtherSideScreen, LogScreen}
"""Screens that show nothing of the store, a log among them, and the one in which a query is typed."""


def _request_of(trace: int, parent: int, start: int, status: int = 200) -> list[Document]:
    build, common = Builder(), {"trace": trace, "kind": "SERVER"}
    own = {"app": "shop", "deployment": "Cart", "request_id": f"id-{start}"}
    proxy = own | {"request_method": "GET", "http.status_code": status}
    replica = own | {"http.method": "GET", "http.status_code": str(status), "route": "/a"}
    first = 5000 + start
    return [
        build.span(
            "proxy_http_request Cart",
            span=first,
            parent=parent,
            start=start,
            duration=40,
            attributes=proxy,
            **cast("Any", common),
        ),
        build.span(
            "replica_handle_request Cart",
            span=first + 1,
            parent=first,
            start=start + 10,
            duration=25,
            attributes=replica,
            **cast("Any", common),
        ),
    ]


def _call_of(function: str, trace: int, parent: int, start: int, status: str = "UNSET") -> tuple[Document, Document]:
    build, number = Builder(), 7000 + 4 * start
    submitted = build.span(
        f"{function} ray.remote", trace=trace, span=number, parent=parent, start=start, duration=1, kind="PRODUCER"
    )
    ran = build.span(
        f"{function} ray.remote_worker",
        trace=trace,
        span=number + 1,
        parent=number,
        start=start + 5,
        duration=20,
        kind="CONSUMER",
        status=status,
    )
    return submitted, ran


def begun() -> Growing:
    """Return the two traces."""
    build = Builder()
    f, g = _call_of("f", 1, 1, 1), _call_of("g", 1, 1, 40, "ERROR")
    data = Growing(
        build.span("run", trace=1, span=1, start=0, duration=900),
        build.span("run", trace=2, span=2, start=600_000, duration=400),
        f[0],
        g[0],
        *_request_of(1, 1, 200),
        *_request_of(2, 2, 600_010),
        build.span("step", trace=2, span=3, parent=2, start=600_100, duration=200),
        build.span("lost", trace=2, span=34, parent=998, start=600_350),
    )
    data.add(f[1], g[1], path=WORKER)
    return data


def grow(data: Growing) -> None:
    """Let spans come that change all figures and no order: further calls and requests, a trace, errors."""
    build = Builder()
    calls = [_call_of("f", 1, 1, 60 + 30 * number) for number in range(3)]
    other = _call_of("g", 1, 1, 160, "ERROR")
    data.add(
        *(submitted for submitted, _ in [*calls, other]),
        *_request_of(1, 1, 300),
        *_request_of(2, 2, 600_300, 500),
        build.span("step", trace=2, span=30, parent=2, start=600_160, duration=10),
        build.span("lost", trace=1, span=33, parent=999, start=500),
    )
    data.add(*(ran for _, ran in [*calls, other]), path=WORKER)
    data.add(
        build.span("run", trace=3, span=31, start=0, duration=800, status="ERROR"),
        build.span("step", trace=3, span=32, parent=31, start=100, duration=10),
        path="spans/others.json",
    )


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing wait for its time."""
    monkeypatch.setattr(live, "MIN_INTERVAL_S", 0.0)
    monkeypatch.setattr(live, "_REST_PER_WORK", 0.0)
    monkeypatch.setattr(live, "_MAX_KEY_WAIT_S", 0.0)
    monkeypatch.setattr(details_below, "_CURSOR_RESTS_S", 0.001)
    monkeypatch.setattr(traces_screen, "_GROWTH_MARK_S", 0.0)


async def go(look: Look, way: Way) -> BaseScreen:
    """Go to a screen, and let it find out what it shows; what the keys did is over it for no longer."""
    for key in way.keys:
        await look.press(key)
        await _settled(look)
    await look.until(lambda: look.is_on(way.screen))
    look.app.say("")
    await _settled(look)
    screen = look.screen
    assert isinstance(screen, BaseScreen)
    return screen


async def _settled(look: Look) -> None:
    """Wait until nothing is worked on, and what came of it has begun no more work and has changed nothing more."""
    lines: list[str] = []
    while lines != (now := look.lines):
        lines = now
        await look.until(lambda: not [worker for worker in look.app.workers if not worker.is_finished])
        await look.rest()


def shown(look: Look) -> list[str]:
    """Return what a screen shows: its title, and all lines but the footer."""
    screen = look.screen
    assert isinstance(screen, BaseScreen)
    return [screen.title_text(), *(text.rstrip() for text in look.lines[1:-1])]


def all_of_it() -> Growing:
    """Return the two traces and what comes later."""
    data = begun()
    grow(data)
    return data


_FRESH: Final[dict[int, tuple[list[str], list[str]]]] = {}


async def fresh(way: Way, *, is_moved: bool = False) -> list[str]:
    """Return what a screen shows that is opened when all spans are there.

    Args:
        way: The screen.
        is_moved: Whether the cursor is on the second item of before.
    """
    if id(way) not in _FRESH:
        async with looking_at(data=all_of_it(), size=(110, 40)) as look:
            await look.tell(FOLLOWING)
            await look.until(lambda: "looking" not in look.header)
            await go(look, way)
            at_first = shown(look)
            await look.press(*way.again)
            await _settled(look)
            _FRESH[id(way)] = at_first, shown(look)
    return _FRESH[id(way)][is_moved]


def test_every_screen_is_here() -> None:
    """A new screen is tried here, too."""
    import_screens()
    known, kinds = list[type[BaseScreen]](), [BaseScreen]
    while kinds:
        kinds += (kind := kinds.pop()).__subclasses__()
        if kind not in {BaseScreen, ReportScreen} and kind.__module__.startswith("spanview."):
            known.append(kind)
    assert {*known} == {way.screen for way in WAYS} | WITHOUT_FIGURES


def _named(way: Way) -> str:
    return f"{way.screen.__name__}-{''.join(way.keys)[:20]}"


def _each(ways: Sequence[Way]) -> pytest.MarkDecorator:
    """Return a mark for tests of ways: what is opened when all is there is opened once, in the process of its tests."""
    each = [pytest.param(way, id=_named(way), marks=pytest.mark.xdist_group(_named(way))) for way in ways]
    return pytest.mark.parametrize("way", each)


each_way: Final = _each(WAYS)
some_ways: Final = _each(sample(WAYS, 7))


PRINTED: Final = {column.name for report in REPORTS for column in report.table.columns if column.name}
"""What a command prints of rows, by its name in JSON."""
OTHERWISE: Final[dict[type[BaseScreen], set[str]]] = {
    # The same of each span as `spanview spans` prints; of which side it is, the query or PATH says.
    SpansScreen: {"DURATION", "", "START", "SIDE"},
    # A bar is as long as the duration beside it.
    TracesScreen: {""},
}
"""The heads of what a command prints otherwise than as a table."""


TABLES: Final = [way for way in WAYS if issubclass(way.screen, (ReportScreen, TracesScreen, WorkersScreen))]
"""The ways to tables."""


@pytest.mark.parametrize("way", TABLES, ids=lambda way: "-".join(way.keys)[:20])
async def test_what_a_screen_counts_a_command_prints(way: Way) -> None:
    """Every figure in a table on a screen is a column of a report; of names, JSON may have more than one."""
    async with looking_at(data=all_of_it(), size=(250, 40)) as look:
        screen = await go(look, way)
        rows = cast("Any", screen).rows
        table = rows.columns.table if isinstance(screen, WorkersScreen) else rows.table
        shown = [column for column in table.columns if column.is_shown and column.parts is None]
        unknown = {column.head for column in shown if column.name not in PRINTED}
        assert unknown <= OTHERWISE.get(way.screen, set())


@pytest.mark.parametrize(
    ("screen", "begins"),
    [(StatsScreen, 1), (CallsScreen, 1), (ServeScreen, 1), (SpansScreen, 0), (FunctionCallsScreen, 0)],
)
async def test_rows_are_counted_once(screen: type[BaseScreen], begins: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A screen counts once when it opens; what is known of a row is shown behind it, and not counted again."""
    began, begin = list[AnyLive](), Live.begin

    def noted(each: AnyLive, *asks: Any) -> None:
        began.append(each)
        begin(each, *asks)

    monkeypatch.setattr(Live, "begin", noted)
    async with looking_at(data=begun(), size=(110, 40)) as look:
        opened = await go(look, next(way for way in WAYS if way.screen is screen))
        assert began.count(cast("Any", opened).live) == begins


@pytest.mark.shortened
@some_ways
async def test_when_loading_ends(way: Way) -> None:
    """What was opened while files were read is what a screen shows that is opened when all was read."""
    async with looking_at(data=begun(), size=(110, 40)) as look:
        await look.tell(LOADING)
        await go(look, way)
        before = shown(look)
        grow(look.data)
        await look.tell(LOADING)
        await look.tell(FeedState(loading=False))
        expected = await fresh(way)
        assert expected != before
        await look.until(lambda: shown(look) == expected)
        assert "as of" not in look.header


@pytest.mark.shortened(11)
@each_way
async def test_while_following(way: Way) -> None:
    """Figures come to be those of a screen that is opened now, and the cursor stays on its item.

    When its widgets have gone, and it still stands where screens stand, news, answers and sayings find nothing.
    """
    async with looking_at(data=begun(), size=(110, 40)) as look:
        await look.tell(FOLLOWING)
        screen = await go(look, way)
        await look.press("down")
        await _settled(look)
        item, before = way.item(screen), shown(look)
        grow(look.data)
        await look.tell(FeedState(loading=False, following=True))
        expected = await fresh(way, is_moved=True)
        assert expected != before
        await look.until(lambda: shown(look) == expected)
        assert way.item(screen) == item
        assert "as of" not in look.header
        await look.app._prune(screen)
        assert screen in look.app.screen_stack
        assert not screen.query(".header")
        grow(look.data)
        await look.app.on_feed_news(FeedNews(FOLLOWING))
        look.app.say("something")
        screen.refresh_frame()


@pytest.mark.shortened
@some_ways
async def test_paused(way: Way) -> None:
    """Paused, nothing moves whatever comes, and the header says so; then all of it is shown."""
    async with looking_at(data=begun(), size=(110, 40)) as look:
        await look.tell(FOLLOWING)
        await go(look, way)
        await look.press("space")
        look.app.say("")
        await _settled(look)
        before = shown(look)
        grow(look.data)
        await look.tell(FeedState(loading=False, following=True))
        await _settled(look)
        assert shown(look)[1:] == before[1:]
        assert look.header.rstrip().endswith("‖ paused")
        await look.press("space")
        look.app.say("")
        expected = await fresh(way)
        await look.until(lambda: shown(look) == expected)


@pytest.mark.parametrize(
    ("key", "screen"), [("t", SpansScreen), ("A", FunctionCallsScreen), ("H", RequestsScreen), ("L", TraceScreen)]
)
async def test_an_enter_in_one_burst_is_for_the_first_row(
    key: str, screen: type[BaseScreen], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for what the key before it has asked for."""
    compute = Live._compute

    def slowly(self: Live[Any], *arguments: Any) -> object:
        time.sleep(0.4)
        return compute(self, *arguments)

    monkeypatch.setattr(Live, "_compute", slowly)
    async with looking_at(data=all_of_it(), size=(110, 40)) as look:
        await look.send(key, "enter")
        await look.until(lambda: look.is_on(screen))


# -- when it is computed ----------------------------------------------------------------------------------------------


class Stage:
    """A screen without a terminal, at a counted time: what is asked for is computed when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(live, "MIN_INTERVAL_S", 1.0)
        monkeypatch.setattr(live, "_REST_PER_WORK", 1.0)
        monkeypatch.setattr(live, "_MAX_KEY_WAIT_S", 0.5)
        monkeypatch.setattr(live, "Work", lambda _: self)
        self.now = 100.0
        self.viewer = SimpleNamespace(paused=False, feed_state=FOLLOWING, acts_until=float("-inf"))
        self.is_in_front, self.is_left = True, False
        self.timers: list[tuple[float, Callable[[], object]]] = []
        self.work: tuple[Callable[[Tell], Any], Callable[[Any], object]] | None = None
        self.share_text = "0%"
        self.version = 1
        self.shown: list[int] = []
        scope = TraceScope(lambda: ChosenTraces(None, "all"), lambda: self.version)
        self.live: Live[int] = Live(cast("Any", self), scope, self._ask, self.shown.append, clock=lambda: self.now)

    def _ask(self, _traces: object, _tell: object) -> int:
        return self.version

    # What it has of a screen.

    def set_timer(self, seconds: float, do: Callable[[], object]) -> None:
        """Take note of what is to be done later."""
        self.timers.append((self.now + seconds, do))

    def refresh_frame(self) -> None:
        """Nothing is painted."""

    # What it has of the work behind a screen.

    @property
    def is_busy(self) -> bool:
        """Whether something is being computed."""
        return self.work is not None

    def begin(self, ask: Callable[[Tell], Any], take: Callable[[Any], object]) -> None:
        """Take note of what is to be computed."""
        self.work = ask, take

    def end(self) -> bool:
        """Forget it."""
        self.work = None
        return True

    # What a test does.

    def computes(self) -> bool:
        """Tell whether something is being computed."""
        return self.is_busy

    def compute(self, seconds: float = 0.0) -> None:
        """Let what was begun be done so many seconds later."""
        assert self.work is not None
        ask, take = self.work
        answer = ask(lambda _: None)
        self.now += seconds
        self.work = None
        take(answer)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        due = [do for at, do in self.timers if at <= self.now]
        self.timers = [(at, do) for at, do in self.timers if at > self.now]
        for do in due:
            do()

    def grow(self) -> None:
        """Let spans come."""
        self.version += 1
        self.live.catch_up()


@pytest.fixture(name="stage")
def make_stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Return a screen that has computed what it shows just now."""
    stage = Stage(monkeypatch)
    stage.live.begin()
    stage.compute()
    return stage


def test_nothing_is_computed_for_nothing(stage: Stage) -> None:
    """Where nothing has come, nothing is computed, however often it looks and however late."""
    for _ in range(10):
        stage.wait(5.0)
        stage.live.catch_up()
    assert (stage.shown, stage.computes(), stage.timers) == ([1], False, [])


def test_two_seconds_at_the_most(stage: Stage) -> None:
    """What comes is shown a second after the last time, if it takes no time; what comes meanwhile isn't forgotten."""
    stage.grow()
    assert not stage.computes()
    stage.wait(1.0)
    stage.version += 1
    stage.compute()
    assert stage.shown == [1, 3]
    # The version that it began with was the one before.
    stage.wait(1.0)
    stage.compute()
    assert (stage.shown, stage.live.is_behind) == ([1, 3, 3], False)


def test_half_a_core(stage: Stage) -> None:
    """What takes long is left alone for as long, and says of when it is meanwhile."""
    stage.wait(1.0)
    stage.grow()
    stage.compute(seconds=6.0)
    assert stage.live.as_of == ""
    stage.grow()
    assert stage.live.as_of.startswith(" as of ")
    stage.wait(5.9)
    assert not stage.computes()
    stage.wait(0.1)
    assert stage.computes()
    stage.compute(seconds=0.1)
    assert (stage.shown, stage.live.as_of) == ([1, 2, 3], "")


def test_what_was_computed_while_files_were_read_says_so(stage: Stage) -> None:
    """Until all that was read by the end is shown: it may be a part of what was there before."""
    stage.viewer.feed_state = LOADING
    stage.live.begin()
    stage.compute()
    assert stage.live.as_of == ""
    stage.viewer.feed_state = FOLLOWING
    stage.grow()
    assert stage.live.as_of.startswith(" as of ")
    stage.wait(1.0)
    stage.compute()
    assert (stage.shown[-1], stage.live.as_of) == (2, "")


def test_a_key_goes_first(stage: Stage) -> None:
    """While a key acts nothing is begun, but no longer than half a second."""
    stage.wait(1.0)
    stage.viewer.acts_until = stage.now + 0.2
    stage.grow()
    assert not stage.computes()
    stage.wait(0.2)
    assert stage.computes()
    stage.compute()
    stage.viewer.acts_until = stage.now + 60.0
    stage.grow()
    stage.wait(1.4)
    assert not stage.computes()
    stage.wait(0.1)
    assert stage.computes()


@pytest.mark.parametrize("held", ["paused", "loading", "elsewhere"])
def test_what_holds_it(stage: Stage, held: str) -> None:
    """Paused, while files are loaded, and behind another screen nothing is computed; then at once."""
    stage.wait(5.0)
    stage.viewer.paused = held == "paused"
    stage.viewer.feed_state = LOADING if held == "loading" else FOLLOWING
    stage.is_in_front = held != "elsewhere"
    stage.grow()
    stage.wait(5.0)
    assert (stage.computes(), stage.timers) == (False, [])
    assert stage.live.as_of.startswith(" as of ")
    stage.viewer.paused, stage.viewer.feed_state, stage.is_in_front = False, FOLLOWING, True
    stage.live.catch_up()
    stage.compute()
    assert (stage.shown, stage.live.as_of) == ([1, 2], "")


def test_an_answer_that_comes_when_it_is_paused(stage: Stage) -> None:
    """What was begun before is not shown; what somebody asks for is."""
    stage.wait(1.0)
    stage.grow()
    stage.viewer.paused = True
    stage.compute()
    assert (stage.shown, stage.live.is_behind) == ([1], True)
    stage.live.begin()
    stage.compute()
    assert stage.shown == [1, 2]


def test_who_waits_is_not_kept_waiting(stage: Stage) -> None:
    """What somebody asked for isn't begun again because spans come."""
    stage.live.begin(lambda _traces, _tell: 70)
    work = stage.work
    stage.wait(10.0)
    stage.grow()
    assert (stage.work, stage.live.is_asked) == (work, True)
    stage.compute()
    assert (stage.shown, stage.live.is_asked) == ([1, 70], False)


# -- screens that are going --------------------------------------------------------------------------------------------


async def test_a_key_that_comes_when_all_screens_are_gone() -> None:
    """It has nothing to act on any more."""
    async with looking_at(data=begun(), size=(110, 40)) as look:
        with patch.object(type(look.app), "screen_stack", []):
            await look.app.on_event(events.Key("q", "q"))
        assert look.app.is_running
        assert look.is_on(TracesScreen)
