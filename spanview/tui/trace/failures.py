"""What failed in a trace, in the order in which `e` visits it: errors, then silent failures."""

from __future__ import annotations

import time
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.analysis.silent import SilentFailure
    from spanview.analysis.telling import Tell
    from spanview.tui.trace.missing_parents import MissingParents
    from spanview.tui.trace.stitched_trace import StitchedTrace
    from spanview.tui.trace.waterfall import Waterfall
    from spanview.tui.widgets.base_screen import BaseScreen

_Found = tuple["StitchedTrace", dict[int, "SilentFailure"], list[int]]
"""Of which trace, what failed without an error, by row, and the rows of calls that may run."""
_ASKED_AGAIN_S: Final = 2.0
"""After so long it is asked again whether calls that may run still may."""
_REST_PER_WORK: Final = 4.0


class Failures:
    """Finds out, in a thread, what failed without an error, and knows what comes next.

    Args:
        rows: Those of the trace.
        missing: What is known of missing parents.
        refresh_details: Called when there is something else to say in the details.
    """

    def __init__(
        self,
        screen: BaseScreen,
        rows: Waterfall,
        missing: MissingParents,
        refresh_details: Callable[[], object],
    ) -> None:
        self._screen = screen
        self._rows = rows
        self._model = rows.model
        self._missing = missing
        self._refresh_details = refresh_details
        self._work = Work(screen)
        self._asked_of: StitchedTrace | None = None
        self._has_open_calls = False
        self._due = 0.0
        self._waiting: Callable[[], object] | None = None

    # -- finding out -------------------------------------------------------------------------------------------------

    def find(self) -> None:
        """Find out what failed without an error, where the trace has been stitched anew, or calls may have ended."""
        stitched, state = self._model.stitched, self._screen.viewer.feed_state
        is_due = self._has_open_calls and state.following and time.monotonic() >= self._due
        if state.loading or self._work.is_busy or not (stitched is not self._asked_of or is_due):
            return
        self._asked_of = stitched
        viewer, begun = self._screen.viewer, time.monotonic()

        def ask(tell: Tell) -> _Found:
            from spanview.analysis.silent import silent_failures

            store, trace = self._model.store, self._model.trace
            return stitched, *silent_failures(
                store, [trace], lambda row: viewer.running.assessment_of(row).may_run, tell
            )

        self._work.begin(ask, lambda found: self._take(found, begun))

    def _take(self, found: _Found, begun: float) -> None:
        stitched, silent, open_calls = found
        now = time.monotonic()
        self._has_open_calls, self._due = bool(open_calls), now + max(_ASKED_AGAIN_S, _REST_PER_WORK * (now - begun))
        appearance = self._rows.appearance
        has_changed = silent != appearance.silent
        appearance.silent = silent
        if has_changed:
            self.lay_out()
            self._rows.refresh()
            self._refresh_details()
            self._screen.refresh_frame()
        if (waiting := self._waiting) is not None:
            self._waiting = None
            waiting()
        if stitched is not self._model.stitched:
            self.find()

    def lay_out(self) -> None:
        """Find the places of what failed without an error in the trace as it is stitched now."""
        appearance, stitched = self._rows.appearance, self._model.stitched
        places = {
            stitched.position[node] for row in appearance.silent if (node := stitched.node_of.get(row)) is not None
        }
        lost = (stitched.node_of.get(-1 - span_id) for span_id in self._missing.ended)
        places |= {stitched.position[node] for node in lost if node is not None}
        appearance.silent_positions = sorted(places.difference(stitched.failed))

    def _text_of_node(self, node: int) -> str:
        stitched = self._model.stitched
        row = stitched.tree.rows[node]
        return self.text_of(row) or self.text_of(stitched.submitted.get(row, row))

    def text_of(self, row: int) -> str:
        """Return how a span failed without an error, by its row; empty if it didn't."""
        failure = self._rows.appearance.silent.get(row)
        return "" if failure is None else failure.text

    # -- what comes next ---------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many there are, as far as that is known."""
        return len(self._model.stitched.failed) + len(self._rows.appearance.silent_positions)

    def when_known(self, do: Callable[[], object]) -> bool:
        """Do something when it is known what failed; return False where it is known already."""
        if not self._work.is_busy:
            return False
        self._waiting = do
        return True

    def node(self, number: int) -> int:
        """Return the node of the failure with a number, counted from 0."""
        stitched = self._model.stitched
        failed = stitched.failed
        silent = self._rows.appearance.silent_positions
        return stitched.order[failed[number] if number < len(failed) else silent[number - len(failed)]]

    def name_of(self, number: int) -> str:
        """Return what a failure is, and how many there are of its kind, in words."""
        stitched, silent = self._model.stitched, self._rows.appearance.silent_positions
        errors = len(stitched.failed)
        if number < errors:
            return f"error {number + 1:,} of {errors:,}"
        node, text = self.node(number), "lost, likely: its process has ended"
        if not stitched.tree.is_missing(node):
            text = self._text_of_node(node)
        return f"no error recorded, {number - errors + 1:,} of {len(silent):,}: {text}"

    def next(self, by: int, *, stay: bool = False) -> int:
        """Return the number of the next failure, or of the one before; there may be none of that number.

        Args:
            by: Below 0 for the one before.
            stay: Whether the one under the cursor is the next one, where it is one of them.
        """
        current = self._rows.node
        failed, silent = self._model.stitched.failed, self._rows.appearance.silent_positions
        if current is None:
            return -1
        here = self._model.stitched.position[current]
        # The row stands for all of its run, whose first one hasn't been seen.
        stay = stay or (by > 0 and self._model.run(current) is not None)
        place = bisect_left(silent, here)
        if silent[place : place + 1] == [here]:
            return len(failed) + place + (0 if stay else by)
        if by < 0:
            return bisect_left(failed, here) - 1
        return bisect_left(failed, here if stay else here + 1)
