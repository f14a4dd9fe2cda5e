"""Where a trace's time went: its critical path in a handful of parts, which add up to it.

driver            ==                        ====
  f ray.remote      =
    f ray.remote_worker ~~~~~~~====~~~====            12 ms = 7 waiting + 5 running
proxy             ==                       ==
  route             ~~~~~~~                           9 ms = proxy 1 + queue 3 + handling 4 + response 1
    replica                ================

- A trace that is one request of Ray Serve has the parts of a request. What of the handling only waited in the queues of
  other deployments counts as queue, as `serve_nested` defines it.
- In a trace with Ray calls, waiting before calls ran is told from running. What one call waited, while the path was
  elsewhere, is no part of it.
- Of other traces, the names whose spans have the most own time on the path.

The parts claim no more than the path does; `doubts` says what it leaves open. The time of a trace whose path begins
late, as from the last of several roots, has a part of its own.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from spanview.analysis.consistent import NO_TIMES
from spanview.analysis.critical import paths_in
from spanview.analysis.failures import errors_made_good
from spanview.analysis.forest_selftime import exact
from spanview.analysis.percentiles import rank_of
from spanview.analysis.ray.executions import are_executions
from spanview.analysis.ray.known_calls import KnownCalls
from spanview.analysis.ray.names import RAN, call_names, short_names
from spanview.analysis.ray.told import CallOutcome, outcome_of_attempt
from spanview.analysis.ray.unended import known_until, open_end_of
from spanview.analysis.ray.wait_causes import KINDS, MOST_HANDOVER_NS
from spanview.analysis.ray.waits import lived_between
from spanview.analysis.serve.requests import Part, numbers_of, part_of_name
from spanview.analysis.telling import unheard
from spanview.index.arrays import copy_of
from spanview.index.forest import Trees
from spanview.index.lives import OpenEnd
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, ERROR, PRODUCER
from spanview.model.times import NO_TIME, ROUNDED_NS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spanview.analysis.critical import Paths
    from spanview.analysis.forest_selftime import Times
    from spanview.analysis.ray.meanwhile import Meanwhile
    from spanview.analysis.ray.told import ToldOutcome
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.ray.wait_causes import WaitedFor
    from spanview.analysis.ray.waited_for import WaitReason
    from spanview.analysis.serve.nested import NestedQueue
    from spanview.analysis.telling import Tell
    from spanview.index.arrays import Flags, Places
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

_MOST_NAMES: Final = 3
"""So many names have parts of their own."""
_LEAST_SHARE: Final = 0.03
"""Names that take less of the whole share one part."""
_MOST_ASKED: Final = 100
"""Stretches of which it is asked what was on its way meanwhile, the longest; nobody is sure of the others."""


class Doing(Enum):
    """What the time of a part was spent on."""

    EARLIER = "earlier"
    """Before the root began that the path leads from."""
    WAITING = "waiting"
    """Calls waited before they first ran."""
    RETRYING = "retrying"
    """Calls waited between two attempts."""
    UNENDED = "unended"
    """Between an attempt without an end and the next one: nobody knows until when the first one ran."""
    LIVING = "living"
    """Actors lived between two attempts of their constructors: nobody waited for the second one."""
    QUEUED = "queued"
    """Requests waited in Serve's queue."""
    IDLE = "idle"
    """Nothing on the path ran: a span began after the one above it had ended, and waited for nobody."""
    SUBMITTING = "submitting"
    """Callers submitted calls."""
    FAILING = "failing"
    """Attempts ran that failed, and another attempt followed."""
    RUNNING = "running"
    """Spans ran, in a trace with calls."""
    UNSEEN = "unseen"
    """Spans ran that no file holds."""
    SPANS = "spans"
    """Spans ran, in a trace without calls."""
    PROXY = "proxy"
    """A request of Serve was in the proxy, before its routing began."""
    HANDLING = "handling"
    """The replica of a request of Serve ran."""
    RESPONSE = "response"
    """The replica of a request of Serve had ended."""


