"""The lines of lanes: who it is and its figures on the left, its time on the right; and the heads above them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.widget import Widget

from spanview.display.cells import fitting
from spanview.display.sanitise import sanitise
from spanview.display.units import duration
from spanview.tui.app.colorless import CURSOR, FULL, letter_of
from spanview.tui.widgets.dragging import takes_mouse
from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.paint import PALETTE, data_text, fixed, joined, right
from spanview.tui.workers.choosing import NOBODY
from spanview.tui.workers.worker_bars import FAILED, Cells, cells_of

if TYPE_CHECKING:
    from textual import events

    from spanview.analysis.lanes import Lane
    from spanview.tui.widgets.window import Window
    from spanview.tui.widgets.zooming import Zoom
    from spanview.tui.workers.workers_model import WorkersModel

_SPANS, _ERRORS, _BUSY, _GAP, _OWN, _AT_ONCE = 8, 6, 6, 10, 8, 9
_WIDE: Final = 120
"""From this width on there is room for two more figures."""
_FEWEST_NAMED: Final = 3
"""So many cells that are full of one block have its name."""
_MAIN: Final = "__main__."
"""Where there is little room, it is left out that a function is the driver's own."""
_MAX_PAINTED: Final = 1_000
"""So many painted lines are kept."""


@dataclass(frozen=True, slots=True)
class WorkerSplit:
    """How a line's width is shared out."""

    label: int
    time: int
    is_wide: bool

    @classmethod
    def of(cls, width: int) -> WorkerSplit:
        """Return the shares for a line `width` cells wide."""
        is_wide = width >= _WIDE
        label = 32 if is_wide else 20
        figures = _SPANS + _ERRORS + _BUSY + _GAP + (_OWN + _AT_ONCE if is_wide else 0)
        return cls(label, max(8, width - label - figures - 2), is_wide)


