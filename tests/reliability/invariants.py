"""What holds for whatever bytes: said once, for the trials of many pieces and for the fuzzer.

The pieces that bytes arrive in make no difference. Documents and gaps lie inside the file, in order, apart from each
other. A span is what the standard library reads at its place, and nothing raises.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field, fields
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.decoder import Decoder, decode_span
from spanview.formats.framing.framer import DEFAULT_CAP
from spanview.formats.framing.prefix import find_prefix
from spanview.formats.rows import SpanColumns
from spanview.model.span import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.formats.rows import Batch

_NOWHERE: Final = Source("", 0, 0)
_LONGEST_INTEGER: Final = 4_000
"""Digits; the interpreter converts hardly more."""


@dataclass(slots=True)
class Decoded:
    """All that a file's bytes came to."""

    rows: list[tuple[int, int, tuple[Any, ...]]] = field(default_factory=list)
    """Offset and length of each span, and the columns' values."""
    documents: list[tuple[int, int]] = field(default_factory=list)
    """Offset and length of each that holds spans without a length of their own."""
    skipped: list[tuple[int, int]] = field(default_factory=list)
    gaps: list[tuple[str, int, int]] = field(default_factory=list)
    has_text: bool = False

    def add(self, batch: Batch) -> None:
        """Take in what one piece came to."""
        # Of processes, there is nothing where no resource says anything of them.
        columns = [getattr(batch.columns, column.name) or [""] * len(batch.columns) for column in fields(SpanColumns)]
        self.rows += zip(batch.offsets, batch.lengths, zip(*columns, strict=True), strict=True)
        self.documents += batch.documents
        self.skipped += [(offset, length) for offset, length, _ in batch.skipped]
        self.gaps += [(gap.kind.value, gap.offset, gap.length) for gap in batch.gaps]
        self.has_text = self.has_text or batch.has_text

    def in_order(self) -> tuple[object, ...]:
        """Return all of it by offset: of a log with several writers, more comes of one while another waits."""
        rows = sorted(self.rows, key=itemgetter(0, 1))
        return rows, sorted(self.documents), sorted(self.skipped), sorted(self.gaps, key=itemgetter(1)), self.has_text


def decoded(pieces: Sequence[bytes], cap: int = DEFAULT_CAP) -> Decoded:
    """Return what a file comes to that arrives in these pieces."""
    decoder, whole = Decoder(cap=cap), Decoded()
    for piece in pieces:
        whole.add(decoder.feed(piece))
    whole.add(decoder.close())
    return whole


def cut_at(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    """Return the pieces of bytes that are cut at these places."""
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def mistakes_of(data: bytes, cuts: Sequence[int], cap: int = DEFAULT_CAP, *, gaps_too: bool = True) -> Iterator[str]:
    """Yield what doesn't hold for these bytes, cut at these places; also of where gaps begin and end, or not."""
    whole, pieces = decoded([data], cap), cut_at(data, cuts)
    # In a log, how far a gap reaches is told by the lines that are still known.
    told = slice(None if gaps_too and not is_log(data) else 3)
    if whole.in_order()[told] != decoded(pieces, cap).in_order()[told]:
        yield f"another result in pieces of {[*map(len, pieces)]}"
    yield from _misplaced(whole, data)
    for at, size, row in whole.rows:
        if size:
            yield from _misread(row, data[at : at + size])


def is_log(data: bytes) -> bool:
    """Tell whether a name stands before any line."""
    return find_prefix(data, 0, len(data), is_line=True)[1]


def _misplaced(whole: Decoded, data: bytes) -> Iterator[str]:
    size = len(data)
    spans = [(at, length) for at, length, _ in whole.rows if length]
    lists = (spans, whole.documents, whole.skipped, [gap[1:] for gap in whole.gaps])
    places = sorted(itertools.chain(*lists))
    if any(at < 0 or length <= 0 or at + length > size for at, length in places):
        yield f"outside of the {size} bytes: {places}"
    if is_log(data):
        # The lines of several writers stand among one another.
        return
    for each in lists:
        if each != sorted(each):
            yield f"out of order: {each}"
    if any(at + length > after for (at, length), (after, _) in itertools.pairwise(places)):
        yield f"over each other: {places}"


def _misread(row: tuple[Any, ...], record: bytes) -> Iterator[str]:
    expected = _independent(record)
    span = decode_span(record, _NOWHERE)
    if not isinstance(expected, dict) or span is None:
        yield f"no span: {record!r}"
        return
    attributes = expected.get("attributes")
    if _text(span.attributes) != _text(attributes if isinstance(attributes, dict) else {}):
        yield f"{span.attributes!r}, not {attributes!r}"
    if span.name != row[5] or (isinstance(expected["name"], str) and span.name != expected["name"]):
        yield f"the name is {span.name!r} or {row[5]!r}, not {expected['name']!r}"


def _independent(record: bytes) -> Any:
    """Return what the standard library reads, or None where it can't."""
    try:
        return json.loads(record.decode("utf-8-sig", "replace"), parse_int=_integer)
    except (ValueError, RecursionError):
        return None


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else digits


def _text(value: Any) -> str:
    return json.dumps(value)
