"""What each process did over time: a lane each.

spans of a process             its lane
------------------             --------
a  |=======|                   blocks  a, c, e: the parent is of another process, in no file, or there is none
  b    |==|                    busy    |=======|  |========|
c                 |====|       gap              ||
  d                  |====|    most at once  2: c and e
e                   |===|

b calls d in another process, and its span is open until d has ended:

a  |====================|
  b |==================|
      (queue) d |===|          in another process
active  ||          |==|       of b and a: while d is queued or runs, they likely only await it

Of spans without an end, what they await is told by itself, until when they are known to have run.

Serve's long polls only wait for news: the process that runs one awaits others, and nobody awaits it. Nor does a replica
await other calls that Serve's own actors make to each other.

A process is one of `index/processes.py`, and a service: in files that several write, each service has a lane. The
processes of an actor that was restarted are joined to one lane, as soon as it is known whose they are.

Times may be centuries apart, so they are added and subtracted as unsigned 64 bits.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeAlias

import numpy as np

from spanview.analysis.consistent import NO_TIMES
from spanview.analysis.forest_selftime import stretches_in
from spanview.analysis.intervals import Covered, most_at_once_of_each
from spanview.analysis.ray.awaited import awaited_elsewhere
from spanview.analysis.ray.names import call_names, is_long_poll, uncounted_names
from spanview.analysis.serve.requests import Part, numbers_of
from spanview.analysis.telling import part, unheard
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, ERROR, PRODUCER, SERVER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.analysis.telling import Tell
    from spanview.index.arrays import Flags, Places
    from spanview.index.forest import Forest
    from spanview.index.store import Store

Key: TypeAlias = tuple[int, int]
"""The numbers of a process and of a service."""
_NO_LANE: Final = -1
_NO_PROCESS: Final = -1
"""Instead of the number of a process that has written nothing yet."""
_NEVER: Final = Covered((), (), (0,))
_FOREVER: Final = np.iinfo(np.int64).max
_LANES_PER_REPORT: Final = 64
"""Lanes that are made between two progress reports."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The outermost spans of a lane: those whose parent is not in it. Those without a start are left out.

    So are traces that are a part of a request to a replica: a request is one block.
    """

    rows: Sequence[int]
    """In the span table, by start, then row."""
    names: Sequence[int]
    """The numbers of their names."""
    parents: Sequence[int]
    """The row of each block's parent, `NO_ROW` if it has none or it is missing."""
    starts: Sequence[int]
    ends: Sequence[int]
    """A block that ends before it starts, or has no end, ends at its start."""
    unended: Sequence[int]
    """Indices of those without an end."""
    reach: Sequence[int]
    """For each block, the index of the last block up to it with the greatest end so far."""
    failed: Sequence[int]
    """Indices of those with the status ERROR, or with such a span inside."""
    failures: Sequence[int]
    """When they ended, sorted."""

    def has_failed(self, block: int) -> bool:
        """Return whether a block, or a span inside it, has the status ERROR."""
        index = bisect_left(self.failed, block)
        return index < len(self.failed) and self.failed[index] == block

    def running_at(self, ns: int) -> int | None:
        """Return the index of the block that runs at a time, the last to start; None if none runs."""
        last = bisect_right(self.starts, ns) - 1
        if last < 0:
            return None
        return next((block for block in (last, self.reach[last]) if self.ends[block] >= ns), None)

    def index_of(self, row: int, start_ns: int) -> int | None:
        """Return the index of a span; None if it isn't a block."""
        first, end = bisect_left(self.starts, start_ns), bisect_right(self.starts, start_ns)
        return next((block for block in range(first, end) if self.rows[block] == row), None)

    def nearest(self, ns: int) -> int | None:
        """Return the index of the block that runs at a time, else of the nearest one; None if there are no blocks."""
        if (running := self.running_at(ns)) is not None or not self.rows:
            return running
        following = bisect_right(self.starts, ns)
        if not following:
            return 0
        previous = self.reach[following - 1]
        is_nearer = following < len(self.rows) and self.starts[following] - ns < ns - self.ends[previous]
        return following if is_nearer else previous


