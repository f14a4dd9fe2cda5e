"""The records of many spans read together: neighbours in a file come in one piece.

file    | record | record | ... | record |            | record |
block   |------------ read at once ------|            |--------|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.index.arrays import copy_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.index.arrays import Places
    from spanview.index.store import Store

_MAX_READ_BYTES: Final = 1024 * 1024
"""Bytes that are read at once, unless one record has more."""
_MAX_GAP_BYTES: Final = 16 * 1024
"""Bytes between two records that are still read; a larger gap is left out."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some records of one file."""

    rows: Places
    """Of their spans, by offset."""
    starts: Places
    """Where each begins in `data`."""
    ends: Places
    data: bytes | None
    """None where not all of it can be read any more, or where records have no bytes of their own."""


def in_file_order(store: Store, rows: Places) -> Places:
    """Return rows by source and offset, which is quick where they are so already."""
    sources, offsets = copy_of(store.spans.source)[rows], copy_of(store.spans.offset)[rows]
    ordered: Places = rows[np.lexsort((offsets, sources))]
    return ordered


def blocks(store: Store, rows: Places) -> Iterator[Block]:
    """Yield the records of spans, whose rows come as `in_file_order` returns them."""
    spans = store.spans
    are_parts = copy_of(spans.length)[rows] == 0
    if are_parts.any():
        parts, rows = rows[are_parts], rows[~are_parts]
        yield Block(parts, np.zeros_like(parts), np.zeros_like(parts), None)
    if not len(rows):
        return
    sources = copy_of(spans.source)[rows]
    starts = copy_of(spans.offset)[rows].astype(np.int64)
    ends = starts + copy_of(spans.length)[rows]
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
