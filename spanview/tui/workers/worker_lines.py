"""The lines of workers: who it is and its figures on the left, its time on the right; and the lines above them."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from spanview.display.bars import height_of
from spanview.display.cells import data_text, fixed, name_text, right
from spanview.display.sanitise import sanitise
from spanview.reports.table import Fit
from spanview.reports.workers import workers_table
from spanview.reports.workers_model import WAITING, Heading, Sort
from spanview.tui.widgets.dragging import TimeWidget
from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.paint import CURSOR, FULL, PALETTE, joined, letter_of
from spanview.tui.workers.worker_bars import (
    AWAITING,
    FAILED,
    HATCHES,
    NOBODY,
    RESTARTED,
    RUNNING,
    Cells,
    await_in,
    cells_of,
    hatch_from,
    hatch_until,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual import events

    from spanview.analysis.ray.lanes import Lane
    from spanview.analysis.window import Window
    from spanview.reports.table import TableColumn
    from spanview.reports.workers_model import WorkersModel
    from spanview.tui.widgets.zooming import Zoom

_FEWEST_FOR_NAMES, _NAME_SHARE = 24, 0.25
"""Cells of a line that names can have, where they are so long: a share of it, and no fewer than some."""
_LEAST_TIME: Final = 8
_FEWEST_NAMED: Final = 3
"""So many cells that are full of one block have its name."""
_FEWEST_NAMED_AWAITING: Final = 8
"""So many cells of a block that only awaits others have its name; between stretches in which it runs, fewer don't."""
_FEWEST_WITH_ENDS: Final = 10
"""So many cells of a block show both ends of a name that is longer; fewer show how it begins."""
_MAX_PAINTED: Final = 1_000
"""So many painted lines are kept."""
_LESS, _MORE = "▴", "▾"


def _in_block(name: str, cells: int) -> str:
    """Return a function's name, from a file, in the cells of a block."""
    return (name_text if cells >= _FEWEST_WITH_ENDS else data_text)(name, cells)


class WorkerColumns:
    """The columns of workers, and the time at the end of each line."""

    def __init__(self, model: WorkersModel) -> None:
        self._model = model
        self.table = workers_table(model)

    def fit(self, width: int) -> Fit[int]:
        """Return the columns of a line so many cells wide."""
        name, *figures = (column for column in self.table.columns if column.is_shown and column.from_width <= width)
        cells = min(self._model.name_cells + 1, max(_FEWEST_FOR_NAMES, round(width * _NAME_SHARE)))
        return Fit([(name, cells), *((column, column.width) for column in figures)], None)

    def time_cells(self, width: int) -> int:
        """Return the cells of the time of a line so many cells wide."""
        return max(_LEAST_TIME, width - sum(cells for _, cells in self.fit(width).cells) - 2)


