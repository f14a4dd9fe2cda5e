"""Ray calls counted by function, actor, node or job: how often, how long, and how they went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from spanview.analysis.forest_selftime import exact
from spanview.analysis.intervals import compact, most_at_once_of_each
from spanview.analysis.percentiles import histogram
from spanview.analysis.ray.call_groups import CallsBy, call_groups
from spanview.analysis.ray.exits import cut_off_among, exits_among, is_cancelled
from spanview.analysis.ray.generators import generators_of
from spanview.analysis.ray.names import SUBMITTED
from spanview.analysis.ray.reasons import Reason, reasons_of
from spanview.analysis.ray.told import CallOutcome, failed_ns_of, lives_of_actor
from spanview.analysis.ray.unended import NO_UNENDED, Fate, seen_until
from spanview.analysis.ray.wait_causes import WaitedFor, WaitSum
from spanview.analysis.ray.waited_for import AllAttempts
from spanview.analysis.ray.waits import cold_starts_of
from spanview.index.arrays import copy_of
from spanview.model.codes import ERROR
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.analysis.diagnosis.finding import Certainty
    from spanview.analysis.ray.call_groups import CallGroups
    from spanview.analysis.ray.calls import Calls
    from spanview.analysis.ray.known_calls import KnownCalls
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.ray.wait_causes import WaitSums
    from spanview.index.arrays import Flags, Places
    from spanview.index.store import Store

_LATEST = np.iinfo(np.int64).max


@dataclass(slots=True)
class Function:
    """The calls of one function or actor method; or of one actor, node or job."""

    function: str
    """Its name, or the key of another group."""
    calls: int = 0
    attempts: int = 0
    errors: int = 0
    """Attempts with status ERROR, those left out that `exit_actor` ended."""
    submit_errors: int = 0
    """Calls whose PRODUCER has status ERROR and no attempt."""
    retried: int = 0
    """Calls with more than one attempt, as spans show or Ray itself says; executions of a compiled graph are one."""
    no_attempt: int = 0
    """Calls without an attempt and without an error, those below left out; those of them that failed are there, too."""
    ended: int = 0
    """Calls whose last attempt ended without an error, and was neither cut off nor cancelled."""
    running: int = 0
    """Calls whose last attempt runs, as its process shows, or of which no span is here, as Ray says."""
    lost: int = 0
    """Calls whose last attempt was lost with its process."""
    no_end: int = 0
    """Calls whose last attempt has neither an end nor an error, and of which no process shows whether it runs.

    Those that are tried again, too, as Ray says, as long as nothing says that their next attempt runs.
    """
    cut_off: int = 0
    """Calls whose last attempt was cut off, as its process was told to end."""
    cancelled: int = 0
    """Calls whose last attempt was cancelled while it ran."""
    failed: int = 0
    """Calls whose last attempt failed or was lost, that were never submitted, or that failed, as Ray says."""
    waits_ns: Sequence[int] = field(default_factory=list)
    """Of each call that waited, sorted, in nanoseconds."""
    total_wait_ns: int = 0
    """The sum of the waits of all calls."""
    runs_ns: Sequence[int] = field(default_factory=list)
    """Of each attempt that has both times, sorted, in nanoseconds."""
    max_concurrency: int = 0
    """The most attempts that are known to have run at the same time."""
    unknown_ends: int = 0
    """Attempts without an end that run no longer, or nobody knows: more may have run at the same time."""
    submits_ns: Sequence[int] = field(default_factory=list)
    """How long each PRODUCER lasted that has an end, sorted, in nanoseconds; without those around another one."""
    retries_ns: Sequence[int] = field(default_factory=list)
    """From the end of each attempt to the next one of its call, sorted."""
    unended_ns: Sequence[int] = field(default_factory=list)
    """From the start of each attempt without an end to the next one of its call, sorted."""
    existing: int = 0
    """PRODUCERs of a constructor that constructed nothing, because the actor already existed; they aren't calls."""
    untraced: int = 0
    """Calls without an attempt that ran or run, certainly or likely, because tracing leaves their method out."""
    serves_own: int = 0
    """Calls without an attempt by which Ray Serve runs itself."""
    generator: Certainty | None = None
    """How sure it is that attempts end when a generator is made, so run times are unknown; None if nothing says so."""
    unknown_runs: int = 0
    """Attempts of generators in another group than a function's: their runs don't count there."""
    cold_starts: int = 0
    """Calls whose first attempt is the first one of its worker process."""
    cold_wait_ns: int = 0
    """How long these waited in total."""
    waited_for: WaitSums = field(default_factory=dict)
    """What its calls waited for; those that hardly waited are left out."""
    restarts: int = 0
    """How often Ray started the actor again, as its events say."""
    death_cause: str = ""
    """Why the actor died last, by these; a text from a file."""

    @property
    def known_runs_ns(self) -> Sequence[int]:
        """How long its attempts ran; empty for a generator, whose spans don't show it."""
        return () if self.generator else self.runs_ns

    @property
    def wait_parts(self) -> list[tuple[WaitedFor, WaitSum]]:
        """What its calls waited for, and how long: the longest known first, what isn't known last; all its waiting."""
        known = [(kind, part) for kind, part in self.waited_for.items() if kind is not WaitedFor.UNKNOWN]
        parts: list[tuple[WaitedFor, WaitSum]] = sorted(known, key=lambda part: -part[1].ns)
        unknown = self.total_wait_ns - sum(part.ns for _, part in parts)
        return [*parts, (WaitedFor.UNKNOWN, WaitSum(0, unknown))] if unknown > 0 else parts

    @property
    def wait_histogram(self) -> list[int]:
        """How many waits have each power of ten; see `histogram`."""
        return histogram(self.waits_ns)

    @property
    def run_histogram(self) -> list[int]:
        """How many runs have each power of ten; see `histogram`."""
        return histogram(self.known_runs_ns)


