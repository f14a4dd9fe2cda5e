"""Calls that never ran because a task whose result they take had failed.

driver     parse<     embed<             embed takes the result of parse
parse            |===|✖
embed                                    Ray fails it as well: its function isn't called, and it leaves no attempt

A worker gets such a call, whenever it was submitted, and fails to get its arguments before its span begins. Whoever
asks for its result is told `ray::embed() … At least one of the input arguments for this task could not be computed`. A
span of the caller that records this proves it.

Otherwise spans don't name arguments. A call of another function that the same caller submitted before, and that failed,
is a likely reason, if the caller didn't pause after the failure, and calls of this function run elsewhere: one that
never leaves an attempt may always die, or ask for what no node has. The caller is the span that is the parent of both.
Where there is none, a driver may submit calls for hours: then the failed one has to be among those of one function that
came last before this one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray.exits import exits_among
from spanview.analysis.ray.names import CONSTRUCTED, SUBMITTED
from spanview.index.arrays import copy_of
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places
    from spanview.index.store import Store

_Caller: TypeAlias = tuple[int, int, int]
"""The number of the caller's process, and its trace and span id where a span is the caller."""
_NOT_COMPUTED: Final = "At least one of the input arguments for this task could not be computed"
_NAMED: Final = re.compile(rf"ray::([^\n]+?)\(\)[^\n]*\n\s*{_NOT_COMPUTED}")
"""As in `ray::embed() (pid=7, ip=10.0.0.1)\\n  At least one of …`; Ray colours the name."""
_MAX_SUBMIT_GAP_NS: Final = 5_000_000
"""A call whose argument is another call's result is usually submitted within this time."""
_PAUSE_NS: Final = 500_000_000
"""A caller that waits for longer after a failure goes on with something else."""
_MAX_RECORDS: Final = 1_000
"""Records of callers that are read."""


@dataclass(frozen=True, slots=True)
class FailedArgument:
    """What shows that an argument of a call failed."""

    text: str
    certainty: Certainty = Certainty.LIKELY
    may_run: bool = False
    """Whether the call may still wait or run as far as the files show."""


class FailedArguments:
    """Finds out whether calls have no attempt because an argument failed.

    Args:
        calls: The PRODUCERs of all calls of the store.
        failed: The last attempts of the calls that failed, by their PRODUCERs.
        rows: The PRODUCERs of calls without an attempt and without an error.
    """

    def __init__(self, store: Store, calls: Places, failed: Mapping[int, int], rows: Iterable[int]) -> None:
        self._store = store
        spans = store.spans
        # A constructor's result is a handle, which is there at once.
        constructs = {number for number, text in enumerate(store.names.texts) if text.endswith(CONSTRUCTED)}
        self._failed = {call: attempt for call, attempt in failed.items() if spans.name[call] not in constructs}
        self._by_caller = defaultdict[_Caller, list[int]](list)
        """The calls that failed, by their callers, in the order of submission."""
        self._alike = Counter[tuple[_Caller, int]]()
        """How many calls without an attempt have one caller, and one name."""
        for call in sorted(self._failed, key=lambda call: (spans.start_ns[call], call)):
            self._by_caller[self._caller(call)].append(call)
        self._alike.update((self._caller(row), spans.name[row]) for row in rows)
        self._told = self._find_told()
        self._submitted = _Submitted(store, calls if self._failed else calls[:0])

    def of(self, row: int, *, runs_elsewhere: bool) -> FailedArgument | None:
        """Return what shows that an argument of a call failed; None where nothing does.

        Args:
            runs_elsewhere: Whether other calls of its function leave attempts.
        """
        shown = self._proof(row) or self._likely(row)
        return None if shown is not None and shown.may_run and not runs_elsewhere else shown

    def _caller(self, row: int) -> _Caller:
        """Return what tells a call's caller from others: its process, and the span where there is one."""
        spans = self._store.spans
        parent = spans.parent_id[row]
        return spans.process[row], spans.trace[row] if parent else -1, parent

    def _function(self, row: int) -> str:
        return self._store.names.texts[self._store.spans.name[row]].removesuffix(SUBMITTED)

    # -- proof -------------------------------------------------------------------------------------------------------

    def _find_told(self) -> Mapping[tuple[int, int], set[str]]:
        """Return of which functions callers were told that an argument failed, by their traces and span ids."""
        spans = self._store.spans
        callers = {(trace, parent) for _, trace, parent in (caller for caller, _ in self._alike) if parent}
        size = len(spans.next_row)
        wanted = np.isin(copy_of(spans.span_id)[:size], np.array([parent for _, parent in callers], np.uint64))
        told = dict[tuple[int, int], set[str]]()
        for row in np.flatnonzero(wanted).tolist()[:_MAX_RECORDS]:
            key = spans.trace[row], spans.span_id[row]
            if key in callers and _NOT_COMPUTED.encode() in (self._store.record(row) or b""):
                events = (event for event in self._store.span(row).events if event.is_exception)
                messages = (str(event.attributes.get("exception.message")) for event in events)
                told[key] = {name for message in messages for name in _NAMED.findall(message)}
        return told

    def _proof(self, row: int) -> FailedArgument | None:
        caller, function = self._caller(row), self._function(row)
        if not any(f".{function}".endswith(f".{name}") for name in self._told.get(caller[1:], ())):
            return None
        if self._alike[caller, self._store.spans.name[row]] == 1:
            return FailedArgument("its caller's exception says that an argument of it failed", Certainty.CERTAIN)
        return FailedArgument("its caller's exception says so of one of its calls of this function")

    # -- likely ------------------------------------------------------------------------------------------------------

    def _likely(self, row: int) -> FailedArgument | None:
        failed = self._by_caller.get(self._caller(row))
        if not failed:
            return None
        spans, names, submitted = self._store.spans, self._store.spans.name, self._submitted
        start, name = spans.start_ns[row], names[row]
        since = NO_TIME if spans.parent_id[row] else submitted.previous_since(row)
        failed_since = submitted.busy_since(row) - _PAUSE_NS
        earlier = (
            call
            for call in reversed(failed)
            if since <= spans.start_ns[call] < start
            and names[call] != name
            and spans.end_ns[self._failed[call]] >= failed_since
        )
        # What `exit_actor` ends hasn't failed.
        call = next((call for call in earlier if not exits_among(self._store, [self._failed[call]])), None)
        if call is None:
            return None
        other, ended = self._function(call), spans.end_ns[call]
        is_next = self._submitted.before(row) == call and ended != NO_TIME and 0 <= start - ended <= _MAX_SUBMIT_GAP_NS
        right = is_next and spans.end_ns[self._failed[call]] >= start
        when = "submitted right before it" if right else "which its caller had submitted before it"
        text = f"{other}, {when}, failed; if that was its argument, it could not run"
        return FailedArgument(text, may_run=not right)


