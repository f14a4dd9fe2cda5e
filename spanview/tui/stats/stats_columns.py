"""The columns of statistics, as many as there is room for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanview.display.histogram import HISTOGRAM

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.analysis.stats import Group

TIME: Final = 9
"""Cells of each column before the name."""
BETWEEN: Final = 2
_WIDE: Final = 100
_LEAST_NAME: Final = 18
"""Cells that columns leave to a name, which is the last to go."""
_LEAST_BESIDE: Final = 9
"""Cells that the one leaves to it that is sorted by."""
_TIMES: Final[tuple[tuple[str, Callable[[Group], int | None]], ...]] = (
    ("TOTAL", lambda group: group.total_ns),
    ("SELF", lambda group: group.self_ns),
    ("P50", lambda group: group.p50_ns),
    ("P95", lambda group: group.p95_ns),
    ("MAX", lambda group: group.max_ns),
)
_OF_PATH: Final = (*_TIMES[:2], ("WAIT", lambda group: group.total_ns - group.self_ns))
"""Of what is on critical paths; there are no percentiles of it."""
ON_PATH: Final = "critical path"
"""Counted by names, too: how many traces have one on their critical path, and what it takes of all of them."""
_GIVING_WAY: Final = ("MAX", "ERRORS", "P95", "COUNT", "WAIT", "SELF", "TOTAL")
"""What goes where the name would have too little room, the first first; what is sorted by stays as long as it can."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The columns at one width."""

    count: int
    """Cells; 0 where there is no room."""
    errors: int
    times: tuple[tuple[str, Callable[[Group], int | None]], ...]
    has_histogram: bool
    name: int

    @classmethod
    def of(cls, width: int, by: str, sort: str) -> Shown:
        """Return the columns for a list.

        Args:
            width: Its cells.
            by: What is counted by.
            sort: The head of the column that it is sorted by.
        """
        is_wide, of_path = width >= _WIDE, by == ON_PATH
        has_histogram = is_wide and not of_path
        gone = set() if is_wide else {"P50"}
        offered = _OF_PATH if of_path else _TIMES
        heads = ("COUNT", *(() if of_path else ("ERRORS",)), *(head for head, _ in offered))

        def room() -> int:
            columns = sum(head not in gone for head in heads)
            return width - TIME * columns - (HISTOGRAM + BETWEEN) * has_histogram - BETWEEN

        for head in (*(head for head in _GIVING_WAY if head != sort), sort):
            if room() < (_LEAST_BESIDE if head == sort else _LEAST_NAME):
                gone.add(head)
        count, errors = (TIME * (head in heads and head not in gone) for head in ("COUNT", "ERRORS"))
        times = tuple(each for each in offered if each[0] not in gone)
        return cls(count, errors, times, has_histogram, max(1, room()))