def functions_of(
    store: Store,
    calls: Calls,
    groups: CallGroups | None = None,
    unended: Mapping[int, Unended] = NO_UNENDED,
    known: KnownCalls | None = None,
) -> list[Function]:
    """Return the functions, those with the most calls first, then by name.

    Args:
        known: Of all calls of the store, where somebody knows that.
    """
    if not len(calls):
        return []
    generators = generators_of(store)
    if groups is None:
        of_function = call_groups(store, calls, CallsBy.FUNCTION)
        functions = _counted(store, calls, of_function, unended)
        for function in functions:
            function.generator = generators.get(function.function)
        _add_reasons(store, calls, of_function, functions, known)
    else:
        made = {number for number, text in enumerate(store.names.texts) if text.removesuffix(SUBMITTED) in generators}
        functions = _counted(store, calls, groups, unended, made)
        _add_reasons(store, calls, groups, functions, known)
        # Others belong to calls that were counted before.
        functions = [function for function in functions if function.calls or function.attempts or function.existing]
        for function in functions:
            function.restarts, function.death_cause = lives_of_actor(store, function.function.rpartition(" ")[2])
    return sorted(functions, key=lambda function: (-function.calls, function.function))


def _add_reasons(
    store: Store, calls: Calls, groups: CallGroups, functions: Sequence[Function], known: KnownCalls | None
) -> None:
    """Add what the calls alone don't show: reasons, cold starts, and what was waited for."""
    statuses = store.spans.status

    def function_of(row: int) -> Function:
        return functions[int(groups.of_calls[np.searchsorted(calls.rows, row)])]

    reasons = reasons_of(store, calls) if known is None else known.reasons_among(calls.without_attempt)
    for row, why in reasons.items():
        function = function_of(row)
        is_none = not why.is_call
        function.calls -= is_none
        function.existing += why.reason is Reason.EXISTING
        function.untraced += why.reason is Reason.UNTRACED
        function.serves_own += why.reason is Reason.SERVES_OWN
        if statuses[row] == ERROR:
            function.submit_errors -= is_none
            function.failed -= is_none
        else:
            function.failed += why.has_failed
            function.no_attempt -= why.is_harmless
    for row, wait_ns in cold_starts_of(store, calls).items():
        function = function_of(row)
        function.cold_starts += 1
        function.cold_wait_ns += wait_ns
    firsts = calls.first_attempts
    waits = AllAttempts(store).reasons_of(firsts) if known is None else known.waits
    sums = waits.sums(firsts, groups.of_calls[calls.counts > 0], len(functions))
    for function, of_function in zip(functions, sums, strict=True):
        function.waited_for = of_function


