"""One span on a screen of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spanview.display.sanitise import sanitise
from spanview.display.span_text import SpanInTree
from spanview.display.timing_text import timing_facts
from spanview.index.tree import ROOT
from spanview.tui.keys import On
from spanview.tui.span.details import Details
from spanview.tui.span.other_half import HalvedSpan
from spanview.tui.trace.trace_search import SearchedTrace
from spanview.tui.widgets.base_screen import bindings_of
from spanview.tui.widgets.copying import Copier
from spanview.tui.widgets.header import TwoSided
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.scope import ChosenTraces, TraceScope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from spanview.analysis.telling import Tell
    from spanview.display.timing_text import TimingFacts
    from spanview.index.tree import TraceTree
    from spanview.tui.widgets.linelist import LineList


class SpanScreen(HalvedSpan):
    """All details of one span.

    Args:
        subject: The span.
        section: The section to begin with.
    """

    ON: ClassVar[On] = On.SPAN
    BINDINGS = bindings_of(On.SPAN)

    def __init__(self, subject: SpanInTree, section: str) -> None:
        super().__init__(subject)
        self._section = section
        self.copier = Copier(self, lambda: self.chosen_trace, lambda: self.chosen_span, span_query=self._span_query)
        scope = TraceScope(lambda: ChosenTraces([subject.trace], ""), self._version)
        self.live: Live[tuple[SpanInTree, TimingFacts | None]] = Live(self, scope, self._look_up, self._take_subject)

    def _version(self) -> tuple[int, int]:
        """Tell one state of the trace, and of all spans that this one is compared with, from another."""
        store = self._subject.store
        return store.trace_table.span_count[self._subject.trace], len(store.spans)

    def _look_up(self, _traces: Sequence[int] | None, _tell: Tell) -> tuple[SpanInTree, TimingFacts | None]:
        """Called in a thread: return the span in its trace as it is now."""
        before, store, trace = self._subject, self._subject.store, self._subject.trace
        tree = before.tree
        if store.trace_table.span_count[trace] != len(tree.rows):
            tree = store.tree(trace)
        subject = SpanInTree(store.span(before.row), store, trace, tree, tree.rows.index(before.row))
        return subject, timing_facts(subject) if self.details.shows_timing else None

    def _take_subject(self, known: tuple[SpanInTree, TimingFacts | None]) -> None:
        self.renew_subject(*known)
        self.refresh_frame()

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        yield Details()
        yield self.footer()

    @property
    def details(self) -> Details:
        """All but header and footer."""
        return self.query_one(Details)

    @property
    def rows(self) -> LineList:
        """The lines of the open section."""
        return self.details.lines

    @property
    def chosen_trace(self) -> int:
        """The span's trace."""
        return self._subject.trace

    @property
    def chosen_span(self) -> SpanInTree:
        """The span."""
        return self._subject

    def on_mount(self) -> None:
        """Show the span."""
        self.details.section = self._section
        # At once: the next key may move in it.
        known = len(self._subject.tree.rows), len(self._subject.store.spans)
        self.live.begin_with((self._subject, None), ChosenTraces([self._subject.trace], ""), known)
        self.set_focus(self.rows)
        self.refresh_frame()

    def title_text(self) -> str:
        """Return the way to the span."""
        span = self._subject.span
        root = self.viewer.root_name(self._subject.trace)
        return f"‹ {root} › {sanitise(span.name, 80)}   {span.span_id}{self.live.as_of}"

    # -- other spans -------------------------------------------------------------------------------------------------

    def _trace_below(self) -> SearchedTrace | None:
        """Return the screen of the span's trace, where this one stands on it."""
        stack = self.app.screen_stack
        below = stack[stack.index(self) - 1]
        return below if isinstance(below, SearchedTrace) and below.chosen_trace == self._subject.trace else None

    def _tree(self) -> tuple[TraceTree, int]:
        """Return the span's trace as it is now, and the span's node in it."""
        below = self._trace_below()
        tree = self._subject.tree if below is None else below.trace_tree
        return tree, tree.rows.index(self._subject.row)

    def _go_to(self, tree: TraceTree, node: int) -> None:
        subject = self._subject
        # What is being found out is of the span before.
        self.live.end()
        self.take_subject(SpanInTree(subject.store.span(tree.rows[node]), subject.store, subject.trace, tree, node))
        self.live.look()
        self.refresh_frame()

    def action_parent(self) -> None:
        """Show the parent."""
        tree, node = self._tree()
        parent = tree.parents[node]
        if parent == ROOT:
            self.viewer.say("this is a root")
        elif tree.is_missing(parent):
            self.viewer.say("this parent was not seen: there is nothing to open")
        else:
            self._go_to(tree, parent)

    def action_same_name(self, by: int) -> None:
        """Show the next span of the trace with this name, by start, or the one before; round the end if need be."""
        tree, node = self._tree()
        names = self._subject.store.spans.name
        name = names[self._subject.row]
        named = [other for other, row in enumerate(tree.rows) if names[row] == name]
        target = (named.index(node) + by) % len(named)
        if named[target] != node:
            self._go_to(tree, named[target])
        self.viewer.say(f"span of this name {target + 1} of {len(named)}")

    def _leave(self) -> None:
        """Go back, in the trace to the span that was looked at last."""
        below = self._trace_below()
        self.app.pop_screen()
        if below is not None:
            below.go_to_span(self._subject.row)

    def action_back(self) -> None:
        """End what is looked for, then go back."""
        if not self.end_looking():
            self._leave()

    def action_leave(self) -> None:
        """Go back."""
        self._leave()

    # -- keys --------------------------------------------------------------------------------------------------------

    async def action_open(self) -> None:
        """Unfold or fold what the cursor is on, or follow it."""
        if not self.details.toggle() and not await self.follow():
            self.viewer.say("Enter follows a link, under Links, and unfolds a value")

    def action_expand(self) -> None:
        """Unfold what the cursor is on, or go into it."""
        self.details.unfold()

    def action_collapse(self) -> None:
        """Fold what the cursor is on, or go to what it is in."""
        self.details.fold()

    def action_next_pane(self) -> None:
        """Show the next section."""
        details = self.query_one(Details)
        details.next_section()
        self.viewer.say(f"{details.section.lower()} of the span")

    def action_raw(self) -> None:
        """Show the record as the file has it, and back."""
        details = self.query_one(Details)
        details.toggle_raw()
        self.viewer.say(f"{details.section.lower()} of the span")

    def action_copy(self) -> None:
        """Copy the value that the line under the cursor belongs to."""
        lines = self.details.lines
        value = lines.lines[lines.cursor].value if lines.lines else ""
        if value:
            self.viewer.copy(value, "value")
        else:
            self.viewer.say("there is nothing to copy here")

    def _span_query(self) -> str:
        """Return what finds the span."""
        return f"span={self._subject.span.span_id}" if self._subject.span.span_id else ""

    def action_copy_trace_id(self) -> None:
        """Copy the trace id."""
        self.copier.copy_trace_id()

    def action_copy_command(self) -> None:
        """Copy a command line that opens the trace."""
        self.copier.copy_command()

    def action_copy_json(self) -> None:
        """Copy the span as JSON."""
        self.copier.copy_json()
