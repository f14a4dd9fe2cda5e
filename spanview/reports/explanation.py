"""What took the time in some traces, what failed, what is missing: sentences, each with the span that it rests on.

time      1.38 s = 1.20 s waiting before leaf ran (for a worker or resources) + 180 ms running
unusual   render took 812 ms itself, 40 times its median of 20 ms (312 spans)
failed    load failed 3 times: ValueError: bad, at app.py:31 in load
missing   2 of 37 calls have no attempt: …

Of one trace the stretches of its critical path come in the order of time; of several, what took most of all comes
first, and then the slowest one. Nothing is concluded here: whatever is said is what screens and other commands say.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from heapq import nlargest
from itertools import islice, pairwise
from operator import attrgetter
from time import time_ns
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

import numpy as np

from spanview.analysis.answer import Doing, answer_of, stretches_of, typical_answers
from spanview.analysis.critical import critical_by_name
from spanview.analysis.diagnosis.finding import SESSION, Certainty, Kind
from spanview.analysis.diagnosis.report import diagnose
from spanview.analysis.failures import are_made_good, errors_made_good, exceptions_in, failed_rows, retried_attempts
from spanview.analysis.forest_selftime import own_times_from
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.exits import cut_off_among, cut_off_by, cut_off_text, exits_among, is_cancelled
from spanview.analysis.ray.functions import functions_of
from spanview.analysis.ray.generators import generators_of
from spanview.analysis.ray.known_calls import KnownCalls
from spanview.analysis.ray.lanes import within_requests
from spanview.analysis.ray.names import RAN, SUBMITTED, function_of, rays_own_names, short_names, uncounted_names
from spanview.analysis.ray.reasons import Reason, open_calls
from spanview.analysis.ray.told import CallOutcome, attempt_counts, first_outcome, told_outcomes
from spanview.analysis.ray.unended import NO_UNENDED, Fate, known_until, open_end_of
from spanview.analysis.ray.wait_causes import WaitedFor
from spanview.analysis.ray.waited_for import reason_text
from spanview.analysis.ray.waits import lived_between
from spanview.analysis.ray.workers import process_name
from spanview.analysis.serve.groups import serve_groups
from spanview.analysis.serve.requests import (
    CANCELLED,
    Failure,
    Part,
    numbers_of,
    part_of_name,
    request_id_of,
    seen_requests,
    serve_requests,
)
from spanview.analysis.silent import failed_by_status, failure_in
from spanview.analysis.stats import slowest
from spanview.analysis.telling import part, unheard
from spanview.display.answer_text import as_far_as_known, stretch_text, whole_answer_text
from spanview.display.call_text import causes_text, waited_for_text
from spanview.display.sanitise import sanitise
from spanview.display.serve_text import request_text, status_text, sums_texts
from spanview.display.stacks import DIRECT_CAUSE, raised_in, stacks_of
from spanview.display.timing_text import wait_text
from spanview.display.trace_words import name_without_root
from spanview.display.tree_text import trace_title
from spanview.display.units import amount, count, duration, last_digit, moment, nearest, zone_name
from spanview.index.arrays import copy_of, values_at
from spanview.index.forest import forest_of, forests_of, incomplete_traces
from spanview.index.lives import OpenEnd, State
from spanview.index.part import part_of
from spanview.index.processes import has_starts
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.model.codes import CLIENT, CONSUMER, ERROR, PRODUCER, SERVER
from spanview.model.ids import format_span_id, format_trace_id
from spanview.model.problems import Severity
from spanview.model.times import NO_TIME
from spanview.reports import calls, serve
from spanview.reports.report import Report
from spanview.reports.table import TEXT, TIME_NS, Table, fact, sentences, worded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.analysis.answer import PathStretch
    from spanview.analysis.critical import Share
    from spanview.analysis.diagnosis.finding import Finding
    from spanview.analysis.diagnosis.report import Diagnosis
    from spanview.analysis.forest_selftime import Times
    from spanview.analysis.ray.calls import Call, Calls
    from spanview.analysis.ray.functions import Function
    from spanview.analysis.ray.running import Running
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.ray.waited_for import WaitReason
    from spanview.analysis.serve.groups import RequestGroup
    from spanview.analysis.serve.nested import NestedQueue
    from spanview.analysis.serve.requests import Request
    from spanview.analysis.silent import SilentFailure
    from spanview.analysis.telling import Tell
    from spanview.index.arrays import Flags, Places
    from spanview.index.forest import Forest
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.model.span import Span

_MOST_OF_TIME: Final = 5
"""Functions, routes and names that are named at first."""
_MOST_ASKED: Final = 20
"""Where these alone are asked for."""
_LEAST_SHARE: Final = 0.03
"""Of the whole; what takes less isn't named."""
_MOST_STRETCHES: Final = 8
_MOST_UNUSUAL: Final = 3
_NOT_SURE: Final = "   not sure: "
"""What stands before what isn't known of an answer."""
_LEAST_FOR_P95: Final = 20
"""Requests from which on their percentiles say something."""
_LEAST_USUAL: Final = 5
"""Spans of a name from which on something is usual for it."""
_GIVEN_UP: Final = frozenset(("408", "499"))
"""The status of a request for which Serve's time was over, and of one whose client has left."""
_REFUSED: Final = "503"
"""Of one that no replica takes."""
_UNUSUAL_TIMES: Final = 3
"""As many times the median are unusual."""
_MOST_FAILING: Final = 60
"""Traces whose failed spans are looked at, the newest; of the others, names are counted."""
_Groups: TypeAlias = defaultdict[tuple[str, str, Certainty], list[int]]
"""Calls and spans that people know by one name, of which one thing is said, with one certainty, by their rows."""
_MOST_FAILURES: Final = 40
_CLOCKS_NS: Final = 1_000_000
"""Clocks that differ by less say nothing wrong."""
_MAX_MESSAGE: Final = 160
"""Characters of what was raised."""
_NUMBERS: Final = re.compile("(?:0x)?[0-9a-f]*[0-9][0-9a-f]*")
"""What exceptions differ in that are counted together."""
_MAX_NAME: Final = 80
_OF_ALL: Final = ("check", "stats ", "tree -q ")
"""How commands begin that show as many traces as they are asked for."""
_CAUSES: Final = re.compile("[:,] ")
"""What stands before the causes of waiting."""
_LIKELY: Final = re.compile(r"\blikely\b")
_OF_CALLS: Final = frozenset((Kind.TRACE_CTX, Kind.NO_ATTEMPT, Kind.NO_END, Kind.UNTRACED, Kind.UNSET_ATTEMPTS))
"""What is found of calls that failed without leaving a failed span."""


class Topic(StrEnum):
    """What a statement is about; in their order."""

    ABOUT = "about"
    TIME = "time"
    RUNNING = "running"
    UNUSUAL = "unusual"
    FAILED = "failed"
    RETRIED = "retried"
    UNSEEN = "unseen"
    MISSING = "missing"


NOTHING: Final = {"": "", "ray": calls.NOTHING, "serve": serve.NOTHING}
"""What may be asked for, and what is said where nothing of it is there."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, and what it rests on."""

    topic: Topic
    text: str
    """Without an end, safe to print."""
    more: str = ""
    """The words behind `spanview` that show more, without PATHs."""
    certainty: Certainty = Certainty.CERTAIN
    ns: int | None = None
    """How much time it speaks of."""
    trace: int = -1
    """The number of the trace that shows it; -1 for none."""
    row: int = NO_ROW
    """The row of the span that it rests on; `NO_ROW` for none."""
    severity: Severity | None = None
    """How bad what was found is."""


@dataclass(frozen=True, slots=True)
class AlreadyFound:
    """What somebody who explains some traces knows of them already; None for what he doesn't."""

    checked: Diagnosis | None = None
    requests: Sequence[Request] | None = None
    shares: Sequence[Share] | None = None
    """What names take of critical paths, as `critical_by_name` returns it."""
    known: KnownCalls | None = None
    """Of all calls of the store."""
    silent: Mapping[int, SilentFailure] | None = None
    """What failed without an error, by row."""


def explanation(  # noqa: PLR0913 - what is asked, and what is known beside it
    store: Store,
    traces: Sequence[int] | None = None,
    by: str = "",
    *,
    unended: Mapping[int, Unended] = NO_UNENDED,
    session: str = SESSION,
    found: AlreadyFound = AlreadyFound(),
    rows: Sequence[int] = (),
    asked: Sequence[str] = (),
    tell: Tell = unheard,
) -> Report[Statement]:
    """Return what can be said of some traces, None for all.

    Args:
        by: `ray` or `serve`, where the time of calls or requests alone is asked for.
        unended: What has become of spans without an end, by row.
        session: The folder of Ray's latest session.
        found: What was found in these traces already.
        rows: What matched in the only trace: where all of it is of one request of Serve, that alone is explained.
        asked: The options by which these traces were asked for, where there are several.
    """
    table = store.trace_table
    chosen = [*range(len(table))] if traces is None else [*traces]
    explained = _Explanation(store, chosen, unended, session, found)
    if len(chosen) == 1:
        explained.find_requests({*rows})
    one_id = table.hex_id(chosen[0]) if len(chosen) == 1 else None
    only = shlex.join(asked if traces is None or one_id is None else ("--trace", one_id))
    said = [
        replace(one, more=f"{one.more} {only}") if only and one.more.startswith(_OF_ALL) else one
        for one in map(_as_sure_as_it_says, explained.statements(by, tell))
    ]
    head = {"traces": _usable(store, chosen), "trace_id": one_id}
    return Report("explanation", explanation_table(store), said, head, nothing=NOTHING[by])


def _exception_of(span: Span) -> tuple[str, str, str]:
    """Return type, message and stack trace of the last exception that a span has; each may be empty."""
    said: Iterator[Mapping[str, object]] = (event.attributes for event in reversed(span.events) if event.is_exception)
    exception = next(said, {})
    kind, message, trace = (str(exception.get(f"exception.{key}") or "") for key in ("type", "message", "stacktrace"))
    return kind, message, trace


