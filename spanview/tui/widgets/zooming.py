"""Zooming and panning: what the keys, the minimap and the wheel do to the time that a screen shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from spanview.display.units import duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events

    from spanview.tui.viewer import Viewer
    from spanview.tui.widgets.linelist import LineList
    from spanview.tui.widgets.minimap import Mapped
    from spanview.tui.widgets.window import Window


class Zoom:
    """Shows less of a screen's time, more of it, or another part.

    Args:
        rows: Lines that show time in their last cells.
        zoomable: What is over time.
        time_cells: Returns how many cells these are.
        interval: Returns start and end of the selected span; None where that isn't known.
        refresh: Paints anew what says, beside the rows, which time is shown.
    """

    def __init__(
        self,
        rows: LineList,
        zoomable: Mapped,
        *,
        time_cells: Callable[[], int],
        interval: Callable[[], tuple[int, int] | None],
        refresh: Callable[[], object],
    ) -> None:
        self._rows = rows
        self.zoomable = zoomable
        self._time_cells = time_cells
        self._interval = interval
        self._refresh = refresh

    def look_at(self, window: Window) -> None:
        """Show a stretch of time, and say which."""
        whole = self.zoomable.whole
        self.zoomable.window = None if window == whole else window
        after = duration(window.start_ns - whole.start_ns)
        text = "the whole time" if window == whole else f"{duration(window.length_ns)} from +{after}"
        self._say(text)
        self._rows.refresh()
        self._refresh()

    def _say(self, text: str) -> None:
        cast("Viewer", self._rows.app).say(text)

    def pick(self, stretch: tuple[int, int] | None) -> None:
        """Show the stretch that was picked with the mouse; all of the time where it is None."""
        whole = self.zoomable.whole
        self.look_at(whole if stretch is None else whole.within(*stretch))

    def wheel(self, event: events.MouseEvent, by: int) -> None:
        """Zoom around the mouse where Ctrl is held, pan where Shift is; `by` is above 0 for less time, or earlier."""
        whole, shown = self.zoomable.whole, self.zoomable.shown
        if event.ctrl:
            cells, lines = self._time_cells(), self._rows.content_region
            # The last cell of all is the scrollbar's.
            cell = event.screen_x - (lines.right - 1 - cells)
            ns = shown.start_ns + (2 * cell + 1) * shown.length_ns // (2 * cells)
            self.look_at(whole.zoomed(shown, (ns, ns) if 0 <= cell < cells else None, by))
        elif event.shift:
            self.pan(-by)

    def zoom(self, by: int) -> None:
        """Show less time, or more, around the middle of the selected span."""
        self.look_at(self.zoomable.whole.zoomed(self.zoomable.shown, self._interval(), by))

    def pan(self, by: int) -> None:
        """Show earlier or later time."""
        self.look_at(self.zoomable.whole.panned(self.zoomable.shown, by))

    def fit(self) -> None:
        """Show just the time of the selected span."""
        interval = self._interval()
        if interval is not None:
            self.look_at(self.zoomable.whole.fitted(interval))
        else:
            self._say("this span has no time to show")

    def show_whole(self) -> None:
        """Show all of the time."""
        self.look_at(self.zoomable.whole)