class AnswerPart(NamedTuple):
    """A part of a trace's time."""

    doing: Doing
    ns: int
    spans: int = 0
    """How many spans or calls share it; 0 where that says nothing."""
    names: int = 0
    """How many names, or functions of Ray, these have."""
    longest: str = ""
    """Of what waits, the name of the span that waited longest; else the name that has most of the part."""
    longest_ns: int = 0
    """How much of the part that is."""
    reason: WaitReason | None = None
    """What that span waited for; None where it hardly waited, or isn't the first attempt of a Ray call."""
    meanwhile: Meanwhile | None = None
    """What went on while it waited for what isn't known; None where that says nothing."""
    causes: tuple[tuple[WaitedFor, int], ...] = ()
    """What all that waits was for and how long, where there are several causes and Ray's own events say all of it; in
    the order of time."""
    longest_spans: int = 0
    """How many spans of the longest's name have that much of the part, where it has a name."""
    queues: tuple[NestedQueue, ...] = ()
    """How long a request of Serve was in the queue of each deployment, the longest first, where there are several; they
    add up to the part."""


class PathStretch(NamedTuple):
    """A stretch of a trace's critical path."""

    doing: Doing
    start_ns: int
    ns: int
    name: str
    """Of the span that its time counts for; empty for a parent that was not seen."""
    row: int
    """The row of the span that is to blame; `NO_ROW` for a parent that was not seen."""
    doubt: str = ""
    """What may not be so of it, in words; empty where it is sure, as in `critical`."""


@dataclass(frozen=True, slots=True)
class UnseenCalls:
    """The calls of a trace that have no attempt, or wait for another one."""

    without_attempt: tuple[str, ...] = ()
    """The names of those that left none, as `reasons.without_attempt` means it."""
    untraced: tuple[str, ...] = ()
    """The names of those that ran or run, certainly or likely, and that tracing leaves out."""
    never_ran: int = 0
    """How many of the first have not run, and won't, certainly or likely."""
    waiting: int = 0
    """How many of them wait, as Ray says."""
    unsent: tuple[tuple[str, str], ...] = ()
    """The names of those of which Ray says what they wait, or waited, for, and in a clause what that is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Where one trace's time went."""

    total_ns: int
    """From the trace's start to its end, as far as times are known."""
    parts: tuple[AnswerPart, ...]
    """What adds up to the total: longest first, all that share one last; the parts of a request by when they began.

    What lived comes behind something else, where there is anything else.
    """
    has_calls: bool = False
    """Whether there are Ray calls in the trace."""
    doubts: str = ""
    """Why the path isn't sure, in words; empty where it is."""
    unseen_calls: UnseenCalls = UnseenCalls()
    """Calls without an attempt, or that wait for another one: what they ran is in no part, or in a wrong one."""
    generators: tuple[str, ...] = ()
    """The names of attempts on the path whose spans don't show how long they ran."""

    @property
    def is_request(self) -> bool:
        """Whether the parts are those of a request of Serve."""
        return any(part.doing is Doing.HANDLING for part in self.parts)

    @property
    def names(self) -> Iterable[str]:
        """The names of spans that it may mention."""
        unseen = self.unseen_calls
        longest = (part.longest for part in self.parts if part.longest)
        meanwhile = (part.meanwhile.name for part in self.parts if part.meanwhile is not None)
        return (*longest, *meanwhile, *unseen.without_attempt, *unseen.untraced, *self.generators)


@dataclass(frozen=True, slots=True)
class TypicalAnswers:
    """Where the time of two of many traces went."""

    traces: int
    """How many traces have a duration, and are known to have ended; at least one."""
    median: Answer
    """The trace whose duration is the median, by nearest rank."""
    slowest: Answer
    slowest_trace: int = 0
    """Its number."""
    without_end: int = 0
    """How many more there are in which a span or call runs, or may run."""
    median_end: OpenEnd | None = None
    slowest_end: OpenEnd | None = None
    """What is known of the ends of these two, in which something was lost."""
    may_be_slower: bool = False
    """Whether another one, of whose end no more is known than that it isn't earlier, may have been slower."""


