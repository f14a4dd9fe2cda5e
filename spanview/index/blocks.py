"""The records of many spans read together: neighbours in a file come in one piece, and small pieces together.

file    | record | record | ... | record |            | record |
read    |------------- at once ----------|            |--------|
block   |---------------------------------------------|--------|  one after the other, where they are small
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.index.arrays import values_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.index.arrays import Places
    from spanview.index.store import Store

_MAX_BATCH_BYTES: Final = 4 * 1024 * 1024
"""Of the records of a batch, but for one that is longer."""
_MAX_READ_BYTES: Final = 1024 * 1024
"""Bytes that are read at once, unless one record has more."""
_MAX_GAP_BYTES: Final = 16 * 1024
"""Bytes between two records that are still read; a larger gap is left out."""


_SMALL_BYTES: Final = 512 * 1024
"""Of a piece; what is done to a block takes 0.1 ms, however few records it has."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some records."""

    rows: Places
    """Of their spans, by file and offset."""
    starts: Places
    """Where each begins in `data`."""
    ends: Places
    data: bytes | None
    """None where not all of it can be read any more, or where records have no bytes of their own."""


def in_file_order(store: Store, rows: Places) -> Places:
    """Return rows by source and offset, which is quick where they are so already."""
    sources, offsets = (values_at(column, rows) for column in (store.spans.source, store.spans.offset))
    ordered: Places = rows[np.lexsort((offsets, sources))]
    return ordered


def blocks(store: Store, rows: Places) -> Iterator[Block]:
    """Yield the records of spans, whose rows come as `in_file_order` returns them."""
    small, size = list[Block](), 0
    for piece in _pieces(store, rows):
        length = len(piece.data or b"")
        if small and (piece.data is None or size + length > _SMALL_BYTES):
            yield _joined(small)
            small, size = [], 0
        if piece.data is None or length > _SMALL_BYTES:
            yield piece
        else:
            small.append(piece)
            size += length
    if small:
        yield _joined(small)


def _joined(pieces: Sequence[Block]) -> Block:
    if len(pieces) == 1:
        return pieces[0]
    data = [piece.data or b"" for piece in pieces]
    moved = np.repeat([0, *accumulate(map(len, data[:-1]))], [len(piece.rows) for piece in pieces])
    rows, starts, ends = (
        np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("rows", "starts", "ends")
    )
    return Block(rows, starts + moved, ends + moved, b"".join(data))


def _pieces(store: Store, rows: Places) -> Iterator[Block]:
    spans = store.spans
    are_parts = values_at(spans.length, rows) == 0
    if are_parts.any():
        parts, rows = rows[are_parts], rows[~are_parts]
        yield Block(parts, np.zeros_like(parts), np.zeros_like(parts), None)
    if not len(rows):
        return
    sources = values_at(spans.source, rows)
    starts = values_at(spans.offset, rows).astype(np.int64)
    ends = starts + values_at(spans.length, rows)
    breaks = np.flatnonzero((np.diff(sources) != 0) | (starts[1:] - ends[:-1] > _MAX_GAP_BYTES)) + 1
    for first, last in zip([0, *breaks.tolist()], [*breaks.tolist(), len(rows)], strict=True):
        position = first
        while position < last:
            begin = int(starts[position])
            end = max(
                position + 1, position + int(np.searchsorted(ends[position:last], begin + _MAX_READ_BYTES, "right"))
            )
            length = int(ends[position:end].max()) - begin
            data = store.intake.details.read(int(sources[position]), begin, length)
            yield Block(rows[position:end], starts[position:end] - begin, ends[position:end] - begin, data)
            position = end


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
    spans, records = store.spans, list[bytes | None]([None] * len(rows))
    order = np.lexsort((values_at(spans.offset, rows), values_at(spans.source, rows)))
    order = order[values_at(spans.length, rows)[order] > 0]
    numbers = iter(order.tolist())
    for block in blocks(store, np.asarray(rows, np.int64)[order]):
        for start, end, row, index in zip(
            block.starts.tolist(), block.ends.tolist(), block.rows.tolist(), numbers, strict=False
        ):
            # Of a file that was cut, the first of them may be there.
            records[index] = store.record(row) if block.data is None else block.data[start:end]
    return records
