"""Which of a lane's blocks a cell shows: of few blocks, one cell after the other; `lanes_bulk` asks for all at once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.lanes import Blocks

LOOKED_AT: Final = 5
"""Of the blocks of one cell so many are held against each other, for its colour."""
NOBODY: Final = -1
"""The place of no block."""


class Chooser(Protocol):
    """What knows of a lane's blocks which ones a line of cells may show."""

    begun: list[int]
    """How many blocks had begun before each edge; before or at the last one, for the last cell has the end, too."""

    def running(self, at: int) -> int:
        """Return the block that runs on at the beginning of a cell, `NOBODY` where none does.

        Of several it is the one that started last, else the one that ends last.
        """

    def longest(self, at: int) -> int:
        """Return the block that takes most of a cell in which some begin.

        It is `NOBODY` where no function takes half of what is taken. Besides the one that runs on from before, of many
        that begin only some are looked at: each of `step_of` of their number.
        """


def step_of(number: Any) -> Any:
    """Return the step by which some of the blocks in a cell are looked at: for a number, or an array of numbers."""
    return number // LOOKED_AT + (number < LOOKED_AT)


class OneByOne:
    """Chooses of few blocks.

    Args:
        blocks: Those of the lane.
        edges: When the cells begin, and when the last one ends.
        numbers: Of functions, by the numbers of names.
    """

    def __init__(self, blocks: Blocks, edges: list[int], numbers: Sequence[int]) -> None:
        self.begun = [
            *(bisect_left(blocks.starts, edge) for edge in edges[:-1]),
            bisect_right(blocks.starts, edges[-1]),
        ]
        self._blocks, self._edges, self._numbers = blocks, edges, numbers

    def running(self, at: int) -> int:
        """Return the block that runs on at the beginning of a cell."""
        begun, ends, ns = self.begun[at], self._blocks.ends, self._edges[at]
        if not begun:
            return NOBODY
        place = begun - 1 if ends[begun - 1] > ns else self._blocks.reach[begun - 1]
        return place if ends[place] > ns else NOBODY

    def longest(self, at: int) -> int:
        """Return the block that takes most of a cell in which some begin."""
        blocks, begin, end = self._blocks, self._edges[at], self._edges[at + 1]
        running, first, behind = self.running(at), self.begun[at], self.begun[at + 1]
        best, most, lengths = first, -1, dict[int, int]()
        for place in (*((running,) if running != NOBODY else ()), *range(first, behind, step_of(behind - first))):
            length = min(blocks.ends[place], end) - max(blocks.starts[place], begin)
            if length > most:
                best, most = place, length
            function = self._numbers[blocks.names[place]]
            lengths[function] = lengths.get(function, 0) + length
        return NOBODY if 2 * max(lengths.values()) < sum(lengths.values()) else best
