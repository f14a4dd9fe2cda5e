"""Ray calls: a PRODUCER, what it submitted, and how that went.

f ray.remote         |==|                          submitted
f ray.remote_worker       ┈┈┈┈|======|✖            waited before it ran, ran, failed
f ray.remote_worker                    |=====|     ran again: the call was retried

The two names of a call can differ (`main.<locals>.A.ok` and `A.ok`), so its spans are paired by parent id.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spanview.analysis.intervals import time_between
from spanview.analysis.ray.executions import are_executions
from spanview.analysis.ray.exits import (
    CUT_OFF,
    MAX_ASKED,
    cut_off_among,
    cut_off_text,
    exits_among,
    has_left,
    is_cancelled,
)
from spanview.analysis.ray.names import CONSTRUCTED, SUBMITTED, call_names
from spanview.analysis.ray.told import CallOutcome, failures_told, later_outcomes, told_tasks
from spanview.analysis.serve.calls import served_in
from spanview.analysis.telling import unheard
from spanview.index.arrays import copy_of
from spanview.index.forest import forests_of
from spanview.index.ray_tasks import UNKNOWN_TASK
from spanview.model.codes import CONSUMER, ERROR, PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from spanview.analysis.ray.told import ToldOutcome
    from spanview.analysis.telling import Tell
    from spanview.index.arrays import Flags, Places
    from spanview.index.forest import Forest
    from spanview.index.store import Store

_LATEST = np.iinfo(np.int64).max


class Outcome(StrEnum):
    """How a call went, as far as files show."""

    ENDED = "ended"
    """Its only attempt ended without an error, which cancelled calls and unpicklable results do, too."""
    CUT_OFF = CUT_OFF
    """Its last attempt was told to exit: spanview's hook says so, others don't."""
    CANCELLED = "cancelled"
    """Its last attempt was interrupted by what Ray cancels calls with, which the hook says, too."""
    UNENDED = "no end"
    """Its last attempt has no end: it runs, or was lost with its process."""
    ERROR = "error"
    """Its last attempt ended with one, which isn't that of `exit_actor`."""
    RESTARTED = "restarted"
    """An actor's constructor ran again, because its process had ended, not because it was called again."""
    RETRIED = "retried"
    """An attempt before the last one was not the end of it; executions of a compiled graph are one attempt."""
    SUBMIT_ERROR = "submit error"
    """It was never submitted: its PRODUCER failed and has no attempt."""
    NO_ATTEMPT = "no attempt seen"
    """`reasons.reasons_of` says why, as far as files show."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call."""

    row: int
    """Of its PRODUCER in the span table."""
    function: str
    """The PRODUCER's name without its ending."""
    attempts: tuple[int, ...]
    """The rows of its CONSUMERs, by start, then span id; of a call that Ray Serve routed, its replica's span."""
    wait_ns: int | None
    """From the PRODUCER's end to the earliest attempt's start, 0 where that comes earlier; None without these times."""
    run_ns: int | None
    """The duration of its last attempt; None where there is none, or no end of it."""
    outcome: Outcome

    @property
    def is_constructor(self) -> bool:
        """Whether it made an actor."""
        return f"{self.function}{SUBMITTED}".endswith(CONSTRUCTED)


