"""The viewer's application: it puts screens together and passes on what the reading thread says."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.binding import Binding
from textual.events import InputEvent, Key, Paste
from textual.message import Message
from textual.widgets import Input

from spanview.display.notices import NOTICED, notice_text
from spanview.display.sanitise import sanitise, typed
from spanview.index.table import NO_ROW
from spanview.tui.base_screen import BaseScreen
from spanview.tui.feed import Feed, FeedState
from spanview.tui.paint import HARMLESS, Encodable
from spanview.tui.terminal import careful
from spanview.tui.traces_screen import TracesScreen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.binding import BindingType
    from textual.driver import Driver
    from textual.events import Event
    from textual.filter import LineFilter
    from textual.widget import AwaitMount

    from spanview.index.store import Store
    from spanview.model.problems import SpanviewError
    from spanview.sources.session import Session

_SAID_S = 4.0
_AT_REST_S = 0.3
_LONGEST_PATH = 40
_ENDS_S = 1.0
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_SIGNALLED = 128
"""The exit status of what a signal has ended is this and its number."""
_MOST_PASTED = 4096
_FOR_TEXTUAL = frozenset(("ctrl+c", "ctrl+q"))
"""Keys that act whatever has the focus."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What the viewer begins with."""

    places: Sequence[str]
    """The PATHs, as given."""
    query: str = ""
    trace: str | None = None
    """The id of a trace to open, or its beginning."""
    follow: bool = False
    nothing: Sequence[str] = ()
    """Lines to show while there is nothing to show."""
    choose: Callable[[Store], set[int] | None] | None = None
    """Which traces are shown at all, asked when everything was read; None for all."""


def _line_of(pasted: str) -> str:
    """Return the first line of a pasted text, harmless and no longer than anybody types."""
    return typed(pasted.strip("\r\n").replace("\r", "\n").split("\n")[0][:_MOST_PASTED])


def _get_ready() -> None:
    """Called in a thread, when the first screen is there: import what opening a trace needs, which takes a while."""
    import spanview.tui.trace_screen  # noqa: F401


class FeedNews(Message):
    """The reading thread has come further."""

    def __init__(self, state: FeedState) -> None:
        super().__init__()
        self.state = state

    def can_replace(self, message: Message) -> bool:
        """Only the newest state counts."""
        return isinstance(message, FeedNews)


