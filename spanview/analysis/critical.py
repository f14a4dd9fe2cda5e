"""The critical path: what a trace's end and its root's waited for, followed backwards to its start.

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
   routing's own in that time is the replica's wait. It closes its span when its answer is on its way: one that ends a
   little after its caller went on had ended before that. A client that gave up waited until then for its server,
   whenever that ended.
4. Where a parent had ended before its child started, nobody ran: the time between is the child's wait, the gap of a Ray
   call, as `wait_of` has it. Where another child of the same parent ended in that time, the wait begins there, and the
   path goes back to that one: the attempt that failed before the next.
5. A span likely waits for a call that another one submitted, too, as `awaited` finds it; then the path isn't sure. Nor
   is it of a call after which its caller worked on, and of a span that ran while its process had calls on their way.
6. A root that has ended waited for nothing that outlives it: from there on the path is that of the latest end, and up
   to there its own. A PRODUCER only submits: of that it is so of its last attempt, once all have ended.
7. Serve's long polls, which a proxy or the controller runs until there is news, take no time unless the trace ends with
   one: nothing waits for them. Nor does who made an actor wait for it to be made again: what was called in it does.

Of several that end together, the one that started first counts. The path knows no more than the spans: what ended in
time is taken as waited for, and whether a call waited for a worker or for its arguments is open.

Jaeger clips a child to its parent and drops one that starts after the parent's end: nearly every Ray task.

A trace that leaves something open, such as a missing parent or impossible times, still has a path, through what
`consistent` makes of it, and a reason why it isn't sure. Of several trees, it is the one with the latest end.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from spanview.analysis.consistent import NO_TIMES, consistent
from spanview.analysis.ray.awaited import Doubted, awaited_elsewhere
from spanview.analysis.ray.names import is_constructor, is_long_poll, short_names
from spanview.analysis.ray.waits import has_waited
from spanview.analysis.serve.requests import Part, numbers_of
from spanview.analysis.telling import part, unheard
from spanview.index.tree import ROOT
from spanview.model.codes import CLIENT, CONSUMER, ERROR, PRODUCER, SERVER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from spanview.analysis.consistent import ConsistentTraces
    from spanview.analysis.telling import Tell
    from spanview.index.arrays import Flags, Places
    from spanview.index.forest import Forest, Trees
    from spanview.index.store import Store
    from spanview.index.table import Interned


_NOBODY: Final[list[int]] = []
_LEAST_PART: Final = 20
"""So much of a path at least, a twentieth, isn't sure where that is said of the trace."""
_LATE_NS: Final = 100_000_000
"""So long after its answer, and a tenth of its time, a replica may close its span: 13 of 32 did, after 24 ms at most;
one on a busy machine after 30."""
_SHARE_SPANS: Final = 50_000
"""Spans whose paths are found at a time: it takes some hundred bytes for each."""


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


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """The critical paths of some traces: N stretches as columns, those of one trace after the other's, each by time."""

    nodes: Places
    """The nodes of the trees that are to blame."""
    starts_ns: NDArray[np.int64]
    """Each starts where the one before it ends, and is longer than 0."""
    ends_ns: NDArray[np.int64]
    are_waits: Flags
    """Whether the span had been called, and had not started, and nothing else ran for it; else it ran itself."""
    bounds: Places
    """Where the stretches of each trace begin, and behind them N."""
    are_sure: Flags
    """Whether that is sure: in a Ray call, its caller went on at once when it had ended; of a caller's own time, no
    other call was on its way."""
    reasons: Sequence[str]
    """Why the path of each trace isn't sure, in words; empty where it is."""
    doubted: Doubted | None = None
    """What is told of stretches that aren't sure."""


def critical_by_name(store: Store, traces: Sequence[int] | None = None, tell: Tell = unheard) -> list[Share]:
    """Return what each name takes of the critical paths, the greatest first, then by name.

    Returns:
        The names that are on a path. What missing parents take is left out, and the time between two attempts in which
        an actor lived, or that follows one without an end.
    """
    from spanview.index.forest import forest_of, trees_of

    table = store.trace_table
    chosen = [trace for trace in (range(len(table)) if traces is None else traces) if table.trace_id(trace)]

    def found() -> Iterator[tuple[Trees, Paths]]:
        done = 0
        for share in table.shares(chosen, _SHARE_SPANS):
            trees, _ = trees_of(forest_of(store, share), share)
            told = part(tell, done / len(chosen), (done := done + len(share)) / len(chosen))
            yield trees, paths_in(trees, store.names, until, told)

    until = NO_TIMES if store.ask_lives is None else store.ask_lives(store).known_until()
    return shares_of(store, found())


