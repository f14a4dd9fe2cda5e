"""Tree and waterfall: a line a span, its place in the tree on the left, its time on the right."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.widget import Widget

from spanview.display.units import duration
from spanview.model.ids import format_span_id
from spanview.model.span import ERROR
from spanview.model.times import NO_TIME
from spanview.tui.linelist import LineList
from spanview.tui.paint import data_text, fixed, right
from spanview.tui.trace_bars import Bars
from spanview.tui.trace_facets import AFTER, EXTRAS
from spanview.tui.trace_marks import fitting, in_full, in_short, indent_of, marks_of_run

if TYPE_CHECKING:
    from spanview.index.store import Store
    from spanview.tui.runs import Run
    from spanview.tui.trace_facets import Facets
    from spanview.tui.trace_model import TraceModel
    from spanview.tui.window import Window

_DURATION: Final = 10
_ARROW: Final = 2
_BOLD: Final = Style(bold=True)
_ON_PATH: Final = "•"
_SHORTEST_NAME: Final = 14
"""Cells that are left to a name, whatever is said behind it."""


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


def ruler(window: Window, origin_ns: int, width: int) -> str:
    """Return a time ruler: the start, the end, and round times between them, counted from the trace's start."""
    first, last = window.start_ns - origin_ns, window.end_ns - origin_ns
    step = _round_step(window.length_ns / max(1, width // 14))
    end_text = duration(last)
    line = duration(first)
    at = (first // step + 1) * step
    while at < last:
        place = round((at - first) / window.length_ns * width)
        text = duration(at)
        if place > len(line) + 1 and place + len(text) + 1 < width - len(end_text):
            line = line.ljust(place) + text
        at += step
    return (line.ljust(width - len(end_text)) + end_text)[:width] if width > len(end_text) else ""


def _round_step(ns: float) -> int:
    step = 1
    while step * 10 <= ns:
        step *= 10
    return next((step * factor for factor in (1, 2, 5) if step * factor >= ns), step * 10)


class RulerLine(Widget):
    """The line above the waterfall."""

    def __init__(self, model: TraceModel, facets: Facets, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._model = model
        self._facets = facets

    def render(self) -> Content:
        """Return heads and ruler."""
        split = Split.of(self.size.width - 1, self._facets.width)
        scale = ruler(self._model.shown, self._model.whole.start_ns, split.time)
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
        self._bars = Bars(store, model, facets, self.paint_style)
        self.matched: set[int] = set()
        """Rows of the spans that a search has found."""
        self._found: tuple[object, object, list[int]] | None = None

    @property
    def node(self) -> int | None:
        """The node under the cursor."""
        rows = self.model.rows
        return rows[self.cursor][0] if self.cursor < len(rows) else None

    @property
    def found(self) -> list[int]:
        """The places of what a search has found, in order."""
        if self._found is None or self._found[0] is not self.matched or self._found[1] is not self.model.shape:
            places = self.model.shape.places_of_rows(self.matched) if self.matched else []
            self._found = self.matched, self.model.shape, places
        return self._found[2]

    def found_between(self, first: int, end: int) -> bool:
        """Tell whether a search has found something between two places."""
        found = self.found
        at = bisect_left(found, first)
        return at < len(found) and found[at] < end

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
        indent = len(indent_of(depth, self._split(self.line_width).name))
        has_arrow = self.model.run(node) is not None or self.model.tree.children(node)
        if not has_arrow or not indent <= x < indent + _ARROW:
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
            *self._bars.of(node, split.time),
        ]

    def _split(self, width: int) -> Split:
        return Split.of(width, self.facets.width)

    def color_of(self, node: int) -> Style:
        """Return the colour of a node."""
        return self._bars.color_of(node)

    # -- the left side -----------------------------------------------------------------------------------------------

    def _label(self, node: int, depth: int, width: int) -> list[Segment]:
        model, tree = self.model, self.model.tree
        dim, error = self.paint_style("dim"), self.paint_style("error")
        run = model.run(node)
        arrow = ("▸ " if model.is_collapsed(node) else "▾ ") if run or tree.children(node) else "  "
        name = self._name_of(node)
        indent = indent_of(depth, width)
        marks = fitting(
            self._marks(node, run),
            width - len(indent) - _ARROW - min(_SHORTEST_NAME, cell_len(name[:_SHORTEST_NAME])) - 1,
        )
        room = width - len(indent) - _ARROW - len(marks) - (1 if marks else 0)
        if tree.is_missing(node):
            segment = Segment(fixed(name, room), dim)
        else:
            found = self.found_between(*model.reach(node))
            segment = Segment(data_text(name, room), self.paint_style("accent") if found else self._lit_style(node))
        segments = [Segment(indent + arrow, dim), segment]
        if marks:
            segments.append(Segment(" " + marks, error if "✖" in marks else dim))
        return segments

    def _name_of(self, node: int) -> str:
        tree, store = self.model.tree, self._store
        if tree.is_missing(node):
            return f"? parent not seen {format_span_id(tree.span_id(node))[:8]}"
        return store.names.texts[store.spans.name[tree.rows[node]]] or "(no name)"

    def _lit_style(self, node: int) -> Style | None:
        """Return how a name is written: where the critical path is lit, what isn't on it steps back."""
        lit = self.facets.lit
        if lit is None:
            return None
        return _BOLD if lit.is_between(*self.model.reach(node)) else self.paint_style("dim")

    def _marks(self, node: int, run: Run | None) -> list[str]:
        """Return what stands behind a name: the longest first, for where there is room, then shorter ones."""
        model, tree, lit = self.model, self.model.tree, self.facets.lit
        first = [_ON_PATH] if lit is not None and lit.is_between(*model.reach(node)) else []
        if run:
            errors = model.shape.failed_between(run.first, run.end)
            return marks_of_run(first, run, errors)
        if not tree.is_missing(node) and self._store.spans.status[tree.rows[node]] == ERROR:
            first.append("✖")
        last = ["↻ cycle"] if node in tree.cut else []
        if not model.is_collapsed(node):
            return [" ".join([*first, *last])]
        hidden, errors = model.below(node), model.errors_below(node)
        return [
            " ".join([*first, f"+{number(hidden)}", *([f"✖{number(errors)}"] if errors else []), *last])
            for number in (in_full, in_short)
        ]

    def _extras(self, node: int) -> list[Segment]:
        """Return the further columns."""
        if not self.facets.shown:
            return []
        if self.model.tree.is_missing(node):
            return [Segment(" " * self.facets.width)]
        # What is said of each of like siblings isn't said of all.
        shown = {AFTER} if self.model.run(node) else {*self.facets.shown}
        texts = [
            (EXTRAS[number], self.facets.text_of(number, node) if number in shown else "")
            for number in self.facets.shown
        ]
        parts = [" " + (right if extra.is_number else data_text)(text, extra.width) for extra, text in texts]
        return [Segment("".join(parts), self.paint_style("dim"))]

    def _lasted(self, node: int) -> list[Segment]:
        tree, spans = self.model.tree, self._store.spans
        if tree.is_missing(node):
            return [Segment(" " * (_DURATION + 2))]
        if run := self.model.run(node):
            text = duration(run.figures.p50)
            return [Segment(right(fitting((f"p50 {text}", text), _DURATION + 1), _DURATION + 1) + " ")]
        row = tree.rows[node]
        start, end = spans.start_ns[row], spans.end_ns[row]
        text = "no end" if end == NO_TIME else "–" if start == NO_TIME else duration(end - start)
        return [Segment(right(text, _DURATION) + "  ", self.paint_style("warning") if end == NO_TIME else None)]
