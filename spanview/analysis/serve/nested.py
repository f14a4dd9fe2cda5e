"""Which time of a replica went to the queues of the deployments that it called.

replica Front         ==========================
  route Price            ==========                  called: it waits
    replica Price                  =====             and runs
  route Stock            ====
    replica Stock            ===                     what runs comes before what waits
in queues of others      ~~~~...~~~                  ~ of Price

A moment of a replica counts as queued if a call below it is in its deployment's queue and no other one runs. If several
are queued, it counts for the one that began to wait first, so that each moment counts once. A call whose replica has
itself only called others counts as those do. Whether the replica did something else meanwhile, spans don't show. A
replica without an end, whose caller has one, was lost: it counts as running until its caller called again, as to retry.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from sys import maxsize
from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.analysis.intervals import Covered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_DEEPEST: Final = 256
"""Calls that are nested deeper aren't looked into, as each level looks through the queues of all below it."""
_ROUTING_NS: Final = 5_000_000
"""So much later the routing of what was called before may begin."""


class NestedQueue(NamedTuple):
    """How long calls to one deployment were queued."""

    deployment: str
    ns: int


class ServedCall(NamedTuple):
    """A request whose replica has started, with its times in nanoseconds."""

    deployment: str
    replica: int
    """The row of its replica."""
    caller: int
    """The row of the replica that it was called from; any other number if there is none."""
    queued_ns: int
    """When it was called, not after it started."""
    start_ns: int
    end_ns: int
    """Of its replica, not before its start; `maxsize` where that isn't known."""


class _Stretch(NamedTuple):
    start: int
    end: int
    deployment: str


def nested_queues(calls: Iterable[ServedCall]) -> dict[int, tuple[NestedQueue, ...]]:
    """Return what replicas waited in queues of others, the longest first, by their rows; none that didn't wait."""
    calls = [*calls]
    replicas = {call.replica for call in calls}
    below = defaultdict[int, list[ServedCall]](list)
    for call in calls:
        below[call.caller].append(call)
    levels = [[call for call in calls if call.caller not in replicas]]
    while levels[-1] and len(levels) < _DEEPEST:
        levels.append([nested for call in levels[-1] for nested in below.get(call.replica, ())])
    queued = dict[int, list[_Stretch]]()
    for call in (call for level in reversed(levels) for call in level):
        if call.replica in below:
            queued[call.replica] = [*_queued(call, below[call.replica], queued)]
    return {replica: _sums(stretches) for replica, stretches in queued.items() if stretches}


def awaited_responses(calls: Iterable[ServedCall]) -> dict[int, NestedQueue]:
    """Return which calls may have waited for the response of another one of their caller, and how long, by replica.

    Serve takes a response as an argument before it has come, and routes nothing until then: spans show no more than
    that the other one was called before, and ended while this one was queued.
    """
    found, below = dict[int, NestedQueue](), defaultdict[int, list[ServedCall]](list)
    for call in calls:
        below[call.caller].append(call)
    for caller, called in below.items():
        if caller < 0 or len(called) == 1:
            continue
        by_end = sorted(called, key=lambda call: call.end_ns)
        ends = [call.end_ns for call in by_end]
        for call in called:
            last, first = bisect_right(ends, call.start_ns) - 1, bisect_right(ends, call.queued_ns)
            ended = map(by_end.__getitem__, range(last, first - 1, -1))
            before = (other for other in ended if other.queued_ns <= call.queued_ns + _ROUTING_NS)
            # Of their own deployment, what ended before is what they were queued behind.
            if (taken := next(before, None)) is not None and taken.deployment != call.deployment:
                found[call.replica] = NestedQueue(taken.deployment, taken.end_ns - call.queued_ns)
    return found


def _queued(caller: ServedCall, calls: Sequence[ServedCall], queued: dict[int, list[_Stretch]]) -> Iterator[_Stretch]:
    """Yield when a replica only waited for queues of others, in order; `queued` knows that of those which it called."""
    waits, runs = list[_Stretch](), list[tuple[int, int]]()
    for call in calls:
        nested = queued.get(call.replica, ())
        waits += [_Stretch(call.queued_ns, call.start_ns, call.deployment), *nested]
        end_ns = call.end_ns
        if end_ns == maxsize > caller.end_ns:
            end_ns = min((other.queued_ns for other in calls if other.queued_ns > call.start_ns), default=end_ns)
        edges = [call.start_ns, *(edge for stretch in nested for edge in (stretch.start, stretch.end)), end_ns]
        runs += zip(edges[::2], edges[1::2], strict=True)
    runs.sort()
    running = Covered.by([start for start, _ in runs], [end for _, end in runs])
    reached = caller.start_ns
    for wait in sorted(waits):
        start, end = max(wait.start, reached), min(wait.end, caller.end_ns)
        if start < end:
            yield from _without(_Stretch(start, end, wait.deployment), running)
            reached = end


def _without(stretch: _Stretch, running: Covered) -> Iterator[_Stretch]:
    """Yield what of a stretch isn't covered."""
    start, end, deployment = stretch
    for number in range(bisect_right(running.ends, start), len(running.ends)):
        if running.starts[number] >= end:
            break
        if start < running.starts[number]:
            yield _Stretch(start, running.starts[number], deployment)
        start = max(start, running.ends[number])
    if start < end:
        yield _Stretch(start, end, deployment)


def _sums(stretches: Sequence[_Stretch]) -> tuple[NestedQueue, ...]:
    return summed(NestedQueue(stretch.deployment, stretch.end - stretch.start) for stretch in stretches)


def summed(queues: Iterable[NestedQueue]) -> tuple[NestedQueue, ...]:
    """Return the sum of each deployment, the longest first."""
    sums = defaultdict[str, int](int)
    for deployment, ns in queues:
        sums[deployment] += ns
    return tuple(sorted((NestedQueue(*item) for item in sums.items()), key=lambda queue: (-queue.ns, queue.deployment)))
