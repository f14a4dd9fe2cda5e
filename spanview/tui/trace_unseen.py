"""What a trace's screen says of what no file holds: what missing parents probably are, why calls have no attempt."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.display.sanitise import sanitise
from spanview.tui.behind import Behind
from spanview.tui.trace_pictures import PicturedTrace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.analysis.reasons import Why
    from spanview.analysis.unseen import Guess
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.tui.trace_facets import LitPath
    from spanview.tui.trace_shape import Shape

_LONGEST: Final = 100


class _Answer(NamedTuple):
    """What was found out of what is missing."""

    guesses: Mapping[int, Guess]
    process: int | None
    """One of the trace that is alive."""
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
        self._process: int | None = None
        """A process of the trace that is alive, as far as that was asked."""
        self._guessing: Behind[_Answer] = Behind(self, self._take_guesses)

    def guess(self) -> None:
        """Find out in a thread what the trace itself doesn't tell of what is missing: other traces may."""
        shape = self._model.shape
        tree = shape.stitched
        asks = tree.missing or shape.joins
        # Calls are rows only where they are joined: then each says why it has no attempt.
        if (tree, shape.joins) != self._guessed and asks and self.is_stitched and not self.viewer.feed_state.loading:
            self._guessed = tree, shape.joins
            follows = self.viewer.feed_state.following
            self._guessing.ask(partial(self._guesses, tree, joins=shape.joins, follows=follows))

    def _guesses(self, tree: TraceTree, *, joins: bool, follows: bool) -> _Answer:
        """Called in a thread."""
        from spanview.analysis.calls import calls_of
        from spanview.analysis.reasons import reasons_of
        from spanview.analysis.unseen import guesses

        found = guesses(self._store, tree) if tree.missing else {}
        process = self.viewer.running.process_of_trace(self.trace) if follows and tree.missing else None
        reasons = reasons_of(self._store, calls_of(self._store, [self.trace])) if joins else {}
        return _Answer(found, process, reasons)

    def _take_guesses(self, answer: _Answer) -> None:
        self._facets.guesses, self._process, self._facets.reasons = answer
        self.rows.refresh()

    def known_of_missing(self, span_id: int) -> list[tuple[str, str]]:
        """Return what is known of a missing parent, as names and values that are safe to print."""
        guess, lines = self._facets.guesses.get(span_id), list[tuple[str, str]]()
        if guess is not None:
            lines = [("probably", sanitise(guess.name, _LONGEST)), ("because", sanitise(guess.basis, _LONGEST))]
        if self._process is not None:
            lines.append(("alive", f"pid {self._process}, which has written spans of this trace; it may be running"))
        return lines

    def _show(self, shape: Shape, lit: LitPath | None) -> None:
        super()._show(shape, lit)
        self.guess()
