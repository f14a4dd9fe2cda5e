"""Numbers of an attribute, such as tokens or bytes: sums and percentiles by group."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from spanview.analysis.amounts import Amounts, amounts
from spanview.display.cells import data_text
from spanview.display.group_text import group_text
from spanview.reports.report import Report
from spanview.reports.table import Table, counted, fact, name_column
from spanview.reports.table import amounts as amounts_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.index.store import Store

_WIDTH: Final = 12
_LEAST_NAME, _USUAL_NAME = 24, 48
"""Cells of a name for which figures go, and with which further ones come."""
_FIGURES: Final = {
    "total": ("the sum", {}),
    "min": ("the smallest", {"goes": 2}),
    "p50": ("the median", {}),
    "p95": ("the 95th percentile", {}),
    "p99": ("the 99th percentile", {"comes": 1}),
    "max": ("the greatest", {"goes": 1}),
}
"""By their names in JSON: what they mean, and when they come or go."""


def _group_name(by: str, group: Amounts) -> str:
    return group_text(group.key, by)


def report_of(groups: Sequence[Amounts], attribute: str, by: str = "name") -> Report[Amounts]:
    """Return the report of numbers that were added up already."""
    head = by.upper() if by == "name" else data_text(by, 40).rstrip()
    table = Table(
        (
            name_column(head, partial(_group_name, by)),
            fact("key", "what the spans have in common", {"type": ["string", "null"]}, lambda group: group.key),
            counted("COUNT", "count", "how many numbers there are", lambda group: group.count),
            *(
                amounts_column(figure.upper(), f"value.{figure}", meaning, attrgetter(figure), width=_WIDTH, **turns)
                for figure, (meaning, turns) in _FIGURES.items()
            ),
        ),
        "total",
        _LEAST_NAME,
        _USUAL_NAME,
    )
    return Report("values", table, table.in_order(groups), {"by": by, "attribute": attribute})


def values_report(
    store: Store, attribute: str, by: str = "name", traces: Sequence[int] | None = None
) -> Report[Amounts]:
    """Return the numbers of an attribute; arguments and errors are those of `amounts`."""
    return report_of(amounts(store, attribute, by, traces), attribute, by)
