"""The viewer's application: it puts screens together, and passes on keys, and what the reading thread says."""

from __future__ import annotations

import asyncio
import gc
import glob
import os
import signal
import time
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from textual.app import App
from textual.binding import Binding
from textual.events import InputEvent, Key, Paste, ScreenSuspend
from textual.filter import Monochrome, NoColor
from textual.widgets import Input

from spanview.display.notices import NOTICED, notice_text
from spanview.display.sanitise import sanitise, typed
from spanview.model.problems import SpanviewError, TraceNotFoundError
from spanview.reports.traces_model import MANY_TRACES
from spanview.sources.discover import STANDARD_INPUT
from spanview.tui.app.findings import FindingsCount
from spanview.tui.app.keeping import NOT_KEPT, Keeping
from spanview.tui.app.news import FeedNews, PassingOn
from spanview.tui.app.quicker import Sheet, quicken
from spanview.tui.app.terminal import careful, drawn_on
from spanview.tui.app.themes import DEFAULTS, NAMES, terminal_theme, themes
from spanview.tui.app.views import Views
from spanview.tui.app.warm import import_screens
from spanview.tui.keys import elsewhere_text
from spanview.tui.shims import ALONE, CLOSED, PLAIN
from spanview.tui.traces.traces_screen import TracesScreen
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.paint import COLORLESS, HARMLESS, Encodable
from spanview.tui.widgets.work import Threads, Work

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from rich.terminal_theme import TerminalTheme
    from textual.binding import BindingType
    from textual.css.stylesheet import Stylesheet
    from textual.driver import Driver
    from textual.events import Event
    from textual.filter import LineFilter
    from textual.screen import Screen
    from textual.timer import Timer

    from spanview.analysis.ray.running import Running
    from spanview.index.store import Store
    from spanview.reports.traces_model import TracesModel
    from spanview.sources.logs import Logs
    from spanview.tui.app.feed import Feed
    from spanview.tui.app.opening import Opening
    from spanview.tui.app.settings import Settings
    from spanview.tui.diff.side import MarkedSide
    from spanview.tui.viewer import Viewer
    from spanview.tui.widgets.known import Known

_ACTS_S: Final = 0.25
"""So long after a key all else waits, for what it brings onto the screen."""
_REST_S: Final = 2.0
"""So long after the last key garbage may be collected that is old."""
_LOOK_FOR_REST_S: Final = 5.0
_OLD: Final = 10
"""So many collections of what is younger go before one of all, which stops all for 100 ms where much is shown."""
_OLD_AMID_KEYS: Final = 1000
_NOTICE_DURATION_S: Final = 4.0
"""So long it is said what a key did."""
_MAX_NOTICE_LENGTH: Final = 300
_MAX_PATH_LENGTH: Final = 40
_READING_END_TIMEOUT_S: Final = 1.0
"""So long the end of the reading is waited for."""
_ENDING: Final = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_SIGNALLED: Final = 128
"""The exit status of what a signal has ended is this and its number."""
_WRITES_NOTHING: Final = "in a browser, no files are written: use `spanview export`, or the viewer in a terminal"
_MAX_PASTED_LENGTH: Final = 4096
_FOR_TEXTUAL: Final = frozenset(("ctrl+c", "ctrl+q"))
"""Keys that act whatever has the focus."""
_GREY: Final = (Monochrome, NoColor)
"""What Textual does at NO_COLOR, an empty one too, which means nothing: it sends grey, or default colours."""


def _line_of(pasted: str) -> str:
    """Return the first line of a pasted text, harmless and no longer than anybody types."""
    return typed(pasted.strip("\r\n").replace("\r", "\n").split("\n")[0][:_MAX_PASTED_LENGTH])