def shares_of(store: Store, found: Iterable[tuple[Trees, Paths]]) -> list[Share]:
    """Return what `critical_by_name` does of traces whose trees and paths are known; each has a usable id."""
    import numpy as np

    texts, size = store.names.texts, len(store.names.texts)
    counts, times = np.zeros((2, size), np.int64), np.zeros((2, size), object)
    for trees, paths in found:
        seen = np.flatnonzero(paths.nodes < len(trees.tree.rows))
        nodes, are_waits = paths.nodes[seen], paths.are_waits[seen]
        names, of_paths = trees.of("name")[nodes].astype(np.int64), trees.traces[nodes]
        on_paths, on_name = np.divmod(np.unique(of_paths * size + names), size)
        is_unsure = np.array([*map(bool, paths.reasons)], np.bool_)[on_paths]
        counts += np.bincount(on_name, minlength=size), np.bincount(on_name[is_unsure], minlength=size)
        is_counted, waits = ~are_waits, np.flatnonzero(are_waits)
        is_counted[waits] = [has_waited(store, trees.tree, node) for node in nodes[waits].tolist()]
        lengths = paths.ends_ns[seen].astype(object) - paths.starts_ns[seen]
        np.add.at(times, (are_waits[is_counted].astype(np.int64), names[is_counted]), lengths[is_counted])
    figures = zip(texts, *counts.tolist(), *times.tolist(), strict=False)
    shares = [Share(*of_name) for of_name, is_on_path in zip(figures, counts[0].tolist(), strict=True) if is_on_path]
    return sorted(shares, key=lambda share: (-share.self_ns - share.wait_ns, share.name))


def times_on_paths(forest: Forest, traces: Sequence[int]) -> NDArray[np.int64]:
    """Return for each span of a forest how many nanoseconds it takes of its trace's critical path; 0 for none.

    Waits are included.

    Args:
        traces: Of those alone the paths are looked for; spans without a usable trace id have none.
    """
    import numpy as np

    from spanview.index.forest import trees_of

    store, times = forest.store, np.zeros(len(forest), np.int64)
    trees, positions = trees_of(forest, [trace for trace in traces if store.trace_table.trace_id(trace)])
    paths = paths_in(trees, store.names, is_doubted=False)
    seen = np.flatnonzero(paths.nodes < len(positions))
    np.add.at(times, positions[paths.nodes[seen]], paths.ends_ns[seen] - paths.starts_ns[seen])
    return times


def paths_in(
    trees: Trees,
    names: Interned,
    until: Mapping[int, int] = NO_TIMES,
    tell: Tell = unheard,
    *,
    is_doubted: bool = True,
) -> Paths:
    """Return the critical paths of traces, as the module defines them; `until` is as in `consistent`.

    Each leads from the start of a root to the latest end without a gap. Where no span has a time it has no stretches.
    That and everything else that isn't sure is said in the reasons, and raises nothing.

    Args:
        is_doubted: Whether it is asked what spans may have awaited; else all stretches count as sure.
    """
    import numpy as np

    all_settled = _without_polls(consistent(trees, until), trees, names)
    settled = _until_given_up(all_settled, trees)
    lasts, by_end = np.full(trees.count, ROOT), _by_end(settled.ends)
    lasts[trees.traces[by_end]] = by_end
    lasts[np.array([*settled.ends, NO_TIME], np.int64)[lasts] == NO_TIME] = ROOT
    by_end = by_end[~np.isin(by_end, _made_again(trees, names))]
    awaiting = awaited_elsewhere(trees, trees.tree.parents, names)
    likely, queued = [*zip(*(column.tolist() for column in awaiting), strict=True)], _queued(trees, names)
    walk, of_roots, outlived = _Walk(settled, by_end, queued, likely), None, _outlived(settled, trees, lasts)
    if (are_outlived := outlived != ROOT).any():
        without = _of_roots(all_settled, trees, outlived, queued)
        below = _by_end(without.ends)
        below = below[are_outlived[trees.traces[below]] & np.isin(below, by_end)]
        of_roots = _Walk(without, below, queued, likely)
    # What is found backwards is turned round at the end.
    *stretches, counts = _stretches(walk, of_roots, lasts, outlived, tell)
    blamed, starts, ends = (np.array(column, np.int64)[::-1] for column in stretches)
    nodes, are_waits = np.divmod(blamed, 2)
    pairs = zip(lasts.tolist(), settled.doubts, strict=True)
    reasons = ["no span has a time" if last == ROOT else doubts for last, doubts in pairs]
    bounds, are_waits = len(nodes) - np.array(counts[::-1]), are_waits.astype(np.bool_)
    if not is_doubted:
        return Paths(nodes, starts, ends, are_waits, bounds, np.ones(len(nodes), np.bool_), reasons)
    own = np.flatnonzero(np.isin(blamed, 2 * awaiting[0]))
    begun = {*zip(nodes[own].tolist(), starts[own].tolist(), strict=True)}
    taken = [(node, attempt) for node, attempt in likely if (node, settled.ends[attempt]) in begun]
    doubted = Doubted(trees, names, blamed, np.stack((starts, ends)))
    paths = Paths(nodes, starts, ends, are_waits, bounds, ~doubted.stretches, reasons, doubted)
    for index, doubt in {**_doubts(paths, doubted), **_likely_awaited(trees, names, taken)}.items():
        reasons[index] = ", ".join(filter(None, (reasons[index], doubt)))
    return paths


