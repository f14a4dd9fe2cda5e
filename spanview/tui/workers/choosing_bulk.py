"""The blocks that a line of cells may show, of lanes with many blocks: all cells at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanview.tui.workers.choosing import LOOKED_AT, NOBODY, ShownBlocks, step_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.ray.lanes import Blocks


def all_at_once(blocks: Blocks, edges: list[int], numbers: Sequence[int]) -> ShownBlocks:
    """Choose for all cells, as `choosing.one_by_one` does for each.

    Args:
        blocks: Those of the lane, in arrays.
        edges: When the cells begin, and when the last one ends.
        numbers: Of functions, by the numbers of names; an array.
    """
    starts, ends, bounds = np.asarray(blocks.starts), np.asarray(blocks.ends), np.asarray(edges, np.int64)
    started = np.searchsorted(starts, bounds)
    before = np.maximum(started - 1, 0)
    started[-1] = np.searchsorted(starts, bounds[-1], "right")
    running = np.where(ends[before] > bounds, before, np.asarray(blocks.reach)[before])
    running[(started == 0) | (ends[running] <= bounds)] = NOBODY
    # The first column is what runs on, the others are some of those that begin.
    first, behind = started[:-1, None], started[1:, None]
    asked = first + np.arange(2 * LOOKED_AT - 1) * step_of(behind - first)
    places = np.concatenate((running[:-1, None], np.where(asked < behind, asked, NOBODY)), axis=1)
    begins, stops = bounds[:-1, None], bounds[1:, None]
    lengths = np.minimum(ends[places], stops) - np.maximum(starts[places], begins)
    lengths = np.where(places == NOBODY, NOBODY, lengths)
    longest = places[np.arange(len(places)), lengths.argmax(1)]
    lengths = np.maximum(lengths, 0)
    functions = np.asarray(numbers)[np.asarray(blocks.names)[places]]
    of_same = (functions[:, :, None] == functions[:, None, :]) * lengths[:, None, :]
    longest[2 * of_same.sum(2).max(1) < lengths.sum(1)] = NOBODY
    return ShownBlocks(started.tolist(), running.tolist().__getitem__, longest.tolist().__getitem__)
