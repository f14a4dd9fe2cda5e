"""Spans that share a line of OTLP with others, each as if it had a line of its own.

{"resourceSpans":[{"resource":{…},"scopeSpans":[{"spans":[{span},{span}]},{"scope":{…},"spans":[{span}]}]}]}
------------------------- head -------------------------  ------ ------  - end of a scope        ---- tail
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from spanview.quick.brackets import Brackets
from spanview.quick.otlp import BEGIN, NEXT, RESOURCES, SCOPES, TAIL, inside, names_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Places
    from spanview.index.documents import Documents

_MAX_LINE_BYTES: Final = 16 * 1024 * 1024
_AT_ONCE_BYTES: Final = 4 * 1024 * 1024
"""Lines that are looked into at once."""
_MAX_KEPT_SPANS: Final = 1024 * 1024
_MARGIN: Final = bytes(64)
NOT_THERE: Final = -1


class SharedRecords(NamedTuple):
    """Where the records of N spans are in their files, and where the lines are that they share."""

    starts: Places
    ends: Places
    around: Places
    """Indexes of `SharedLines.around`; `NOT_THERE` for what is in no line of OTLP, or is gone."""
    line_starts: Places
    line_lengths: Places


class SharedLines:
    """Finds the spans in lines that have several.

    Args:
        documents: Knows these lines.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self.around: list[tuple[bytes, bytes]] = []
        """Heads and tails: what a line with just one of the spans would have before and behind it."""
        self._forget()

    def _forget(self) -> None:
        self._lines: dict[tuple[int, int], tuple[int, int]] = {}
        """By source and offset of a line the index of its first span, and how many it has."""
        self._spans: NDArray[np.int64] = np.full((1, 3), NOT_THERE)
        """Start, end, and what is around it, of each, behind one that isn't there."""
        self._numbers: dict[tuple[bytes, bytes], int] = {}
        self._others = set[int]()
        """Files that have other documents."""
        self.around.clear()

    def find(self, sources: Places, offsets: Places) -> SharedRecords:
        """Return where the records of spans are by two columns of their rows."""
        if len(self._spans) > _MAX_KEPT_SPANS:
            self._forget()
        line_starts, line_lengths, firsts, counts = np.zeros((4, len(sources)), np.int64)
        for source in np.unique(sources).tolist():
            chosen, places = np.flatnonzero(sources == source), self._documents.places[source]
            starts, lengths = np.array(places.offsets, np.int64), np.array(places.lengths, np.int64)
            numbers = np.searchsorted(starts, offsets[chosen], "right") - 1
            line_starts[chosen], line_lengths[chosen] = starts[numbers], lengths[numbers]
            if source not in self._others:
                distinct, inverse = np.unique(numbers, return_inverse=True)
                lines = [*zip(starts[distinct].tolist(), lengths[distinct].tolist(), strict=True)]
                self._look_into(source, [line for line in lines if (source, line[0]) not in self._lines])
                firsts[chosen], counts[chosen] = np.array([self._lines[source, begin] for begin, _ in lines])[inverse].T
        parts = offsets - line_starts
        starts, ends, around = self._spans[np.where(parts < counts, firsts + parts, 0)].T
        return SharedRecords(starts, ends, around, line_starts, line_lengths)

    def _look_into(self, source: int, lines: Sequence[tuple[int, int]]) -> None:
        """Note where lines of a file, given by offset and length, have their spans."""
        found, size = list[tuple[int, int, bytes]](), 0
        self._lines |= {(source, begin): (0, 0) for begin, _ in lines}
        for begin, length in lines:
            data = self._documents.reader.read(source, begin, length) if length <= _MAX_LINE_BYTES else None
            if data is not None and data.startswith(BEGIN):
                found.append((source, begin, data))
                size += length
            elif data is not None:
                self._others.add(source)
                break
            if size > _AT_ONCE_BYTES:
                self._note(found)
                found, size = [], 0
        if found:
            self._note(found)

    def _note(self, found: Sequence[tuple[int, int, bytes]]) -> None:
        text = b"\n".join([data for *_, data in found])
        buffer = np.frombuffer(text + _MARGIN, np.uint8)
        ends = np.cumsum([len(data) + 1 for *_, data in found]) - 1
        starts = np.append(0, ends[:-1] + 1)
        brackets = Brackets(buffer, starts, ends)
        spans, owners = inside(brackets, starts, ends)
        if not len(owners):
            return
        span_starts, span_ends = brackets.positions[spans.opens], brackets.positions[spans.closes] + 1
        goes_on = np.append(False, span_starts[1:] - span_ends[:-1] == 1) & (buffer[span_starts - 1] == ord(","))
        around, bounds = np.full(len(owners), NOT_THERE), np.searchsorted(owners, np.arange(len(found) + 1)).tolist()
        for index in brackets.lines.tolist():
            first, last = bounds[index : index + 2]
            if first == last:
                continue
            groups = first + np.flatnonzero(~goes_on[first:last])
            edges = zip(
                [int(starts[index]), *span_ends[groups[1:] - 1].tolist()], span_starts[groups].tolist(), strict=True
            )
            pairs = _around([text[begin:end] for begin, end in edges], text[span_ends[last - 1] : ends[index]])
            if pairs is not None:
                numbers = np.array([self._number(pair) for pair in pairs])
                around[first:last] = numbers[np.cumsum(~goes_on[first:last]) - 1]
                source, begin, _ = found[index]
                self._lines[source, begin] = len(self._spans) + first, last - first
        moved = np.array([begin for _, begin, _ in found], np.int64)[owners] - starts[owners]
        self._spans = np.concatenate([self._spans, np.stack([span_starts + moved, span_ends + moved, around], axis=1)])

    def _number(self, pair: tuple[bytes, bytes]) -> int:
        if pair not in self._numbers:
            self._numbers[pair] = len(self.around)
            self.around.append(pair)
        return self._numbers[pair]


def _around(before: Sequence[bytes], last: bytes) -> list[tuple[bytes, bytes]] | None:
    """Return head and tail of each group of spans by what precedes it; None where something isn't recognized."""
    end, heads, ends = TAIL.fullmatch(last), [*before[:1]], list[tuple[bytes, bytes | None]]()
    for following in map(NEXT.fullmatch, before[1:]):
        begin, scopes, _ = heads[-1].rpartition(SCOPES)
        if following is None or not scopes:
            return None
        heads.append((RESOURCES if following["resource"] else begin + scopes) + following["head"])
        ends.append((following["scope"], following["resource"]))
    if end is None or not all(map(_is_head, heads)):
        return None
    tails, last_end = [end[0]], end["resource"]
    for of_scope, of_resource in reversed(ends):
        # That of a resource comes behind the last of its scopes.
        last_end = of_resource or last_end
        tails.append(of_scope + last_end + b"]}")
    return [*zip(heads, reversed(tails), strict=True)]


@lru_cache(4096)
def _is_head(text: bytes) -> bool:
    return names_in(text) is not None
