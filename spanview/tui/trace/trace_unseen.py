"""What a trace's screen says of what no file holds: missing parents, and why calls have no attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.display.sanitise import sanitise
from spanview.tui.trace.trace_pictures import PicturedTrace
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.analysis.reasons import Why
    from spanview.analysis.running import Growth
    from spanview.analysis.unseen import Guess
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.tui.trace.trace_facets import LitPath
    from spanview.tui.trace.trace_shape import Shape

_LONGEST: Final = 100


class _Answer(NamedTuple):
    """What was found out of what is missing."""

    guesses: Mapping[int, Guess]
    reasons: Mapping[int, Why]


class GuessedTrace(PicturedTrace):
    """What a trace's screen does to say what missing parents probably are.

    Args:
        store: The store.
        trace: The trace's row in the trace table.
    """

    def __init__(self, store: Store, trace: int) -> None:
        super().__init__(store, trace)
        self._guessed: tuple[TraceTree, bool] | None = None
        """The stitched trace that was asked about last, and whether its calls were rows."""
        self._growth: Growth | None = None
        """What of the trace probably runs, as far as that was asked."""
        self._guessing = Work(self)
        self._asking = Work(self)
        self.grows = False
        """Whether the list of traces says that it grows."""

    def guess(self) -> None:
        """Find out in a thread what the trace itself doesn't tell of what is missing: other traces may."""
        shape = self._model.shape
        tree = shape.stitched
        asks = tree.missing or shape.joins
        # Calls are rows only where they are joined: then each says why it has no attempt.
        if (tree, shape.joins) != self._guessed and asks and self.is_stitched and not self.viewer.feed_state.loading:
            self._guessed = tree, shape.joins
            joins = shape.joins
            self._guessing.queue(lambda _: self._guesses(tree, joins=joins), self._take_guesses)

    def _guesses(self, tree: TraceTree, *, joins: bool) -> _Answer:
        """Called in a thread."""
        from spanview.analysis.calls import calls_of
        from spanview.analysis.reasons import reasons_of
        from spanview.analysis.unseen import guesses

        reasons = reasons_of(self._store, calls_of(self._store, [self.trace])) if joins else {}
        return _Answer(guesses(self._store, tree) if tree.missing else {}, reasons)

    def _take_guesses(self, answer: _Answer) -> None:
        self._facets.guesses, self._facets.reasons = answer
        self.rows.refresh()

    def ask_what_lives(self) -> None:
        """While spans come, ask in a thread which missing parents may still be running: processes come and go."""
        state = self.viewer.feed_state
        if state.following and not state.loading and not self.viewer.paused and self._model.shape.stitched.missing:
            running = self.viewer.running
            self._asking.queue(lambda _: running.growth(self.trace), self._take_growth)

    def _take_growth(self, growth: Growth) -> None:
        if growth != self._growth:
            self._growth = growth
            self.look_later()

    def growth_has_changed(self) -> None:
        """Say what the list of traces says."""
        if not self.viewer.paused and (grows := self.viewer.is_growing(self.trace)) != self.grows:
            self.grows = grows
            self.refresh_frame()

    def look_later(self) -> None:
        """Show anew what is known of the selected row, soon."""
        raise NotImplementedError

    def known_of_missing(self, span_id: int) -> list[tuple[str, str]]:
        """Return what is known of a missing parent, as names and values that are safe to print."""
        guess, lines = self._facets.guesses.get(span_id), list[tuple[str, str]]()
        if guess is not None:
            lines = [("probably", sanitise(guess.name, _LONGEST)), ("because", sanitise(guess.basis, _LONGEST))]
        if self._growth is not None and (pid := self._growth.parents.get(span_id)) is not None:
            lines.append(("alive", f"pid {pid}, which wrote its children; it may be running"))
        if self._growth is not None and (pid := self._growth.ended.get(span_id)) is not None:
            lines.append(("ended", f"pid {pid}, which wrote its children"))
        return lines

    def fate_of_missing(self, span_id: int) -> str:
        """Return what has become of a missing parent, as far as its process tells."""
        if self._growth is not None and span_id in self._growth.parents:
            return "it has not ended yet, likely"
        if self._growth is not None and span_id in self._growth.ended:
            return "it is lost, likely: its process has ended"
        return "it has not ended yet, or its record is lost"

    def _show(self, shape: Shape, lit: LitPath | None) -> None:
        super()._show(shape, lit)
        self.guess()
