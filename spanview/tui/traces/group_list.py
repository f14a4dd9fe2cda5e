"""Traces by root name: a line a name, with as many columns as there is room for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.cells import cell_len

from spanview.analysis.trace_lists import TraceGroup
from spanview.display.sanitise import sanitise
from spanview.reports.table import Piece
from spanview.reports.traces import group_name, group_name_text, groups_table, names_of_groups
from spanview.tui.diff.side import mark_text
from spanview.tui.widgets.table import TableList

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from spanview.reports.traces_model import TracesModel
    from spanview.tui.diff.side import MarkedSide

_GROWING, _BLANK = "● ", "  "


class GroupList(TableList[TraceGroup]):
    """A line a root name."""

    def __init__(self, model: TracesModel) -> None:
        self._model = model
        self._short: Mapping[str, str] = {}
        """What Ray's functions are called here."""
        self.grown_at: dict[str | None, float] = {}
        """When a trace grew lately, by the names of groups and `time.monotonic`."""
        self.living: Collection[str | None] = ()
        """Names of groups with a trace that may still grow."""
        self.marked: MarkedSide | None = None
        """What is to be compared."""
        table = groups_table(self.called, before=len(_BLANK), is_loading=lambda: model.is_loading)
        name, *figures = table.columns
        name = replace(name, parts=self._root_name, wants=self._name_cells)
        super().__init__(table._replace(columns=(name, *figures)), lambda group: group.name)

    def update(self, groups: Sequence[TraceGroup]) -> None:
        """Take in other groups; the cursor stays on its name, and on its place on the screen, or at the top."""
        was_at = self.cursor
        before = self.selected if was_at or self.scroll_offset.y else None
        self._short = names_of_groups(groups)
        self.take(groups)
        cursor = next((row for row, group in enumerate(self.items) if before and group.name == before.name), 0)
        self.rows_have_changed(len(groups), cursor)
        self.keep_in_place(cursor - was_at if before and self.scroll_offset.y else 0)

    def _root_name(self, group: TraceGroup, cells: int) -> Iterator[Piece]:
        grows, mark = group.name in self.grown_at or group.name in self.living, self._mark(group)
        yield Piece(_GROWING if grows and not self._model.is_loading else _BLANK, "accent")
        yield Piece(mark, "accent")
        yield Piece(group_name_text(group, self.called(group), max(0, cells - len(_BLANK) - len(mark))))

    def _name_cells(self, group: TraceGroup) -> int:
        return len(_BLANK) + len(self._mark(group)) + cell_len(sanitise(self.called(group)))

    def _mark(self, group: TraceGroup) -> str:
        return mark_text(self.marked, (group.name,))

    def called(self, group: TraceGroup) -> str:
        """Return the name of a group as it is shown, from a file."""
        return group_name(self._short, group)
