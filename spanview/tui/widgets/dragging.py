"""Drawing the mouse over cells of time picks a stretch, wherever a widget shows time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from textual import events, on

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.widget import Widget

MouseNews: TypeAlias = "events.MouseEvent | events.MouseRelease"
Taking = TypeVar("Taking", bound="Callable[[Any, MouseNews], None]")
_MIN_CELLS: Final = 2
"""A mouse that moves by less with its button down has clicked."""


def takes_mouse(method: Taking) -> Taking:
    """Have a method of a widget called with all that `Drag.take` wants to know of the mouse."""
    for kind in (events.MouseDown, events.MouseMove, events.MouseUp, events.MouseRelease):
        on(kind)(method)
    return method


class Drag:
    """The stretch of a widget's time over which the mouse is drawn, by the cells that show it.

    Args:
        widget: Passes what `takes_mouse` says on to `take`.
        cells: Returns the first cell of the widget that shows time, and how many do.
        show: Takes the first and the last cell of the stretch so far, None when it ends; for painting.
        pick: Takes those of the stretch at last.
    """

    def __init__(
        self,
        widget: Widget,
        cells: Callable[[], tuple[int, int]],
        show: Callable[[tuple[int, int] | None], object],
        pick: Callable[[int, int], object],
    ) -> None:
        self._widget = widget
        self._cells = cells
        self._show = show
        self._pick = pick
        self._pressed: int | None = None
        """The cell in which the button was pressed; None while it is up."""
        self._picked: tuple[int, int] | None = None
        self.is_click = True
        """Whether the press that ended last was none of a stretch, but a click."""

    def take(self, event: MouseNews) -> None:
        """Take in that the button was pressed, the mouse moved, the button released, or the mouse taken away."""
        if isinstance(event, events.MouseRelease):
            # A key has opened another screen.
            self._end()
            return
        first, count = self._cells()
        cell = event.x - first
        if isinstance(event, events.MouseDown):
            self.is_click = True
            if event.button == 1 and 0 <= cell < count:
                self._pressed = cell
                self._widget.capture_mouse()
        elif self._pressed is not None:
            self._draw_to(max(0, min(count - 1, cell)), self._pressed)
            if isinstance(event, events.MouseUp):
                self._release()

    def _draw_to(self, cell: int, pressed: int) -> None:
        picked = (min(cell, pressed), max(cell, pressed)) if abs(cell - pressed) >= _MIN_CELLS else None
        if picked != self._picked:
            self._picked = picked
            self._show(picked)

    def _release(self) -> None:
        picked = self._picked
        self._end()
        self._widget.release_mouse()
        self.is_click = picked is None
        if picked is not None:
            self._pick(*picked)

    def _end(self) -> None:
        was_shown, self._picked, self._pressed = self._picked is not None, None, None
        if was_shown:
            self._show(None)
