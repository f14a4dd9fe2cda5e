"""What the screen of all traces does to group them by root name, and to put traces and groups in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.tui.app.settings import chosen
from spanview.tui.traces.columns import GroupColumn, TraceColumn
from spanview.tui.traces.group_list import GroupList
from spanview.tui.traces.plot import Plot
from spanview.tui.traces.trace_list import ColumnHeads, TraceList
from spanview.tui.traces.traces_model import TracesModel
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.copying import Copier
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.index.store import Store
    from spanview.tui.traces.completeness import Completeness
    from spanview.tui.traces.groups_model import GroupRow
    from spanview.tui.widgets.linelist import LineList

_AT_ONCE: Final = 1_000
"""So many spans are stitched before the next key."""


class GroupedTraces(BaseScreen):
    """All traces, or groups of them, in an order.

    Args:
        store: The store.
    """

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._model = TracesModel(store)
        self.copier = Copier(self, lambda: self.chosen_trace)
        self.grouped = False
        self._grown_at: dict[int, float] = {}
        self._completeness: Completeness | None = None
        self._incomplete: bytes | None = None
        """1 for each trace that is incomplete, as far as they were stitched; None where none was yet."""
        self._has_grown = False
        """Whether something has come since they were stitched."""
        self._counting = Work(self)
        self._stitching = Work(self)
        self._alive: set[int] = set()
        """Traces that may still grow, as far as processes tell."""
        self._living = Work(self)

    @property
    def traces(self) -> TraceList:
        """The list of traces."""
        return self.query_one(TraceList)

    @property
    def groups(self) -> GroupList:
        """The list of groups."""
        return self.query_one(GroupList)

    @property
    def rows(self) -> LineList:
        """The list that is shown."""
        return self.groups if self.grouped else self.traces

    @property
    def chosen_group(self) -> GroupRow | None:
        """The group under the cursor, while groups are shown."""
        return self.groups.selected if self.grouped else None

    def _show(self, *, anew: bool = False) -> None:
        """Show what there is now."""
        raise NotImplementedError

    # -- groups ------------------------------------------------------------------------------------------------------

    def take_settings(self) -> None:
        """List the traces as they were listed last."""
        settings = self.viewer.settings
        self._model.sort = chosen(TraceColumn, settings.sort) or TraceColumn.START
        self._model.descending = settings.descending
        self.groups.sort = chosen(GroupColumn, settings.group_sort) or GroupColumn.TRACES
        self.groups.descending = settings.group_descending
        self._model.is_drilled = False
        self._show_groups(on=settings.grouped, anew=True)

    def action_group(self) -> None:
        """Group by root name, or show the traces again."""
        was_drilled, self._model.is_drilled = self._model.is_drilled, False
        self.viewer.keep(grouped=not self.grouped)
        self.viewer.say("traces by their roots' names" if not self.grouped else "each trace has its row")
        self._show_groups(on=not self.grouped, anew=was_drilled)

    def _show_groups(self, *, on: bool, anew: bool) -> None:
        self.grouped = on
        self.traces.display = not on
        self.groups.display = on
        self.query_one(ColumnHeads).grouped = on
        self._show(anew=anew)
        self.set_focus(self.rows)

    def _count_groups(self, *, can_wait: bool = False) -> None:
        """Bring the groups up to date: at once where that is quick, else soon.

        Args:
            can_wait: Whether nobody waits for it.
        """
        self.groups.is_loading = self.viewer.feed_state.loading
        self._mark_growing()
        if not can_wait:
            self._stitch()
        if self._model.has_few_names and not can_wait:
            self.groups.update(self._model.groups(self._incomplete))
            return
        store, groups_by = self._store, self._model.root_groups
        listed, incomplete = self._model.order[:], self._incomplete

        def groups() -> list[GroupRow]:
            from spanview.tui.traces.groups_bulk import groups_of_many

            return groups_of_many(store, groups_by, listed, incomplete)

        self._counting.queue(lambda _: groups(), self._take_groups)

    def _take_groups(self, groups: list[GroupRow]) -> None:
        self.groups.update(groups)
        if self.grouped:
            self._light()

    def _take_living(self, traces: set[int]) -> None:
        if traces != self._alive and not self.viewer.paused:
            self._alive = traces
            self._mark_growing()
            self.rows.refresh()

    def _mark_growing(self) -> None:
        self.traces.growing = {*self._grown_at, *self._alive}
        self.viewer.growth_has_changed()
        self.groups.growing = {self._model.group_name(trace) for trace in self.traces.growing}

    def _stitch(self) -> None:
        """Find out which traces are incomplete, where something has come since that was known."""
        if self.viewer.feed_state.loading or self._stitching.is_busy:
            return
        if self._incomplete is None or self._has_grown:
            from spanview.tui.traces.completeness import Completeness

            self._has_grown = False
            if self._completeness is None:
                self._completeness = Completeness(self._store)
            look = self._completeness.look
            if len(self._store.spans) < _AT_ONCE:
                self._incomplete = look()
            else:
                self._stitching.queue(lambda _: look(), self._take_incomplete)

    def _take_incomplete(self, incomplete: bytes) -> None:
        self._incomplete = incomplete
        if self.grouped:
            self._count_groups(can_wait=self._model.has_many)

    def on_line_list_moved(self, event: LineList.Moved) -> None:
        """Set the traces of the group under the cursor off from the others."""
        if not self.is_left and event.sender is self.groups:
            self._light()

    def _light(self) -> None:
        self.query_one(Plot).light(self._lit())

    def _lit(self) -> Sequence[str | None]:
        """Return the root name whose traces are set off; none where no group is chosen."""
        group = self.chosen_group
        return () if group is None else (group.name,)

    # -- order -------------------------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Sort by the next column."""
        if self.grouped:
            shown = self.groups.columns()
            at = shown.index(self.groups.sort) + 1 if self.groups.sort in shown else 0
            self._sort_by(shown[at % len(shown)])
        else:
            columns = list(TraceColumn)
            self._sort_by(columns[(columns.index(self._model.sort) + 1) % len(columns)])

    def on_column_heads_clicked(self, event: ColumnHeads.Clicked) -> None:
        """Sort by the column that was clicked; once more turns the order round."""
        if event.column is (self.groups if self.grouped else self._model).sort:
            self.action_turn()
        else:
            self._sort_by(event.column)

    def _sort_by(self, column: TraceColumn | GroupColumn) -> None:
        # Names begin with A, all else with the greatest.
        self._order_by(column, descending=column not in {TraceColumn.ROOT, GroupColumn.ROOT})

    def action_turn(self) -> None:
        """Turn the order round."""
        order = self.groups if self.grouped else self._model
        self._order_by(order.sort, descending=not order.descending, which_first=True)

    def _order_by(self, column: TraceColumn | GroupColumn, *, descending: bool, which_first: bool = False) -> None:
        if isinstance(column, GroupColumn):
            self.viewer.keep(group_sort=column.value, group_descending=descending)
            self.groups.sort_by(column, descending=descending)
            self._light()
        else:
            self._model.sort, self._model.descending = column, descending
            self.viewer.keep(sort=column.value, descending=descending)
            self.traces.refresh_rows(reveal=True)
        self.query_one(ColumnHeads).refresh()
        first = ", the greatest first" if descending else ", the least first"
        self.viewer.say(f"sorted by {column.word}{first if which_first else ''}")

    # -- copying -------------------------------------------------------------------------------------------------------

    def action_copy(self) -> None:
        """Copy the trace id, where a trace is selected."""
        if self.chosen_trace is not None:
            self.copier.copy_trace_id()
        else:
            self.viewer.say("there is no trace here to copy the id of")

    def action_copy_trace_id(self) -> None:
        """Copy the trace id."""
        self.copier.copy_trace_id()

    def action_copy_command(self) -> None:
        """Copy a command line that opens the trace."""
        self.copier.copy_command()
