"""The list of the first screen, a line a trace, and the heads of the columns, of groups too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from textual.content import Content
from textual.widget import Widget

from spanview.display.bars import bar
from spanview.display.units import count, duration, moment
from spanview.tui.diff.side import mark_text
from spanview.tui.traces.columns import TraceColumn
from spanview.tui.traces.traces_model import has_services
from spanview.tui.widgets.paint import data_text
from spanview.tui.widgets.table import NO_STYLE, Piece, Table, TableColumn, TableList

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterator

    from textual import events

    from spanview.index.store import Store
    from spanview.tui.diff.side import ComparedSide
    from spanview.tui.traces.columns import GroupColumn
    from spanview.tui.traces.group_list import GroupList
    from spanview.tui.traces.traces_model import TracesModel
    from spanview.tui.widgets.table import Fit

_WIDE = 100
"""From this width on there is room for the bars."""
_VERY_WIDE: Final = 118
"""From this width on there is room for services."""
_LONGEST_SERVICE: Final = 26
_LEAST_ROOT: Final = 20
"""Cells that columns leave to a root's name, which is the last to go."""
_BAR: Final = 8
_MARK: Final = 2
"""Cells of a state that is a mark only."""
_STATES: Final = {"": NO_STYLE, "●": "accent", "✖": "error"}
"""Styles, by such a mark."""


