"""The time side of a trace's rows: a bar a span, and a band of shades for like siblings.

─┈┈██████▌✖      being submitted (where a call is one row), waiting, the span (light where a descendant runs), a failure
   ░▒▓█▓▒░       how many of like siblings run at each time
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from rich.style import Style

from spanview.display.bars import span_cells
from spanview.model.codes import ERROR
from spanview.model.times import NO_TIME
from spanview.tui.app.colorless import FULL, LIGHT, UNLIT
from spanview.tui.trace.runs import marked
from spanview.tui.widgets.legend import color_of
from spanview.tui.widgets.paint import joined

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.segment import Segment

    from spanview.index.store import Store
    from spanview.tui.trace.appearance import Appearance
    from spanview.tui.trace.lit_path import LitPath
    from spanview.tui.trace.runs import Run
    from spanview.tui.trace.trace_model import TraceModel
    from spanview.tui.widgets.window import Window

_Cells: TypeAlias = "list[tuple[str, Style | None]]"
_LIGHT: Final = Style(dim=True)
_BOLD: Final = Style(bold=True)
_EVENT, _FAILED = "◆", "✖"
_SUBMITTED, _WAIT, _UNSEEN = "─", "┈", "╌"
_SHADES: Final = "░▒▓█"


class Bars:
    """Draws the time side of rows.

    Args:
        model: The trace.
        appearance: What colours stand for, and the critical path.
        paint_style: Returns the style of a name.
        is_colorless: Tells whether characters have to say what colours say.
    """

    def __init__(
        self,
        store: Store,
        model: TraceModel,
        appearance: Appearance,
        paint_style: Callable[[str], Style],
        is_colorless: Callable[[], bool],
    ) -> None:
        self._store = store
        self._model = model
        self._appearance = appearance
        self._paint_style = paint_style
        self._is_colorless = is_colorless

    def color_of(self, node: int) -> Style:
        """Return the colour of a node."""
        return color_of(self._appearance.color_number(self._model.tree.rows[node]))

    def of(self, node: int, width: int) -> list[Segment]:
        """Return the waiting, the bar, and the marks behind it, each cell with its style."""
        model, tree = self._model, self._model.tree
        window, dim = model.shown, self._paint_style("dim")
        cells: _Cells = [(" ", None)] * width
        if run := model.run(node):
            self._draw_run(run, cells, window)
            return joined(cells)
        interval = model.stitched.interval(node)
        if interval is None:
            self._draw_unended(node, cells, window)
            return joined(cells)
        left, right_ = window.place(interval[0], width), window.place(interval[1], width)
        if right_ < 0 or left > width:
            edge = 0 if right_ < 0 else width - 1
            cells[edge] = ("‹" if right_ < 0 else "›", dim)
            return joined(cells)
        if tree.is_missing(node):
            for cell in range(max(0, int(left)), min(width, int(right_) + 1)):
                cells[cell] = (_UNSEEN, dim)
            return joined(cells)
        self._draw_wait(node, left, cells, window)
        end = self._draw_span(node, left, right_, cells, window)
        for moment_ns in self._appearance.events_of(tree.rows[node]):
            place = window.place(moment_ns, width)
            if 0 <= place < width:
                cells[int(place)] = (_EVENT, cells[int(place)][1])
        if self._store.spans.status[tree.rows[node]] == ERROR:
            cells[min(end, width - 1)] = (_FAILED, self._paint_style("error"))
        return joined(cells)

    def _draw_run(self, run: Run, cells: _Cells, window: Window) -> None:
        """Draw like siblings as how many of them run at each time, and where some failed."""
        counts = run.timed.profile(window, len(cells))
        most = max(counts, default=0)
        color = self.color_of(run.members[0])
        for cell, number in enumerate(counts):
            if number:
                cells[cell] = (_SHADES[-(-number * len(_SHADES) // most) - 1], color)
        for cell, is_marked in enumerate(marked(run.failures.profile(window, len(cells)))):
            if is_marked:
                cells[cell] = (_FAILED, self._paint_style("error"))

    def _draw_unended(self, node: int, cells: _Cells, window: Window) -> None:
        start = self._model.tree.start_ns(node)
        if start != NO_TIME:
            for cell in range(max(0, int(window.place(start, len(cells)))), len(cells)):
                cells[cell] = (_UNSEEN, self._paint_style("warning"))

    def _draw_wait(self, node: int, left: float, cells: _Cells, window: Window) -> None:
        behind = span_cells(left, left, len(cells))[0]
        submission = self._model.stitched.submission(node)
        if submission is not None:
            first, last = (window.place(time, len(cells)) for time in submission)
            for cell in range(max(0, int(first)), min(int(last) + 1, behind)):
                cells[cell] = (_SUBMITTED, self.color_of(node) + _LIGHT)
        wait = self._model.stitched.wait(node)
        if wait:
            submitted = window.place(self._model.tree.start_ns(node) - wait, len(cells))
            for cell in range(max(0, round(submitted)), behind):
                cells[cell] = (_WAIT, self._paint_style("dim"))

    def _draw_span(self, node: int, left: float, right_: float, cells: _Cells, window: Window) -> int:
        """Draw the bar, light where something below the span runs; return the cell behind it."""
        width, color, is_colorless = len(cells), self.color_of(node), self._is_colorless()
        first, drawn = span_cells(left, right_, width)
        own, begin, length = self._model.stitched.own_times(node), window.start_ns, window.length_ns
        began, ended = self._model.stitched.interval(node) or (begin, begin)
        for cell, character in enumerate(drawn, first):
            start, end = max(began, begin + cell * length // width), min(ended, begin + (cell + 1) * length // width)
            # Thousands of descendants leave gaps that no cell can show.
            is_light = end > start and 2 * own.between(start, end) <= end - start
            shade = LIGHT if is_light and is_colorless else character
            cells[cell] = (shade, color + _LIGHT if is_light else color)
        if self._appearance.lit_path is not None:
            self._light_up(self._appearance.lit_path, node, range(first, min(first + len(drawn), width)), cells, window)
        return first + len(drawn)

    def _light_up(self, lit: LitPath, node: int, bar: range, cells: _Cells, window: Window) -> None:
        """Let what is on the critical path stand out of a bar, and of the waiting before it."""
        width, begin, length, unlit = len(cells), window.start_ns, window.length_ns, self._paint_style("unlit")
        for cell in bar:
            cells[cell] = UNLIT if self._is_colorless() else cells[cell][0], unlit
        for cell in range(width):
            start, end = begin + cell * length // width, begin + (cell + 1) * length // width
            if cell == bar.start:
                # A bar that begins at the end of a cell is drawn from the next one on.
                start = min(start, max(begin, self._model.tree.start_ns(node)))
            if cells[cell][0] != " " and lit.is_at(node, start, max(end, start + 1)):
                character = FULL if cells[cell][0] == UNLIT else cells[cell][0]
                cells[cell] = character, self._paint_style("warning") + _BOLD
