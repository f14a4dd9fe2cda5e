"""What each process did, found out slowly: each span asked about each other one, each moment looked at by itself."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from spanview.model.codes import ERROR
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.index.store import Store


class SlowLane(NamedTuple):
    """What is said of a lane."""

    path: str
    service: str
    spans: int
    errors: int
    blocks: list[tuple[int, int]]
    """Rows of the outermost spans and of their parents, -1 for none."""
    failed: list[int]
    """Places of those with an error inside."""
    busy_ns: int
    gap: tuple[int, int] | None
    max_concurrency: int


def slow_lanes(store: Store, traces: Sequence[int] | None = None) -> list[SlowLane]:
    """Return the lanes of some traces, or of all, by path, generation and service."""
    spans = store.spans
    parents: dict[int, int] = {}
    for trace in range(len(store.trace_table)) if traces is None else traces:
        tree = store.tree(trace)
        for node, row in enumerate(tree.rows):
            parent = tree.parents[node]
            parents[row] = -1 if parent < 0 or tree.is_missing(parent) else tree.rows[parent]
    keys = {row: (spans.source[row], spans.service[row]) for row in parents}

    def order(key: tuple[int, int]) -> tuple[str, int, str]:
        source = store.sources[key[0]]
        return source.path, source.generation, store.services.texts[key[1]]

    return [
        _lane(store, key, sorted(row for row in keys if keys[row] == key), parents, keys)
        for key in sorted({*keys.values()}, key=order)
    ]


def _lane(
    store: Store, key: tuple[int, int], rows: list[int], parents: dict[int, int], keys: dict[int, tuple[int, int]]
) -> SlowLane:
    spans = store.spans

    def top(row: int) -> int:
        while keys.get(parents[row]) == key:
            row = parents[row]
        return row

    started = [row for row in rows if spans.start_ns[row] != NO_TIME]
    blocks = sorted((row for row in started if top(row) == row), key=lambda row: (spans.start_ns[row], row))
    with_errors = {top(row) for row in rows if spans.status[row] == ERROR}
    timed = [
        (spans.start_ns[row], max(spans.start_ns[row], spans.end_ns[row]))
        for row in started
        if spans.end_ns[row] != NO_TIME
    ]
    lasting = [(spans.start_ns[row], max(spans.start_ns[row], spans.end_ns[row])) for row in blocks]
    return SlowLane(
        path=store.sources[key[0]].path,
        service=store.services.texts[key[1]],
        spans=len(rows),
        errors=sum(1 for row in rows if spans.status[row] == ERROR),
        blocks=[(row, parents[row]) for row in blocks],
        failed=[place for place, row in enumerate(blocks) if row in with_errors],
        busy_ns=busy_ns(timed),
        gap=longest_gap(timed),
        max_concurrency=most_at_once(lasting),
    )


def busy_ns(intervals: list[tuple[int, int]]) -> int:
    """Return how long at least one of some intervals runs: between any two moments of change, all do or none."""
    moments = sorted({moment for interval in intervals for moment in interval})
    return sum(
        end - start
        for start, end in itertools.pairwise(moments)
        if any(first <= start and end <= last for first, last in intervals)
    )


def longest_gap(intervals: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the first of the longest stretches between two intervals in which none runs."""
    moments = sorted({moment for interval in intervals for moment in interval})
    gaps = [
        (start, end)
        for start, end in itertools.pairwise(moments)
        if not any(first <= start and end <= last for first, last in intervals)
    ]
    return max(gaps, key=lambda gap: gap[1] - gap[0], default=None)


def most_at_once(intervals: list[tuple[int, int]]) -> int:
    """Return how many intervals run at one moment; one without length does so at its own."""
    return max(
        (
            sum(1 for first, last in intervals if first <= start < last or start == first == last)
            for start, _ in intervals
        ),
        default=0,
    )


def shown_at(intervals: Sequence[tuple[int, int]], start: int, end: int) -> int:
    """Return how long at least one of some intervals runs within a stretch."""
    clipped = [(max(first, start), min(last, end)) for first, last in intervals]
    return busy_ns([(first, last) for first, last in clipped if first < last])


def names_of(store: Store, slow: Sequence[SlowLane]) -> Counter[int]:
    """Return how many blocks have each name."""
    return Counter(store.spans.name[row] for lane in slow for row, _ in lane.blocks)
