r"""Which spans link to a span; only records that may do so are decoded.

the span id's digits aren't there      and neither are those of its base64, nor a `\u0041` or `\/` that could spell
                                       them: no link to it
every `"links"` is an empty list       no link at all; most that have the digits are the span itself and its children
anything else                          the record is decoded, and its links decide
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.index.blocks import blocks, in_file_order
from spanview.model.ids import format_span_id, format_trace_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanview.index.blocks import Block
    from spanview.index.store import Store

_ESCAPE: Final = re.compile(rb"\\(?:/|u00[2-7])")
"""Of printable ASCII."""
_FULL_LINKS: Final = re.compile(rb'"links"(?!\s*:\s*\[\s*\])')
_WHOLE_BASE64: Final = 10
"""Characters of a span id's base64 that depend on nothing but the id."""


def linking_rows(store: Store, trace_id: int, span_id: int) -> Iterator[tuple[list[int], float]]:
    """Yield the rows of the spans that link to a span; spans that arrive meanwhile aren't searched.

    Yields:
        Some rows, in no order, and the share of the records still to be searched.
    """
    wanted, texts = (format_trace_id(trace_id), format_span_id(span_id)), texts_of(span_id)
    count, done = len(store.spans.next_row), 0
    for block in blocks(store, in_file_order(store, np.arange(count))):
        done += len(block.rows)
        rows = _candidates(store, block, texts)
        yield (
            [row for row in rows if any((link.trace_id, link.span_id) == wanted for link in store.span(row).links)],
            1 - done / count,
        )


def texts_of(span_id: int) -> tuple[bytes, ...]:
    """Return lower-case texts of which every link to a span contains one, unless it is written with escapes."""
    # In either case, and without leading zeros.
    return f"{span_id:x}".encode(), base64.b64encode(span_id.to_bytes(8, "big"))[:_WHOLE_BASE64].lower()


def positions_of(texts: Iterable[bytes], data: bytes) -> list[int]:
    """Return the sorted offsets of what may be part of a link with one of the texts."""
    small, positions = data.lower(), list[int]()
    for text in texts:
        position = small.find(text)
        while position >= 0:
            positions.append(position)
            position = small.find(text, position + 1)
    if b"\\" in data:
        positions += [match.start() for match in _ESCAPE.finditer(data)]
    return sorted(positions)


def _has_links(record: bytes) -> bool:
    """Return whether a record may have links at all."""
    return _FULL_LINKS.search(record) is not None or _ESCAPE.search(record) is not None


def _candidates(store: Store, block: Block, texts: Iterable[bytes]) -> list[int]:
    """Return the rows of a block whose records may have a link with one of the texts."""
    rows: list[int] = block.rows.tolist()
    if block.data is None:
        records = ((row, store.record(row)) for row in rows)
        return [row for row, record in records if record and positions_of(texts, record) and _has_links(record)]
    starts, ends = block.starts.tolist(), block.ends.tolist()
    candidates, decided = list[int](), 0
    for position in positions_of(texts, block.data):
        index = bisect_right(starts, position) - 1
        if position < decided or index < 0 or position >= ends[index]:
            continue
        decided = ends[index]
        if _has_links(block.data[starts[index] : ends[index]]):
            candidates.append(rows[index])
    return candidates
