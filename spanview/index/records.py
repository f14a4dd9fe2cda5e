"""The records of many spans: those that are neighbours in a file come with one read."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.index.store import Store

_MAX_BATCH_BYTES: Final = 4 * 1024 * 1024
"""Of the records of a batch, but for one that is longer."""
_MAX_READ_BYTES: Final = 128 * 1024
"""Bytes that are read at once, but for a record that is longer."""
_MAX_GAP_BYTES: Final = 4096
"""Bytes between two records that are read too, rather than reading twice."""


def batches(store: Store, rows: Sequence[int], most: int) -> Iterator[slice]:
    """Cut rows into stretches, each of so many spans at most that their records fit into memory."""
    first = 0
    while first < len(rows):
        sizes = accumulate(map(store.spans.length.__getitem__, rows[first : first + most]))
        last = first + max(1, bisect_right([*sizes], _MAX_BATCH_BYTES))
        yield slice(first, last)
        first = last


def read_records(store: Store, rows: Sequence[int]) -> list[bytes | None]:
    """Return the bytes of each span's record; None where they are gone, or share a document with other spans."""
    spans, details = store.spans, store.intake.details
    records: list[bytes | None] = [None] * len(rows)
    # Rows come as files are read: what are neighbours in a file are neighbours here.
    order = sorted(range(len(rows)), key=rows.__getitem__)
    sources, offsets, lengths = (
        [column[rows[position]] for position in order] for column in (spans.source, spans.offset, spans.length)
    )
    ends = [offset + length for offset, length in zip(offsets, lengths, strict=True)]
    first = 0
    while first < len(order):
        begin, last = offsets[first], first + 1
        end = ends[first]
        while (
            last < len(order)
            and sources[last] == sources[first]
            and begin <= offsets[last] <= end + _MAX_GAP_BYTES
            and ends[last] <= begin + _MAX_READ_BYTES
        ):
            end = max(end, ends[last])
            last += 1
        data = details.read(sources[first], begin, end - begin) if end > begin else None
        is_whole = data is not None and len(data) == end - begin
        for index in range(first, last):
            if not lengths[index]:
                continue
            # Of a file that was cut, the first of them may be there.
            records[order[index]] = (
                data[offsets[index] - begin : ends[index] - begin]
                if data is not None and is_whole
                else details.read(sources[index], offsets[index], lengths[index])
            )
        first = last
    return records