@dataclass(frozen=True, slots=True)
class Lane:
    """What one process did."""

    process: int
    service: int
    first_row: int
    """The span that was read first."""
    call_row: int
    """The first span that submits a Ray call, by row; `NO_ROW` if there is none."""
    spans: int
    errors: int
    """Spans with the status ERROR."""
    blocks: Blocks
    busy: Covered
    """When any of its spans runs, including calls that it waits for."""
    active: Covered
    """When one of them runs of which nothing is queued or runs in another process: at other times it likely awaits."""
    gap: tuple[int, int] | None
    """The longest time in which no span runs, the first of several; None if there is no such time."""
    max_concurrency: int
    """The greatest number of blocks that run at once, including those without length."""
    open_awaited: Covered = _NEVER
    """When only spans without an end run, and likely await others; what lasts until they were asked goes on forever."""
    may_await: bool = False
    """Whether a span of it that has ended called something without an attempt that has: it may have awaited that."""
    restarts: Sequence[int] = ()
    """When the further processes of an actor began to run something."""

    @property
    def start_ns(self) -> int:
        """The first start, `NO_TIME` if there is none."""
        firsts = [*self.busy.starts[:1], *self.blocks.starts[:1]]
        return min(firsts, default=NO_TIME)

    @property
    def end_ns(self) -> int:
        """The last end, or start of a span without one; `NO_TIME` if there is neither."""
        lasts = [*self.busy.ends[-1:], *self.blocks.starts[-1:]]
        return max(lasts, default=NO_TIME)

    @property
    def busy_ns(self) -> int:
        """How long any of its spans ran."""
        return self.busy.sums[-1]

    @property
    def active_ns(self) -> int:
        """How long it didn't only await others."""
        return self.active.sums[-1]

    @property
    def awaited_ns(self) -> int:
        """How long it only awaited others, likely."""
        return self.busy_ns - self.active_ns


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of some traces."""

    lanes: Sequence[Lane]
    """By path, generation and service; those that are known by their resources come first."""
    names: dict[int, int]
    """How many blocks have each name, by the name's number."""
    starts: Sequence[int]
    ends: Sequence[int]
    failures: Sequence[int]
    """Of all blocks; each column is sorted by itself."""


class _Stretches(NamedTuple):
    """Stretches of time, by lane, then start."""

    lanes: Places
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def of(self, lane: int) -> Covered:
        """Return when those of one lane are."""
        first, end = np.searchsorted(self.lanes, [lane, lane + 1])
        return _covered(self.starts[first:end], self.ends[first:end])


class _Columns(NamedTuple):
    """What lanes are made of, by the positions of a forest."""

    rows: Places
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    names: NDArray[np.uint32]
    failed: Flags
    parents: Places
    outermost: Places
    """For each span, its topmost ancestor that is reached without leaving the lane, or itself."""
    fails: Flags
    """Whether something within a block failed."""
    calls: Flags
    """Whether each span submits a Ray call."""
    open_calls: Flags
    """Which of these nobody knows the end of, though what submitted them has ended."""
    own: _Stretches | None
    """When nothing below each span runs or is queued; None where no process calls another."""
    known_ends: NDArray[np.int64]
    """The ends, or until when spans without one are known to have run."""
    known_own: _Stretches | None
    """As `own`, by these; None where none is known."""
    asked_ns: int
    """When it was asked what runs: until then whatever runs is known to have."""


