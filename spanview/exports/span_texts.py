"""The JSON objects of many spans at once, without decoding what is known already.

of a span                       its object has
---------                       --------------
what the columns hold           a layout with that filled in
attributes                      decoded and encoded
events, links, resource         decoded and encoded once for all records with the same end

That is the quick way, of the records that `known_records` cuts. Every other span goes the general way, by `spans_at`.
"""

from __future__ import annotations

from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

import orjson

from spanview.formats.jsontext import has_long_integer
from spanview.formats.own.write import dumps_span, span_value, warning_names
from spanview.formats.tags import ignore_loss
from spanview.index.blocks import batches, read_records
from spanview.index.known_records import MAX_KEPT_TEXTS, KnownRecords
from spanview.index.whole_spans import spans_at
from spanview.model.problems import Warnings
from spanview.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.index.known_records import Tail
    from spanview.index.store import Store

MANY_SPANS: Final = 8000
"""From so many spans on it pays to find out which are alike, even where there are hundreds of kinds."""
BATCH_SPANS: Final = 4096
"""Spans that are handled at once; more bring nothing."""
_PIECE_SPANS: Final = 64
"""Spans in a piece of the text."""
EXPONENT: Final = b"+" if b"+" in orjson.dumps(2.0**64) else b"e"
"""In the text of every float that an integer of more than 64 bits can have become."""


def are_many(store: Store, count: int) -> bool:
    """Tell whether so many spans are written quicker by what they have in common; a store that grows isn't asked."""
    return count >= max(1, MANY_SPANS) and not store.is_growing


class SpanTexts:
    """The texts of a store's spans."""

    def __init__(self, store: Store, lose: Callable[[str], None] = ignore_loss) -> None:
        self._store = store
        self._lose = lose
        self._known = KnownRecords(store)
        self._tails: dict[tuple[int, bytes], bytes] = {}

    def joined(
        self, prefixes: Sequence[bytes], rows: Sequence[int], own: Sequence[int | None], warnings: Sequence[int]
    ) -> Iterator[bytes]:
        """Yield what `of` returns for any number of rows, each after its prefix, some at a time."""
        first = 0
        for objects in self.in_batches(rows, own, warnings):
            pairs = zip(prefixes[first : first + len(objects)], objects, strict=True)
            first += len(objects)
            while piece := [*islice(pairs, _PIECE_SPANS)]:
                yield b"".join(chain.from_iterable(piece))

    def in_batches(
        self, rows: Sequence[int], own: Sequence[int | None], warnings: Sequence[int]
    ) -> Iterator[list[bytes]]:
        """Yield what `of` returns for any number of rows, some at a time."""
        for batch in batches(self._store, rows, BATCH_SPANS):
            yield self.of(rows[batch], own[batch], warnings[batch])

    def of(self, rows: Sequence[int], own: Sequence[int | None], warnings: Sequence[int]) -> list[bytes]:
        """Return the object of each span without its braces, as `dumps_span` encodes what `span_value` returns.

        Args:
            rows: Rows of the span table, so few that their records fit into memory.
            own: The self time of each in nanoseconds, or None.
            warnings: Those that only its tree gives each, as bits of `Warnings`.
        """
        if not rows:
            return []
        dumps, texts = orjson.dumps, list[bytes | None]()
        columns, records = self._known.columns(rows), read_records(self._store, rows)
        parts = self._known.parts(records, columns)
        last: tuple[int, Tail | None] = -1, None
        of_trees = zip(own, warnings, strict=True)
        for (own_time, warned), part, of_columns in zip(of_trees, parts, zip(*columns, strict=True), strict=True):
            if part is not None:
                layout, _, span_id, parent_id, start_text, end_text, start, end, source, offset, length = of_columns
                text, attributes, tail = part
                try:
                    # One level deeper, as it will be: the encoder doesn't go to any depth.
                    value = dumps((attributes,))[1:-1]
                    if tail is not last[1] or source != last[0]:
                        of_tail, last = self._tail(source, tail), (source, tail)
                except orjson.JSONEncodeError:
                    pass
                else:
                    if not (EXPONENT in value and has_long_integer(text)):
                        of_span = span_id, parent_id, start_text, end_text, end - start, own_time
                        texts.append(layout.object % (*of_span, value, of_tail, offset, length, _names_of(warned)))
                        continue
            texts.append(None)
        others = spans_at(
            self._store, [row for row, text in zip(rows, texts, strict=True) if text is None], self._known
        )
        return [
            self.of_span(next(others), own_time, warned) if text is None else text
            for text, own_time, warned in zip(texts, own, warnings, strict=True)
        ]

    def of_span(self, span: Span, own: int | None, warned: int) -> bytes:
        """Return the object of one whole span, as `of` does."""
        return dumps_span(span_value(span, own, Warnings(warned)), self._lose)[1:-1]

    def _tail(self, source: int, tail: Tail) -> bytes:
        """Return what an object has from its events to its file."""
        known = self._tails.get((source, tail.text))
        if known is None:
            known = _object_of_tail(tail, self._store.sources[source].path)
            if tail.is_kept:
                if len(self._tails) > MAX_KEPT_TEXTS:
                    self._tails.clear()
                self._tails[source, tail.text] = known
        return known


def _object_of_tail(tail: Tail, path: str) -> bytes:
    details = tail.details
    span = Span(None, None, None, "", 0, 0, 0, events=details.events, links=details.links, resource=details.resource)
    value = span_value(span, None)
    parts = {key: value[key] for key in ("events", "links", "trace_state", "resource", "scope")}
    return orjson.dumps(parts)[1:-1] + b',"source":{"file":' + orjson.dumps(path)


@cache
def _names_of(warnings: int) -> bytes:
    return orjson.dumps(warning_names(warnings))
