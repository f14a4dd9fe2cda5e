"""The plot above the list of traces: durations over time, of which a range can be picked."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from spanview.display.cells import right
from spanview.display.units import moment
from spanview.model.times import NS_PER_SECOND
from spanview.tui.traces.plot_model import FAILED, OTHERS, Grid, grid_of
from spanview.tui.widgets.dragging import Drag, TimeWidget
from spanview.tui.widgets.paint import OUTSIDE, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events

    from spanview.reports.traces_model import TracesModel

ROWS: Final = 5
_LABELS: Final = 8
_BETWEEN_TIMES: Final = 20
"""Cells from one time on the axis to the next."""
_NEAR: Final = 3
"""So many cells beside a trace a click still means it."""


class Plot(TimeWidget, inherit_bindings=False):
    """Draws the traces that are listed, those outside a picked range too."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"plot--bar", "plot--error", "plot--dim"}

    def __init__(self, model: TracesModel, pick: Callable[[int, int], object]) -> None:
        super().__init__()
        self._model = model
        self._pick = pick
        self._grid: Grid | None = None
        self._counted: object = None
        """What the cells were counted for: the version of the list, what is set off, and how many columns."""
        self._lit: Sequence[str | None] = ()
        self.drag = Drag(self, self._columns, lambda _: self.refresh(), self._pick_columns)

    def count_anew(self, lit: Sequence[str | None] | None = None) -> None:
        """Take in what is listed now.

        Args:
            lit: The root name whose traces are set off from all others, or none; as before where it isn't said.
        """
        self._lit = self._lit if lit is None else lit
        width = self.size.width - _LABELS - 1
        model = self._model
        # What runs moves on from row to row, each of which is a power of ten.
        powers = {trace: len(str(model.duration_ns(trace))) for trace in model.known_until}
        counted = model.version, model.silent, model.made_good, powers, self._lit, width
        if self.display and width > 0 and counted != self._counted:
            points = model.points(self._lit)
            self._grid, self._counted = None if points is None else grid_of(points, width, ROWS), counted
            self.refresh()

    def light(self, lit: Sequence[str | None]) -> None:
        """Set the traces of another root name off from all others, or those of none."""
        if lit != self._lit:
            self.count_anew(lit)

    def on_resize(self) -> None:
        """Count anew: there are more columns now, or fewer; at first once the rows are painted, as that needs numpy."""
        if self._grid is None:
            self.call_after_refresh(self.count_anew)
        else:
            self.count_anew()

    # -- painting ----------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Paint one row of cells, or the axis below them."""
        grid, width = self._grid, self.size.width
        if grid is None or grid.columns + _LABELS + 1 != width:
            return Strip.blank(width, self.rich_style)
        dim, bar, error = (self.style_of(name) for name in ("plot--dim", "plot--bar", "plot--error"))
        if y >= ROWS:
            return self._strip([Segment(self._axis(grid), dim)])
        segments = [Segment(right(grid.label(y, ROWS), _LABELS - 1) + "┤", dim)]
        first, last = self._picked_columns(grid)
        most = grid.most
        cells: list[tuple[str, Style | None]] = []
        for column in range(grid.columns):
            glyph = grid.glyph(column, y, most)
            style = error if glyph == FAILED else dim if glyph == OTHERS else bar
            is_in = first <= column <= last
            shown = OUTSIDE if self.app.no_color and not is_in and not glyph.isspace() else glyph
            cells.append((shown, style if is_in else dim))
        # Painting costs by the segment.
        return self._strip([*segments, *joined(cells)])

    def _strip(self, segments: list[Segment]) -> Strip:
        style = Style(bgcolor=self.rich_style.bgcolor)
        return Strip(Segment.apply_style(segments, style)).adjust_cell_length(self.size.width, style)

    def _axis(self, grid: Grid) -> str:
        # As many decimals as tell one time from the next.
        step_ns = (grid.end_ns - grid.start_ns) * _BETWEEN_TIMES // grid.columns
        digits = next((digits for digits in (0, 3) if step_ns >= NS_PER_SECOND // 10**digits), 6)
        with_date = self._model.spans_days
        step = max(_BETWEEN_TIMES, len(moment(grid.start_ns, with_date=with_date, digits=digits)) + 3)
        text, before = " " * _LABELS, ""
        for column in range(0, max(1, grid.columns - step + 4), step):
            stamp = moment(grid.time_of(column), with_date=with_date, digits=digits)
            # All traces may have begun within one of what the digits tell.
            if stamp != before:
                text, before = f"{text.ljust(_LABELS + column)}╵{stamp} ", stamp
        return text

    def _picked_columns(self, grid: Grid) -> tuple[int, int]:
        if self.drag.picked is not None:
            return self.drag.picked
        start, end = self._model.picked
        first = 0 if start is None else grid.column_of(start)
        return first, grid.columns if end is None else grid.column_of(end)

    # -- picking -----------------------------------------------------------------------------------------------------

    def _columns(self) -> tuple[int, int]:
        return _LABELS, 0 if self._grid is None else self._grid.columns

    def on_click(self, event: events.Click) -> None:
        """Pick the traces of a column, or of one near it."""
        column = event.x - _LABELS
        is_click = self.drag.is_click and event.button <= 1
        if is_click and self._grid is not None and 0 <= column < self._grid.columns:
            self._pick_columns(*[self._grid.near(column, _NEAR)] * 2)

    def _pick_columns(self, first: int, last: int) -> None:
        if self._grid is not None:
            self._pick(self._grid.time_of(first), self._grid.time_of(last + 1) - 1)
