"""The viewer's application: it puts screens together and passes on what the reading thread says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.message import Message
from textual.widgets import Input

from spanview.display.sanitise import sanitise
from spanview.index.table import NO_ROW
from spanview.tui.base_screen import BaseScreen
from spanview.tui.feed import Feed, FeedState
from spanview.tui.keys import keys_on
from spanview.tui.paint import HARMLESS
from spanview.tui.traces_screen import TracesScreen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from textual.binding import BindingType
    from textual.events import Key
    from textual.filter import LineFilter
    from textual.screen import Screen
    from textual.widget import AwaitMount

    from spanview.index.store import Store
    from spanview.model.problems import SpanviewError
    from spanview.sources.session import Session

_SAID_S = 4.0


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
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", "quit", show=False, priority=True)]

    def __init__(self, store: Store, opening: Opening, open_session: Callable[[], Session]) -> None:
        super().__init__()
        self._store = store
        self._opening = opening
        self._feed = Feed(store, open_session, follow=opening.follow, tell=self._hear)
        self._changed: set[int] = set()
        self._said_timer: Any = None
        self._is_opened = opening.trace is None
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
        await self.push_screen(TracesScreen(self._store, self._opening.query, list(self._opening.nothing)))
        self._feed.start()

    def on_unmount(self) -> None:
        """End the reading."""
        self._feed.stop()

    def on_key(self, event: Key) -> None:
        """Give the prompt what was typed in one go with the key that opened it: a q in it must not quit."""
        if isinstance(self.focused, Input) and event.is_printable and event.character:
            event.prevent_default()
            self.focused.insert_text_at_cursor(event.character)

    def _hear(self, state: FeedState) -> None:
        """Called from the reading thread."""
        self.post_message(FeedNews(state))

    def on_feed_news(self, message: FeedNews) -> None:
        """Pass on what is new, unless what is shown is to hold still."""
        was_loading, self.feed_state = self.feed_state.loading, message.state
        self._changed |= self._store.take_changed()
        if not self.paused:
            self._pass_on()
        else:
            self._refresh_frames()
        if was_loading and not message.state.loading:
            self._everything_was_read()

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

    def _everything_was_read(self) -> None:
        first = next(screen for screen in self._screens() if isinstance(screen, TracesScreen))
        if self._opening.choose is not None:
            first.limit_to(self._opening.choose)
        if not self._is_opened and self._opening.trace is not None:
            self._is_opened = True
            self._open_by_id(self._opening.trace)

    def _open_by_id(self, prefix: str) -> None:
        from spanview.analysis.select import find_trace
        from spanview.model.problems import TraceNotFoundError

        try:
            self.open_trace(find_trace(self._store, prefix))
        except TraceNotFoundError as error:
            self.failure = error
            self.exit(return_code=2)

    def root_name(self, trace: int) -> str:
        """Return the name of a trace's root, safe to print."""
        row = self._store.trace_table.root_row[trace]
        if row == NO_ROW:
            return "? parent not seen"
        return sanitise(self._store.names.texts[self._store.spans.name[row]], 80) or "(no name)"

    def open_trace(self, trace: int, *, at_error: bool = False) -> AwaitMount:
        """Show one trace; whoever waits for it lets no key come before its screen is there.

        Args:
            trace: Its row in the trace table.
            at_error: Whether to begin at its first error.
        """
        from spanview.tui.trace_screen import TraceScreen

        return self.push_screen(TraceScreen(self._store, trace, at_error=at_error))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Let nothing through that a terminal would act on, wherever it comes from: pasted text, too."""
        return [*super().get_line_filters(), HARMLESS]

    def get_system_commands(self, screen: Screen[Any]) -> Iterator[SystemCommand]:
        """Offer what the keys of the screen do, then what Textual offers."""
        if isinstance(screen, BaseScreen):
            for key in keys_on(screen.ON):
                if key.action != "app.command_palette":
                    yield SystemCommand(key.text, key.shown, partial(screen.run_action, key.action))
        yield from super().get_system_commands(screen)

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
