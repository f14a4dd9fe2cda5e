"""How the traces are listed: in what order, and one by one or by their roots' names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.tui.base_screen import BaseScreen
from spanview.tui.settings import chosen
from spanview.tui.trace_list import ColumnHeads, GroupList, TraceList
from spanview.tui.traces_model import Column, TracesModel

if TYPE_CHECKING:
    from spanview.index.store import Store
    from spanview.tui.linelist import LineList


class OrderedTraces(BaseScreen):
    """What the first screen does to order and to group.

    Args:
        store: The store.
    """

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._model = TracesModel(store)
        self.grouped = False

    @property
    def traces(self) -> TraceList:
        """The list of traces."""
        return self.query_one(TraceList)

    @property
    def rows(self) -> LineList:
        """The list that is shown."""
        return self.query_one(GroupList) if self.grouped else self.traces

    def _show(self, *, anew: bool = False) -> None:
        raise NotImplementedError

    def take_settings(self) -> None:
        """List the traces as they were listed last."""
        settings = self.viewer.settings
        self._model.sort = chosen(Column, settings.sort) or Column.START
        self._model.descending = settings.descending
        self._model.is_drilled = False
        self._show_groups(on=settings.grouped)

    def action_group(self) -> None:
        """Group by root name, or show the traces again."""
        self._model.is_drilled = False
        self.viewer.keep(grouped=not self.grouped)
        self.viewer.say("traces by their roots' names" if not self.grouped else "each trace has its row")
        self._show_groups(on=not self.grouped)

    def _show_groups(self, *, on: bool) -> None:
        self.grouped = on
        self.traces.display = not on
        self.query_one(GroupList).display = on
        self.query_one(ColumnHeads).grouped = on
        self._show(anew=True)
        self.set_focus(self.rows)

    def action_sort(self) -> None:
        """Sort by the next column."""
        columns = list(Column)
        self._sort_by(columns[(columns.index(self._model.sort) + 1) % len(columns)])

    def on_column_heads_clicked(self, event: ColumnHeads.Clicked) -> None:
        """Sort by the column that was clicked; once more turns the order round."""
        if event.column is self._model.sort:
            self.action_turn()
        else:
            self._sort_by(event.column)

    def _sort_by(self, column: Column) -> None:
        self._model.sort, self._model.descending = column, column is not Column.ROOT
        self._keep_order()

    def action_turn(self) -> None:
        """Turn the order round."""
        self._model.descending = not self._model.descending
        self._keep_order(", the greatest first" if self._model.descending else ", the least first")

    def _keep_order(self, which_first: str = "") -> None:
        column = self._model.sort.value
        self.viewer.keep(sort=column, descending=self._model.descending)
        self.viewer.say(f"sorted by {column.lower()}{which_first}")
        self._show(anew=True)
