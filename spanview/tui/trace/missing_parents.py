"""What files don't hold, or not whole: missing parents, spans without an end, and why calls have no attempt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.names import call_names
from spanview.analysis.ray.unended import ran_until, unended_text, why_lost
from spanview.display.sanitise import sanitise
from spanview.model.times import NO_TIME
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spanview.analysis.ray.reasons import Why
    from spanview.analysis.ray.running import Growth
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.ray.unseen import Guess
    from spanview.index.tree import TraceTree
    from spanview.tui.trace.stitched_trace import StitchedTrace
    from spanview.tui.trace.waterfall import Waterfall
    from spanview.tui.widgets.base_screen import BaseScreen

_LONGEST_GUESS: Final = 100


@dataclass(eq=False)
class MissingParents:
    """Finds out, in threads, what missing parents of a trace probably are, and what has become of them."""

    _screen: BaseScreen
    _rows: Waterfall
    _refresh_details: Callable[[], object]
    _refresh_time: Callable[[], object]
    _guessed: tuple[TraceTree, bool] | None = None
    """The stitched trace that was asked about last, and whether its calls were rows."""
    _asked: StitchedTrace | None = None
    """What it was asked of last whether it runs."""
    _alive: Mapping[int, int] = field(default_factory=dict)
    ended: Mapping[int, int] = field(default_factory=dict)
    """The processes of missing parents, by the parents' span ids, as far as that was asked."""
    without_attempt: int = 0
    """How many calls of the trace left no attempt, as far as was asked."""
    asked_ns: int = 0
    """When something in the trace was last found to run, in nanoseconds since 1970; 0 where nothing runs.

    What is shown goes as far as that when it is known where the time went until then, too.
    """

    def __post_init__(self) -> None:
        self._model = self._rows.model
        self._guessing, self._asking = Work(self._screen), Work(self._screen)

    def guess(self) -> None:
        """Find out what the trace itself doesn't tell of what is missing: other traces may."""
        stitched = self._model.stitched
        tree, joins = stitched.unjoined, stitched.joins
        has_something = tree.missing or joins or call_names(self._model.store.names)[0]
        if (tree, joins) != self._guessed and has_something and not self._screen.viewer.feed_state.loading:
            self._guessed = tree, joins
            self._guessing.queue(lambda _: self._find(tree, joins=joins), self._take)

    def _find(self, tree: TraceTree, *, joins: bool) -> tuple[Mapping[int, Guess], Mapping[int, Why], int]:
        """Called in a thread: return what missing parents are, why calls have no attempt, and how many such calls."""
        from spanview.analysis.ray.calls import calls_of
        from spanview.analysis.ray.reasons import reasons_of, without_attempt
        from spanview.analysis.ray.unseen import guesses

        store = self._model.store
        reasons = reasons_of(store, calls_of(store, [self._model.trace]))
        # Calls are rows only where they are joined: then each says why it has no attempt.
        shown = reasons if joins else {}
        return guesses(store, tree) if tree.missing else {}, shown, len(without_attempt(store, reasons))

    def _take(self, answer: tuple[Mapping[int, Guess], Mapping[int, Why], int]) -> None:
        self._rows.appearance.guesses, self._rows.appearance.reasons, self.without_attempt = answer
        self._rows.refresh()
        self._refresh_details()
        self._screen.refresh_frame()

    def ask_what_runs(self) -> None:
        """While spans come, ask what may still be running: processes come and go.

        Else ask about spans without an end, once, and again while one runs.
        """
        viewer, state, stitched = self._screen.viewer, self._screen.viewer.feed_state, self._model.stitched
        if state.loading or viewer.paused:
            return
        if not stitched.without_end and self._rows.appearance.unended:
            self.take_unended({})
        if not (stitched.unjoined.missing or stitched.without_end):
            return
        if state.following or (stitched.without_end and (self._model.now_ns or self._asked is not stitched)):
            self._asked = stitched
            self._asking.queue(lambda _: viewer.running.growth(self._model.trace), self._take_growth)

    def _take_growth(self, growth: Growth) -> None:
        if (growth.parents, growth.ended) != (self._alive, self.ended):
            self._alive, self.ended = growth.parents, growth.ended
            self._refresh_details()
        self.asked_ns = ran_until(growth.unended).now_ns
        if growth.unended != self._rows.appearance.unended:
            self.take_unended(growth.unended)
        elif self.asked_ns:
            self._refresh_time()

    def drop_ended(self) -> None:
        """Take note that spans have an end by now."""
        unended, ends = self._rows.appearance.unended, self._model.store.spans.end_ns
        left = {row: span for row, span in unended.items() if ends[row] == NO_TIME}
        if len(left) < len(unended):
            self._rows.appearance.take_unended(left)

    def take_unended(self, unended: Mapping[int, Unended]) -> None:
        """Show what has become of spans without an end, and time until now while one runs."""
        model, has_changed = self._model, unended != self._rows.appearance.unended
        before = model.ran_until
        self._rows.appearance.take_unended(unended)
        if model.ran_until != before:
            self._rows.refresh()
            self._refresh_time()
        if has_changed:
            self._refresh_details()

    def unended_text(self, row: int) -> str:
        """Return what has become of a span without an end, safe to print; empty where that isn't known."""
        unended = self._rows.appearance.unended.get(row)
        return "" if unended is None else sanitise(unended_text(unended), _LONGEST_GUESS)

    def why_lost(self, row: int) -> str:
        """Return why a span is lost, as the end of a sentence that is safe to print."""
        return sanitise(why_lost(self._rows.appearance.unended[row]), _LONGEST_GUESS)

    def lines_of(self, span_id: int) -> list[tuple[str, str]]:
        """Return what is known of a missing parent, as names and values that are safe to print."""
        guess, lines = self._rows.appearance.guesses.get(span_id), list[tuple[str, str]]()
        if guess is not None:
            lines = [
                ("probably", sanitise(guess.name, _LONGEST_GUESS)),
                ("because", sanitise(guess.basis, _LONGEST_GUESS)),
            ]
        if (pid := self._alive.get(span_id)) is not None:
            lines.append(("alive", f"pid {pid}, which wrote its children; it may be running"))
        if (pid := self.ended.get(span_id)) is not None:
            lines.append(("ended", f"pid {pid}, which wrote its children"))
        return lines

    def fate_of(self, span_id: int) -> str:
        """Return what has become of a missing parent, as far as its process tells."""
        if span_id in self._alive:
            return "it has not ended yet, likely"
        if span_id in self.ended:
            return "it is likely lost, because its process has ended"
        return "it has not ended yet, or its record is lost"
