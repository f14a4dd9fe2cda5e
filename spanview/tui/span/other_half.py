"""What a span's screen says of the span that probably belongs together with it: the other half of a Serve request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from spanview.analysis.serve_pairs import may_have_other_half, other_half
from spanview.display.parts import Part, Tone
from spanview.model.ids import format_span_id, format_trace_id
from spanview.tui.span.span_links import LinkedSpan

if TYPE_CHECKING:
    from textual.worker import Worker

    from spanview.analysis.serve_pairs import OtherHalf
    from spanview.display.span_text import SpanInTree
    from spanview.display.timing_text import TimingFacts

_GROUP: Final = "half"
_DIGITS: Final = 8
"""Of a trace's id."""


class HalvedSpan(LinkedSpan):
    """A span's screen that looks for the span's other half, which is always a guess."""

    def __init__(self, subject: SpanInTree) -> None:
        super().__init__(subject)
        self._half: OtherHalf | None = None

    def take_subject(self, subject: SpanInTree) -> None:
        """Be about another span."""
        self.workers.cancel_group(self, _GROUP)
        self._half = None
        super().take_subject(subject)
        self.look_for_half()

    def renew_subject(self, subject: SpanInTree, facts: TimingFacts | None) -> None:
        """Be about the same span in a trace that has grown."""
        super().renew_subject(subject, facts)
        if self._half is None:
            self.look_for_half()

    def look_for_half(self) -> None:
        """Look for it in a thread, if the span is one that may have one."""
        if may_have_other_half(self._subject.store, self._subject.row):
            self.run_worker(self._find_half, thread=True, group=_GROUP, exclusive=True)

    def _find_half(self) -> None:
        """Called in a thread: the columns of all spans are looked at, and a few records."""
        worker, subject = get_current_worker(), self._subject
        half = other_half(subject.store, subject.row)
        if half is not None and not worker.is_cancelled:
            self.app.call_from_thread(self._take_half, worker, half)

    def _take_half(self, worker: Worker[None], half: OtherHalf) -> None:
        if not worker.is_cancelled and not self.is_left:
            self._half = half
            self.show_linking()
            self.viewer.say("probably there is another half of this request: see Links")

    def guesses(self) -> tuple[Part, ...]:
        """Return the line that leads there, and what it rests on."""
        half = self._half
        if half is None:
            return ()
        store = self._subject.store
        spans, trace = store.spans, store.spans.trace[half.row]
        trace_id, span_id = format_trace_id(store.trace_table.trace_id(trace)), format_span_id(spans.span_id[half.row])
        name = store.names.texts[spans.name[half.row]] or "(no name)"
        is_within = spans.start_ns[half.row] >= spans.start_ns[self._subject.row]
        same = [f"same {text}" for text in (f"{half.method} {half.route}".strip(), half.status) if text]
        reasons = ["same file", "within this one's time" if is_within else "this one is within its time", *same]
        reasons += ["same request id"] * bool(half.request_id)
        text = f"probably belongs together with {name} of trace {trace_id[:_DIGITS]}…: {', '.join(reasons)}"
        return (Part("guess", text, f"{trace_id} {span_id}", Tone.LINK, target=half.row),)
