"""The columns of a comparison: the times that decide its order, what is counted, and further times where there is room.

SELF A  CHANGE ▾  SELF B  COUNT  ERRORS  TOTAL A  CHANGE  TOTAL B  PATH
 P50 A  CHANGE ▾   P50 B  COUNT  ERRORS   SELF A  CHANGE   SELF B  PATH      by the change of P50
FUNCTION  TOTAL A  CHANGE ▾  TOTAL B  COUNT  ERRORS  P50 A  CHANGE  P50 B    of groups, whose names are short
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.diff import PERCENTILES
from spanview.analysis.diff_groups import DiffBy
from spanview.display.diff_text import counts, errors, relative, signed_amount, times
from spanview.reports.table import Piece, Ranks, Table, TableColumn
from spanview.tui.diff.diff_model import Order
from spanview.tui.widgets.paint import name_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanview.analysis.diff import PathDiff
    from spanview.reports.table import Fit

_TIME: Final = 10
"""Cells of a time."""
_COUNT, _ERRORS = 11, 8
_DECIMALS: Final = 2
"""So many cells more take counts per trace."""
_FIGURES: Final = {"SELF": "self_ns", "TOTAL": "total_ns", "P50": "p50_ns", "P95": "p95_ns"}
"""Times by their heads, in the order in which they stand behind the first."""
_SUMS: Final = (Order.A, Order.CHANGE, Order.B)
_P50: Final = (Order.P50, Order.P50, Order.P50)
"""The orders that a time of A, its change, and that of B stand for."""
_HEADS: Final = {DiffBy.PATH: "PATH", DiffBy.NAME: "NAME", DiffBy.RAY: "FUNCTION"}
_LEAST_PATH: Final = 18
"""Cells that all else leaves to the path."""
_LEAST_BESIDE: Final = 9
"""Cells that the column leaves to it that is sorted by."""
_USUAL_PATH: Final = 36
"""Cells that further times leave to it."""


def table_in(
    order: Order,
    by: DiffBy,
    path_text: Callable[[PathDiff, int], str],
    *,
    is_per_trace: bool,
    has_errors: bool,
) -> Table[PathDiff]:
    """Return the columns of a comparison: the errors go first, the change never.

    Args:
        path_text: Returns a path in at most so many cells.
    """
    first = first_of(order, by)
    further = _further(first, by)
    count_cells = _COUNT + (_DECIMALS if is_per_trace else 0)

    def path(diff: PathDiff, cells: int) -> Iterator[Piece]:
        yield Piece(name_text(path_text(diff, cells), cells))

    is_path = by is DiffBy.PATH
    gap, behind = (2, 0) if is_path else (0, 1)
    named: TableColumn[PathDiff] = TableColumn(
        _HEADS[by], gap=gap, behind=behind, parts=path, key=Order.TREE, ranks=None
    )
    return Table(
        (
            *[named] * (not is_path),
            *_times(first, by, goes=4),
            TableColumn(
                "COUNT", count_cells, lambda diff: _numbers(counts(diff), diff.change("count"), count_cells), goes=2
            ),
            *[
                TableColumn(
                    "ERRORS",
                    _ERRORS,
                    lambda diff: _numbers(errors(diff), diff.change("errors"), _ERRORS),
                    "error",
                    goes=1,
                )
            ]
            * has_errors,
            *(column for turn, name in enumerate(further, 1) for column in _times(name, by, comes=turn)),
            *[named] * is_path,
        ),
        Order.CHANGE,
        _LEAST_PATH,
        _USUAL_PATH,
        least_beside=_LEAST_BESIDE,
    )


def first_of(order: Order, by: DiffBy) -> str:
    """Return the head of the times that decide an order."""
    return "P50" if order is Order.P50 else "SELF" if by is DiffBy.PATH else "TOTAL"


def _further(first: str, by: DiffBy) -> list[str]:
    """Return the heads of further times; runs and waits of functions have no self times."""
    return [name for name in _FIGURES if name != first and (name != "SELF" or by is not DiffBy.RAY)]


def sums_in(fit: Fit[PathDiff], order: Order, by: DiffBy) -> list[str]:
    """Return the heads of what is shown and can be per trace."""
    heads = [column.head for column, _ in fit.cells]
    shown = [name for name in ("COUNT", "ERRORS") if name in heads]
    first = first_of(order, by)
    further = [name for name in _further(first, by) if f"{name} A" in heads]
    return [name for name in (first, *shown, *further) if _FIGURES.get(name) not in PERCENTILES]


def _times(name: str, by: DiffBy, *, goes: int = 0, comes: int = 0) -> Iterator[TableColumn[PathDiff]]:
    """Yield a time of A, its change, and that of B; for the one that decides, how much that is of it, too."""
    figure = _FIGURES[name]
    orders = {first_of(Order.CHANGE, by): _SUMS, "P50": _P50}
    of_a, of_change, of_b = orders.get(name, ("",) * 3)
    # Where one order stands for all three, the change decides.
    is_marked = of_a is not of_change

    def style(diff: PathDiff) -> str:
        size, is_quicker = diff.rank(figure)
        return "" if not size else "accent" if is_quicker else "warning"

    changed = style if goes else ""
    ranks: dict[str, Any] = {"ranks": Ranks.AMOUNTS, "comes": comes}
    sides: dict[str, Any] = ranks | {"is_marked": is_marked, "goes": goes}
    yield TableColumn(f"{name} A", _TIME, lambda diff: times(diff, figure)[0], key=of_a, **sides)
    yield TableColumn("CHANGE", _TIME, lambda diff: times(diff, figure)[1], changed, key=of_change, **ranks)
    if goes:
        relation = ranks | {"is_marked": False, "goes": goes - 1}
        yield TableColumn("", 8, lambda diff: relative(diff, figure), changed, key=of_change, **relation)
    yield TableColumn(f"{name} B", _TIME, lambda diff: times(diff, figure)[2], key=of_b, **sides)


def _numbers(text: str, change: float | None, width: int) -> str:
    """Return two numbers, or how much they differ where both have no room."""
    return text if len(text) < width else signed_amount(change or 0)
