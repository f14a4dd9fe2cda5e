"""Zooming and panning: what the keys and the mouse do to the time that a screen shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from spanview.display.timeline import ruler, stretch
from spanview.display.units import duration, duration_by
from spanview.tui.widgets.dragging import Drag

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.widget import Widget

    from spanview.analysis.window import Window
    from spanview.tui.viewer import Viewer
    from spanview.tui.widgets.linelist import LineList
    from spanview.tui.widgets.minimap import Mapped

_PARTS_TOLD: Final = 100
"""Where a stretch begins is told to such a part of its length."""


@dataclass(eq=False)
class Zoom:
    """Shows less of a screen's time, more of it, or another part."""

    _rows: LineList
    """Lines that show time in their last cells."""
    zoomable: Mapped
    interval: Callable[[], tuple[int, int] | None]
    """Returns start and end of the selected span; None where that isn't known."""
    refresh: Callable[[], object]
    """Paints anew what says, beside the rows, which time is shown."""
    _dragged: tuple[int, int] | None = None
    """The cells of time over which the mouse is drawn."""

    def __post_init__(self) -> None:
        self._rows.drag = self.drag_over(self._rows)

    def drag_over(self, widget: Widget) -> Drag:
        """Let the mouse zoom and pan where a widget shows the same time as the rows, in the same columns."""
        return Drag(widget, lambda: self._cells_of(widget), self._show_dragged, self._pick_cells, self._pan_cells)

    def _cells_of(self, widget: Widget) -> tuple[int, int]:
        """Return the first cell of a widget that shows time, and how many do; the scrollbar has the one after them."""
        cells = self._rows.time_cells
        return widget.region.width - 1 - cells, cells

    def _show_dragged(self, cells: tuple[int, int] | None) -> None:
        self._dragged = cells
        first, _ = self._cells_of(self._rows)
        self._rows.light_columns(None if cells is None else (first + cells[0], first + cells[1]))
        self.refresh()

    def _pick_cells(self, first: int, last: int) -> None:
        self.look_at(self.zoomable.whole.within(*self._window_of(first, last)))

    def _pan_cells(self, cells: int) -> None:
        whole, shown = self.zoomable.whole, self.zoomable.shown
        self.look_at(whole.moved(shown, -cells * shown.length_ns // self._rows.time_cells))

    def _window_of(self, first: int, last: int) -> tuple[int, int]:
        window = self.zoomable.shown.of_cells(first, last, self._rows.time_cells)
        return window.start_ns, window.end_ns

    def ruler(self, width: int) -> str:
        """Return the ruler above the rows in so many cells; while the mouse is drawn over them, how long that is."""
        shown, origin = self.zoomable.shown, self.zoomable.whole.start_ns
        if self._dragged is None:
            return ruler(shown.start_ns - origin, shown.end_ns - origin, width)
        start, end = self._window_of(*self._dragged)
        return stretch(*self._dragged, width, duration(end - start))

    def look_at(self, window: Window) -> None:
        """Show a stretch of time, and say which."""
        whole = self.zoomable.whole
        self.zoomable.window = None if window == whole else window
        after = duration_by(window.start_ns - whole.start_ns, max(1, window.length_ns // _PARTS_TOLD))
        text = "the whole time" if window == whole else f"{duration(window.length_ns)} from +{after}"
        self._say(text)
        self._rows.refresh()
        self.refresh()

    def _say(self, text: str) -> None:
        cast("Viewer", self._rows.app).say(text)

    def wheel(self, event: events.MouseEvent, by: int) -> None:
        """Zoom around the mouse where Ctrl is held, pan where Shift is; `by` is above 0 for less time, or earlier."""
        whole, shown = self.zoomable.whole, self.zoomable.shown
        if event.ctrl:
            cells, lines = self._rows.time_cells, self._rows.content_region
            # The last cell of all is the scrollbar's.
            cell = event.screen_x - (lines.right - 1 - cells)
            ns = shown.start_ns + (2 * cell + 1) * shown.length_ns // (2 * cells)
            self.look_at(whole.zoomed(shown, (ns, ns) if 0 <= cell < cells else None, by))
        elif event.shift:
            self.pan(-by)

    def zoom(self, by: int) -> None:
        """Show less time, or more, around the middle of the selected span."""
        self.look_at(self.zoomable.whole.zoomed(self.zoomable.shown, self.interval(), by))

    def pan(self, by: int) -> None:
        """Show earlier or later time."""
        self.look_at(self.zoomable.whole.panned(self.zoomable.shown, by))

    def fit(self) -> None:
        """Show just the time of the selected span."""
        interval = self.interval()
        if interval is not None:
            self.look_at(self.zoomable.whole.fitted(interval))
        else:
            self._say("this span has no time to show")

    def show_whole(self) -> None:
        """Show all of the time."""
        self.look_at(self.zoomable.whole)