def lanes_in(
    forest: Forest, tell: Tell = unheard, *, without: Iterable[int] = (), until: Mapping[int, int] = NO_TIMES
) -> Lanes:
    """Return what each process did in the trees of a forest.

    Args:
        without: Numbers of names; blocks that have one of them are left out, with all that is in them.
        until: Until when spans without an end are known to have run, by row.
    """
    store = forest.store
    processes, services = forest.of("process").astype(np.int64), forest.of("service")
    width = len(store.services.texts) + 1
    numbers, lane = np.unique(processes * width + services, return_inverse=True)
    starts, ends, names, failed = (forest.of(name) for name in ("start_ns", "end_ns", "name", "status"))
    known_ends, known_own = ends, None
    if until:
        known_ends = ends.copy()
        unended = np.flatnonzero(ends == NO_TIME)
        known_ends[unended] = [until.get(row, NO_TIME) for row in forest.rows[unended].tolist()]
    parents = within_requests(forest, lane, starts, known_ends)
    outermost = _outermost_runs(forest, parents, lane, starts, ends)
    tell(0.3)
    failed = failed == ERROR
    fails = np.zeros(len(forest), np.bool_)
    fails[outermost[failed]] = True
    calls = (forest.of("kind") == PRODUCER) & np.isin(names, [*call_names(store.names)[0]])
    open_calls = calls & (parents >= 0) & (ends[np.maximum(parents, 0)] != NO_TIME) & ~failed
    open_calls[parents[(forest.of("kind") == CONSUMER) & (ends != NO_TIME) & (parents >= 0)]] = False
    left_out = np.isin(names[outermost], [*without])
    polls, is_own = np.isin(names, [*store.names.where(is_long_poll)]), np.isin(names, [*uncounted_names(store)])
    own_lanes, above = np.where(left_out | polls, _NO_LANE, lane), np.maximum(parents, 0)
    in_replicas = np.isin(lane, lane[np.isin(names, [*numbers_of(store.names, Part.REPLICA)])])
    awaited = np.where(polls | (is_own & in_replicas[above]), ROOT, parents)
    own = _own_stretches(forest, awaited, starts, ends, own_lanes)
    if until and own is not None:
        known_own = _own_stretches(forest, awaited, starts, known_ends, own_lanes)
    of_spans = forest.rows, starts, ends, names, failed, forest.parents, outermost, fails, calls, open_calls
    columns = _Columns(*of_spans, own, known_ends, known_own, max(until.values(), default=NO_TIME))
    order = np.lexsort((starts, lane))
    kept = np.arange(len(numbers))
    if left_out.any():
        order = order[~left_out[order]]
        # Of some lanes nothing may be left.
        kept = np.unique(lane[order])
        numbers, lane = numbers[kept], np.searchsorted(kept, lane)
    tell(0.6)
    parts = np.split(order, np.flatnonzero(np.diff(lane[order])) + 1) if len(order) else []
    keys = [divmod(number, width) for number in numbers.tolist()]
    blocks = order[(outermost[order] == order) & (starts[order] != NO_TIME)]
    begins, stops = starts[blocks], np.maximum(starts[blocks], ends[blocks])
    # What runs within something that isn't counted is, as requests are that Serve puts below the start of its proxy.
    within = (parents >= 0) & (lane[above] == lane) & is_own[above]
    counted = order[
        (within | (outermost == np.arange(len(parents))))[order] & ~is_own[order] & (starts[order] != NO_TIME)
    ]
    lasts = np.maximum(starts, known_ends)
    max_concurrency = most_at_once_of_each(starts[counted], lasts[counted], lane[counted], len(keys))
    lanes, tell_of_lanes = list[Lane](), part(tell, 0.6, 0.95)
    for number, index in enumerate(_in_order(store, keys)):
        if not number % _LANES_PER_REPORT:
            tell_of_lanes(number / len(keys))
        lanes.append(_lane(keys[index], int(kept[index]), parts[index], columns, max_concurrency[index]))
    block_names, counts = np.unique(names[blocks], return_counts=True)
    return Lanes(
        lanes,
        dict(zip(block_names.tolist(), counts.tolist(), strict=True)),
        _packed("q", np.sort(begins)),
        _packed("q", np.sort(stops)),
        _packed("q", np.sort(stops[fails[blocks]])),
    )


def _in_order(store: Store, keys: Sequence[Key]) -> list[int]:
    """Return the indices of keys, sorted by path, generation and service."""

    def place(index: int) -> tuple[str, int, str, str]:
        process, service = keys[index]
        file, text = store.processes.file(process), store.services.texts[service]
        return ("", 0, store.processes.said(process), text) if file is None else (file.path, file.generation, "", text)

    return sorted(range(len(keys)), key=place)


def _outermost(parents: Places, lane: Places) -> Places:
    inside = np.flatnonzero(parents >= 0)
    inside = inside[lane[parents[inside]] == lane[inside]]
    outermost = np.arange(len(parents))
    outermost[inside] = parents[inside]
    # Each step goes twice as far up.
    while len(inside):
        further = outermost[outermost[inside]]
        is_further = further != outermost[inside]
        outermost[inside] = further
        inside = inside[is_further]
    return outermost


