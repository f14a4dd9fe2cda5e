"""One lane's time as a line of cells.

blocks     |leaf        |  |pipeline         ✖|  ▅▃▂  |▌
           what is wide has its name              how much of a cell is covered, where blocks are narrower
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanview.display.bars import EIGHTHS, OPENINGS
from spanview.tui.runs import Timed, marked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.analysis.lanes import Blocks, Lane
    from spanview.tui.window import Window

FAILED: Final = "✖"
_FULL: Final = EIGHTHS[-1]
_DENSITY: Final = " ▁▂▃▄▅▆▇"
_BEFORE, _BEHIND = "‹", "›"
_LOOKED_AT: Final = 8
"""Of the blocks of one cell so many are held against each other, for its colour."""
NOBODY: Final = -1
"""The place of no block."""


@dataclass(frozen=True, slots=True)
class Cells:
    """A line of cells."""

    glyphs: list[str]
    places: list[int]
    """The block that each cell shows, `NOBODY` where it shows none."""

    def full_runs(self, fewest: int) -> Iterator[tuple[int, int]]:
        """Yield where so many cells or more are full of one block: the first, and the one behind the last."""
        first = 0
        for at in range(1, len(self.glyphs) + 1):
            same = slice(first, at + 1, at - first)
            if self.glyphs[same] == [_FULL] * 2 and self.places[first] == self.places[same][-1]:
                continue
            if self.glyphs[first] == _FULL and at - first >= fewest:
                yield first, at
            first = at


def cells_of(lane: Lane, window: Window, width: int, selected: int = NOBODY) -> Cells:
    """Return a lane's time in some cells.

    Args:
        lane: The lane.
        window: What is shown of its time.
        width: Cells.
        selected: The place of a block that is shown wherever it runs, whatever else does.
    """
    begin, length = window.start_ns, window.length_ns
    edges = [begin + at * length // width for at in range(width + 1)]
    cells = Cells(_shares(lane, edges), [NOBODY] * width)
    _place(lane.blocks, edges, cells)
    if selected != NOBODY:
        _show(lane.blocks, selected, window, cells)
    if lane.blocks.failed:
        failures = Timed(lane.blocks.failures, lane.blocks.failures)
        for at, is_marked in enumerate(marked(failures.profile(window, width))):
            if is_marked:
                cells.glyphs[at] = FAILED
    if width and lane.end_ns < begin:
        cells.glyphs[0] = _BEFORE
    elif width and lane.start_ns > window.end_ns:
        cells.glyphs[-1] = _BEHIND
    return cells


def _shares(lane: Lane, edges: list[int]) -> list[str]:
    """Return how much of each cell is covered: at the edges of what runs to an eighth from the side, else by height."""
    starts, ends, sums = lane.busy.starts, lane.busy.ends, lane.busy.sums
    glyphs: list[str] = []
    before, until, is_on = 0, 0, False
    for at, edge in enumerate(edges):
        number = bisect_left(starts, edge)
        over = ends[number - 1] - edge if number else 0
        came, was_on, earlier = number - before, is_on, until
        before, is_on = number, over > 0
        until = sums[number] - max(0, over)
        if not at:
            continue
        size, covered = edge - edges[at - 1], until - earlier
        if not covered:
            glyphs.append(" ")
        elif covered == size:
            glyphs.append(_FULL)
        else:
            # Neither nothing nor all: what there is, and the gap in it, can be seen.
            eighths = max(1, min(7, round(8 * covered / size)))
            if was_on and not is_on and not came:
                glyphs.append(EIGHTHS[eighths])
            elif is_on and not was_on and came == 1:
                glyphs.append(OPENINGS[8 - eighths])
            else:
                glyphs.append(_DENSITY[eighths])
    return glyphs


def _place(blocks: Blocks, edges: list[int], cells: Cells) -> None:
    """Find the block that each cell shows, and mark those that have no length."""
    glyphs, places = cells.glyphs, cells.places
    begun = [bisect_left(blocks.starts, edge) for edge in edges]
    # The last cell has the end of the time, too.
    begun[-1] = bisect_right(blocks.starts, edges[-1])
    place = NOBODY
    for at, glyph in enumerate(glyphs):
        first, behind = begun[at], begun[at + 1]
        if behind > first:
            place = _longest(blocks, edges[at], edges[at + 1], first, behind)
            if glyph == " ":
                glyphs[at] = EIGHTHS[1]
        elif glyph == " ":
            place = NOBODY
        elif place == NOBODY or blocks.ends[place] <= edges[at]:
            place = _longest(blocks, edges[at], edges[at + 1], first, behind)
        places[at] = place


def _longest(blocks: Blocks, start: int, end: int, first: int, behind: int) -> int:
    """Return the block that takes most of a cell, into which those from one place on to another begin."""
    starts, ends = blocks.starts, blocks.ends
    best, most = NOBODY, 0
    if first:
        running = first - 1 if ends[first - 1] > start else blocks.reach[first - 1]
        # Where none runs, something that it began does so still.
        best, most = (running, min(ends[running], end) - start) if ends[running] > start else (first - 1, 0)
    for place in range(first, behind, max(1, (behind - first) // _LOOKED_AT)):
        length = min(ends[place], end) - starts[place]
        if best == NOBODY or length > most or ends[best] <= start:
            best, most = place, length
    return best if best != NOBODY or not blocks.rows else 0


def _show(blocks: Blocks, selected: int, window: Window, cells: Cells) -> None:
    """Let the selected block be seen wherever it runs."""
    width = len(cells.glyphs)
    start, end = (window.place(each[selected], width) for each in (blocks.starts, blocks.ends))
    if end < 0 or start > width:
        return
    first = max(0, min(width - 1, int(start)))
    last = max(first, min(width - 1, int(end) - (end == int(end))))
    for at in range(first, last + 1):
        cells.places[at] = selected
