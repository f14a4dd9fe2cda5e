"""One lane's time as a line of cells.

blocks     |leaf        |  |pipeline         ✖|  ↻  ▅▃▂  |▌  |░░░░░░   ▒▒▒▒▒▒
           what is wide has its name    a restart   |        |         what runs now
proxy      |▁▁──────▁▁|         ─ where it only awaits what other processes run
                    how much of a cell is covered, where     what has a start and no end
                                     blocks are narrower
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import sub
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from spanview.display.bars import EIGHTHS, HEIGHTS, OPENINGS
from spanview.model.times import NO_TIME
from spanview.tui.trace.runs import marked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.analysis.intervals import Covered
    from spanview.analysis.ray.lanes import Blocks, Lane
    from spanview.analysis.window import Window

_LOOKED_AT: Final = 5
"""Of the blocks of one cell so many are held against each other, for its colour."""
NOBODY: Final = -1
"""The place of no block."""
FAILED: Final = "✖"
RESTARTED: Final = "↻"
UNENDED: Final = "░"
"""Time in which a block that has no end may run, where nothing else does."""
RUNNING: Final = "▒"
"""Time since something began that runs now."""
AWAITING: Final = "─"
"""Time in which a process likely only awaits what others run."""
_BEFORE, _BEHIND = "‹", "›"
_NOTHING_ELSE: Final = {" ", _BEFORE, _BEHIND, UNENDED}
HATCHES: Final = (UNENDED, RUNNING)
_FULL: Final = EIGHTHS[-1]


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
    """Choose for all cells."""
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


@dataclass(frozen=True, slots=True)
class Cells:
    """A line of cells."""

    glyphs: list[str]
    places: list[int]
    """The block that each cell shows, `NOBODY` where it shows none."""
    mixed: list[bool]
    """Whether it shows blocks of several functions, none of which takes half of it."""

    def full_runs(self, fewest: int, glyph: str = _FULL) -> Iterator[tuple[int, int]]:
        """Yield where so many cells or more are full of one block: the first, and the one behind the last."""
        first = 0
        for (shown, _), cells in groupby(zip(self.glyphs, self.places, strict=True)):
            behind = first + len([*cells])
            if shown == glyph and behind - first >= fewest:
                yield first, behind
            first = behind


def cells_of(lane: Lane, window: Window, width: int, numbers: Sequence[int], selected: int = NOBODY) -> Cells:
    """Return a lane's time in some cells.

    Args:
        numbers: Of functions, by the numbers of names.
        selected: The place of a block that is shown wherever it runs, whatever else does.
    """
    begin, length = window.start_ns, window.length_ns
    edges = [begin + cell * length // width for cell in range(width + 1)]
    cells = Cells(_glyphs(lane, edges), [NOBODY] * width, [False] * width)
    _place(lane.blocks, edges, shown_blocks(lane.blocks, edges, numbers), cells)
    if selected != NOBODY:
        _show(lane.blocks, selected, window, cells)
    _hatch(lane.blocks, edges, cells)
    for start in lane.restarts:
        if window.start_ns <= start <= window.end_ns:
            cells.glyphs[min(width - 1, int(window.place(start, width)))] = RESTARTED
    for cell, is_marked in enumerate(marked(_failures(lane.blocks.failures, edges))):
        if is_marked:
            cells.glyphs[cell] = FAILED
    if width and NO_TIME != lane.end_ns < begin and cells.glyphs[0] == " ":
        cells.glyphs[0] = _BEFORE
    elif width and lane.start_ns > window.end_ns:
        cells.glyphs[-1] = _BEHIND
    return cells


def _glyphs(lane: Lane, edges: list[int]) -> list[str]:
    """Return how much of each cell a process was busy, and where it only awaited others."""
    busy = _shares(lane.busy, edges)
    if not lane.awaited_ns:
        return busy
    active = _shares(lane.active, edges)
    return [glyph if glyph != " " or runs == " " else AWAITING for glyph, runs in zip(active, busy, strict=True)]


def _shares(covered: Covered, edges: list[int]) -> list[str]:
    """Return how much of each cell is covered: at the edges of what runs to an eighth from the side, else by height."""
    starts, ends, sums = covered.starts, covered.ends, covered.sums
    glyphs: list[str] = []
    earlier, before, until, is_on = edges[0] - 1, 0, 0, False
    # This runs for every cell in sight: comparisons cost less than builtins for the lesser and the greater.
    for edge in edges:
        number = bisect_left(starts, edge, before)
        was_on, came, done = is_on, number - before, until
        over = ends[number - 1] - edge if number else 0
        is_on, before, until = over > 0, number, sums[number]
        if is_on:
            until -= over
        size, taken, earlier = edge - earlier, until - done, edge
        if not taken:
            glyphs.append(" ")
        elif taken == size:
            glyphs.append(_FULL)
        else:
            # Neither nothing nor all: what there is, and the gap in it, can be seen.
            eighths = (16 * taken + size) // (2 * size) or 1
            eighths = 7 if eighths > 7 else eighths  # noqa: PLR2004, FURB136 - of eight
            if was_on and not is_on and not came:
                glyphs.append(EIGHTHS[eighths])
            elif is_on and not was_on and came == 1:
                glyphs.append(OPENINGS[8 - eighths])
            else:
                glyphs.append(HEIGHTS[eighths])
    # What came before the first edge is no cell.
    return glyphs[1:]


def _failures(ends: Sequence[int], edges: list[int]) -> list[int]:
    """Return how many blocks that failed end in each cell; the last has the end of the time, too."""
    first, behind = bisect_left(ends, edges[0]), bisect_right(ends, edges[-1])
    if first == behind:
        return []
    if behind - first >= len(edges):
        numbers = [bisect_left(ends, edge, first, behind) for edge in edges[:-1]]
        return [*map(sub, [*numbers[1:], behind], numbers)]
    counts = [0] * (len(edges) - 1)
    for end in ends[first:behind]:
        counts[min(bisect_right(edges, end), len(counts)) - 1] += 1
    return counts


def _place(blocks: Blocks, edges: list[int], shown: ShownBlocks, cells: Cells) -> None:
    """Find the block that each cell shows, and mark those that have no length."""
    glyphs, places, started = cells.glyphs, cells.places, shown.started
    place = NOBODY
    for cell, glyph in enumerate(glyphs):
        first, behind = started[cell], started[cell + 1]
        if behind > first:
            running = shown.running[cell]
            place = running if running != NOBODY else first
            if glyph == " ":
                glyphs[cell] = EIGHTHS[1]
            if behind - first > 1 or running != NOBODY:
                place = shown.longest[cell]
                cells.mixed[cell] = place == NOBODY
                place = place if place != NOBODY else behind - 1
        elif glyph == " ":
            place = NOBODY
        elif place == NOBODY or blocks.ends[place] <= edges[cell]:
            place = shown.running[cell]
            if place == NOBODY and blocks.rows:
                # None runs, but something that it began does so still.
                place = max(0, first - 1)
        places[cell] = place


def _hatch(blocks: Blocks, edges: list[int], cells: Cells) -> None:
    """Hatch blank cells in which a block may run that has no end."""
    for cell, glyph in enumerate(cells.glyphs if blocks.unended else ()):
        if glyph == " " and (begun := bisect_left(blocks.unended, edges[cell + 1], key=blocks.starts.__getitem__)):
            cells.glyphs[cell], cells.places[cell] = UNENDED, blocks.unended[begun - 1]


def hatch_until(cells: Cells, window: Window, unended: Sequence[int], until: Sequence[int]) -> None:
    """Leave cells blank in which blocks without an end can't be said to have run.

    Args:
        until: For each of these blocks, until when it or one before it is known to have run.
    """
    ends = [window.place(ns, len(cells.glyphs)) for ns in until]
    for cell, glyph in enumerate(cells.glyphs):
        if glyph == UNENDED and ends[bisect_left(unended, cells.places[cell])] < cell:
            cells.glyphs[cell], cells.places[cell] = " ", NOBODY


def hatch_from(cells: Cells, window: Window, since_ns: int) -> None:
    """Hatch cells in which nothing else is known to run, from when on something runs until now."""
    first = max(0, int(window.place(since_ns, len(cells.glyphs))))
    for cell in range(first, len(cells.glyphs)):
        if cells.glyphs[cell] in _NOTHING_ELSE:
            cells.glyphs[cell], cells.places[cell] = RUNNING, NOBODY


def await_in(cells: Cells, window: Window, awaited: Covered) -> None:
    """Draw hatched cells as awaiting in which nothing else is done for at least half of their time."""
    width = len(cells.glyphs)
    edges = [window.start_ns + cell * window.length_ns // width for cell in range(width + 1)] if awaited.starts else []
    for cell, (start, end) in enumerate(pairwise(edges)):
        if cells.glyphs[cell] in HATCHES and 2 * awaited.between(start, end) >= end - start:
            cells.glyphs[cell] = AWAITING


def _show(blocks: Blocks, selected: int, window: Window, cells: Cells) -> None:
    """Let the selected block be seen wherever it runs."""
    width = len(cells.glyphs)
    start, end = (window.place(times[selected], width) for times in (blocks.starts, blocks.ends))
    if end < 0 or start > width:
        return
    first = max(0, min(width - 1, int(start)))
    last = max(first, min(width - 1, int(end) - (end == int(end))))
    for cell in range(first, last + 1):
        cells.places[cell], cells.mixed[cell] = selected, False
