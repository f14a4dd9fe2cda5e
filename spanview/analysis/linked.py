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
    from collections.abc import Iterator, Sequence

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
    wanted = format_trace_id(trace_id), format_span_id(span_id)
    for rows, left in _candidates(store, LinkSearch(span_id)):
        yield (
            [row for row in rows if any((link.trace_id, link.span_id) == wanted for link in store.span(row).links)],
            left,
        )


class LinkSearch:
    """Looks for what a link to a span can't do without.

    Args:
        span_id: The span.
    """

    def __init__(self, span_id: int) -> None:
        # In either case, and without the zeros at its beginning.
        self._texts = (
            f"{span_id:x}".encode(),
            base64.b64encode(span_id.to_bytes(8, "big"))[:_WHOLE_BASE64].lower(),
        )

    def places(self, data: bytes) -> list[int]:
        """Return where there is something in some records that may be a part of a link to the span, in order."""
        small, places = data.lower(), list[int]()
        for text in self._texts:
            at = small.find(text)
            while at >= 0:
                places.append(at)
                at = small.find(text, at + 1)
        if b"\\" in data:
            places += [match.start() for match in _ESCAPE.finditer(data)]
        return sorted(places)

    def may_link(self, record: bytes) -> bool:
        """Tell whether a record may have a link to the span."""
        return bool(self.places(record)) and has_links(record)


def has_links(record: bytes) -> bool:
    """Tell whether a record may have links at all."""
    return _FULL_LINKS.search(record) is not None or _ESCAPE.search(record) is not None


def _candidates(store: Store, search: LinkSearch) -> Iterator[tuple[list[int], float]]:
    """Yield rows whose records may have a link to the span, and what share is still to be looked at."""
    count, done = len(store.spans.next_row), 0
    for block in blocks(store, in_file_order(store, np.arange(count))):
        done += len(block.rows)
        rows: list[int] = block.rows.tolist()
        if block.data is None:
            yield [row for row in rows if _may_link(store, row, search)], 1 - done / count
        else:
            yield _in_block(block.data, rows, block.starts.tolist(), block.ends.tolist(), search), 1 - done / count


def _may_link(store: Store, row: int, search: LinkSearch) -> bool:
    record = store.record(row)
    return record is not None and search.may_link(record)


def _in_block(
    data: bytes, rows: Sequence[int], starts: Sequence[int], ends: Sequence[int], search: LinkSearch
) -> list[int]:
    """Return which of some records, of which the data are, may have a link to the span."""
    found: list[int] = []
    decided = 0
    for place in search.places(data):
        at = bisect_right(starts, place) - 1
        if place < decided or at < 0 or place >= ends[at]:
            continue
        decided = ends[at]
        if has_links(data[starts[at] : ends[at]]):
            found.append(rows[at])
    return found
