"""What may still be running, as far as the processes of this host show; they know nothing of spans.

A call without an attempt, for which no other reason is known, in the order of the tests:

condition                                                     answer
------------------------------------------------------------  -----------------------------------------------------
Ray's own events say what it, or its next attempt, does, and  waits for 1 GPU, as Ray says
  its caller lives
a span of its trace, or of its caller's file, came lately,    may run: its trace, or its caller's file, still grows
  and its caller isn't seen to run
the caller isn't known, or can't be looked up                 not known whether it runs
the caller is no process of this host, nor was seen as one    unknown: its caller, pid 7, isn't running here
the caller was alive, and is no more                          unknown: its caller, pid 7, has ended
it is of a task, and for two seconds each Ray worker of the   doesn't run here: no Ray worker is ray::f
  caller's session and job has been named after something
  else that is known
anything else                                                 may run: its caller, pid 7, is alive

Nothing is called lost. That a caller has ended is no reason: it may have outlived the call, every program ends, and the
workers of a killed driver go on for seconds, and may finish. A task that a worker took down with it may be tried again,
and an actor may be started again. Ray names a worker after what it runs (`ray::f`, `ray::A.method`, `ray::IDLE`): where
none is named after a call, that doesn't run, which by Ray's own events is right in 99 of 100. A worker that is named
after it shows nothing: it may run another call of the function.

A trace grows while one of its missing parents has not ended, likely, or one of its calls runs, as Ray's own events say.
A missing parent is in the process of those of its children that are no attempts and no requests from elsewhere. Where
that process was seen alive and has ended, the parent is lost, likely: what never ended is never written. Of spans that
are written when they start, `unended` says more.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from threading import RLock
from typing import TYPE_CHECKING, Final

from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray.names import SUBMITTED, ShortNames, call_names
from spanview.analysis.ray.unended import Fate, Unended, UnendedSpans, known_until, lost_text, ran_until
from spanview.analysis.ray.writers import Life, Writers
from spanview.index.lives import OpenEnd, State
from spanview.model.codes import CONSUMER, ERROR, PRODUCER, SERVER
from spanview.model.times import NO_TIME, known

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from spanview.analysis.ray.writers import Host, RayWorker
    from spanview.index.store import Store

IDLE: Final = "IDLE"
"""The name of a Ray worker that runs nothing and is no actor."""
_MAX_TRACES: Final = 500
"""Traces that may grow that are examined, the newest."""
_MAX_PARENTS: Final = 32
"""Missing parents of one trace that are examined."""
_MAX_CALLS: Final = 500
"""Calls without an attempt of one trace that are examined, the newest."""
_GROWTH_S: Final = 10.0
"""So long after spans have come more are expected, where processes can't be seen."""
_READING_DELAY_S: Final = 2.0
"""What a process writes when it ends, or turns to something else, has been read after so long."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """Whether a call without an attempt may run; never certain."""

    may_run: bool
    """Whether it may run or wait, as far as processes show."""
    text: str
    """In a few words."""
    runs: bool = False
    """Whether Ray's own events say that it does."""
    is_likely: bool = False
    """Whether Ray's own events, or the names of all workers, show it."""
    hint: str = ""
    """How to learn more."""
    since_ns: int = NO_TIME
    """Since when it has run, or been tried again, in nanoseconds since 1970; `NO_TIME` where it just waits."""

    @property
    def is_open(self) -> bool | None:
        """Whether its attempt may still come; None where processes tell nothing."""
        return None if self is _NOT_KNOWN else self.may_run


