"""Two sides held against each other by call path, name or Ray function.

SELF A  CHANGE ▾  SELF B  COUNT  ERRORS  TOTAL A  CHANGE  TOTAL B  PATH
 P50 A  CHANGE ▾   P50 B  COUNT  ERRORS   SELF A  CHANGE   SELF B  PATH      by the change of P50
FUNCTION  TOTAL A  CHANGE ▾  TOTAL B  COUNT  ERRORS  P50 A  CHANGE  P50 B    of groups, whose names are short

The times that decide the order come first, then what is counted, and further times where there is room. Where sums are
compared per trace, figures are: times what they were divided by, they are the sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len

from spanview.analysis.diff import FIGURES, diff, names_of, to_json
from spanview.analysis.diff_groups import DiffBy, by_total, diff_groups, groups_of_side
from spanview.analysis.flame import located
from spanview.display.cells import name_text
from spanview.display.diff_text import Labels, counts, errors, relative, signed_amount, times
from spanview.index.tree import ROOT
from spanview.reports.report import Report
from spanview.reports.table import INTEGER, NUMBER, TEXT, TIME_NS, Piece, Ranks, Table, TableColumn, fact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from spanview.analysis.diff import Diff, PathDiff
    from spanview.analysis.flame import Located
    from spanview.index.store import Store


class Order(StrEnum):
    """What decides which path comes first."""

    CHANGE = "the change of self time"
    P50 = "the change of P50"
    B = "B's self time"
    A = "A's self time"
    TREE = "what calls what"


_TIME: Final = 10
"""Cells of a time."""
_COUNT, _ERRORS = 11, 8
_DECIMALS: Final = 2
"""So many cells more take counts per trace."""
_FIGURES: Final = {"SELF": "self_ns", "TOTAL": "total_ns", "P50": "p50_ns", "P95": "p95_ns"}
"""Times by their heads, in the order in which they stand behind the first."""
_NAMES: Final = {
    "count": ("count", "how many spans there are"),
    "errors": ("errors", "how many spans failed"),
    "self_ns": ("self_time_ns", "the sum of the times in which nothing below a span ran"),
    "total_ns": ("duration_ns.total", "the sum of the durations"),
    "p50_ns": ("duration_ns.p50", "the median of the durations"),
    "p95_ns": ("duration_ns.p95", "the 95th percentile of the durations"),
}
"""What JSON calls figures, and what they are."""
_TOTALS: Final = {figure: figure for figure in ("traces", "spans", "errors", "missing_parents")} | {
    figure: _NAMES[figure][0] for figure in _FIGURES.values()
}
"""What JSON calls totals, by the fields of `Totals`."""
_WERE: Final = {"a.spans": "totals.spans.a", "delta.spans": "totals.spans.change", "ratio.spans": "totals.spans.ratio"}
_SUMMED: Final = {"SELF": "SELF A", "TOTAL": "TOTAL A", "COUNT": "COUNT", "ERRORS": "ERRORS"}
"""The heads of what can be per trace."""
_WHAT: Final = {"a": "A", "b": "B", "change": "B - A", "ratio": "B ÷ A"}
"""What JSON says of a figure."""
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
_USUAL_PRINTED: Final = 60
"""The same of a path that is printed, which no line repeats as a whole."""
_LONGEST_PATH: Final = 1000
"""Cells of a path that is printed."""
_SIDES: Final = {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}}


def comparison_table(  # noqa: PLR0913 - what is compared, and how it is shown
    order: Order,
    by: DiffBy,
    path_text: Callable[[PathDiff, int], str],
    *,
    is_per_trace: bool = False,
    has_errors: bool = True,
    wants: Callable[[PathDiff], int] | None = None,
) -> Table[PathDiff]:
    """Return the columns of a comparison: the errors go first, the change never.

    Args:
        path_text: Returns a path in at most so many cells.
        wants: Returns the cells of a path; None for all that there are.
    """
    first = first_of(order, by)

    def path(diff: PathDiff, cells: int) -> Iterator[Piece]:
        yield Piece(name_text(path_text(diff, cells), cells))

    is_path, count_cells = by is DiffBy.PATH, _COUNT + (_DECIMALS if is_per_trace else 0)
    gap, behind = (2, 0) if is_path else (0, 1)
    named: TableColumn[PathDiff] = TableColumn(
        _HEADS[by], gap=gap, behind=behind, parts=path, wants=wants, key=Order.TREE, ranks=None
    )
    figures = (
        *_times(first, by, goes=4),
        _counted("COUNT", "count", counts, count_cells, goes=2),
        _counted("ERRORS", "errors", errors, _ERRORS, style="error", goes=1, is_shown=has_errors),
        *(column for turn, name in enumerate(_further(first, by), 1) for column in _times(name, by, comes=turn)),
    )
    shown = {column.name for column in figures}
    others = (_of(figure, what) for figure in _NAMES for what in _WHAT)
    return Table(
        (
            *(figures if is_path else (named, *figures)),
            *[named] * is_path,
            *_facts(),
            *(fact(**(of | _without(by, of))) for of in others if of["name"] not in shown),
        ),
        Order.CHANGE,
        _LEAST_PATH,
        _USUAL_PATH,
        least_beside=_LEAST_BESIDE,
    )


@dataclass(frozen=True)
class ComparedSide:
    """One of the two that are compared."""

    store: Store
    traces: Sequence[int] | None
    """Numbers of its traces; None for all."""

    @cached_property
    def paths(self) -> Located:
        """Its call paths."""
        return located(self.store, self.traces)

    def groups(self, by: DiffBy) -> Located:
        """Return its groups, which may be its call paths."""
        return self.paths if by is DiffBy.PATH else groups_of_side(self.store, by, self.paths.flame, self.traces)


def compared(
    a: ComparedSide, b: ComparedSide, by: DiffBy, groups: Sequence[Located], *, are_traces: bool = False
) -> tuple[Diff, Sequence[PathDiff]]:
    """Return two sides merged, and their paths or groups: what has changed most comes first.

    Args:
        groups: Of both sides.
        are_traces: Whether both are one trace.
    """
    of_a, of_b = (side.flame for side in groups)
    if by is DiffBy.PATH:
        merged = diff(of_a, of_b, are_traces=are_traces)
        return merged, merged.by_change()
    merged = diff_groups((a.paths.flame, of_a), (b.paths.flame, of_b))
    return merged, by_total(merged)


def comparison_report(merged: Diff, paths: Sequence[PathDiff], by: DiffBy, head: Mapping[str, Any]) -> Report[PathDiff]:
    """Return a comparison.

    Args:
        paths: Those of it, in their order.
        head: What the document says of the sides.
    """
    labels = Labels(merged)
    table = comparison_table(
        Order.CHANGE,
        by,
        labels.path,
        is_per_trace=merged.is_per_trace,
        has_errors=any(map(errors, paths)),
        wants=lambda path: cell_len(labels.path(path, _LONGEST_PATH)),
    )
    names: TableColumn[PathDiff] = fact(
        "path",
        "the names from the root on, the last ones where there are very many",
        {"type": "array", "items": TEXT},
        lambda path: names_of(merged, path),
    )
    table = table._replace(columns=(*table.columns, names), usual=_USUAL_PRINTED)
    figures = [figure for figure in FIGURES if by is not DiffBy.RAY or figure != "self_ns"]
    was = partial(to_json, merged, figures=figures)
    head = {"by": by.value, **head, "totals": _totals(merged)}
    return Report("comparison", table, paths, head, "paths", row_was=was, head_was=_WERE)


def _totals(merged: Diff) -> dict[str, Any]:
    """Return the totals of both sides, their changes and ratios, named as those of a path."""
    document: dict[str, Any] = {}
    for figure, name in _TOTALS.items():
        place = document
        for part in name.split("."):
            place = place.setdefault(part, {})
        place |= {"a": getattr(merged.a, figure), "b": getattr(merged.b, figure)}
        place |= {"change": merged.change(figure), "ratio": merged.ratio(figure)}
    return document


def _of(figure: str, what: str) -> dict[str, Any]:
    """Return what JSON says of one side of a figure, or of its change, as `TableColumn` takes it."""
    name, meaning = _NAMES[figure]

    def value(path: PathDiff) -> float | None:
        if what in {"change", "ratio"}:
            return path.change(figure) if what == "change" else path.ratio(figure)
        side = "ab".index(what)
        return None if (path.a, path.b)[side] is None else path.compared(figure)[side]

    return {"name": f"{name}.{what}", "meaning": f"{meaning}: {_WHAT[what]}", "schema": NUMBER, "json": value}


def _without(by: DiffBy, of: Mapping[str, Any]) -> dict[str, Any]:
    """Return that the runs of functions have no self time."""
    is_known = by is not DiffBy.RAY or not of["name"].startswith(_NAMES["self_ns"][0])
    return {} if is_known else {"json": lambda _: None}


def _counted(head: str, figure: str, text: Callable[[PathDiff], str], width: int, **more: Any) -> TableColumn[PathDiff]:
    """Return a column of how many of both sides; of the change alone where there is no room for both."""

    def numbers(diff: PathDiff) -> str:
        both = text(diff)
        return both if len(both) < width else signed_amount(diff.change(figure) or 0)

    return TableColumn(head, width, numbers, **_of(figure, "change"), **more)


def _facts() -> Iterator[TableColumn[PathDiff]]:
    """Yield what only JSON says of a path."""
    yield fact("number", "its number, greater than that of the path above", INTEGER, attrgetter("number"))
    yield fact(
        "parent",
        "the number of the path above; null for a root",
        TIME_NS,
        lambda path: None if path.parent == ROOT else path.parent,
    )
    yield fact("depth", "how many paths are above", INTEGER, attrgetter("depth"))
    yield fact("name", "the name of its spans; null for parents that are in no file", TEXT, attrgetter("name"))
    yield fact("service", "the service of its spans", TEXT, attrgetter("service"))
    yield fact("only_in", "a or b where one side alone has it", TEXT, attrgetter("only_in"))
    yield fact(
        "divided_by", "what its sums were divided by", _SIDES, lambda path: dict(zip("ab", path.parts, strict=True))
    )


def first_of(order: Order, by: DiffBy) -> str:
    """Return the head of the times that decide an order."""
    return "P50" if order is Order.P50 else "SELF" if by is DiffBy.PATH else "TOTAL"


def sums_in(heads: str) -> list[str]:
    """Return what of a line of heads can be per trace, from the left."""
    places = {name: heads.find(head) for name, head in _SUMMED.items()}
    return sorted((name for name, place in places.items() if place >= 0), key=lambda name: places[name])


def _times(name: str, by: DiffBy, *, goes: int = 0, comes: int = 0) -> Iterator[TableColumn[PathDiff]]:
    """Yield a time of A, its change, and that of B; for the one that decides, how much that is of it, too."""
    figure = _FIGURES[name]
    orders = {first_of(Order.CHANGE, by): _SUMS, "P50": _P50}
    of_a, of_change, of_b = orders.get(name, ("",) * 3)
    # Where one order stands for all three, the change decides.
    is_marked = of_a is not of_change

    def style(diff: PathDiff) -> str:
        size, is_quicker = diff.rank(figure)
        return "" if not size else "better" if is_quicker else "warning"

    changed = style if goes else ""
    ranks: dict[str, Any] = {"ranks": Ranks.AMOUNTS, "comes": comes}
    sides: dict[str, Any] = ranks | {"is_marked": is_marked, "goes": goes}
    change, relation = ranks | _of(figure, "change"), ranks | _of(figure, "ratio")
    of_sides = [sides | _of(figure, side) for side in "ab"]
    yield TableColumn(f"{name} A", _TIME, lambda diff: times(diff, figure)[0], key=of_a, **of_sides[0])
    yield TableColumn("CHANGE", _TIME, lambda diff: times(diff, figure)[1], changed, key=of_change, **change)
    if goes:
        relation |= {"is_marked": False, "goes": goes - 1}
        yield TableColumn("", 8, lambda diff: relative(diff, figure), changed, key=of_change, **relation)
    yield TableColumn(f"{name} B", _TIME, lambda diff: times(diff, figure)[2], key=of_b, **of_sides[1])


def _further(first: str, by: DiffBy) -> list[str]:
    """Return the heads of further times; runs and waits of functions have no self times."""
    return [name for name in _FIGURES if name != first and (name != "SELF" or by is not DiffBy.RAY)]