class Calls:
    """The calls of a store in three columns.

    Args:
        rows: The rows of the PRODUCERs, ascending.
        attempts: The rows of their attempts, those of each call together, by start, then span id.
        firsts: Where those of each call begin among them, and the total.
    """

    def __init__(
        self, store: Store, rows: Places, attempts: Places, firsts: Places, *, is_everything: bool = False
    ) -> None:
        self.store = store
        self.is_everything = is_everything
        self.rows = rows
        self.attempts = attempts
        self.firsts = firsts

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Call]:
        return self.at(range(len(self)))

    def at(self, indices: Sequence[int]) -> Iterator[Call]:
        """Yield some calls; the records of their last attempts are read together."""
        for first in range(0, len(indices), MAX_ASKED):
            part = indices[first : first + MAX_ASKED]
            chosen = np.asarray(part, np.int64)
            ends = self.firsts[chosen + 1]
            cut_off_among(self.store, self.attempts[ends[ends > self.firsts[chosen]] - 1])
            yield from map(self.__getitem__, part)

    def __getitem__(self, index: int) -> Call:
        row, attempts = int(self.rows[index]), tuple(self._attempts_of(index))
        spans, names = self.store.spans, self.store.names.texts
        starts = [start for start in map(spans.start_ns.__getitem__, attempts) if start != NO_TIME]
        submitted = spans.end_ns[row]
        return Call(
            row,
            names[spans.name[row]].removesuffix(SUBMITTED),
            attempts,
            max(0, min(starts) - submitted) if starts and submitted != NO_TIME else None,
            time_between(spans.start_ns[attempts[-1]], spans.end_ns[attempts[-1]]) if attempts else None,
            self._outcome(index, row, attempts),
        )

    @cached_property
    def counts(self) -> Places:
        """How many attempts each call has."""
        return np.diff(self.firsts)

    @property
    def first_attempts(self) -> Places:
        """The rows of the first attempts of those calls that have any."""
        return self.attempts[self.firsts[:-1][self.counts > 0]]

    @cached_property
    def are_retried(self) -> Flags:
        """Which calls have more than one attempt, as spans or Ray's own events show.

        Not those that a compiled graph executed more than once.
        """
        several = self.counts > 1
        for index in np.flatnonzero(several).tolist():
            first = self.firsts[index]
            several[index] = not are_executions(self.store, *self.attempts[first : first + 2].tolist())
        told = told_tasks(self.store)
        return several if told is None else several | told.are_retried(self.rows)

    @property
    def last_attempts(self) -> Places:
        """The rows of the last attempts of those calls that have any."""
        return self.attempts[self.firsts[1:][self.counts > 0] - 1]

    @cached_property
    def later_outcomes(self) -> Mapping[int, ToldOutcome]:
        """What became, as Ray says, of the newest attempts that left no span, by the rows of the last ones that did.

        Those had failed, were lost, or ended with their workers, which not every hook calls an error.
        """
        told = told_tasks(self.store)
        if told is None or not len(told.tasks):
            return {}
        lasts, rows = self.last_attempts, self.rows[self.counts > 0]
        spans = self.store.spans
        is_over = (copy_of(spans.status)[lasts] == ERROR) | (copy_of(spans.end_ns)[lasts] == NO_TIME)
        newest = told.of_calls(rows)
        is_over |= (newest != UNKNOWN_TASK) & (told.tasks["attempt"][newest] > 0)
        return later_outcomes(self.store, lasts[is_over], rows[is_over])

    @cached_property
    def tried_again(self) -> frozenset[int]:
        """The rows of last attempts that failed or were lost, and that another one follows that hasn't failed."""
        return frozenset(row for row, told in self.later_outcomes.items() if not told.outcome.has_failed)

    @cached_property
    def withdrawn(self) -> frozenset[int]:
        """The rows of last attempts that failed or were lost, and whose next one was cancelled."""
        cancelled = CallOutcome.CANCELLED
        return frozenset(row for row, told in self.later_outcomes.items() if told.outcome is cancelled)

    @property
    def to_be_seen_again(self) -> list[int]:
        """The rows of calls whose last attempt failed or was lost, and of whose next one no span is here."""
        again = np.isin(self.last_attempts, [*self.tried_again]) if self.tried_again else ()
        rows: list[int] = self.rows[self.counts > 0][again].tolist() if len(again) else []
        return rows

    @cached_property
    def told_failures(self) -> Mapping[int, ToldOutcome]:
        """What Ray says of calls that failed though they ended without an error, by the rows of their last attempts.

        As where a result can't be sent, or its actor died before it was. What was cancelled is left out, and what has
        called `exit_actor`, as its record says, or else Ray.
        """
        told = {row: outcome for row, outcome in self._told_otherwise.items() if row not in self.told_cancelled}
        left = {row for row, outcome in told.items() if has_left(self.store, row, outcome.text)}
        return {row: told[row] for row in told if row not in left and not is_cancelled(self.store, row)}

    @cached_property
    def told_cancelled(self) -> frozenset[int]:
        """The rows of last attempts that ended without an error, and of whose calls Ray says that they were cancelled.

        As where that was done while they waited for their actor, which ran them all the same.
        """
        told = self._told_otherwise.items()
        return frozenset(row for row, outcome in told if outcome.outcome is CallOutcome.CANCELLED)

    @cached_property
    def _told_otherwise(self) -> Mapping[int, ToldOutcome]:
        """What Ray says of calls that ended without an error, and failed or were cancelled, by their last attempts."""
        if self.store.ray is None:
            return {}
        spans, lasts = self.store.spans, self.last_attempts
        ended = (copy_of(spans.status)[lasts] != ERROR) & (copy_of(spans.end_ns)[lasts] != NO_TIME)
        told = failures_told(self.store, self.rows[self.counts > 0][ended])
        attempts = dict(zip(self.rows[self.counts > 0][ended].tolist(), lasts[ended].tolist(), strict=True))
        of_lasts = {attempts[row]: outcome for row, outcome in told.items()}
        # Where lines of Ray's are missing, what it says last may be of an attempt before.
        again = {*lasts[self.counts[self.counts > 0] > 1].tolist()}
        starts = spans.start_ns
        return {row: one for row, one in of_lasts.items() if row not in again or one.failed_ns >= starts[row]}

    @property
    def without_attempt(self) -> list[int]:
        """The rows of calls without an attempt."""
        rows: list[int] = self.rows[self.counts == 0].tolist()
        return rows

    def indices_of(self, function: str) -> list[int]:
        """Return the indices of the calls of a function."""
        texts = self.store.names.texts
        numbers = [number for number, text in enumerate(texts) if text == function + SUBMITTED]
        indices: list[int] = np.flatnonzero(np.isin(copy_of(self.store.spans.name)[self.rows], numbers)).tolist()
        return indices

    def without(self, names: Iterable[int]) -> Calls:
        """Return these calls without those whose PRODUCERs have names with some numbers."""
        stays, counts = ~np.isin(copy_of(self.store.spans.name)[self.rows], [*names]), self.counts
        firsts = np.append(0, np.cumsum(counts[stays]))
        return Calls(self.store, self.rows[stays], self.attempts[np.repeat(stays, counts)], firsts)

    def failed_in(self, chosen: Places, lost: Iterable[int] = ()) -> tuple[list[int], list[int]]:
        """Return what failed of some calls: the rows of failures that lasted, and of those that a retry made good.

        They are those of attempts, and of PRODUCERs that were never submitted.

        Args:
            lost: The rows of spans that were lost with their processes.
        """
        statuses = copy_of(self.store.spans.status)
        of_calls = np.repeat(np.arange(len(self)), self.counts)
        has_failed = (statuses[self.attempts] == ERROR) | np.isin(self.attempts, [*lost])
        are_chosen = np.isin(of_calls, chosen) & has_failed
        failed = self.attempts[are_chosen]
        exits = np.isin(failed, [*exits_among(self.store, failed.tolist())])
        failed, last = failed[~exits], self.firsts[1:][of_calls[are_chosen][~exits]] - 1
        lasts = has_failed[last] | ~self.are_retried[of_calls[are_chosen][~exits]]
        alone = self.rows[chosen][self.counts[chosen] == 0]
        refused = alone[statuses[alone] == ERROR]
        return [*failed[lasts].tolist(), *refused.tolist()], failed[~lasts].tolist()

    def attempts_of(self, row: int) -> list[int]:
        """Return the rows of the attempts of the call whose PRODUCER has a row; none where that isn't a call."""
        index = int(np.searchsorted(self.rows, row))
        return self._attempts_of(index) if index < len(self.rows) and self.rows[index] == row else []

    def _attempts_of(self, index: int) -> list[int]:
        attempts: list[int] = self.attempts[self.firsts[index] : self.firsts[index + 1]].tolist()
        return attempts

    def _outcome(self, index: int, row: int, attempts: tuple[int, ...]) -> Outcome:
        status = self.store.spans.status
        if not attempts:
            return Outcome.SUBMIT_ERROR if status[row] == ERROR else Outcome.NO_ATTEMPT
        if status[attempts[-1]] == ERROR and not exits_among(self.store, attempts[-1:]):
            return Outcome.ERROR
        if self.store.spans.end_ns[attempts[-1]] == NO_TIME:
            return Outcome.UNENDED
        ended_by = cut_off_text(self.store, attempts[-1]).partition(":")[0]
        if ended_by or not self.are_retried[index]:
            return Outcome(ended_by or Outcome.ENDED)
        name = self.store.names.texts[self.store.spans.name[row]]
        return Outcome.RESTARTED if name.endswith(CONSTRUCTED) else Outcome.RETRIED


