"""What all spans of a store show of its calls: found out once, for whoever asks of one trace after the other."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from spanview.analysis.ray.names import call_names
from spanview.analysis.serve.requests import seen_requests
from spanview.model.codes import PRODUCER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from spanview.analysis.ray.calls import Calls
    from spanview.analysis.ray.reasons import Why
    from spanview.analysis.ray.waited_for import AllAttempts, WaitReason, WaitReasons
    from spanview.analysis.serve.requests import SeenRequest
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree


class KnownCalls:
    """What is known of the calls of a store as it is now; each part is found out when it is first asked for.

    Args:
        traces: Numbers of those traces that will be asked for, where that is known beforehand.
    """

    def __init__(self, store: Store, traces: Sequence[int] = ()) -> None:
        self._store = store
        self._traces = traces
        self._version = store.version

    @property
    def is_current(self) -> bool:
        """Whether nothing has come since."""
        return self._version == self._store.version

    @cached_property
    def attempts(self) -> AllAttempts:
        """All attempts."""
        from spanview.analysis.ray.waited_for import AllAttempts

        return AllAttempts(self._store)

    def wait_reason_of(self, attempt: int) -> WaitReason | None:
        """Return what an attempt that no other of its call preceded waited for; None where it hardly did."""
        # Where many will be asked for, all are found out at once.
        is_known = self._traces and attempt in self._first_attempts
        return (self.waits if is_known else self.attempts.reasons_of([attempt])).get(attempt)

    def told_waits_in(self, trace: int) -> WaitReasons | None:
        """Return what the calls of a trace waited for, by their first attempts; None where Ray itself says nothing."""
        if self._store.ray is None:
            return None
        from spanview.analysis.ray.calls import calls_of

        calls = calls_of(self._store, [trace])
        return self.attempts.reasons_of([call.attempts[0] for call in calls if call.attempts])

    def is_over(self, trace: int) -> bool:
        """Return whether nothing more becomes of a trace's calls, as Ray itself says of each; False without calls."""
        if self._store.ray is None:
            return False
        from spanview.analysis.ray.calls import calls_of
        from spanview.analysis.ray.told import told_outcomes

        calls = calls_of(self._store, [trace]).rows
        told = told_outcomes(self._store, calls)
        return 0 < len(told) == len(calls) and all(outcome.is_over for outcome in told.values())

    @cached_property
    def reasons(self) -> Mapping[int, Why]:
        """Why calls have no attempt, by the rows of their PRODUCERs."""
        from spanview.analysis.ray.reasons import reasons_of

        return reasons_of(self._store, self.calls)

    def wait_parts_of(self, row: int) -> Mapping[str, int] | None:
        """Return how long a call waited for what, by its first attempt; None for any other span."""
        if row not in self._first_attempts:
            return None
        return {kind.name.lower(): ns for kind, ns in self.waits.parts_of(row).items()}

    @property
    def told_waits(self) -> WaitReasons | None:
        """What all calls waited for, by their first attempts; None where Ray itself says nothing."""
        return None if self._store.ray is None else self.waits

    @cached_property
    def waits(self) -> WaitReasons:
        """What all calls waited for, by their first attempts, as spans show or Ray itself says."""
        return self.attempts.reasons_of([*self._first_attempts])

    @cached_property
    def _first_attempts(self) -> frozenset[int]:
        return frozenset(self.calls.first_attempts.tolist())

    @cached_property
    def calls(self) -> Calls:
        """All calls."""
        from spanview.analysis.ray.calls import calls_of

        return calls_of(self._store)

    @cached_property
    def outcomes(self) -> Mapping[int, str]:
        """What became of calls, by the rows of their spans and of their last attempts."""
        from spanview.analysis.ray.outcomes import outcomes_of

        calls = [*self.calls]
        asked = None if self._store.ask_lives is None else self._store.ask_lives(self._store)
        became = outcomes_of(self._store, calls, self.reasons, {} if asked is None else asked.unended())
        rows = ((row, call) for call in calls for row in (call.row, *call.attempts[-1:]))
        return {row: became[call.row].outcome.key for row, call in rows}

    def reasons_among(self, rows: Iterable[int]) -> dict[int, Why]:
        """Return why calls among some rows have no attempt; all other rows are left out."""
        reasons = self.reasons
        return {row: reasons[row] for row in rows if row in reasons}

    def reasons_and_open(self, tree: TraceTree) -> tuple[Mapping[int, Why], Collection[int]]:
        """Return why calls of a trace have no attempt, and the rows of those that may still run, as processes show."""
        reasons = self.reasons_among(tree.rows) if has_lone_calls(self._store, tree) else {}
        if not reasons:
            return reasons, ()
        from spanview.analysis.ray.reasons import open_among

        return reasons, open_among(self._store, reasons)

    def request_of(self, row: int) -> SeenRequest | None:
        """Return the request of Serve that a span is the outermost of, in whatever trace; None for all others."""
        return self._requests.get(row) or seen_requests(self._store, [self._store.spans.trace[row]]).get(row)

    @cached_property
    def _requests(self) -> Mapping[int, SeenRequest]:
        return seen_requests(self._store, self._traces) if self._traces else {}


def has_lone_calls(store: Store, tree: TraceTree) -> bool:
    """Return whether nothing is below a call of a trace; `KnownCalls.reasons_among` says if it lacks an attempt."""
    spans, submits, parents = store.spans, call_names(store.names)[0], {*tree.parents}
    alone = (row for node, row in enumerate(tree.rows) if spans.kind[row] == PRODUCER and node not in parents)
    return any(spans.name[row] in submits for row in alone)
