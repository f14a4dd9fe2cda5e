"""What colours stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from spanview.display.sanitise import sanitise
from spanview.tui.paint import PALETTE

if TYPE_CHECKING:
    from spanview.tui.trace_facets import Facets

_LONGEST_IN_LEGEND: Final = 30


def color_of(number: int) -> Style:
    """Return the colour that a number has."""
    return PALETTE[number % len(PALETTE)]


class Legend(Widget):
    """The line below the waterfall: what the colours stand for."""

    def __init__(self, facets: Facets, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._facets = facets

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - there is one only
        """Paint the line."""
        segments = [Segment(f" {self._facets.color_by.value}  ")]
        for number, name in self._facets.legend():
            segments += [Segment("■ ", color_of(number)), Segment(sanitise(name, _LONGEST_IN_LEGEND) + "  ")]
        strip = Strip(segments).adjust_cell_length(self.size.width)
        return strip.apply_style(Style(color=self.rich_style.color, bgcolor=self.rich_style.bgcolor))