def answer_of(
    store: Store,
    trace: int,
    tree: TraceTree | None = None,
    until: Mapping[int, int] = NO_TIMES,
    known: KnownCalls | None = None,
) -> Answer:
    """Return where a trace's time went, as the module defines it; `until` is as in `consistent`."""
    tree = store.tree(trace) if tree is None else tree
    known = KnownCalls(store) if known is None else known
    trees = Trees.alone(tree)
    return answers_along(store, [trace], trees, paths_in(trees, store.names, until), known)[0]


def answers_along(store: Store, traces: Sequence[int], trees: Trees, paths: Paths, known: KnownCalls) -> list[Answer]:
    """Return what `answer_of` does of several traces, for whoever has their trees and critical paths."""
    answers = [_of_request(store, trace, known) for trace in traces]
    along = _AlongPaths(store, trees, paths, known, np.array([answer is None for answer in answers], np.bool_))
    return [along.answer(index, traces[index]) if answer is None else answer for index, answer in enumerate(answers)]


def stretches_of(store: Store, tree: TraceTree, until: Mapping[int, int] = NO_TIMES) -> list[PathStretch]:
    """Return the stretches of one trace's critical path by time; `until` is as in `consistent`."""
    trees = Trees.alone(tree)
    paths = paths_in(trees, store.names, until)
    pieces = _Pieces(store, trees, paths, np.ones(1, np.bool_))
    texts = ["" if name == _NONE else store.names.texts[name] for name in pieces.names.tolist()]
    rows = [tree.rows[node] if node < len(tree.rows) else NO_ROW for node in pieces.nodes.tolist()]
    doings = map(_DOINGS.__getitem__, pieces.doings.tolist())
    doubts = [
        "" if is_sure or paths.doubted is None else paths.doubted.said_of(stretch)
        for stretch, is_sure in enumerate(paths.are_sure.tolist())
    ]
    return [*map(PathStretch, doings, pieces.starts.tolist(), pieces.ns.tolist(), texts, rows, doubts)]


