"""Time that is looked at: the keys and the minimap that show less of it, or another part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from spanview.display.units import duration
from spanview.tui.widgets.base_screen import BaseScreen

if TYPE_CHECKING:
    from textual import events

    from spanview.tui.widgets.minimap import Minimap
    from spanview.tui.widgets.window import Window


class Zoomable(Protocol):
    """Something over time."""

    window: Window | None
    """What was zoomed to; None for all."""

    @property
    def whole(self) -> Window:
        """All of its time."""

    @property
    def shown(self) -> Window:
        """What is shown of it."""


class ZoomingScreen(BaseScreen):
    """A screen of something over time."""

    @property
    def zoomable(self) -> Zoomable:
        """What is looked at."""
        raise NotImplementedError

    @property
    def time_cells(self) -> int:
        """The cells at the end of each line that show time."""
        raise NotImplementedError

    @property
    def interval(self) -> tuple[int, int] | None:
        """Start and end of the selected span; None where that isn't known."""
        raise NotImplementedError

    def refresh_time(self) -> None:
        """Paint anew what says which time is shown."""
        raise NotImplementedError

    def look_at(self, window: Window) -> None:
        """Show a stretch of time, and say which."""
        whole = self.zoomable.whole
        self.zoomable.window = None if window == whole else window
        after = duration(window.start_ns - whole.start_ns)
        self.viewer.say("the whole time" if window == whole else f"{duration(window.length_ns)} from +{after}")
        self.rows.refresh()
        self.refresh_time()

    def on_minimap_picked(self, event: Minimap.Picked) -> None:
        """Show the stretch that was picked with the mouse."""
        whole = self.zoomable.whole
        self.look_at(whole if event.stretch is None else whole.within(*event.stretch))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Show less time around the mouse with Ctrl, earlier time with Shift."""
        self._wheel(event, 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Show more time around the mouse with Ctrl, later time with Shift."""
        self._wheel(event, -1)

    def _wheel(self, event: events.MouseEvent, by: int) -> None:
        whole, shown = self.zoomable.whole, self.zoomable.shown
        if event.ctrl:
            cells, lines = self.time_cells, self.rows.content_region
            # The last cell of all is the scrollbar's.
            cell = event.screen_x - (lines.right - 1 - cells)
            ns = shown.start_ns + (2 * cell + 1) * shown.length_ns // (2 * cells)
            self.look_at(whole.zoomed(shown, (ns, ns) if 0 <= cell < cells else None, by))
        elif event.shift:
            self.action_pan(-by)

    def action_zoom(self, by: int) -> None:
        """Show less time, or more, around the middle of the selected span."""
        self.look_at(self.zoomable.whole.zoomed(self.zoomable.shown, self.interval, by))

    def action_pan(self, by: int) -> None:
        """Show earlier or later time."""
        self.look_at(self.zoomable.whole.panned(self.zoomable.shown, by))

    def action_fit(self) -> None:
        """Show just the time of the selected span."""
        if self.interval is not None:
            self.look_at(self.zoomable.whole.fitted(self.interval))
        else:
            self.viewer.say("this span has no time to show")

    def action_whole(self) -> None:
        """Show all of the time."""
        self.look_at(self.zoomable.whole)