class WorkerHeads(TimeWidget):
    """The line above the workers: heads that sort when they are clicked, and a ruler."""

    def __init__(self, model: WorkersModel, zoom: Zoom, sort: Callable[[Sort], object], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._model = model
        self._columns = WorkerColumns(model)
        self._zoom = zoom
        self._sort = sort
        self.drag = zoom.drag_over(self)

    def on_click(self, event: events.Click) -> None:
        """Sort by the head that was clicked."""
        # Without colours there are blanks before the line.
        end = self.region.width - self.size.width
        for text, column in self._heads() if self.drag.is_click else ():
            if end <= event.x < (end := end + cell_len(text)) and column.key:
                by_name = Sort.NAME if self._model.by is Sort.START else Sort.START
                self._sort(by_name if column.parts is not None else Sort(column.key))

    def _heads(self) -> Iterator[tuple[str, TableColumn[int]]]:
        """Yield the heads from the left, with their columns."""
        model = self._model
        # Names ascend, figures descend.
        arrow = _MORE if model.is_reversed is model.by.has_nodes else _LESS
        return self._columns.fit(self.size.width - 1).heads(model.by.value, arrow)

    def render(self) -> Content:
        """Return heads and ruler."""
        heads = "".join(text for text, _ in self._heads())
        return Content(f"{heads}  {self._zoom.ruler(self._columns.time_cells(self.size.width - 1))}")


class WaitingLine(TimeWidget):
    """The line above all workers: how many Ray calls wait at each time."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"waiting--calls"}

    def __init__(self, model: WorkersModel, zoom: Zoom) -> None:
        super().__init__()
        self._model = model
        self._columns = WorkerColumns(model)
        self.drag = zoom.drag_over(self)

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - there is one only
        """Paint the line."""
        window, levels, cells = self._model.shown, self._model.shape.waiting, self.size.width - 1
        (_, name), *figures = self._columns.fit(cells).cells
        begin, length, width = window.start_ns, window.length_ns, self._columns.time_cells(cells)
        edges = [begin + cell * length // width for cell in range(width + 1)]
        counts = [] if levels is None else levels.most_between(edges)
        most = max(counts, default=0)
        drawn = "".join(height_of(number, most) for number in counts)
        label = fixed(WAITING, name) + right(f"{most:,} at once", sum(width for _, width in figures)) + "  "
        color = self.get_component_rich_style("waiting--calls").color
        plain = Style(color=self.rich_style.color, bgcolor=self.rich_style.bgcolor)
        segments = [Segment(label), Segment(drawn, Style(color=color))]
        return Strip(segments).adjust_cell_length(self.size.width).apply_style(plain)


class WorkerLines(LineList):
    """A line a worker; one block of the selected one is selected."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"workerlines--selected"}

    def __init__(self, model: WorkersModel) -> None:
        super().__init__()
        self.model = model
        self.columns = WorkerColumns(model)
        self.block: int | None = None
        """Index of the selected block in its lane; None where that has none."""
        self._anchor = 0
        """The time at which blocks are selected when another worker is."""
        self._painted: dict[tuple[int, Window, int], Cells] = {}

    @property
    def index(self) -> int | None:
        """The selected worker's index among all."""
        line = self.model.lines[self.cursor] if self.cursor < len(self.model.lines) else None
        return None if isinstance(line, Heading) else line

    @property
    def lane(self) -> Lane | None:
        """What the selected worker did."""
        return None if self.index is None else self.model.lane(self.index)

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
        """Show workers from the first on, and its first block."""
        self._painted.clear()
        self._anchor = self.model.whole.start_ns
        self.rows_have_changed(len(self.model.lines), 0)
        self._leave_heading()
        self.reveal()
        self._choose()

    def update(self, index: int | None, row: int | None) -> None:
        """Show what has become of the workers; the cursor stays on its worker and its block.

        Args:
            index: The worker's index among all now; None where it is gone.
        """
        self._painted.clear()
        self.take_rows(len(self.model.lines), None if index is None else self.model.line_of(index))
        self._leave_heading()
        if row is not None:
            self._anchor = self.model.start_of(row)
        self._choose()
        if self.lane is not None and row is not None:
            # Where it has become a part of another block, that is the nearest one.
            block = self.lane.blocks.index_of(row, self._anchor)
            self.block = self.block if block is None else block

    def keep_on(self, index: int | None) -> None:
        """Take in that the workers are in another order; the cursor stays on one, by its index among all."""
        block = self.block
        self.rows_have_changed(len(self.model.lines), None if index is None else self.model.line_of(index))
        self._leave_heading()
        self.reveal()
        self.block = block
        self.post_message(self.Moved(self))

    def repaint(self) -> None:
        """Paint the workers anew, and not as they were painted before."""
        self._painted.clear()
        self.refresh()

    @property
    def time_cells(self) -> int:
        """The cells at the end of each line that show time."""
        return self.columns.time_cells(self.line_width)

    # -- moving ------------------------------------------------------------------------------------------------------

    def move_to(self, row: int) -> None:
        """Put the cursor on a worker, and on the block that is nearest in time to the one before.

        Headings are passed over.
        """
        before = self.cursor
        row = max(0, min(row, self.row_count - 1))
        if self._is_heading(row):
            row += 1 if row > before or not row else -1
        super().move_to(row)
        if self.cursor != before:
            self._choose()

    def _is_heading(self, row: int) -> bool:
        return row < len(self.model.lines) and isinstance(self.model.lines[row], Heading)

    def _leave_heading(self) -> None:
        """Put the cursor on the first worker below the heading that it is on."""
        self.cursor += self._is_heading(self.cursor)

    def reveal(self) -> None:
        """Scroll as little as brings the cursor into sight, and a heading right above it."""
        super().reveal()
        if self.cursor == self.scroll_offset.y > 0 and self._is_heading(self.cursor - 1):
            self.keep_in_place(-1)

    def select(self, block: int) -> None:
        """Select a block of the worker that the cursor is on."""
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
        cell = x - (self.line_width - self.time_cells)
        if self._is_heading(row):
            return True
        if cell < 0:
            return False
        was = (self.cursor, self.block)
        self.move_to(row)
        block = self._block_at(cell, self.time_cells)
        if block is not None:
            self.select(block)
        if was == (self.cursor, self.block):
            self.post_message(self.Chosen(self))
        return True

    def _block_at(self, cell: int, width: int) -> int | None:
        index, lane, shown = self.index, self.lane, self.model.shown
        if index is None or lane is None or not lane.blocks.rows:
            return None
        place = self._cells(index, lane, width).places[cell]
        if place != NOBODY:
            return place
        ns = shown.start_ns + (2 * cell + 1) * shown.length_ns // (2 * width)
        return min(bisect_left(lane.blocks.starts, ns), len(lane.blocks.rows) - 1)

    # -- painting ----------------------------------------------------------------------------------------------------

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one worker's line, or a heading."""
        index = self.model.lines[row]
        if isinstance(index, Heading):
            node = f"node {sanitise(self.model.node_text(index.node))}" if index.node else "node not known"
            return [Segment(fixed(f"{node}   {index.processes}", width), self.paint_style("accent"))]
        parts = self.columns.fit(width).parts_of(index)
        segments = [Segment(text, self.paint_style(style) if style else None) for text, style in parts]
        time_cells, selected = self.columns.time_cells(width), self.block if row == self.cursor else None
        return [*segments, Segment("  "), *self._time(index, self.model.lane(index), time_cells, selected)]

    def _cells(self, index: int, lane: Lane, width: int, selected: int | None = None) -> Cells:
        key, model = (index, self.model.shown, width), self.model
        if selected is not None or key not in self._painted:
            cells = cells_of(lane, model.shown, width, model.shape.numbers, NOBODY if selected is None else selected)
            hatch_until(cells, model.shown, lane.blocks.unended, model.known_until(index))
            if (runs := model.runs_now(index)) is not None:
                hatch_from(cells, model.shown, runs.since_ns)
            await_in(cells, model.shown, lane.open_awaited)
            if selected is not None:
                return cells
            if len(self._painted) >= _MAX_PAINTED:
                self._painted.clear()
            self._painted[key] = cells
        return self._painted[key]

    def _time(self, index: int, lane: Lane, width: int, selected: int | None) -> list[Segment]:
        """Return a worker's time: blocks in the colours of functions, those that are wide with their names."""
        dim, error, warning = (self.paint_style(name) + _UPRIGHT for name in ("dim", "error", "warning"))
        bright = Style(color=self.get_component_rich_style("workerlines--selected").bgcolor, bold=True, reverse=False)
        names, numbers = lane.blocks.names, self.model.shape.numbers
        drawn = self._cells(index, lane, width, selected)
        texts: list[tuple[str, Style | None]] = []
        for glyph, place, is_mixed in zip(drawn.glyphs, drawn.places, drawn.mixed, strict=True):
            if glyph == " ":
                texts.append((glyph, None))
            elif glyph in _STYLED:
                texts.append((glyph, error if glyph == FAILED else warning))
            elif place == NOBODY or is_mixed:
                texts.append((glyph, dim))
            else:
                number = numbers[names[place]]
                # Without colours a letter says which function a full cell is of.
                plain = letter_of(number) if glyph == FULL and self.app.no_color else glyph
                texts.append((plain, bright if place == selected else _COLORS[number % len(_COLORS)]))
        for first, behind in drawn.full_runs(_FEWEST_NAMED):
            place, has_edge = drawn.places[first], not first or drawn.places[first - 1] != drawn.places[first]
            texts[first] = self._named(lane, place, behind - first, texts[first][1], has_edge=has_edge)
            texts[first + 1 : behind] = [("", texts[first][1])] * (behind - first - 1)
        for hatch in filter(drawn.glyphs.__contains__, (*HATCHES, AWAITING)):
            fewest = _FEWEST_NAMED_AWAITING if hatch == AWAITING else _FEWEST_NAMED
            for first, behind in drawn.full_runs(fewest, hatch):
                runs, size = self.model.runs_now(index), behind - first - 1
                row = None if drawn.places[first] == NOBODY else lane.blocks.rows[drawn.places[first]]
                text = self.model.function_text(row) if row is not None else "" if runs is None else runs.title
                name = _in_block(text, size)
                bare = name.rstrip()
                texts[first] = f"{hatch}{bare}{hatch * (len(name) - len(bare))}", texts[first][1]
                texts[first + 1 : behind] = [("", texts[first][1])] * size
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
        name = _in_block(self.model.function_text(lane.blocks.rows[place]), size - len(edge))
        if self.app.no_color:
            # Without colours a blank is a gap.
            bare = name.rstrip()
            return edge + bare + FULL * (len(name) - len(bare)), style
        return edge + name, (style or Style()) + Style(bgcolor=self.page.bgcolor, reverse=True)


_STYLED: Final = (FAILED, RESTARTED, RUNNING)
"""Cells that have a colour of their own, not that of a function."""
_UPRIGHT: Final = Style(reverse=False)
"""Colours of blocks stay as they are where the selected row is turned round."""
_COLORS: Final = tuple(color + _UPRIGHT for color in PALETTE)
