"""What Ray calls waited for before they ran, as far as spans show.

µs             0    5   10   15   20   25   30
f submitted      =
pid 1             ┈┈┈┈┈┈┈|===f===|               a new worker, likely     : the process ran nothing before
pid 2          |====f====|┈|===f===|             a worker or resources, likely: it ran something else until then
actor 4        |==A.g====||==A.f==|              the actor, likely: it ran something else, and has never run two at once
actor 5             |=A.__init__=||==A.f==|      the actor to be created; certain

Spans name neither the arguments of a call nor the resources that it needs. That an earlier call of the same caller had
just ended made a wait one for arguments in 3 of 8 cases, by Ray's own events; so what may be an argument only limits
the rest: a call waits for a worker or an actor alone once the last result is there that it may take. Of what is said
like that, Ray's events make 633 of 636 so.
An actor gets a worker of its own once its arguments are there and there is room: where a file's name tells when that
process began, the wait for its start began then, and that of a task not before. What other calls of an actor waited
for says nothing of the next one: its own wait ended with something else.
Ray's own events say when a call's arguments were there, and not whose results they are: that of its caller's call which
ended last before, unless others did at about that time, likely.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from spanview.analysis.intervals import Covered
from spanview.analysis.ray.executions import is_retry
from spanview.analysis.ray.generators import generators_of
from spanview.analysis.ray.names import RAN, call_names, function_of, short_names, started_attempts
from spanview.analysis.ray.told import OR_ARGUMENTS, Shown, attempt_counts, told_tasks, told_waits
from spanview.analysis.ray.wait_causes import KINDS, MOST_HANDOVER_NS, UNKNOWN, WaitedFor, WaitSum
from spanview.analysis.ray.workers import is_told
from spanview.index.arrays import copy_of
from spanview.index.processes import began_ns_of_file, has_starts
from spanview.index.table import NO_ROW
from spanview.model.codes import PRODUCER
from spanview.model.times import NO_TIME, ROUNDED_NS

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.analysis.diagnosis.finding import Certainty
    from spanview.analysis.ray.told import ToldWaits
    from spanview.analysis.ray.wait_causes import WaitSums
    from spanview.index.arrays import Flags, Places
    from spanview.index.store import Store

_MILLISECOND: Final = 1_000_000
_LEAST_NS: Final = 2 * _MILLISECOND
"""Less than this is what handing a call over takes."""
_ARE_TOLD: Final = np.array([kind is WaitedFor.LOADING for kind in KINDS])
"""What only Ray's own events show."""
_LEAST_START_NS: Final = 50 * _MILLISECOND
"""No worker starts in less: it was started ahead."""
_MOST_START_NS: Final = 10_000 * _MILLISECOND
"""An actor's worker that takes longer may have waited for room, unless a file's name tells when its process began."""
LEAST_SHARED_NS: Final = 50 * _MILLISECOND
"""In less, something else may have happened by chance."""
_MAX_RECORDS: Final = 20_000
"""Attempts whose records are read for their numbers, those that waited longest; further ones count as first ones."""
_RESULTS_BEFORE: Final = 4
"""Results that are looked at: where those of several functions came at about the same time, any may be the argument."""
_NO_CALL: Final = -1
_CONSTRUCTOR: Final = f".__init__{RAN}"
_LAST_ENDS_OF_PREPARED: Final = 64
"""Such calls that are looked at for what a call may have waited for while its worker or actor was made."""


@dataclass(frozen=True, slots=True)
class WaitReason:
    """What one call waited for."""

    waited_for: WaitedFor
    row: int = NO_ROW
    """The attempt that shows it, in the span table; `NO_ROW` where none does."""
    is_whole: bool = True
    """Whether nothing else is seen that it waited for."""
    is_most: bool = True
    """Whether at least half of the wait was surely for this alone; else it is what the wait ended with."""
    is_certain: bool = False
    """Whether Ray's own events say so."""
    is_last: bool = True
    """Whether it isn't known to have waited for anything after that."""
    detail: str = ""
    """What it asked for, where it waited for that; a text from a file."""
    is_behind: bool = False
    """Whether for most of the wait what shows it hadn't begun either, and was to run first."""

    @property
    def is_known(self) -> bool:
        """Whether it is known, certainly or likely, what was waited for."""
        return self.waited_for.is_known

    @property
    def is_sure(self) -> bool:
        """Whether it is certain that it waited for that, as Ray's own events say, or because it can't be otherwise."""
        return self.waited_for.is_sure(is_certain=self.is_certain)

    @property
    def label(self) -> str:
        """What was waited for, and how much, as `mostly for its actor to be ready`."""
        is_part = self.is_certain or not self.is_last
        extent = "" if self.is_whole else "mostly" if self.is_most else "partly" if is_part else "at the end"
        return self.waited_for.label_of(extent, is_certain=self.is_certain)