def _counted(
    store: Store,
    calls: Calls,
    groups: CallGroups,
    unended: Mapping[int, Unended],
    generators: Iterable[int] = (),
) -> list[Function]:
    """Return what the calls alone show for each group, in their order.

    Args:
        generators: The numbers of the names of calls whose attempts don't show how long they ran, and how they ended.
    """
    spans, attempts, counts = store.spans, calls.attempts, calls.counts
    functions, of_attempts, size = groups.of_calls, groups.of_attempts, len(groups.keys)
    is_generator = np.isin(copy_of(spans.name)[calls.rows], [*generators])
    statuses, starts, ends = (copy_of(column) for column in (spans.status, spans.start_ns, spans.end_ns))
    has_failed, has_any = statuses[attempts] == ERROR, counts > 0
    has_failed &= ~np.isin(attempts, [*exits_among(store, attempts[has_failed].tolist())])
    is_refused = ~has_any & (statuses[calls.rows] == ERROR)
    has_ended = has_any.copy()
    last = calls.firsts[1:][has_any] - 1
    has_ended[has_any] = ~has_failed[last] & (ends[attempts[last]] != NO_TIME)
    is_cut_off = np.zeros(len(calls), np.bool_)
    final = attempts[calls.firsts[1:][has_ended] - 1]
    is_cut_off[has_ended] = np.isin(final, [*cut_off_among(store, final)])
    was_interrupted = is_cut_off.copy()
    was_interrupted[is_cut_off] = [is_cancelled(store, row) for row in final[is_cut_off[has_ended]].tolist()]
    has_ended &= ~is_generator & ~is_cut_off
    is_open = np.zeros(len(calls), np.bool_)
    is_open[has_any] = ~has_failed[last] & (ends[attempts[last]] == NO_TIME)
    fates = (Fate.RUNS, Fate.LOST, Fate.CANCELLED)
    of_fates = ([row for row, span in unended.items() if span.fate is fate] for fate in fates)
    runs, is_lost, was_cancelled = (_have_last(calls, rows) & is_open for rows in of_fates)
    run_again = [row for row, told in calls.later_outcomes.items() if told.outcome is CallOutcome.RUNNING]
    again = calls.tried_again, calls.withdrawn, run_again
    is_followed, is_withdrawn, runs_again = (_have_last(calls, rows) for rows in again)
    is_lost, runs = is_lost & ~(is_followed | is_withdrawn), runs | runs_again
    is_told, is_told_cancelled = _have_last(calls, calls.told_failures), _have_last(calls, calls.told_cancelled)
    was_cancelled |= is_withdrawn | is_told_cancelled
    is_open |= is_followed
    is_lasting = is_refused | is_lost | is_told
    is_lasting[has_any] |= has_failed[last]
    is_lasting &= ~(is_followed | is_withdrawn)
    has_ended &= ~(is_told | is_told_cancelled)
    has_no_run = np.repeat(is_generator, counts)

    def count_of(chosen: Places) -> list[int]:
        totals: list[int] = np.bincount(chosen, minlength=size).tolist()
        return totals

    started, ended = starts[attempts], ends[attempts]
    first_starts = np.where(started == NO_TIME, _LATEST, started)
    if len(attempts):
        first_starts = np.minimum.reduceat(first_starts, calls.firsts[:-1][has_any])
    submitted = ends[calls.rows][has_any]
    has_waited = (first_starts != _LATEST) & (submitted != NO_TIME)
    waits = _differences(np.maximum(first_starts, submitted)[has_waited], submitted[has_waited])
    waited = _sorted(waits, functions[has_any][has_waited], size)
    at_once = _most_at_once(calls, unended, np.where(has_no_run, NO_TIME, started), ended, of_attempts, size)
    has_times = (started != NO_TIME) & (ended != NO_TIME) & ~has_no_run
    started, ended, of_runs = started[has_times], ended[has_times], of_attempts[has_times]
    columns = (
        count_of(functions),
        count_of(of_attempts),
        count_of(of_attempts[has_failed]),
        count_of(functions[is_refused]),
        count_of(functions[calls.are_retried]),
        count_of(functions[~has_any & ~is_refused]),
        count_of(functions[has_ended]),
        count_of(functions[runs]),
        count_of(functions[is_lost]),
        count_of(functions[is_open & ~runs & ~is_lost & ~was_cancelled]),
        count_of(functions[is_cut_off & ~was_interrupted]),
        count_of(functions[was_interrupted | was_cancelled]),
        count_of(functions[is_lasting]),
        waited,
        [sum(of_function) for of_function in waited],
        _sorted(_differences(ended, started), of_runs, size),
        *at_once,
        _sorted(*_submits(store, calls, functions), size),
        *(_sorted(*between, size) for between in _retries(store, calls, of_attempts)),
    )
    counted = [Function(*values) for values in zip(groups.keys, *columns, strict=True)]
    for function, unknown in zip(counted, count_of(of_attempts[has_no_run]), strict=True):
        function.unknown_runs = unknown
    return counted


