"""Tree and waterfall: a line a span, its place in the tree on the left, its time on the right.

─┈┈██████▌✖      being submitted (where a call is one row), waiting, the span (light where a descendant runs), a failure
a┈┈r┈┈████       waiting for arguments, then for a worker or resources, where Ray's own events say so
      ▒▒▒▒▒▒▒    a span that runs, until now
      ╌╌╌╌╌╌╌    a span without an end, of which nobody knows whether it runs, or that is lost
┈┈┈░┈▒█▓▒░       how many similar siblings run at each time, and dots where more of them wait
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.content import Content

from spanview.analysis.ray.unended import Fate
from spanview.display.bars import WAIT, span_cells, wait_cells
from spanview.display.cells import data_text, fitting, fixed, name_text, right
from spanview.display.picture import heads_of_rows
from spanview.model.codes import ERROR
from spanview.model.times import NO_TIME
from spanview.tui.app.settings import NAMES_PERCENT
from spanview.tui.trace.appearance import AFTER, EXTRAS
from spanview.tui.trace.row_texts import NOT_SEEN, RowTexts, indent_of
from spanview.tui.trace.runs import marked
from spanview.tui.trace.stitched_trace import is_any_between
from spanview.tui.widgets.dragging import TimeWidget
from spanview.tui.widgets.legend import color_of
from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.paint import FULL, LIGHT, MATCH, UNLIT, joined, letter_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.analysis.window import Window
    from spanview.tui.trace.appearance import Appearance, Extra
    from spanview.tui.trace.runs import Run
    from spanview.tui.trace.trace_model import TraceModel
    from spanview.tui.widgets.zooming import Zoom

_DURATION: Final = 10
_ARROW: Final = 2
_BOLD: Final = Style(bold=True)
_NARROWEST_NAME, _WIDEST_NAME, _SHORTEST_TIME = 24, 72, 8
_SHORTEST_NAME: Final = 14
"""Cells that are left to a name, whatever is said behind it."""
_Cells: TypeAlias = "list[tuple[str, Style | None]]"
_LIGHT: Final = Style(dim=True)
_EVENT, _FAILED = "◆", "✖"
_SUBMITTED, _UNSEEN, _RUNNING = "─", "╌", "▒"
_SHADES: Final = "░▒▓█"


@dataclass(frozen=True, slots=True)
class Split:
    """How a line's width is shared out."""

    name: int
    time: int

    @classmethod
    def of(cls, width: int, extras: int = 0, percent: int = NAMES_PERCENT) -> Split:
        """Return the shares for a screen.

        Args:
            extras: How many cells further columns take.
            percent: How much of the rest names have; as many cells as are worth it where that is the usual share.
        """
        most = _WIDEST_NAME if percent == NAMES_PERCENT else width
        name = max(_NARROWEST_NAME, min(most, round((width - extras) * percent / 100)))
        time = max(_SHORTEST_TIME, width - extras - name - _DURATION - 2)
        return cls(max(_NARROWEST_NAME, min(name, width - extras - time - _DURATION - 2)), time)


def width_of(columns: Iterable[Extra]) -> int:
    """Return the cells of further columns, with the blanks before them."""
    return sum(column.width + 1 for column in columns)


class RulerLine(TimeWidget):
    """The line above the waterfall."""

    def __init__(self, rows: Waterfall, zoom: Zoom) -> None:
        super().__init__()
        self._rows = rows
        self._zoom = zoom
        self.drag = zoom.drag_over(self)

    def render(self) -> Content:
        """Return heads and ruler."""
        rows, width = self._rows, self.size.width - 1
        extras = [EXTRAS[number] for number in rows.appearance.columns_in(width - rows.wait_cells)]
        split = rows.split(width)
        scale = self._zoom.ruler(split.time)
        heads = "".join(" " + (right if extra.is_number else fixed)(extra.head, extra.width) for extra in extras)
        name, *took = heads_of_rows(has_calls=bool(rows.wait_cells))
        heads += "".join(right(head, _DURATION) + "  " for head in took)
        return Content(f"{fixed(name, split.name)}{heads}{scale}")