_TOLD_ALONE: Final = frozenset((WaitedFor.RETRY, WaitedFor.ARGUMENTS, WaitedFor.LOADING))
"""What only Ray's own events show: a part of a wait, however short, and not what it ended with."""


class WaitReasons:
    """What attempts waited for.

    Args:
        rows: Of attempts, ascending: those of a wait that is longer than handing over a call takes.
        parts_ns: How long each waited for what, a column for each of `WaitedFor`; a row adds up to the wait.
        shown_by: The rows of the attempts that show it; `NO_ROW` where none does.
        are_certain: Which of them Ray's own events explain.
        asked: What those that waited for a worker asked for, by row.
        behind: Those that waited until others began that were to run first.
    """

    def __init__(  # noqa: PLR0913 - columns, and what only some have
        self,
        rows: Places,
        parts_ns: NDArray[Any],
        shown_by: Places,
        are_certain: Flags,
        asked: Mapping[int, str],
        *,
        behind: Container[int] = (),
    ) -> None:
        self._rows = rows
        self._parts_ns = parts_ns
        self._shown_by = shown_by
        self._are_certain = are_certain
        self._asked, self._behind = asked, behind

    def get(self, row: int) -> WaitReason | None:
        """Return what an attempt waited for; None where it hardly waited."""
        index = self._indexes.get(row)
        if index is None:
            return None
        parts, is_certain = self._parts_ns[index].tolist(), bool(self._are_certain[index])
        known = parts[:UNKNOWN]
        number = known.index(max(known)) if any(known) else UNKNOWN
        kind, wait_ns, share_ns = KINDS[number], sum(parts), parts[number]
        if (is_certain or kind in _TOLD_ALONE) and parts[UNKNOWN] > share_ns:
            kind, share_ns = WaitedFor.UNKNOWN, parts[UNKNOWN]
        is_whole, is_most = wait_ns - share_ns <= MOST_HANDOVER_NS, 2 * share_ns >= wait_ns
        asked = self._asked.get(row, "") if kind is WaitedFor.RESOURCES else ""
        shown_by = NO_ROW if kind is WaitedFor.UNKNOWN else int(self._shown_by[index])
        is_last = not any(parts[number + 1 : UNKNOWN])
        return WaitReason(kind, shown_by, is_whole, is_most, is_certain, is_last, asked, row in self._behind)

    def at_last(self, row: int, ns: int) -> WaitReason | None:
        """Return what an attempt waited for in the last nanoseconds of its wait; None where that isn't known.

        Where it is only likely, nobody knows when it waited for something else: as if all of that had been at last.
        """
        reason = self.get(row)
        if reason is None:
            return None
        if not (reason.is_certain or reason.is_whole):
            parts = self.parts_of(row)
            others_ns = sum(parts.values()) - parts.get(reason.waited_for, 0)
            return reason if reason.is_known and 2 * (ns - others_ns) >= ns else None
        (parts,), _ = self.last_parts(np.array([row]), np.array([ns]))
        number = int(parts.argmax())
        if KINDS[number] is reason.waited_for:
            whole, share = ns - int(parts[number]) <= MOST_HANDOVER_NS, 2 * int(parts[number]) >= ns
            return replace(reason, is_whole=whole, is_most=share, is_last=not parts[number + 1 : UNKNOWN].any())
        if number == UNKNOWN:
            return None
        is_whole, asked = ns - int(parts[number]) <= MOST_HANDOVER_NS, self._asked.get(row, "")
        detail = asked if KINDS[number] is WaitedFor.RESOURCES else ""
        return WaitReason(KINDS[number], is_whole=is_whole, is_certain=reason.is_certain, detail=detail)

    def parts_of(self, row: int) -> dict[WaitedFor, int]:
        """Return how long an attempt waited for what, in nanoseconds; empty where it hardly waited."""
        index = self._indexes.get(row)
        parts = [] if index is None else self._parts_ns[index].tolist()
        return {kind: ns for kind, ns in zip(KINDS, parts, strict=False) if ns}

    def is_certain(self, row: int) -> bool:
        """Tell whether Ray's own events explain the wait of an attempt."""
        index = self._indexes.get(row)
        return index is not None and bool(self._are_certain[index])

    def each(self) -> dict[int, tuple[bool, list[int]]]:
        """Return for each attempt whether Ray's own events explain its wait, and how long it waited for what."""
        values = zip(self._are_certain.tolist(), self._parts_ns.tolist(), strict=True)
        return dict(zip(self._rows.tolist(), values, strict=True))

    def last_parts(self, rows: Places, ns: NDArray[Any]) -> tuple[NDArray[Any], Flags]:
        """Return what the last stretches of attempts' waits were for, a row each, and where something is only likely.

        Args:
            ns: How long the stretches are. What lies before the wait is of unknown cause, and so is a short one.
        """
        parts, are_likely = np.zeros((len(rows), len(KINDS)), np.int64), np.zeros(len(rows), np.bool_)
        index = np.searchsorted(self._rows, rows)
        known = np.flatnonzero(index < len(self._rows))
        known = known[self._rows[index[known]] == rows[known]]
        parts[known], are_likely[known] = self._parts_ns[index[known]], ~self._are_certain[index[known]]
        left = np.asarray(ns, np.int64)[:, None]
        # Parts stand in the order of time: the last ones fill the stretch first.
        filled = np.minimum(np.cumsum(parts[:, ::-1], axis=1), left)[:, ::-1]
        parts = filled - np.append(filled[:, 1:], np.zeros_like(left), axis=1)
        parts[:, UNKNOWN] += left[:, 0] - filled[:, 0]
        return parts, are_likely

    @cached_property
    def _indexes(self) -> dict[int, int]:
        return {row: index for index, row in enumerate(self._rows.tolist())}

    def sums(self, rows: Places, groups: Places, size: int) -> list[WaitSums]:
        """Return how many attempts of each group waited for what, and how long for it.

        Args:
            groups: The group of each, a number below `size`.
        """
        if not len(self._rows):
            return [{} for _ in range(size)]
        index = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
        known = self._rows[index] == rows
        parts, of_group = self._parts_ns[index[known]], groups[known]
        sums = np.zeros((3, size, len(KINDS)), np.int64)
        figures = parts >= _LEAST_NS, parts, np.where(self._are_certain[index[known]][:, None] | _ARE_TOLD, parts, 0)
        for of_figure, values in zip(sums, figures, strict=True):
            np.add.at(of_figure, of_group, values)
        return [
            {KINDS[kind]: WaitSum(*sums[:, group, kind].tolist()) for kind in np.flatnonzero(sums[1, group]).tolist()}
            for group in range(size)
        ]