class _Submitted:
    """The calls of each caller in the order in which they were submitted."""

    def __init__(self, store: Store, calls: Places) -> None:
        processes, traces, parents, starts, names = (
            copy_of(column)[calls]
            for column in (
                *(store.spans.process, store.spans.trace, store.spans.parent_id),
                *(store.spans.start_ns, store.spans.name),
            )
        )
        traces = np.where(parents == 0, -1, traces)
        order = np.lexsort((calls, starts, parents, traces, processes))
        self._rows, self._starts = calls[order], starts[order]
        self._place = dict(zip(self._rows.tolist(), range(len(order)), strict=True))

        def changes(column: NDArray[Any]) -> Flags:
            """Return whether each but the first has another value than the one before it."""
            ordered = column[order]
            return np.asarray(ordered[1:] != ordered[:-1])

        others = changes(processes) | changes(traces) | changes(parents)
        pauses = others | (self._starts[1:] - self._starts[:-1] > _PAUSE_NS)
        self._of_callers, self._of_bursts, self._of_functions = (
            np.append(0, np.flatnonzero(flags) + 1) for flags in (others, pauses, pauses | changes(names))
        )
        """Where those of each caller begin, those after each pause, and those of one function, one after another."""

    def before(self, row: int) -> int | None:
        """Return the call that the caller of a call submitted right before it."""
        place = self._place[row]
        return None if place == self._first(self._of_callers, place) else int(self._rows[place - 1])

    def busy_since(self, row: int) -> int:
        """Return since when the caller of a call had submitted calls without a pause."""
        return int(self._starts[self._first(self._of_bursts, self._place[row])])

    def previous_since(self, row: int) -> int:
        """Return since when a caller submitted those calls of one function that came before those of a call."""
        place = self._place[row]
        first = self._first(self._of_functions, place)
        return int(
            self._starts[max(self._first(self._of_functions, max(0, first - 1)), self._first(self._of_callers, place))]
        )

    @staticmethod
    def _first(firsts: Places, place: int) -> int:
        """Return the last of some places that isn't behind one."""
        return int(firsts[np.searchsorted(firsts, place, "right") - 1])