def typical_answers(
    store: Store, traces: Sequence[int] | None = None, tell: Tell = unheard, known: KnownCalls | None = None
) -> TypicalAnswers | None:
    """Return where the time of the median trace and of the slowest one went; None where none has ended."""
    table = store.trace_table
    columns = (table.id_high, table.id_low, table.start_ns, table.end_ns, table.root_row)
    size = len(table)
    highs, lows, starts, ends, roots = (copy_of(column)[:size] for column in columns)
    chosen = np.arange(size) if traces is None else np.asarray([*traces], np.int64)
    ends_of_spans = copy_of(store.spans.end_ns)
    # Rows that arrive meanwhile have the other columns first.
    count = min(len(store.spans.next_row), len(ends_of_spans))
    without, until = np.flatnonzero(ends_of_spans[:count] == NO_TIME), dict[int, int]()
    asked: Mapping[int, Unended] = {}
    over: dict[int, Unended] = {}
    if len(without):
        # Lost attempts that another one made good keep nothing open, nor does what is over and isn't tried again.
        asked = {} if store.ask_lives is None else store.ask_lives(store).unended()
        # Others may have arrived meanwhile.
        over = {
            row: span for row, span in asked.items() if row < count and span.is_over and not span.may_be_tried_again
        }
        until = known_until(over)
        ends, ends_of_spans = ends.copy(), ends_of_spans.copy()
        for row in over:
            trace, ends_of_spans[row] = store.spans.trace[row], until.get(row, store.spans.start_ns[row])
            if trace < size:
                ends[trace] = max(ends[trace], ends_of_spans[row])
        without = without[~np.isin(without, [*errors_made_good(store), *over])]
    has_all = (starts != NO_TIME) & (ends != NO_TIME) & ((highs | lows) != 0)
    chosen = chosen[has_all[chosen]]
    roots = roots[chosen]
    has_ended = roots == NO_ROW
    has_ended[~has_ended] = ends_of_spans[roots[~has_ended]] != NO_TIME
    # What runs below a root that has ended, or was lost there, may end later than all that has an end.
    has_open = np.zeros(size, np.bool_)
    known = KnownCalls(store) if known is None else known
    if store.ray is not None or store.ask_lives is not None:
        from spanview.analysis.ray.reasons import open_among

        # Nor has a trace ended that has a call which waits or runs, as Ray said last, or as processes show.
        open_calls = open_among(store, known.reasons).union(
            row for row, why in known.reasons.items() if why.may_run and why.outcome and not why.outcome.is_over
        )
        later = known.calls.later_outcomes
        open_calls |= {row for row, told in later.items() if not (told.is_over or told.outcome.has_failed)}
        without = np.append(without, np.array([*open_calls], np.int64))
    open_traces = copy_of(store.spans.trace)[without]
    has_open[open_traces[open_traces < size]] = True
    has_ended &= ~has_open[chosen]
    without_end, chosen = int((~has_ended).sum()), chosen[has_ended]
    if not len(chosen):
        return None
    chosen = chosen[np.lexsort((chosen, ends[chosen] - starts[chosen]))]
    median, slowest = int(chosen[rank_of(len(chosen), 50)]), int(chosen[-1])
    of_median = answer_of(store, median, None, until, known)
    tell(0.5)
    of_slowest = of_median if median == slowest else answer_of(store, slowest, None, until, known)
    of_traces: dict[int, dict[int, Unended]] = {trace: {} for trace in (median, slowest)}
    for row, span in asked.items():
        # When lost attempts ended that another one made good isn't known.
        if row in over or store.spans.trace[row] in (median, slowest):
            of_traces.setdefault(store.spans.trace[row], {})[row] = span
    open_ends = {trace: open_end_of(spans, int(ends[trace])) for trace, spans in of_traces.items() if trace < size}
    others = {*chosen.tolist()} - {slowest}
    may_be_slower = any(end is OpenEnd.EARLIEST for trace, end in open_ends.items() if trace in others)
    two = open_ends[median], open_ends[slowest]
    return TypicalAnswers(len(chosen), of_median, of_slowest, slowest, without_end, *two, may_be_slower)


# -- a request of Serve ------------------------------------------------------------------------------------------------


def _of_request(store: Store, trace: int, known: KnownCalls) -> Answer | None:
    """Return the parts of a trace that is one request of Serve; None for all others."""
    spans, table = store.spans, store.trace_table
    root = table.root_row[trace]
    if root == NO_ROW or part_of_name(store.names.texts[spans.name[root]]) not in {Part.PROXY, Part.ROUTE}:
        return None
    request = known.request_of(root)
    if request is None or not {Part.ROUTE, Part.REPLICA} <= request.rows.keys():
        return None
    rows = request.rows
    outer, replica = rows.get(Part.PROXY, rows[Part.ROUTE]), rows[Part.REPLICA]
    times = (
        spans.start_ns[outer],
        spans.start_ns[rows[Part.ROUTE]],
        spans.start_ns[replica],
        spans.end_ns[replica],
        max(spans.end_ns[outer], spans.end_ns[replica]),
    )
    covers = abs(times[-1] - table.end_ns[trace]) <= ROUNDED_NS and times[0] - table.start_ns[trace] <= ROUNDED_NS
    if NO_TIME in (*times, spans.end_ns[outer]) or list(times) != sorted(times) or not covers:
        return None
    proxy, queue, handling, response = (end - start for start, end in pairwise(times))
    nested = sum(waited.ns for waited in request.queues) - queue if request.queues else 0
    parts = (
        AnswerPart(Doing.PROXY, proxy),
        AnswerPart(Doing.QUEUED, queue + nested, queues=request.queues),
        AnswerPart(Doing.HANDLING, handling - nested),
        AnswerPart(Doing.RESPONSE, response),
    )
    return Answer(times[-1] - times[0], tuple(part for part in parts if part.ns or part.doing is Doing.HANDLING))


# -- critical paths ----------------------------------------------------------------------------------------------------