def _without_polls(settled: ConsistentTraces, trees: Trees, names: Interned) -> ConsistentTraces:
    import numpy as np

    if not (polls := names.where(is_long_poll)):
        return settled
    ends, lasts = np.array(settled.ends, np.int64), np.full(trees.count, NO_TIME)
    np.maximum.at(lasts, trees.traces, ends)
    taken = np.flatnonzero(np.isin(trees.of("name"), [*polls]))
    taken = taken[ends[taken] < lasts[trees.traces[taken]]]
    ends[taken] = np.array(settled.starts, np.int64)[taken]
    return replace(settled, ends=ends.tolist())


def _made_again(trees: Trees, names: Interned) -> Places:
    """Return the attempts of constructors that follow others that ended well: their actors lived in between."""
    import numpy as np

    if not (made := names.where(is_constructor)):
        return np.zeros(0, np.int64)
    nodes = np.flatnonzero(np.isin(trees.of("name"), [*made]) & (trees.of("kind") == CONSUMER))
    starts, parents = trees.of("start_ns"), np.array(trees.tree.parents, np.int64)
    nodes = nodes[np.lexsort((nodes, starts[nodes], parents[nodes]))]
    has_ended = (trees.of("end_ns")[nodes] != NO_TIME) & (trees.of("status")[nodes] != ERROR)
    follow = (parents[nodes[1:]] == parents[nodes[:-1]]) & (parents[nodes[1:]] >= 0)
    again: Places = nodes[1:][follow & has_ended[:-1]]
    return again


def _until_given_up(settled: ConsistentTraces, trees: Trees) -> ConsistentTraces:
    """Let servers and what is below them end with clients that they outlive, where something else outlives them."""
    import numpy as np

    nodes, until = _given_up(settled, trees)
    lasts = np.full(trees.count, NO_TIME)
    np.maximum.at(lasts, trees.traces, np.array(settled.ends, np.int64))
    return _ended_before(settled, nodes, until, lasts[trees.traces])


def _of_roots(settled: ConsistentTraces, trees: Trees, outlived: Places, queued: Collection[int]) -> ConsistentTraces:
    """Return until when what roots waited for is taken to run, where something outlives them.

    What clients gave up ends with these. So does a replica with whoever called it, where that is the root, or where the
    replica may have closed its span late.
    """
    import numpy as np

    ends, parents = np.array(settled.ends, np.int64), np.array(settled.parents, np.int64)
    replicas = np.array(sorted(queued), np.int64)
    replicas = replicas[outlived[trees.traces[replicas]] != ROOT]
    roots, routes = outlived[trees.traces[replicas]], parents[replicas]
    callers = np.where(routes == roots, routes, parents[routes])
    are_awaited = (callers == roots) | (ends[replicas] - ends[roots] <= _LATE_NS)
    nodes, until = _given_up(settled, trees)
    nodes, until = np.append(nodes, replicas[are_awaited]), np.append(until, ends[callers[are_awaited]])
    return _ended_before(settled, nodes, until, np.full(len(ends), np.iinfo(np.int64).max))


def _given_up(settled: ConsistentTraces, trees: Trees) -> tuple[Places, Places]:
    """Return servers below clients, and when these ended."""
    import numpy as np

    kinds, parents = trees.of("kind"), np.array(settled.parents, np.int64)
    nodes = np.flatnonzero(kinds == SERVER)
    nodes = nodes[(parents[nodes] >= 0) & (parents[nodes] < len(kinds))]
    nodes = nodes[kinds[parents[nodes]] == CLIENT]
    return nodes, np.array(settled.ends, np.int64)[parents[nodes]]


