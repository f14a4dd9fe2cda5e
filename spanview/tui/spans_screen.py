"""Spans of several traces, slowest first; Enter leads to the trace of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from spanview.display.units import count, duration, moment
from spanview.index.table import NO_ROW
from spanview.model.codes import ERROR
from spanview.tui.base_screen import BaseScreen, bindings_of
from spanview.tui.header import TwoSided
from spanview.tui.keys import On
from spanview.tui.linelist import LineList
from spanview.tui.paint import data_text, fixed, line, right
from spanview.tui.traces_model import has_services

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.segment import Segment
    from rich.style import Style
    from textual.app import ComposeResult

    from spanview.index.store import Store

MOST_SPANS: Final = 10_000
"""So many are listed, the slowest."""
_DURATION, _FAILED, _START, _SIDE = 10, 3, 25, 5
_LEAST_NAME: Final = 16
"""Cells of a name with which the rest of the line is there too: without, the root goes first, then the start."""


class SpanLines(LineList):
    """A line a span.

    Args:
        store: The store.
        spans: Their rows in the span table.
        sides: Which of two sides each is of; None where there is one only.
    """

    def __init__(self, store: Store, spans: Sequence[int], sides: Mapping[int, str] | None) -> None:
        super().__init__()
        self._store = store
        self._sides = sides
        self.spans = spans

    def on_mount(self) -> None:
        """Show the first ones."""
        self.rows_have_changed(len(self.spans), 0)

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one span's line."""
        spans, at = self._store.spans, self.spans[row]
        root = self._store.trace_table.root_row[spans.trace[at]]
        failed = "✖" if spans.status[at] == ERROR else " "
        names = self._store.names.texts
        service = self._store.services.texts[spans.service[at]] if has_services(self._store) else ""
        above = "  ".join(filter(None, (service, "in " + names[spans.name[root]] if root != NO_ROW else "")))
        side = "" if self._sides is None else fixed(f" {self._sides[at]}", _SIDE)
        room = width - len(side) - _DURATION - _FAILED
        start = _START if room - _START >= _LEAST_NAME else 0
        room -= start
        shared = (room - 1) // 2 if room > 2 * _LEAST_NAME else 0
        parts: list[tuple[str, Style | None]] = [
            (side, self.paint_style("accent")),
            (right(duration(spans.end_ns[at] - spans.start_ns[at]), _DURATION), None),
            (fixed(f" {failed}", _FAILED), self.paint_style("error")),
            (fixed(moment(spans.start_ns[at], digits=3), start), self.paint_style("dim")),
            (data_text(names[spans.name[at]] or "(no name)", shared or max(1, room)), None),
        ]
        if shared:
            parts.append((" " + data_text(above, shared), self.paint_style("dim")))
        return line(parts)


class SpansScreen(BaseScreen):
    """Spans of several traces.

    Args:
        store: The store.
        spans: Their rows in the span table.
        what: What they have in common, in words.
        sides: Which of two sides each is of; None where there is one only.
    """

    ON: ClassVar[On] = On.SPANS
    BINDINGS = bindings_of(On.SPANS)

    def __init__(self, store: Store, spans: Sequence[int], what: str, sides: Mapping[int, str] | None = None) -> None:
        super().__init__()
        self._store = store
        self._spans = spans
        self._what = what
        self._sides = sides

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        yield SpanLines(self._store, self._spans, self._sides)
        yield self.footer()

    @property
    def rows(self) -> LineList:
        """The spans."""
        return self.query_one(SpanLines)

    def on_mount(self) -> None:
        """Take the keys."""
        self.set_focus(self.rows)
        self.refresh_frame()

    def title_text(self) -> str:
        """Return what is listed."""
        most = "the slowest " if len(self._spans) == MOST_SPANS else ""
        return f"‹ {self._what}   {most}{count(len(self._spans), 'span')}, slowest first"

    async def action_open(self) -> None:
        """Show the span in its trace."""
        if self.rows.cursor < len(self._spans):
            row = self._spans[self.rows.cursor]
            await self.viewer.open_trace(self._store.spans.trace[row], at_row=row)

    def action_copy(self) -> None:
        """Copy the span id."""
        if self.rows.cursor < len(self._spans):
            self.viewer.copy(f"{self._store.spans.span_id[self._spans[self.rows.cursor]]:016x}", "span id")
