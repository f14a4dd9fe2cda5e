"""The details of a trace's selected span: beside the waterfall or below it, where there is room, or if asked for.

wide          the rows, and the details beside them
short trace   as many lines as there are rows, the details have the rest
else          the details as high as what is in them, two fifths at most; on a small screen only if asked for
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.widget import Widget

from spanview.display.sanitise import sanitise
from spanview.display.span_in_tree import SpanInTree
from spanview.display.span_text import RAW
from spanview.display.units import count
from spanview.model.ids import format_span_id
from spanview.tui.trace.row_texts import lines_of_run
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.scope import ChosenTraces, TraceScope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.timer import Timer

    from spanview.analysis.telling import Tell
    from spanview.display.timing_text import TimingFacts
    from spanview.model.span import Span
    from spanview.tui.span.details import Details
    from spanview.tui.trace.missing_parents import MissingParents
    from spanview.tui.trace.runs import Run
    from spanview.tui.trace.waterfall import Waterfall
    from spanview.tui.widgets.base_screen import BaseScreen

ROOM_FOR_DETAILS: Final = 30
"""Lines from which on the details of a long trace, and what colours stand for, are shown below the waterfall."""
_ROOM_BESIDE: Final = 150
"""Cells from which on the details are beside the waterfall."""
_LARGEST_SHARE: Final = 0.4
"""Of the screen's lines, for the details of a long trace."""
_LEAST_HEIGHT: Final = 4
"""Of the details, for their border, headline, titles and one line."""
_BORDER: Final = 1
_SPARE: Final = 3
"""So many lines may be left blank below what is in the details, so that not each move of the cursor moves them."""
_CURSOR_RESTS_S: Final = 0.03
"""The details follow the cursor when it rests for so long."""
_LEAST_ROOM: Final = 16
"""Lines from which on both, the waterfall and the details, have some."""


