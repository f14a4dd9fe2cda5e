"""How two sides differ, in the orders that the screen has, and the spans behind a path: pure, a function of the store.

by change     what has changed most first: the sum of its self times, or the P50 of its durations; of groups, that of
              their durations
by time       what takes longest on one side first
as a tree     each path below the one that it is called by, of siblings the slower first
"""

from __future__ import annotations

from functools import partial
from heapq import merge
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.diff import diff, rank_of_change
from spanview.analysis.diff_groups import DiffBy, diff_groups, of_runs, rank_of_total
from spanview.analysis.failures import failed_with
from spanview.analysis.ray.call_groups import CallsBy, call_group_names
from spanview.analysis.ray.names import names_in_list
from spanview.analysis.stats import slowest
from spanview.analysis.telling import part, unheard
from spanview.display.diff_text import PER_TRACE, Labels
from spanview.display.units import count
from spanview.index.tree import ROOT
from spanview.reports.comparison import Order
from spanview.tui.flame.flame_model import PathTree
from spanview.tui.stats.spans_screen import Spans

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.analysis.diff import Diff, PathDiff
    from spanview.analysis.flame import Located
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store

_MATCHED: Final = 0.4
"""The share of the work until the paths are matched."""
_PIECE: Final = 10_000
_A, _B = 0, 1


class DiffModel:
    """Two sides, path by path.

    Args:
        groups: A and B by names or functions, if these are compared.
        are_traces: Whether each is one chosen trace.
    """

    def __init__(  # noqa: PLR0913 - what is compared, and how
        self,
        store: Store,
        sides: tuple[Located, Located],
        tell: Tell = unheard,
        *,
        groups: tuple[Located, Located] | None = None,
        by: DiffBy = DiffBy.PATH,
        are_traces: bool = False,
    ) -> None:
        self._store = store
        self._sides = groups or sides
        self.by = by
        (a, b), (of_a, of_b) = sides, self._sides
        self.diff: Diff = (
            diff(a.flame, b.flame, part(tell, 0.0, _MATCHED), are_traces=are_traces)
            if groups is None
            else diff_groups((a.flame, of_a.flame), (b.flame, of_b.flame))
        )
        self.labels = Labels(self.diff)
        """Of paths by their whole names."""
        self.short_labels = Labels(self.diff, self._short_names())
        """Of paths by the names that lists have for Ray's functions."""
        self.has_errors = any(side is not None and side.errors for path in self.diff.paths for side in (path.a, path.b))
        """Whether a span of either side has one."""
        self._tree = PathTree(self.diff.paths)
        self.orders: dict[Order, Sequence[PathDiff]] = {}
        """The paths in each order."""
        orders = _ORDERS if groups is None else _ORDERS_OF_GROUPS
        for order, arrange in orders.items():
            tell(_MATCHED + (1 - _MATCHED) * len(self.orders) / len(orders))
            self.orders[order] = arrange(self.diff.paths)

    def _short_names(self) -> dict[str, str]:
        sides = [[path.name for path in side.flame.paths if path.name is not None] for side in self._sides]
        names = {*chain.from_iterable(sides)}
        if self.by is DiffBy.RAY:
            return call_group_names(names, CallsBy.FUNCTION)
        short = names_in_list(names)
        # Two traces' roots may be one path: `batch 0 → batch 1`.
        roots = [*dict.fromkeys(side[0] for side in sides if side)]
        return short | {" → ".join(roots): " → ".join(dict.fromkeys(short.get(root, root) for root in roots))}

    def name_of(self, order: Order) -> str:
        """Return what decides an order, in words."""
        is_sum = order in {Order.CHANGE, Order.A, Order.B}
        text = order.value if self.by is DiffBy.PATH else order.value.replace("self time", "total time")
        return f"{text} {PER_TRACE}" if is_sum and self.diff.is_per_trace else text

    @property
    def count_text(self) -> str:
        """How many are compared, in words."""
        waits = sum(path.depth > 0 for path in self.diff.paths) if self.by is DiffBy.RAY else 0
        return count(len(self.diff.paths) - waits, _COMPARED[self.by])

    def same_path(self, before: DiffModel, path: PathDiff) -> PathDiff | None:
        """Return the path that is called like one of another comparison; None where there is none."""
        same = self._tree.path_of(before._tree.names(path.number))
        return None if same == ROOT else self.diff.paths[same]

    def failed_of(self, path: PathDiff) -> set[int]:
        """Return the rows of the failed spans of a path, of both sides."""
        return {row for side, wanted in self._numbers_of(path) for row in failed_with(self._store, side.column, wanted)}

    def _numbers_of(self, path: PathDiff) -> list[tuple[Located, set[int]]]:
        """Return the numbers that a path has on A and on B; waits are no spans, and stand for what waited."""
        counted = path.parent if self.by is DiffBy.RAY and path.depth else path.number
        return [
            (side, {position for position, number in enumerate(numbers) if number == counted})
            for side, numbers in zip(self._sides, self.diff.numbers, strict=True)
        ]

    def spans_of(self, path: PathDiff, most: int) -> Spans:
        """Return the spans of a path that have a duration, of both sides."""
        sides: dict[int, str] = {}
        for letter, (side, wanted) in zip("AB", self._numbers_of(path), strict=True):
            for row in slowest(self._store, side.column, wanted, None, most):
                # A trace can be among those of both sides.
                sides[row] = f"{sides[row]} {letter}" if row in sides else letter
        spans = self._store.spans
        rows = sorted(sides, key=lambda row: (spans.start_ns[row] - spans.end_ns[row], row))
        return Spans(rows[:most], sides)