def _ended_before(settled: ConsistentTraces, nodes: Places, until: Places, lasts: Places) -> ConsistentTraces:
    """Let nodes, and what is below them, end at some times that they outlive; not what ends last."""
    import numpy as np

    starts, ends, parents = (np.array(of, np.int64) for of in (settled.starts, settled.ends, settled.parents))
    are_left = (starts[nodes] < until) & (until < ends[nodes]) & (ends[nodes] < lasts[nodes])
    if not are_left.any():
        return settled
    limits = np.full(len(ends), np.iinfo(np.int64).max)
    np.minimum.at(limits, nodes[are_left], until[are_left])
    below = nodes[are_left]
    while len(below):
        below = np.flatnonzero(np.isin(parents, below))
        limits[below] = np.minimum(limits[below], limits[parents[below]])
    are_left = (starts < limits) & (limits < ends) & (ends < lasts)
    ends[are_left] = limits[are_left]
    return replace(settled, ends=ends.tolist())


def _likely_awaited(trees: Trees, names: Interned, taken: Iterable[tuple[int, int]]) -> dict[int, str]:
    """Return by trace, in words, what spans on its path likely awaited that others had called."""
    pairs_of, tree = defaultdict[int, list[tuple[int, int]]](list), trees.tree
    for node, attempt in taken:
        pairs_of[int(trees.traces[node])].append((node, attempt))
    said = {index: f"{len(pairs)} spans likely awaited calls of others" for index, pairs in pairs_of.items()}
    for index, ((node, attempt), *others) in pairs_of.items():
        if not others:
            caller = tree.parents[tree.parents[attempt]]
            numbers = (tree.spans.name[tree.rows[of]] for of in (node, attempt, caller) if not tree.is_missing(of))
            texts = [names.texts[number] for number in numbers]
            short = short_names(texts, names)
            span, call, *callers = (short.get(text, text) for text in texts[: 2 + (caller != ROOT)])
            said[index] = f"{span} likely awaited {call}" + "".join(f" (called in {text})" for text in callers)
    return said


def _doubts(paths: Paths, doubted: Doubted) -> dict[int, str]:
    """Return by trace, in words, what of its path may not be so, where that is more than a little."""
    import numpy as np

    unsure, lengths = np.flatnonzero(~paths.are_sure), paths.ends_ns - paths.starts_ns
    unsure = unsure[np.argsort(lengths[unsure], kind="stable")]
    of_paths = np.repeat(np.arange(len(paths.bounds) - 1), np.diff(paths.bounds))
    wholes, parts = np.zeros((2, len(paths.bounds) - 1), np.int64)
    np.add.at(wholes, of_paths, lengths)
    np.add.at(parts, of_paths[unsure], lengths[unsure])
    # Of each, the longest is the last.
    longest = dict(zip(of_paths[unsure].tolist(), unsure.tolist(), strict=True))
    return {
        index: doubted.said_of(stretch)
        for index, stretch in longest.items()
        if parts[index] * _LEAST_PART >= wholes[index]
    }


def _queued(trees: Trees, names: Interned) -> frozenset[int]:
    """Return the nodes that are replicas below their routings."""
    import numpy as np

    replicas, routes = numbers_of(names, Part.REPLICA), numbers_of(names, Part.ROUTE)
    if not replicas or not routes:
        return frozenset()
    of_nodes, parents = trees.of("name"), np.array(trees.tree.parents[: len(trees.tree.rows)], np.int64)
    nodes = np.flatnonzero(np.isin(of_nodes, [*replicas]) & (parents >= 0) & (parents < len(of_nodes)))
    return frozenset(nodes[np.isin(of_nodes[parents[nodes]], [*routes])].tolist())


def _by_end(ends: Sequence[int]) -> Places:
    """Return nodes by end; of those that end together, the last is the one that started first."""
    import numpy as np

    order: Places = len(ends) - 1 - np.argsort(np.array(ends, np.int64)[::-1], kind="stable")
    return order


