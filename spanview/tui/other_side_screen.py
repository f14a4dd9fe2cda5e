"""What one side is compared with: the traces that a query finds, or all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding
from textual.content import Content
from textual.widgets import Static

from spanview.analysis.query import parse_query
from spanview.display.sanitise import sanitise
from spanview.model.problems import QueryError
from spanview.tui.base_screen import BaseScreen
from spanview.tui.comparing import Side
from spanview.tui.header import TwoSided
from spanview.tui.matching import TraceMatcher
from spanview.tui.prompt import Prompt

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from spanview.index.store import Store

_LONGEST: Final = 60
"""Characters of a query."""
_EXAMPLES: Final = (
    "Enter compares with the traces that match; with all others, where nothing is typed.",
    "",
    "name~batch            a span's name has it",
    "trace.errors>0        traces with an error",
    "file~after            one of several folders",
)


class OtherSideScreen(BaseScreen):
    """A line for the query of the other side.

    Args:
        store: The store.
        side: What is compared with it.
        has_others: Whether there are traces that aren't among it.
    """

    HINTS = "⏎ compare  Esc back"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", show=False)]

    def __init__(self, store: Store, side: Side, *, has_others: bool) -> None:
        super().__init__()
        self._store = store
        self._side = side
        self._has_others = has_others
        self._sought: str | None = None
        """The query that was looked for last."""
        self._matcher: TraceMatcher | None = None
        self._found: set[int] = set()
        self._waiting = 0.0
        """What share of the traces is still to be looked at."""
        self._is_done = False
        """Whether Enter was pressed."""

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        yield Prompt("a query for the other side; nothing: all others", is_query=True, is_ready=True)
        yield Static(Content("\n".join(_EXAMPLES)), id="nothing")
        yield self.footer()

    async def on_mount(self) -> None:
        """Let a query be typed."""
        await self.query_one(Prompt).open()
        self.refresh_frame()

    def on_unmount(self) -> None:
        """End the looking."""
        self._cancel()

    def title_text(self) -> str:
        """Return what is compared."""
        return f"‹ compare {self._side.what} with …"

    async def on_prompt_typed(self, event: Prompt.Typed) -> None:
        """Look for what is typed; Enter compares, at the latest when all was looked at.

        What is typed right before Enter can be told after it: it takes back an Enter only where it is another text.
        """
        prompt = self.query_one(Prompt)
        if self.is_left or event.text != prompt.text:
            return
        if event.text != self._sought:
            self._is_done = False
            self._look_for(event.text)
        if event.done:
            self._is_done = True
            self._compare()

    def _look_for(self, text: str) -> None:
        self._cancel()
        self._sought, self._found, self._waiting = text, set(), 0.0
        prompt = self.query_one(Prompt)
        try:
            query = parse_query(text)
        except QueryError as error:
            prompt.say(str(error), is_mistake=True)
            return
        prompt.say("")
        if not query.is_empty:
            self._waiting = 1.0
            self._matcher = TraceMatcher(self._store, query, self._matched)
            self._matcher.look_at(range(len(self._store.trace_table)))

    def _cancel(self) -> None:
        if self._matcher is not None:
            self._matcher.cancel()
            self._matcher = None

    def _matched(self, matcher: TraceMatcher, found: set[int], waiting: float) -> None:
        """Called from the matcher's thread."""
        self.app.call_from_thread(self._take_matches, matcher, found, waiting)

    def _take_matches(self, matcher: TraceMatcher, found: set[int], waiting: float) -> None:
        if matcher is self._matcher and not self.is_left:
            self._found |= found
            self._waiting = waiting
            looking = f", {1 - waiting:.0%} looked at" if waiting else ""
            self.query_one(Prompt).say(f"{len(self._found):,} of {len(self._store.trace_table):,} traces{looking}")
            if self._is_done:
                self._compare()

    def _compare(self) -> None:
        """Compare, if it is known with what."""
        prompt, number = self.query_one(Prompt), len(self._store.trace_table)
        if self._matcher is None:
            if (self._sought or "").strip():
                return
            if not self._has_others:
                prompt.say("there are no other traces: type a query", is_mistake=True)
                return
            listed = self._side.traces
            other = Side(None, "all others", lambda: sorted({*range(number)}.difference(listed())))
        elif self._waiting:
            return
        elif not self._found:
            prompt.say("no trace matches", is_mistake=True)
            return
        else:
            found = sorted(self._found)
            other = Side(None, sanitise((self._sought or "").strip(), _LONGEST), lambda: found)
        self.app.pop_screen()
        self.viewer.open_diff(self._side, other)
