"""Traces by root name: a line a name, with as many columns as there is room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from spanview.analysis.ray.names import names_in_list
from spanview.analysis.serve.requests import Part, name_of_trace, part_of_name
from spanview.display.histogram import HISTOGRAM, SCALE, histogram_text
from spanview.display.sanitise import sanitise
from spanview.display.units import count_or_blank, lasted, moment
from spanview.index.lives import most_open
from spanview.reports.table import Piece, Ranks, Table, TableColumn
from spanview.tui.diff.side import mark_text
from spanview.tui.traces.groups_model import GroupRow
from spanview.tui.widgets.paint import name_text
from spanview.tui.widgets.table import TableList

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from spanview.tui.diff.side import ComparedSide

_GROWING, _BLANK = "● ", "  "
_LEAST_ROOT, _USUAL_ROOT = 24, 36
"""Cells that names have before a column goes for them, and before another one comes."""


class GroupList(TableList[GroupRow]):
    """A line a root name."""

    def __init__(self, **arguments: Any) -> None:
        columns: Sequence[TableColumn[GroupRow]] = (
            TableColumn(
                f"{_BLANK}ROOT",
                parts=self._root_name,
                wants=self._name_cells,
                key="root name",
                value=lambda group: None if group.name is None else self.called(group),
                ranks=Ranks.NAMES,
            ),
            TableColumn(
                "TRACES", 9, lambda group: f"{group.traces:,}", key="traces", value=lambda group: group.traces, goes=7
            ),
            TableColumn(
                "FAILED", 8, self._failed_text, "error", key="failed", value=lambda group: group.failed, goes=5
            ),
            TableColumn(
                "FAILED%", 9, self._share_text, "error", key="share failed", value=lambda group: group.share, goes=1
            ),
            TableColumn(
                "INCOMPLETE",
                13,
                self._incomplete_text,
                "warning",
                key="incomplete traces",
                value=lambda group: group.incomplete,
                goes=2,
            ),
            _time("P50", lambda group: group.p50_ns, goes=3),
            _time("P95", lambda group: group.p95_ns, goes=6),
            _time("P99", lambda group: group.p99_ns, comes=1),
            _time("MAX", lambda group: group.max_ns, goes=4),
            _time("TOTAL", lambda group: group.total_ns, total_text, comes=3),
            TableColumn(SCALE, HISTOGRAM, lambda group: histogram_text(group.histogram), "accent", gap=2, comes=2),
            TableColumn(
                "NEWEST",
                23,
                self._newest,
                "dim",
                gap=2,
                aligns_left=True,
                key="newest start",
                value=lambda group: group.newest_ns,
                ranks=Ranks.MOMENTS,
                comes=4,
            ),
        )
        least, usual, floor = (len(_BLANK) + cells for cells in (_LEAST_ROOT, _USUAL_ROOT, 1))
        table = Table(columns, "traces", least=least, usual=usual, least_beside=least, floor=floor)
        super().__init__(table, lambda group: group.name, **arguments)
        self.growing: Collection[str | None] = ()
        """Names of groups in which a trace has grown lately."""
        self.is_loading = True
        self.marked: ComparedSide | None = None
        """What is to be compared."""
        self._short: Mapping[str, str] = {}
        """What Ray's functions are called here."""

    def update(self, groups: Sequence[GroupRow]) -> None:
        """Take in other groups; the cursor stays on its name, and on its place on the screen, or at the top."""
        was_at = self.cursor
        before = self.selected if was_at or self.scroll_offset.y else None
        self._short = names_in_list([group.name for group in groups if group.name])
        self.take(groups)
        cursor = next((row for row, group in enumerate(self.items) if before and group.name == before.name), 0)
        self.rows_have_changed(len(groups), cursor)
        self.keep_in_place(cursor - was_at if before and self.scroll_offset.y else 0)

    def _failed_text(self, group: GroupRow) -> str:
        return count_or_blank(group.failed)

    def _share_text(self, group: GroupRow) -> str:
        return share_text(group.failed, group.traces)

    def _newest(self, group: GroupRow) -> str:
        return moment(group.newest_ns, digits=3)

    def _incomplete_text(self, group: GroupRow) -> str:
        # What is still being read isn't incomplete yet.
        if self.is_loading or group.incomplete is None:
            return "…"
        return f"◌{group.incomplete:,}" if group.incomplete else ""

    def _root_name(self, group: GroupRow, cells: int) -> Iterator[Piece]:
        grows = group.name in self.growing and not self.is_loading
        name = self.called(group)
        mark = mark_text(self.marked, (group.name,))
        room = max(0, cells - len(_BLANK) - len(mark))
        yield Piece(_GROWING if grows else _BLANK, "accent")
        yield Piece(mark, "accent")
        yield Piece(name_text(shortened(name, room) if part_of_name(group.name or "") is Part.PROXY else name, room))

    def _name_cells(self, group: GroupRow) -> int:
        return len(_BLANK) + len(mark_text(self.marked, (group.name,))) + cell_len(sanitise(self.called(group)))

    def called(self, group: GroupRow) -> str:
        """Return the name of a group as it is shown, from a file."""
        if group.name is None:
            return "? no root seen"
        return name_of_trace(self._short.get(group.name, group.name)) or "(no name)"


def figure_text(group: GroupRow, ns: int | None) -> str:
    """Return the duration of one of a group's traces, so far where that runs, at least where its end was lost."""
    return lasted(ns, None if ns is None else group.open_ns.get(ns))


def total_text(group: GroupRow, ns: int | None) -> str:
    """Return the total of a group, so far where one of its traces runs, at least where an end was lost."""
    return lasted(ns, most_open(group.open_ns.values()) if group.open_ns else None)


def _time(
    head: str,
    ns_of: Callable[[GroupRow], int | None],
    text: Callable[[GroupRow, int | None], str] = figure_text,
    **more: Any,
) -> TableColumn[GroupRow]:
    return TableColumn(
        head,
        10,
        lambda group: text(group, ns_of(group)),
        key=head.lower(),
        value=ns_of,
        ranks=Ranks.TIMES,
        **more,
    )


def shortened(request: str, room: int) -> str:
    """Return the name of a request to Ray Serve from the word on from which on it fits: `… /cart/{n}`.

    What tells such names apart is at their end.
    """
    words = request.split(" ", 2)
    rests = [request, *(f"… {' '.join(words[first:])}" for first in range(1, len(words)))]
    return next((rest for rest in rests if len(rest) <= room), rests[-1])


def share_text(part: int, whole: int) -> str:
    """Return a share in percent; only nothing is empty, and only everything is `100 %`."""
    if not part:
        return ""
    if part == whole:
        return "100 %"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f} %"
