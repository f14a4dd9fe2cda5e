"""The links of a span, followed both ways; who links to it is looked for in all records when it is asked."""

from __future__ import annotations

import re
import time
from enum import Enum
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from spanview.analysis.linked import linking_rows
from spanview.analysis.select import traces_beginning
from spanview.display.parts import Part, Tone
from spanview.display.units import count, moment
from spanview.model.ids import format_span_id, format_trace_id
from spanview.tui.span.details import Details
from spanview.tui.widgets.base_screen import BaseScreen

if TYPE_CHECKING:
    from textual.worker import Worker

    from spanview.display.span_text import SpanInTree
    from spanview.display.timing_text import TimingFacts

_LINKS: Final = "Links"
_LINK: Final = re.compile("([0-9a-f]{32}) ([0-9a-f]{16})")
"""The value of a link's line: trace id and span id."""
_GROUP: Final = "linked"
_EVERY_S: Final = 0.1
_DIGITS: Final = 8
"""Of a trace's id, where it is one among several."""
_MOST: Final = 1000
"""So many spans that link to one are listed."""


class _State(Enum):
    """How far the looking for the spans that link to one is."""

    NOT_ASKED = 0
    LOOKING = 1
    ENDED = 2
    DONE = 3


class LinkedSpan(BaseScreen):
    """What a span's screen does with links.

    Args:
        subject: The span.
    """

    def __init__(self, subject: SpanInTree) -> None:
        super().__init__()
        self._subject = subject
        self._state = _State.NOT_ASKED
        self._linking: list[int] = []
        """The rows of the spans that link to this one, as far as they are known."""
        self._left = 1.0
        """What share of the records is still to be looked at."""

    def take_subject(self, subject: SpanInTree) -> None:
        """Be about another span."""
        self.workers.cancel_group(self, _GROUP)
        self._subject = subject
        self._state, self._linking, self._left = _State.NOT_ASKED, [], 1.0
        self.query_one(Details).show(subject)
        self.show_linking()

    def renew_subject(self, subject: SpanInTree, facts: TimingFacts | None) -> None:
        """Be about the same span in a trace that has grown."""
        self._subject = subject
        self.query_one(Details).show(subject, facts)
        self.show_linking()

    def show_linking(self) -> None:
        """Show what is known of the spans that link to this one."""
        found = map(self._line_of, self._linking[:_MOST])
        self.query_one(Details).show_linked((*found, self._last_line(), *self.guesses()))

    def guesses(self) -> tuple[Part, ...]:
        """Return the lines of spans that no link leads to, and that probably have to do with this one."""
        return ()

    def _line_of(self, row: int) -> Part:
        store = self._subject.store
        spans, trace = store.spans, store.spans.trace[row]
        trace_id, span_id = format_trace_id(store.trace_table.trace_id(trace)), format_span_id(spans.span_id[row])
        where = "this trace" if trace == self._subject.trace else f"trace {trace_id[:_DIGITS]}…"
        name = store.names.texts[spans.name[row]] or "(no name)"
        text = f"{name}  ({span_id}) of {where}, {moment(spans.start_ns[row], digits=3)}"
        return Part("linked from", text, f"{trace_id} {span_id}", Tone.LINK, target=row)

    def _last_line(self) -> Part:
        """Return what is said of the looking, and what Enter does about it."""
        found = len(self._linking)
        records = count(len(self._subject.store.spans), "record")
        text = {
            _State.NOT_ASKED: f"Enter looks through {records} for the spans that link to this one",
            _State.LOOKING: f"looking through {records}: {1 - self._left:.0%}, {found:,} found; Esc ends it",
            _State.ENDED: f"ended at {1 - self._left:.0%}, {found:,} found; Enter looks through {records} anew",
            _State.DONE: "no span links to this one" if not found else f"{count(found, 'span')} in all",
        }[self._state]
        if self._state is _State.DONE and found > _MOST:
            text = f"… and {found - _MOST:,} more"
        return Part("linked from", text, "")

    def _look(self) -> None:
        self._state, self._linking, self._left = _State.LOOKING, [], 1.0
        self.show_linking()
        self.run_worker(self._find, thread=True, group=_GROUP, exclusive=True)

    def _find(self) -> None:
        """Called in a thread: all records are read."""
        worker, subject = get_current_worker(), self._subject
        store = subject.store
        found: list[int] = []
        told_at = time.monotonic()
        pieces = linking_rows(store, store.trace_table.trace_id(subject.trace), store.spans.span_id[subject.row])
        for rows, left in pieces:
            if worker.is_cancelled:
                return
            found += rows
            if not left or time.monotonic() - told_at >= _EVERY_S:
                told_at = time.monotonic()
                self.app.call_from_thread(self._take_linking, worker, [*found], left)

    def _take_linking(self, worker: Worker[None], found: list[int], left: float) -> None:
        if worker.is_cancelled or self.is_left or self._state is not _State.LOOKING:
            return
        starts = self._subject.store.spans.start_ns
        self._linking, self._left = sorted(found, key=lambda row: (starts[row], row)), left
        if not left:
            self._state = _State.DONE
            self.viewer.say(f"{count(len(found), 'span')} found that link{'s' * (len(found) == 1)} to this one")
        self.show_linking()

    def end_looking(self) -> bool:
        """End the looking; return False where nothing was looked for."""
        if self._state is not _State.LOOKING:
            return False
        self.workers.cancel_group(self, _GROUP)
        self._state = _State.ENDED
        self.viewer.say("no longer looking for the spans that link to this one")
        self.show_linking()
        return True

    async def follow(self) -> bool:
        """Follow the link under the cursor, or look who links here; return False where neither is."""
        details = self.query_one(Details)
        part = details.lines.selected
        if part is None or details.section != _LINKS:
            return False
        if part.target is not None:
            await self.viewer.open_trace(self._subject.store.spans.trace[part.target], at_row=part.target)
        elif part.key == "linked from":
            self._ask()
        elif part.tone is Tone.LINK and (match := _LINK.fullmatch(str(part.whole))):
            await self._open_linked(match[1], int(match[2], 16))
        else:
            return False
        return True

    def _ask(self) -> None:
        span = self._subject.span
        if None in (span.trace_id, span.span_id):
            self.viewer.say("nothing can link to a span without usable ids")
        elif self._state in {_State.NOT_ASKED, _State.ENDED}:
            self._look()

    async def _open_linked(self, trace_id: str, span_id: int) -> None:
        store = self._subject.store
        for trace in traces_beginning(store, trace_id):
            for row in store.rows_of_trace(trace):
                if store.spans.span_id[row] == span_id:
                    await self.viewer.open_trace(trace, at_row=row)
                    return
        self.viewer.say("the span that this link leads to was not seen")
