"""The columns of statistics: counts and times, a histogram where the list is wide, and the name of the group."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from spanview.analysis.grouping import GROUPINGS, SERVICE_AND_NAME
from spanview.display.group_text import group_text
from spanview.display.histogram import HISTOGRAM, SCALE, histogram_text
from spanview.display.units import duration
from spanview.tui.widgets.paint import data_text, fixed
from spanview.tui.widgets.table import Piece, Table, TableColumn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.analysis.stats import Group

_FIGURE: Final = 9
"""Cells of each column before the name."""
_BETWEEN: Final = 2
_WIDE: Final = 100
_LEAST_NAME: Final = 18
"""Cells that columns leave to a name, which is the last to go."""
_LEAST_BESIDE: Final = 9
"""Cells that the one leaves to it that is sorted by."""
ON_PATH: Final = "critical path"
"""Counted by names, too: how many traces have one on their critical path, and what it takes of all of them."""
OFFERED: Final = (*GROUPINGS, ON_PATH)
OF_SERVICES: Final = (GROUPINGS[0], SERVICE_AND_NAME, *OFFERED[1:])
"""What is offered where there are several services."""
_TOTAL: TableColumn[Group] = TableColumn("TOTAL", _FIGURE, lambda group: duration(group.total_ns), key="total", goes=7)
_SELF: TableColumn[Group] = TableColumn("SELF", _FIGURE, lambda group: duration(group.self_ns), key="self", goes=6)
_OF_SPANS: Final[Sequence[TableColumn[Group]]] = (
    TableColumn("COUNT", _FIGURE, lambda group: f"{group.count:,}", key="count", goes=4),
    TableColumn(
        "ERRORS", _FIGURE, lambda group: f"{group.errors:,}" if group.errors else "", "error", key="errors", goes=2
    ),
    _TOTAL,
    _SELF,
    TableColumn("P50", _FIGURE, lambda group: duration(group.p50_ns), from_width=_WIDE),
    TableColumn("P95", _FIGURE, lambda group: duration(group.p95_ns), key="p95", goes=3),
    TableColumn("MAX", _FIGURE, lambda group: duration(group.max_ns), key="max", goes=1),
    TableColumn(
        SCALE, HISTOGRAM, lambda group: histogram_text(group.histogram), "accent", gap=_BETWEEN, from_width=_WIDE
    ),
)
_OF_PATH: Final[Sequence[TableColumn[Group]]] = (
    TableColumn("TRACES", _FIGURE, lambda group: f"{group.count:,}", key="count", goes=4),
    _TOTAL,
    _SELF,
    TableColumn("WAIT", _FIGURE, lambda group: duration(group.total_ns - group.self_ns), goes=5),
)
"""Of what is on critical paths; there are no percentiles of it."""


@cache
def table_by(by: str) -> Table[Group]:
    """Return the columns of groups by something."""

    def name(group: Group, cells: int) -> Iterator[Piece]:
        yield Piece(fixed(group_text(group.key, by, cells * 2 + 2), cells))

    head = by.upper() if by in OF_SERVICES else data_text(by, 40).rstrip()
    last: TableColumn[Group] = TableColumn(head, parts=name, gap=_BETWEEN, aligns_left=True)
    return Table((*(_OF_PATH if by == ON_PATH else _OF_SPANS), last), _LEAST_NAME, least_beside=_LEAST_BESIDE)
