"""What belongs together with a span beside what it links to.

The spans that link to it are looked for in all records when it is asked. The other half of a Serve request is guessed:
no link leads there.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.analysis.linked import linking_rows
from spanview.analysis.serve.pairs import may_have_other_half, other_half
from spanview.display.parts import DetailPart, Tone
from spanview.display.units import count, moment
from spanview.model.ids import format_span_id, format_trace_id
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanview.analysis.serve.pairs import OtherHalf
    from spanview.analysis.telling import Tell
    from spanview.display.span_in_tree import SpanInTree
    from spanview.tui.widgets.base_screen import BaseScreen

KEY: Final = "linked from"
"""Of the lines of spans that link to it."""
_DIGITS: Final = 8
"""Of a trace's id."""
_MOST_LISTED: Final = 1000
_Piece: TypeAlias = "tuple[list[int], float]"
"""Rows of spans that link to the one, and what share of the records is still to be looked at."""


class _State(Enum):
    """How far the looking is."""

    NOT_ASKED = auto()
    LOOKING = auto()
    ENDED = auto()
    DONE = auto()


class Links:
    """Looks for the spans that link to one, and guesses the one that no link leads to."""

    def __init__(self, screen: BaseScreen, subject: SpanInTree, show: Callable[[], object]) -> None:
        self._screen = screen
        self._show = show
        self._work, self._guessing = Work(screen), Work(screen)
        self.forget(subject)

    def forget(self, subject: SpanInTree) -> None:
        """Be about another span, of which nothing is known."""
        self._guessing.end()
        self._subject = subject
        self._half: OtherHalf | None = None
        self._begin(_State.NOT_ASKED)

    def _begin(self, state: _State) -> None:
        self._work.end()
        self._state = state
        self._rows: list[int] = []
        """The rows of the linking spans that are known, by start."""
        self._left = 1.0
        """What share of the records is still to be looked at."""

    def lines(self) -> Iterator[DetailPart]:
        """Yield a line for each span that is known, and what is said of the looking, and what Enter does about it."""
        yield from map(self._incoming, self._rows[:_MOST_LISTED])
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
        if self._half is not None:
            yield self._other_half(self._half)

    def _incoming(self, row: int) -> DetailPart:
        trace_id, span_id, name = self._names(row)
        spans = self._subject.store.spans
        where = "this trace" if spans.trace[row] == self._subject.trace else f"trace {trace_id[:_DIGITS]}…"
        text = f"{name}  ({span_id}) of {where}, {moment(spans.start_ns[row], digits=3)}"
        return DetailPart(KEY, text, f"{trace_id} {span_id}", Tone.LINK, target=row)

    def _other_half(self, half: OtherHalf) -> DetailPart:
        """Return the line that leads there, and what it rests on."""
        trace_id, span_id, name = self._names(half.row)
        starts = self._subject.store.spans.start_ns
        is_within = starts[half.row] >= starts[self._subject.row]
        same = [f"same {text}" for text in (f"{half.method} {half.route}".strip(), half.status) if text]
        reasons = ["same file", "within this one's time" if is_within else "this one is within its time", *same]
        reasons += ["same request id"] * bool(half.request_id)
        text = f"probably belongs together with {name} of trace {trace_id[:_DIGITS]}…: {', '.join(reasons)}"
        return DetailPart("guess", text, f"{trace_id} {span_id}", Tone.LINK, target=half.row)

    def _names(self, row: int) -> tuple[str, str, str]:
        """Return trace id, span id and name of a span."""
        store = self._subject.store
        trace_id = store.trace_table.trace_id(store.spans.trace[row])
        name = store.names.texts[store.spans.name[row]] or "(no name)"
        return format_trace_id(trace_id), format_span_id(store.spans.span_id[row]), name

    def guess(self) -> None:
        """Look for the other half in a thread, where it isn't known, and the span is one that may have one."""
        store, row = self._subject.store, self._subject.row
        if self._half is None and may_have_other_half(store, row):
            # The columns of all spans are looked at, and a few records.
            self._guessing.begin(lambda _: other_half(store, row), self._take_half)

    def _take_half(self, half: OtherHalf | None) -> None:
        if half is not None:
            self._half = half
            self._show()
            self._screen.viewer.say("this request probably has another half: see Links")

    def look(self) -> None:
        """Look for them, unless that is being done, or was done."""
        span = self._subject.span
        if None in (span.trace_id, span.span_id):
            self._screen.viewer.say("nothing can link to a span without usable ids")
        elif self._state in {_State.NOT_ASKED, _State.ENDED}:
            subject = self._subject
            self._begin(_State.LOOKING)
            self._show()
            self._work.begin_pieces(lambda tell: _pieces(subject, tell), self._take)

    def _take(self, pieces: list[_Piece]) -> None:
        starts = self._subject.store.spans.start_ns
        for rows, left in pieces:
            self._rows += rows
            self._left = left
        self._rows.sort(key=lambda row: (starts[row], row))
        if not self._work.is_busy:
            self._state, linked = _State.DONE, len(self._rows)
            self._screen.viewer.say(f"{count(linked, 'span')} found that link{'s' * (linked == 1)} to this one")
        self._show()

    def end(self) -> bool:
        """End the looking; return False where nothing was looked for."""
        if self._state is not _State.LOOKING:
            return False
        self._work.end()
        self._state = _State.ENDED
        self._screen.viewer.say("stopped looking for spans that link to this one")
        self._show()
        return True


def _pieces(subject: SpanInTree, tell: Tell) -> Iterator[_Piece]:
    """Called in a thread: all records are read."""
    store = subject.store
    trace_id, span_id = store.trace_table.trace_id(subject.trace), store.spans.span_id[subject.row]
    for rows, left in linking_rows(store, trace_id, span_id):
        tell(1 - left)
        yield rows, left