_MAY_LACK_ROOM: Final = "ray status shows whether no node has what it needs"
_GROWS: Final = Assessment(True, "may run: its trace, or its caller's file, still grows")
_NOT_KNOWN: Final = Assessment(True, "not known whether it runs")
_SEEN_BY_NOW: Final = Assessment(True, "has an attempt by now")
"""Whoever asks took it for one without when spans came."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Why a trace may still grow."""

    parents: Mapping[int, int]
    """Processes that probably run missing parents, by the parents' span ids."""
    calls: Sequence[int]
    """Rows of calls that run, as Ray's own events say."""
    ended: Mapping[int, int]
    """Processes that probably ran missing parents and have ended, by the parents' span ids."""
    unended: Mapping[int, Unended]
    """What has become of spans without an end, by row."""

    def __bool__(self) -> bool:
        """Whether it may."""
        return bool(self.parents or self.calls) or self.runs

    @property
    def runs(self) -> bool:
        """Whether a span in it runs."""
        return any(span.fate is Fate.RUNS for span in self.unended.values())

    @property
    def lost(self) -> str:
        """What is lost in it, whether the rest of it runs on or not, in two words; empty for nothing."""
        count = sum(span.fate is Fate.LOST for span in self.unended.values())
        return lost_text(count) if count else "lost parent" if self.ended else ""


@dataclass(frozen=True, slots=True)
class Living:
    """Which traces may still grow, and what is lost in any."""

    growing: frozenset[int]
    running: frozenset[int]
    """Which traces have a span that runs."""
    lost: Mapping[int, str]
    """What was lost, in two words, of each trace that lacks it."""
    lost_spans: Mapping[int, Unended]
    """The spans that are lost, by row."""
    known_until: Mapping[int, int]
    """Until when traces that lack an end are known to have run, in nanoseconds since 1970; none of `running`."""
    open_ends: Mapping[int, OpenEnd]
    """What is known of the ends of these, and of `running`."""

    @classmethod
    def of(cls, growths: Mapping[int, Growth], store: Store) -> Living:
        """Return what is known of some traces."""
        growing = frozenset(trace for trace, growth in growths.items() if growth)
        running = frozenset(trace for trace, growth in growths.items() if growth.runs)
        lost = {trace: growth.lost for trace, growth in growths.items() if growth.lost}
        over = {trace: growth.unended for trace, growth in growths.items() if not growth.runs}
        until = {trace: _until(store, trace, unended) for trace, unended in over.items()}
        spans = {row: span for growth in growths.values() for row, span in growth.unended.items()}
        lost_spans = {row: span for row, span in spans.items() if span.fate is Fate.LOST}
        until = {trace: ns for trace, ns in until.items() if ns != NO_TIME}
        ends = {trace: ran_until(over[trace]).end_at(ns) or OpenEnd.EARLIEST for trace, ns in until.items()}
        return cls(growing, running, lost, lost_spans, until, ends | dict.fromkeys(running, OpenEnd.RUNS))


def _until(store: Store, trace: int, unended: Mapping[int, Unended]) -> int:
    """Return until when a trace is known to have run; `NO_TIME` where no more is known than when it began."""
    known, table = known_until(unended), store.trace_table
    until_ns = max(known.values(), default=NO_TIME)
    if len(known) == len(unended) and not ran_until(unended).may_last:
        return until_ns
    # What ran until nobody knows when may be what ended last.
    until_ns = max(until_ns, table.end_ns[trace], *map(store.spans.start_ns.__getitem__, unended))
    return until_ns if until_ns > table.start_ns[trace] else NO_TIME


@dataclass(frozen=True, slots=True)
class RunsNow:
    """What a process runs: a span without an end; or likely, a missing parent."""

    pid: int
    title: str
    """What Ray names the process after, empty where it isn't Ray's, or the span that it runs; to be sanitised."""
    since_ns: int
    """When the span started, or when a missing parent's first child did: that started earlier."""
    certainty: Certainty = Certainty.LIKELY


@dataclass(frozen=True, slots=True)
class OpenSpan:
    """A span that runs, or a call that waits, or runs though its attempt isn't seen."""

    row: int
    state: State
    since_ns: int
    """When the span started, or the call was submitted, or ran as Ray says; `NO_TIME` where that isn't known."""
    text: str
    """Why it is thought so, in a few words; to be sanitised."""
    pid: int | None = None
    """Of the process that runs it."""
    certainty: Certainty | None = Certainty.CERTAIN
    """None of a call of which no more is known than that it may wait or run."""
    is_again: bool = False
    """Whether it is a call that is tried again, `since_ns`."""
    until_ns: int = NO_TIME
    """When the process of a span was last seen to run, which has ended since; `NO_TIME` of all others."""

    def age_ns(self, now_ns: int) -> int | None:
        """Return how long it has run or waited; None where that isn't known."""
        since = known(self.since_ns)
        return None if since is None else max(0, (known(self.until_ns) or now_ns) - since)