def _have_last(calls: Calls, rows: Iterable[int]) -> Flags:
    """Return which calls have one of some attempts as their last one."""
    flags = np.zeros(len(calls), np.bool_)
    flags[calls.counts > 0] = np.isin(calls.last_attempts, [*rows])
    return flags


def _most_at_once(  # noqa: PLR0913, PLR0917 - columns of attempts
    calls: Calls, unended: Mapping[int, Unended], starts: Places, ends: Places, groups: Places, size: int
) -> tuple[list[int], list[int]]:
    """Return how many attempts of each group ran at once, as far as is known, and of how many the ends aren't.

    Those without an end ran until their process was last seen.
    """
    seen, begun, without = seen_until(unended), starts != NO_TIME, np.flatnonzero(ends == NO_TIME)
    ends, rows = ends.copy(), calls.attempts[without]
    ends[without] = [seen.get(row, NO_TIME) for row in rows.tolist()]
    runs = np.isin(rows, [row for row, span in unended.items() if span.fate is Fate.RUNS])
    unknown: list[int] = np.bincount(groups[without[begun[without] & ~runs]], minlength=size).tolist()
    return most_at_once_of_each(starts[begun], ends[begun], groups[begun], size), unknown


def _submits(store: Store, calls: Calls, groups: Places) -> tuple[NDArray[Any], Places]:
    """Return how long calls were submitted, and the group of each; of `get_if_exists` only what it submitted."""
    spans = store.spans
    starts, ends = copy_of(spans.start_ns)[calls.rows], copy_of(spans.end_ns)[calls.rows]
    is_outer = np.isin(copy_of(spans.span_id)[calls.rows], copy_of(spans.parent_id)[calls.rows])
    chosen = ~is_outer & (starts != NO_TIME) & (ends > starts)
    return _differences(ends[chosen], starts[chosen]), groups[chosen]


def _retries(store: Store, calls: Calls, groups: Places) -> Iterator[tuple[NDArray[Any], Places]]:
    """Yield how long it took from attempts to the next ones of their calls, and the group of each of these.

    First for those from an end, or from when they had failed, as Ray says; then for those without an end from their
    start, until then.
    """
    starts, ends = copy_of(store.spans.start_ns)[calls.attempts], copy_of(store.spans.end_ns)[calls.attempts]
    is_next = np.ones(len(starts), np.bool_)
    is_next[calls.firsts[:-1][calls.counts > 0]] = False
    # Executions of a compiled graph are none that were tried again.
    index = np.flatnonzero(is_next & np.repeat(calls.are_retried, calls.counts))
    index = index[(starts[index] != NO_TIME) & (starts[index - 1] != NO_TIME)]
    without = index[ends[index - 1] == NO_TIME]
    failed = failed_ns_of(store, calls.attempts[without - 1], np.repeat(calls.rows, calls.counts)[without - 1])
    failed = np.where((failed >= starts[without - 1]) & (failed <= starts[without]), failed, NO_TIME)
    ends[without - 1], until = failed, np.where(failed == NO_TIME, starts[without], failed)
    ended = index[ends[index - 1] != NO_TIME]
    for since, then, chosen in (
        (ends[ended - 1], starts[ended], ended),
        (starts[without - 1], until, without),
    ):
        yield _differences(np.maximum(then, since), since), groups[chosen]


def _differences(later: Places, earlier: Places) -> NDArray[Any]:
    """Return differences; as Python integers where they don't fit 64 bits, as for times centuries apart."""
    earlier, later, _ = exact(earlier, later)
    return later - earlier


def _sorted(values: NDArray[Any], groups: Places, size: int) -> list[Sequence[int]]:
    """Return the values of each function, sorted."""
    order = np.argsort(groups, kind="stable")
    parts = np.split(values[order], np.searchsorted(groups[order], np.arange(1, size)))
    return [compact(np.sort(part).tolist()) for part in parts]