class DetailsBelow:
    """Shows the details of the span under the cursor."""

    def __init__(self, screen: BaseScreen, rows: Waterfall, pane: Details, missing: MissingParents) -> None:
        self._screen = screen
        self._store = rows.model.store
        self._model = rows.model
        self._rows = rows
        self._pane = pane
        self._missing = missing
        self._are_asked_for = False
        """Whether details are to be shown where the screen alone has no room to spare for them."""
        self._timer: Timer | None = None
        self._read: tuple[tuple[int, int], Span] | None = None
        """The span that was read last, by its row and the store's version: a key asks for it several times."""
        self._height = 0
        """Of the details of a long trace, as they were laid out last."""
        scope = TraceScope(lambda: ChosenTraces(None, ""), self._timing_version)
        self.live: Live[tuple[SpanInTree, TimingFacts] | None] = Live(screen, scope, self._count, self._take_counted)
        """Keeps what is counted among all spans up to date."""

    # -- which span --------------------------------------------------------------------------------------------------

    @property
    def span(self) -> SpanInTree | None:
        """The selected span; None for a placeholder, and for like siblings."""
        node = self._rows.node
        if node is None or self._model.tree.is_missing(node) or self._model.run(node):
            return None
        return self._subject(node)

    def why_no_span(self) -> str:
        """Return in words why no span is selected."""
        node = self._rows.node
        is_run = node is not None and self._model.run(node)
        return "these are similar siblings, → expands them" if is_run else "this parent was not seen"

    def _subject(self, node: int) -> SpanInTree:
        stitched, row = self._model.stitched, self._model.tree.rows[node]
        wanted = row, self._store.version
        if self._read is None or self._read[0] != wanted:
            self._read = wanted, self._store.span(row)
        span = self._read[1]
        return SpanInTree(span, self._store, self._model.trace, stitched.unjoined, stitched.unjoined_node(node))

    # -- following the cursor ----------------------------------------------------------------------------------------

    def show_soon(self) -> None:
        """Show the details when the cursor rests."""
        if self._screen.is_left:
            return
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._screen.set_timer(_CURSOR_RESTS_S, self.show)

    def show(self) -> None:
        """Show the details, where they are in sight."""
        node = self._rows.node
        if self._screen.is_left or node is None:
            return
        self.take_room()
        if not self._pane.display:
            return
        if run := self._model.run(node):
            self._show_run(node, run)
        elif self._model.tree.is_missing(node):
            span_id = self._model.tree.span_id(node)
            text = f"parent not seen ({format_span_id(span_id)}): {self._missing.fate_of(span_id)}"
            self._pane.show_lines(text, self._missing.lines_of(span_id))
        else:
            self._pane.show(self._subject(node))
        self.take_room()

    def _show_run(self, node: int, run: Run) -> None:
        store, row = self._store, self._model.tree.rows[node]
        errors = self._model.stitched.failed_between(run.first, run.end)
        parts = [f"{sanitise(store.names.texts[store.spans.name[row]], 120) or '(no name)'} ×{len(run.members):,}"]
        parts += [f"✖ {count(errors, 'error')}"] if errors else []
        parts += [self._rows.appearance.kind(row), "→ expand"]
        self._pane.show_lines("   ".join(parts), lines_of_run(run, errors))

    # -- what is counted among all spans -----------------------------------------------------------------------------

    def _timing_version(self) -> int:
        """Tell one state of what the span is compared with from another; 0 where it isn't compared."""
        return self._store.version if self._screen.is_mounted and self._pane.shows_timing else 0

    def _count(self, _traces: Sequence[int] | None, _tell: Tell) -> tuple[SpanInTree, TimingFacts] | None:
        """Called in a thread: compare the span with those that there are now."""
        from spanview.display.timing_text import timing_facts

        shown = self._pane.subject
        if shown is None:
            return None
        subject = SpanInTree(shown.span, shown.store, shown.trace, shown.tree, shown.node)
        return subject, timing_facts(subject)

    def _take_counted(self, counted: tuple[SpanInTree, TimingFacts] | None) -> None:
        shown = self._pane.subject
        if counted is not None and shown is not None and shown.row == counted[0].row:
            self._pane.show(*counted)

    # -- room --------------------------------------------------------------------------------------------------------

    def take_room(self) -> None:
        """Lay rows and details out, as far as there is room for both."""
        pane, size = self._pane, self._screen.app.size
        is_beside = size.width >= _ROOM_BESIDE
        pane.set_class(is_beside, "beside")
        lines = self._lines_for_both()
        rest = lines - self._row_count
        height: int | None = None
        rows_height: int | None = None
        if is_beside:
            pane.display = True
        elif self._is_short(rest):
            pane.display, rows_height = True, lines - rest
        else:
            least = _LEAST_ROOM if self._are_asked_for else ROOM_FOR_DETAILS
            pane.display = size.height >= least
            height = max(_LEAST_HEIGHT, rest, self._height_of_content())
        _set_height(self._rows, rows_height)
        _set_height(pane, height)

    @property
    def _row_count(self) -> int:
        """How many rows there are; of a long trace that is being stitched, how many there may be."""
        spans, stitched = self._store.trace_table.span_count[self._model.trace], self._model.stitched
        return max(1, len(self._model.rows), spans if spans > len(stitched.unjoined.rows) else 0)

    def _is_short(self, rest: int) -> bool:
        """Tell whether the details have room enough in what the rows of the trace leave."""
        is_small = self._screen.app.size.height < ROOM_FOR_DETAILS and not self._are_asked_for
        return rest >= (_LEAST_HEIGHT if is_small else _BORDER + self._pane.wanted_height)

    def _height_of_content(self) -> int:
        """Return as many lines as the details need, with a few to spare where they are there already."""
        wanted = _BORDER + self._pane.wanted_height
        if wanted <= self._height <= wanted + _SPARE:
            wanted = self._height
        self._height = min(wanted, int(_LARGEST_SHARE * self._screen.app.size.height))
        return self._height

    def _lines_for_both(self) -> int:
        """Return the lines that rows and details share: all that the others leave."""
        # What a key did lies over the others.
        others = self._screen.query("Screen > *, #trace > *").exclude(".said").results(Widget)
        taken = [
            other.outer_size.height or 1
            for other in others
            if other.display and other not in {self._rows, self._pane, self._pane.parent}
        ]
        return self._screen.app.size.height - sum(taken)

    def _ask_for_room(self) -> bool:
        """Show the details over the lower half; return False where there is too little room even for that."""
        if not self._pane.display:
            self._are_asked_for = True
            self.take_room()
        self.show()
        return self._pane.display

    @property
    def _can_hide(self) -> bool:
        """Whether the details are in sight for as long only as they are asked for."""
        return self._are_asked_for and self._pane.display and self._screen.app.size.height < ROOM_FOR_DETAILS

    def hide(self) -> bool:
        """Hide the details; return False where they are out of sight, or have room of their own."""
        if not self._can_hide:
            return False
        self._are_asked_for = False
        self.take_room()
        if self._pane.display:
            return False
        self._screen.viewer.say("details hidden; Tab shows them")
        return True

    # -- sections ----------------------------------------------------------------------------------------------------

    def next_section(self) -> None:
        """Show the next section; at first the details, where they aren't in sight."""
        if self._pane.display:
            self._pane.next_section()
            self._say_section()
        elif self._ask_for_room():
            self._say_section()
        else:
            self._screen.viewer.say("no room for details here: Enter opens them on a separate screen")

    def show_error(self) -> None:
        """Show what the selected span says of its error, where there is any room for it."""
        subject = self.span
        if subject is not None:
            self._pane.open_for_error(subject)
            self._ask_for_room()

    def toggle_raw(self) -> bool:
        """Show the record as the file has it, and back; return False where there is no room for it."""
        was_in_sight = self._pane.display
        if not (was_in_sight or self._ask_for_room()):
            return False
        if was_in_sight or self._pane.section != RAW:
            self._pane.toggle_raw()
        self._say_section()
        return True

    def _say_section(self) -> None:
        hides = "; Esc hides the details" if self._can_hide else ""
        self._screen.viewer.say(f"{self._pane.section.lower()} of the span{hides}")


def _set_height(widget: Widget, height: int | None) -> None:
    """Give a widget a height, or None for as much as others leave; what is laid out so already stays."""
    styles = widget.styles
    if height is None:
        if styles.inline.has_rule("height"):
            styles.height = None
    elif not styles.inline.has_rule("height") or styles.height is None or styles.height.value != height:
        styles.height = height
