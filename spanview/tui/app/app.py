"""The viewer's application: it puts screens together and passes on what the reading thread says."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.binding import Binding
from textual.events import InputEvent, Key, Paste
from textual.message import Message
from textual.widgets import Input

from spanview.display.notices import NOTICED, notice_text
from spanview.display.sanitise import sanitise, typed
from spanview.tui.app.opening_app import Opening, OpeningApp
from spanview.tui.app.terminal import careful
from spanview.tui.app.warm import EVERY_S, Tidy, import_screens
from spanview.tui.traces.traces_model import MANY
from spanview.tui.traces.traces_screen import TracesScreen
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType
    from textual.driver import Driver
    from textual.events import Event
    from textual.screen import Screen

    from spanview.index.store import Store
    from spanview.model.problems import SpanviewError
    from spanview.tui.app.feed import Feed, FeedState

_SAID_S = 4.0
_LONGEST_SAID = 300
_EVERY_S = 0.2
"""News of many traces are passed on so often, at the most."""
_LONGEST_S = 1.0
"""So long they wait for keys, at the most."""
_LONGEST_PATH = 40
_ENDS_S = 1.0
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_SIGNALLED = 128
"""The exit status of what a signal has ended is this and its number."""
_MOST_PASTED = 4096
_FOR_TEXTUAL = frozenset(("ctrl+c", "ctrl+q"))
"""Keys that act whatever has the focus."""


def _line_of(pasted: str) -> str:
    """Return the first line of a pasted text, harmless and no longer than anybody types."""
    return typed(pasted.strip("\r\n").replace("\r", "\n").split("\n")[0][:_MOST_PASTED])


class FeedNews(Message):
    """The reading thread has come further."""

    def __init__(self, state: FeedState) -> None:
        super().__init__()
        self.state = state

    def can_replace(self, message: Message) -> bool:
        """Only the newest state counts."""
        return isinstance(message, FeedNews)


class SpanviewApp(OpeningApp):
    """The viewer.

    Args:
        store: What is shown.
        opening: What to begin with.
        feed: Fills the store; it may have begun.
    """

    CSS_PATH = "spanview.tcss"
    TITLE = "spanview"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", "quit", show=False, priority=True)]

    def __init__(self, store: Store, opening: Opening, feed: Feed) -> None:
        super().__init__(store, opening)
        self._feed = feed
        self._changed: set[int] = set()
        self._said_timer: Any = None
        self._spoke: Screen[Any] | None = None
        self._pass_on_timer: Any = None
        self._passed_on_at = 0.0
        self.tidy = Tidy()
        self._importing = Work(self)
        self._is_opened = opening.trace is None
        self._sought_in = 0
        """So many traces are not the one that was asked for."""
        self._is_read = self._is_ending = False
        self._problems_seen = 0
        self.notices = 0
        """How many files were refused, could not be read, or are not watched."""
        self.feed_state = feed.state
        self.paused = False
        self.failure: SpanviewError | None = None
        """Why the viewer ended by itself."""

    @property
    def paths(self) -> Sequence[str]:
        """The PATHs, as given."""
        return self._opening.places

    @property
    def places(self) -> str:
        """The PATHs in one line."""
        return "  ".join(self.paths)

    def on_mount(self) -> None:
        """Show the traces and begin to read."""
        # Whoever ends the program finds the terminal as it was.
        for number in _ENDING:
            with suppress(NotImplementedError, ValueError, RuntimeError):
                asyncio.get_running_loop().add_signal_handler(number, self._end_by, number)
        # Without a terminal it isn't alone in its process.
        if not self.is_headless:
            self.set_interval(EVERY_S, self.tidy.collect)
        # When this has returned: what is painted before goes nowhere.
        self.call_later(self._begin)

    async def _begin(self) -> None:
        """Show the traces that were read by now, and listen to what is read."""
        self.feed_state = self._feed.state
        await self.push_screen(TracesScreen(self._store, self._opening.query, list(self._opening.nothing)))
        if self._kept.notice:
            self.say(f"settings not taken: {self._kept.notice}")
        self._feed.listen(self._hear)

    def _end_by(self, number: int) -> None:
        self.exit(return_code=_SIGNALLED + number)

    def on_unmount(self) -> None:
        """End the reading."""
        self._feed.stop()

    def leave(self) -> None:
        """Wait a moment for the reading to end, when the screen is the terminal's again."""
        self._kept.write()
        self._feed.wait(_ENDS_S)

    # -- keys --------------------------------------------------------------------------------------------------------

    async def on_event(self, event: Event) -> None:
        """Let each key act before the next one is looked at, however quickly they come.

        Textual puts a key into the queue of what has the focus when it comes; by its turn the focus may be elsewhere.
        """
        if isinstance(event, InputEvent | Paste) and (self._is_ending or not self.screen_stack):
            return
        if isinstance(event, Paste):
            self._type(_line_of(event.text))
        elif isinstance(event, Key) and not event.is_forwarded and event.key not in _FOR_TEXTUAL:
            self.app_focus = True
            self.tidy.key_was_pressed()
            await super(App, self).on_event(event)
        else:
            await super().on_event(event)

    def on_key(self, event: Key) -> None:
        """Take what is typed where something is typed; all other keys are bound to actions."""
        if not isinstance(self.focused, Input):
            return
        if event.is_printable and event.character:
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
        self._is_ending = True
        super().exit(result, return_code, message)

    def get_driver_class(self) -> type[Driver]:
        """Return what reads the terminal."""
        return careful(super().get_driver_class())

    # -- what is read ------------------------------------------------------------------------------------------------

    def _hear(self, state: FeedState) -> None:
        """Called from the reading thread."""
        self.post_message(FeedNews(state))

    async def on_feed_news(self, message: FeedNews) -> None:
        """Pass on what is new, unless what is shown is to hold still."""
        if self._is_ending:
            return
        self.feed_state = message.state
        self._changed |= self._store.take_changed()
        self._take_notice()
        ends_now = not (self._is_read or message.state.loading)
        self._is_read = self._is_read or ends_now
        if self.paused:
            self.refresh_frame()
        elif ends_now or len(self._store.trace_table) < MANY:
            self._pass_on()
        else:
            self._pass_on_in_turn()
        if ends_now:
            await self._everything_was_read()
        elif self._is_read and not self._is_opened:
            await self._open_wanted()

    def _pass_on_in_turn(self) -> None:
        """Pass on, but not so often that a long list, which is put in order each time, keeps keys waiting.

        Not while a key acts, either, unless they come so quickly that nothing would be passed on.
        """
        if self._pass_on_timer is None:
            last = self._passed_on_at
            left = max(last + _EVERY_S, min(self.tidy.acts_until, last + _LONGEST_S)) - time.monotonic()
            if left <= 0:
                self._pass_on()
            else:
                self._pass_on_timer = self.set_timer(left, self._pass_on_now)

    def _pass_on_now(self) -> None:
        self._pass_on_timer = None
        if not self.paused:
            self._pass_on_in_turn()

    def _take_notice(self) -> None:
        """Say what was refused or can't be read, when it turns up."""
        problems = self._store.tallies.told(self._problems_seen)
        self._problems_seen += len(problems)
        noticed = [problem for problem in problems if problem.kind in NOTICED]
        if noticed:
            self.notices += len(noticed)
            self.say(notice_text(noticed[-1], _LONGEST_PATH))

    def _pass_on(self) -> None:
        changed, self._changed = self._changed, set()
        for screen in self.screens():
            screen.feed_has_news(changed)
        self._passed_on_at = time.monotonic()
        self.call_after_refresh(self._feed.go_on)

    def screens(self) -> list[BaseScreen]:
        """Return the screens that are there, the one in sight last."""
        there = (screen for screen in self.screen_stack if isinstance(screen, BaseScreen))
        return [screen for screen in there if screen.is_mounted and not screen.is_left]

    @property
    def acts_until(self) -> float:
        """When the last key has acted, by `time.monotonic`."""
        return self.tidy.acts_until

    @property
    def is_left(self) -> bool:
        """Whether it ends."""
        return self._is_ending

    def refresh_frame(self) -> None:
        """Bring headers and footers up to date."""
        for screen in self.screens():
            screen.refresh_frame()

    async def _everything_was_read(self) -> None:
        if self._opening.choose is not None:
            self.first_screen.limit_to(self._opening.choose)
        await self._open_wanted()
        if not (self._is_opened or self._is_ending):
            self.say(f"no trace's id begins with {self._opening.trace} yet: it is opened when it comes")
        has_many = len(self._store.trace_table) >= MANY
        self._importing.begin(lambda _: import_screens(has_many=has_many), self._begin_to_tidy)

    async def _open_wanted(self) -> None:
        """Open the trace that was asked for, at first; where spans come still, it may come, too."""
        if self._is_opened or self.screen is not self.first_screen:
            return
        from spanview.analysis.select import find_trace, traces_beginning
        from spanview.model.problems import TraceNotFoundError

        wanted, first = self._opening.trace or "", self._sought_in
        self._sought_in = len(self._store.trace_table)
        try:
            if self._opening.follow and not traces_beginning(self._store, wanted, first):
                return
            trace = find_trace(self._store, wanted)
        except TraceNotFoundError as error:
            self.failure = error
            self.exit(return_code=2)
            return
        self._is_opened = True
        await self.open_trace(trace, at_row=self._first_match(trace))

    def _begin_to_tidy(self, _: None) -> None:
        if not self.is_headless:
            self.tidy.put_off()

    def _first_match(self, trace: int) -> int | None:
        """Return the earliest span of a trace that the query asks for, where no record has to be read for that."""
        from spanview.analysis.query import parse_query
        from spanview.analysis.query_base import Cost

        query, store = parse_query(self._opening.query), self._store
        if not query.span_terms or any(term.cost is not Cost.COLUMN for term in query.span_terms):
            return None
        fits = (row for row in store.rows_of_trace(trace) if query.matches(store, row))
        return min(fits, key=store.spans.start_ns.__getitem__, default=None)

    @property
    def follows(self) -> bool:
        """Whether what comes is shown as it comes."""
        return self._opening.follow or self.feed_state.following

    def toggle_pause(self) -> None:
        """Hold what is shown still, or go on; where nothing is followed, begin to."""
        if self.feed_state.loading and not self.paused:
            self.say("not everything was read yet")
            return
        if not self.follows:
            self.follow_from_now()
            return
        self.paused = not self.paused
        if not self.paused:
            self._pass_on()
        self.say("what is shown holds still" if self.paused else "what is new is shown")

    def say(self, text: str) -> None:
        """Show for a while, in the footer, what a key did."""
        if self._said_timer is not None:
            self._said_timer.stop()
        self.said = sanitise(text, _LONGEST_SAID)
        self._spoke = self.screen
        self._said_timer = self.set_timer(_SAID_S, self._fall_silent)
        self.refresh_frame()

    def said_on(self, screen: object) -> str:
        """Return what the last key did, for the screen on which it was pressed; others have nothing to do with it."""
        return self.said if screen is self._spoke else ""

    def _fall_silent(self) -> None:
        self.said = ""
        self.refresh_frame()

    def copy(self, text: str, what: str) -> None:
        """Put a text on the terminal's clipboard (OSC 52).

        Args:
            text: Any text; it is encoded on its way, and what is no valid Unicode in it becomes a question mark.
            what: What it is, in words.
        """
        self.copy_to_clipboard(text.encode("utf-8", "replace").decode())
        self.say(f"copied the {what}")
