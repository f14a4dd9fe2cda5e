"""Traces by root name: a line a name, with as many columns as there is room for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.serve import Part, part_of_name
from spanview.display.histogram import HISTOGRAM, SCALE, histogram_text
from spanview.display.units import duration, moment
from spanview.tui.diff.side import mark_text
from spanview.tui.traces.columns import GroupColumn
from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.paint import data_text, fixed, line, right

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from rich.segment import Segment
    from rich.style import Style

    from spanview.tui.diff.side import Side
    from spanview.tui.traces.groups_model import GroupRow

_GROWING: Final = "● "
_WIDTHS: Final = {
    GroupColumn.TRACES: 9,
    GroupColumn.ERRORS: 7,
    GroupColumn.SHARE: 7,
    GroupColumn.INCOMPLETE: 6,
    GroupColumn.P50: 9,
    GroupColumn.P95: 9,
    GroupColumn.P99: 9,
    GroupColumn.MAX: 9,
    GroupColumn.TOTAL: 10,
    GroupColumn.NEWEST: 25,
}
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
_ALWAYS: Final = frozenset(_WIDTHS) - {GroupColumn.P99, GroupColumn.TOTAL, GroupColumn.NEWEST}
_LEAST_ROOT, _USUAL_ROOT = 18, 28
"""Cells that names have before a column goes for them, and before another one comes."""
_GIVING_WAY: Final = (
    *(GroupColumn.SHARE, GroupColumn.INCOMPLETE, GroupColumn.P50, GroupColumn.MAX),
    *(GroupColumn.ERRORS, GroupColumn.P95, GroupColumn.TRACES),
)
"""What goes where a name would have too little room, the first first."""
_BETWEEN: Final = 2
_HISTOGRAM: Final = HISTOGRAM + _BETWEEN


@dataclass(frozen=True, slots=True)
class GroupWidths:
    """The columns of the groups at one width."""

    columns: tuple[GroupColumn, ...]
    """Those before the histogram; `NEWEST` and `ROOT` come behind it."""
    has_histogram: bool
    has_newest: bool
    root: int

    @classmethod
    def of(cls, width: int) -> GroupWidths:
        """Return the columns for a list `width` cells wide: names keep some room, the rest comes as it fits."""
        left = width - sum(_WIDTHS[column] for column in _ALWAYS) - _BETWEEN - len(_GROWING)
        shown, has_histogram = set(_ALWAYS), False
        for column in (GroupColumn.P99, None, GroupColumn.TOTAL, GroupColumn.NEWEST):
            cells = _HISTOGRAM if column is None else _WIDTHS[column]
            if left - cells < _USUAL_ROOT:
                break
            left -= cells
            if column is None:
                has_histogram = True
            else:
                shown.add(column)
        for column in _GIVING_WAY:
            if left < _LEAST_ROOT:
                shown.remove(column)
                left += _WIDTHS[column]
        columns = tuple(column for column in _WIDTHS if column in shown and column is not GroupColumn.NEWEST)
        return cls(columns, has_histogram, GroupColumn.NEWEST in shown, max(1, left))

    @property
    def sortable(self) -> tuple[GroupColumn, ...]:
        """What is shown, from left to right."""
        return (*self.columns, *[GroupColumn.NEWEST] * self.has_newest, GroupColumn.ROOT)


class GroupList(LineList):
    """A line a root name."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.groups: list[GroupRow] = []
        self.sort = GroupColumn.TRACES
        self.descending = True
        self.growing: Collection[str | None] = ()
        """Names of groups in which a trace has grown lately."""
        self.is_loading = True
        self.marked: Side | None = None
        """What is to be compared."""

    @property
    def selected(self) -> GroupRow | None:
        """The group under the cursor."""
        return self.groups[self.cursor] if self.cursor < len(self.groups) else None

    def show(self, groups: Sequence[GroupRow]) -> None:
        """Take in other groups; the cursor stays on its name, and on its place on the screen, or at the top."""
        was_at = self.cursor
        before = self.selected if was_at or self.scroll_offset.y else None
        self.groups = self._in_order(groups)
        cursor = next((at for at, group in enumerate(self.groups) if before and group.name == before.name), 0)
        self.rows_have_changed(len(groups), cursor)
        self.keep_in_place(cursor - was_at if before and self.scroll_offset.y else 0)

    def sort_by(self, column: GroupColumn, *, descending: bool) -> None:
        """Sort by a column; who is at the top stays there, else the cursor stays on its group."""
        is_at_top, before = self.cursor == 0, self.selected
        self.sort, self.descending = column, descending
        self.groups = self._in_order(self.groups)
        self.rows_have_changed(len(self.groups), 0 if is_at_top or before is None else self.groups.index(before))
        self.reveal()

    def _in_order(self, groups: Sequence[GroupRow]) -> list[GroupRow]:
        column = self.sort
        return sorted(groups, key=lambda group: value_of(group, column), reverse=self.descending)

    def columns(self) -> tuple[GroupColumn, ...]:
        """Return what can be sorted by: what is shown."""
        return GroupWidths.of(self.line_width).sortable

    def heads(self, width: int) -> list[tuple[str, GroupColumn | None]]:
        """Return the heads of the columns, with an arrow at the one that is sorted by; None sorts by nothing.

        Args:
            width: The cells of a line; the list has no size of its own before it is shown.
        """
        widths = GroupWidths.of(width)
        heads: list[tuple[str, GroupColumn | None]] = [
            (right(self._head(column), _WIDTHS[column]), column) for column in widths.columns
        ]
        if widths.has_histogram:
            heads.append((" " * _BETWEEN + fixed(SCALE, HISTOGRAM), None))
        if widths.has_newest:
            newest = self._head(GroupColumn.NEWEST)
            heads.append((" " * _BETWEEN + fixed(newest, _WIDTHS[GroupColumn.NEWEST] - _BETWEEN), GroupColumn.NEWEST))
        root = " " * (_BETWEEN + len(_GROWING)) + self._head(GroupColumn.ROOT)
        heads.append((root.ljust(_BETWEEN + len(_GROWING) + widths.root), GroupColumn.ROOT))
        return heads

    def _head(self, column: GroupColumn) -> str:
        arrow = "▾" if self.descending else "▴"
        return f"{column.value} {arrow}" if column is self.sort else column.value

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one group's line."""
        group, widths = self.groups[row], GroupWidths.of(width)
        styles = {
            GroupColumn.ERRORS: self.paint_style("error"),
            GroupColumn.SHARE: self.paint_style("error"),
            GroupColumn.INCOMPLETE: self.paint_style("warning"),
        }
        parts: list[tuple[str, Style | None]] = [
            (right(self._text(group, column), _WIDTHS[column]), styles.get(column)) for column in widths.columns
        ]
        if widths.has_histogram:
            parts.append((" " * _BETWEEN + histogram_text(group.histogram), self.paint_style("accent")))
        if widths.has_newest:
            newest = fixed(moment(group.newest_ns, digits=3), _WIDTHS[GroupColumn.NEWEST] - _BETWEEN)
            parts.append((" " * _BETWEEN + newest, self.paint_style("dim")))
        grows = group.name in self.growing and not self.is_loading
        parts.append((" " * _BETWEEN + (_GROWING if grows else " " * len(_GROWING)), self.paint_style("accent")))
        name = "? parent not seen" if group.name is None else group.name or "(no name)"
        mark = mark_text(self.marked, (group.name,))
        room = max(0, widths.root - len(mark))
        parts += [(mark, self.paint_style("accent")), (data_text(shortened(name, room), room), None)]
        return line(parts)

    def _text(self, group: GroupRow, column: GroupColumn) -> str:
        if column is GroupColumn.TRACES:
            return f"{group.traces:,}"
        if column is GroupColumn.ERRORS:
            return f"{group.errors:,}" if group.errors else ""
        if column is GroupColumn.SHARE:
            return share_text(group.errors, group.traces)
        if column is GroupColumn.INCOMPLETE:
            # What is still being read isn't incomplete yet.
            if self.is_loading or group.incomplete is None:
                return "…"
            return f"◌{group.incomplete:,}" if group.incomplete else ""
        return duration(value if (value := value_of(group, column)) >= 0 else None)


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
