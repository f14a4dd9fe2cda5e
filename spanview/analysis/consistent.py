"""The parents and times of traces without contradictions, for what follows them from span to span.

- A missing parent runs as long as what hangs from it. It, and where a circle of parents was cut, hangs from the only
  root span of the trace, because a trace has one. Where there are several, or none, nothing says how one tree relates
  to another, and they stay apart.
- A span without an end that runs, or whose process is known to have run until later, ends then.
- A span without a start starts with what is below it, at the latest with its own end. Any other one without an end
  ends with the last of what is below it. One that ends before it starts takes no time, at its end.
- A child can't start before its parent. Where clocks say so, it starts with it, and takes no time if it ended earlier.
- A server that starts, or ends, when its client has ended is taken for one that was given up; its clock may be ahead.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from spanview.index.tree import ROOT
from spanview.model.codes import CLIENT, ERROR, SERVER
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME, Bound

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spanview.index.arrays import Places
    from spanview.index.forest import Trees
    from spanview.index.tree import TraceTree

_LATEST: Final = 2**63
_CLOSING_NS: Final = 1_000_000
_CLOSING_SHARE: Final = 20
"""So long after its client, and less than such a part of its time, a server ends that only closes its span."""
NO_TIMES: Final[Mapping[int, int]] = MappingProxyType({})
"""Where it isn't known of any span without an end until when it has run."""


@dataclass(frozen=True, slots=True)
class ConsistentTraces:
    """What is taken as true of each node; none ends before it starts, or starts before its parent."""

    parents: Sequence[int]
    """`ROOT` for a root."""
    starts: Sequence[int]
    """Nanoseconds since 1970; `NO_TIME` where a whole tree has no times."""
    ends: Sequence[int]
    """Nanoseconds since 1970; `NO_TIME` where a whole tree has no times."""
    doubts: Sequence[str]
    """What each trace leaves open, in words; empty where that is nothing."""


def consistent(trees: Trees, until: Mapping[int, int] = NO_TIMES) -> ConsistentTraces:
    """Return the parents and times of the nodes of traces as they are, or as the module says.

    Args:
        until: By row, until when spans without an end are known to have run, in nanoseconds since 1970; `Bound` that
            of those that may have run longer, or less long.
    """
    import numpy as np

    tree, count = trees.tree, len(trees.tree.rows)
    above, begins, lasts = np.array(tree.parents[:count], np.int64), trees.of("start_ns"), trees.of("end_ns")
    open_ends = np.zeros(trees.count, np.int64)
    if until:
        for node in np.flatnonzero(lasts == NO_TIME).tolist():
            end = until.get(tree.rows[node], NO_TIME)
            lasts[node] = end
            open_ends[trees.traces[node]] += isinstance(end, Bound)
    # Nodes are in order of start: where each comes after its parent, and none is a placeholder, none starts before it.
    are_odd = (begins == NO_TIME) | (lasts < begins) | (above >= np.arange(count))
    are_odd[[*tree.cut]] = True
    is_odd = np.bincount(trees.traces[:count][above == ROOT], minlength=trees.count) != 1
    is_odd[trees.traces[:count][are_odd]] = True
    is_odd |= open_ends > 0
    parents, starts, ends = [*tree.parents], begins.tolist(), lasts.tolist()
    starts += [NO_TIME] * len(tree.missing)
    ends += [NO_TIME] * len(tree.missing)
    doubts = [""] * trees.count
    for index in np.flatnonzero(is_odd).tolist():
        one, nodes = trees.one(index)
        of_one = [starts[node] for node in nodes], [ends[node] for node in nodes]
        found = _settled(one, *of_one, int(open_ends[index]))
        doubts[index] = found[-1]
        for node, parent, start, end in zip(nodes, *found[:-1], strict=True):
            parents[node], starts[node], ends[node] = ROOT if parent == ROOT else nodes[parent], start, end
    for servers, single, several in _odd_servers(trees, above, begins, lasts):
        counts = np.bincount(trees.traces[servers], minlength=trees.count)
        for index in np.flatnonzero(counts).tolist():
            doubts[index] = ", ".join(filter(None, (doubts[index], _number(counts[index], single, several))))
    return ConsistentTraces(parents, starts, ends, doubts)


