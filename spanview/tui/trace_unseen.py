"""What a trace's screen says of parents that no file holds: what each probably is, and whether its process may live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.display.sanitise import sanitise
from spanview.tui.background import Background
from spanview.tui.trace_pictures import PicturedTrace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.analysis.unseen import Guess
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.tui.trace_facets import LitPath
    from spanview.tui.trace_shape import Shape

_LONGEST: Final = 100


class GuessedTrace(PicturedTrace):
    """What a trace's screen does to say what missing parents probably are.

    Args:
        store: The store.
        trace: The trace's row in the trace table.
    """

    def __init__(self, store: Store, trace: int) -> None:
        super().__init__(store, trace)
        self._guessed: TraceTree | None = None
        """The stitched trace that was asked about last."""
        self._process: int | None = None
        """A process of the trace that is alive, as far as that was asked."""
        self._guessing = Background(self)

    def guess(self) -> None:
        """Find out in a thread what missing parents probably are, where there are some: other traces tell."""
        tree = self._model.shape.stitched
        if tree is not self._guessed and tree.missing and self.is_stitched and not self.viewer.feed_state.loading:
            self._guessed = tree
            follows = self.viewer.feed_state.following
            self._guessing.queue(lambda _: self._guesses(tree, follows=follows), self._take_guesses)

    def _guesses(self, tree: TraceTree, *, follows: bool) -> tuple[Mapping[int, Guess], int | None]:
        """Called in a thread."""
        from spanview.analysis.unseen import guesses

        return guesses(self._store, tree), self.viewer.running.process_of_trace(self.trace) if follows else None

    def _take_guesses(self, answer: tuple[Mapping[int, Guess], int | None]) -> None:
        self._facets.guesses, self._process = answer
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
