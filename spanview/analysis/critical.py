"""The critical path: what a trace's end waited for, followed backwards to its start.

driver      ====--------------------------------====
  submit        ==
    worker        ~~~~~~~~~~======--------======            = on the path, blamed on the span itself (self)
      inner                       ========                  ~ on the path, called and not started yet (wait)
  submit            --                                      - runs, and the path is elsewhere
    worker              ---------

From the start of the root to the latest end, each moment is blamed on one span. Backwards from that end:

1. A span that runs goes back to what ended last: the latest, of what it waited for, that had ended by then. The time
   between is the span's own. Where nothing ended since it started, the path goes back to its parent, at that time.
2. A span waits for its children, and for what they left running: what outlives its parent is waited for by the nearest
   span above that ends no earlier. So a Ray driver waits for a CONSUMER whose PRODUCER ended long ago, and a Serve
   handler for a replica that outlives the span which routed to it. Nothing waits for what outlives it.
3. A replica of Ray Serve is queued from the start of its routing to its own, as `serve` defines it. What would be the
   routing's own in that time is the replica's wait.
4. Where a parent had ended before its child started, nobody ran: the time between is the child's wait, the gap of a Ray
   call, as `wait_of` has it. Where another child of the same parent ended in that time, the wait begins there, and the
   path goes back to that one: the attempt that failed before the next.

Of several that end together, the one that started first counts. The path knows no more than the spans: what ended in
time is taken as waited for, and whether a call waited for a worker or for its arguments is open.

Jaeger clips a child to its parent and drops one that starts after the parent's end: nearly every Ray task.

A trace that leaves something open, such as a missing parent or impossible times, still has a path, through what
`consistent` makes of it, and a reason why it isn't sure. Of several trees, it is the one with the latest end.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from spanview.analysis.consistent import NO_TIMES, consistent
from spanview.analysis.ray.waits import has_waited
from spanview.analysis.serve.requests import Part, numbers_of
from spanview.analysis.telling import unheard
from spanview.index.tree import ROOT
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from spanview.analysis.consistent import ConsistentTrace
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.index.table import Interned, SpanTable
    from spanview.index.tree import TraceTree


class Blame(Enum):
    """What a stretch of the path is."""

    SELF = "self"
    """The span itself ran, and waited for nothing that is a span."""
    WAIT = "wait"
    """The span had been called, and had not started; nothing else ran for it."""


_Stretch: TypeAlias = tuple[int, int, int, Blame]
_NOBODY: Final[list[int]] = []


class Segment(NamedTuple):
    """A stretch of the path, longer than 0."""

    node: int
    """The node of the tree that is to blame."""
    start_ns: int
    end_ns: int
    kind: Blame


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The critical path of a trace."""

    segments: tuple[Segment, ...]
    """By time. Each starts where the previous one ends; empty where nothing takes time."""
    reason: str
    """Why the path isn't sure, in words; empty where it is."""


@dataclass(frozen=True, slots=True)
class Share:
    """What the spans of one name take of the critical paths of many traces."""

    name: str
    traces: int
    """Traces on whose path the name is."""
    unsure: int
    """How many of these paths have a reason not to be sure."""
    self_ns: int
    wait_ns: int


def critical_path(
    tree: TraceTree, spans: SpanTable, names: Interned, until: Mapping[int, int] = NO_TIMES
) -> CriticalPath:
    """Return the critical path of a trace, as the module defines it; `until` is as in `consistent`.

    It leads from the start of a root to the latest end without a gap. Where no span has a time it has no segments. That
    and everything else that isn't sure is said in `reason`, and raises nothing.
    """
    stretches, reason = _path(tree, spans, names, until)
    return CriticalPath(tuple(map(Segment._make, reversed(stretches))), reason)