def _outermost_runs(
    forest: Forest, parents: Places, lane: Places, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> Places:
    """Return the outermost span of a process that each is within.

    A worker may run a call that it has submitted itself, once it has left what submitted that: it is no part of it.
    """
    outermost = _outermost(parents, lane)
    attempts = np.flatnonzero(np.isin(forest.of("name"), [*call_names(forest.store.names)[1]]) & (starts != NO_TIME))
    while True:
        above = ends[outermost[attempts]]
        left = attempts[(outermost[attempts] != attempts) & (above != NO_TIME) & (starts[attempts] > above)]
        if not len(left):
            return outermost
        parents = parents.copy()
        parents[left] = ROOT
        outermost = _outermost(parents, lane)


def within_requests(forest: Forest, lane: Places, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Places:
    """Return the parents of spans, where traces that a replica of Serve begins are below the request that it runs.

    FastAPI and others don't know of Serve's span and begin a trace of their own while it runs. Which one that is only
    times tell: the one of the same process that ends first of those that hold the trace's root, and hold no other one
    at that time. A root that serves, too, may end late: its request was cancelled.
    """
    parents, kinds, latest = forest.parents, forest.of("kind"), np.iinfo(np.int64).max
    ends = np.where(ends == NO_TIME, latest, ends)
    is_timed = (starts != NO_TIME) & (ends >= starts)
    are_requests = is_timed & np.isin(forest.of("name"), [*numbers_of(forest.store.names, Part.REPLICA)])
    begin = is_timed & (parents == ROOT) & ~are_requests & (kinds != PRODUCER) & (kinds != CONSUMER)
    begin &= np.isin(lane, lane[are_requests])
    if not begin.any():
        return parents
    parents, roots = parents.copy(), _outermost(parents, np.zeros(len(lane), np.int64))
    looked_at = np.flatnonzero(begin | (are_requests & np.isin(lane, lane[begin])))
    looked_at = looked_at[np.lexsort((begin[looked_at], starts[looked_at], lane[looked_at]))]
    started, ended = (
        dict(zip(looked_at.tolist(), column[looked_at].tolist(), strict=True)) for column in (starts, ends)
    )
    before, running, free_from = -1, list[int](), dict[int, int]()
    for position, start in started.items():
        if lane[position] != before:
            before, running = lane[position], []
        if are_requests[position]:
            running.append(position)
            continue
        end = ended[position]
        running = [request for request in running if ended[request] >= start]
        fitting = [
            ((ended[request] < end, abs(ended[request] - end)), request)
            for request in running
            # Traces that are below each other begin one after the other: there are no circles.
            if (ended[request] >= end or kinds[position] == SERVER)
            and free_from.get(request, start) <= start
            and starts[roots[request]] < start
        ]
        if fitting:
            request = min(fitting)[1]
            parents[position], free_from[request] = request, end
    return parents


def _own_stretches(
    forest: Forest, parents: Places, starts: NDArray[np.int64], ends: NDArray[np.int64], lane: Places
) -> _Stretches | None:
    """Return when nothing below a span runs, or waits to run in another process, while the span does itself.

    A span that waited is preceded by a row for its wait: of a Ray call from its submission, of a request to Serve from
    its routing. What a span likely awaited that another one had submitted is a row below it. Nobody awaits those that
    get messages, unless these are Ray's calls.
    """
    store, count = forest.store, len(forest)
    kinds, names, crossing = forest.of("kind"), forest.of("name"), np.flatnonzero(parents >= 0)
    crossing = crossing[lane[parents[crossing]] != lane[crossing]]
    gets = (kinds[crossing] == CONSUMER) & ~np.isin(names[crossing], [*call_names(store.names)[1]])
    if gets.any():
        parents = parents.copy()
        parents[crossing[gets]] = ROOT
        crossing = crossing[~gets]
    lone = _unanswered(forest, parents)
    if not len(crossing) and not len(lone) and lane.min(initial=0) > _NO_LANE:
        return None
    above = parents[crossing]
    replicas, routes = ([*numbers_of(store.names, part)] for part in (Part.REPLICA, Part.ROUTE))
    called = (kinds[crossing] == CONSUMER) & (kinds[above] == PRODUCER)
    routed = np.isin(names[crossing], replicas) & np.isin(names[above], routes)
    since = np.where(called, ends[above], np.where(routed, starts[above], starts[crossing]))
    waited = (since != NO_TIME) & (starts[crossing] > since)
    waits, of = crossing[waited], above[waited]
    awaiting, attempts = awaited_elsewhere(forest, forest.parents, store.names)
    since = np.append(since[waited], np.maximum(starts[awaiting], forest.of("end_ns")[forest.parents[attempts]]))
    until = np.append(starts[waits], ends[attempts])
    of = np.append(of, awaiting)
    since, until, of = np.append(since, ends[lone]), np.append(until, ends[parents[lone]]), np.append(of, lone)
    stretches = stretches_in(np.append(starts, since), np.append(ends, until), np.append(parents, of))
    if stretches is None:
        return None
    owners, begins, stops = stretches
    # A wait is nobody's.
    spans = np.flatnonzero(owners < count)
    lanes = lane[owners[spans]]
    order = spans[np.lexsort((begins[spans], lanes))]
    return _Stretches(np.sort(lanes), begins[order], stops[order])


def _lane(key: Key, number: int, positions: Places, columns: _Columns, max_concurrency: int) -> Lane:
    """Return a lane of spans, which are in order of start."""
    starts, ends = columns.starts[positions], columns.ends[positions]
    timed = (starts != NO_TIME) & (ends != NO_TIME)
    busy = _covered(starts[timed], np.maximum(starts, ends)[timed])
    blocks = _blocks(positions[(columns.outermost[positions] == positions) & (starts != NO_TIME)], columns)
    calls = columns.rows[positions[columns.calls[positions]]]
    known_ends, open_awaited = columns.known_ends[positions], _NEVER
    if columns.known_own is not None and (known_ends != ends).any():
        timed = (starts != NO_TIME) & (known_ends != NO_TIME)
        known = _covered(starts[timed], np.maximum(starts, known_ends)[timed])
        open_awaited = _without(known, _all_of([columns.known_own.of(number), busy]), columns.asked_ns)
    return Lane(
        process=key[0],
        service=key[1],
        first_row=int(columns.rows[positions].min()),
        call_row=int(calls.min()) if len(calls) else NO_ROW,
        spans=len(positions),
        errors=int(columns.failed[positions].sum()),
        blocks=blocks,
        busy=busy,
        active=busy if columns.own is None else columns.own.of(number),
        gap=_longest_gap(busy),
        max_concurrency=max_concurrency,
        open_awaited=open_awaited,
        may_await=bool(columns.open_calls[positions].any()),
    )


def _unanswered(forest: Forest, parents: Places) -> Places:
    """Return which calls without an attempt spans without an end have submitted."""
    names, kinds, ends = forest.of("name"), forest.of("kind"), forest.of("end_ns")
    lone = (kinds == PRODUCER) & (ends != NO_TIME) & (forest.of("status") != ERROR) & (parents >= 0)
    lone &= np.isin(names, [*call_names(forest.store.names)[0]]) & (ends[np.maximum(parents, 0)] == NO_TIME)
    lone[parents[(kinds == CONSUMER) & (parents >= 0)]] = False
    return np.flatnonzero(lone)


def _without(whole: Covered, part: Covered, last_ns: int) -> Covered:
    """Return what covers a whole besides a part of it; what ends last goes on forever."""
    begins = np.sort(np.append(np.asarray(whole.starts, np.int64), part.ends))
    stops = np.sort(np.append(np.asarray(whole.ends, np.int64), part.starts))
    is_left = stops > begins
    return _covered(begins[is_left], np.where(stops == last_ns, _FOREVER, stops)[is_left]) if is_left.any() else _NEVER


def _covered(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Covered:
    """Return what `Covered.by` does; for 200,000 spans in a twentieth of the time."""
    reached = np.maximum.accumulate(ends)
    gaps = starts[1:] > reached[:-1]
    begins, stops = np.append(starts[:1], starts[1:][gaps]), np.append(reached[:-1][gaps], reached[-1:])
    sums = np.append(np.zeros(1, np.uint64), np.cumsum(stops.view(np.uint64) - begins.view(np.uint64)))
    return Covered(_packed("q", begins), _packed("q", stops), _packed("Q", sums))


def _blocks(positions: Places, columns: _Columns) -> Blocks:
    starts, parents = columns.starts[positions], columns.parents[positions]
    return _BlockColumns(
        rows=columns.rows[positions],
        names=columns.names[positions],
        parents=np.where(parents < 0, NO_ROW, columns.rows[np.maximum(parents, 0)]),
        starts=starts,
        # A missing end is the least of all integers.
        ends=np.maximum(starts, columns.ends[positions]),
        unended=columns.ends[positions] == NO_TIME,
        failed=columns.fails[positions],
    ).packed()


class _BlockColumns(NamedTuple):
    """Blocks by start, then row, in columns of numpy."""

    rows: NDArray[Any]
    names: NDArray[Any]
    parents: NDArray[Any]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    unended: Flags
    failed: Flags

    @classmethod
    def of(cls, blocks: Blocks) -> Self:
        """Return the columns of some blocks."""
        flags = np.zeros((2, len(blocks.rows)), np.bool_)
        for flag, indices in zip(flags, (blocks.unended, blocks.failed), strict=True):
            flag[np.asarray(indices, np.int64)] = True
        columns = (blocks.rows, blocks.names, blocks.parents, blocks.starts, blocks.ends)
        return cls(*map(np.asarray, columns), *flags)

    def packed(self) -> Blocks:
        """Return the blocks of these columns, with what follows from them."""
        numbers, failed = np.arange(len(self.rows)), np.flatnonzero(self.failed)
        reach = np.maximum.accumulate(np.where(self.ends >= np.maximum.accumulate(self.ends), numbers, 0))
        return Blocks(
            rows=_packed("I", self.rows),
            names=_packed("I", self.names),
            parents=_packed("I", self.parents),
            starts=_packed("q", self.starts),
            ends=_packed("q", self.ends),
            unended=_packed("I", np.flatnonzero(self.unended)),
            reach=_packed("I", reach),
            failed=_packed("I", failed),
            failures=_packed("q", np.sort(self.ends[failed])),
        )


def lane_of_process(pid: int) -> Lane:
    """Return the lane of a process of which no span is known yet."""
    blocks = Blocks(*[()] * len(fields(Blocks)))
    return Lane(_NO_PROCESS, pid, NO_ROW, NO_ROW, 0, 0, blocks, _NEVER, _NEVER, None, 0)


def joined(lanes: Sequence[Lane], uncounted: Collection[int]) -> Lane:
    """Return one lane for the processes of an actor, one after the other; it is known by the first one.

    Args:
        uncounted: The numbers of the names of blocks that are none of the program's own calls.
    """
    lanes = sorted(lanes, key=lambda lane: (lane.start_ns == NO_TIME, lane.start_ns))
    of_each = (_BlockColumns.of(lane.blocks) for lane in lanes)
    columns = _BlockColumns._make(map(np.concatenate, zip(*of_each, strict=True)))
    order = np.lexsort((columns.rows, columns.starts))
    columns = _BlockColumns._make(column[order] for column in columns)
    busy, active, open_awaited = (
        _all_of([getattr(lane, column) for lane in lanes]) for column in ("busy", "active", "open_awaited")
    )
    counted = ~np.isin(columns.names, [*uncounted])
    begins, stops = columns.starts[counted], columns.ends[counted]
    return replace(
        lanes[0],
        call_row=min(lane.call_row for lane in lanes),
        spans=sum(lane.spans for lane in lanes),
        errors=sum(lane.errors for lane in lanes),
        blocks=columns.packed(),
        busy=busy,
        active=active,
        gap=_longest_gap(busy),
        max_concurrency=max(
            *(lane.max_concurrency for lane in lanes),
            *most_at_once_of_each(begins, stops, np.zeros(len(begins), np.int64), 1),
        ),
        open_awaited=open_awaited,
        may_await=any(lane.may_await for lane in lanes),
        restarts=tuple(lane.start_ns for lane in lanes[1:] if lane.start_ns != NO_TIME),
    )


def _all_of(several: Sequence[Covered]) -> Covered:
    """Return what any of several covers."""
    begins, stops = (
        np.concatenate([np.asarray(times, np.int64) for times in column])
        for column in zip(*((covered.starts, covered.ends) for covered in several), strict=True)
    )
    by_start = np.argsort(begins, kind="stable")
    return _covered(begins[by_start], stops[by_start])


def _longest_gap(busy: Covered) -> tuple[int, int] | None:
    """Return the first of the longest times between two intervals."""
    if len(busy.starts) <= 1:
        return None
    begins, stops = np.asarray(busy.starts)[1:], np.asarray(busy.ends)[:-1]
    index = int(np.argmax(begins.view(np.uint64) - stops.view(np.uint64)))
    return int(stops[index]), int(begins[index])


def _packed(typecode: str, values: NDArray[Any]) -> array[int]:
    """Return values in an array, which the garbage collector doesn't traverse."""
    return array(typecode, values.astype(typecode).tobytes())
