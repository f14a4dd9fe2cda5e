"""Drawing the mouse over cells of time picks a stretch, or moves through time, wherever a widget shows time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from rich.style import Style
from textual import events, on
from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import Callable

MouseNews: TypeAlias = "events.MouseEvent | events.MouseRelease"
Taking = TypeVar("Taking", bound="Callable[[Any, MouseNews], None]")
_LEFT, _RIGHT = 1, 3
_MIN_CELLS: Final = 2
"""A mouse that moves by less with its button down has clicked."""


def takes_mouse(method: Taking) -> Taking:
    """Have a method of a widget called with all that `Drag.take` wants to know of the mouse."""
    for kind in (events.MouseDown, events.MouseMove, events.MouseUp, events.MouseRelease):
        on(kind)(method)
    return method


@dataclass(eq=False)
class Drag:
    """The stretch of a widget's time over which the mouse is drawn, by the cells that show it."""

    _widget: Widget
    """Passes what `takes_mouse` says on to `take`."""
    _cells: Callable[[], tuple[int, int]]
    """Returns the first cell of the widget that shows time, and how many do."""
    _show: Callable[[tuple[int, int] | None], object]
    """Takes what is picked so far whenever that changes, for painting."""
    _pick: Callable[[int, int], object]
    _pan: Callable[[int], object] | None = None
    """Takes by how many cells time was drawn to the right, with Ctrl or the right button; None where it can't be."""
    _pans: bool = False
    """Whether the mouse moves through time now."""
    _pressed: int | None = None
    """The cell in which the button was pressed, or to which time was drawn; None while it is up."""
    picked: tuple[int, int] | None = None
    """The first and the last cell of the stretch so far; None before it begins, and when it has ended."""
    is_click: bool = True
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
            self._pans = self._pan is not None and (event.ctrl or event.button == _RIGHT)
            if (self._pans or event.button == _LEFT) and 0 <= cell < count:
                self._pressed = cell
                self._widget.capture_mouse()
        elif self._pressed is not None:
            if self._pans:
                self._pan_to(cell, self._pressed)
            else:
                self._draw_to(max(0, min(count - 1, cell)), self._pressed)
            if isinstance(event, events.MouseUp):
                self._release()

    def _pan_to(self, cell: int, pressed: int) -> None:
        if cell != pressed and self._pan is not None:
            self._pressed, self.is_click = cell, False
            self._pan(cell - pressed)

    def _draw_to(self, cell: int, pressed: int) -> None:
        picked = (min(cell, pressed), max(cell, pressed)) if abs(cell - pressed) >= _MIN_CELLS else None
        if picked != self.picked:
            self.picked = picked
            self._show(picked)

    def _release(self) -> None:
        picked = self.picked
        self._end()
        self._widget.release_mouse()
        if picked is not None:
            self.is_click = False
            self._pick(*picked)

    def _end(self) -> None:
        was_shown, self.picked, self._pressed = self.picked is not None, None, None
        if was_shown:
            self._show(None)


class TimeWidget(Widget):
    """A widget that shows time, over which the mouse is drawn."""

    drag: Drag
    """What that does."""

    @takes_mouse
    def _draw(self, event: MouseNews) -> None:
        self.drag.take(event)

    def style_of(self, name: str) -> Style:
        """Return the style of a component class, without a background."""
        full = self.get_component_rich_style(name)
        return Style(color=full.color, bold=full.bold)
