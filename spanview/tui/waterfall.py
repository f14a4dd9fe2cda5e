"""Tree and waterfall: a line a span, its place in the tree on the left, its time on the right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.widget import Widget

from spanview.analysis.waits import wait_of
from spanview.display.bars import span_cells
from spanview.display.timeline import ruler
from spanview.model.span import ERROR
from spanview.model.times import NO_TIME
from spanview.tui.colorless import FULL, LIGHT, MATCH, UNLIT, letter_of
from spanview.tui.legend import color_of
from spanview.tui.linelist import LineList
from spanview.tui.paint import data_text, fixed, joined, right
from spanview.tui.row_texts import RowTexts
from spanview.tui.trace_facets import EXTRAS
from spanview.tui.window import profile

if TYPE_CHECKING:
    from spanview.analysis.critical import Segment as Stretch
    from spanview.index.store import Store
    from spanview.tui.trace_facets import Facets
    from spanview.tui.trace_model import TraceModel
    from spanview.tui.window import Window

_DURATION: Final = 10
_ARROW: Final = 2
_LIGHT: Final = Style(dim=True)
_BOLD: Final = Style(bold=True)
_EVENT = "◆"
_WAIT, _UNSEEN = "┈", "╌"
_SHADES: Final = "░▒▓█"
_ROOM_FOR_FIGURES: Final = 44


@dataclass(frozen=True, slots=True)
class Split:
    """How a line's width is shared out."""

    name: int
    time: int

    @classmethod
    def of(cls, width: int, extras: int = 0) -> Split:
        """Return the shares for a screen `width` cells wide, of which further columns take some."""
        name = max(24, min(72, round((width - extras) * 0.42)))
        return cls(name, max(8, width - extras - name - _DURATION - 2))