class TraceList(TableList[int]):
    """A line a trace."""

    def __init__(self, store: Store, model: TracesModel, **arguments: Any) -> None:
        self._store = store
        self.model = model
        self._made_for = False, 0
        super().__init__(self._table(), **arguments)
        self.growing: set[int] = set()
        """Traces that have grown lately."""
        self.is_loading = True
        self.marked: ComparedSide | None = None
        """What is to be compared."""

    def fit(self, width: int) -> Fit[int]:
        """Return the columns of a line: those of services only where there is room for them, and several."""
        services = min(_LONGEST_SERVICE, width // 6) if width >= _VERY_WIDE and has_services(self._store) else 0
        if self._made_for != (self.model.spans_days, services):
            self._made_for = self.model.spans_days, services
            self.table = self._table()
        return super().fit(width)

    def _table(self) -> Table[int]:
        spans, (with_date, services) = self._store.trace_table.span_count, self._made_for
        start = 23 if with_date else 12
        columns: list[TableColumn[int]] = [
            TableColumn("START", start, self._start_text, "dim", aligns_left=True, key=TraceColumn.START, goes=6),
            TableColumn("DURATION", 10, self._duration_text, key=TraceColumn.DURATION, goes=7),
            TableColumn("", _BAR, self._bar, "accent", gap=1, key=TraceColumn.DURATION, from_width=_WIDE),
            TableColumn("SPANS", 7, lambda trace: f"{spans[trace]:,}", key=TraceColumn.SPANS, is_tight=True, goes=5),
            TableColumn("ERR", 5, self._errors_text, "error", key=TraceColumn.ERRORS, is_tight=True, goes=4),
            TableColumn("PROC", 5, self._processes_text, "dim", goes=2),
            TableColumn("", 2, lambda _: ""),
            TableColumn("ROOT", parts=self._root, behind=1, aligns_left=True, key=TraceColumn.ROOT),
            TableColumn("STATE", 13, self._state, self._state_style, aligns_left=True, goes=3, shrinks_to=_MARK),
        ]
        if services:
            columns.insert(-2, TableColumn("SERVICE", services, self._service_text, behind=1, aligns_left=True, goes=1))
        return Table(columns, _LEAST_ROOT)

    def refresh_rows(self, *, anew: bool = False, reveal: bool = False) -> None:
        """Take in what is new; the cursor stays on its trace, and on its place on the screen.

        Args:
            anew: Whether the choice of traces has changed.
            reveal: Whether the place on the screen may change.
        """
        selected, before = self.selected, self.cursor
        at_top = self.scroll_offset.y == 0 and self.cursor == 0
        self.model.refresh(anew=anew)
        self.items = order = self.model.order
        cursor = 0
        if selected is not None and not at_top:
            cursor = before if before < len(order) and order[before] == selected else _find(order, selected, before)
        self.rows_have_changed(len(order), cursor)
        if anew or reveal:
            self.reveal()
        else:
            self.keep_in_place(cursor - before)

    def go_to(self, trace: int) -> None:
        """Put the cursor on a trace that is listed."""
        self.move_to(_find(self.model.order, trace, self.cursor))

    def _start_text(self, trace: int) -> str:
        return moment(self._store.trace_table.start_ns[trace], with_date=self._made_for[0], digits=3)

    def _errors_text(self, trace: int) -> str:
        errors = self._store.trace_table.error_count[trace]
        return f"{errors:,}" if errors else ""

    def _duration_text(self, trace: int) -> str:
        ns = self.model.duration_ns(trace)
        return duration(ns if ns >= 0 else None)

    def _bar(self, trace: int) -> str:
        return bar(max(0, self.model.duration_ns(trace)) / max(1, self.model.longest_ns), _BAR)

    def _processes_text(self, trace: int) -> str:
        facts = self.model.facts(trace)
        return f"{facts.processes:,}" if facts else "…"

    def _service_text(self, trace: int) -> str:
        facts = self.model.facts(trace)
        if facts is None:
            return "…"
        more = f" +{facts.services - 1:,}" if facts.services > 1 else ""
        return f"{self._store.services.texts[facts.service] or '(none)'}{more}"

    def _root(self, trace: int, cells: int) -> Iterator[Piece]:
        mark, name, style = mark_text(self.marked, trace), self.model.root_name(trace), ""
        if name is None:
            facts = self.model.facts(trace)
            missing = f" ({facts.missing[:8]})" if facts and facts.missing else ""
            name, style = f"? parent not seen{missing}", "dim"
        yield Piece(mark, "accent")
        yield Piece(data_text(name or "(no name)", cells - len(mark)), style)

    def _state(self, trace: int) -> str:
        errors = self._store.trace_table.error_count[trace]
        if trace in self.growing and not self.is_loading:
            return "● growing"
        if errors:
            return f"✖ {count(errors, 'error')}"
        if (label := self.model.silent.get(trace)) and not self.is_loading:
            return f"! {label}"
        facts = self.model.facts(trace)
        if facts is None or facts.complete:
            return ""
        return "· loading" if self.is_loading else "◌ incomplete"

    def _state_style(self, trace: int) -> str:
        return _STATES.get(self._state(trace)[:1], "warning")


def _find(order: array[int], trace: int, near: int) -> int:
    try:
        return order.index(trace, max(0, near - 64))
    except ValueError:
        return order.index(trace) if trace in order else min(near, len(order) - 1)


class ColumnHeads(Widget):
    """The line above a list.

    Args:
        clicked: Called with what a column that was clicked sorts by.
    """

    def __init__(
        self, traces: TraceList, groups: GroupList, clicked: Callable[[TraceColumn | GroupColumn], object]
    ) -> None:
        super().__init__()
        self._clicked = clicked
        self._traces = traces
        self._groups = groups
        self.grouped = False
        self._ends: list[tuple[int, TraceColumn | GroupColumn | None]] = []
        """Where each head ends, and what a click on it sorts by."""

    def render(self) -> Content:
        """Return the heads in their columns, with an arrow at the one that is sorted by."""
        rows = self._groups if self.grouped else self._traces
        order = self._groups if self.grouped else self._traces.model
        text = ""
        self._ends = []
        # The scrollbar's place stays free.
        for head, column in rows.fit(self.size.width - 1).heads(order.sort, "▾" if order.descending else "▴"):
            text += head
            self._ends.append((len(text), column.key))
        return Content(text)

    def on_click(self, event: events.Click) -> None:
        """Ask for another order; figures that aren't sorted by ask for none."""
        x = event.get_content_offset_capture(self).x
        column = next((column for end, column in self._ends if x < end), None)
        if column is not None:
            self._clicked(column)