def calls_of(store: Store, traces: Sequence[int] | None = None, tell: Tell = unheard) -> Calls:
    """Return the calls of all traces, or of some, in the order of arrival; the store may grow."""
    if not call_names(store.names)[0]:
        nothing = np.empty(0, np.int64)
        return Calls(store, nothing, nothing, np.zeros(1, np.int64))
    rows, counts, attempts = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for forest, done in forests_of(store, traces):
        calls = calls_in(forest, is_everything=False)
        rows, counts, attempts = [*rows, calls.rows], [*counts, calls.counts], [*attempts, calls.attempts]
        tell(done / 2)
        # Gone before the next one is made.
        del forest
    order = np.argsort(np.concatenate(rows), kind="stable")
    of_calls = np.concatenate(counts)
    lasts, in_order = np.cumsum(of_calls), of_calls[order]
    firsts = np.append(0, np.cumsum(in_order))
    # Those of each call stay together.
    moved = np.repeat(lasts[order] - firsts[1:], in_order) + np.arange(firsts[-1])
    return Calls(
        store,
        np.concatenate(rows)[order],
        np.concatenate(attempts)[moved],
        firsts,
        is_everything=traces is None,
    )


def calls_in(forest: Forest, *, is_everything: bool) -> Calls:
    """Return the calls of a forest, in the order of arrival."""
    submits, runs = call_names(forest.store.names)
    parents, kinds, names = forest.parents, forest.of("kind"), forest.of("name")
    # Looking up names takes a fifth of the time of searching for them.
    submits_call, runs_call = np.zeros((2, len(forest.store.names.texts)), np.bool_)
    submits_call[[*submits]] = runs_call[[*runs]] = True
    is_call = (kinds == PRODUCER) & submits_call[names]
    attempts = np.flatnonzero((kinds == CONSUMER) & runs_call[names] & (parents >= 0))
    attempts = _by_call(forest, attempts[is_call[parents[attempts]]])
    calls, called_by, has_attempt = np.flatnonzero(is_call), parents[attempts], np.zeros(len(forest), np.bool_)
    has_attempt[called_by] = True
    served, replicas = served_in(forest, calls[~has_attempt[calls]])
    if len(served):
        called_by, attempts = np.append(called_by, served), np.append(attempts, replicas)
        order = np.argsort(called_by, kind="stable")
        called_by, attempts = called_by[order], attempts[order]
    firsts = np.searchsorted(called_by, np.append(calls, len(forest)))
    return Calls(forest.store, forest.rows[calls], forest.rows[attempts], firsts, is_everything=is_everything)


def _by_call(forest: Forest, attempts: Places) -> Places:
    """Return attempts by their parents, then by start, then span id; those without a start come last."""
    attempts = attempts[np.argsort(forest.parents[attempts], kind="stable")]
    is_again = np.diff(forest.parents[attempts]) == 0
    # Most calls have one attempt.
    again = np.flatnonzero(np.append(is_again, False) | np.append(False, is_again))
    retried = attempts[again]
    starts, ids = forest.of("start_ns")[retried], forest.of("span_id")[retried]
    attempts[again] = retried[np.lexsort((ids, starts, starts == NO_TIME, forest.parents[retried]))]
    return attempts
