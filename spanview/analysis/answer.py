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

from spanview.analysis.consistent import NO_TIMES
from spanview.analysis.critical import Blame, critical_path
from spanview.analysis.percentiles import rank_of
from spanview.analysis.ray.executions import are_executions
from spanview.analysis.ray.known_calls import KnownCalls
from spanview.analysis.ray.names import RAN, call_names
from spanview.analysis.ray.waits import lived_between
from spanview.analysis.serve.nested import NestedQueue, summed
from spanview.analysis.serve.requests import Part, numbers_of, part_of_name
from spanview.analysis.telling import unheard
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, ERROR, PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from spanview.analysis.critical import CriticalPath, Segment
    from spanview.analysis.ray.meanwhile import Meanwhile
    from spanview.analysis.ray.names import NameNumbers
    from spanview.analysis.ray.waited_for import WaitReason
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

_MOST_NAMES: Final = 3
"""So many names have parts of their own."""
_LEAST_SHARE: Final = 0.03
"""Names that take less of the whole share one part."""
_ROUNDED_NS: Final = 2_000
"""The SDK's times are right to two microseconds."""


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
    queues: tuple[NestedQueue, ...] = ()
    """How long a request of Serve was in the queue of each deployment, the longest first; they add up to the part."""


@dataclass(frozen=True, slots=True)
class UnseenCalls:
    """The calls of a trace that have no attempt."""

    without_attempt: tuple[str, ...] = ()
    """The names of those that left none, as `reasons.without_attempt` means it."""
    untraced: tuple[str, ...] = ()
    """The names of those that ran or run, certainly or likely, and that tracing leaves out."""
    never_ran: int = 0
    """How many of the first never ran, certainly or likely."""


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
    """Calls without an attempt: what they ran is in no part, or in a wrong one."""
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
    """How many traces have a duration, and an end of each span; at least one."""
    median: Answer
    """The trace whose duration is the median, by nearest rank."""
    slowest: Answer
    without_end: int = 0
    """How many more there are in which a span has no end: they run, or nobody knows how long they took."""


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
    answer = _of_request(store, trace, known)
    if answer is not None:
        return answer
    return _of_path(store, trace, tree, critical_path(tree, store.spans, store.names, until), known)


def answer_along(store: Store, trace: int, tree: TraceTree, path: CriticalPath, known: KnownCalls) -> Answer:
    """Return what `answer_of` does, for whoever has the trace's critical path."""
    return _of_request(store, trace, known) or _of_path(store, trace, tree, path, known)


def typical_answers(store: Store, traces: Sequence[int] | None = None, tell: Tell = unheard) -> TypicalAnswers | None:
    """Return where the time of the median trace and of the slowest one went; None where none has ended."""
    import numpy as np

    from spanview.index.arrays import copy_of

    table = store.trace_table
    columns = (table.id_high, table.id_low, table.start_ns, table.end_ns)
    size = len(table)
    highs, lows, starts, ends = (copy_of(column)[:size] for column in columns)
    chosen = np.arange(size) if traces is None else np.asarray([*traces], np.int64)
    has_all = (starts != NO_TIME) & (ends != NO_TIME) & ((highs | lows) != 0)
    chosen = chosen[has_all[chosen]]
    roots = copy_of(table.root_row)[chosen]
    has_ended = roots == NO_ROW
    ends_of_spans = copy_of(store.spans.end_ns)
    has_ended[~has_ended] = ends_of_spans[roots[~has_ended]] != NO_TIME
    # What runs below a root that has ended, or was lost there, may end later than all that has an end.
    has_open = np.zeros(size, np.bool_)
    # Rows that arrive meanwhile have the other columns first.
    count = min(len(store.spans.next_row), len(ends_of_spans))
    open_traces = copy_of(store.spans.trace)[:count][ends_of_spans[:count] == NO_TIME]
    has_open[open_traces[open_traces < size]] = True
    has_ended &= ~has_open[chosen]
    without_end, chosen = int((~has_ended).sum()), chosen[has_ended]
    if not len(chosen):
        return None
    chosen = chosen[np.lexsort((chosen, ends[chosen] - starts[chosen]))]
    median, slowest = int(chosen[rank_of(len(chosen), 50)]), int(chosen[-1])
    known = KnownCalls(store)
    of_median = answer_of(store, median, known=known)
    tell(0.5)
    of_slowest = of_median if median == slowest else answer_of(store, slowest, known=known)
    return TypicalAnswers(len(chosen), of_median, of_slowest, without_end)