def _usable(store: Store, traces: Collection[int]) -> int:
    """Return how many traces there are: spans without a usable id are of none."""
    return sum(store.trace_table.trace_id(trace) != 0 for trace in traces)


def _most_took_text(group: RequestGroup) -> str:
    """Return how long 95 of 100 requests took at most, with how many that are, as a clause; of few nothing."""
    totals, p95 = [request.total_ns for request in group.requests if request.total_ns is not None], group.total.p95
    if p95 is None or len(totals) < _LEAST_FOR_P95:
        return ""
    return f"; {sum(ns <= p95 for ns in totals):,} of {len(totals):,} took {duration(p95)} or less"


def _lacks_replica(request: Request) -> bool:
    """Tell whether a request was routed, and no span of a replica is there; one that all refused has none."""
    is_over = request.total_ns is not None and request.key.status != _REFUSED
    return is_over and Part.ROUTE in request.parts and Part.REPLICA not in request.parts


def _has_open_replica(request: Request) -> bool:
    """Tell whether how long a request was handled isn't known, though a span of its replica is there."""
    return request.total_ns is not None and request.handling_ns is None and Part.REPLICA in request.parts


def _as_sure_as_it_says(said: Statement) -> Statement:
    """Return a statement that is only likely where a part of it is: what took the time has many parts."""
    is_likely = said.topic is Topic.TIME and _LIKELY.search(said.text) is not None
    return replace(said, certainty=Certainty.LIKELY) if is_likely else said


def explanation_table(store: Store) -> Table[Statement]:
    """Return the columns of statements."""

    def trace_id(said: Statement) -> str | None:
        return None if said.trace < 0 else store.trace_table.hex_id(said.trace)

    def span_id(said: Statement) -> str | None:
        return None if said.row == NO_ROW else format_span_id(store.spans.span_id[said.row])

    def command(said: Statement) -> str | None:
        return f"spanview {said.more}" if said.more else None

    return Table(
        (
            worded("TOPIC", "topic", "what it is about", lambda said: said.topic.value, 8, schema={"enum": [*Topic]}),
            sentences("WHAT IS SAID", "text", "a sentence, without an end", attrgetter("text"), gap=1),
            fact("certainty", "how sure that is", {"enum": [*Certainty]}, lambda said: said.certainty),
            fact(
                "duration_ns", "how much time it speaks of; null where it speaks of none", TIME_NS, lambda said: said.ns
            ),
            fact("trace_id", "the trace that shows it; null where none does", TEXT, trace_id),
            fact("span_id", "the span that it rests on; null for what all spans show together", TEXT, span_id),
            fact("more", "the command that shows more, to which PATHs are to be added", TEXT, command),
        )
    )


class _RootEnded(NamedTuple):
    """When a root had ended that a trace outlives, and what is said of that; empty where it doesn't."""

    ns: int = NO_TIME
    text: str = ""
    """Behind how long the trace took."""
    after: str = ""
    """Of what came later."""