class RulerLine(Widget):
    """The line above the waterfall."""

    def __init__(self, model: TraceModel, facets: Facets, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._model = model
        self._facets = facets

    def render(self) -> Content:
        """Return heads and ruler."""
        split = Split.of(self.size.width - 1, self._facets.width)
        shown, origin = self._model.shown, self._model.whole.start_ns
        scale = ruler(shown.start_ns - origin, shown.end_ns - origin, split.time)
        extras = [EXTRAS[number] for number in self._facets.shown]
        heads = "".join(" " + (right if extra.is_number else fixed)(extra.head, extra.width) for extra in extras)
        return Content(f"{fixed('SPAN', split.name)}{heads}{right('DURATION', _DURATION)}  {scale}")


class Waterfall(LineList):
    """The rows of one trace."""

    def __init__(self, store: Store, model: TraceModel, facets: Facets, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._store = store
        self.model = model
        self.facets = facets
        self._texts = RowTexts(store, model, facets)
        self.matched: set[int] = set()
        """Keys of the nodes that a search has found."""

    @property
    def node(self) -> int | None:
        """The node under the cursor."""
        rows = self.model.rows
        return rows[self.cursor][0] if self.cursor < len(rows) else None

    def refresh_rows(self, key: int | None = None) -> None:
        """Take in what has changed; the cursor stays on its node, and on its place on the screen.

        Args:
            key: Of the node the cursor was on, where the tree has been stitched anew.
        """
        before = self.cursor
        cursor = before if key is None else self.model.row_of_key(key, before)
        self.rows_have_changed(len(self.model.rows), cursor)
        self.keep_in_place(cursor - before)

    def clicked(self, row: int, x: int) -> bool:
        """Fold or unfold where the arrow before a name was clicked."""
        node, depth = self.model.rows[row]
        indent = len(self._indent(depth, self._split(self.line_width).name))
        if not self.model.tree.children(node) or not indent <= x < indent + _ARROW:
            return False
        self.move_to(row)
        if not self.model.collapse(row):
            self.model.expand(row)
        self.refresh_rows()
        return True

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one node's line."""
        node, depth = self.model.rows[row]
        split = self._split(width)
        return [
            *self._label(node, depth, split.name),
            *self._extras(node),
            *self._lasted(node),
            *self._bar(node, split.time),
        ]

    def _split(self, width: int) -> Split:
        return Split.of(width, self.facets.width)

    # -- the left side -----------------------------------------------------------------------------------------------

    def _label(self, node: int, depth: int, width: int) -> list[Segment]:
        model, tree = self.model, self.model.tree
        dim, error = self.paint_style("dim"), self.paint_style("error")
        indent, arrow = self._indent(depth, width), self._texts.arrow(node)
        marks = self._texts.marks(node, with_figures=width >= _ROOM_FOR_FIGURES)
        if self.app.no_color:
            marks = " ".join([*([marks] if marks else []), *self._plain_marks(node)])
        room = width - len(indent) - _ARROW - len(marks) - (1 if marks else 0)
        text = self._texts.name(node)
        if tree.is_missing(node):
            name = Segment(fixed(text, room), dim)
        else:
            style = self.paint_style("accent") if model.key(node) in self.matched else self._lit_style(node)
            name = Segment(data_text(text, room), style)
        segments = [Segment(indent + arrow, dim), name]
        if marks:
            segments.append(Segment(" " + marks, error if "✖" in marks else dim))
        return segments

    def _lit_style(self, node: int) -> Style | None:
        """Return how a name is written: where the critical path is lit, what isn't on it steps back."""
        lit = self.facets.lit
        if lit is None:
            return None
        return _BOLD if lit.of(node) else self.paint_style("dim")

    @staticmethod
    def _indent(depth: int, width: int) -> str:
        """Return the lines before a name; where they would take more than half of the room, the depth as a number."""
        indent, most = "│ " * depth, max(2, width // 2 - 4)
        return indent if len(indent) <= most else f"{depth}│".ljust(8) + "│ " * ((most - 8) // 2)

    def _plain_marks(self, node: int) -> list[str]:
        """Return what colours say where there are some."""
        marks = [MATCH] if self.model.key(node) in self.matched else []
        if self.facets.is_explained and not self.model.tree.is_missing(node):
            marks.append(letter_of(self.facets.color_number(self.model.tree.rows[node])))
        return marks

    def _extras(self, node: int) -> list[Segment]:
        """Return the further columns."""
        if not self.facets.shown:
            return []
        if self.model.tree.is_missing(node):
            return [Segment(" " * self.facets.width)]
        texts = [(EXTRAS[number], self.facets.text_of(number, node)) for number in self.facets.shown]
        parts = [" " + (right if extra.is_number else data_text)(text, extra.width) for extra, text in texts]
        return [Segment("".join(parts), self.paint_style("dim"))]

    def _lasted(self, node: int) -> list[Segment]:
        tree, text = self.model.tree, self._texts.lasted(node)
        if tree.is_missing(node):
            return [Segment(" " * (_DURATION + 2))]
        if self.model.run(node):
            return [Segment(right(text, _DURATION + 2))]
        has_end = self._store.spans.end_ns[tree.rows[node]] != NO_TIME
        return [Segment(right(text, _DURATION) + "  ", None if has_end else self.paint_style("warning"))]

    # -- the right side ----------------------------------------------------------------------------------------------

    def color_of(self, node: int) -> Style:
        """Return the colour of a node."""
        return color_of(self.facets.color_number(self.model.tree.rows[node]))

    def _bar(self, node: int, width: int) -> list[Segment]:
        """Return the waiting, the bar, and the marks behind it, each cell with its style."""
        model, tree = self.model, self.model.tree
        window, dim = model.shown, self.paint_style("dim")
        cells: list[tuple[str, Style | None]] = [(" ", None)] * width
        if run := model.run(node):
            self._draw_run(run, cells, window)
            return joined(cells)
        interval = model.interval(node)
        if interval is None:
            self._draw_unended(node, cells, window)
            return joined(cells)
        left, right_ = window.place(interval[0], width), window.place(interval[1], width)
        if right_ < 0 or left > width:
            edge = 0 if right_ < 0 else width - 1
            cells[edge] = ("‹" if right_ < 0 else "›", dim)
            return joined(cells)
        if tree.is_missing(node):
            for at in range(max(0, int(left)), min(width, int(right_) + 1)):
                cells[at] = (_UNSEEN, dim)
            return joined(cells)
        self._draw_wait(node, left, cells, window)
        end = self._draw_span(node, left, right_, cells, window)
        for moment_ns in self.facets.events_of(tree.rows[node]):
            place = window.place(moment_ns, width)
            if 0 <= place < width:
                cells[int(place)] = (_EVENT, cells[int(place)][1])
        if self._store.spans.status[tree.rows[node]] == ERROR:
            cells[min(end, width - 1)] = ("✖", self.paint_style("error"))
        return joined(cells)

    def _draw_run(self, run: list[int], cells: list[tuple[str, Style | None]], window: Window) -> None:
        """Draw like siblings as how many of them run at each time."""
        inside = [
            (max(interval[0], window.start_ns), min(interval[1], window.end_ns))
            for interval in map(self.model.interval, run)
            if interval is not None and interval[1] >= window.start_ns and interval[0] <= window.end_ns
        ]
        counts = profile(inside, window, len(cells))
        most = max(counts, default=0)
        color = self.color_of(run[0])
        for at, number in enumerate(counts):
            if number:
                cells[at] = (_SHADES[-(-number * len(_SHADES) // most) - 1], color)

    def _draw_unended(self, node: int, cells: list[tuple[str, Style | None]], window: Window) -> None:
        start = self.model.tree.start_ns(node)
        if start != NO_TIME:
            for at in range(max(0, int(window.place(start, len(cells)))), len(cells)):
                cells[at] = (_UNSEEN, self.paint_style("warning"))

    def _draw_wait(self, node: int, left: float, cells: list[tuple[str, Style | None]], window: Window) -> None:
        wait = wait_of(self.model.tree, self._store.spans, node)
        if wait:
            submitted = window.place(self.model.tree.start_ns(node) - wait, len(cells))
            for at in range(max(0, round(submitted)), span_cells(left, left, len(cells))[0]):
                cells[at] = (_WAIT, self.paint_style("dim"))

    def _draw_span(
        self, node: int, left: float, right_: float, cells: list[tuple[str, Style | None]], window: Window
    ) -> int:
        """Draw the bar, light where children run; return the cell behind it."""
        width, color = len(cells), self.color_of(node)
        first, drawn = span_cells(left, right_, width)
        light = [(window.place(start, width), window.place(end, width)) for start, end in self.model.covered(node)]
        run = 0
        for at, character in enumerate(drawn, first):
            while run < len(light) and light[run][1] < at + 1:
                run += 1
            is_light = run < len(light) and light[run][0] <= at
            shade = LIGHT if is_light and self.app.no_color else character
            cells[at] = (shade, color + _LIGHT if is_light else color)
        if self.facets.lit is not None:
            self._light_up(self.facets.lit.of(node), first, first + len(drawn), cells, window)
        return first + len(drawn)

    def _light_up(
        self, stretches: list[Stretch], first: int, end: int, cells: list[tuple[str, Style | None]], window: Window
    ) -> None:
        """Let what is on the critical path stand out of a bar, and of the waiting before it."""
        width, unlit = len(cells), self.paint_style("unlit")
        for at in range(first, min(end, width)):
            cells[at] = UNLIT if self.app.no_color else cells[at][0], unlit
        for stretch in stretches:
            left, right_ = window.place(stretch.start_ns, width), window.place(stretch.end_ns, width)
            if right_ < 0 or left > width:
                continue
            begin = span_cells(left, left, width)[0]
            for at in range(begin, min(width, max(begin + 1, round(right_)))):
                if cells[at][0] != " ":
                    lit = FULL if cells[at][0] == UNLIT else cells[at][0]
                    cells[at] = lit, self.paint_style("warning") + _BOLD
