"""The details of a page's spans in blocks, those of spans whose records are similar many at once."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from spanview.display.stacks import BEGINS
from spanview.exports.alike_spans import AlikeSpans
from spanview.exports.page.details import BLOCK_SPANS, DetailTexts, Process
from spanview.exports.page.packed import block, encoded
from spanview.index.whole_spans import spans_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.index.store import Store
    from spanview.model.span import Span


class AlikeDetails(AlikeSpans):
    """Tells of spans what their details say; the store must not grow meanwhile."""

    def __init__(self, store: Store) -> None:
        # A stack trace is told line by line.
        super().__init__(store, self._alone, special=BEGINS.encode())
        self._losses: list[str] = []
        self._details = DetailTexts(self._losses.append)

    def _alone(self, span: Span, _: Callable[[str], None]) -> tuple[bytes, Any] | None:
        """Return what details say of a span, None where a head isn't enough for that."""
        described, fields, events, links, resource, scope, state, warnings, _, writer = self._details.alone(span)
        texts = [encoded(part, self._losses.append) for part in ([described, fields, events, links], resource, writer)]
        path = encoded(span.source.file, self._losses.append)
        is_more = events or scope or state or warnings or self._losses
        self._losses.clear()
        return None if is_more else (texts[0][:-1], Process(resource, texts[1], path, texts[2]))


def detail_blocks(
    store: Store, rows: Sequence[int], alike: AlikeDetails | None, share: Sequence[int], lose: Callable[[str], None]
) -> Iterator[bytes]:
    """Yield the details of some of a page's spans in blocks.

    Args:
        rows: The rows of all spans of the page, in its order.
        alike: Finds what spans have whose records are similar; None for few spans.
        share: Positions among them, one after the other.
    """
    first, chosen = share[0], [rows[position] for position in share]
    spans = iter(spans_at(store, chosen) if alike is None else alike.spans(chosen))
    details = DetailTexts(lose)
    while batch := [*islice(spans, BLOCK_SPANS)]:
        yield block("details", details.of(batch), first)
        first += len(batch)
