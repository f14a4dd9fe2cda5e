"""Which of a worker's blocks a cell shows: of few blocks, cell after cell; `choosing_bulk` asks for all at once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.analysis.ray.lanes import Blocks

LOOKED_AT: Final = 5
"""Of the blocks of one cell so many are held against each other, for its colour."""
NOBODY: Final = -1
"""The place of no block."""


class ShownBlocks(NamedTuple):
    """Which of a lane's blocks a line of cells may show."""

    started: list[int]
    """How many blocks had begun before each edge; before or at the last one, for the last cell has the end, too."""
    running: Callable[[int], int]
    """Returns the block that runs on at the beginning of a cell, `NOBODY` where none does.

    Of several it is the one that started last, else the one that ends last.
    """
    longest: Callable[[int], int]
    """Returns the block that takes most of a cell in which some begin.

    It is `NOBODY` where no function takes half of what is taken. Besides the one that runs on from before, of many
    that begin only some are looked at: each of `step_of` of their number.
    """


def step_of(number: Any) -> Any:
    """Return the step by which some of the blocks in a cell are looked at: for a number, or an array of numbers."""
    return number // LOOKED_AT + (number < LOOKED_AT)


def one_by_one(blocks: Blocks, edges: list[int], numbers: Sequence[int]) -> ShownBlocks:
    """Choose of few blocks, when a cell is asked for.

    Args:
        edges: When the cells begin, and when the last one ends.
        numbers: Of functions, by the numbers of names.
    """
    starts, ends = blocks.starts, blocks.ends
    started = [*(bisect_left(starts, edge) for edge in edges[:-1]), bisect_right(starts, edges[-1])]

    def running(cell: int) -> int:
        last, ns = started[cell] - 1, edges[cell]
        if last < 0:
            return NOBODY
        place = last if ends[last] > ns else blocks.reach[last]
        return place if ends[place] > ns else NOBODY

    def longest(cell: int) -> int:
        begin, end, before, first, behind = (
            edges[cell],
            edges[cell + 1],
            running(cell),
            started[cell],
            started[cell + 1],
        )
        best, most, lengths = first, -1, dict[int, int]()
        for place in (*((before,) if before != NOBODY else ()), *range(first, behind, step_of(behind - first))):
            length = min(ends[place], end) - max(starts[place], begin)
            if length > most:
                best, most = place, length
            function = numbers[blocks.names[place]]
            lengths[function] = lengths.get(function, 0) + length
        return NOBODY if 2 * max(lengths.values()) < sum(lengths.values()) else best

    return ShownBlocks(started, running, longest)
