"""What failed in a trace, with an error or without, in the order in which `e` visits it.

The newest comes first, and what a retry made good after what lasted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from heapq import merge
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from spanview.display.sanitise import sanitise
from spanview.model.codes import PRODUCER
from spanview.model.times import NO_TIME
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
_MAX_NAME_LENGTH: Final = 30


@dataclass(eq=False)
class Failures:
    """Finds out, in a thread, what failed without an error, and knows what comes next; `show` says it on the screen."""

    _screen: BaseScreen
    _rows: Waterfall
    _missing: MissingParents
    _show: Callable[[], object]
    _asked_of: StitchedTrace | None = None
    _due: float = 0.0
    _waiting: Callable[[], object] | None = None
    _in_order: tuple[object, Sequence[int]] | None = None
    """The order of visits as it was found last, and what of."""
    _visited: int | None = None
    """The failure that was visited last, by its key in the stitched trace."""

    def __post_init__(self) -> None:
        self._model = self._rows.model
        self._work = Work(self._screen)

    # -- finding out -------------------------------------------------------------------------------------------------

    def find(self) -> None:
        """Find out what failed without an error, where the trace has been stitched anew, or calls may have ended."""
        stitched, state = self._model.stitched, self._screen.viewer.feed_state
        is_due = self._rows.appearance.open_calls and state.following and time.monotonic() >= self._due
        if state.loading or self._work.is_busy or not (stitched is not self._asked_of or is_due):
            return
        self._asked_of = stitched
        viewer, begun = self._screen.viewer, time.monotonic()

        def ask(tell: Tell) -> _Found:
            from spanview.analysis.silent import silent_failures

            store, trace = self._model.store, self._model.trace
            return stitched, *silent_failures(store, [trace], viewer.running.is_open, tell)

        self._work.begin(ask, lambda found: self._take(found, begun))

    def _take(self, found: _Found, begun: float) -> None:
        stitched, silent, open_calls = found
        now = time.monotonic()
        self._due = now + max(_ASKED_AGAIN_S, _REST_PER_WORK * (now - begun))
        appearance = self._rows.appearance
        has_changed = (silent, open_calls) != (appearance.silent, appearance.open_calls)
        appearance.silent, appearance.open_calls = silent, open_calls
        if has_changed:
            self.lay_out()
            self._rows.refresh()
        # Of calls that had not been asked about something else is said now.
        self._show()
        if (waiting := self._waiting) is not None:
            self._waiting = None
            waiting()
        if stitched is not self._model.stitched:
            self.find()

    def open_calls(self, calls: int, *, is_old: bool = False) -> int:
        """Return how many of a trace's calls without an attempt may still run, as far as processes show.

        While spans come, a call that has come since processes were asked last isn't one that left no attempt.

        Args:
            is_old: Whether the calls were counted before what is shown had come: some may have run since.
        """
        appearance, store = self._rows.appearance, self._model.store
        is_behind = is_old or self._work.is_busy or self._asked_of is not self._model.stitched
        if is_behind and self._screen.viewer.feed_state.following:
            from spanview.analysis.ray.reasons import without_attempt

            over = {row for row, why in without_attempt(store, appearance.reasons).items() if not why.may_run}
            over |= {row for row in appearance.silent if store.spans.kind[row] == PRODUCER}
            return max(0, calls - len(over))
        return len(appearance.open_calls)

    def lay_out(self) -> None:
        """Find the places of what failed without an error in the trace as it is stitched now."""
        self._rows.appearance.lay_out_silent(self._missing.ended)

    def _explained(self, node: int) -> str:
        """Return how a span failed without an error, and what then makes it a failure; empty if it didn't."""
        stitched, silent = self._model.stitched, self._rows.appearance.silent
        row = stitched.tree.rows[node]
        failure = silent.get(row) or silent.get(stitched.submitted.get(row, row))
        if failure is None:
            return ""
        name = sanitise(self._rows.texts.name(node), _MAX_NAME_LENGTH)
        return f"no error, but {f'{name} never ran: ' if failure.never_ran else ''}{failure.text}"

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

    @property
    def _positions(self) -> Sequence[int]:
        """The positions of what failed, the newest first; what a retry made good last."""
        stitched, silent = self._model.stitched, self._rows.appearance.silent_positions
        known = stitched, silent, self._screen.viewer.made_good
        if self._in_order is None or self._in_order[0] != known:
            (newest, lasting), rows = stitched.newest_failed, stitched.rows
            ends = [self._model.store.spans.last_ns(rows[position]) for position in newest[:lasting]]
            # What passed an exception on ended after what raised it, and is visited behind it.
            errors = zip([*accumulate(reversed(ends), max)][::-1], newest, strict=False)
            others = sorted(((self._silent_ns(position), position) for position in silent), reverse=True)
            lasted = [(ns, position) for ns, position in others if not self._is_made_good(position)]
            merged = merge(errors, lasted, key=itemgetter(0), reverse=True)
            retried = [position for _, position in others if self._is_made_good(position)]
            self._in_order = known, [*(position for _, position in merged), *newest[lasting:], *retried]
        return self._in_order[1]

    def _is_made_good(self, position: int) -> bool:
        stitched = self._model.stitched
        node = stitched.order[position]
        return not stitched.tree.is_missing(node) and stitched.tree.rows[node] in self._screen.viewer.made_good

    def _silent_ns(self, position: int) -> int:
        """Return when something that failed without an error ended, or was lost; of a lost parent, its last child."""
        store, tree, unended = self._model.store, self._model.stitched.tree, self._rows.appearance.unended
        node = self._model.stitched.order[position]
        nodes = tree.children(node) if tree.is_missing(node) else (node,)
        times = [store.spans.last_ns(tree.rows[node]) for node in nodes]
        seen = [unended[row].until_ns for node in nodes if (row := tree.rows[node]) in unended]
        return max((*times, *seen), default=NO_TIME)

    def number_of(self, node: int) -> int | None:
        """Return the number of the failure that a node is, counted from 0; None where it is none."""
        positions = self._positions
        position = self._model.stitched.position[node]
        return positions.index(position) if position in positions else None

    def visit(self, number: int) -> int:
        """Return the node of the failure with a number, counted from 0, where the cursor goes now."""
        stitched = self._model.stitched
        node = stitched.order[self._positions[number]]
        self._visited = stitched.key(node)
        return node

    def name_of(self, number: int) -> str:
        """Return what a failure is, and how many there are of its kind, in words."""
        stitched, silent = self._model.stitched, {*self._rows.appearance.silent_positions}
        positions, errors = self._positions, len(stitched.failed)
        before = sum(position in silent for position in positions[:number])
        if positions[number] not in silent:
            return f"error {number - before + 1:,} of {errors:,}"
        node, text = stitched.order[positions[number]], "likely lost because its process has ended"
        if not stitched.tree.is_missing(node):
            text = self._explained(node) or self._missing.why_lost(stitched.tree.rows[node])
        which = f" {before + 1:,} of {len(silent):,}" if len(silent) > 1 else ""
        return f"silent failure{which}: {text}"

    def next(self, by: int) -> int:
        """Return the number of the next failure, or of the one before; there may be none of that number.

        That is the next one of the failure under the cursor; where the cursor is elsewhere, of the one that was visited
        last. Of a row that hides failures, it is the newest of them.
        """
        current, stitched = self._rows.node, self._model.stitched
        if current is None:
            return -1
        numbers = {position: number for number, position in enumerate(self._positions)}
        here = stitched.position[current]
        hidden = self._model.hidden_positions(current)
        if by > 0 and (inside := [number for position, number in numbers.items() if position in hidden]):
            return min(inside)
        visited = None if self._visited is None else stitched.node_of.get(self._visited)
        last = numbers.get(here, -1 if visited is None else numbers.get(stitched.position[visited], -1))
        return last + by if last >= 0 or by > 0 else -1