class SpanviewApp(App[None]):
    """The viewer."""

    CSS_PATH = "spanview.tcss"
    TITLE = "spanview"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", "quit", show=False, priority=True)]

    def __init__(self, store: Store, opening: Opening, feed: Feed) -> None:
        super().__init__()
        quicken()
        self.stylesheet = Sheet(variables=self.get_css_variables())
        if PLAIN.is_active:
            self._disable_tooltips = self._disable_notifications = True
        self._store = store
        store.ask_lives = lambda asked: self.running if asked is store else self._running_in(asked)
        self._opening = opening
        self._feed = feed
        self.feed_state = feed.state
        self._is_read = False
        self.is_left = False
        """Whether it ends."""
        self._changed: set[int] = set()
        """Traces that have grown, and that no screen has heard of."""
        self._news = PassingOn(self, lambda: self.paused, self._pass_on)
        self._is_opened = opening.trace is None
        """Whether the trace that was asked for is open."""
        self._sought_in = 0
        """So many traces are not the one that was asked for."""
        self._problems_seen = 0
        self.notices = 0
        """How many files were refused, could not be read, or are not watched."""
        self.paused = False
        self.marked: MarkedSide | None = None
        """What is to be compared with the next that is chosen."""
        self.again: Opening | None = None
        """What to begin with again, where that is asked for."""
        self.failure: SpanviewError | None = None
        """Why the viewer ended by itself."""
        self.said = ""
        """What the last key did."""
        self._said_timer: Timer | None = None
        self._key_acts = self._was_said_by_key = False
        """Whether a key is acting, and whether what is said was said then, and not because of what was read."""
        self._spoke: Screen[Any] | None = None
        """The screen on which that key was pressed."""
        self._pressed_at = 0.0
        """When the last key came, by `time.monotonic`."""
        self._importing = Work(self)
        self._keeping = Keeping(self, self._say_too, opening.settings)
        self.views = Views(self, self, lambda: self.first_screen, store, opening.session)
        self._findings = FindingsCount(self, self, store)
        self._sheets: dict[str, Stylesheet] = {}
        """By theme."""
        self.no_color = opening.colorless
        encoding = getattr(drawn_on(), "encoding", None) or "utf-8"
        self._guards = [HARMLESS] if encoding.lower().startswith("utf") else [HARMLESS, Encodable(encoding)]
        for theme in themes():
            self.register_theme(theme)
        self._take_theme()

    @property
    def paths(self) -> Sequence[str]:
        """The PATHs, as given."""
        return self._opening.places

    @property
    def first_screen(self) -> TracesScreen:
        """The list of traces."""
        return next(screen for screen in self.screens() if isinstance(screen, TracesScreen))

    @property
    def _list(self) -> TracesModel:
        return self.first_screen.traces.model

    def on_mount(self) -> None:
        """Show the traces and begin to read."""
        # A look at millions of spans may take seconds until it can be ended.
        asyncio.get_running_loop().set_default_executor(Threads())
        # Whoever ends the program finds the terminal as it was.
        for number in _ENDING:
            with suppress(NotImplementedError, ValueError, RuntimeError):
                asyncio.get_running_loop().add_signal_handler(number, self.exit, None, _SIGNALLED + number)
        # After `fg` the terminal shows what the shell has left there.
        self.app_resume_signal.subscribe(self, lambda _: self.refresh())
        # When this has returned: what is painted before goes nowhere.
        self.call_later(self._begin)

    async def _begin(self) -> None:
        """Show the traces that were read by now, and listen to what is read."""
        self.feed_state = self._feed.state
        await self.push_screen(TracesScreen(self._store, self._opening.query, list(self._opening.nothing)))
        if self._keeping.kept.notice:
            self.say(f"settings not used: {self._keeping.kept.notice}")
        self._feed.listen(lambda state: self.post_message(FeedNews(state)))

    def on_unmount(self) -> None:
        """End the reading."""
        self._feed.stop()

    def leave(self) -> None:
        """Wait a moment for the reading to end, when the screen is the terminal's again."""
        self._keeping.kept.write()
        self._feed.wait(_READING_END_TIMEOUT_S)

    @property
    def is_busy(self) -> bool:
        """Whether any of its threads still reads, or finds something out."""
        return self._feed.is_running or Threads.are_busy()

    # -- keys --------------------------------------------------------------------------------------------------------

    async def on_event(self, event: Event) -> None:
        """Let each key act before the next one is looked at, however quickly they come.

        Textual puts a key into the queue of what has the focus when it comes; by its turn the focus may be elsewhere.
        """
        if isinstance(event, InputEvent | Paste) and (self.is_left or not self.screen_stack):
            return
        if isinstance(event, Paste):
            self._type(_line_of(event.text))
        elif isinstance(event, Key) and not event.is_forwarded and event.key not in _FOR_TEXTUAL:
            self.app_focus = True
            self._pressed_at = time.monotonic()
            said = self._said_timer if self._was_said_by_key else None
            self._key_acts = True
            await super(App, self).on_event(event)
            self._key_acts = False
            if said is not None and said is self._said_timer:
                # What an earlier key did is over.
                said.stop()
                self._fall_silent()
        else:
            await super().on_event(event)

    def on_key(self, event: Key) -> None:
        """Take what is typed where something is typed; all other keys are bound to actions."""
        if not isinstance(self.focused, Input):
            screen = self.screen
            text = elsewhere_text(event.key, screen.ON) if isinstance(screen, BaseScreen) else ""
            if text and event.key not in screen.active_bindings:
                self.say(text)
        elif event.is_printable and event.character:
            event.prevent_default()
            self._type(event.character)
        elif event.key == "ctrl+v":
            event.prevent_default()
            self._type(_line_of(self.clipboard))

    def _type(self, text: str) -> None:
        field = self.focused
        if isinstance(field, Input):
            field.replace(text, *field.selection)

    def exit(self, result: None = None, return_code: int = 0, message: Any = None) -> None:
        """End; keys that were pressed behind the one that ends it find nothing to act on any more."""
        self.is_left = True
        super().exit(result, return_code, message)

    def get_driver_class(self) -> type[Driver]:
        """Return what reads the terminal."""
        return careful(super().get_driver_class())

    # -- what is read ------------------------------------------------------------------------------------------------

    async def on_feed_news(self, message: FeedNews) -> None:
        """Pass on what is new, unless what is shown is to hold still."""
        if self.is_left:
            return
        self.feed_state = message.state
        self._changed |= self._store.take_changed()
        self._take_notice()
        ends_now = not (self._is_read or message.state.loading)
        self._is_read = self._is_read or ends_now
        if self.paused:
            self.refresh_frame()
        elif ends_now or len(self._store.trace_table) < MANY_TRACES:
            self._news.at_once()
        else:
            self._news.in_turn()
        if ends_now:
            await self._everything_was_read()
        elif self._is_read and not self._is_opened:
            await self._open_wanted()

    def _take_notice(self) -> None:
        """Say what was refused or can't be read, when it turns up."""
        problems = self._store.tallies.unsorted_problems(self._problems_seen)
        self._problems_seen += len(problems)
        noticed = [problem for problem in problems if problem.kind in NOTICED]
        if noticed:
            self.notices += len(noticed)
            self.say(notice_text(noticed[-1], _MAX_PATH_LENGTH))

    def _pass_on(self) -> None:
        changed, self._changed = self._changed, set()
        for screen in self.screens():
            screen.feed_has_news(changed)
        self._findings.look()
        self.call_after_refresh(self._feed.go_on)

    def screens(self) -> list[BaseScreen]:
        """Return the screens that are there, the one in sight last."""
        there = (screen for screen in self.screen_stack if isinstance(screen, BaseScreen))
        return [screen for screen in there if screen.is_mounted and not screen.is_left]

    def refresh(self, *, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:  # noqa: ARG002
        """Paint the screen in sight anew, as after another program had the terminal; sizes are told in another way."""
        return super().refresh(repaint=repaint, recompose=recompose)

    async def _replace_screen(self, screen: Screen[Any]) -> Screen[Any]:
        """Close a screen that another has taken the place of, which is painted already or will be: not once more."""
        if not CLOSED.is_active:
            return await super()._replace_screen(screen)
        screen.post_message(ScreenSuspend())
        self.capture_mouse(None)
        await screen.remove()
        return screen

    @property
    def _background_screens(self) -> list[Screen[Any]]:
        """Let no screen shine through: Textual has the one below laid out, and the one in sight painted for it."""
        return [] if ALONE.is_active else super()._background_screens

    @property
    def acts_until(self) -> float:
        """When the last key has acted, by `time.monotonic`; until then it has the processor to itself."""
        return self._pressed_at + _ACTS_S

    def refresh_frame(self) -> None:
        """Bring headers and footers up to date."""
        for screen in self.screens():
            screen.refresh_frame()

    async def _everything_was_read(self) -> None:
        if self._opening.choose is not None:
            try:
                self.first_screen.limit_to(self._opening.choose)
            except TraceNotFoundError as error:
                self._give_up(error)
                return
        await self._open_wanted()
        if not (self._is_opened or self.is_left):
            self.say(f"no trace id begins with {self._opening.trace} yet: it will be opened when it arrives")
        self._importing.begin(lambda _: import_screens(), lambda _: self._collect_garbage())

    def _collect_garbage(self) -> None:
        """Let garbage be collected from now on, what is old at rest, and no collection look at what is there by now."""
        # Without a terminal it isn't alone in its process.
        if not self.is_headless:
            gc.freeze()
            gc.set_threshold(*gc.get_threshold()[:2], _OLD_AMID_KEYS)
            gc.enable()
            self.set_interval(_LOOK_FOR_REST_S, self._collect_at_rest)

    def _collect_at_rest(self) -> None:
        if gc.get_count()[2] >= _OLD and time.monotonic() - self._pressed_at >= _REST_S:
            gc.collect()

    async def _open_wanted(self) -> None:
        """Open the trace that was asked for, at first; where spans come still, it may come, too."""
        if self._is_opened or self.screen is not self.first_screen:
            return
        from spanview.analysis.query.select import find_trace, traces_beginning

        wanted, first = self._opening.trace or "", self._sought_in
        self._sought_in = len(self._store.trace_table)
        try:
            if self._opening.follow and not traces_beginning(self._store, wanted, first):
                return
            trace = find_trace(self._store, wanted)
        except TraceNotFoundError as error:
            self._give_up(error)
            return
        self._is_opened = True
        await self.views.open_trace(trace, at_row=self._first_match(trace))

    def _give_up(self, error: TraceNotFoundError) -> None:
        self.failure = error
        self.exit(return_code=2)

    def _first_match(self, trace: int) -> int | None:
        """Return the earliest span of a trace that the query asks for, where no record has to be read for that."""
        from spanview.analysis.query.keys import Cost
        from spanview.analysis.query.query import parse_query

        query, store = parse_query(self._opening.query), self._store
        if not query.span_terms or any(term.cost is not Cost.COLUMN for term in query.span_terms):
            return None
        fits = (row for row in store.rows_of_trace(trace) if query.matches(store, row))
        return min(fits, key=store.spans.start_ns.__getitem__, default=None)

    @property
    def findings(self) -> int | None:
        """How many things the check finds; None where that isn't known."""
        return self._findings.count

    @property
    def follows(self) -> bool:
        """Whether what comes is shown as it comes."""
        return self._opening.follow or self.feed_state.following

    def toggle_pause(self) -> None:
        """Hold what is shown still, or go on; where nothing is followed, begin to."""
        if self.feed_state.loading and not self.paused:
            self.say("still reading")
            return
        if not self.follows:
            self.follow_from_now()
            return
        self.paused = not self.paused
        if not self.paused:
            self._news.at_once()
        self.say("paused" if self.paused else "following again")

    def something_is_lost(self) -> None:
        """Count findings anew, and what runs: what is lost in traces is no longer what it was."""
        self._findings.look_anew()
        for screen in self.screens():
            screen.something_is_lost()

    def growth_has_changed(self) -> None:
        """Let the screens say which traces grow now."""
        for screen in self.screens():
            screen.growth_has_changed()

    def is_growing(self, trace: int) -> bool:
        """Tell whether a trace has just grown, or may still grow, as the list of traces says it."""
        return trace in self._list.growing

    def root_name(self, trace: int) -> str:
        """Return the name of a trace's root, of a Ray function its short name, safe to print."""
        return sanitise(self._list.name_of(trace), 80) or "(no name)"

    def follow_from_now(self) -> None:
        """End, for whoever began this to begin again at what is looked at now, and to go on from there."""
        if STANDARD_INPUT in self._opening.places:
            self.say("standard input has ended, so it can't be followed")
        elif gone := [path for path in self._opening.places if not (glob.has_magic(path) or os.path.exists(path))]:
            self.say(f"{sanitise(gone[0], 80)} is gone; the spans read from it are kept")
        else:
            first, screen = self.first_screen, self.screen
            trace = screen.chosen_trace if isinstance(screen, BaseScreen) and screen is not first else None
            shown = None if trace is None else self._store.trace_table.hex_id(trace)
            self.again = self._opening._replace(follow=True, query=first.filter.text, trace=shown)
            self.exit()

    @cached_property
    def known(self) -> Known:
        """What can be proposed to whoever types a query."""
        from spanview.tui.widgets.known import Known

        return Known(self._store)

    @cached_property
    def running(self) -> Running:
        """What is probably still running."""
        return self._running_in(self._store)

    def _running_in(self, store: Store) -> Running:
        from spanview.analysis.ray.running import Running
        from spanview.sources.processes import Processes

        return Running(store, Processes(self._opening.session), is_loading=lambda: self.feed_state.loading)

    @cached_property
    def logs(self) -> Logs:
        """What finds the logs beside the spans."""
        from spanview.sources.logs import Logs

        return Logs(self._opening.session, within=self._opening.places if self._opening.is_served else None)

    # -- what is said, and compared ----------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Show for a while, above the footer, what a key did."""
        if self._said_timer is not None:
            self._said_timer.stop()
        self.said = sanitise(text, _MAX_NOTICE_LENGTH)
        self._spoke = self.screen
        self._was_said_by_key = self._key_acts
        self._said_timer = self.set_timer(_NOTICE_DURATION_S, self._fall_silent)
        self.refresh_frame()

    def _say_too(self, text: str) -> None:
        """Say something beside what a key did."""
        self.say(f"{self.said} · {text}" if self.said else text)

    def said_on(self, screen: object) -> str:
        """Return what the last key did, for the screen on which it was pressed; others have nothing to do with it."""
        return self.said if screen is self._spoke else ""

    def _fall_silent(self) -> None:
        self.said, self._was_said_by_key = "", False
        self.refresh_frame()

    def copy(self, text: str, what: str) -> None:
        """Put a text on the terminal's clipboard (OSC 52), and say what it is; what isn't Unicode becomes `?`."""
        self.copy_to_clipboard(text.encode("utf-8", "replace").decode())
        self.say(f"copied the {what}")

    def may_write(self) -> bool:
        """Tell whether files may be written; where they may not, say so."""
        if self._opening.is_served:
            self.say(_WRITES_NOTHING)
        return not self._opening.is_served

    def export(self, name: str) -> None:
        """Write the traces that the bar names to a new file of the current folder, in a format."""
        if not self.may_write():
            return
        from spanview.tui.app.exporting import export_traces

        traces, session = self.views.traces(), self._opening.session
        self.say("exporting …")
        # A work of its own: a second export doesn't end the first.
        Work(self).begin(lambda _: export_traces(self._store, traces, name, session, self.paths), self.say)

    def mark(self, side: MarkedSide | None) -> None:
        """Mark something else to be compared, or nothing."""
        self.marked = side
        for screen in self.screens():
            screen.mark_has_changed()

    # -- the views and the other screens -----------------------------------------------------------------------------

    @property
    def made_good(self) -> Collection[int]:
        """The rows of the errors that a retry made good, as far as that is known."""
        return self._list.made_good

    # -- settings and themes -----------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """What is set."""
        return self._keeping.kept.now

    def keep(self, **changes: Any) -> None:
        """Set something, by the names of `Settings`, for the next time too."""
        self._keeping.change(changes)

    def forget_settings(self) -> None:
        """Bring the defaults back, on each screen that is there."""
        is_gone = self._keeping.kept.forget()
        self._take_theme()
        for screen in self.screens():
            screen.take_settings()
        self.say("defaults restored" if is_gone else NOT_KEPT)

    def _take_theme(self) -> None:
        name = self.settings.theme
        self.theme = name if name in NAMES else self._opening.theme

    def refresh_css(self, animate: bool = True) -> None:  # noqa: FBT001, FBT002 - as Textual has it
        """Give the screen in sight the styles of the theme; the others get them when they come into sight.

        Textual 8 does it for all of them before anything is painted, which takes as long again for each. Before
        anything is shown, nothing has to be parsed twice for it.
        """
        if self.screen_stack:
            self._take_sheet()
            self.stylesheet.update(self, animate=animate)
            self.screen.refresh()
        else:
            self.stylesheet.set_variables(self.get_css_variables())
            self._sheets[self.theme] = self.stylesheet

    def _take_sheet(self) -> None:
        """Take the style sheet of the theme, in which nothing is parsed a second time that was when it was shown."""
        variables, sources = self.get_css_variables(), self.stylesheet.source
        self.stylesheet = self._sheets.setdefault(self.theme, Sheet(variables=variables))
        for place, (css, is_default, tie_breaker, scope) in sources.items():
            self.stylesheet.add_source(css, place, is_default, tie_breaker, scope)

    def show_theme(self, name: str) -> None:
        """Show a theme, and keep it."""
        self.keep(theme=name)
        self._take_theme()
        self.say(f"theme: {name}" + (", for terminals with colours" if self.no_color else ""))

    def next_theme(self) -> None:
        """Show the next theme."""
        self.show_theme(NAMES[(NAMES.index(self.theme) + 1) % len(NAMES)])

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the variables of the style sheet that Textual doesn't know."""
        return DEFAULTS

    @property
    def ansi_theme(self) -> TerminalTheme:
        """What the theme makes of the terminal's colours."""
        return terminal_theme(self.theme) or super().ansi_theme

    @property
    def spells(self) -> bool:
        """Whether signs are spelt out, since the terminal's encoding lacks them."""
        return len(self._guards) > 1

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Let nothing through that a terminal would act on, wherever it comes from, or that it can't show."""
        if self.no_color:
            return [COLORLESS, *self._guards]
        return [
            *(line_filter for line_filter in super().get_line_filters() if not isinstance(line_filter, _GREY)),
            *self._guards,
        ]


if TYPE_CHECKING:

    def _viewer_of(app: SpanviewApp) -> Viewer:
        """Hold the application to what screens ask of it."""
        return app
