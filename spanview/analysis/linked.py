r"""Which spans link to a span; only records that may do so are decoded.

the span id's digits aren't there      and neither are those of its base64, nor a `\u0041` or `\/` that could spell
                                       them: no link to it
every `"links"` is an empty list       no link at all; most that have the digits are the span itself and its children
anything else                          the record is decoded, and the links themselves decide
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
    """Yield the rows of the spans that link to a span.

    Args:
        store: Where the spans are; what comes later isn't looked at.
        trace_id: The span's trace, as 128 bits.
        span_id: The span, as 64 bits.

    Yields:
        Some rows, in no order, and what share of the records is still to be looked at.
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
    """Return the texts of which a link to a span has one, in small letters, unless it is written with escapes."""
    # In either case, and without the zeros at its beginning.
    return f"{span_id:x}".encode(), base64.b64encode(span_id.to_bytes(8, "big"))[:_WHOLE_BASE64].lower()


def places_of(texts: Iterable[bytes], data: bytes) -> list[int]:
    """Return where there is something in some records that may be a part of a link with one of some texts, in order."""
    small, places = data.lower(), list[int]()
    for text in texts:
        at = small.find(text)
        while at >= 0:
            places.append(at)
            at = small.find(text, at + 1)
    if b"\\" in data:
        places += [match.start() for match in _ESCAPE.finditer(data)]
    return sorted(places)


def _has_links(record: bytes) -> bool:
    """Tell whether a record may have links at all."""
    return _FULL_LINKS.search(record) is not None or _ESCAPE.search(record) is not None


def _candidates(store: Store, block: Block, texts: Iterable[bytes]) -> list[int]:
    """Return the rows of a block whose records may have a link with one of some texts."""
    rows: list[int] = block.rows.tolist()
    if block.data is None:
        records = ((row, store.record(row)) for row in rows)
        return [row for row, record in records if record and places_of(texts, record) and _has_links(record)]
    starts, ends = block.starts.tolist(), block.ends.tolist()
    found, decided = list[int](), 0
    for place in places_of(texts, block.data):
        at = bisect_right(starts, place) - 1
        if place < decided or at < 0 or place >= ends[at]:
            continue
        decided = ends[at]
        if _has_links(block.data[starts[at] : ends[at]]):
            found.append(rows[at])
    return found
