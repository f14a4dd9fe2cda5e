"""One span on a screen of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spanview.analysis.query.select import traces_beginning
from spanview.display.parts import Tone
from spanview.display.sanitise import sanitise
from spanview.display.span_in_tree import SpanInTree
from spanview.display.timing_text import timing_facts
from spanview.index.tree import ROOT
from spanview.tui.keys import On
from spanview.tui.span.details import LINKS, Details
from spanview.tui.span.links import KEY, Links
from spanview.tui.widgets.base_screen import BaseScreen, done_by
from spanview.tui.widgets.copying import Copier
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.scope import ChosenTraces, TraceScope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from spanview.analysis.telling import Tell
    from spanview.display.timing_text import TimingFacts
    from spanview.index.tree import TraceTree

_LINK: Final = re.compile("([0-9a-f]{32}) ([0-9a-f]{16})")
"""The value of a link's line: trace id and span id, as in `5bd66ef5095369c7b0d1f8f4bd33716a c532cb4098ac3dd2`."""


class SpanScreen(BaseScreen, on=On.SPAN):
    """All details of one span.

    Args:
        tree_now: Returns its trace, stitched as the screen shows it on which this one stands.
        go_to: Called with the row of the span that was looked at last.
    """

    def __init__(
        self, subject: SpanInTree, section: str, tree_now: Callable[[], TraceTree], go_to: Callable[[int], object]
    ) -> None:
        super().__init__()
        self._subject = subject
        self._tree_now = tree_now
        self._go_to_in_trace = go_to
        self.details = Details()
        self.rows = self.details.lines
        self.details.section = section
        self._links = Links(self, subject, self._show_links)
        self.copier = Copier(
            self, subject.store, lambda: subject.trace, lambda: self._subject, span_query=self._span_query
        )
        scope = TraceScope(lambda: ChosenTraces([subject.trace], ""), self._version)
        self.live: Live[tuple[SpanInTree, TimingFacts | None]] = Live(self, scope, self._look_up, self._take_anew)

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield self.details

    def on_mount(self) -> None:
        """Show the span."""
        # At once: the next key may move in it.
        known = self._version()
        self.live.begin_with((self._subject, None), ChosenTraces([self._subject.trace], ""), known)
        self.set_focus(self.rows)
        self.refresh_frame()

    @property
    def chosen_trace(self) -> int:
        """The span's trace."""
        return self._subject.trace

    def title_text(self) -> str:
        """Return the way to the span."""
        span = self._subject.span
        root = self.viewer.root_name(self._subject.trace)
        return f"‹ {root} › {sanitise(span.name, 80)}   {span.span_id}{self.live.as_of}"

    # -- the same span in a trace that grows -------------------------------------------------------------------------

    def _version(self) -> tuple[int, int]:
        """Tell one state of the trace, and of all spans that this one is compared with, from another."""
        store = self._subject.store
        return store.trace_table.version(self._subject.trace), store.version

    def _look_up(self, _traces: Sequence[int] | None, _tell: Tell) -> tuple[SpanInTree, TimingFacts | None]:
        """Called in a thread: return the span in its trace as it is now."""
        before, store, trace = self._subject, self._subject.store, self._subject.trace
        tree = before.tree
        if store.trace_table.span_count[trace] != len(tree.rows):
            tree = store.tree(trace)
        subject = SpanInTree(store.span(before.row), store, trace, tree, tree.rows.index(before.row))
        return subject, timing_facts(subject) if self.details.shows_timing else None

    def _take_anew(self, known: tuple[SpanInTree, TimingFacts | None]) -> None:
        self._subject, facts = known
        self.details.show(self._subject, facts)
        self._show_links()
        self._links.guess()
        self.refresh_frame()

    # -- other spans -------------------------------------------------------------------------------------------------

    def _tree(self) -> tuple[TraceTree, int]:
        """Return the span's trace as it is now, and the span's node in it."""
        tree = self._tree_now()
        return tree, tree.rows.index(self._subject.row)

    def _go_to(self, tree: TraceTree, node: int) -> None:
        # What is being found out is of the span before.
        self.live.end()
        store, trace = self._subject.store, self._subject.trace
        self._subject = SpanInTree(store.span(tree.rows[node]), store, trace, tree, node)
        self._links.forget(self._subject)
        self.details.show(self._subject)
        self._show_links()
        self._links.guess()
        self.live.catch_up()
        self.refresh_frame()

    def action_parent(self) -> None:
        """Show the parent."""
        tree, node = self._tree()
        parent = tree.parents[node]
        if parent == ROOT:
            self.viewer.say("this is a root")
        elif tree.is_missing(parent):
            self.viewer.say("this parent was not seen: nothing to open")
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

    # -- links -------------------------------------------------------------------------------------------------------

    def _show_links(self) -> None:
        """Show what is known of the spans that link to this one, or belong together with it."""
        self.details.show_linked(tuple(self._links.lines()))

    async def _follow(self) -> bool:
        """Follow the link under the cursor, or look who links here; return False where neither is."""
        part = self.details.lines.selected
        if part is None or self.details.section != LINKS:
            return False
        if part.target is not None:
            await self.viewer.views.open_span(part.target)
        elif part.key == KEY:
            self._links.look()
        elif part.tone is Tone.LINK and (match := _LINK.fullmatch(str(part.whole))):
            await self._open_linked(match[1], int(match[2], 16))
        else:
            return False
        return True

    async def _open_linked(self, trace_id: str, span_id: int) -> None:
        store = self._subject.store
        for trace in traces_beginning(store, trace_id):
            for row in store.rows_of_trace(trace):
                if store.spans.span_id[row] == span_id:
                    await self.viewer.views.open_trace(trace, at_row=row)
                    return
        self.viewer.say("the linked span was not seen")

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_back(self) -> None:
        """End what is looked for, then go back."""
        if not self._links.end():
            self.action_leave()

    def action_leave(self) -> None:
        """Go back, in the trace to the span that was looked at last."""
        self.app.pop_screen()
        self._go_to_in_trace(self._subject.row)

    async def action_open(self) -> None:
        """Unfold or fold what the cursor is on, or follow it."""
        if not (self.details.toggle() or await self._follow() or await self._open_log_line()):
            self.viewer.say("Enter follows a link (Links), opens a log (Log), or unfolds a value")

    async def _open_log_line(self) -> bool:
        """Open the log at the line under the cursor; return False where it is on none."""
        part = self.details.lines.selected
        if part is None or part.log_place is None:
            return False
        await self.details.open_log(self._subject)
        return True

    async def action_log(self) -> None:
        """Show the log, at the line under the cursor or at the span's lines."""
        await self.details.open_log(self._subject)

    action_expand, action_collapse = done_by("details.unfold"), done_by("details.fold")

    def action_next_pane(self) -> None:
        """Show the next section."""
        self.details.next_section()
        self.viewer.say(f"{self.details.section.lower()} of the span")

    def action_raw(self) -> None:
        """Show the record as the file has it, and back."""
        self.details.toggle_raw()
        self.viewer.say(f"{self.details.section.lower()} of the span")

    # -- copying -----------------------------------------------------------------------------------------------------

    def action_copy(self) -> None:
        """Copy the value that the line under the cursor belongs to."""
        lines = self.details.lines
        value = lines.lines[lines.cursor].value if lines.lines else ""
        if value:
            self.viewer.copy(value, "value")
        else:
            self.viewer.say("nothing to copy here")

    def _span_query(self) -> str:
        """Return what finds the span."""
        return f"span={self._subject.span.span_id}" if self._subject.span.span_id else ""