_DOINGS: Final = (*Doing,)
_CODES: Final = {doing: code for code, doing in enumerate(_DOINGS)}
_WAITS: Final = frozenset((Doing.WAITING, Doing.RETRYING, Doing.UNENDED, Doing.LIVING, Doing.QUEUED))
_RUNS: Final = [_CODES[Doing.RUNNING], _CODES[Doing.FAILING]]
_NONE: Final = -1
"""No node, and no name."""


class _Tries:
    """Tells what became of calls that were tried again."""

    def __init__(self, store: Store, tree: TraceTree, are_attempts: Flags) -> None:
        self._store = store
        self._tree = tree
        self._are_attempts = are_attempts
        self._futile: dict[int, bool] = {ROOT: False}

    def waiting(self, node: int, since_ns: int) -> Doing:
        """Return what the time from then until an attempt began was spent on."""
        previous = self._tree.previous_sibling(node)
        if previous is None or not self._are_attempts[previous]:
            return Doing.WAITING
        rows = self._tree.rows[previous], self._tree.rows[node]
        if self._store.spans.end_ns[rows[0]] == NO_TIME:
            call = self._tree.parents[previous]
            row = None if call == ROOT or self._tree.is_missing(call) else self._tree.rows[call]
            told = outcome_of_attempt(self._store, rows[0], row)
            return Doing.RETRYING if told is not None and told.failed_ns <= since_ns else Doing.UNENDED
        return Doing.LIVING if lived_between(self._store, *rows) else Doing.RETRYING

    def is_futile(self, node: int) -> bool:
        """Return whether a node is, or is below, an attempt that failed and was followed by another."""
        chain, parents = list[int](), self._tree.parents
        while node not in self._futile:
            chain.append(node)
            node = parents[node]
        is_futile = self._futile[node]
        for below in reversed(chain):
            is_futile = is_futile or self._has_failed_and_goes_on(below)
            self._futile[below] = is_futile
        return is_futile

    def _has_failed_and_goes_on(self, node: int) -> bool:
        parent, rows = self._tree.parents[node], self._tree.rows
        if parent == ROOT or not self._are_attempts[node] or self._tree.is_missing(parent):
            return False
        last = self._tree.children(parent)[-1]
        if self._store.spans.status[rows[node]] != ERROR or last == node:
            return False
        return not (self._are_attempts[last] and are_executions(self._store, rows[node], rows[last]))


class _Pieces:
    """The stretches of the paths of wanted traces with what they are parts of, as columns."""

    def __init__(self, store: Store, trees: Trees, paths: Paths, wanted: Flags) -> None:
        count, of_paths = len(trees.tree.rows), np.repeat(np.arange(trees.count), np.diff(paths.bounds))
        kinds, names, of_nodes = trees.of("kind"), trees.of("name").astype(np.int64), trees.traces[:count]
        submit, run = (np.isin(names, [*numbers]) for numbers in call_names(store.names))
        self.have_calls = np.bincount(of_nodes[submit | run], minlength=trees.count) > 0
        """Of each trace, whether there are Ray calls in it."""
        submit, run = submit & (kinds == PRODUCER), run & (kinds == CONSUMER)
        parents = np.array(trees.tree.parents[:count], np.int64)
        below = np.flatnonzero((parents >= 0) & (parents < count))
        firsts, have_siblings = np.full(count, _NONE), np.zeros(count, np.bool_)
        # Children come by start: the first is put in last.
        firsts[parents[below[::-1]]] = below[::-1]
        have_siblings[below] = np.bincount(parents[below], minlength=count)[parents[below]] > 1
        self.have_alone = np.bincount(of_nodes[submit & (firsts == _NONE)], minlength=trees.count) > 0
        """Whether nothing hangs from one of them."""
        chosen = np.flatnonzero(wanted[of_paths])
        self.traces, self.nodes = of_paths[chosen], paths.nodes[chosen]
        self.starts, ends, _ = exact(paths.starts_ns[chosen], paths.ends_ns[chosen])
        self.ns = ends - self.starts
        are_seen = self.nodes < count
        spans = np.where(are_seen, self.nodes, 0)
        self.names = np.where(are_seen, names[spans], _NONE)
        """The numbers of the names that their times count for."""
        self.are_attempts = are_seen & run[spans]
        waits, have_calls = paths.are_waits[chosen], self.have_calls[self.traces]
        of_doings = {
            Doing.UNSEEN: ~are_seen,
            Doing.WAITING: waits & (kinds[spans] == CONSUMER),
            Doing.QUEUED: waits & np.isin(self.names, [*numbers_of(store.names, Part.REPLICA)]),
            Doing.IDLE: waits,
            Doing.SPANS: ~have_calls,
            Doing.SUBMITTING: submit[spans],
        }
        self.doings = np.select([*of_doings.values()], [*map(_CODES.__getitem__, of_doings)], _CODES[Doing.RUNNING])
        failed = run & have_siblings
        failed[failed] = trees.of("status")[failed] == ERROR
        may_fail = np.bincount(of_nodes[failed], minlength=trees.count)[self.traces] > 0
        tries = _Tries(store, trees.tree, run)
        for index in np.flatnonzero(
            np.where(waits, self.are_attempts & have_siblings[spans], may_fail & are_seen)
        ).tolist():
            if waits[index]:
                self.doings[index] = _CODES[tries.waiting(int(self.nodes[index]), int(self.starts[index]))]
            elif tries.is_futile(int(self.nodes[index])):
                self.doings[index] = _CODES[Doing.FAILING]
        # A call and its attempt are one thing to those who read it, and can have different names.
        submitted = np.flatnonzero((self.doings == _CODES[Doing.SUBMITTING]) & (firsts[spans] != _NONE))
        self.names[submitted] = names[firsts[spans[submitted]]]


