"""What colours stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from spanview.display.cells import name_text, texts_apart
from spanview.tui.widgets.paint import PALETTE, letter_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.reports.workers_model import WorkersModel
    from spanview.tui.trace.appearance import Appearance

_MOST_IN_LEGEND: Final = 40
_LONGEST_IN_LEGEND: Final = 30


def color_of(number: int) -> Style:
    """Return the colour that a number has."""
    return PALETTE[number % len(PALETTE)]


class Legend(Widget):
    """The line below the waterfall: what other marks and the colours stand for."""

    def __init__(self, explained: Appearance | WorkersModel, marks: Callable[[], str] = str) -> None:
        super().__init__()
        self._explained = explained
        self._marks = marks

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - there is one only
        """Paint the line."""
        marks = self._marks()
        segments = [Segment(f" {marks}   " if marks else " "), Segment(f"{self._explained.colored_by}  ")]
        legend = self._explained.legend()[:_MOST_IN_LEGEND]
        apart = texts_apart((name for _, name in legend), _LONGEST_IN_LEGEND)
        for number, name in legend:
            text = apart.get(name) or name_text(name, _LONGEST_IN_LEGEND).rstrip()
            mark = letter_of(number) if self.app.no_color else "■"
            segments += [Segment(f"{mark} ", color_of(number)), Segment(f"{text}  ")]
        strip = Strip(segments).adjust_cell_length(self.size.width)
        return strip.apply_style(Style(color=self.rich_style.color, bgcolor=self.rich_style.bgcolor))
