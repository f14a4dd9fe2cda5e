"""Spans of several traces, slowest first; Enter leads to the trace of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from spanview.display.units import count, duration, moment
from spanview.index.table import NO_ROW
from spanview.model.codes import ERROR
from spanview.tui.keys import On
from spanview.tui.traces.traces_model import has_services
from spanview.tui.widgets.base_screen import BaseScreen, bindings_of
from spanview.tui.widgets.header import TwoSided
from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.paint import data_text, fixed, line, right

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.segment import Segment
    from rich.style import Style
    from textual.app import ComposeResult

    from spanview.index.store import Store
    from spanview.tui.widgets.live import AnyLive, Ask

MOST_SPANS: Final = 10_000
"""So many are listed, the slowest."""
_DURATION, _FAILED, _START, _SIDE = 10, 3, 25, 5
_LEAST_NAME: Final = 16
"""Cells of a name with which the rest of the line is there too: without, the root goes first, then the start."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans that are listed."""

    rows: Sequence[int]
    """In the span table, slowest first."""
    sides: Mapping[int, str] | None = None
    """Which of two sides each is of; None where there is one only."""


class SpanLines(LineList):
    """A line a span.

    Args:
        store: The store.
    """

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._sides: Mapping[int, str] | None = None
        self.spans: Sequence[int] = ()

    @property
    def selected(self) -> int | None:
        """The span under the cursor, by its row in the span table."""
        return self.spans[self.cursor] if self.cursor < len(self.spans) else None

    def show(self, spans: Spans) -> None:
        """Show other spans; the cursor stays on its span."""
        here = self.selected
        self.spans, self._sides = spans.rows, spans.sides
        self.take_rows(len(self.spans), self.spans.index(here) if here in self.spans else None)

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
        spans: Those that are known by now.
        what: What they have in common, in words.
        counted: What they were counted among.
        ask: Finds them among the same anew.
    """

    ON: ClassVar[On] = On.SPANS
    BINDINGS = bindings_of(On.SPANS)

    def __init__(self, store: Store, spans: Spans, what: str, counted: AnyLive, ask: Ask[Spans]) -> None:
        super().__init__()
        self._store = store
        self._what = what
        self._known = spans, counted.chosen, counted.version
        self.live: Live[Spans] = Live(self, counted.scope, ask, self._take_spans)

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        yield SpanLines(self._store)
        yield self.footer()

    @property
    def rows(self) -> SpanLines:
        """The spans."""
        return self.query_one(SpanLines)

    def on_mount(self) -> None:
        """Take the keys, and show what is known."""
        self.set_focus(self.rows)
        self.live.begin_with(*self._known)
        self.live.look()

    def _take_spans(self, spans: Spans) -> None:
        self.rows.show(spans)
        self.refresh_frame()

    def title_text(self) -> str:
        """Return what is listed."""
        number = self.rows.row_count
        most = "the slowest " if number == MOST_SPANS else ""
        return f"‹ {self._what}{self.live.as_of}   {most}{count(number, 'span')}, slowest first"

    async def action_open(self) -> None:
        """Show the span in its trace."""
        row = self.rows.selected
        if row is not None:
            await self.viewer.open_trace(self._store.spans.trace[row], at_row=row)

    def action_copy(self) -> None:
        """Copy the span id."""
        row = self.rows.selected
        if row is not None:
            self.viewer.copy(f"{self._store.spans.span_id[row]:016x}", "span id")