# -- a request of Serve ------------------------------------------------------------------------------------------------


def _of_request(store: Store, trace: int, known: KnownCalls) -> Answer | None:
    """Return the parts of a trace that is one request of Serve; None for all others."""
    spans, table = store.spans, store.trace_table
    root = table.root_row[trace]
    if root == NO_ROW or part_of_name(store.names.texts[spans.name[root]]) not in {Part.PROXY, Part.ROUTE}:
        return None
    request = known.request_of(root)
    rows = {} if request is None else dict(zip(request.parts, request.rows, strict=True))
    if request is None or not {Part.ROUTE, Part.REPLICA} <= rows.keys():
        return None
    outer, replica = rows.get(Part.PROXY, rows[Part.ROUTE]), rows[Part.REPLICA]
    times = (
        spans.start_ns[outer],
        spans.start_ns[rows[Part.ROUTE]],
        spans.start_ns[replica],
        spans.end_ns[replica],
        max(spans.end_ns[outer], spans.end_ns[replica]),
    )
    covers = abs(times[-1] - table.end_ns[trace]) <= _ROUNDED_NS and times[0] - table.start_ns[trace] <= _ROUNDED_NS
    if NO_TIME in (*times, spans.end_ns[outer]) or list(times) != sorted(times) or not covers:
        return None
    proxy, queue, handling, response = (end - start for start, end in pairwise(times))
    nested = sum(waited.ns for waited in request.nested_queues)
    queues = summed((NestedQueue(request.key.deployment, queue), *request.nested_queues))
    parts = (
        AnswerPart(Doing.PROXY, proxy),
        AnswerPart(Doing.QUEUED, queue + nested, queues=queues),
        AnswerPart(Doing.HANDLING, handling - nested),
        AnswerPart(Doing.RESPONSE, response),
    )
    return Answer(times[-1] - times[0], tuple(part for part in parts if part.ns or part.doing is Doing.HANDLING))


# -- a critical path ---------------------------------------------------------------------------------------------------


class _Piece(NamedTuple):
    """A stretch of the path with what it is a part of."""

    doing: Doing
    node: int
    name: int
    """The number of the name that the time counts for."""
    start_ns: int
    ns: int


def _of_path(store: Store, trace: int, tree: TraceTree, path: CriticalPath, known: KnownCalls) -> Answer:
    """Return what the critical path of a trace shows."""
    spans, texts = store.spans, store.names.texts
    numbers = call_names(store)
    has_calls = any(map((numbers[0] | numbers[1]).__contains__, map(spans.name.__getitem__, tree.rows)))
    sorter = _Sorter(store, tree, numbers, has_calls=has_calls)
    pieces = [sorter.piece(segment) for segment in path.segments]
    parts = _parts(store, tree, pieces, known)
    before = path.segments[0].start_ns - store.trace_table.start_ns[trace] if path.segments else 0
    if before > 0:
        root = sorter.root_of(path.segments[0].node)
        name = "" if tree.is_missing(root) else texts[spans.name[tree.rows[root]]]
        parts.append(AnswerPart(Doing.EARLIER, before, longest=name))
    parts.sort(key=lambda part: (part.doing is Doing.SPANS and part.names > 1, -part.ns))
    if parts and parts[0].doing is Doing.LIVING:
        parts[:2] = reversed(parts[:2])
    return Answer(
        sum(part.ns for part in parts),
        tuple(parts),
        has_calls=has_calls,
        doubts=path.reason,
        unseen_calls=_unseen_calls(store, tree, known) if has_calls else UnseenCalls(),
        generators=_generators(store, tree, pieces, numbers[1], known),
    )