@dataclass(frozen=True, slots=True)
class _Gaps:
    """What a version of a trace lacks."""

    version: int
    children: Mapping[int, Sequence[int]]
    """Of missing parents, by span id, the rows of the children that ran in their process."""
    calls: Sequence[int]
    """Rows of calls without an attempt, ascending."""


class Running:
    """Knows what may still be running. It can be asked from several threads.

    Args:
        clock: Returns the time in seconds, from any origin.
        is_loading: Tells whether what was there before is still read.
    """

    def __init__(
        self,
        store: Store,
        host: Host,
        clock: Callable[[], float] = time.monotonic,
        is_loading: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store = store
        self._is_loading = is_loading
        self._host = host
        self._clock = clock
        self._lock = RLock()
        self._writers = Writers(store, host, clock)
        self._unended = UnendedSpans(store, self._writers, host)
        self._short_names = ShortNames(store.names)
        self._row_count = 0
        self._trace_count = 0
        self._was_loading = True
        """Whether spans that have come since it was asked last may have been there before."""
        self._processes_grown: dict[int, float] = {}
        self._traces_grown: dict[int, float] = {}
        """When spans last came, by process or by trace and by the clock, since all that was there had been read."""
        self._more_calls = array("i")
        """How many more calls than attempts each trace has; too low if calls were retried."""
        self._candidates: list[int] = []
        """Traces that had no root, or more calls than attempts, when such spans last came; the newest."""
        self._gaps: dict[int, _Gaps] = {}
        self._not_run: dict[int, float] = {}
        """Since when no worker has run calls, by row and the clock."""

    # -- traces ------------------------------------------------------------------------------------------------------

    def growing(self) -> frozenset[int]:
        """Return the traces that may still grow, among the newest that lack something."""
        return self.living().growing

    def living(self) -> Living:
        """Return which traces may still grow, and in which something is lost.

        A missing parent is lost where its process was seen to end, a span without an end as `Unended` says.
        """
        with self._lock:
            self._take_in_new_spans()
            unended = self._unended_by_trace()
            growths = {
                trace: self._growth_of(trace, unended.get(trace, {}))
                for trace in {*self._open_among(self._candidates), *unended}
            }
        return Living.of(growths, self._store)

    def living_by_unended(self) -> Living:
        """Return what `living` does, judging by spans without an end alone, which takes less time."""
        with self._lock:
            by_trace = self._unended_by_trace()
        return Living.of({trace: Growth({}, (), {}, unended) for trace, unended in by_trace.items()}, self._store)

    def unended(self, traces: Container[int] | None = None) -> dict[int, Unended]:
        """Return what has become of spans without an end, by row."""
        with self._lock:
            return self._unended.all(traces)

    def known_until(self) -> Mapping[int, int]:
        """Return until when spans without an end are known to have run, by row, in nanoseconds since 1970."""
        return known_until(self.unended())

    def rows_in(self, *states: State) -> list[frozenset[int]]:
        """Return the rows of the spans that are in each state now; a call may run though its attempt isn't seen."""
        fates, runs = {State.RUNNING: Fate.RUNS, State.LOST: Fate.LOST}, {State.RUNNING: True, State.WAITING: False}
        rows = [{row for row, one in self.unended().items() if one.fate is fates.get(state)} for state in states]
        for call, thought in self._open(self.open_calls() if runs.keys() & states else ()):
            for state, found in zip(states, rows, strict=True):
                if thought.runs is runs.get(state):
                    found.add(call)
        return [*map(frozenset, rows)]

    def is_open(self, row: int) -> bool | None:
        """Return whether a call without an attempt may still get one; None where processes don't show it."""
        return self.assessment_of(row).is_open

    def open_calls(self) -> list[int]:
        """Return the rows of the calls of which processes may tell more: without an attempt, or to be tried again."""
        from spanview.analysis.ray.calls import calls_of
        from spanview.analysis.ray.reasons import open_calls, reasons_of

        calls = calls_of(self._store)
        return open_calls(calls, reasons_of(self._store, calls))

    def _open(self, calls: Iterable[int]) -> Iterator[tuple[int, Assessment]]:
        """Yield which of `open_calls` may wait or run without a span, and what is known of each."""
        for row in calls:
            thought = self.assessment_of(row)
            if thought.is_open and thought is not _SEEN_BY_NOW:
                yield row, thought

    def open_spans(self, calls: Iterable[int], traces: Container[int] | None = None) -> list[OpenSpan]:
        """Return what runs, and what waits, of all spans and of those of `open_calls` that are asked about."""
        spans, now_ns, found = self._store.spans, time.time_ns(), list[OpenSpan]()
        for row, span in self.unended(traces).items():
            if span.fate is Fate.RUNS:
                until_ns = span.seen_ns if span.seen_ns < now_ns else NO_TIME
                fate = span.reason, span.pid, span.certainty
                found.append(OpenSpan(row, State.RUNNING, spans.start_ns[row], *fate, until_ns=until_ns))
        for row, thought in self._open(calls):
            if traces is None or spans.trace[row] in traces:
                state = State.RUNNING if thought.runs else State.WAITING
                is_again = thought.since_ns != NO_TIME and not thought.runs
                since_ns = spans.end_ns[row] if thought.since_ns == NO_TIME else thought.since_ns
                certainty = Certainty.LIKELY if thought.is_likely else None
                found.append(OpenSpan(row, state, since_ns, thought.text, certainty=certainty, is_again=is_again))
        return found

    def _unended_by_trace(self) -> dict[int, dict[int, Unended]]:
        by_trace = defaultdict[int, dict[int, Unended]](dict)
        for row, unended in self._unended.all().items():
            by_trace[self._store.spans.trace[row]][row] = unended
        return by_trace

    def growth(self, trace: int) -> Growth:
        """Return why a trace may still grow: missing parents and calls that probably run."""
        with self._lock:
            self._take_in_new_spans()
            return self._growth_of(trace, self._unended.all((trace,)))

    def runs_now(self, traces: Container[int] | None = None) -> list[RunsNow]:
        """Return what probably runs in some traces, or in all: of each process one thing, rather a missing parent."""
        found, starts = dict[int, RunsNow](), self._store.spans.start_ns
        with self._lock:
            self._take_in_new_spans()
            titles = {worker.pid: worker.title for worker in self._host.ray_workers()}
            for row, span in self._unended.all(traces).items():
                if span.fate is Fate.RUNS and span.pid is not None:
                    found.setdefault(span.pid, RunsNow(span.pid, self._name_of(row), starts[row], span.certainty))
            for trace in self._open_among(self._candidates):
                if traces is None or trace in traces:
                    for span_id, pid in self._growth_of(trace, {}).parents.items():
                        begun = min(map(starts.__getitem__, self._gaps_of(trace).children[span_id]))
                        found.setdefault(pid, RunsNow(pid, titles.get(pid, ""), begun))
        return [*found.values()]

    def _name_of(self, row: int) -> str:
        return self._short_names[self._store.names.texts[self._store.spans.name[row]]]

    def _growth_of(self, trace: int, unended: Mapping[int, Unended]) -> Growth:
        gaps, parents, ended = self._gaps_of(trace), dict[int, int](), dict[int, int]()
        for span_id, rows in islice(gaps.children.items(), _MAX_PARENTS):
            row = max(rows, key=self._store.spans.end_ns.__getitem__)
            writer = self._writers.facts_of(row).writer
            if writer is None:
                continue
            if self._writers.life(row, writer).is_alive:
                # A Ray worker that runs nothing doesn't run the parent either.
                if (writer.pid, IDLE) not in ((worker.pid, worker.title) for worker in self._host.ray_workers()):
                    parents[span_id] = writer.pid
            elif self._writers.has_ended(row, writer, _READING_DELAY_S):
                ended[span_id] = writer.pid
        return Growth(parents, self._running_calls(gaps.calls[-_MAX_CALLS:]), ended, unended)

    def _running_calls(self, rows: Sequence[int]) -> list[int]:
        """Return which calls without an attempt run, as Ray says; remember that their caller was alive."""
        if rows and (writer := self._writers.facts_of(rows[-1]).writer) is not None:
            self._writers.life(rows[-1], writer)
        if self._store.ray is None:
            return []
        from spanview.analysis.ray.told import CallOutcome, told_outcomes

        told = told_outcomes(self._store, rows)
        return [row for row, each in told.items() if each.outcome is CallOutcome.RUNNING and self._has_caller(row)]

    def _has_caller(self, row: int) -> bool:
        """Return whether the process that submitted a call is alive."""
        caller = self._writers.facts_of(row).writer
        return caller is not None and self._writers.life(row, caller).is_alive

    def _gaps_of(self, trace: int) -> _Gaps:
        version = self._store.trace_table.version(trace)
        known = self._gaps.get(trace)
        if known is None or known.version != version:
            if len(self._gaps) > 2 * _MAX_TRACES:
                self._gaps.clear()
            known = self._gaps[trace] = self._find_gaps(trace, version)
        return known

    def _find_gaps(self, trace: int, version: int) -> _Gaps:
        spans, (submits, runs) = self._store.spans, call_names(self._store.names)
        rows = self._store.rows_of_trace(trace)
        span_ids = {spans.span_id[row] for row in rows}
        children = defaultdict[int, list[int]](list)
        answered, calls = set[int](), list[int]()
        for row in rows:
            parent, kind = spans.parent_id[row], spans.kind[row]
            if kind == CONSUMER and spans.name[row] in runs:
                answered.add(parent)
            elif kind == PRODUCER and spans.name[row] in submits and spans.status[row] != ERROR:
                calls.append(row)
            if parent and parent not in span_ids and kind not in {CONSUMER, SERVER}:
                children[parent].append(row)
        # Of calls that share an id, the first has the attempts, as in a forest.
        first = {spans.span_id[row]: row for row in sorted(calls, reverse=True)}
        has_attempt = {first[span_id] for span_id in answered & first.keys()}
        return _Gaps(version, children, sorted({*calls} - has_attempt))

    # -- calls -------------------------------------------------------------------------------------------------------

    def assessment_of(self, row: int) -> Assessment:
        """Return whether a call without an attempt may run, for which no other reason is known."""
        with self._lock:
            self._take_in_new_spans()
            return self._told(row) or self._assess_processes(row)

    def _assess_processes(self, row: int) -> Assessment:
        if not self._has_no_attempt(row):
            return _SEEN_BY_NOW
        caller = self._writers.facts_of(row).writer
        life = Life.UNKNOWN if caller is None else self._writers.life(row, caller)
        if caller is None or life is Life.UNKNOWN:
            return _GROWS if self._has_grown_lately(row) else _NOT_KNOWN
        was_alive = self._writers.was_alive(row, caller)
        over = Assessment(False, f"unknown: its caller, pid {caller.pid}, {_ended(was_alive=was_alive)}")
        if not was_alive:
            # It may run where processes can't be seen from here: in a container, or on another host.
            return _GROWS if self._has_grown_lately(row) else over
        if not life.is_alive:
            return over
        function = self._store.names.texts[self._store.spans.name[row]].removesuffix(SUBMITTED)
        facts = self._writers.facts_of(row)
        titles = set[str]() if facts.actor else {worker.title for worker in self._workers_of(caller.pid, facts.job)}
        # Not all calls of actors' methods name their actor.
        is_named = any(f".{function}".endswith(f".{title}") for title in titles)
        if titles and not is_named and all(map(self._is_explained, titles)):
            since = self._not_run.setdefault(row, self._clock())
            if self._clock() - since >= _READING_DELAY_S:
                text = f"doesn't run here: no Ray worker is ray::{function.rpartition('.')[2]}"
                return Assessment(True, text, is_likely=True, hint=_MAY_LACK_ROOM)
        else:
            self._not_run.pop(row, None)
        return Assessment(True, f"may run: its caller, pid {caller.pid}, is alive")

    def _told(self, row: int) -> Assessment | None:
        """Return what Ray's own events say of a call; None where a span says more, or its caller is gone."""
        if self._store.ray is None or not self._has_caller(row):
            return None
        from spanview.analysis.ray.told import CallOutcome, told_outcomes

        told = told_outcomes(self._store, [row]).get(row)
        if told is None:
            return None
        if told.is_over:
            return Assessment(False, told.as_ray_says) if self._has_no_attempt(row) else None
        runs = told.outcome is CallOutcome.RUNNING
        if self._has_no_attempt(row):
            since_ns, text = told.began_ns if runs else NO_TIME, f"{told.text}, as Ray says"
        elif told.made_ns > self._last_started(row):
            since_ns, text = told.began_ns if runs else told.made_ns, f"its next attempt {told.text}, as Ray says"
        else:
            return None
        return Assessment(True, text, runs=runs, is_likely=True, since_ns=since_ns)

    def _last_started(self, row: int) -> int:
        """Return when the last attempt of a call started of which a span is here, in nanoseconds since 1970."""
        spans = self._store.spans
        own, trace = spans.span_id[row], self._store.rows_of_trace(spans.trace[row])
        attempts = (each for each in trace if spans.parent_id[each] == own and spans.kind[each] == CONSUMER)
        return max(map(spans.start_ns.__getitem__, attempts), default=NO_TIME)

    def _has_grown_lately(self, row: int) -> bool:
        spans, since = self._store.spans, self._clock() - _GROWTH_S
        grown = self._processes_grown.get(spans.process[row]), self._traces_grown.get(spans.trace[row])
        return any(at is not None and at >= since for at in grown)

    def _has_no_attempt(self, row: int) -> bool:
        """Return whether a call still has no attempt."""
        calls = self._gaps_of(self._store.spans.trace[row]).calls
        index = bisect_left(calls, row)
        return index < len(calls) and calls[index] == row

    def _workers_of(self, caller: int, job: str) -> list[RayWorker]:
        """Return the workers that may run what a process has submitted: those of its session and its job."""
        logs = self._writers.sessions.get(caller)
        if logs is None:
            return []
        return [
            worker
            for worker in self._host.ray_workers()
            if worker.logs == logs and (worker.job == job or not (worker.job and job))
        ]

    def _is_explained(self, title: str) -> bool:
        """Return whether a worker's title is a function, method or class that files name: not an alias."""
        if title == IDLE:
            return True
        texts = self._store.names.texts
        functions = (texts[number].removesuffix(SUBMITTED) for number in call_names(self._store.names)[0])
        return any(f".{function}".endswith(f".{title}") or f".{title}." in f".{function}" for function in functions)

    # -- what records and processes show -----------------------------------------------------------------------------

    def _take_in_new_spans(self) -> None:
        """Take in the spans that have arrived."""
        spans, table = self._store.spans, self._store.trace_table
        was_loading, self._was_loading = self._was_loading, self._is_loading()
        count, traces = len(spans.next_row), len(table)
        if (count, traces) == (self._row_count, self._trace_count):
            return
        self._more_calls.extend(array("i", bytes(4 * (traces - len(self._more_calls)))))
        changed = set(range(self._trace_count, traces))
        for row in range(self._row_count, count):
            kind = spans.kind[row]
            if kind == CONSUMER:
                changed.add(spans.trace[row])
                if spans.parent_id[row]:
                    self._more_calls[spans.trace[row]] -= 1
            elif kind == PRODUCER:
                changed.add(spans.trace[row])
                self._more_calls[spans.trace[row]] += 1
        if not was_loading:
            now, new = self._clock(), slice(self._row_count, count)
            self._processes_grown |= dict.fromkeys(spans.process[new], now)
            self._traces_grown |= dict.fromkeys(spans.trace[new], now)
        self._row_count, self._trace_count = count, traces
        if changed:
            self._candidates = self._open_among(changed.union(self._candidates))[-_MAX_TRACES:]

    def _open_among(self, traces: Iterable[int]) -> list[int]:
        """Return those of some traces that have no root, or more calls than attempts, in order."""
        counts = self._store.trace_table.root_count
        return sorted(trace for trace in traces if not counts[trace] or self._more_calls[trace] > 0)


def _ended(*, was_alive: bool) -> str:
    return "has ended" if was_alive else "isn't running here"
