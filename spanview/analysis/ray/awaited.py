"""Calls that a span likely awaited, though another one had submitted them: in Ray, `get` and `wait` leave no span.

send             |==|
  f ray.remote    |=|
    f ray.remote_worker ┈┈┈|==========|
await                |===============|·|      ends at once after the call that its own process had submitted before

The evidence is that the two ends coincide. By chance they do that now and then, the more calls end meanwhile, and the
shorter the span is: so the time between the ends is a small part of the span's for each call that ended in it.

Where there is no such evidence, nobody knows whether a span awaited a call or worked beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.ray.names import call_names, short_names
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places
    from spanview.index.forest import Forest, Trees
    from spanview.index.table import Interned

_NEVER: Final = np.iinfo(np.int64).max
_LEAST_NS: Final = 300_000
_USUAL_NS: Final = 1_000_000
MOST_NS: Final = 6_000_000
"""From the end of a call to that of the span that awaited it: so long it takes a result to arrive."""
_MOST_ABOVE: Final = 16
"""So many of the spans above one are asked whether it outlived them; it hardly outlives more than its parent."""
_LEAST_FACTOR: Final = 40
"""So many times as long as that the span's own time is at least, for each call that ended in it."""


def awaited_elsewhere(of: Forest | Trees, parents_of: Places | Sequence[int], names: Interned) -> tuple[Places, Places]:
    """Return the spans that likely awaited a call that none of those below them had submitted, and its last attempt.

    Args:
        parents_of: Of each span its parent; negative, or none of the spans, where that is a root or isn't there.
    """
    submits, runs = call_names(names)
    nothing = np.zeros(0, np.int64)
    if not submits or not runs:
        return nothing, nothing
    kinds, of_names, starts, ends = (of.of(column) for column in ("kind", "name", "start_ns", "end_ns"))
    parents = np.array(parents_of, np.int64)[: len(kinds)]
    parents[parents >= len(kinds)] = ROOT
    are_calls = (kinds == PRODUCER) & np.isin(of_names, [*submits])
    latest, below = np.full(len(parents), NO_TIME), np.flatnonzero(parents >= 0)
    np.maximum.at(latest, parents[below], ends[below])
    attempts = below[(kinds[below] == CONSUMER) & np.isin(of_names[below], [*runs]) & are_calls[parents[below]]]
    # Earlier attempts end no call.
    attempts = attempts[(ends[attempts] != NO_TIME) & (ends[attempts] == latest[parents[attempts]])]
    processes, groups = of.of("process").astype(np.int64), _groups(of)
    # Equal times have one place among them, however many there are.
    times, called_in = np.sort(np.append(ends[attempts], ends[parents[attempts]])), groups[parents[attempts]]
    are_called_in = np.zeros(int(groups.max(initial=0)) + 1, np.bool_)
    are_called_in[called_in] = True

    def keys_of(group: Places, until: NDArray[np.int64]) -> Places:
        """Return numbers that are in order of the process and the trace, then of time."""
        return group * (len(times) + 1) + np.searchsorted(times, until, "right")

    order = np.argsort(keys_of(called_in, ends[attempts]), kind="stable")
    attempts, called_in = attempts[order], called_in[order]
    keys, submitted = (keys_of(called_in, ends[of_calls]) for of_calls in (attempts, parents[attempts]))
    first_left = np.append(np.minimum.accumulate(submitted[::-1])[::-1], np.iinfo(np.int64).max)
    spans = np.flatnonzero(~are_calls & (starts != NO_TIME) & (ends > starts) & are_called_in[groups])
    # A span's own time, at its end.
    since = np.maximum(starts, latest)[spans]
    ended, before = (np.searchsorted(keys, keys_of(groups[spans], until), "right") for until in (ends[spans], since))
    some = np.flatnonzero(ended > before)
    spans, since, ended, before = spans[some], since[some], ended[some], before[some]
    attempts, is_last = attempts[ended - 1], first_left[ended] > keys_of(groups[spans], starts[spans])
    counts = np.where(is_last, 1, ended - before)
    gaps, calls = ends[spans] - ends[attempts], parents[attempts]
    least = np.clip(gaps, _USUAL_NS, MOST_NS) * counts * _LEAST_FACTOR
    likely = (gaps >= _LEAST_NS) & (gaps <= MOST_NS) & (ends[spans] - since >= least)
    likely &= (ends[calls] <= starts[spans]) & (processes[attempts] != processes[spans])
    likely &= ~_are_above(spans, attempts, parents, likely) & ~_are_above(attempts, spans, parents, likely)
    return spans[likely], attempts[likely]


def _are_above(upper: Places, lower: Places, parents: Places, chosen: Flags) -> Flags:
    """Return which spans are above others, among some that are chosen."""
    found, going = np.zeros(len(upper), np.bool_), np.flatnonzero(chosen)
    above = parents[lower]
    while len(going):
        found[going] |= above[going] == upper[going]
        going = going[(above[going] >= 0) & ~found[going]]
        above[going] = parents[above[going]]
    return found


