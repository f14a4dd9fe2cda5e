"""The whole time in one line: how much runs at each time, where errors end, and which part the waterfall shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from spanview.display.bars import height_of
from spanview.tui.trace.runs import marked
from spanview.tui.widgets.dragging import Drag, TimeWidget
from spanview.tui.widgets.paint import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events

    from spanview.analysis.window import Window
    from spanview.reports.workers_model import WorkersModel
    from spanview.tui.trace.trace_model import TraceModel

    Mapped: TypeAlias = TraceModel | WorkersModel
    """Something over time, of which a part is shown."""

_FAILED = "✖"


class Minimap(TimeWidget, inherit_bindings=False):
    """The line above the ruler."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"minimap--in", "minimap--out", "minimap--error"}

    def __init__(self, model: Mapped, pick: Callable[[Window], object]) -> None:
        super().__init__()
        self._model = model
        self._pick = pick
        self._drawn: tuple[object, int, str] | None = None
        """What was profiled and the width that were drawn, and what came of it."""
        self.drag = Drag(self, lambda: (0, self.size.width), lambda _: self.refresh(), self._pick_columns)

    # -- painting ----------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - there is one only
        """Paint the line."""
        width, text = self.size.width, self._text()
        inside, outside, error = (self.style_of(name) for name in ("minimap--in", "minimap--out", "minimap--error"))
        window, whole = self._model.shown, self._model.whole
        first, last = self.drag.picked or (self._columns(window.start_ns), self._columns(window.end_ns))
        is_whole = self.drag.picked is None and window == whole
        segments = []
        for column, glyph in enumerate(text):
            is_in = is_whole or first <= column <= last
            style = error if glyph == _FAILED else inside if is_in else outside
            # Blank cells of the window are told from those outside of it by a line.
            shown = "▁" if glyph == " " and is_in and not is_whole else glyph
            segments.append(Segment(shown if is_in or glyph == " " or not self.app.no_color else OUTSIDE, style))
        return Strip(segments).adjust_cell_length(width).apply_style(Style(bgcolor=self.rich_style.bgcolor))

    def _text(self) -> str:
        """Return the line without its styles; what it takes to make is kept until the trace grows."""
        model, width = self._model, max(1, self.size.width)
        if self._drawn is None or self._drawn[:2] != (model.profiled, width):
            self._drawn = model.profiled, width, self._profile(width)
        return self._drawn[2]

    def _profile(self, width: int) -> str:
        profiled = self._model.profiled
        counts = profiled.timed.profile(profiled.whole, width)
        most = max(1, *counts)
        cells = [height_of(count, most) for count in counts]
        failed = marked(profiled.failures.profile(profiled.whole, width))
        return "".join(_FAILED if is_marked else cell for cell, is_marked in zip(cells, failed, strict=True))

    def _columns(self, ns: int) -> int:
        width = max(1, self.size.width)
        return max(0, min(width - 1, int(self._model.whole.place(ns, width))))

    # -- picking -----------------------------------------------------------------------------------------------------

    def _pick_columns(self, first: int, last: int) -> None:
        self._pick(self._model.whole.of_cells(first, last, self.size.width))

    def on_click(self, event: events.Click) -> None:
        """Move what is shown; show the whole trace at the second click."""
        if not self.drag.is_click or event.button > 1:
            return
        whole, shown = self._model.whole, self._model.shown
        if event.chain > 1:
            self._pick(whole)
        else:
            clicked = whole.of_cells(event.x, event.x, self.size.width)
            self._pick(whole.centred(shown, clicked.start_ns, clicked.end_ns))