class WorkerHeads(Widget):
    """The line above the lanes: heads, and a ruler."""

    def __init__(self, zoom: Zoom, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._zoom = zoom
        self._drag = zoom.drag_over(self)

    @takes_mouse
    def _pick_time(self, event: events.MouseEvent) -> None:
        self._drag.take(event)

    def render(self) -> Content:
        """Return heads and ruler."""
        split = WorkerSplit.of(self.size.width - 1)
        heads = [("SPANS", _SPANS), ("ERR", _ERRORS), ("BUSY", _BUSY)]
        heads += [("OF OWN", _OWN), ("AT ONCE", _AT_ONCE)] if split.is_wide else []
        texts = "".join(right(head, cells) for head, cells in (*heads, ("MAX GAP", _GAP)))
        return Content(f"{fixed('WORKER', split.label)}{texts}  {self._zoom.ruler(split.time)}")


class WorkerLines(LineList):
    """A line a lane; one block of the selected one is selected.

    Args:
        model: The lanes.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"workerlines--selected"}

    def __init__(self, model: WorkersModel) -> None:
        super().__init__()
        self.model = model
        self.block: int | None = None
        """Place of the selected block in its lane; None where that has none."""
        self._anchor = 0
        """The time at which blocks are selected when another lane is."""
        self._painted: dict[tuple[int, Window, int], Cells] = {}

    @property
    def lane(self) -> Lane | None:
        """The selected lane."""
        order = self.model.order
        return self.model.lane(order[self.cursor]) if self.cursor < len(order) else None

    @property
    def row(self) -> int | None:
        """The selected block's row in the span table."""
        return None if self.lane is None or self.block is None else self.lane.blocks.rows[self.block]

    @property
    def interval(self) -> tuple[int, int] | None:
        """When the selected block runs."""
        if self.lane is None or self.block is None:
            return None
        return self.lane.blocks.starts[self.block], self.lane.blocks.ends[self.block]

    def show_all(self) -> None:
        """Show lanes from the first on, and its first block."""
        self._painted.clear()
        self._anchor = self.model.whole.start_ns
        self.rows_have_changed(len(self.model.order), 0)
        self.reveal()
        self._choose()

    def update(self, lane: int | None, row: int | None) -> None:
        """Show what has become of the lanes; the cursor stays on its lane and its block.

        Args:
            lane: Where that lane is now, by its place among all.
            row: The span of the block.
        """
        self._painted.clear()
        self.take_rows(len(self.model.order), None if lane is None else self.model.order.index(lane))
        if row is not None:
            self._anchor = self.model.start_of(row)
        self._choose()
        if self.lane is not None and row is not None:
            # Where it has become a part of another block, that is the nearest one.
            place = self.lane.blocks.index_of(row, self._anchor)
            self.block = self.block if place is None else place

    def keep_on(self, lane_index: int | None) -> None:
        """Take in that the lanes are in another order; the cursor stays on one, by its place among all."""
        block = self.block
        self.rows_have_changed(
            len(self.model.order), None if lane_index is None else self.model.order.index(lane_index)
        )
        self.reveal()
        self.block = block
        self.post_message(self.Moved(self))

    @property
    def time_cells(self) -> int:
        """The cells at the end of each line that show time."""
        return WorkerSplit.of(self.line_width).time

    # -- moving ------------------------------------------------------------------------------------------------------

    def move_to(self, row: int) -> None:
        """Put the cursor on a lane, and on the block that is nearest in time to the one before."""
        before = self.cursor
        super().move_to(row)
        if self.cursor != before:
            self._choose()

    def select(self, block: int) -> None:
        """Select a block of the lane that the cursor is on."""
        self.block = block
        if self.interval is not None:
            self._anchor = sum(self.interval) // 2
        self.refresh_row(self.cursor)
        self.post_message(self.Moved(self))

    def _choose(self) -> None:
        self.block = None if self.lane is None else self.lane.blocks.nearest(self._anchor)
        self.refresh_row(self.cursor)
        self.post_message(self.Moved(self))

    def clicked(self, row: int, x: int) -> bool:
        """Select the block that was clicked; in a gap the one that ends it."""
        split = WorkerSplit.of(self.line_width)
        cell = x - (self.line_width - split.time)
        if cell < 0:
            return False
        was = (self.cursor, self.block)
        self.move_to(row)
        block = self._block_at(cell, split.time)
        if block is not None:
            self.select(block)
        if was == (self.cursor, self.block):
            self.post_message(self.Chosen(self))
        return True

    def _block_at(self, cell: int, width: int) -> int | None:
        lane, shown = self.lane, self.model.shown
        if lane is None or not lane.blocks.rows:
            return None
        place = self._cells(self.model.order[self.cursor], lane, width).places[cell]
        if place != NOBODY:
            return place
        ns = shown.start_ns + (2 * cell + 1) * shown.length_ns // (2 * width)
        return min(bisect_left(lane.blocks.starts, ns), len(lane.blocks.rows) - 1)

    # -- painting ----------------------------------------------------------------------------------------------------

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one lane's line."""
        lane_index, split = self.model.order[row], WorkerSplit.of(width)
        lane = self.model.lane(lane_index)
        dim, error = self.paint_style("dim"), self.paint_style("error")
        label = fitting([sanitise(text, 2 * split.label) for text in self.model.labels(lane_index)], split.label - 1)
        figures = right(f"{self.model.shown_share(lane):.0%}", _BUSY)
        if split.is_wide:
            figures += right("–" if lane.share is None else f"{lane.share:.0%}", _OWN) + right(
                f"{lane.max_concurrency:,}", _AT_ONCE
            )
        gap = (
            "–"
            if lane.gap is None
            else ("≤ " if self.model.at_most(lane_index) else "") + duration(lane.longest_gap_ns)
        )
        return [
            Segment(fixed(label, split.label)),
            Segment(right(f"{lane.spans:,}", _SPANS)),
            Segment(right(f"{lane.errors:,}" if lane.errors else "", _ERRORS), error),
            Segment(figures),
            Segment(right(gap, _GAP) + "  ", dim),
            *self._time(lane_index, lane, split.time, self.block if row == self.cursor else None),
        ]

    def _cells(self, lane_index: int, lane: Lane, width: int) -> Cells:
        key = (lane_index, self.model.shown, width)
        if key not in self._painted:
            if len(self._painted) >= _MAX_PAINTED:
                self._painted.clear()
            self._painted[key] = cells_of(lane, self.model.shown, width, self.model.shape.numbers)
        return self._painted[key]

    def _time(self, lane_index: int, lane: Lane, width: int, selected: int | None) -> list[Segment]:
        """Return a lane's time: blocks in the colours of functions, those that are wide with their names."""
        window, dim, error = self.model.shown, *(self.paint_style(name) + _UPRIGHT for name in ("dim", "error"))
        bright = Style(color=self.get_component_rich_style("workerlines--selected").bgcolor, bold=True, reverse=False)
        names, numbers = lane.blocks.names, self.model.shape.numbers
        drawn = (
            self._cells(lane_index, lane, width)
            if selected is None
            else cells_of(lane, window, width, numbers, selected)
        )
        texts: list[tuple[str, Style | None]] = []
        for glyph, place, is_mixed in zip(drawn.glyphs, drawn.places, drawn.mixed, strict=True):
            if glyph == " ":
                texts.append((glyph, None))
            elif glyph == FAILED or place == NOBODY or is_mixed:
                texts.append((glyph, error if glyph == FAILED else dim))
            else:
                number = numbers[names[place]]
                # Without colours a letter says which function a full cell is of.
                plain = letter_of(number) if glyph == FULL and self.app.no_color else glyph
                texts.append((plain, bright if place == selected else _COLORS[number % len(_COLORS)]))
        for first, behind in drawn.full_runs(_FEWEST_NAMED):
            place, has_edge = drawn.places[first], not first or drawn.places[first - 1] != drawn.places[first]
            texts[first] = self._named(lane, place, behind - first, texts[first][1], has_edge=has_edge)
            texts[first + 1 : behind] = [("", texts[first][1])] * (behind - first - 1)
        if selected in drawn.places and self.app.no_color:
            # Where no colour tells which one it is, a mark does.
            first = drawn.places.index(selected)
            texts[first] = CURSOR[0] + texts[first][0][1:], texts[first][1]
        return joined(texts)

    def _named(
        self, lane: Lane, place: int, size: int, style: Style | None, *, has_edge: bool
    ) -> tuple[str, Style | None]:
        """Return some cells that are full of one block with its name, and where it begins with an edge."""
        edge = "▏" if has_edge else ""
        text = self.model.function_text(lane.blocks.rows[place]).removeprefix(_MAIN)
        name = data_text(text, size - len(edge))
        if self.app.no_color:
            # Without colours a blank is a gap.
            bare = name.rstrip()
            return edge + bare + FULL * (len(name) - len(bare)), style
        return edge + name, (style or Style()) + Style(bgcolor=self.page.bgcolor, reverse=True)


_UPRIGHT: Final = Style(reverse=False)
"""Colours of blocks stay as they are where the selected row is turned round."""
_COLORS: Final = tuple(color + _UPRIGHT for color in PALETTE)