_COMPARED: Final = {DiffBy.PATH: "call path", DiffBy.NAME: "name", DiffBy.RAY: "function"}


def _sorted(paths: Sequence[PathDiff], rank: Callable[[PathDiff], Any]) -> list[PathDiff]:
    """Sort in pieces: one sort of very many would let no other thread go on meanwhile."""
    pieces = [sorted(paths[first : first + _PIECE], key=rank) for first in range(0, len(paths), _PIECE)]
    return pieces[0] if len(pieces) == 1 else [*merge(*pieces, key=rank)]


def _amount(path: PathDiff, figure: str, side: int) -> float:
    """Return a sum of one side as it is compared, less than all others where that side hasn't got the path."""
    return -1 if (path.a, path.b)[side] is None else path.compared(figure)[side] or 0


def _rank_of_runs(paths: Sequence[PathDiff], side: int, path: PathDiff) -> tuple[float, int, int]:
    """Return the sort key of a path with those that take longest first, and waits behind what waited."""
    runs = of_runs(paths, path)
    return -_amount(runs, "total_ns", side), runs.number, path.depth


def _rank_of_p50(path: PathDiff) -> tuple[bool, tuple[float, bool], int]:
    return path.change("p50_ns") is None, path.rank("p50_ns"), path.number


def _as_tree(paths: Sequence[PathDiff]) -> list[PathDiff]:
    below: dict[int, list[PathDiff]] = {}
    for path in paths:
        below.setdefault(path.parent, []).append(path)

    def quicker(path: PathDiff) -> tuple[float, int]:
        return max(amount or 0 for amount in path.compared("total_ns")), -path.number

    ordered: list[PathDiff] = []
    # The last comes first from the stack.
    pending = _sorted(below.get(ROOT, ()), quicker)
    while pending:
        path = pending.pop()
        ordered.append(path)
        pending += _sorted(below.get(path.number, ()), quicker)
    return ordered


_ORDERS: Final[dict[Order, Callable[[Sequence[PathDiff]], list[PathDiff]]]] = {
    Order.CHANGE: lambda paths: _sorted(paths, rank_of_change),
    Order.P50: lambda paths: _sorted(paths, _rank_of_p50),
    Order.B: lambda paths: _sorted(paths, lambda path: (-_amount(path, "self_ns", _B), path.number)),
    Order.A: lambda paths: _sorted(paths, lambda path: (-_amount(path, "self_ns", _A), path.number)),
    Order.TREE: _as_tree,
}
_ORDERS_OF_GROUPS: Final = _ORDERS | {
    Order.CHANGE: lambda paths: _sorted(paths, partial(rank_of_total, paths)),
    Order.B: lambda paths: _sorted(paths, partial(_rank_of_runs, paths, _B)),
    Order.A: lambda paths: _sorted(paths, partial(_rank_of_runs, paths, _A)),
}