def _odd_servers(trees: Trees, above: Places, begins: Places, lasts: Places) -> Iterator[tuple[Places, str, str]]:
    """Yield servers that start, or end, when their clients have ended, with words for one and for many.

    These gave up, or a clock is ahead. A client with an error gave up; some servers go on after their answer.
    """
    import numpy as np

    kinds = trees.of("kind")
    servers = np.flatnonzero((kinds == SERVER) & (above >= 0) & (above < len(kinds)))
    servers = servers[kinds[above[servers]] == CLIENT]
    clients = above[servers]
    ended, over = lasts[clients], lasts[servers] - lasts[clients]
    are_late = (ended != NO_TIME) & (begins[servers] > ended)
    yield servers[are_late], "server starts after its client's end", "servers start after their clients' ends"
    is_long = (over > _CLOSING_NS) & (over * _CLOSING_SHARE > ended - begins[clients])
    is_long &= ~are_late & (ended != NO_TIME) & (lasts[servers] != NO_TIME) & (begins[clients] != NO_TIME)
    are_long = servers[is_long & (trees.of("status")[clients] != ERROR)]
    yield are_long, "server ends after its client", "servers end after their clients"


def _settled(
    tree: TraceTree, starts: list[int], ends: list[int], open_ends: int
) -> tuple[list[int], list[int], list[int], str]:
    """Return the parents, starts and ends of a trace's nodes, and what it leaves open.

    Args:
        open_ends: How many of the ends are bounds.
    """
    count = len(tree.rows)
    doubts = _doubts(tree, starts[:count], ends[:count], open_ends)
    parents = _under_one_root(tree)
    order = _downwards(tree, parents)
    _complete(parents, starts, ends, order)
    for node in order:
        if parents[node] != ROOT:
            starts[node] = max(starts[node], starts[parents[node]])
        ends[node] = max(ends[node], starts[node])
    return parents, starts, ends, doubts


def _doubts(tree: TraceTree, starts: Sequence[int], ends: Sequence[int], open_ends: int) -> str:
    roots = len(_whole_roots(tree))
    negative = [end < start for start, end in zip(starts, ends, strict=True) if NO_TIME not in (start, end)]
    early = [Warnings.CLOCK_SKEW in warnings for warnings in tree.warned().values()]
    texts = (
        "" if roots == 1 else f"there are {roots} roots" if roots else "there is no root",
        _number(len(tree.missing), "parent is missing", "parents are missing"),
        _number(len(tree.cut), "circle of parents was cut", "circles of parents were cut"),
        _number(starts.count(NO_TIME), "span has no start", "spans have no start"),
        _number(ends.count(NO_TIME) + open_ends, "span has no end", "spans have no end"),
        _number(sum(negative), "span ends before its start", "spans end before their start"),
        _number(sum(early), "span starts before its parent", "spans start before their parents"),
    )
    return ", ".join(filter(None, texts))


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}" if count else ""


def _whole_roots(tree: TraceTree) -> list[int]:
    """Return the roots that are spans without a parent: neither a placeholder nor where a circle was cut."""
    return [root for root in tree.roots if root not in tree.cut and not tree.is_missing(root)]


def _under_one_root(tree: TraceTree) -> list[int]:
    """Return the parents of all nodes; the only root gets all other trees, unless there are several."""
    parents, whole = [*tree.parents], _whole_roots(tree)
    if len(whole) == 1:
        for root in tree.roots:
            parents[root] = whole[0]
        parents[whole[0]] = ROOT
    return parents


def _downwards(tree: TraceTree, parents: Sequence[int]) -> list[int]:
    """Return all nodes, parents before their children."""
    of_roots: list[int] = []
    of_moved: list[int] = []
    nodes = of_roots
    for node, depth in tree.walk():
        if not depth:
            nodes = of_roots if parents[node] == ROOT else of_moved
        nodes.append(node)
    return of_roots + of_moved


def _complete(parents: Sequence[int], starts: list[int], ends: list[int], order: Sequence[int]) -> None:
    """Give what has no start or no end one, as the module says; then nothing ends before it starts."""
    firsts, lasts = [_LATEST] * len(parents), [NO_TIME] * len(parents)
    for node in reversed(order):
        start, end = starts[node], ends[node]
        if start == NO_TIME:
            start = firsts[node]
        # NO_TIME is the least of all integers.
        if end == NO_TIME:
            end = max(lasts[node], NO_TIME if start == _LATEST else start)
        start = min(start, end)
        starts[node], ends[node] = start, end
        if parents[node] != ROOT and end != NO_TIME:
            parent = parents[node]
            firsts[parent] = min(firsts[parent], start)
            lasts[parent] = max(lasts[parent], lasts[node], end)
