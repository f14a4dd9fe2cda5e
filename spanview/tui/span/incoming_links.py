"""The spans that link to one; they are looked for in all records when it is asked."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.analysis.linked import linking_rows
from spanview.display.parts import DetailPart, Tone
from spanview.display.units import count, moment
from spanview.model.ids import format_span_id, format_trace_id
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanview.analysis.telling import Tell
    from spanview.display.span_in_tree import SpanInTree
    from spanview.tui.widgets.base_screen import BaseScreen

KEY: Final = "linked from"
"""Of the lines."""
_DIGITS: Final = 8
"""Of a trace's id, where it is one among several."""
_MOST_LISTED: Final = 1000
_Piece: TypeAlias = "tuple[list[int], float]"
"""Rows of spans that link to the one, and what share of the records is still to be looked at."""


class _State(Enum):
    """How far the looking is."""

    NOT_ASKED = auto()
    LOOKING = auto()
    ENDED = auto()
    DONE = auto()


class IncomingLinks:
    """Looks for the spans that link to one.

    Args:
        screen: Shows the span.
        subject: The span.
        show: Called when there is more to show.
    """

    def __init__(self, screen: BaseScreen, subject: SpanInTree, show: Callable[[], object]) -> None:
        self._screen = screen
        self._show = show
        self._work = Work(screen)
        self.forget(subject)

    def forget(self, subject: SpanInTree) -> None:
        """Be about another span, of which nothing is known."""
        self._work.end()
        self._subject = subject
        self._state = _State.NOT_ASKED
        self._rows: list[int] = []
        """Those that are known, by start."""
        self._left = 1.0
        """What share of the records is still to be looked at."""

    def lines(self) -> Iterator[DetailPart]:
        """Yield a line for each span that is known, and what is said of the looking, and what Enter does about it."""
        yield from map(self._line_of, self._rows[:_MOST_LISTED])
        found, records = len(self._rows), count(len(self._subject.store.spans), "record")
        text = {
            _State.NOT_ASKED: f"Enter looks through {records} for the spans that link to this one",
            _State.LOOKING: f"looking through {records}: {1 - self._left:.0%}, {found:,} found; Esc ends it",
            _State.ENDED: f"ended at {1 - self._left:.0%}, {found:,} found; Enter looks through {records} anew",
            _State.DONE: "no span links to this one" if not found else f"{count(found, 'span')} in all",
        }[self._state]
        if self._state is _State.DONE and found > _MOST_LISTED:
            text = f"… and {found - _MOST_LISTED:,} more"
        yield DetailPart(KEY, text, "")

    def _line_of(self, row: int) -> DetailPart:
        store = self._subject.store
        spans, trace = store.spans, store.spans.trace[row]
        trace_id, span_id = format_trace_id(store.trace_table.trace_id(trace)), format_span_id(spans.span_id[row])
        where = "this trace" if trace == self._subject.trace else f"trace {trace_id[:_DIGITS]}…"
        name = store.names.texts[spans.name[row]] or "(no name)"
        text = f"{name}  ({span_id}) of {where}, {moment(spans.start_ns[row], digits=3)}"
        return DetailPart(KEY, text, f"{trace_id} {span_id}", Tone.LINK, target=row)

    def look(self) -> None:
        """Look for them, unless that is being done, or was done."""
        span = self._subject.span
        if None in (span.trace_id, span.span_id):
            self._screen.viewer.say("nothing can link to a span without usable ids")
        elif self._state in {_State.NOT_ASKED, _State.ENDED}:
            subject = self._subject
            self.forget(subject)
            self._state = _State.LOOKING
            self._show()
            self._work.begin_pieces(lambda tell: _pieces(subject, tell), self._take)

    def _take(self, pieces: list[_Piece]) -> None:
        starts = self._subject.store.spans.start_ns
        for rows, left in pieces:
            self._rows += rows
            self._left = left
        self._rows.sort(key=lambda row: (starts[row], row))
        if not self._work.is_busy:
            self._state, found = _State.DONE, len(self._rows)
            self._screen.viewer.say(f"{count(found, 'span')} found that link{'s' * (found == 1)} to this one")
        self._show()

    def end(self) -> bool:
        """End the looking; return False where nothing was looked for."""
        if self._state is not _State.LOOKING:
            return False
        self._work.end()
        self._state = _State.ENDED
        self._screen.viewer.say("no longer looking for the spans that link to this one")
        self._show()
        return True


def _pieces(subject: SpanInTree, tell: Tell) -> Iterator[_Piece]:
    """Called in a thread: all records are read."""
    store = subject.store
    trace_id, span_id = store.trace_table.trace_id(subject.trace), store.spans.span_id[subject.row]
    for rows, left in linking_rows(store, trace_id, span_id):
        tell(1 - left)
        yield rows, left
