"""The span that probably belongs together with one: the other half of a Serve request, which no link leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.serve_pairs import may_have_other_half, other_half
from spanview.display.parts import DetailPart, Tone
from spanview.model.ids import format_span_id, format_trace_id
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.analysis.serve_pairs import OtherHalf
    from spanview.display.span_in_tree import SpanInTree
    from spanview.tui.widgets.base_screen import BaseScreen

_DIGITS: Final = 8
"""Of a trace's id."""


class Counterpart:
    """Guesses which span it is."""

    def __init__(self, screen: BaseScreen, show: Callable[[], object]) -> None:
        self._screen = screen
        self._show = show
        self._half: OtherHalf | None = None
        self._work = Work(screen)

    def forget(self) -> None:
        """Let it be that of another span."""
        self._work.end()
        self._half = None

    def look(self, subject: SpanInTree) -> None:
        """Look for it in a thread, where it isn't known, and the span is one that may have one."""
        if self._half is None and may_have_other_half(subject.store, subject.row):
            # The columns of all spans are looked at, and a few records.
            self._work.begin(lambda _: other_half(subject.store, subject.row), self._take)

    def _take(self, half: OtherHalf | None) -> None:
        if half is not None:
            self._half = half
            self._show()
            self._screen.viewer.say("probably there is another half of this request: see Links")

    def lines(self, subject: SpanInTree) -> tuple[DetailPart, ...]:
        """Return the line that leads there, and what it rests on."""
        half = self._half
        if half is None:
            return ()
        store = subject.store
        spans, trace = store.spans, store.spans.trace[half.row]
        trace_id, span_id = format_trace_id(store.trace_table.trace_id(trace)), format_span_id(spans.span_id[half.row])
        name = store.names.texts[spans.name[half.row]] or "(no name)"
        is_within = spans.start_ns[half.row] >= spans.start_ns[subject.row]
        same = [f"same {text}" for text in (f"{half.method} {half.route}".strip(), half.status) if text]
        reasons = ["same file", "within this one's time" if is_within else "this one is within its time", *same]
        reasons += ["same request id"] * bool(half.request_id)
        text = f"probably belongs together with {name} of trace {trace_id[:_DIGITS]}…: {', '.join(reasons)}"
        return (DetailPart("guess", text, f"{trace_id} {span_id}", Tone.LINK, target=half.row),)