class Doubted:
    """Which stretches of the critical paths of some trees may be blamed on the wrong span.

    That is so in a Ray call, where its caller, or one above that, worked on when it had ended; of a span that ran while
    calls of its process were on their way that it isn't below; and of one that ran while something below it did that
    outlived it: it may have given up. What a result takes to arrive is left out.

    Args:
        blamed: Twice the node that each stretch is blamed on, and one more where it only waited; one trace's after the
            other's, each by time.
        times_ns: Where they start, and where they end.
    """

    def __init__(self, trees: Trees, names: Interned, blamed: Places, times_ns: NDArray[np.int64]) -> None:
        nodes, are_waits = np.divmod(blamed, 2)
        self._tree, self._names, self._nodes = trees.tree, names, nodes
        starts_ns, ends_ns = times_ns
        self._beside: dict[int, int] = {}
        """By stretch in a call, the node that worked on."""
        self._texts_of: dict[tuple[int, ...], list[str]] = {}
        self.stretches = np.zeros(len(nodes), np.bool_)
        submits, runs = call_names(names)
        count, kinds, of_names = len(trees.tree.rows), trees.of("kind"), trees.of("name")
        self._are_attempts = (kinds == CONSUMER) & np.isin(of_names, [*runs])
        self._are_calls = (kinds == PRODUCER) & np.isin(of_names, [*submits]) & (trees.of("end_ns") != NO_TIME)
        own = np.flatnonzero((are_waits == 0) & (nodes < count) & (ends_ns - starts_ns > MOST_NS))
        own = own[~self._are_calls[nodes[own]]]
        self._outlived = {*own[_ran_below(trees, nodes[own], starts_ns[own], ends_ns[own])].tolist()}
        """The stretches of spans below which something ran that outlived them."""
        self.stretches[[*self._outlived]] = True
        if not submits:
            return
        have_calls = np.zeros(trees.count, np.bool_)
        have_calls[trees.traces[:count][self._are_attempts | self._are_calls]] = True
        own = own[have_calls[trees.traces[nodes[own]]]]
        if not len(own):
            return
        order = trees.tree.in_order()
        self._places, self._ends = np.zeros((2, len(order)), np.int64)
        """Of each node, its place where the trees are walked, and the one behind the last that is below it."""
        self._places[order], self._ends[order] = range(len(order)), trees.tree.ends_in(order)
        self._find_unawaited(trees, own)
        self.stretches[[*self._beside]] = True
        self.stretches[own] |= self._may_await(trees, own, starts_ns[own], ends_ns[own])

    def said_of(self, stretch: int) -> str:
        """Return in words what may not be so of a stretch."""
        node = int(self._nodes[stretch])
        if (worked := self._beside.get(stretch, ROOT)) == ROOT:
            what = "what ran below it" if stretch in self._outlived else "calls"
            return f"{self._texts(node)[0]} may have awaited {what}"
        call = node
        while node != worked:
            call = node if self._is_attempt(node) else call
            node = self._tree.parents[node]
        return "{} may not have awaited {}".format(*self._texts(worked, call))

    def _is_attempt(self, node: int) -> bool:
        return node < len(self._are_attempts) and bool(self._are_attempts[node])

    def _texts(self, *nodes: int) -> list[str]:
        numbers = tuple(self._tree.spans.name[self._tree.rows[node]] for node in nodes)
        if numbers not in self._texts_of:
            texts = [self._names.texts[number] for number in numbers]
            short = short_names(texts, self._names)
            # Serve's names end with a blank where a request has no path.
            self._texts_of[numbers] = [short.get(text, text).strip() for text in texts]
        return self._texts_of[numbers]

    def _find_unawaited(self, trees: Trees, own: Places) -> None:
        """Find the stretches in calls that a node above them worked on after."""
        are_own, have_children = np.zeros((2, max(len(self._nodes), len(trees.tree))), np.bool_)
        parents = np.array(trees.tree.parents, np.int64)
        have_children[parents[parents >= 0]] = True
        own = own[have_children[self._nodes[own]]]
        are_own[own] = True
        of_paths, have_own = trees.traces[self._nodes], np.zeros(trees.count, np.bool_)
        have_own[of_paths[own]] = True
        are_open, are_seen = trees.of("end_ns") == NO_TIME, self._nodes < len(self._are_attempts)
        have_own[of_paths[are_seen & are_open[np.where(are_seen, self._nodes, 0)]]] = True
        chosen = np.flatnonzero(have_own[of_paths])[::-1]
        enter, leave = np.zeros((2, len(self._places) + 1), np.int64)
        attempts = np.flatnonzero(self._are_attempts)
        np.add.at(enter, self._places[attempts], 1)
        np.add.at(leave, self._ends[attempts], 1)
        depths = np.cumsum(enter - leave)[self._places].tolist()
        worked, places, ends = ROOT, self._places.tolist(), self._ends.tolist()
        opens, columns = are_open.tolist(), (chosen.tolist(), self._nodes[chosen].tolist(), are_own[chosen].tolist())
        for stretch, node, is_own in zip(*columns, strict=True):
            if worked == ROOT or not places[worked] < places[node] < ends[worked]:
                above = self._open_above(node, opens)
                worked = above if above != ROOT else node if is_own else ROOT
            if worked != ROOT and depths[node] > depths[worked]:
                self._beside[stretch] = worked

    def _open_above(self, node: int, are_open: Sequence[bool]) -> int:
        """Return the outermost span without an end that something without one is below: both may work on."""
        outermost, count = ROOT, len(are_open)
        while 0 <= node < count and (are_open[node] or self._are_calls[node]):
            outermost, node = node if are_open[node] else outermost, self._tree.parents[node]
        return outermost

    def _may_await(self, trees: Trees, own: Places, starts_ns: NDArray[np.int64], ends_ns: NDArray[np.int64]) -> Flags:
        """Return for each of some stretches whether calls of the same process were on their way for most of it."""
        ends, calls, groups = trees.of("end_ns"), np.flatnonzero(self._are_calls), _groups(trees)
        parents, of_nodes = np.array(trees.tree.parents[: len(ends)], np.int64), self._nodes[own]
        below = np.flatnonzero((parents >= 0) & (parents < len(ends)))
        # Until its end is known, a call is on its way.
        lasts = np.full(len(ends), NO_TIME)
        np.maximum.at(lasts, parents[below], np.where(ends[below] == NO_TIME, _NEVER, ends[below]))
        since, until = ends[calls], np.where(lasts[calls] == NO_TIME, _NEVER, np.maximum(lasts, ends)[calls])
        begins, untils = _most_of(starts_ns, ends_ns)
        of_calls, of_spans = groups[calls], groups[of_nodes]
        on_way = _count_before(of_calls, since, of_spans, untils) - _count_before(of_calls, until, of_spans, begins + 1)
        some = np.flatnonzero(on_way)
        of_spans, places = of_spans[some], self._places[of_nodes[some]]
        on_way[some] -= _count_before(of_calls, self._places[calls], of_spans, places)
        on_way[some] += _count_before(of_calls, self._ends[calls], of_spans, places + 1)
        return on_way > 0