class _Explanation:
    """What can be said of some traces."""

    def __init__(
        self, store: Store, traces: Sequence[int], unended: Mapping[int, Unended], session: str, found: AlreadyFound
    ) -> None:
        self._store = store
        self._traces = traces
        self._unended = unended
        self._session = session
        self._found_before = found
        self._spans = store.spans
        self._texts = store.names.texts
        self._chosen = frozenset(traces)
        self._clocks_differ = False
        self._is_whole = len(traces) == len(store.trace_table)
        self._known = KnownCalls(store) if found.known is None else found.known
        self._requests = 0
        """How many requests of Serve are in the only trace, none of which is all of it."""
        self._have_ids = False
        """Whether their ids tell them apart."""
        self._rows = frozenset[int]()
        """Of the one request that is explained; empty where everything is."""

    def find_requests(self, asked: set[int]) -> None:
        """Find the requests that are a part of the only trace; if some rows are all of one, that alone is explained."""
        trace = self._traces[0]
        tree, seen, tops = self._store.tree(trace), seen_requests(self._store, [trace]), {ROOT: NO_ROW}
        for node in tree.in_order() if seen else ():
            row, above = NO_ROW if tree.is_missing(node) else tree.rows[node], tops[tree.parents[node]]
            tops[node] = row if above == NO_ROW and row in seen else above
        parts = {*tops.values()} - {NO_ROW, self._store.trace_table.root_row[trace]}
        self._requests = len(parts)
        # What a request calls has its id.
        ids = {request_id_of(self._store.span(row).attributes) for row in islice(sorted(parts), _MOST_ASKED)} - {""}
        self._have_ids = len(ids) > 1
        of_asked = {tops[node] for node, row in enumerate(tree.rows) if row in asked} if parts else set[int]()
        if len(of_asked) == 1 and of_asked <= parts:
            self._rows = frozenset(row for node, row in enumerate(tree.rows) if tops[node] in of_asked)

    def _is_asked(self, row: int) -> bool:
        return not self._rows or row in self._rows

    def statements(self, by: str, tell: Tell) -> Iterator[Statement]:
        """Yield all, topic by topic, the most important of each first."""
        if not self._traces:
            return
        if by:
            asked = [*(self._of_calls(_MOST_ASKED) if by == "ray" else self._of_requests(_MOST_ASKED))]
            failed = [*self._failed()]
            if failed and not (asked or (len(self._own_calls) if by == "ray" else self._served)):
                yield Statement(Topic.ABOUT, NOTHING[by], "check")
            yield from asked
            yield from failed
            yield from self._failed_without_error() if by == "ray" else self._answered_so()
            yield from (said for said in self._found(tell) if by == "ray" and said.topic is Topic.UNSEEN)
            return
        found = [] if self._rows else [*self._found(part(tell, 0, 0.4))]
        if self._rows:
            yield from self._of_request(self._traces[0])
        else:
            yield from self._of_one(self._traces[0]) if len(self._traces) == 1 else self._of_many(part(tell, 0.4, 0.8))
            tell(0.8)
            yield from self._now()
            yield from self._unusual()
        tell(0.9)
        yield from self._failed()
        yield from self._failed_without_error()
        yield from self._answered_so()
        yield from self._retried()
        yield from self._cut_off()
        yield from found

    # -- where the time went -----------------------------------------------------------------------------------------

    def _of_many(self, tell: Tell) -> Iterator[Statement]:
        store, table, traces = self._store, self._store.trace_table, self._traces
        starts = [ns for trace in traces if (ns := table.start_ns[trace]) != NO_TIME]
        ends = [ns for trace in traces if (ns := table.end_ns[trace]) != NO_TIME]
        until = known_until(self._unended)
        ends += [ns for row, ns in until.items() if self._spans.trace[row] in self._chosen]
        spans, errors = (sum(map(column.__getitem__, traces)) for column in (table.span_count, table.error_count))
        text = f"{count(_usable(store, traces), 'trace')} with {count(spans, 'span')}"
        if starts and ends:
            of_chosen = {row: fate for row, fate in self._unended.items() if self._spans.trace[row] in self._chosen}
            is_open = len(known_until(of_chosen)) < len(of_chosen)
            end = OpenEnd.EARLIEST if is_open else open_end_of(of_chosen, max(ends))
            (lasted,) = as_far_as_known([duration(max(ends) - min(starts))], end)
            about = "about " if self._clocks_differ else ""
            text += f" in {about}{lasted}, from {about}{moment(min(starts))} {zone_name(min(starts))}"
        # Of those whose last attempt has an error its span is counted.
        failed = sum(function.failed for function in self._functions) - self._failed_by_span
        # Of some calls without an attempt nothing says that they failed.
        whys = self._known.reasons_among(self._calls.without_attempt).values()
        least = "at least " if any(why.reason in {Reason.UNKNOWN, Reason.BEGUN} for why in whys) else ""
        kind = f"{'other ' if errors else ''}call"
        also = [f"{least}{count(failed, kind)} failed or {'was' if failed == 1 else 'were'} lost"] if failed else []
        also += [f"{count(len(self._by_status), 'request')} failed by status code"] if self._by_status else []
        if raised := [*self._broken_off.values()].count(Failure.RAISED):
            also.append(f"{count(raised, 'request')} raised an exception")
        but = f", {'and' if errors else 'but'} {' and '.join(also)}" if also else ""
        failed_text = (
            f"{count(errors, 'span')} failed"
            if errors
            else "no span has the status ERROR"
            if also
            else "no span failed"
        )
        certainty = Certainty.LIKELY if self._clocks_differ else Certainty.CERTAIN
        yield Statement(Topic.ABOUT, f"{text}; {failed_text}{but}", "check", certainty)
        rays_own, root_of = uncounted_names(store), table.root_row
        # What has no root may have come together by an id alone, and what Ray began is none of the program's.
        others = [
            trace for trace in traces if root_of[trace] != NO_ROW and self._spans.name[root_of[trace]] not in rays_own
        ]
        # Where Serve's controller began the trace of requests, they answer for it.
        has_requests = bool(seen_requests(store, {*traces} - {*others}))
        typical = None if has_requests else typical_answers(store, others or traces, tell, self._known)
        if typical is not None:
            trace = typical.slowest_trace
            longest = whole_answer_text(typical.slowest, short_names(typical.slowest.names))
            (longest,) = as_far_as_known([longest], typical.slowest_end)
            longest += self._root_ended(trace, typical.slowest.total_ns).text
            whose = "" if len(others or traces) == len(traces) else " of the program"
            whose = (
                " with a root" if whose and all(root_of[trace] == NO_ROW for trace in {*traces} - {*others}) else whose
            )
            whose += " known to have ended" if typical.traces < len(others or traces) else ""
            which = "the only trace" if typical.traces == 1 else f"the slowest of {count(typical.traces, 'trace')}"
            whose += " as far as is known" * typical.may_be_slower
            lead = f"{which}{whose}, {self._name_of_trace(trace)}: "
            tree = self._store.tree(trace)
            is_unsure = typical.slowest.doubts or not self._lack_replicas.isdisjoint(tree.rows)
            is_unsure = is_unsure or self._lead_through_cancelled(tree, known_until(self._unended))
            doubts = Certainty.LIKELY if is_unsure or _NOT_SURE in longest else Certainty.CERTAIN
            more, root = f"explain {self._id(trace)}", table.root_row[trace]
            yield Statement(Topic.TIME, lead + longest, more, doubts, typical.slowest.total_ns, trace, root)
        yield from self._of_requests(_MOST_OF_TIME)
        yield from self._of_calls(_MOST_OF_TIME)
        yield from self._on_paths(tell)

    @cached_property
    def _own_calls(self) -> Calls:
        """The program's calls: what listens for as long as Ray and Serve live took no time of its own."""
        return self._calls.without(rays_own_names(self._store))

    @cached_property
    def _functions(self) -> list[Function]:
        known = self._known if self._is_whole else None
        return functions_of(self._store, self._own_calls, None, self._unended, known)

    @property
    def _failed_by_span(self) -> int:
        """How many of the calls that failed have a failed span that says so: of their last attempt, or their own."""
        calls, statuses = self._own_calls, copy_of(self._spans.status)
        failed = calls.last_attempts[statuses[calls.last_attempts] == ERROR]
        left_out = exits_among(self._store, failed.tolist()) | calls.tried_again | calls.withdrawn
        alone = calls.rows[calls.counts == 0]
        refused = {*alone[statuses[alone] == ERROR].tolist()} - self._not_calls
        return int((~np.isin(failed, [*left_out])).sum()) + len(refused)

    @cached_property
    def _not_calls(self) -> frozenset[int]:
        """The spans with an error that aren't calls, by row: `get_if_exists` found an actor that was just made."""
        alone = self._calls.rows[self._calls.counts == 0]
        failed = alone[values_at(self._spans.status, alone) == ERROR].tolist()
        return frozenset(row for row, why in self._known.reasons_among(failed).items() if not why.is_call)

    @cached_property
    def _by_status(self) -> Mapping[int, SilentFailure]:
        """Requests that failed by status code, by row, where no error and no other trace says so.

        Of a client and its server the client counts.
        """
        silent, kinds, traces = self._found_before.silent, self._spans.kind, self._spans.trace
        found = failed_by_status(self._store, self._traces) if silent is None else silent
        errors = self._store.trace_table.error_count
        rows = [
            row
            for row in found
            if kinds[row] in {SERVER, CLIENT} and not errors[traces[row]] and row not in self._unended
        ]
        if not rows:
            return {}
        failed = [trace for trace in self._traces if errors[trace]]
        own = {*self._not_within_others([*failed, *{traces[row] for row in rows}])}
        rows = [row for row in rows if traces[row] in own]
        forest = forest_of(self._store, {traces[row] for row in rows})
        have_failed, kinds_of = np.isin(forest.rows, rows), forest.of("kind")
        above = np.maximum(forest.parents, 0)
        are_served = (forest.parents >= 0) & have_failed[above] & (kinds_of[above] == CLIENT) & (kinds_of == SERVER)
        return {row: found[row] for row in forest.rows[have_failed & ~are_served].tolist()}

    @cached_property
    def _served(self) -> Sequence[Request]:
        """The requests of Ray Serve that are asked about."""
        found = self._found_before.requests
        requests = serve_requests(self._store, self._traces) if found is None else found
        return [request for request in requests if self._is_asked(request.rows[0])]

    @cached_property
    def _awaited(self) -> Mapping[int, NestedQueue]:
        """The responses that requests may have waited for in queues, by the rows of their replicas."""
        return {one.rows[-1]: one.awaited for one in self._served if one.awaited is not None}

    @cached_property
    def _lack_replicas(self) -> frozenset[int]:
        """The spans of requests whose replica's span may be lost, and of who called: nobody knows what took so long."""
        lost = [one for one in self._served if _lacks_replica(one) and not self._given_up_unbegun(one)]
        forest = forest_of(self._store, {self._spans.trace[one.rows[0]] for one in lost})
        above = forest.parents[np.isin(forest.rows, [one.rows[0] for one in lost])]
        return frozenset((*(row for one in lost for row in one.rows), *forest.rows[above[above >= 0]].tolist()))

    @cached_property
    def _broken_off(self) -> Mapping[int, Failure]:
        """Requests that raised, or were cancelled, in traces without an error, by the row of the span that says so."""
        errors, traces = self._store.trace_table.error_count, self._spans.trace
        said = {request.failed_row(self._store): request.failure for request in self._served}
        return {
            row: failure
            for row, failure in said.items()
            if row is not None and failure in {Failure.RAISED, Failure.CANCELLED} and not errors[traces[row]]
        }

    def _of_calls(self, most: int) -> Iterator[Statement]:
        """Yield what calls waited for and how long they ran, the functions first that took most."""
        calls, functions = self._own_calls, self._functions
        taken = {one.function: sum(_spent(one).values()) for one in functions}
        whole, names = sum(taken.values()), short_names(f"{name}{RAN}" for name in taken)
        taken_by_call, counts, ends = _taken(calls), calls.counts, copy_of(self._spans.end_ns)
        in_order = sorted(functions, key=lambda one: (-taken[one.function], one.function))
        for function in islice(in_order, most):
            ns, indices = taken[function.function], calls.indices_of(function.function)
            if not ns or not indices or ns < _LEAST_SHARE * whole:
                return
            longest = calls[indices[int(taken_by_call[indices].argmax())]]
            waited, *for_what = _CAUSES.split(waited_for_text(function), 1)
            parts = [what.format(duration(spent)) for what, spent in _spent(function).items() if spent]
            if waited:
                parts[0] = waited + "".join(f" ({text})" for text in for_what)
            name = self._said(names.get(f"{function.function}{RAN}", function.function))
            took = f"{duration(ns)}{' together' if function.calls > 1 else ''}"
            text = f"{count(function.calls, 'call')} of {name} took {took} = {' + '.join(parts)}"
            have_run = np.asarray(indices)[counts[indices] > 0]
            without_end = ends[calls.attempts[calls.firsts[have_run + 1] - 1]].tolist().count(NO_TIME)
            lacking = [f"what {without_end:,} without an end ran"] if without_end else []
            without = function.no_attempt + function.untraced
            lacking += [f"what {without:,} without an attempt took"] if without else []
            if lacking:
                text += f"; {' and '.join(lacking)} isn't counted"
            sure = all(kind.is_sure(is_certain=part.is_certain) for kind, part in function.wait_parts)
            row = longest.attempts[-1] if longest.attempts else longest.row
            certainty = Certainty.CERTAIN if sure else Certainty.LIKELY
            yield self._of_row(Topic.TIME, text, row, "stats --by ray", certainty=certainty, ns=ns)

    def _of_requests(self, most: int, *, only_unbegun: bool = False) -> Iterator[Statement]:
        """Yield what requests to each route were spent on, those first that took most.

        Args:
            most: How many routes at the most.
            only_unbegun: Whether only that is asked for which no replica had begun, or is seen to have.
        """
        found = serve_groups(self._store, requests=self._served)
        groups = [group for group in found if group.sums.total]
        whole = sum(group.sums.total for group in groups if not group.requests[0].is_nested)
        of_replicas = [self._texts[number] for number in numbers_of(self._store.names, Part.REPLICA)]
        groups.sort(key=lambda group: (group.requests[0].is_nested, -group.sums.total))
        for group in islice(groups, most):
            if group.sums.total < _LEAST_SHARE * whole:
                continue
            row = group.requests[0].rows[0]
            ending = f", status {status_text(group.key)}" if group.key.status else ""
            text = f"{request_text(group.key)}{ending}: {(sums_texts(group) or [''])[0]}{_most_took_text(group)}"
            unbegun_text = ""
            early_ns = sum(map(self._queued_before_any, group.requests))
            if 2 * early_ns >= group.sums.total:
                early = "in the queue before a replica's first request, while no other is seen to handle one"
                early += ": it may have been starting"
                # One without an end may have handled a request meanwhile.
                bound = "at most " if any(f" {group.key.deployment} " in text for text in self._open_replicas) else ""
                unbegun_text += f"; {bound}{duration(early_ns)} {early}"
            is_seen = any(f" {group.key.deployment} " in text for text in of_replicas)
            unbegun = [*filter(None, map(self._given_up_unbegun, group.requests if is_seen else ()))]
            certainty = Certainty.CERTAIN
            if sum(unbegun) >= _LEAST_SHARE * group.sums.total:
                which, certainty = "it" if group.count == 1 else f"{len(unbegun):,} of them", Certainty.LIKELY
                in_queue = f"likely in the queue for {duration(sum(unbegun))}"
                unbegun_text += f"; no replica is seen to have begun {which}, {in_queue}"
            awaited = [*filter(None, (one.awaited for one in group.requests))]
            if sum(one.ns for one in awaited) >= _LEAST_SHARE * group.sums.total:
                certainty = Certainty.LIKELY
                of_whom = ", ".join(sorted({f"{one.deployment}'s" for one in awaited}))
                ns = sum(one.ns for one in awaited)
                unbegun_text += f"; {duration(ns)} of the queue may have been waiting for {of_whom} response"
            if lost := sum(map(_lacks_replica, group.requests)) - len(unbegun):
                which = "it has" if group.count == 1 else f"{lost:,} of them {'has' if lost == 1 else 'have'}"
                unbegun_text += f"; {which} no span of a replica: lost, elsewhere, or never begun"
            if unended := sum(map(_has_open_replica, group.requests)):
                which = "it" if group.count == 1 else f"{unended:,} of them"
                unbegun_text += f"; of {which} the replica's span has no end: the handling counts as other"
            if unbegun_text or not only_unbegun:
                traces = (self._spans.trace[request.rows[0]] for request in group.requests)
                if group.nested_queues and not self._have_open_replicas.isdisjoint(traces):
                    unbegun_text += "; replicas without an end count as running: more may have been queued"
                more, text = "stats --by serve-request", text + unbegun_text
                yield self._of_row(Topic.TIME, text, row, more, certainty=certainty, ns=group.sums.total)
        alone = [] if only_unbegun else [group for group in found if not group.sums.total]
        yield from islice(self._of_replicas_alone(alone), most)

    def _of_replicas_alone(self, groups: Iterable[RequestGroup]) -> Iterator[Statement]:
        """Yield how long requests were handled of which nothing else is known, as those through a handle."""
        for group in groups:
            if ns := sum(one.handling_ns or 0 for one in group.requests):
                ending = f", status {status_text(group.key)}" if group.key.status else ""
                text = f"{request_text(group.key)}{ending}: {duration(ns)} handling in {count(group.count, 'request')}"
                text += "; no span of a proxy or a routing is here"
                yield self._of_row(Topic.TIME, text, group.requests[0].rows[0], "stats --by serve-request", ns=ns)

    def _given_up_unbegun(self, request: Request) -> int:
        """Return how long a request was routed until it was given up, where no replica is seen to have begun it."""
        rows, spans = dict(zip(request.parts, request.rows, strict=True)), self._spans
        is_given_up = request.failure is Failure.CANCELLED or request.key.status in _GIVEN_UP
        row = rows.get(Part.ROUTE) if is_given_up and request.total_ns is not None else None
        return 0 if row is None or Part.REPLICA in rows else spans.end_ns[row] - spans.start_ns[row]

    def _queued_before_any(self, request: Request) -> int:
        """Return how long a request was in the queue before its replica had begun any, and after others had any."""
        replica = dict(zip(request.parts, request.rows, strict=True)).get(Part.REPLICA)
        if replica is None or not request.queue_ns or request.total_ns is None or request.awaited is not None:
            return 0
        queued_ns = self._spans.start_ns[replica] - request.queue_ns
        first_ns, others_ns = self._first_starts[self._spans.process[replica]]
        return max(0, first_ns - max(queued_ns, others_ns))

    @cached_property
    def _open_replicas(self) -> Sequence[str]:
        """The names of spans of replicas without an end: at least until when they ran may be known."""
        names, ends = copy_of(self._spans.name), copy_of(self._spans.end_ns)
        without = np.unique(names[: len(ends)][ends[: len(names)] == NO_TIME]).tolist()
        return [self._texts[name] for name in without if part_of_name(self._texts[name]) is Part.REPLICA]

    @cached_property
    def _have_open_replicas(self) -> frozenset[int]:
        """The traces with replicas without an end."""
        numbers = [*self._store.names.numbers(self._open_replicas)]
        names, ends, traces = map(copy_of, (self._spans.name, self._spans.end_ns, self._spans.trace))
        size = min(map(len, (names, ends, traces)))
        are_open = np.isin(names[:size], numbers) & (ends[:size] == NO_TIME)
        return frozenset(traces[:size][are_open].tolist())

    @cached_property
    def _first_starts(self) -> Mapping[int, tuple[int, int]]:
        """When each replica's process began its first request, and when others of its deployment had last had one."""
        processes, starts, ends = map(copy_of, (self._spans.process, self._spans.start_ns, self._spans.end_ns))
        ends = ends.copy()
        for row, ns in known_until(self._unended).items():
            ends[row] = ns
        names, size = copy_of(self._spans.name), min(map(len, (processes, starts, ends)))
        by_deployment = defaultdict[str, list[int]](list)
        for number in numbers_of(self._store.names, Part.REPLICA):
            by_deployment[self._texts[number].partition(" ")[2].partition(" ")[0]].append(number)
        firsts = dict[int, tuple[int, int]]()
        for numbers in by_deployment.values():
            rows = np.flatnonzero(np.isin(names[:size], numbers) & (starts[:size] != NO_TIME))
            rows = rows[np.argsort(starts[rows], kind="stable")]
            # Of some without an end only the start is known.
            lasts = np.maximum.accumulate(np.maximum(starts[rows], ends[rows]))
            for process, index in zip(*np.unique(processes[rows], return_index=True), strict=True):
                first_ns = int(starts[rows[index]])
                firsts[int(process)] = first_ns, min(first_ns, int(lasts[index - 1])) if index else NO_TIME
        return firsts

    def _on_paths(self, tell: Tell) -> Iterator[Statement]:
        """Yield which other spans the critical paths lead through."""
        found = self._found_before.shares
        shares = critical_by_name(self._store, self._traces, tell) if found is None else found
        # What lies between attempts of a constructor is in no share.
        table, known = self._store.trace_table, sum(share.self_ns + share.wait_ns for share in shares)
        ends = [(table.start_ns[trace], table.end_ns[trace]) for trace in self._traces]
        whole = max(known, sum(end - start for start, end in ends if NO_TIME not in (start, end) and end > start))
        others = [one for one in shares if not _is_of_ray(one.name) and part_of_name(one.name) is None]
        others.sort(key=lambda one: -one.self_ns)
        for share in others[:_MOST_UNUSUAL]:
            if share.self_ns < _LEAST_SHARE * whole:
                continue
            number = self._store.names[share.name]
            row = next(iter(slowest(self._store, self._spans.name, {number}, self._traces, 1)), NO_ROW)
            text = (
                f"{self._said(share.name)} itself took {duration(share.self_ns)}, {share.self_ns / whole:.0%} of the "
                f"critical paths of {count(len(self._traces), 'trace')}"
                f"{f', of which {share.unsure:,} may have led elsewhere' if share.unsure else ''}"
            )
            certainty = Certainty.LIKELY if share.unsure else Certainty.CERTAIN
            yield self._of_row(Topic.TIME, text, row, "stats --by critical-path", certainty=certainty, ns=share.self_ns)

    def _of_one(self, trace: int) -> Iterator[Statement]:
        """Yield where one trace's time went, and the longest stretches of its critical path in the order of time."""
        store, tree = self._store, self._store.tree(trace)
        root, trace_id = store.trace_table.root_row[trace], self._id(trace)
        unended = {row: self._unended[row] for row in tree.rows if row in self._unended}
        reasons, open_calls = self._known.reasons_and_open(tree)
        title = trace_title(store, trace, tree, unended=unended, reasons=reasons, open_calls=open_calls)
        yield Statement(
            Topic.ABOUT, f"{self._name_of_trace(trace)}: {title}", f"tree --trace {trace_id}", trace=trace, row=root
        )
        if self._requests:
            text = f"{count(self._requests, 'request')} to deployments of Serve in this trace"
            text += ": `spanview explain -q request_id=ID` tells of one alone" * self._have_ids
            yield Statement(Topic.TIME, text, "stats --by serve-request", trace=trace)
            yield from self._of_requests(_MOST_OF_TIME)
        until = known_until(unended)
        answer = answer_of(store, trace, tree, until, self._known)
        text = whole_answer_text(answer, short_names(answer.names), len(open_calls))
        if not text:
            return
        (text,) = as_far_as_known([text], open_end_of(unended, store.trace_table.end_ns[trace]))
        ended = self._root_ended(trace, answer.total_ns)
        text += ended.text
        is_unsure = answer.doubts or not self._lack_replicas.isdisjoint(tree.rows)
        is_unsure = is_unsure or self._lead_through_cancelled(tree, until)
        sure = Certainty.LIKELY if is_unsure else Certainty.CERTAIN
        more, said = f"tree --bars --trace {trace_id}", Certainty.LIKELY if _NOT_SURE in text else sure
        yield Statement(Topic.TIME, text, more, said, answer.total_ns, trace, root)
        if not self._requests:
            yield from self._of_requests(_MOST_OF_TIME, only_unbegun=True)
        yield from self._stretches(tree, until, sure, store.trace_table.start_ns[trace], ended)

    def _of_request(self, trace: int) -> Iterator[Statement]:
        """Yield the same of one request of Serve, which is a part of a trace."""
        whole, spans = self._store.tree(trace), self._spans
        tree = whole.of([node for node, row in enumerate(whole.rows) if row in self._rows])
        row = tree.rows[tree.roots[0]]
        within = f"one of {count(self._requests, 'request')} in trace {self._id(trace)}"
        text = f"{self._short(self._texts[spans.name[row]])}: {within}, which began as {self._name_of_trace(trace)}"
        yield Statement(Topic.ABOUT, text, f"tree --trace {self._id(trace)}", trace=trace, row=row)
        yield from self._of_requests(_MOST_OF_TIME)
        sure = Certainty.CERTAIN if self._rows.isdisjoint(self._unended) else Certainty.LIKELY
        # What its context led to when it had been answered is none of its time.
        answered = _RootEnded(spans.end_ns[row])
        yield from self._stretches(tree, known_until(self._unended), sure, spans.start_ns[row], answered)

    def _within_cancelled(self, tree: TraceTree) -> Mapping[int, str]:
        """Return which spans are, or are below, calls that were cancelled, by row, with the name of each call."""
        rows = np.array([row for row in tree.rows if self._spans.kind[row] == CONSUMER], np.int64)
        cut_off = {row for row in cut_off_among(self._store, rows) if is_cancelled(self._store, row)}
        cancelled = {*self._calls.told_cancelled.intersection(tree.rows), *cut_off}
        named = [""] * (len(tree) + 1)
        # The last is above the roots.
        for node in tree.in_order() if cancelled else ():
            row = tree.rows[node] if node < len(tree.rows) else NO_ROW
            named[node] = self._who(row) if row in cancelled else named[tree.parents[node]]
        return {row: name for row, name in zip(tree.rows, named, strict=False) if name}

    def _lead_through_cancelled(self, tree: TraceTree, until: Mapping[int, int]) -> bool:
        """Return whether a twentieth of a critical path or more is of calls that were cancelled."""
        if not (within := self._within_cancelled(tree)):
            return False
        stretches = stretches_of(self._store, tree, until)
        ns = sum(stretch.ns for stretch in stretches if stretch.row in within)
        return ns >= _LEAST_SHARE * sum(stretch.ns for stretch in stretches)

    def _root_ended(self, trace: int, total_ns: int) -> _RootEnded:
        """Return when the root of a trace ended, or the call that it submits, where that is well before the trace."""
        root, begin = self._store.trace_table.root_row[trace], self._store.trace_table.start_ns[trace]
        if root == NO_ROW:
            return _RootEnded()
        rows = self._known.calls.attempts_of(root) if self._spans.kind[root] == PRODUCER else [root]
        ends = [self._spans.end_ns[row] for row in rows]
        ended_ns = NO_TIME if NO_TIME in ends else max(ends, default=NO_TIME)
        if ended_ns == NO_TIME or total_ns - (ended_ns - begin) < _LEAST_SHARE * total_ns:
            return _RootEnded()
        name = self._who(root)
        return _RootEnded(
            ended_ns, f"; {name} itself ended after {duration(ended_ns - begin)}", f", after {name} had ended"
        )

    def _stretches(
        self, tree: TraceTree, until: Mapping[int, int], sure: Certainty, begin: int, ended: _RootEnded
    ) -> Iterator[Statement]:
        """Yield the longest stretches of a path by time; none from a root's end on of which nothing is to be said."""
        stretches = stretches_of(self._store, tree, until)
        if ended.ns != NO_TIME and not ended.after:
            stretches = [stretch for stretch in stretches if stretch.start_ns < ended.ns]
        whole, told = sum(stretch.ns for stretch in stretches), {span.told_ns for span in self._unended.values()}
        within = self._within_cancelled(tree)
        for stretch in sorted(nlargest(_MOST_STRETCHES, stretches, key=attrgetter("ns")), key=attrgetter("start_ns")):
            if stretch.ns < _LEAST_SHARE * whole:
                continue
            text, certainty = stretch_text(stretch, self._short_names), sure
            reason = self._known.wait_reason_of(stretch.row) if stretch.doing is Doing.WAITING else None
            if reason is not None:
                text += f", {self._causes_of(reason, stretch) or self._waited_for(reason, stretch.row)}"
                if reason.row != NO_ROW:
                    text += self._waited_too(reason, stretch) or self._within(tree, until, reason.row, stretch)
                certainty = Certainty.CERTAIN if reason.is_sure else Certainty.LIKELY
            unended = None if reason is not None else self._unended.get(stretch.row)
            certainty = certainty if unended is None else Certainty.LIKELY
            doubt = stretch.doubt or self._doubt(tree, stretch, reason, within)
            certainty = Certainty.LIKELY if doubt else certainty
            text += f" ({sanitise(doubt, _MAX_MESSAGE)})" if doubt else ""
            text += ended.after if stretch.start_ns >= ended.ns else ""
            bound = "at most " if unended is not None and unended.is_told else ""
            if stretch.doing in {Doing.WAITING, Doing.RETRYING}:
                bound = "at least " if stretch.start_ns in told else ""
            text = f"at +{duration(stretch.start_ns - begin)}: {bound}{duration(stretch.ns)} {text}"
            yield self._of_row(
                Topic.TIME, text, stretch.row, "spans -q span={span}", certainty=certainty, ns=stretch.ns
            )

    def _doubt(
        self, tree: TraceTree, stretch: PathStretch, reason: WaitReason | None, within: Mapping[int, str]
    ) -> str:
        """Return what may not be so of a stretch, beside what its path leaves open; empty for nothing."""
        if stretch.row in self._lack_replicas:
            return "a replica's span may be lost"
        awaited = self._awaited.get(stretch.row) if stretch.doing is Doing.QUEUED else None
        if awaited is not None and 2 * awaited.ns >= stretch.ns:
            return f"it may have been waiting for {awaited.deployment}'s response"
        if reason is not None and self._known.attempts.may_have_run_before(stretch.row):
            return f"{self._who(stretch.row)} may have run before: its actor was made again"
        is_unknown = stretch.doing is Doing.WAITING and (reason is None or not reason.is_known)
        if is_unknown and self._is_without_parent(tree, stretch):
            return f"{self._who(stretch.row)} may have run before: what began meanwhile has no parent here"
        return f"{within[stretch.row]} was cancelled: nobody may have waited for it" if stretch.row in within else ""

    def _is_without_parent(self, tree: TraceTree, stretch: PathStretch) -> bool:
        """Tell whether something began in a stretch whose parent isn't here, as one that died with its worker."""
        parentless = (tree.rows[child] for node in tree.roots if tree.is_missing(node) for child in tree.children(node))
        starts = map(self._spans.start_ns.__getitem__, parentless)
        return any(stretch.start_ns <= start < stretch.start_ns + stretch.ns for start in starts)

    def _causes_of(self, reason: WaitReason, wait: PathStretch) -> str:
        """Return what a wait was for in parts, where of none it is known that it was most; else empty."""
        if reason.is_known or not reason.is_certain:
            return ""
        parts, step = self._known.attempts.reasons_of([wait.row]).parts_of(wait.row), last_digit(wait.ns)
        if nearest(sum(parts.values()) - wait.ns, step):
            return ""
        return causes_text(parts.items(), step, len(parts), is_certain=True)

    def _waited_for(self, reason: WaitReason, row: int) -> str:
        """Return what an attempt waited for; where that isn't known, what went on meanwhile."""
        if reason.is_known:
            return reason_text(self._store, reason)
        return wait_text(self._store, self._known.attempts, reason, row)

    def _waited_too(self, reason: WaitReason, wait: PathStretch) -> str:
        """Return what an attempt that another one waited for waited for in most of that wait, where that is known."""
        row, attempts, started_ns = reason.row, self._known.attempts, self._spans.start_ns[reason.row]
        had_to_end = reason.waited_for in {WaitedFor.ARGUMENTS, WaitedFor.CREATION}
        if not (had_to_end or reason.is_behind) or started_ns > wait.start_ns + wait.ns:
            return ""
        # Of an attempt that others preceded nobody knows when it began to wait.
        waits = attempts.reasons_of([row] if attempts.reason_of(row) is not None else [])
        ns = min(started_ns - wait.start_ns, sum(waits.parts_of(row).values()))
        before = waits.at_last(row, ns) if 2 * ns >= wait.ns else None
        if before is None:
            return ""
        return f"; {self._who(row)} waited {duration(ns)} of that {reason_text(self._store, before)}"

    def _within(self, tree: TraceTree, until: Mapping[int, int], row: int, wait: PathStretch) -> str:
        """Return what a span that others waited for spent most of that wait on, where that was something below it."""
        if row not in tree.rows:
            return ""
        below = {tree.rows.index(row)}
        for node in tree.in_order():
            below |= {node} if tree.parents[node] in below else set()
        end_ns, longest = wait.start_ns + wait.ns, ("", 0)
        for stretch in stretches_of(self._store, tree.of(sorted(below)), until):
            ns = min(end_ns, stretch.start_ns + stretch.ns) - max(wait.start_ns, stretch.start_ns)
            if stretch.row != row and not stretch.doubt and ns > longest[1]:
                longest = stretch_text(stretch, self._short_names), ns
        text, ns = longest
        return f"; {self._who(row)} spent {duration(ns)} of that {text}" if 2 * ns >= wait.ns else ""

    def _now(self) -> Iterator[Statement]:
        """Yield what has been running, and waiting, for longest, as processes of this host show."""
        if self._store.ask_lives is None:
            return
        running, rays_own = cast("Running", self._store.ask_lives(self._store)), rays_own_names(self._store)
        asked = frozenset(open_calls(self._known.calls, self._known.reasons))
        found = running.open_spans(sorted(asked), None if self._is_whole else self._chosen)
        found = [span for span in found if span.since_ns != NO_TIME and self._spans.name[span.row] not in rays_own]
        now_ns = time_ns()
        for state in (State.RUNNING, State.WAITING):
            of_state = sorted((span for span in found if span.state is state), key=attrgetter("since_ns", "row"))
            if not of_state:
                continue
            oldest, more = of_state[0], len(of_state) - 1
            name, age = self._who(oldest.row), duration(oldest.age_ns(now_ns) or 0)
            if state is State.RUNNING:
                # Of a call Ray says that it runs as soon as its function and arguments are loaded.
                is_call, are_calls = oldest.row in asked, any(span.row in asked for span in of_state[1:])
                text = f"{name} has been running{', or was loaded,' * is_call} for {age}"
                others = f"{count(more, 'other')} {'runs' if more == 1 else 'run'}"
                others += f", or {'is' if more == 1 else 'are'} loaded" * are_calls
            else:
                since, again = ("tried again", " again") if oldest.is_again else ("submitted", "")
                text, others = f"{name}, {since} {age} ago, has not been seen to run{again}", count(more, "other call")
                # Some may have run, and are to be tried again.
                are_alike = all(span.is_again == oldest.is_again for span in of_state)
                others += f" {'has' if more == 1 else 'have'} not, either" if are_alike else " may wait, too"
            text += f" ({sanitise(oldest.text, _MAX_MESSAGE)}){f'; {others}' if more else ''}"
            # That it hasn't been seen to run is so, whatever became of it.
            certainty = oldest.certainty or Certainty.CERTAIN
            yield self._of_row(Topic.RUNNING, text, oldest.row, "stats --by running", certainty=certainty)

    # -- what is out of the ordinary ---------------------------------------------------------------------------------

    def _unusual(self) -> Iterator[Statement]:
        """Yield which spans took many times the time of their own that spans of their name usually take."""
        parts = [_ran_themselves(forest) for forest, _ in forests_of(self._store)]
        if not parts:
            return
        rows, own, await_endless = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((rows, own, values_at(self._spans.name, rows)))
        rows, own, await_endless = rows[order], own[order], await_endless[order]
        names, of_traces = values_at(self._spans.name, rows), values_at(self._spans.trace, rows)
        firsts = np.flatnonzero(np.diff(names.astype(np.int64), prepend=-1))
        counts = np.diff(np.append(firsts, len(rows)))
        middle = own[firsts + (counts - 1) // 2], own[firsts + counts // 2]
        medians = np.repeat(middle[0] + (middle[1] - middle[0]) // 2, counts) if len(firsts) else counts
        table = self._store.trace_table
        chosen = np.zeros(len(table), np.bool_)
        chosen[[*self._traces]] = True
        generators = {f"{name}{RAN}" for name in generators_of(self._store)}
        left_out = [number for number, text in enumerate(self._texts) if text in generators]
        left_out += uncounted_names(self._store)
        of_name = np.repeat(counts, counts)
        is_unusual = (of_name >= _LEAST_USUAL) & (own >= _UNUSUAL_TIMES * medians)
        # Of what awaited something without an end nobody knows how long it ran itself.
        is_unusual &= chosen[of_traces] & ~np.isin(names, left_out) & ~await_endless
        starts, ends = copy_of(table.start_ns), copy_of(table.end_ns)
        is_unusual &= ~np.isin(rows, [*self._lack_replicas])
        is_unusual &= own - medians >= _LEAST_SHARE * (ends[of_traces] - starts[of_traces])
        places = np.flatnonzero(is_unusual)
        seen = set[int]()
        for place in places[np.argsort(medians[places] - own[places], kind="stable")].tolist():
            row, number = int(rows[place]), int(names[place])
            if number in seen:
                continue
            seen.add(number)
            usual, took = int(medians[place]), int(own[place])
            median = f"{amount(float(f'{took / max(1, usual):.2g}'))} times its median of {duration(usual)}"
            of = f"of {of_name[place]:,} spans"
            name = self._texts[number]
            who = f"submitting {self._short(name)}" if name.endswith(SUBMITTED) else f"{self._short(name)} itself"
            text = f"{who} took {duration(took)}, {median if usual else 'where half of them take none'} ({of})"
            text += self._of_processes(number, rows[places[names[places] == number]])
            # What it awaited may be among what is missing.
            lacks_some = incomplete_traces(self._store, np.array([self._spans.trace[row]])).any()
            certainty = Certainty.LIKELY if lacks_some or self._store.tallies.torn else Certainty.CERTAIN
            yield self._of_row(Topic.UNUSUAL, text, row, "tree --trace {trace}", certainty=certainty, ns=took)
            if len(seen) == _MOST_UNUSUAL:
                return

    def _of_processes(self, name: int, unusual: Places) -> str:
        """Return in a clause that unusual spans were the first of their name in their processes, or all of one process.

        Empty where they weren't, and where all of the name were.
        """
        processes, names = copy_of(self._spans.process), copy_of(self._spans.name)
        rows = np.flatnonzero(names[: len(processes)] == name)
        rows = rows[np.lexsort((copy_of(self._spans.start_ns)[rows], processes[rows]))]
        chosen, firsts = np.unique(processes[rows], return_index=True)
        in_each = dict(zip(chosen.tolist(), np.diff(firsts, append=len(rows)).tolist(), strict=True))
        (process, *others), slow = np.unique(processes[unusual]).tolist(), len(unusual)
        if np.isin(unusual, rows[firsts]).all() and any(in_each[one] > 1 for one in (process, *others)):
            first = f"the first {self._short(self._texts[name])} of its process"
            return (
                f"; {first}"
                if slow == 1
                else f"; {slow:,} took {_UNUSUAL_TIMES} times the median or more, each {first}"
            )
        if others or slow == 1 or not in_each[process] == slow < len(rows):
            return ""
        where = sanitise(process_name(self._store.processes, process), _MAX_MESSAGE)
        return f"; all {slow:,} that process {where} ran took {_UNUSUAL_TIMES} times the median or more"

    # -- what failed -------------------------------------------------------------------------------------------------

    def _failed(self) -> Iterator[Statement]:
        """Yield what was raised, and how often; the newest traces first, as far as so many are looked at."""
        rows = [row for row in failed_rows(self._store, self._traces).tolist() if row not in self._not_calls]
        by_trace = defaultdict[int, list[int]](list)
        for row in (*filter(self._is_asked, rows), *self._broken_off):
            by_trace[self._spans.trace[row]].append(row)
        newest = sorted(by_trace, key=lambda trace: (-max(map(self._spans.last_ns, by_trace[trace])), trace))
        groups = defaultdict[tuple[int, str, str, bool], dict[int, str]](dict)
        for trace in self._not_within_others(newest[:_MOST_FAILING]):
            failed = {*by_trace[trace]}
            for origin, is_good in self._origins(trace, [*failed.difference(exits_among(self._store, failed))]):
                said, place = self._raised(origin)
                groups[self._spans.name[origin], _NUMBERS.sub("#", said), place, is_good][origin] = said
        in_order = sorted(groups.items(), key=lambda group: (group[0][3], -len(group[1])))
        for (name, _, place, is_good), origins in islice(in_order, _MOST_FAILURES):
            origin = max(origins, key=lambda row: (self._spans.last_ns(row), row))
            said = origins[origin]
            is_cancelled = self._broken_off.get(origin) is Failure.CANCELLED
            often = "was cancelled" if is_cancelled else "failed"
            often += f" {len(origins):,} times" if len(origins) > 1 else ""
            often += ", the last time" if len({*origins.values()}) > 1 else ""
            ending = "; another attempt ended well" if is_good else ""
            ending += "; no status says so" if origin in self._broken_off else ""
            why = f"{',' if is_cancelled else ':'} {said}{place}" if said or place else ""
            text = f"{self._short(self._texts[name])} {often}{why}{ending}"
            yield self._of_row(Topic.FAILED, text, origin, "tree --trace {trace}")
        more_groups, older = len(groups) - _MOST_FAILURES, len(newest) - _MOST_FAILING
        texts = [f"{count(more_groups, 'more exception')}" if more_groups > 0 else ""]
        texts.append(f"{count(older, 'more trace')} with failed spans" if older > 0 else "")
        if text := " and ".join(filter(None, texts)):
            yield Statement(Topic.FAILED, text, "tree -q 'trace.errors>0'")

    def _failed_without_error(self) -> Iterator[Statement]:
        """Yield what failed, or was lost for good, without a failed span that says so."""
        calls, groups, follow = self._calls, _Groups(list), set[int]()
        for row, why in self._known.reasons_among(filter(self._is_asked, calls.without_attempt)).items():
            if why.has_failed:
                self._add(groups, row, _failed_text(why.text), why.certainty)
                if why.follows_failure:
                    follow.add(row)
        for row in filter(self._is_asked, calls.told_failures):
            self._add(groups, row, calls.told_failures[row].failed_text(cut_off_by(self._store, row)))
        asked = filter(self._is_asked, self._unended)
        lost = {row for row in asked if self._has_been_ended(row) and self._spans.trace[row] in self._chosen}
        if lost:
            lost -= {*errors_made_good(self._store), *calls.attempts.tolist()} - {*calls.last_attempts.tolist()}
            lost -= calls.tried_again
        # What a call's caller heard is what became of its last attempt, which may have left no span.
        callers = dict(zip(calls.last_attempts.tolist(), calls.rows[calls.counts > 0].tolist(), strict=True))
        told = told_outcomes(self._store, [callers[row] for row in lost if row in callers])
        for row in sorted(lost):
            unended, outcome = self._unended[row], told.get(callers.get(row, NO_ROW))
            if outcome is not None and outcome.outcome.has_failed:
                # Of the attempt that is here, what is known of its process says more.
                is_of_process = outcome.is_of_process and row not in calls.later_outcomes
                self._add(groups, row, _failed_text(unended.reason if is_of_process else outcome.as_ray_says))
                continue
            how = "failed" if unended.is_told and self._spans.kind[row] == CONSUMER else "was lost"
            again = "; Ray may retry" if unended.may_be_tried_again else ""
            self._add(groups, row, f"{how}{{}}: {unended.reason}{again}", unended.certainty)
        yield from self._of_groups(Topic.FAILED, groups, follow=follow)

    def _answered_so(self) -> Iterator[Statement]:
        """Yield which requests failed by their status codes, though their spans have no error."""
        groups = _Groups(list)
        for row, failure in self._by_status.items():
            if self._is_asked(row):
                self._add(groups, row, f"failed{{}} without an error: {failure.text}")
        yield from self._of_groups(Topic.FAILED, groups, "stats --by serve")

    def _cut_off(self) -> Iterator[Statement]:
        """Yield which calls were cut off, as by being cancelled; they end without an error."""
        groups, calls = _Groups(list), self._calls
        cut_off = cut_off_among(self._store, calls.last_attempts)
        for row in filter(self._is_asked, cut_off):
            how, _, by = cut_off_text(self._store, row).partition(": ")
            # Of what failed it is said there.
            if row not in calls.told_failures:
                self._add(groups, row, f"was {how} while it ran{{}}: {by}", Certainty.LIKELY)
        for row in filter(self._is_asked, sorted(calls.told_cancelled.difference(cut_off))):
            self._add(groups, row, "was cancelled{}, as Ray says, though its span has no error")
        yield from self._of_groups(Topic.UNSEEN, groups)

    def _add(self, groups: _Groups, row: int, said: str, certainty: Certainty = Certainty.CERTAIN) -> None:
        """Put a span to its like; in what is said, `{}` stands for how often."""
        groups[self._who(row), said, certainty].append(row)

    def _of_groups(
        self, topic: Topic, groups: _Groups, command: str = "stats --by ray", *, follow: Collection[int] = ()
    ) -> Iterator[Statement]:
        """Yield what is said of each group, the largest first; the command shows those that are left out.

        Args:
            follow: What failed because something else had, by row; it comes last.
        """
        # Rows are in the order of arrival, which depends on how files are read.
        starts = self._spans.start_ns
        by_start = {key: sorted(rows, key=lambda row: (starts[row], row)) for key, rows in groups.items()}
        in_order = sorted(
            by_start.items(), key=lambda group: (group[1][0] in follow, -len(group[1]), starts[group[1][0]])
        )
        for (name, said, certainty), rows in in_order[:_MOST_FAILURES]:
            times = f" {len(rows):,} times" if len(rows) > 1 else ""
            text = f"{name} {sanitise(said.replace('{}', times, 1), _MAX_MESSAGE)}"
            yield self._of_row(topic, text, rows[0], "tree --trace {trace}", certainty=certainty)
        if more := [len(rows) for _, rows in in_order[_MOST_FAILURES:]]:
            yield Statement(topic, f"{sum(more):,} more, of which something else is said", command)

    def _not_within_others(self, traces: Sequence[int]) -> Iterator[int]:
        """Yield failed traces without those within a request of another: a framework began them anew in a replica."""
        forest = forest_of(self._store, traces)
        parents = within_requests(forest, forest.of("process"), forest.of("start_ns"), forest.of("end_ns"))
        within = {*forest.traces[parents != forest.parents].tolist()}
        return (trace for trace in traces if trace not in within)

    def _origins(self, trace: int, failed: Sequence[int]) -> Iterator[tuple[int, bool]]:
        """Yield the span where each exception of a trace began, and whether another attempt made it good.

        Those above come, too, that have recorded another exception, whose message has nothing of what it came from.
        """
        tree, wanted = self._store.tree(trace), {*failed}
        nodes, rows, above = list[int](), list[int](), list[int]()
        # The index of the nearest failed span from each node up; the last is that of no node, above the roots.
        nearest = [-1] * (len(tree) + 1)
        for node in tree.in_order():
            nearest[node] = nearest[tree.parents[node]]
            if node < len(tree.rows) and tree.rows[node] in wanted:
                above.append(nearest[node])
                nearest[node] = len(nodes)
                nodes.append(node)
                rows.append(tree.rows[node])
        callers = {tree.parents[node] for node in nodes} - {ROOT}
        siblings = (tree.rows[child] for caller in callers for child in tree.children(caller))
        retried = retried_attempts(self._store, siblings)
        are_good = are_made_good(rows, above, retried)
        for origin, *passed_on in exceptions_in(self._store, rows, above, retried):
            yield rows[origin], are_good[origin]
            said = [self._words_of(rows[origin])]
            for index in passed_on:
                words = self._words_of(rows[index])
                if words and not any(earlier and earlier in words for earlier in said):
                    yield rows[index], are_good[index]
                    said.append(words)

    def _words_of(self, row: int) -> str:
        """Return what a failed span says of what was raised, without its type."""
        span = self._store.span(row)
        kind, message, _ = _exception_of(span)
        return (message if kind else span.status.description or "").strip()

    def _raised(self, row: int) -> tuple[str, str]:
        """Return what a failed span says was raised, and by which of the program's own lines; either may be empty."""
        if self._broken_off.get(row) is Failure.CANCELLED:
            return "as when its caller gives up", ""
        span = self._store.span(row)
        kind, message, trace = _exception_of(span)
        if kind.rpartition(".")[2] in CANCELLED and (failure := failure_in(span.attributes)) is not None:
            # The proxy may not have got what its replica raised.
            request = seen_requests(self._store, [self._spans.trace[row]]).get(row)
            replica = None if request is None else request.rows.get(Part.REPLICA)
            kind, message, trace = ("",) * 3 if replica is None else _exception_of(self._store.span(replica))
            if kind.rpartition(".")[2] in CANCELLED or not kind:
                return failure.text, ""
        stacks = stacks_of(trace)
        # What names no function is the place of a mistake in a text that is compiled.
        frames = ((frame, stack) for stack in stacks for frame in stack.frames)
        own = [(frame, stack) for frame, stack in frames if frame.function and not frame.library]
        first = message.strip().split("\n")[0]
        said = ": ".join(filter(None, (kind, first))) or (span.status.description or "").strip().split("\n")[0]
        if not said and (failure := failure_in(span.attributes)) is not None:
            said = failure.text
        if "\n" in message.strip() and (innermost := raised_in(message)):
            said = innermost[0]
        if not own:
            return sanitise(said, _MAX_MESSAGE), ""
        frame, stack = own[-1]
        if stack.leads_to.startswith(DIRECT_CAUSE) and stack.raised:
            # A library has put what the program raised into an exception of its own.
            said += f" (from {stack.raised[0]})"
        place = f", at {frame.path.rpartition('/')[2]}:{frame.line_number} in {frame.function}"
        return sanitise(said, _MAX_MESSAGE), sanitise(place, _MAX_NAME)

    def _retried(self) -> Iterator[Statement]:
        """Yield which calls were tried again."""
        calls = self._calls
        by_function: dict[str, list[Call]] = defaultdict(list)
        for call in map(calls.__getitem__, np.flatnonzero(calls.are_retried).tolist()):
            if self._is_asked(call.row):
                by_function[call.function].append(call)
        for function, retried in sorted(by_function.items(), key=lambda item: (-len(item[1]), item[0])):
            # Ray knows of attempts that left no span.
            seen = [call for call in retried if len(call.attempts) > 1]
            newest = max(retried, key=lambda call: (self._spans.start_ns[call.row], call.row))
            last = [call for call in retried if self._has_failed_for_good(call)]
            # Where Ray tells, it would tell of another attempt.
            told_of = told_outcomes(self._store, [call.row for call in last])
            traces = {self._spans.trace[call.row] for call in last if call.row not in told_of}
            so_far = " so far" if traces & self._growing else ""
            ended = (
                f"the last one {self._how_last_ended(newest.attempts)}"
                if len(retried) == 1 and last and seen
                else f"{count(len(last), 'call')} failed for good"
                if last and not so_far
                else ""
            )
            of_ray, told = attempt_counts(self._store, [call.row for call in seen]), len(retried) - len(seen)
            attempts = sum(map(max, of_ray, (len(call.attempts) for call in seen)))
            # Where spans are written when they end alone, an attempt that died has left none.
            are_all = all(number >= 0 or self._leaves_all(call) for number, call in zip(of_ray, seen, strict=True))
            attempts_text = f"{'' if are_all else 'at least '}{attempts:,}"
            name = self._short(self._texts[self._spans.name[newest.row]])
            calls_text = f"{count(len(seen) or told, 'call')} of {name}"
            again = f"{'was' if told == 1 else 'were'} tried again, as Ray says"
            took = f"took {attempts_text} attempts{so_far}" if seen else again
            pairs = (pair for call in seen for pair in pairwise(call.attempts))
            restarted = ""
            if function.endswith("__init__") and all(lived_between(self._store, *pair) for pair in pairs):
                restarted = "its actor was restarted" if len(retried) == 1 else "their actors were restarted"
                took = f"ran {attempts_text} times: {restarted}" if seen else f"{restarted}, as Ray says"
                calls_text += "" if seen else ":"
            text = f"{calls_text} {took}{f', and {told:,} more {again}' if seen and told else ''}"
            why = "" if restarted else self._why_again(newest)
            if why and len(retried) > 1:
                why = f"of the newest one, {why}"
            row = newest.attempts[-1] if newest.attempts else newest.row
            text = "; ".join(filter(None, (text, why, ended)))
            of_newest = (self._unended[one] for one in newest.attempts if self._is_lost(one))
            certainty = Certainty.LIKELY if any(one.is_likely for one in of_newest) else Certainty.CERTAIN
            yield self._of_row(Topic.RETRIED, text, row, "tree --trace {trace}", certainty=certainty)
        groups, spans = _Groups(list), self._spans
        waiting = {row for row, told in calls.later_outcomes.items() if told.outcome is CallOutcome.PENDING}
        for index in np.flatnonzero(calls.counts)[np.isin(calls.last_attempts, [*waiting])].tolist():
            call = calls[index]
            row = call.attempts[-1]
            # Of one that failed, or has no end, it is said where that is.
            if self._is_asked(row) and spans.end_ns[row] != NO_TIME and spans.status[row] != ERROR:
                again = "ended{} without its result, and waits to be tried again, as Ray said last"
                self._add(groups, row, "; ".join(filter(None, (again, self._why_again(call)))))
        yield from self._of_groups(Topic.RETRIED, groups)

    def _leaves_all(self, call: Call) -> bool:
        """Tell whether each attempt of a call has left a span, whatever became of it."""
        return all(has_starts(self._store.sources[self._spans.source[row]].path) for row in call.attempts)

    def _how_last_ended(self, attempts: Sequence[int]) -> str:
        how = self._how_over(attempts[-1]) if self._is_lost(attempts[-1]) else "failed"
        is_so_too = how != "failed" and any(self._how_over(row) == how for row in attempts[:-1] if self._is_lost(row))
        return f"{how}{', too' * is_so_too}"

    def _how_over(self, row: int) -> str:
        """Return what has become of a lost span: of an attempt Ray may say that it has raised something."""
        unended = self._unended[row]
        return "failed" if unended.has_raised else "likely was lost" if unended.is_likely else "was lost"

    def _has_failed_for_good(self, call: Call) -> bool:
        if not call.attempts:
            # What became of attempts that left no span is told by Ray.
            why = self._known.reasons.get(call.row)
            return why is not None and why.has_failed
        row, calls = call.attempts[-1], self._calls
        has_failed = self._spans.status[row] == ERROR or self._is_lost(row) or row in calls.told_failures
        return has_failed and row not in calls.tried_again and row not in calls.withdrawn

    def _has_been_ended(self, row: int) -> bool:
        """Tell whether a span is lost, or is an attempt that failed, as Ray says, because its process was stopped."""
        was_stopped = row in self._unended and self._unended[row].fate is Fate.STOPPED and self._unended[row].is_told
        return was_stopped or self._is_lost(row)

    def _is_lost(self, row: int) -> bool:
        return row in self._unended and self._unended[row].fate is Fate.LOST

    def _why_again(self, call: Call) -> str:
        """Return what became of the attempts that others followed; empty where that isn't known of the first."""
        attempts, row = call.attempts, call.attempts[0] if len(call.attempts) > 1 else NO_ROW
        told, (of_ray,) = first_outcome(self._store, call.row), attempt_counts(self._store, [call.row])
        has_failed = told is not None and told.outcome.has_failed
        by_ray = f"failed: {sanitise(told.as_ray_says, _MAX_MESSAGE)}" if told is not None and has_failed else ""
        if by_ray and of_ray > len(attempts):
            # It may have left no span.
            return f"the first attempt {by_ray}"
        is_it = 0 <= of_ray <= len(attempts) or self._leaves_all(call)
        first = "the first attempt" if is_it else "the first attempt seen"
        if row in self._unended:
            unended = self._unended[row]
            likely = "likely " if unended.is_likely else ""
            how = self._how_over(row).removeprefix("likely ")
            was = {Fate.LOST: how, Fate.STOPPED: "was stopped"}.get(unended.fate, "has no end")
            which, kind = first, attrgetter("fate", "reason", "is_likely")
            alike = [kind(self._unended[one]) == kind(unended) for one in attempts[:-1] if one in self._unended]
            if len(alike) == len(attempts) - 1 > 1 and all(alike) and unended.fate is Fate.LOST:
                which, was = f"the first {len(alike):,} attempts", was.replace("was", "were")
            return f"{which} {likely}{was} ({sanitise(unended.reason, _MAX_MESSAGE)})"
        if row != NO_ROW and self._spans.status[row] == ERROR and (raised := "".join(self._raised(row))):
            return f"{first} failed: {raised}"
        if cut_off := "" if row == NO_ROW else cut_off_text(self._store, row):
            return f"{first} was {sanitise(cut_off, _MAX_MESSAGE)}"
        return by_ray and f"{first} {by_ray}"

    # -- what is missing ---------------------------------------------------------------------------------------------

    def _found(self, tell: Tell) -> Iterator[Statement]:
        """Yield what `check` finds in these traces."""
        store, is_whole = self._store, self._is_whole
        asked = store if is_whole else part_of(store, self._traces)
        # What has become of spans is known by the rows of the whole.
        rows, unended = dict[tuple[int, int], int](), self._unended
        if not is_whole:
            of_chosen = (row for row in range(len(self._spans)) if self._spans.trace[row] in self._chosen)
            rows = {_ids(store, row): row for row in of_chosen}
            fates = {_ids(store, row): fate for row, fate in self._unended.items()}
            keys = ((row, _ids(asked, row)) for row in range(len(asked.spans)) if fates)
            unended = {row: fates[key] for row, key in keys if key in fates}
        report = self._found_before.checked or diagnose(asked, tell, self._session, unended)
        self._clocks_differ = any(finding.kind is Kind.CLOCK_SKEW for finding in report.findings)
        found = [finding for finding in report.findings if is_whole or not self._says_nothing(finding, asked)]
        for topic in (Topic.UNSEEN, Topic.MISSING):
            for finding in found:
                if (finding.kind in _OF_CALLS) is not (topic is Topic.UNSEEN):
                    continue
                place = next(iter(finding.evidence), None)
                if len(self._traces) == 1 and place is not None and not place.trace_id:
                    # A file says nothing of one trace.
                    continue
                row = NO_ROW
                if place is not None and place.span_id:
                    row = place.row if is_whole else rows.get((place.trace_id, place.span_id), NO_ROW)
                text = sanitise(finding.detail, len(finding.detail) + 1).removesuffix(".")
                if finding.kind is Kind.NO_END:
                    # What was lost is named above.
                    text = text.partition(". ")[0]
                if place is not None and place.file and not place.trace_id:
                    more = f", and {finding.more_places:,} more" if finding.more_places else ""
                    text += f": {sanitise(place.file)}{more}"
                said = self._of_row(topic, text, row, "check", certainty=finding.certainty)
                yield replace(said, severity=finding.severity)
        bad = [problem for problem in report.problems if problem.severity is not Severity.INFO]
        if bad:
            first = f"{bad[0].kind} in {sanitise(bad[0].file)}"
            more = f", and {len(bad) - 1:,} more" if len(bad) > 1 else ""
            yield Statement(Topic.MISSING, f"data that can't be read: {first}{more}", "check", severity=bad[0].severity)

    def _says_nothing(self, finding: Finding, asked: Store) -> bool:
        """Return whether a finding in some traces alone is none: as where others show what became of calls."""
        if finding.kind not in {Kind.NO_ATTEMPT, Kind.UNTRACED}:
            return finding.kind is Kind.SAMPLING
        reasons = self._known.reasons.items()
        said = {_ids(self._store, row) for row, why in reasons if why.has_failed or not why.is_call}
        return {_ids(asked, row) for row in finding.rows} <= said

    @cached_property
    def _growing(self) -> frozenset[int]:
        """The traces in which something may still run."""
        asked = None if self._store.ask_lives is None else cast("Running", self._store.ask_lives(self._store))
        return frozenset() if asked is None else asked.growing()

    @cached_property
    def _calls(self) -> Calls:
        return self._known.calls if self._is_whole else calls_of(self._store, self._traces)

    def _of_row(  # noqa: PLR0913 - what is said, and what it rests on
        self,
        topic: Topic,
        text: str,
        row: int,
        more: str,
        *,
        certainty: Certainty = Certainty.CERTAIN,
        ns: int | None = None,
    ) -> Statement:
        """Return what is said of a span; `{trace}` and `{span}` in `more` stand for its ids."""
        if row == NO_ROW:
            return Statement(topic, text, "" if "{" in more else more, certainty, ns)
        trace, span_id = self._spans.trace[row], format_span_id(self._spans.span_id[row])
        return Statement(topic, text, more.format(trace=self._id(trace), span=span_id), certainty, ns, trace, row)

    # -- names -------------------------------------------------------------------------------------------------------

    def _id(self, trace: int) -> str:
        return format_trace_id(self._store.trace_table.trace_id(trace))

    def _name_of_trace(self, trace: int) -> str:
        row = self._store.trace_table.root_row[trace]
        if row == NO_ROW:
            return self._said(name_without_root(self._store, self._store.tree(trace)))
        return self._short(self._texts[self._spans.name[row]])

    @cached_property
    def _short_names(self) -> Mapping[str, str]:
        return short_names(name for name in self._texts if _is_of_ray(name))

    def _who(self, row: int) -> str:
        """Return what a span runs, or submits while it has no end."""
        name = self._texts[self._spans.name[row]]
        submits = name.endswith(SUBMITTED) and self._spans.end_ns[row] == NO_TIME
        return f"submitting {self._short(name)}" if submits else self._short(name)

    def _short(self, name: str) -> str:
        return self._said(self._short_names.get(name) or function_of(name) or "(no name)")

    def _said(self, name: str) -> str:
        return sanitise(name, _MAX_NAME).strip()


def _ids(store: Store, row: int) -> tuple[int, int]:
    return store.trace_table.trace_id(store.spans.trace[row]), store.spans.span_id[row]


def _failed_text(why: str) -> str:
    """Return that a call failed, or was cancelled, which is no failure of its own; `{}` stands for how often."""
    how, is_cancelled, more = why.partition("it was cancelled")
    return f"was cancelled{{}}{more}" if is_cancelled and not how else f"failed{{}}: {why}"


def _is_of_ray(name: str) -> bool:
    return name.endswith((SUBMITTED, RAN))


def _spent(function: Function) -> dict[str, int]:
    """Return how long calls of a function took, in parts, its waiting first; an actor lives between constructors."""
    is_constructor = function.function.endswith("__init__")
    # Until when an attempt without an end ran isn't known, but when it had ended at the latest.
    bound = "at least " if function.unended_ns else ""
    return {
        "{} waiting": function.total_wait_ns,
        "{} running": sum(function.known_runs_ns),
        f"{bound}{{}} between attempts": 0 if is_constructor else sum(function.retries_ns),
        "{} after attempts without an end began": sum(function.unended_ns),
    }


def _ran_themselves(forest: Forest) -> tuple[Places, Times, Flags]:
    """Return the rows of spans, how long each ran itself while no call of it waited, and which have one without an end.

    Where a call has no attempt, there is no end, or clocks differ, nobody knows that.
    """
    kinds, starts, ends = (forest.of(column) for column in ("kind", "start_ns", "end_ns"))
    below = forest.parents >= 0
    attempts = np.flatnonzero(below & (kinds == CONSUMER))
    attempts = attempts[kinds[forest.parents[attempts]] == PRODUCER]
    attempts = attempts[np.lexsort((starts[attempts], forest.parents[attempts]))]
    calls = forest.parents[attempts]
    # A call waits until its first attempt, and between attempts.
    asked, earlier = ends[calls], attempts[:-1]
    ended = np.where(ends[earlier] == NO_TIME, starts[earlier], ends[earlier])
    asked[1:] = np.where(calls[1:] == calls[:-1], ended, asked[1:])
    begins, are_known = starts.copy(), (asked != NO_TIME) & (starts[attempts] != NO_TIME)
    begins[attempts[are_known]] = np.minimum(starts[attempts], asked)[are_known]
    known = (starts != NO_TIME) & (ends != NO_TIME)
    without = np.flatnonzero(below & (kinds == PRODUCER))
    known[forest.parents[without[~np.isin(without, calls)]]] = False
    timed = np.flatnonzero(below & (starts != NO_TIME))
    above = forest.parents[timed]
    # Where clocks differ, what ran below a span doesn't tell how long it ran itself.
    differ = starts[timed] < starts[above] - _CLOCKS_NS
    is_called = (kinds[timed] == SERVER) & (kinds[above] == CLIENT) & (ends[above] != NO_TIME)
    differ |= is_called & ((starts[timed] > ends[above]) | (ends[timed] > ends[above] + _CLOCKS_NS))
    known[above[differ]] = False
    await_endless = forest.sums_below(ends == NO_TIME) > 0
    return forest.rows[known], own_times_from(forest, begins)[known], await_endless[known]


def _taken(calls: Calls) -> NDArray[np.float64]:
    """Return how long each call waited and ran, in nanoseconds; what isn't known is 0."""
    starts, ends = (
        copy_of(column).astype(np.float64) for column in (calls.store.spans.start_ns, calls.store.spans.end_ns)
    )
    has_run = np.flatnonzero(calls.counts)
    firsts, lasts = (calls.attempts[calls.firsts[has_run + more] - more] for more in (0, 1))
    taken = np.zeros(len(calls))
    for begins, finishes in ((ends[calls.rows[has_run]], starts[firsts]), (starts[lasts], ends[lasts])):
        is_known = (begins > float(NO_TIME)) & (finishes > float(NO_TIME))
        taken[has_run] += np.where(is_known, np.maximum(0, finishes - begins), 0)
    return taken
