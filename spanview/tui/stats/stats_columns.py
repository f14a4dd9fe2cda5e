"""The columns of statistics: the name of the group, counts and times, and a histogram where the list is wide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.grouping import GROUPINGS, SERVICE_AND_NAME
from spanview.display.histogram import HISTOGRAM, SCALE, histogram_text
from spanview.display.units import count_or_blank, duration
from spanview.tui.widgets.paint import data_text
from spanview.tui.widgets.table import Ranks, Table, TableColumn, name_column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.analysis.stats import Group

_COUNT, _TIME = 9, 10
"""Cells of a count, and of a time."""
_LEAST_NAME, _USUAL_NAME = 24, 48
"""Cells of a name for which figures go, and with which further ones come."""
_LEAST_BESIDE: Final = 9
"""Cells that the column leaves to it that is sorted by."""
ON_PATH: Final = "critical path"
"""Counted by names, too: how many traces have one on their critical path, and what it takes of all of them."""
OFFERED: Final = (*GROUPINGS, ON_PATH)
OF_SERVICES: Final = (GROUPINGS[0], SERVICE_AND_NAME, *OFFERED[1:])
"""What is offered where there are several services."""


def _counted(head: str, count_of: Callable[[Group], int], **more: Any) -> TableColumn[Group]:
    return TableColumn(
        head, _COUNT, lambda group: count_or_blank(count_of(group)), key=head.lower(), value=count_of, **more
    )


def _timed(head: str, ns_of: Callable[[Group], int | None], **more: Any) -> TableColumn[Group]:
    return TableColumn(
        head,
        _TIME,
        lambda group: duration(ns_of(group)),
        key=head.lower(),
        value=ns_of,
        ranks=Ranks.TIMES,
        **more,
    )


_TOTAL: Final = _timed("TOTAL", lambda group: group.total_ns, goes=7)
_SELF: Final = _timed("SELF", lambda group: group.self_ns, goes=6)
_OF_SPANS: Final[Sequence[TableColumn[Group]]] = (
    _counted("COUNT", lambda group: group.count, goes=4),
    _counted("ERRORS", lambda group: group.errors, style="error", goes=2),
    _TOTAL,
    _SELF,
    _timed("P50", lambda group: group.p50_ns, comes=1),
    _timed("P95", lambda group: group.p95_ns, goes=3),
    _timed("P99", lambda group: group.p99_ns, comes=3),
    _timed("MAX", lambda group: group.max_ns, goes=1),
    TableColumn(SCALE, HISTOGRAM, lambda group: histogram_text(group.histogram), "accent", gap=2, comes=2),
)
_OF_PATH: Final[Sequence[TableColumn[Group]]] = (
    _counted("TRACES", lambda group: group.count, goes=4),
    _TOTAL,
    _SELF,
    _timed("WAIT", lambda group: group.total_ns - group.self_ns, goes=5),
)
"""Of what is on critical paths; there are no percentiles of it."""


def table_by(by: str, called: Callable[[Group], str]) -> Table[Group]:
    """Return the columns of groups by something; `called` returns what one is called, safe to print."""
    head = by.upper() if by in OF_SERVICES else data_text(by, 40).rstrip()
    name: TableColumn[Group] = name_column(head, called)
    figures = _OF_PATH if by == ON_PATH else _OF_SPANS
    return Table((name, *figures), "total", _LEAST_NAME, _USUAL_NAME, least_beside=_LEAST_BESIDE)
