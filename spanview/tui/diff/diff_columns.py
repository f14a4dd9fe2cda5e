"""The columns of a comparison: the times that decide its order, what is counted, and further times where there is room.

SELF A  CHANGE ▾  SELF B  COUNT  ERRORS  TOTAL A  CHANGE  TOTAL B  PATH
 P50 A  CHANGE ▾   P50 B  COUNT  ERRORS   SELF A  CHANGE   SELF B  PATH      by the change of P50
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.analysis.diff import PERCENTILES
from spanview.tui.diff.diff_model import Order
from spanview.tui.widgets.paint import fixed, right

if TYPE_CHECKING:
    from collections.abc import Iterator

TIME: Final = 10
"""Cells of a time."""
BETWEEN: Final = 2
"""Cells before the path."""
_RELATIVE, _COUNT, _ERRORS = 8, 11, 8
_DECIMALS: Final = 2
"""So many cells more take counts per trace."""
FIGURES: Final = {"SELF": "self_ns", "TOTAL": "total_ns", "P50": "p50_ns", "P95": "p95_ns"}
"""Times by their heads, in the order in which they stand behind the first."""
_SORTED_BY: Final = {"SELF": (Order.A, Order.CHANGE, Order.B), "P50": (Order.P50, Order.P50, Order.P50)}
"""The orders that a time of A, its change, and that of B stand for."""
_LEAST_PATH: Final = 36
"""Cells that further times leave to the path."""
_LAST_PATH: Final = 18
"""Cells that all else leaves to it."""


class Head(NamedTuple):
    """What stands above a column."""

    text: str
    """In its cells."""
    order: Order | None
    """What a click puts the paths in; None where it does nothing."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns at one width; those without room have no cells."""

    order: Order
    first: str
    """The head of the times that decide."""
    time: int
    """Of the first of A, and of B."""
    relative: int
    count: int
    errors: int
    further: tuple[str, ...]
    """The heads of the times behind them."""
    path: int

    @classmethod
    def of(cls, width: int, order: Order, *, is_per_trace: bool) -> Columns:
        """Return the columns of a list `width` cells wide: the errors go first, the change never."""
        cells = [_ERRORS, _COUNT + (_DECIMALS if is_per_trace else 0), _RELATIVE, 2 * TIME]
        for at, _ in enumerate(cells):
            if width - sum(cells) - TIME - BETWEEN < _LAST_PATH:
                cells[at] = 0
        errors, count, relative, times = cells
        room = width - sum(cells) - TIME - BETWEEN
        first = "P50" if order is Order.P50 else "SELF"
        further = tuple(name for name in FIGURES if name != first)[: max(0, (room - _LEAST_PATH) // (3 * TIME))]
        path = max(1, room - 3 * TIME * len(further))
        return cls(order, first, times // 2, relative, count, errors, further, path)

    @property
    def sums(self) -> list[str]:
        """The heads of what can be per trace."""
        numbers = [name for name, cells in (("COUNT", self.count), ("ERRORS", self.errors)) if cells]
        return [name for name in (self.first, *numbers, *self.further) if FIGURES.get(name) not in PERCENTILES]

    def heads(self) -> Iterator[Head]:
        """Yield the heads from the left, with an arrow at the one that decides the order."""
        yield from self._times(self.first, self.time, self.relative)
        yield Head(right("COUNT", self.count) + right("ERRORS", self.errors), None)
        for name in self.further:
            yield from self._times(name, TIME, 0)
        arrow = " ▾" if self.order is Order.TREE else ""
        yield Head(" " * BETWEEN + fixed(f"PATH{arrow}", self.path), Order.TREE)

    def _times(self, name: str, cells: int, relative: int) -> Iterator[Head]:
        texts = (f"{name} A", "CHANGE", f"{name} B")
        for text, order, width in zip(texts, _SORTED_BY.get(name, (None,) * 3), (cells, TIME, cells), strict=True):
            is_arrow_here = order is self.order and (text == "CHANGE" or order is not Order.P50)
            behind = relative if text == "CHANGE" else 0
            yield Head(right(f"{text} ▾" if is_arrow_here else text, width) + " " * behind, order)
