"""Traces by root name: a line a name, with as many columns as there is room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.serve import Part, part_of_name
from spanview.display.histogram import HISTOGRAM, SCALE, histogram_text
from spanview.display.units import duration, moment
from spanview.tui.diff.side import mark_text
from spanview.tui.traces.columns import GroupColumn
from spanview.tui.traces.groups_model import GroupRow
from spanview.tui.widgets.paint import data_text
from spanview.tui.widgets.table import Piece, Table, TableColumn, TableList

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from spanview.tui.diff.side import ComparedSide

_GROWING, _BLANK = "● ", "  "
_FIELDS: Final = {
    GroupColumn.TRACES: "traces",
    GroupColumn.ERRORS: "errors",
    GroupColumn.SHARE: "share",
    GroupColumn.INCOMPLETE: "incomplete",
    GroupColumn.P50: "p50_ns",
    GroupColumn.P95: "p95_ns",
    GroupColumn.P99: "p99_ns",
    GroupColumn.MAX: "max_ns",
    GroupColumn.TOTAL: "total_ns",
    GroupColumn.NEWEST: "newest_ns",
    GroupColumn.ROOT: "name",
}
_LEAST_ROOT, _USUAL_ROOT = 18, 28
"""Cells that names have before a column goes for them, and before another one comes."""


class GroupList(TableList[GroupRow]):
    """A line a root name."""

    def __init__(self, **arguments: Any) -> None:
        columns: Sequence[TableColumn[GroupRow]] = (
            TableColumn("TRACES", 9, lambda group: f"{group.traces:,}", key=GroupColumn.TRACES, goes=7),
            TableColumn("ERR", 7, self._errors_text, "error", key=GroupColumn.ERRORS, goes=5),
            TableColumn("ERR%", 7, self._share_text, "error", key=GroupColumn.SHARE, goes=1),
            TableColumn("INC", 6, self._incomplete_text, "warning", key=GroupColumn.INCOMPLETE, goes=2),
            TableColumn("P50", 9, lambda group: duration(group.p50_ns), key=GroupColumn.P50, goes=3),
            TableColumn("P95", 9, lambda group: duration(group.p95_ns), key=GroupColumn.P95, goes=6),
            TableColumn("P99", 9, lambda group: duration(group.p99_ns), key=GroupColumn.P99, comes=1),
            TableColumn("MAX", 9, lambda group: duration(group.max_ns), key=GroupColumn.MAX, goes=4),
            TableColumn("TOTAL", 10, lambda group: duration(group.total_ns), key=GroupColumn.TOTAL, comes=3),
            TableColumn(SCALE, HISTOGRAM, lambda group: histogram_text(group.histogram), "accent", gap=2, comes=2),
            TableColumn("NEWEST", 23, self._newest, "dim", gap=2, aligns_left=True, key=GroupColumn.NEWEST, comes=4),
            TableColumn(f"{_BLANK}ROOT", parts=self._root_name, gap=2, aligns_left=True, key=GroupColumn.ROOT),
        )
        least, usual, floor = (len(_BLANK) + cells for cells in (_LEAST_ROOT, _USUAL_ROOT, 1))
        table = Table(columns, least=least, usual=usual, floor=floor)
        super().__init__(table, lambda group: group.name, **arguments)
        self.sort = GroupColumn.TRACES
        self.descending = True
        self.growing: Collection[str | None] = ()
        """Names of groups in which a trace has grown lately."""
        self.is_loading = True
        self.marked: ComparedSide | None = None
        """What is to be compared."""

    def update(self, groups: Sequence[GroupRow]) -> None:
        """Take in other groups; the cursor stays on its name, and on its place on the screen, or at the top."""
        was_at = self.cursor
        before = self.selected if was_at or self.scroll_offset.y else None
        self.items = self._in_order(groups)
        cursor = next((row for row, group in enumerate(self.items) if before and group.name == before.name), 0)
        self.rows_have_changed(len(groups), cursor)
        self.keep_in_place(cursor - was_at if before and self.scroll_offset.y else 0)

    def sort_by(self, column: GroupColumn, *, descending: bool) -> None:
        """Sort by a column; who is at the top stays there, else the cursor stays on its group."""
        is_at_top, before = self.cursor == 0, self.selected
        self.sort, self.descending = column, descending
        self.items = self._in_order(self.items)
        self.rows_have_changed(len(self.items), 0 if is_at_top or before is None else self.items.index(before))
        self.reveal()

    def _in_order(self, groups: Sequence[GroupRow]) -> list[GroupRow]:
        column = self.sort
        return sorted(groups, key=lambda group: value_of(group, column), reverse=self.descending)

    def columns(self) -> list[GroupColumn]:
        """Return what can be sorted by: what is shown."""
        return self.fit(self.line_width).keys

    def _errors_text(self, group: GroupRow) -> str:
        return f"{group.errors:,}" if group.errors else ""

    def _share_text(self, group: GroupRow) -> str:
        return share_text(group.errors, group.traces)

    def _newest(self, group: GroupRow) -> str:
        return moment(group.newest_ns, digits=3)

    def _incomplete_text(self, group: GroupRow) -> str:
        # What is still being read isn't incomplete yet.
        if self.is_loading or group.incomplete is None:
            return "…"
        return f"◌{group.incomplete:,}" if group.incomplete else ""

    def _root_name(self, group: GroupRow, cells: int) -> Iterator[Piece]:
        grows = group.name in self.growing and not self.is_loading
        name = "? parent not seen" if group.name is None else group.name or "(no name)"
        mark = mark_text(self.marked, (group.name,))
        room = max(0, cells - len(_BLANK) - len(mark))
        yield Piece(_GROWING if grows else _BLANK, "accent")
        yield Piece(mark, "accent")
        yield Piece(data_text(shortened(name, room), room))


def shortened(name: str, room: int) -> str:
    """Return the name of a group, of a request to Ray Serve from the word on from which on it fits: `… GET /cart/{n}`.

    What tells such names apart is at their end.

    Args:
        name: The name.
        room: The cells that there are.
    """
    if len(name) <= room or part_of_name(name) is not Part.PROXY:
        return name
    words = name.split(" ", 3)
    rests = [f"… {' '.join(words[first:])}" for first in range(1, len(words))]
    return next((rest for rest in rests if len(rest) <= room), rests[-1] if rests else name)


def share_text(part: int, whole: int) -> str:
    """Return a share in percent; only nothing is empty, and only everything is `100 %`."""
    if not part:
        return ""
    if part == whole:
        return "100 %"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f} %"


def value_of(group: GroupRow, column: GroupColumn) -> Any:
    """Return what a group is sorted by; what isn't known is less than all else."""
    value = getattr(group, _FIELDS[column])
    if column is GroupColumn.ROOT:
        return value or ""
    return -1 if value is None else value