class _Walk:
    """The way back through traces: until when their spans ran, and where each goes back to."""

    def __init__(
        self,
        traces: ConsistentTraces,
        by_end: Places,
        queued: frozenset[int],
        likely: Iterable[tuple[int, int]],
    ) -> None:
        """Take the nodes that are gone back to, by end, which are replicas, and which likely awaited others'."""
        self.ends = traces.ends
        self._parents, self._starts, self._queued = traces.parents, traces.starts, queued
        self._waited = _waited_for(traces.parents, traces.ends, by_end.tolist())
        for node, attempt in likely:
            insort(self._waited[node], attempt, key=traces.ends.__getitem__)
        self._finished = bytearray(len(traces.parents))
        self._replicas: dict[int, int] = {}
        """By its routing, the replica that was queued since the routing started."""
        answering = {*queued, *map(traces.parents.__getitem__, queued)}
        self._late = {node: min(_LATE_NS, (self.ends[node] - traces.starts[node]) // 10) for node in answering}

    def add(self, last: int, first_ns: int, blamed: list[int], since_ns: list[int], until_ns: list[int]) -> None:
        """Add the stretches of a path from the end of a node back to a time, or its start, the latest first."""
        parents, starts, ends, waited, late = self._parents, self._starts, self.ends, self._waited, self._late
        finished, queued, replicas = self._finished, self._queued, self._replicas
        node, came_from, time = last, last, ends[last]
        while node != ROOT and time > first_ns:
            goes_to, since, end = parents[node], starts[node], ends[node]
            below = waited.get(node, _NOBODY)
            while below and ends[below[-1]] > since:
                other = below.pop()
                # A span that takes no time would be visited again when it was left.
                if (ends[other] <= time or (late and ends[other] <= time + late.get(other, 0))) and not finished[other]:
                    goes_to, since = other, min(ends[other], time)
                    break
            else:
                finished[node] = True
                if node in queued:
                    replicas[goes_to] = node
            since = max(since, first_ns)
            if time > end:
                idle = max(since, end)
                if time > idle:
                    blamed.append(2 * came_from + 1)
                    since_ns.append(idle)
                    until_ns.append(time)
                time = idle
            if time > since:
                blame = 2 * replicas[node] + 1 if node in replicas else 2 * node
                if blamed and blamed[-1] == blame:
                    # The path led through a span that takes no time, or the wait went on after the routing had ended.
                    since_ns[-1] = since
                else:
                    blamed.append(blame)
                    since_ns.append(since)
                    until_ns.append(time)
            node, came_from, time = goes_to, node, since


def _stretches(
    walk: _Walk, of_roots: _Walk | None, lasts: Places, outlived: Places, tell: Tell
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return the stretches of paths, by where they end, the latest of each first.

    Args:
        of_roots: The way back through what roots waited for that something outlives.
        lasts: The node of each path that ends last; `ROOT` for a path without stretches.
        outlived: The root of each path that it outlives; `ROOT` for none.

    Returns:
        Twice the node that is to blame, and one more for a wait; the start; the end; and how many there are before each
        path, and in all.
    """
    stretches, counts = (list[int](), list[int](), list[int]()), [0]
    for last, root in zip(lasts[::-1].tolist(), outlived[::-1].tolist(), strict=True):
        tell(len(counts) / len(lasts))
        if last != ROOT:
            walk.add(last, NO_TIME if root == ROOT else walk.ends[root], *stretches)
        if of_roots is not None and root != ROOT:
            of_roots.add(root, NO_TIME, *stretches)
        counts.append(len(stretches[0]))
    return (*stretches, counts)


def _outlived(settled: ConsistentTraces, trees: Trees, lasts: Places) -> Places:
    """Return for each trace the root above its last node, where it has an end that is earlier; `ROOT` for none.

    Of a root that submits it is the last attempt, where that ended after it.
    """
    import numpy as np

    count, kinds, has_no_end = len(trees.tree.rows), trees.of("kind"), trees.of("end_ns") == NO_TIME
    parents, ends = np.array([*settled.parents, ROOT], np.int64), np.array([*settled.ends, NO_TIME], np.int64)
    tops = lasts.copy()
    while (below := np.flatnonzero(parents[tops] != ROOT)).size:
        tops[below] = parents[tops[below]]
    tops[tops >= count] = ROOT
    submits = np.flatnonzero(tops != ROOT)
    submits = submits[kinds[tops[submits]] == PRODUCER]
    if len(submits):
        attempts = _by_end(settled.ends)
        attempts = attempts[attempts < count]
        attempts = attempts[(kinds[attempts] == CONSUMER) & np.isin(parents[attempts], tops[submits])]
        latest = np.full(len(parents), ROOT)
        latest[parents[attempts]] = attempts
        latest[parents[attempts[has_no_end[attempts]]]] = ROOT
        latest, of_submits = latest[tops[submits]], tops[submits]
        tops[submits] = np.where((latest == ROOT) | (ends[latest] >= ends[of_submits]), latest, of_submits)
    some = tops[tops != ROOT]
    tops[tops != ROOT] = np.where(has_no_end[some] | (ends[some] == ends[lasts[tops != ROOT]]), ROOT, some)
    return tops


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