class SpanviewApp(App[None]):
    """The viewer.

    Args:
        store: What is shown.
        opening: What to begin with.
        open_session: Makes the session that fills the store; called in the reading thread.
    """

    CSS_PATH = "spanview.tcss"
    TITLE = "spanview"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", "quit", show=False, priority=True)]

    def __init__(self, store: Store, opening: Opening, open_session: Callable[[], Session]) -> None:
        super().__init__()
        self._store = store
        self._opening = opening
        self._feed = Feed(store, open_session, follow=opening.follow, tell=self._hear)
        self._changed: set[int] = set()
        self._said_timer: Any = None
        self._is_opened = opening.trace is None
        self._is_ending = False
        # Textual writes there.
        encoding = getattr(sys.__stderr__, "encoding", None) or "utf-8"
        self._guards = [HARMLESS] if encoding.lower().startswith("utf") else [HARMLESS, Encodable(encoding)]
        self._problems_seen = 0
        self.notices = 0
        """How many files were refused, could not be read, or are not watched."""
        self.feed_state = FeedState(following=opening.follow)
        self.paused = False
        self.failure: SpanviewError | None = None
        """Why the viewer ended by itself."""
        self.said = ""
        """What the last key did, for the footer."""

    @property
    def places(self) -> str:
        """The PATHs in one line."""
        return "  ".join(self._opening.places)

    async def on_mount(self) -> None:
        """Show the traces and begin to read."""
        # Whoever ends the program finds the terminal as it was.
        for number in _ENDING:
            with suppress(NotImplementedError, ValueError, RuntimeError):
                asyncio.get_running_loop().add_signal_handler(number, self._end_by, number)
        await self.push_screen(TracesScreen(self._store, self._opening.query, list(self._opening.nothing)))
        self._feed.start()

    def _end_by(self, number: int) -> None:
        self.exit(return_code=_SIGNALLED + number)

    def on_unmount(self) -> None:
        """End the reading."""
        self._feed.stop()

    def leave(self) -> None:
        """Wait a moment for the reading to end, when the screen is the terminal's again."""
        self._feed.wait(_ENDS_S)

    # -- keys --------------------------------------------------------------------------------------------------------

    async def on_event(self, event: Event) -> None:
        """Let each key act before the next one is looked at, however quickly they come.

        Textual puts a key into the queue of what has the focus when it comes; by its turn the focus may be elsewhere.
        """
        if isinstance(event, InputEvent | Paste) and self._is_ending:
            return
        if isinstance(event, Paste):
            self._type(_line_of(event.text))
        elif isinstance(event, Key) and not event.is_forwarded and event.key not in _FOR_TEXTUAL:
            self.app_focus = True
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
        was_loading, self.feed_state = self.feed_state.loading, message.state
        self._changed |= self._store.take_changed()
        self._take_notice()
        if not self.paused:
            self._pass_on()
        else:
            self._refresh_frames()
        if was_loading and not message.state.loading:
            await self._everything_was_read()

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
        for screen in self._screens():
            screen.feed_has_news(changed)
        self.call_after_refresh(self._feed.go_on)

    def _screens(self) -> list[BaseScreen]:
        return [screen for screen in self.screen_stack if isinstance(screen, BaseScreen) and screen.is_mounted]

    def _refresh_frames(self) -> None:
        for screen in self._screens():
            screen.refresh_frame()

    async def _everything_was_read(self) -> None:
        # What is there by now stays: the garbage collector needn't look at it again, which would hold keys.
        gc.freeze()
        self.set_timer(_AT_REST_S, lambda: self.run_worker(_get_ready, thread=True))
        first = next(screen for screen in self._screens() if isinstance(screen, TracesScreen))
        if self._opening.choose is not None:
            first.limit_to(self._opening.choose)
        if not self._is_opened and self._opening.trace is not None:
            self._is_opened = True
            await self._open_by_id(self._opening.trace)

    async def _open_by_id(self, prefix: str) -> None:
        from spanview.analysis.select import find_trace
        from spanview.model.problems import TraceNotFoundError

        try:
            await self.open_trace(find_trace(self._store, prefix))
        except TraceNotFoundError as error:
            self.failure = error
            self.exit(return_code=2)

    def root_name(self, trace: int) -> str:
        """Return the name of a trace's root, safe to print."""
        row = self._store.trace_table.root_row[trace]
        if row == NO_ROW:
            return "? parent not seen"
        return sanitise(self._store.names.texts[self._store.spans.name[row]], 80) or "(no name)"

    def open_trace(self, trace: int, *, at_error: bool = False, at_row: int | None = None) -> AwaitMount:
        """Show one trace; whoever waits for it lets no key come before its screen is there.

        Args:
            trace: Its row in the trace table.
            at_error: Whether to begin at its first error.
            at_row: The span to begin at, by its row in the span table.
        """
        from spanview.tui.trace_screen import TraceScreen

        return self.push_screen(TraceScreen(self._store, trace, at_error=at_error, at_row=at_row))

    def open_flame(self, traces: Sequence[int] | None, what: str) -> AwaitMount:
        """Show where the time of some traces goes, None for all."""
        from spanview.tui.flame_screen import FlameScreen

        return self.push_screen(FlameScreen(self._store, traces, what))

    def open_statistics(self, traces: Sequence[int] | None, what: str) -> AwaitMount:
        """Show statistics of some traces, None for all."""
        from spanview.tui.stats_screen import StatsScreen

        return self.push_screen(StatsScreen(self._store, traces, what))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Let nothing through that a terminal would act on, wherever it comes from, or that it can't be sent."""
        return [*super().get_line_filters(), *self._guards]

    def toggle_pause(self) -> None:
        """Hold what is shown still, or go on."""
        self.paused = not self.paused
        if not self.paused:
            self._pass_on()
        self._refresh_frames()

    def say(self, text: str) -> None:
        """Show for a while, in the footer, what a key did."""
        if self._said_timer is not None:
            self._said_timer.stop()
        self.said = sanitise(text, 100)
        self._said_timer = self.set_timer(_SAID_S, self._fall_silent)
        self._refresh_frames()

    def _fall_silent(self) -> None:
        self.said = ""
        self._refresh_frames()

    def copy(self, text: str, what: str) -> None:
        """Put a text on the terminal's clipboard (OSC 52).

        Args:
            text: Any text; it is encoded on its way, and what is no valid Unicode in it becomes a question mark.
            what: What it is, in words.
        """
        self.copy_to_clipboard(text.encode("utf-8", "replace").decode())
        self.say(f"copied the {what}")