def _most_of(starts_ns: NDArray[np.int64], ends_ns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return when stretches begin, and end, without what results take to arrive."""
    middles = starts_ns + (ends_ns - starts_ns) // 2
    return np.minimum(starts_ns + MOST_NS, middles), np.maximum(ends_ns - MOST_NS, middles)


def _ran_below(trees: Trees, nodes: Places, starts_ns: NDArray[np.int64], ends_ns: NDArray[np.int64]) -> Flags:
    """Return in which stretches of some nodes something ran below these that ended later than they, or has no end."""
    starts, ends, parents = trees.of("start_ns"), trees.of("end_ns"), np.array(trees.tree.parents, np.int64)
    lasts, count = np.where(ends == NO_TIME, _NEVER, ends), len(ends)
    begins, untils = _most_of(starts_ns, ends_ns)
    below, ran, are_asked = np.arange(count), np.zeros(len(nodes), np.bool_), np.zeros(count, np.bool_)
    above, are_asked[nodes] = parents[:count], True
    for _ in range(_MOST_ABOVE):
        there = np.flatnonzero((above >= 0) & (above < count))
        there = there[(ends[above[there]] != NO_TIME) & (lasts[below[there]] > ends[above[there]])]
        above, below = above[there], below[there]
        if not len(below):
            break
        some = are_asked[above]
        on_way = _count_before(above[some], starts[below[some]], nodes, untils)
        ran |= on_way > _count_before(above[some], lasts[below[some]], nodes, begins + 1)
        above = parents[above]
    return ran


def _count_before(groups: Places, values: NDArray[np.int64], asked_groups: Places, asked: NDArray[np.int64]) -> Places:
    """Return how many values of its group are less than each that is asked for, and how many groups' come before."""
    in_order = np.unique(np.append(values, asked))

    def keys_of(of: Places, at: NDArray[np.int64]) -> Places:
        return of * len(in_order) + np.searchsorted(in_order, at)

    counts: Places = np.searchsorted(np.sort(keys_of(groups, values)), keys_of(asked_groups, asked))
    return counts


def _groups(of: Forest | Trees) -> Places:
    """Return a number for each span that is the same in a process and a trace."""
    processes = of.of("process").astype(np.int64)
    numbers = processes * (int(of.traces.max(initial=0)) + 1) + of.traces[: len(processes)]
    groups: Places = np.unique(numbers, return_inverse=True)[1]
    return groups
