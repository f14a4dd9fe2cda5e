"""The list of the first screen, a line a trace."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from spanview.analysis.trace_lists import TraceColumn
from spanview.display.bars import bar
from spanview.reports.table import RowOrder, Table, TableColumn
from spanview.reports.traces import LONGEST_SERVICE, traces_table
from spanview.reports.traces_model import has_services
from spanview.tui.diff.side import mark_text
from spanview.tui.widgets.table import TableList

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

    from spanview.index.store import Store
    from spanview.reports.table import Fit
    from spanview.reports.traces_model import TracesModel
    from spanview.tui.diff.side import MarkedSide

_WIDE: Final = 100
"""From this width on there is room for the bars."""
_VERY_WIDE: Final = 118
"""From this width on there is room for services."""
_BAR: Final = 8


class TraceList(TableList[int]):
    """A line a trace."""

    def __init__(self, store: Store, model: TracesModel) -> None:
        self._store = store
        self.model = model
        self._made_for = False, 0
        super().__init__(self._table())
        self.order = RowOrder(model.sort, model.descending)
        self.marked: MarkedSide | None = None
        """What is to be compared."""

    def fit(self, width: int) -> Fit[int]:
        """Return the columns of a line: those of services only where there is room for them, and several."""
        services = min(LONGEST_SERVICE, width // 6) if width >= _VERY_WIDE and has_services(self._store) else 0
        if self._made_for != (self.model.spans_days, services):
            self._made_for = self.model.spans_days, services
            self.table = self._table()
        return super().fit(width)

    def _table(self) -> Table[int]:
        has_date, services = self._made_for
        table = traces_table(
            self._store,
            self.model,
            services,
            has_date=has_date,
            marked=lambda trace: mark_text(self.marked, trace),
        )
        start, duration, *others, name = (column for column in table.columns if column.is_shown)
        bars: TableColumn[int] = TableColumn("", _BAR, self._bar, "accent", from_width=_WIDE)
        # Names aren't measured: it takes stitching to know what stands behind them.
        return table._replace(columns=(start, duration, bars, *others, replace(name, wants=None)))

    def put_in_order(self, order: RowOrder) -> None:
        """Sort by a column."""
        if order != self.order:
            self.order = order
            self.model.sort, self.model.descending = TraceColumn(order.key), order.descending
            self.refresh_rows(reveal=True)

    def refresh_rows(self, *, reveal: bool = False) -> None:
        """Take in what is new; the cursor stays on its trace, and on its place on the screen."""
        selected, before = self.selected, self.cursor
        at_top = self.scroll_offset.y == 0 and self.cursor == 0
        self.model.refresh()
        order = self.model.order
        self.take(order)
        cursor = 0
        if selected is not None and not at_top:
            cursor = before if before < len(order) and order[before] == selected else _find(order, selected, before)
        self.rows_have_changed(len(order), cursor)
        if reveal:
            self.reveal()
        else:
            self.keep_in_place(cursor - before)

    def go_to(self, trace: int) -> None:
        """Put the cursor on a trace that is listed."""
        self.move_to(_find(self.model.order, trace, self.cursor))

    def in_order(self, items: Sequence[int]) -> Sequence[int]:
        """Return traces as they come: the model has put them in order."""
        return items

    def _bar(self, trace: int) -> str:
        return bar(max(0, self.model.duration_ns(trace)) / max(1, self.model.longest_ns), _BAR)


def _find(order: array[int], trace: int, near: int) -> int:
    try:
        return order.index(trace, max(0, near - 64))
    except ValueError:
        return order.index(trace) if trace in order else min(near, len(order) - 1)