class _Sorter:
    """Tells what the stretches of a trace's path were spent on."""

    def __init__(self, store: Store, tree: TraceTree, numbers: NameNumbers, *, has_calls: bool) -> None:
        self._store = store
        self._spans = store.spans
        self._tree = tree
        self._submits, self._runs = numbers
        self._replicas = numbers_of(store.names, Part.REPLICA)
        self._has_calls = has_calls
        self._has_errors = ERROR in map(store.spans.status.__getitem__, tree.rows)
        self._futile: dict[int, bool] = {ROOT: False}

    def piece(self, segment: Segment) -> _Piece:
        """Return a stretch with what it was spent on."""
        node, start, end, blame = segment
        ns, rows = end - start, self._tree.rows
        if node >= len(rows):
            return _Piece(Doing.UNSEEN, node, -1, start, ns)
        row = rows[node]
        kind, name = self._spans.kind[row], self._spans.name[row]
        if blame is Blame.WAIT:
            doing = self._waiting(node) if kind == CONSUMER else Doing.QUEUED if name in self._replicas else Doing.IDLE
        elif not self._has_calls:
            doing = Doing.SPANS
        elif self._has_errors and self._is_futile(node):
            doing = Doing.FAILING
        elif kind == PRODUCER and name in self._submits:
            doing = Doing.SUBMITTING
            # A call and its attempt are one thing to those who read it, and can have different names.
            name = next((self._spans.name[rows[child]] for child in self._tree.children(node)), name)
        else:
            doing = Doing.RUNNING
        return _Piece(doing, node, name, start, ns)

    def root_of(self, node: int) -> int:
        """Return the root above a node."""
        while self._tree.parents[node] != ROOT:
            node = self._tree.parents[node]
        return node

    def _is_attempt(self, node: int) -> bool:
        if self._tree.is_missing(node):
            return False
        row = self._tree.rows[node]
        return self._spans.kind[row] == CONSUMER and self._spans.name[row] in self._runs

    def _waiting(self, node: int) -> Doing:
        """Return what the time before an attempt began was spent on."""
        parent = self._tree.parents[node]
        if parent == ROOT or self._tree.is_missing(parent) or not self._is_attempt(node):
            return Doing.WAITING
        previous = self._tree.previous_sibling(node)
        if previous is None or not self._is_attempt(previous):
            return Doing.WAITING
        rows = self._tree.rows[previous], self._tree.rows[node]
        if self._spans.end_ns[rows[0]] == NO_TIME:
            return Doing.UNENDED
        return Doing.LIVING if lived_between(self._store, *rows) else Doing.RETRYING

    def _is_futile(self, node: int) -> bool:
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
        parent = self._tree.parents[node]
        if parent == ROOT or not self._is_attempt(node) or self._tree.is_missing(parent):
            return False
        row, last = self._tree.rows[node], self._tree.children(parent)[-1]
        if self._spans.status[row] != ERROR or last == node:
            return False
        return not (self._is_attempt(last) and are_executions(self._store, row, self._tree.rows[last]))


_WAITS: Final = frozenset((Doing.WAITING, Doing.RETRYING, Doing.UNENDED, Doing.LIVING, Doing.QUEUED))


def _parts(store: Store, tree: TraceTree, pieces: Iterable[_Piece], known: KnownCalls) -> list[AnswerPart]:
    """Return the pieces of each doing as one part."""
    by_doing = defaultdict[Doing, list[_Piece]](list)
    for piece in pieces:
        by_doing[piece.doing].append(piece)
    total = sum(piece.ns for several in by_doing.values() for piece in several)
    parts: list[AnswerPart] = []
    for doing, several in by_doing.items():
        if doing is Doing.SPANS:
            parts += _by_name(store, several, total)
        elif several:
            parts.append(_part(store, tree, doing, several, known))
    return parts