class Waterfall(LineList):
    """The rows of one trace."""

    def __init__(self, model: TraceModel, appearance: Appearance) -> None:
        super().__init__()
        self._store = model.store
        self.model = model
        self.appearance = appearance
        self.texts = RowTexts(model, appearance)
        """What its rows say."""
        self.matched: set[int] = set()
        """Rows of the spans that a search has found."""
        self._matches: tuple[object, object, list[int]] | None = None

    @property
    def node(self) -> int | None:
        """The node under the cursor."""
        rows = self.model.rows
        return rows[self.cursor][0] if self.cursor < len(rows) else None

    @property
    def matches(self) -> list[int]:
        """The positions of what a search has found, in order."""
        if self._matches is None or self._matches[0] is not self.matched or self._matches[1] is not self.model.stitched:
            positions = self.model.stitched.positions_of_rows(self.matched) if self.matched else []
            self._matches = self.matched, self.model.stitched, positions
        return self._matches[2]

    def rows_have_changed(self, count: int, cursor: int | None = None) -> None:
        """Take note that there are other rows now: another node can stand under the cursor, wherever that is."""
        super().rows_have_changed(count, cursor)
        self.post_message(self.Moved(self))

    def refresh_rows(self, key: int | None = None) -> None:
        """Take in what has changed; the cursor stays on its node, and on its place on the screen.

        Args:
            key: Of the node the cursor was on, where the tree has been stitched anew.
        """
        before = self.cursor
        cursor = before if key is None else self.model.row_of_key(key, before)
        self.rows_have_changed(len(self.model.rows), cursor)
        self.keep_in_place(cursor - before)

    def refold(self, node: int | None) -> None:
        """Take in that other rows are in sight; the cursor stays on a node, or on what hides it."""
        self.rows_have_changed(len(self.model.rows), 0 if node is None else self.model.row_of(node))
        self.reveal()

    def go_to(self, node: int) -> None:
        """Put the cursor on a node; what hides it is opened."""
        row = self.model.reveal(node)
        self.rows_have_changed(len(self.model.rows))
        self.move_to(row)
        self.reveal()

    def clicked(self, row: int, x: int) -> bool:
        """Fold or unfold where the arrow before a name was clicked."""
        node, depth = self.model.rows[row]
        indent = len(indent_of(depth, self.split(self.line_width).name))
        has_arrow = self.model.run(node) is not None or self.model.below(node)
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
        split = self.split(width)
        return [
            # The median of like siblings begins where the duration of a span has a blank.
            *self._label(node, depth, split.name - bool(self.model.run(node))),
            *self._extras(node, self.appearance.columns_in(width - self.wait_cells)),
            *self._took(node),
            *self._bar(node, split.time),
        ]

    def split(self, width: int) -> Split:
        """Return how the width of a line is shared out."""
        extras = width_of(EXTRAS[number] for number in self.appearance.columns_in(width - self.wait_cells))
        return Split.of(width, extras + self.wait_cells, self.appearance.names_percent)

    @property
    def wait_cells(self) -> int:
        """The cells for what calls waited; 0 where there are no calls."""
        return _DURATION + 2 if self.model.stitched.has_calls else 0

    @property
    def name_cells(self) -> int:
        """The cells at the beginning of each line that show the tree."""
        return self.split(self.line_width).name

    @property
    def time_cells(self) -> int:
        """The cells at the end of each line that show time."""
        return self.split(self.line_width).time

    # -- the left side -----------------------------------------------------------------------------------------------

    def _label(self, node: int, depth: int, width: int) -> list[Segment]:
        model, tree = self.model, self.model.tree
        dim, error = self.paint_style("dim"), self.paint_style("error")
        indent, arrow, name = indent_of(depth, width), self.texts.arrow(node), self.texts.name(node)
        is_match = is_any_between(self.matches, *model.reach(node))
        plain = self._plain_marks(node, is_match=is_match) if self.app.no_color else []
        marks = fitting(
            [" ".join(filter(None, (text, *plain))) for text in self.texts.marks(node)],
            width - len(indent) - _ARROW - min(_SHORTEST_NAME, cell_len(name[:_SHORTEST_NAME])) - 1,
        )
        room = width - len(indent) - _ARROW - len(marks) - (1 if marks else 0)
        if tree.is_missing(node):
            segment = Segment(fixed(name, room), dim)
        else:
            style = self.paint_style("accent") if is_match else self._lit_style(node)
            segment = Segment(name_text(name, room), style)
        segments = [Segment(indent + arrow, dim), segment]
        if marks:
            warning = self.paint_style("warning") if "!" in marks else dim
            segments.append(Segment(" " + marks, error if "✖" in marks else warning))
        return segments

    def _lit_style(self, node: int) -> Style | None:
        """Return how a name is written: where the critical path is lit, what isn't on it steps back."""
        lit = self.appearance.lit_path
        if lit is None:
            return None
        return self._path_style(is_on_it=lit.is_between(*self.model.reach(node)))

    def _path_style(self, *, is_on_it: bool) -> Style:
        return _BOLD if is_on_it else self.paint_style("dim")

    def _plain_marks(self, node: int, *, is_match: bool) -> list[str]:
        """Return what colours say where there are some."""
        marks = [MATCH] if is_match else []
        if self.appearance.is_explained and not self.model.tree.is_missing(node):
            marks.append(letter_of(self.appearance.color_number(self.model.tree.rows[node])))
        return marks

    def _extras(self, node: int, columns: list[int]) -> list[Segment]:
        """Return the further columns."""
        if not columns:
            return []
        if self.model.tree.is_missing(node):
            return [Segment(" " * width_of(EXTRAS[number] for number in columns))]
        # What is said of each of like siblings isn't said of all.
        shown = {AFTER} if self.model.run(node) else {*columns}
        texts = [
            (EXTRAS[number], self.appearance.text_of(number, node) if number in shown else "") for number in columns
        ]
        parts = [" " + (right if extra.is_number else data_text)(text, extra.width) for extra, text in texts]
        return [Segment("".join(parts), self.paint_style("dim"))]

    def _took(self, node: int) -> list[Segment]:
        """Return what a call waited, where there are calls, and how long it ran."""
        tree, has_calls, lasted = self.model.tree, bool(self.wait_cells), self.texts.lasted(node)
        if tree.is_missing(node):
            text = right(NOT_SEEN, self.wait_cells + _DURATION) if has_calls else " " * _DURATION
            return [Segment(f"{text}  ", self.paint_style("dim"))]
        waited = self.texts.waited(node) if has_calls else []
        if self.model.run(node):
            several = [waited, lasted] if has_calls else [lasted]
            texts = [right(fitting(texts, _DURATION + 1), _DURATION + 1) for texts in several]
            return [Segment(f" {' '.join(texts)} ")]
        has_end = self._store.spans.end_ns[tree.rows[node]] != NO_TIME
        lit = self.appearance.lit_path
        style = None if has_end else self.paint_style("warning")
        of_wait = None if lit is None else self._path_style(is_on_it=node in lit.waiting)
        if lit is not None and has_end:
            style = self._path_style(is_on_it=node in lit.running)
        segments = [Segment(right(text, _DURATION) + "  ", of_wait) for text in waited]
        return [*segments, Segment(right(lasted[0], _DURATION) + "  ", style)]

    # -- the right side ----------------------------------------------------------------------------------------------

    def _color_of(self, node: int) -> Style:
        return color_of(self.appearance.color_number(self.model.tree.rows[node]))

    def _bar(self, node: int, width: int) -> list[Segment]:
        """Return the waiting, the bar, and the marks behind it, each cell with its style."""
        model, tree = self.model, self.model.tree
        window, dim = model.shown, self.paint_style("dim")
        cells: _Cells = [(" ", None)] * width
        if run := model.run(node):
            self._draw_run(run, cells, window)
            return joined(cells)
        interval = model.stitched.interval(node)
        if interval is None:
            self._draw_unended(node, cells, window)
            return joined(cells)
        left, right_ = window.place(interval[0], width), window.place(interval[1], width)
        self._draw_wait(node, left, cells, window)
        if right_ < 0 or left > width:
            edge = 0 if right_ < 0 else width - 1
            cells[edge] = ("‹" if right_ < 0 else "›", dim)
            self._light_up(node, range(0), cells, window)
            return joined(cells)
        if tree.is_missing(node):
            for cell in range(max(0, int(left)), min(width, int(right_) + 1)):
                cells[cell] = (_UNSEEN, dim)
            return joined(cells)
        end = self._draw_span(node, left, right_, cells, window)
        for moment_ns in self.appearance.events_of(tree.rows[node]):
            place = window.place(moment_ns, width)
            if 0 <= place < width:
                cells[int(place)] = (_EVENT, cells[int(place)][1])
        if self._store.spans.status[tree.rows[node]] == ERROR:
            cells[min(end, width - 1)] = (_FAILED, self.paint_style("error"))
        return joined(cells)

    def _draw_run(self, run: Run, cells: _Cells, window: Window) -> None:
        """Draw like siblings as how many of them run at each time, where more of them wait, and where some failed."""
        counts = run.timed.profile(window, len(cells))
        waiting = self.model.stitched.waiting(run).profile(window, len(cells))
        most = max(counts, default=0)
        color = self._color_of(run.members[0])
        for cell, (number, waits) in enumerate(zip(counts, waiting, strict=True)):
            # What runs is to be seen between the dots.
            if waits > number and (not number or cell % 2):
                cells[cell] = (WAIT, self.paint_style("dim"))
            elif number:
                cells[cell] = (_SHADES[-(-number * len(_SHADES) // most) - 1], color)
        for cell, is_marked in enumerate(marked(run.failures.profile(window, len(cells)))):
            if is_marked:
                cells[cell] = (_FAILED, self.paint_style("error"))

    def _draw_unended(self, node: int, cells: _Cells, window: Window) -> None:
        tree = self.model.tree
        start = tree.start_ns(node)
        # A parent that wasn't seen may have no time, either.
        if start == NO_TIME or tree.is_missing(node):
            return
        unended = self.appearance.unended.get(tree.rows[node])
        runs = unended is not None and unended.fate is Fate.RUNS
        first, end = max(0, int(window.place(start, len(cells)))), len(cells)
        # What begins at the very end has the last cell.
        first -= first == end
        self._draw_wait(node, window.place(start, len(cells)), cells, window)
        if runs:
            end = min(end, max(first + 1, round(window.place(self.model.now_ns, len(cells)))))
        elif unended is not None and unended.until_ns != NO_TIME:
            end = min(end, max(first + 1, round(window.place(unended.until_ns, len(cells)))))
        drawn = (_RUNNING, self._color_of(node)) if runs else (_UNSEEN, self.paint_style("warning"))
        for cell in range(first, end):
            cells[cell] = drawn

    def _draw_wait(self, node: int, left: float, cells: _Cells, window: Window) -> None:
        behind = span_cells(left, left, len(cells))[0]
        submission = self.model.stitched.submission(node)
        if submission is not None:
            first, last = (window.place(time, len(cells)) for time in submission)
            for cell in range(max(0, int(first)), min(int(last) + 1, behind)):
                cells[cell] = (_SUBMITTED, self._color_of(node) + _LIGHT)
        wait = self.model.stitched.wait(node)
        if wait:
            first = max(0, round(window.place(self.model.tree.start_ns(node) - wait, len(cells))))
            parts = [
                (letter, window.place(since, len(cells)), window.place(until, len(cells)))
                for letter, (since, until) in self.appearance.wait_parts(node)
            ]
            for cell, character in enumerate(wait_cells(first, behind, parts), first):
                cells[cell] = (character, self.paint_style("dim"))

    def _draw_span(self, node: int, left: float, right_: float, cells: _Cells, window: Window) -> int:
        """Draw the bar, light where something below the span runs; return the cell behind it."""
        width, color, is_colorless = len(cells), self._color_of(node), self.app.no_color
        first, drawn = span_cells(left, right_, width)
        own, begin, length = self.model.stitched.own_times(node), window.start_ns, window.length_ns
        began, ended = self.model.stitched.interval(node) or (begin, begin)
        for cell, character in enumerate(drawn, first):
            start, end = max(began, begin + cell * length // width), min(ended, begin + (cell + 1) * length // width)
            # Thousands of descendants leave gaps that no cell can show.
            is_light = end > start and 2 * own.between(start, end) <= end - start
            shade = LIGHT if is_light and is_colorless else character
            cells[cell] = (shade, color + _LIGHT if is_light else color)
        self._light_up(node, range(first, min(first + len(drawn), width)), cells, window)
        return first + len(drawn)

    def _light_up(self, node: int, bar: range, cells: _Cells, window: Window) -> None:
        """Let what is on the critical path, where that is lit, stand out of a bar, and of the waiting before it."""
        lit = self.appearance.lit_path
        if lit is None:
            return
        width, begin, length, unlit = len(cells), window.start_ns, window.length_ns, self.paint_style("unlit")
        for cell in bar:
            cells[cell] = UNLIT if self.app.no_color else cells[cell][0], unlit
        for cell in range(width):
            start, end = begin + cell * length // width, begin + (cell + 1) * length // width
            if cell == bar.start:
                # A bar that begins at the end of a cell is drawn from the next one on.
                start = min(start, max(begin, self.model.tree.start_ns(node)))
            if cells[cell][0] != " " and lit.is_at(node, start, max(end, start + 1)):
                character = FULL if cells[cell][0] == UNLIT else cells[cell][0]
                cells[cell] = character, self.paint_style("warning") + _BOLD