def critical_by_name(store: Store, traces: Sequence[int] | None = None, tell: Tell = unheard) -> list[Share]:
    """Return what each name takes of the critical paths, the greatest first, then by name.

    Returns:
        The names that are on a path. What missing parents take is left out, and the time between two attempts in which
        an actor lived, or that follows one without an end.
    """
    spans, table = store.spans, store.trace_table
    sums: dict[Blame, defaultdict[int, int]] = {kind: defaultdict(int) for kind in Blame}
    counts: defaultdict[int, int] = defaultdict(int)
    unsure: defaultdict[int, int] = defaultdict(int)
    chosen = range(len(table)) if traces is None else traces
    for index, trace in enumerate(chosen):
        tell(index / len(chosen))
        if not table.trace_id(trace):
            continue
        tree = store.tree(trace)
        stretches, reason = _path(tree, spans, store.names)
        names = set()
        for node, start, end, kind in stretches:
            if not tree.is_missing(node):
                name = spans.name[tree.rows[node]]
                if kind is Blame.SELF or has_waited(store, tree, node):
                    sums[kind][name] += end - start
                names.add(name)
        for name in names:
            counts[name] += 1
            unsure[name] += bool(reason)
    shares = [
        Share(store.names.texts[name], count, unsure[name], sums[Blame.SELF][name], sums[Blame.WAIT][name])
        for name, count in counts.items()
    ]
    return sorted(shares, key=lambda share: (-share.self_ns - share.wait_ns, share.name))


def _path(
    tree: TraceTree, spans: SpanTable, names: Interned, until: Mapping[int, int] = NO_TIMES
) -> tuple[list[_Stretch], str]:
    """Return the stretches of a trace's path, the latest first, and why it isn't sure."""
    trace = consistent(tree, spans, until)
    if max(trace.ends, default=NO_TIME) == NO_TIME:
        return [], "no span has a time"
    replicas, routes = numbers_of(names, Part.REPLICA), numbers_of(names, Part.ROUTE)
    queued = _queued(tree, spans, replicas, routes) if replicas and routes else frozenset()
    return _stretches(trace, queued), trace.doubts


def _queued(tree: TraceTree, spans: SpanTable, replicas: Container[int], routes: Container[int]) -> frozenset[int]:
    """Return the nodes that are replicas below their routings, by the numbers of the names that both have."""
    return frozenset(
        node
        for node, row in enumerate(tree.rows)
        if spans.name[row] in replicas
        and (parent := tree.parents[node]) != ROOT
        and not tree.is_missing(parent)
        and spans.name[tree.rows[parent]] in routes
    )


def _stretches(trace: ConsistentTrace, queued: frozenset[int]) -> list[_Stretch]:
    """Return the stretches of the path of a trace that has times, the latest first."""
    parents, starts, ends = trace.parents, trace.starts, trace.ends
    # Of those that end together, the last is the one that started first.
    by_end = sorted(range(len(parents) - 1, -1, -1), key=ends.__getitem__)
    waited = _waited_for(parents, ends, by_end)
    finished = bytearray(len(parents))
    replicas: dict[int, int] = {}
    """By its routing, the replica that was queued since the routing started."""
    stretches: list[_Stretch] = []
    node = came_from = by_end[-1]
    time = ends[node]
    while node != ROOT:
        goes_to, since, end = parents[node], starts[node], ends[node]
        below = waited.get(node, _NOBODY)
        while below and ends[below[-1]] > since:
            other = below.pop()
            # A span that takes no time would be visited again when it was left.
            if ends[other] <= time and not finished[other]:
                goes_to, since = other, ends[other]
                break
        else:
            finished[node] = True
            if node in queued:
                replicas[goes_to] = node
        if time > end:
            idle = max(since, end)
            if time > idle:
                stretches.append((came_from, idle, time, Blame.WAIT))
            time = idle
        if time > since:
            blamed, kind = (replicas[node], Blame.WAIT) if node in replicas else (node, Blame.SELF)
            if stretches and stretches[-1][0] == blamed and stretches[-1][3] is kind:
                # The path went through a span that takes no time, or the wait continued after the routing had ended.
                time = stretches.pop()[2]
            stretches.append((blamed, since, time, kind))
        node, came_from, time = goes_to, node, since
    return stretches


def _waited_for(parents: Sequence[int], ends: Sequence[int], by_end: Iterable[int]) -> defaultdict[int, list[int]]:
    """Return the nodes that each node may go back to, by end: what it waits for, then its children that outlive it."""
    waited: defaultdict[int, list[int]] = defaultdict(list)
    above = [*parents]
    for node in by_end:
        parent, end = parents[node], ends[node]
        if parent == ROOT:
            continue
        waited[parent].append(node)
        if ends[parent] >= end:
            continue
        outlasting = parent
        while outlasting != ROOT and ends[outlasting] < end:
            outlasting = above[outlasting]
        # Later nodes end later, and so outlive all that were passed: the way up gets shorter.
        passed = parent
        while passed != outlasting:
            above[passed], passed = outlasting, above[passed]
        if outlasting != ROOT:
            waited[outlasting].append(node)
    return waited
