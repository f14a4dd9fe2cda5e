"""One span on a screen of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from spanview.analysis.select import traces_beginning
from spanview.display.sanitise import sanitise
from spanview.tui.base_screen import BaseScreen, bindings_of
from spanview.tui.details import Details
from spanview.tui.header import TwoSided
from spanview.tui.keys import On

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from spanview.display.span_text import SpanInTree
    from spanview.tui.linelist import LineList


_LINK: Final = re.compile("([0-9a-f]{32}) ([0-9a-f]{16})")
"""The value of a link's line: trace id and span id."""


class SpanScreen(BaseScreen):
    """All details of one span.

    Args:
        subject: The span.
        section: The section to begin with.
    """

    ON: ClassVar[On] = On.SPAN
    BINDINGS = bindings_of(On.SPAN)

    def __init__(self, subject: SpanInTree, section: str) -> None:
        super().__init__()
        self._subject = subject
        self._section = section

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        yield Details()
        yield self.footer()

    @property
    def rows(self) -> LineList:
        """The lines of the open section."""
        return self.query_one(Details).lines

    def on_mount(self) -> None:
        """Show the span."""
        details = self.query_one(Details)
        details.section = self._section
        self.call_after_refresh(self._show)
        self.set_focus(self.rows)
        self.refresh_frame()

    def _show(self) -> None:
        if not self.is_left:
            self.query_one(Details).show(self._subject)

    def title_text(self) -> str:
        """Return the way to the span."""
        span = self._subject.span
        root = self.viewer.root_name(self._subject.trace)
        return f"‹ {root} › {sanitise(span.name, 80)}   {span.span_id}"

    async def action_open(self) -> None:
        """Follow the link under the cursor."""
        details = self.query_one(Details)
        line = details.lines.lines[details.lines.cursor] if details.lines.lines else None
        match = _LINK.fullmatch(line.value) if line is not None and details.section == "Links" else None
        if match is None:
            self.viewer.say("Enter follows a link, under Links")
            return
        store = self._subject.store
        for trace in traces_beginning(store, match[1]):
            for row in store.rows_of_trace(trace):
                if store.spans.span_id[row] == int(match[2], 16):
                    await self.viewer.open_trace(trace, at_row=row)
                    return
        self.viewer.say("the span that this link leads to was not seen")

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
        details = self.query_one(Details)
        line = details.lines.lines[details.lines.cursor] if details.lines.lines else None
        if line is not None and line.value:
            self.viewer.copy(line.value, "value")
        else:
            self.viewer.say("there is nothing to copy here")