def _part(store: Store, tree: TraceTree, doing: Doing, pieces: Sequence[_Piece], known: KnownCalls) -> AnswerPart:
    """Return pieces of one doing as a part."""
    is_wait, texts = doing in _WAITS, store.names.texts
    sums = defaultdict[int, int](int)
    for piece in pieces:
        sums[piece.node if is_wait else piece.name] += piece.ns
    longest = max(sums, key=lambda key: (sums[key], -key))
    name = store.spans.name[tree.rows[longest]] if is_wait else longest
    reason = meanwhile = None
    if doing is Doing.WAITING:
        since = min(piece.start_ns for piece in pieces if piece.node == longest)
        reason, meanwhile = _waited_for(store, tree, longest, since, known)
    return AnswerPart(
        doing,
        sum(sums.values()),
        spans=len({piece.node for piece in pieces}),
        names=len({piece.name for piece in pieces}),
        longest=texts[name] if name >= 0 else "",
        longest_ns=sums[longest],
        reason=reason,
        meanwhile=meanwhile,
    )


def _waited_for(
    store: Store, tree: TraceTree, node: int, since_ns: int, known: KnownCalls
) -> tuple[WaitReason | None, Meanwhile | None]:
    """Return what an attempt waited for, and what went on since the path waits for it."""
    from spanview.analysis.ray.meanwhile import meanwhile_of

    row = tree.rows[node]
    if store.spans.kind[row] != CONSUMER:
        return None, None
    reason = known.wait_reason_of(row)
    if reason is None:
        return None, None
    return reason, meanwhile_of(store, known.attempts, row, reason, since_ns)


def _by_name(store: Store, pieces: Iterable[_Piece], total: int) -> list[AnswerPart]:
    """Return a part for each of the names that take most, and one for all others."""
    sums, nodes = defaultdict[int, int](int), defaultdict[int, set[int]](set)
    for piece in pieces:
        sums[piece.name] += piece.ns
        nodes[piece.name].add(piece.node)
    names = sorted(sums, key=lambda name: (-sums[name], store.names.texts[name]))
    own = [name for name in names[:_MOST_NAMES] if sums[name] >= _LEAST_SHARE * total]
    if len(names) - len(own) == 1:
        own = names
    parts = [
        AnswerPart(Doing.SPANS, sums[name], len(nodes[name]), 1, store.names.texts[name], sums[name]) for name in own
    ]
    if others := names[len(own) :]:
        number = sum(len(nodes[name]) for name in others)
        parts.append(AnswerPart(Doing.SPANS, sum(map(sums.__getitem__, others)), number, len(others)))
    return parts


# -- what the path leaves open -----------------------------------------------------------------------------------------


def _unseen_calls(store: Store, tree: TraceTree, known: KnownCalls) -> UnseenCalls:
    reasons = known.reasons_in(tree)
    if not reasons:
        return UnseenCalls()
    from spanview.analysis.ray.reasons import Reason, without_attempt

    spans, texts = store.spans, store.names.texts
    whys = without_attempt(store, reasons)
    untraced = sorted(row for row, why in reasons.items() if why.reason is Reason.UNTRACED)
    without, left_out = (tuple(texts[spans.name[row]] for row in rows) for rows in (whys, untraced))
    return UnseenCalls(without, left_out, sum(why.never_ran for why in whys.values()))


def _generators(
    store: Store, tree: TraceTree, pieces: Iterable[_Piece], runs: Collection[int], known: KnownCalls
) -> tuple[str, ...]:
    """Return the names of attempts on a path that are generators."""
    texts, spans = store.names.texts, store.spans
    rows = [tree.rows[piece.node] for piece in pieces if not tree.is_missing(piece.node)]
    names = dict.fromkeys(spans.name[row] for row in rows if spans.kind[row] == CONSUMER and spans.name[row] in runs)
    return tuple(texts[name] for name in names if texts[name].removesuffix(RAN) in known.attempts.generators)