class _AlongPaths:
    """What the critical paths of some traces show, of those that are wanted."""

    def __init__(self, store: Store, trees: Trees, paths: Paths, known: KnownCalls, wanted: Flags) -> None:
        self._store = store
        self._trees = trees
        self._paths = paths
        self._known = known
        self._pieces = _Pieces(store, trees, paths, wanted)
        self._bounds = np.searchsorted(trees.traces[: len(trees.tree.rows)], np.arange(trees.count + 1))
        """Where the spans of each trace begin."""
        # Ray's times are no evidence where clocks are centuries apart.
        is_told = store.ray is not None and self._pieces.ns.dtype != object
        self._causes = self._find_causes() if is_told else {}
        self._run_before = dict[int, str]()
        """What may have run before the attempt that a trace waited for longest, by trace."""
        self._parts = self._find_parts()
        self._generators = self._find_generators()

    def answer(self, index: int, trace: int) -> Answer:
        """Return the answer of one of the traces."""
        parts = self._parts[index]
        if (before := self._before(index, trace)) is not None:
            parts.append(before)
        parts.sort(key=lambda part: (part.doing is Doing.SPANS and part.names > 1, -part.ns))
        if parts and parts[0].doing is Doing.LIVING:
            parts[:2] = reversed(parts[:2])
        return Answer(
            sum(part.ns for part in parts),
            tuple(parts),
            has_calls=bool(self._pieces.have_calls[index]),
            doubts=", ".join(filter(None, (self._paths.reasons[index], self._run_before.get(index, "")))),
            unseen_calls=self._unseen_calls(index),
            generators=tuple(self._generators.get(index, ())),
        )

    def _before(self, index: int, trace: int) -> AnswerPart | None:
        """Return the time of a trace before its path begins."""
        first, end = self._paths.bounds[index : index + 2].tolist()
        before = int(self._paths.starts_ns[first]) - self._store.trace_table.start_ns[trace] if first < end else 0
        if before <= 0:
            return None
        root, tree, spans = int(self._paths.nodes[first]), self._trees.tree, self._store.spans
        while tree.parents[root] != ROOT:
            root = tree.parents[root]
        name = "" if tree.is_missing(root) else self._store.names.texts[spans.name[tree.rows[root]]]
        return AnswerPart(Doing.EARLIER, before, longest=name)

    def _find_parts(self) -> list[list[AnswerPart]]:
        """Return the pieces of each trace and doing as one part, in the order in which they begin."""
        found, pieces = [list[AnswerPart]() for _ in range(self._trees.count)], self._pieces
        if not len(pieces.nodes):
            return found
        count, factor = len(_DOINGS), max(len(self._trees.tree), len(self._store.names.texts)) + 1
        parts = pieces.traces * count + pieces.doings
        # What waits is told by node, all else by name.
        are_waits = np.isin(pieces.doings, [_CODES[doing] for doing in _WAITS])
        keys = np.where(are_waits, pieces.nodes, pieces.names)
        pairs, begins, of_pairs = np.unique(parts * factor + keys + 1, return_index=True, return_inverse=True)
        names_of_parts = np.unique(parts * factor + pieces.names + 1) // factor
        sums = _sums(of_pairs, pieces.ns, len(pairs))
        spans = np.bincount(np.unique(of_pairs * factor + pieces.nodes) // factor)
        keys = pairs % factor - 1
        parts, firsts = np.unique(pairs // factor, return_index=True)
        # Of several that are as long, the least counts.
        which = np.repeat(np.arange(len(parts)), np.diff(firsts, append=len(pairs)))
        longest = np.flatnonzero(sums == np.maximum.reduceat(sums, firsts)[which])
        longest = longest[np.searchsorted(which[longest], np.arange(len(parts)))]
        columns = (
            *(parts, firsts, np.append(firsts[1:], len(pairs))),
            *(keys[longest], sums[longest], pieces.starts[begins[longest]], spans[longest]),
            *(np.add.reduceat(sums, firsts), np.add.reduceat(spans, firsts)),
            np.unique(names_of_parts, return_counts=True)[1],
        )
        wholes = _sums(pieces.traces, pieces.ns, self._trees.count).tolist()
        order, rows = np.argsort(np.minimum.reduceat(begins, firsts)), self._trees.tree.rows
        in_order = zip(*(column[order].tolist() for column in columns), strict=True)
        for part, first, end, key, longest_ns, since_ns, longest_spans, ns, nodes, of_nodes in in_order:
            index, doing = part // count, _DOINGS[part % count]
            if doing is Doing.SPANS:
                of_names = (column[first:end].tolist() for column in (keys, sums, spans))
                found[index] += _by_name(self._store, [*zip(*of_names, strict=True)], wholes[index])
                continue
            name = self._store.spans.name[rows[key]] if doing in _WAITS else key
            reason, meanwhile = self._waited_for(rows[key], since_ns) if doing is Doing.WAITING else (None, None)
            text = self._store.names.texts[name] if name != _NONE else ""
            if reason is not None and self._known.attempts.may_have_run_before(rows[key]):
                self._run_before[index] = f"{short_names([text])[text]} may have run before"
            causes = self._causes.get(index, ()) if doing is Doing.WAITING else ()
            why = reason, meanwhile, causes
            found[index].append(AnswerPart(doing, ns, nodes, of_nodes, text, longest_ns, *why, longest_spans))
        return found

    def _find_causes(self) -> dict[int, tuple[tuple[WaitedFor, int], ...]]:
        """Return what all waiting on paths was for, by trace, where it has several causes, all certain."""
        pieces, count = self._pieces, self._trees.count
        chosen = np.flatnonzero(pieces.doings == _CODES[Doing.WAITING])
        rows, traces = np.array(self._trees.tree.rows, np.int64)[pieces.nodes[chosen]], pieces.traces[chosen]
        parts, are_likely = self._known.attempts.reasons_of(rows).last_parts(rows, pieces.ns[chosen])
        sums = np.zeros((count, len(KINDS)), np.int64)
        np.add.at(sums, traces, parts)
        are_told = ~(np.bincount(traces[are_likely], minlength=count) > 0)
        # What is but for a handover one cause is said of the longest, with what shows it.
        told = np.flatnonzero(are_told & (sums.sum(axis=1) - sums.max(axis=1) > MOST_HANDOVER_NS))
        return {index: tuple(zip(KINDS, sums[index].tolist(), strict=True)) for index in told.tolist()}

    def _waited_for(self, row: int, since_ns: int) -> tuple[WaitReason | None, Meanwhile | None]:
        """Return what an attempt waited for, and what went on since the path waits for it."""
        reason = self._known.wait_reason_of(row)
        if reason is None:
            return None, None
        from spanview.analysis.ray.meanwhile import meanwhile_of

        return reason, meanwhile_of(self._store, self._known.attempts, row, reason, since_ns)

    # -- what the path leaves open -------------------------------------------------------------------------------------

    def _unseen_calls(self, index: int) -> UnseenCalls:
        first, end = self._bounds[index : index + 2].tolist()
        rows = self._trees.tree.rows[first:end]
        reasons = self._known.reasons_among(rows) if self._pieces.have_alone[index] else {}
        again = [] if self._store.ray is None else self._wait_again(rows)
        if not (reasons or again):
            return UnseenCalls()
        from spanview.analysis.ray.reasons import Reason, without_attempt

        spans, texts = self._store.spans, self._store.names.texts
        whys = without_attempt(self._store, reasons)
        untraced = sorted(row for row, why in reasons.items() if why.reason is Reason.UNTRACED)
        without, left_out = (tuple(texts[spans.name[row]] for row in rows) for rows in (whys, untraced))
        pending = [(texts[spans.name[row]], why) for row, why in whys.items() if why.outcome is CallOutcome.PENDING]
        never_ran, waiting = sum(why.never_ran for why in whys.values()), sum(why.may_run for _, why in pending)
        unsent = [(name, why.brief) for name, why in pending]
        unsent += [(texts[spans.name[row]], told.as_ray_said_last) for row, told in again]
        return UnseenCalls(without, left_out, never_ran, waiting, tuple(unsent))

    def _wait_again(self, rows: Sequence[int]) -> list[tuple[int, ToldOutcome]]:
        """Return which of some rows are of attempts whose calls wait to be tried again, and what Ray says of these."""
        later = self._known.calls.later_outcomes
        told = ((row, later[row]) for row in rows if row in later)
        return [(row, outcome) for row, outcome in told if outcome.outcome is CallOutcome.PENDING]

    def _find_generators(self) -> dict[int, dict[str, None]]:
        """Return the names of attempts on paths that are generators, in order, by trace."""
        found, texts, pieces = defaultdict[int, dict[str, None]](dict), self._store.names.texts, self._pieces
        names = pieces.names[pieces.are_attempts]
        functions = {name: texts[name].removesuffix(RAN) for name in np.unique(names).tolist()}
        chosen = np.isin(names, [name for name, text in functions.items() if text in self._known.attempts.generators])
        traces = pieces.traces[pieces.are_attempts][chosen].tolist()
        for index, name in zip(traces, names[chosen].tolist(), strict=True):
            found[index][texts[name]] = None
        return found


def _sums(groups: Places, values: Times, size: int) -> Times:
    """Return the sum of the values of each group, exactly."""
    sums = np.zeros(size, values.dtype)
    np.add.at(sums, groups, values)
    return sums


def _by_name(store: Store, of_names: Sequence[tuple[int, int, int]], total: int) -> list[AnswerPart]:
    """Return a part for each of the names that take most, and one for all others.

    Args:
        of_names: Each name's number, how long it takes, and of how many spans it is.
    """
    texts = store.names.texts
    names = sorted(of_names, key=lambda of_name: (-of_name[1], texts[of_name[0]]))
    own = [of_name for of_name in names[:_MOST_NAMES] if of_name[1] >= _LEAST_SHARE * total]
    if len(names) - len(own) == 1:
        own = names
    parts = [AnswerPart(Doing.SPANS, ns, spans, 1, texts[name], ns, longest_spans=spans) for name, ns, spans in own]
    if others := names[len(own) :]:
        _, times, spans = zip(*others, strict=True)
        parts.append(AnswerPart(Doing.SPANS, sum(times), sum(spans), len(others)))
    return parts