_NOBODY: Final = np.empty(0, np.int64)
NO_REASONS: Final = WaitReasons(_NOBODY, np.empty((0, len(KINDS)), np.int64), _NOBODY, _NOBODY.astype(np.bool_), {})


_TASKS: Final[WeakKeyDictionary[Store, dict[int, bool]]] = WeakKeyDictionary()
"""By store and number of a name, whether attempts with it are those of a task."""


class AllAttempts:
    """All attempts of a store as columns: by process, then start; for whoever asks what many of them waited for."""

    def __init__(self, store: Store) -> None:
        self.store = store
        spans = store.spans
        rows = started_attempts(store)
        processes, starts = (copy_of(column)[rows] for column in (spans.process, spans.start_ns))
        order = np.lexsort((rows, starts, processes))
        self._by_row = np.argsort(order)
        """The attempts in the order of their rows."""
        self._rows, self._processes, self._starts = rows[order], processes[order], starts[order]
        ends, self._names = (copy_of(column)[self._rows] for column in (spans.end_ns, spans.name))
        self._lack_ends = ends == NO_TIME
        self._ends = np.where(self._lack_ends, self._starts, np.maximum(ends, self._starts))
        self._callers = self._producers()
        callers, self._called, self._submitted = (
            copy_of(column)[self._callers] for column in (spans.process, spans.start_ns, spans.end_ns)
        )
        self._callers_processes = callers.astype(np.int64)
        """Who submitted each attempt's call. It says nothing where no file holds the call; nor do its times."""
        self._times = np.sort(np.append(self._starts, self._ends))
        self._set_processes()
        self._tasks = self._is_task()

    # -- what is known of all ----------------------------------------------------------------------------------------

    def _producers(self) -> Places:
        """Return the row of the call of each attempt; `_NO_CALL` where no file holds it."""
        spans, size = self.store.spans, len(self.store.spans.next_row)
        submits, _ = call_names(self.store.names)
        kinds, names = copy_of(spans.kind)[:size], copy_of(spans.name)[:size]
        calls = np.flatnonzero((kinds == PRODUCER) & np.isin(names, [*submits]))
        if not len(calls):
            return np.full(len(self._rows), _NO_CALL)
        ids = copy_of(spans.span_id)[calls]
        calls = calls[np.argsort(ids, kind="stable")]
        ids, wanted = copy_of(spans.span_id)[calls], copy_of(spans.parent_id)[self._rows]
        found = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
        traces = copy_of(spans.trace)
        is_found = (ids[found] == wanted) & (traces[calls[found]] == traces[self._rows])
        return np.where(is_found, calls[found], _NO_CALL)

    def _keys(self, groups: Places, ns: NDArray[Any], side: Any) -> Places:
        """Return numbers that order times by group first: one group's are below the next one's."""
        return groups.astype(np.int64) * (len(self._times) + 1) + np.searchsorted(self._times, ns, side)

    def _set_processes(self) -> None:
        """Find when each process began, and until when it was busy."""
        processes, size = self._processes, len(self._rows)
        is_first = np.append(True, processes[1:] != processes[:-1])[:size]
        self._firsts = np.maximum.accumulate(np.where(is_first, np.arange(size), 0))
        """The first attempt of each attempt's process."""
        reached = np.maximum.accumulate(self._keys(processes, self._ends, "left"))
        self._reached = self._times[reached - processes.astype(np.int64) * (len(self._times) + 1)]
        """When all of its process' attempts had ended, from the first up to each."""
        before = np.where(is_first, self._starts, np.append(0, self._reached[:-1])[:size])
        self._busy = np.append(0, np.cumsum(np.maximum(0, self._ends - np.maximum(self._starts, before))))
        """How long any process was busy before each attempt, summed up."""
        overlaps = np.flatnonzero(before - self._starts > ROUNDED_NS)
        self._concurrent = np.isin(processes, processes[overlaps])
        texts = self.store.names.texts
        made = np.isin(self._names, [number for number, text in enumerate(texts) if text.endswith(_CONSTRUCTOR)])
        last = np.maximum.accumulate(np.where(made, np.arange(size), -1))
        self._constructors = np.where(last >= self._firsts, last, -1)
        """The constructor that ran last in its process, up to each attempt, itself included; -1 for none."""
        self._made = made
        remade = np.flatnonzero(made & (self._callers != _NO_CALL))
        remade = remade[np.lexsort((self._starts[remade], self._callers[remade]))]
        self._made_again = remade[1:][self._callers[remade[1:]] == self._callers[remade[:-1]]]
        """The constructors that follow others of their calls."""
        self._keyed_starts = self._keys(processes, self._starts, "right")

    def _is_task(self) -> Flags:
        """Return which attempts are those of tasks, not of actors; a record is read for each function."""
        known = _TASKS.setdefault(self.store, {})
        names, firsts = np.unique(self._names, return_index=True)
        for name, first in zip(names.tolist(), firsts.tolist(), strict=True):
            if name not in known:
                known[name] = self.store.span(int(self._rows[first])).attributes.get("ray.remote") == "function"
        return np.isin(self._names, [name for name in names.tolist() if known[name]])

    def _busy_since(self, chosen: Places, ns: NDArray[Any]) -> NDArray[Any]:
        """Return how long the processes of attempts were busy from some times of their waits on, until these began."""
        ns = np.clip(ns, self._submitted[chosen], self._starts[chosen])
        previous = np.where(chosen > self._firsts[chosen], chosen - 1, chosen)
        index = np.searchsorted(self._keyed_starts, self._keys(self._processes[chosen], ns, "right"), "right") - 1
        index = np.minimum(np.maximum(index, self._firsts[chosen]), previous)
        busy: NDArray[Any] = self._busy_until(previous, self._starts[chosen]) - self._busy_until(index, ns)
        return busy

    def _busy_until(self, last: Places, ns: NDArray[Any]) -> NDArray[Any]:
        """Return how long processes had been busy at some times, each after the last of some attempts began."""
        busy: NDArray[Any] = self._busy[last + 1] - np.maximum(0, self._reached[last] - ns)
        return busy

    # -- what some waited for ----------------------------------------------------------------------------------------

    def may_have_run_before(self, row: int) -> bool:
        """Return whether an attempt's actor was made again since it was called, so that an earlier one may be lost.

        What leaves a line when it starts would show that, and so would Ray's own events.
        """
        if not len(self._made_again):
            return False
        index = self._index_of(row)
        made = int(self._constructors[index])
        if self._made[index] or self._starts[made] <= self._submitted[index] or made not in self._made_again:
            return False
        path = self.store.sources[self.store.spans.source[row]].path
        return not has_starts(path) and attempt_counts(self.store, [int(self._callers[index])]) == [-1]

    def reasons_of(self, rows: Places | Sequence[int]) -> WaitReasons:
        """Return what attempts that no other one of their call preceded waited for."""
        chosen = self._indices_of(np.asarray(rows, np.int64))
        chosen = chosen[self._have_waited[chosen]]
        if not len(chosen):
            return NO_REASONS
        submitted, starts = self._submitted[chosen], self._starts[chosen]
        firsts, made, waits = self._firsts[chosen], self._constructors[chosen], starts - submitted
        previous = np.where(chosen > firsts, chosen - 1, chosen)
        is_task, is_made = self._tasks[chosen], self._made[chosen]
        is_method = ~is_task & ~is_made
        # What the process did since it was called: nothing yet, constructing the actor, running something else.
        began = np.where(is_made | (made < 0), self._starts[firsts], self._ends[made])
        prepared = np.minimum(starts, np.maximum(submitted, began))
        starting = prepared - submitted
        busy = self._busy_since(chosen, prepared)
        # What explains most of the wait: the process wasn't there yet, or it ran something else.
        is_most = 2 * (starting + busy) >= waits
        is_busy = is_most & (busy > starting)
        is_first, is_created = chosen == firsts, is_method & (made >= 0) & (2 * starting >= waits)
        # Before an actor was made again it may have run what ran later, and its process may have died of that.
        is_created &= ~np.isin(made, self._made_again)
        is_started = is_first & (starting >= _LEAST_START_NS) & (is_task | is_made)
        # Where it began a while after another one had ended there, it waited for something else at last.
        follows = ~is_first & (starts - self._reached[previous] <= MOST_HANDOVER_NS)
        is_behind = is_method & follows & ~self._concurrent[chosen] & (is_busy | (busy >= LEAST_SHARED_NS))
        is_queued = is_task & is_most & follows
        # A call waits for its worker or actor alone only after its arguments are there.
        is_open = is_created | is_started | is_behind | is_queued
        ready = submitted.copy()
        ready[is_open] = self._last_results(chosen[is_open], submitted[is_open])
        alone = prepared - self._alone_since(chosen, ready, submitted, prepared)
        is_last = (alone > 0) & (starts - prepared <= MOST_HANDOVER_NS)
        there = starts - np.maximum(ready, prepared)
        behind = np.where(is_busy, there, np.minimum(busy, there))
        is_created &= is_last | (2 * alone >= waits)
        is_started &= alone >= _LEAST_START_NS
        is_behind &= ~is_created & ((is_busy & (2 * behind >= waits)) | (behind >= LEAST_SHARED_NS))
        is_queued &= ~is_started & (2 * (starts - ready) >= waits)
        reasons = {
            WaitedFor.CREATION: (is_created, made, alone),
            WaitedFor.WORKER_START: (is_started, firsts, alone),
            WaitedFor.ACTOR: (is_behind, previous, behind),
            WaitedFor.RESOURCES: (is_queued, previous, starts - ready),
        }
        kinds, shares = np.full(len(chosen), KINDS.index(WaitedFor.UNKNOWN)), waits
        evidence = np.full(len(chosen), NO_ROW)
        known = np.flatnonzero(np.logical_or.reduce([holds for holds, _, _ in reasons.values()]))
        follow = known[self._follow_others(chosen[known])]
        for waited_for, (holds, shown_by, share) in reasons.items():
            holds[follow] = False
            kinds[holds] = KINDS.index(waited_for)
            evidence[holds] = self._rows[shown_by[holds]]
            shares = np.where(holds, share, shares)
        parts = np.zeros((len(chosen), len(KINDS)), np.int64)
        parts[np.arange(len(chosen)), kinds] = shares
        parts[:, UNKNOWN] = waits - parts[:, :UNKNOWN].sum(axis=1)
        return self._with_rays_word(chosen, kinds, parts, evidence, self._told(chosen, kinds, began))

    def _told(self, chosen: Places, kinds: Places, prepared: NDArray[Any]) -> ToldWaits | None:
        """Return what Ray's own events say that attempts waited for; None where there are no events.

        Args:
            kinds: What each waited for, likely.
            prepared: When their processes had made their actors, or else started their first attempts.
        """
        tasks = told_tasks(self.store)
        if tasks is None:
            return None
        are_held, are_first = kinds == KINDS.index(WaitedFor.ACTOR), self._firsts[chosen] == chosen
        shown = Shown(self._began_ns(chosen), prepared, are_first, are_held, partial(self._busy_since, chosen))
        return told_waits(self.store, tasks, self._rows[chosen], self._callers[chosen], shown)

    def _with_rays_word(
        self, chosen: Places, kinds: Places, parts: NDArray[Any], evidence: Places, told: ToldWaits | None
    ) -> WaitReasons:
        """Return what attempts waited for: what is likely, or what Ray's own events say, where they speak of them.

        Args:
            kinds: What each waited for, likely.
            parts: How long each waited for what.
            evidence: The rows of the attempts that show it.
            told: What Ray says of them.
        """
        are_certain = np.zeros(len(chosen), np.bool_)
        asked: Mapping[int, str] = {}
        behind = set[int]()
        if told is not None:
            parts[told.are_told] = told.parts_ns[told.are_told]
            most = parts[:, :UNKNOWN].argmax(axis=1)
            evidence[told.are_told & (most != kinds)] = NO_ROW
            awaits = np.flatnonzero(told.are_told & (most == KINDS.index(WaitedFor.ARGUMENTS)))
            evidence[awaits] = self._results_at(chosen[awaits], told.ready_ns[awaits])
            are_certain, asked = told.are_certain, told.asked
            actor = KINDS.index(WaitedFor.ACTOR)
            held = np.flatnonzero(told.are_told & (most == actor) & (evidence != NO_ROW))
            began = copy_of(self.store.spans.start_ns)[evidence[held]] - self._starts[chosen[held]]
            behind = {*self._rows[chosen[held[2 * (began + parts[held, actor]) >= parts[held, actor]]]].tolist()}
        order = np.argsort(self._rows[chosen], kind="stable")
        columns = self._rows[chosen][order], parts[order], evidence[order], are_certain[order]
        return WaitReasons(*columns, asked, behind=behind)

    def _results_at(self, chosen: Places, ready: NDArray[Any]) -> Places:
        """Return the attempts, by row, whose results were likely what others waited for; `NO_ROW` for none, or several.

        Args:
            ready: When their arguments were there.
        """
        known, keys = self._by_end
        rows, processes = np.full(len(chosen), NO_ROW), self._callers_processes
        if not len(known):
            return rows
        last = np.searchsorted(keys, self._keys(processes[chosen], ready, "left"), "right") - 1

        def ended_before(step: int, ns: int) -> tuple[Places, Flags]:
            candidates = known[np.maximum(last - step, 0)]
            is_it = (last >= step) & (processes[candidates] == processes[chosen]) & (self._ends[candidates] <= ready)
            return candidates, is_it & (self._ends[candidates] >= ready - ns)

        candidates, fits = ended_before(0, MOST_HANDOVER_NS)
        fits &= self._called[candidates] < self._called[chosen]
        for step in range(1, _RESULTS_BEFORE):
            others, fit_too = ended_before(step, LEAST_SHARED_NS)
            fits &= ~fit_too | (self._names[others] == self._names[candidates])
        rows[fits] = self._rows[candidates[fits]]
        return rows

    def _began_ns(self, chosen: Places) -> NDArray[Any]:
        """Return when the processes of attempts began, in nanoseconds since 1970; 0 where no file's name says so."""
        sources = copy_of(self.store.spans.source)[self._rows[chosen]]
        numbers, indices = np.unique(sources, return_inverse=True)
        began = [began_ns_of_file(self.store.sources[number].path) or 0 for number in numbers.tolist()]
        begun: NDArray[Any] = np.array(began, np.int64)[indices]
        return begun

    def _follow_others(self, chosen: Places) -> Flags:
        """Return which attempts another one of their call preceded that no file holds, by their numbers."""
        read = np.argsort(self._submitted[chosen] - self._starts[chosen], kind="stable")[:_MAX_RECORDS]
        follow = np.zeros(len(chosen), np.bool_)
        follow[read] = [is_retry(self.store, row) for row in self._rows[chosen[read]].tolist()]
        return follow

    def reason_of(self, row: int) -> WaitReason | None:
        """Return what one attempt waited for; None where it hardly waited, or another one of its call preceded it."""
        index = self._index_of(row)
        is_first = self._callers[index] == _NO_CALL or self._starts[index] <= self._starts[self._of_call(index)].min()
        return self.reasons_of([row]).get(row) if is_first else None

    def _index_of(self, row: int) -> int:
        (index,) = self._indices_of(np.array([row]))
        return int(index)

    def _indices_of(self, rows: Places) -> Places:
        """Return which attempts have some rows, ascending, each once; rows of other spans are left out."""
        places = np.searchsorted(self._rows, rows, sorter=self._by_row)
        is_within = places < len(self._rows)
        indices = self._by_row[places[is_within]]
        found: Places = np.unique(indices[self._rows[indices] == rows[is_within]])
        return found

    def _of_call(self, index: int) -> Places:
        """Return all attempts of an attempt's call, which is known."""
        call = int(self._callers[index])
        first, last = np.searchsorted(self._callers, (call, call + 1), sorter=self._by_call)
        return self._by_call[first:last]

    @cached_property
    def _by_call(self) -> Places:
        """The attempts by their calls."""
        return np.argsort(self._callers, kind="stable")

    @cached_property
    def _have_waited(self) -> Flags:
        """Which attempts waited, as far as their calls are known, and the processes that ran them."""
        processes = self.store.processes
        told = [number for number in np.unique(self._processes).tolist() if is_told(processes, number)]
        are_known = (self._callers != _NO_CALL) & (self._submitted != NO_TIME) & np.isin(self._processes, told)
        waits = self._starts - np.minimum(self._submitted, self._starts)
        have_waited: Flags = are_known & (waits >= _LEAST_NS)
        return have_waited

    def call_of(self, attempt: int) -> int:
        """Return the row of the call of an attempt that has a reason."""
        return int(self._callers[self._index_of(attempt)])

    @cached_property
    def _by_caller(self) -> tuple[Places, Places, Places]:
        """The attempts whose calls are known, by who submitted these, then when; and both of each."""
        known = np.flatnonzero(self._callers != _NO_CALL)
        order = known[np.lexsort((self._called[known], self._callers_processes[known]))]
        return order, self._callers_processes[order], self._called[order]

    def called_before(self, attempt: int, since_ns: int) -> tuple[Places, Places]:
        """Return the calls that the process of an attempt's call had submitted before, once for each of their attempts.

        Args:
            since_ns: Calls are left out of which no attempt started, or ended, after this time.

        Returns:
            The rows of the calls, and those of the attempts.
        """
        order, processes, called = self._by_caller
        index = self._index_of(attempt)
        process = int(self._callers_processes[index])
        first, last = np.searchsorted(processes, (process, process + 1))
        chosen = order[first : first + np.searchsorted(called[first:last], self._called[index])]
        recent = np.unique(self._callers[chosen[self._ends[chosen] > since_ns]])
        chosen = np.sort(chosen[np.isin(self._callers[chosen], recent)])
        return self._callers[chosen], self._rows[chosen]

    def ran_between(
        self, function: str, since_ns: int, until_ns: int, process: int | None = None
    ) -> tuple[int, int, bool]:
        """Return what attempts with one name ran of a stretch, all callers' calls, whenever they were submitted.

        Args:
            process: The number of the process whose attempts count; None for those of all.

        Returns:
            How often, how long in nanoseconds, and whether others have no end, which may have run then, too. What runs
            at once counts once.
        """
        order, names, starts = self._by_name
        (name,) = self.store.names.numbers([function])
        first, last = np.searchsorted(names, (name, name + 1))
        chosen = order[first : first + np.searchsorted(starts[first:last], until_ns)]
        if process is not None:
            chosen = chosen[self._processes[chosen] == process]
        has_more = bool(self._lack_ends[chosen].any())
        chosen = chosen[self._ends[chosen] > since_ns]
        begun, ended = np.maximum(self._starts[chosen], since_ns), np.minimum(self._ends[chosen], until_ns)
        # Of a call whose file isn't here each attempt counts.
        callers = self._callers[chosen]
        calls = len(np.unique(callers[callers != _NO_CALL])) + int((callers == _NO_CALL).sum())
        return calls, Covered.by(begun.tolist(), ended.tolist()).sums[-1], has_more

    @cached_property
    def _by_name(self) -> tuple[Places, Places, NDArray[Any]]:
        """The attempts by name, then start; and both of each."""
        order = np.lexsort((self._starts, self._names))
        return order, self._names[order], self._starts[order]

    def _alone_since(
        self, chosen: Places, ready: NDArray[Any], submitted: NDArray[Any], prepared: NDArray[Any]
    ) -> NDArray[Any]:
        """Return since when attempts waited for nothing but their worker's start, or their actor's creation.

        Args:
            ready: When the last result was there that they may have waited for.
            submitted: When they were.
            prepared: When their worker or actor was there.
        """
        begun, starts, is_first = self._began_ns(chosen), self._starts[chosen], chosen == self._firsts[chosen]
        is_begun = is_first & (begun >= self._called[chosen]) & (begun <= starts)
        # A task's worker may have begun for something else.
        since = np.where(is_begun & self._tasks[chosen], np.maximum(ready, begun), ready)
        since = np.where(self._made[chosen] & (prepared - submitted > _MOST_START_NS), prepared, since)
        # An actor's process begins for the actor, once its arguments are there and there is room.
        begun = np.where(begun - submitted < LEAST_SHARED_NS, submitted, begun)
        return np.where(is_begun & self._made[chosen], begun, since)

    def _last_results(self, chosen: Places, submitted: NDArray[Any]) -> NDArray[Any]:
        """Return when the last result was there that attempts may have waited for; for none, when they were submitted.

        What ran in their own process is left out: it waited for that process itself. Where more calls ended than are
        looked at, it is when the earliest of these did.

        Args:
            submitted: When they were.
        """
        ends, is_open = submitted.copy(), np.ones(len(chosen), bool)
        if not len(chosen):
            return ends
        known, last = self._ended_before(chosen)
        processes = self._callers_processes
        for step in range(_LAST_ENDS_OF_PREPARED if len(known) else 0):
            candidates = known[np.maximum(last - step, 0)]
            ended = self._ends[candidates]
            is_open &= (last - step >= 0) & (processes[candidates] == processes[chosen]) & (ended > submitted)
            fits = self._may_be_argument(candidates, chosen)
            is_last = step == _LAST_ENDS_OF_PREPARED - 1
            ends = np.where(is_open & (fits | is_last), ended, ends)
            is_open &= ~fits
            if not is_open.any():
                break
        return ends

    def _may_be_argument(self, candidates: Places, chosen: Places) -> Flags:
        """Return whether attempts' results may be arguments of others, one of each, as far as their calls show."""
        # Tasks of one function more often wait for a free worker than for each other, unless they run one after the
        # other where more could, as if each took the result of the one before; an actor's calls, for the actor.
        is_other = np.where(
            self._tasks[chosen],
            (self._names[candidates] != self._names[chosen]) | self._leave_room[candidates],
            self._processes[candidates] != self._processes[chosen],
        )
        is_same_caller = self._callers_processes[candidates] == self._callers_processes[chosen]
        may_be: Flags = is_other & is_same_caller & (self._called[candidates] < self._called[chosen])
        return may_be

    @cached_property
    def _leave_room(self) -> Flags:
        """Tell of which attempts the function never ran twice at once, though more tasks did so than at their ends."""
        names, begins, ends = self._names.astype(np.int64), np.sort(self._starts[self._tasks]), self._ends
        stops, by_start = np.sort(ends[self._tasks]), np.lexsort((self._starts, names))
        reached = np.maximum.accumulate(self._keys(names, ends, "left")[by_start])[:-1]
        later = by_start[1:]
        overlap = (names[later] == names[by_start[:-1]]) & (reached > self._keys(names, self._starts, "left")[later])
        running = np.searchsorted(begins, ends, "left") - np.searchsorted(stops, ends, "left")
        leave_room: Flags = ~np.isin(names, names[later][overlap]) & (running < running.max(initial=0))
        return leave_room

    def _ended_before(self, chosen: Places) -> tuple[Places, Places]:
        """Return attempts with results, by caller and end; and where those are that ended last before some began."""
        known, keys = self._by_end
        starts = self._keys(self._callers_processes[chosen], self._starts[chosen], "left")
        return known, np.searchsorted(keys, starts, "right") - 1

    @cached_property
    def _by_end(self) -> tuple[Places, Places]:
        """The attempts with results, by caller and end; and the numbers that order them so."""
        texts = self.store.names.texts
        # A generator's span ends long before its results are there.
        made = [name for name in np.unique(self._names).tolist() if texts[name].removesuffix(RAN) in self.generators]
        known = np.flatnonzero((self._callers != _NO_CALL) & ~self._made & ~np.isin(self._names, made))
        keys = self._keys(self._callers_processes[known], self._ends[known], "left")
        order = np.argsort(keys, kind="stable")
        return known[order], keys[order]

    @cached_property
    def generators(self) -> Mapping[str, Certainty]:
        """The functions that are generators, as `generators_of` returns them."""
        return generators_of(self.store)


def reason_text(store: Store, reason: WaitReason) -> str:
    """Return what an attempt waited for and what shows it, as `likely for a worker or resources: f ran there last`."""
    waited_for = reason.label
    if reason.detail:
        # Ray says what was asked for, and not which of that was lacking.
        asked = reason.detail.removesuffix(OR_ARGUMENTS)
        waited_for += OR_ARGUMENTS * (asked != reason.detail)
        waited_for += f" (it asked for {asked})" if asked else ""
    if reason.row == NO_ROW:
        return waited_for
    name = store.names.texts[store.spans.name[reason.row]]
    called = short_names([name]).get(name, function_of(name))
    match reason.waited_for:
        case WaitedFor.WORKER_START:
            evidence = "its process ran nothing before"
        case WaitedFor.CREATION:
            evidence = f"{called} had to end first"
        case WaitedFor.ARGUMENTS:
            evidence = f"likely the result of {called}"
        case WaitedFor.ACTOR if reason.is_behind:
            evidence = f"{called} was to run first"
        case _:
            evidence = f"{called} ran there last"
    return f"{waited_for}: {evidence}"
