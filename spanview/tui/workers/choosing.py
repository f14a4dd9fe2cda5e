"""Which of a worker's blocks each cell of a line shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.ray.lanes import Blocks

_LOOKED_AT: Final = 5
"""Of the blocks of one cell so many are held against each other, for its colour."""
NOBODY: Final = -1
"""The place of no block."""


class ShownBlocks(NamedTuple):
    """Which of a lane's blocks a line of cells may show."""

    started: list[int]
    """How many blocks had begun before each edge; before or at the last one, for the last cell has the end, too."""
    running: list[int]
    """The block that runs on at the beginning of each cell, `NOBODY` where none does.

    Of several it is the one that started last, else the one that ends last.
    """
    longest: list[int]
    """The block that takes most of each cell in which some begin.

    It is `NOBODY` where no function takes half of what is taken. Besides the one that runs on from before, of many
    that begin only some are looked at: each of a step that grows with their number.
    """


def shown_blocks(blocks: Blocks, edges: list[int], numbers: Sequence[int]) -> ShownBlocks:
    """Choose for all cells.

    Args:
        blocks: Those of the lane, in arrays.
        edges: When the cells begin, and when the last one ends.
        numbers: Of functions, by the numbers of names; an array.
    """
    starts, ends, bounds = np.asarray(blocks.starts), np.asarray(blocks.ends), np.asarray(edges, np.int64)
    if not len(starts):
        nobody = [NOBODY] * len(edges)
        return ShownBlocks([0] * len(edges), nobody, nobody)
    started = np.searchsorted(starts, bounds)
    before = np.maximum(started - 1, 0)
    started[-1] = np.searchsorted(starts, bounds[-1], "right")
    running = np.where(ends[before] > bounds, before, np.asarray(blocks.reach)[before])
    running[(started == 0) | (ends[running] <= bounds)] = NOBODY
    # The first column is what runs on, the others are some of those that begin.
    first, behind = started[:-1, None], started[1:, None]
    step = (behind - first) // _LOOKED_AT + (behind - first < _LOOKED_AT)
    asked = first + np.arange(2 * _LOOKED_AT - 1) * step
    places = np.concatenate((running[:-1, None], np.where(asked < behind, asked, NOBODY)), axis=1)
    begins, stops = bounds[:-1, None], bounds[1:, None]
    lengths = np.minimum(ends[places], stops) - np.maximum(starts[places], begins)
    lengths = np.where(places == NOBODY, NOBODY, lengths)
    longest = places[np.arange(len(places)), lengths.argmax(1)]
    lengths = np.maximum(lengths, 0)
    functions = np.asarray(numbers)[np.asarray(blocks.names)[places]]
    of_same = (functions[:, :, None] == functions[:, None, :]) * lengths[:, None, :]
    longest[2 * of_same.sum(2).max(1) < lengths.sum(1)] = NOBODY
    return ShownBlocks(started.tolist(), running.tolist(), longest.tolist())
