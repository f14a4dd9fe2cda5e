"""The span table and the trace table: one buffer a column, some 70 bytes a span, readable by numpy without a copy."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from spanview.model.ids import format_trace_id
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

NUMPY_FROM_SPANS: Final = 50_000
"""Spans of a store from which on commands and the first screen import numpy, which takes 0.09 s of processor time.

Below it they count, sort and filter row by row; what is asked in threads of the viewer uses numpy at every size.
"""
NARROWED: Final = {
    **dict.fromkeys(("name", "service", "process", "source", "length"), "I"),
    "warnings": "H",
    "offset": "Q",
}
"""Columns of the span table that have smaller items while nothing is added, and the items that they have else."""
MAX_TEXT_LENGTH: Final = 4096
"""Characters of a text that the tables hold whole; of a longer one they have the beginning and a digest."""
_DIGEST_SIZE: Final = 16
_MAX_DIGEST_LENGTH: Final = 80
"""Characters for the length and the digest of a text that isn't kept whole, and for its last word."""
_MAX_LAST_WORD_LENGTH: Final = 20
"""Of a text's last word, with the space before it: `… ray.remote_worker` says what a span is."""
NO_ROW: Final = 0xFFFFFFFF
"""The row number for none."""


class Interned(dict[str, int]):
    """Texts and their small numbers, each text once; a text that is new gets the next number.

    A small compressed file can hold names of many megabytes: a text over `MAX_TEXT_LENGTH` is kept as its beginning and
    a digest, so that different texts stay different, and as its last word where that is short. Only the record has it
    in full.
    """

    __slots__ = ("_tested", "cut", "texts")

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.cut: set[int] = set()
        """The numbers of the texts that aren't kept whole."""
        self._tested: dict[Callable[[str], bool], tuple[int, frozenset[int]]] = {}
        """By test, how many texts it has seen, and the numbers of those for which it holds."""

    def __reduce__(self) -> tuple[object, ...]:
        # What was tested comes again.
        return _interned, (self.texts, self.cut)

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self.texts)
        self.texts.append(text)
        return number

    def number(self, text: str) -> int:
        """Return the number of a text of any length."""
        if len(text) <= MAX_TEXT_LENGTH:
            return self[text]
        # The two halves of a Ray call differ in their last words alone.
        rest, space, last = text.rpartition(" ")
        if len(space + last) > _MAX_LAST_WORD_LENGTH or not rest:
            rest, space, last = text, "", ""
        digest = blake2b(rest.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_SIZE).hexdigest()
        begin = rest[: MAX_TEXT_LENGTH - _MAX_DIGEST_LENGTH]
        # What is written here is short enough to be taken whole when it comes from another table.
        number = self[f"{begin}… {len(rest):,} characters, {digest}{space}{last}"]
        self.cut.add(number)
        return number

    def where(self, test: Callable[[str], bool]) -> frozenset[int]:
        """Return the numbers of the texts for which a test holds; it sees each text once, however often this is asked.

        Args:
            test: A function that stays: the numbers are kept by it.
        """
        seen, numbers = self._tested.get(test, (0, frozenset()))
        size = len(self.texts)
        if seen < size:
            numbers |= {number for number in range(seen, size) if test(self.texts[number])}
            self._tested[test] = size, numbers
        return numbers

    def clear(self) -> None:
        """Forget all texts."""
        super().clear()
        self.texts.clear()
        self.cut.clear()
        self._tested.clear()

    def numbers(self, texts: Sequence[str]) -> list[int]:
        """Return the numbers of some texts of any length."""
        if max(map(len, texts), default=0) > MAX_TEXT_LENGTH:
            return [*map(self.number, texts)]
        return [*map(self.__getitem__, texts)]


def _interned(texts: Sequence[str], cut: set[int]) -> Interned:
    interned = Interned()
    for text in texts:
        _ = interned[text]
    interned.cut.update(cut)
    return interned


@dataclass(slots=True)
class FileSource:
    """One file as the index knows it; a file that was truncated or replaced is another one with the next generation."""

    path: str
    """The PATH as given, joined with the file's path below it."""
    generation: int = 0
    real_path: str = ""
    """The same with links followed, as they led when it was found."""


@dataclass(slots=True, eq=False, repr=False)
class SpanTable:
    """The columns of all spans, a row a span in the order of arrival.

    Those of a kept index are views of its file: they have no `append`, and nothing is added to them.
    """

    trace: array[int] = field(default_factory=partial(array, "I"))
    """Row of the trace table."""
    span_id: array[int] = field(default_factory=partial(array, "Q"))
    parent_id: array[int] = field(default_factory=partial(array, "Q"))
    start_ns: array[int] = field(default_factory=partial(array, "q"))
    end_ns: array[int] = field(default_factory=partial(array, "q"))
    name: array[int] = field(default_factory=partial(array, "I"))
    service: array[int] = field(default_factory=partial(array, "I"))
    process: array[int] = field(default_factory=partial(array, "I"))
    kind: array[int] = field(default_factory=partial(array, "B"))
    status: array[int] = field(default_factory=partial(array, "B"))
    warnings: array[int] = field(default_factory=partial(array, "H"))
    source: array[int] = field(default_factory=partial(array, "I"))
    offset: array[int] = field(default_factory=partial(array, "Q"))
    length: array[int] = field(default_factory=partial(array, "I"))
    next_row: array[int] = field(default_factory=partial(array, "I"))
    """The next row of the same trace, or `NO_ROW`."""

    def __len__(self) -> int:
        return len(self.span_id)

    def last_ns(self, row: int) -> int:
        """Return when a span ended, or else began, in nanoseconds since 1970; `NO_TIME` where neither is known."""
        end = self.end_ns[row]
        return self.start_ns[row] if end == NO_TIME else end

    def widen(self) -> None:
        """Make columns ready for more rows, where they were narrowed."""
        for name, typecode in NARROWED.items():
            if memoryview(getattr(self, name)).format != typecode:
                setattr(self, name, array(typecode, getattr(self, name)))


@dataclass(slots=True, eq=False, repr=False)
class TraceTable:
    """The columns of all traces, a row a trace in the order of arrival."""

    id_high: array[int] = field(default_factory=partial(array, "Q"))
    id_low: array[int] = field(default_factory=partial(array, "Q"))
    first_row: array[int] = field(default_factory=partial(array, "I"))
    last_row: array[int] = field(default_factory=partial(array, "I"))
    root_row: array[int] = field(default_factory=partial(array, "I"))
    """The earliest span without a parent, or `NO_ROW`."""
    root_count: array[int] = field(default_factory=partial(array, "I"))
    span_count: array[int] = field(default_factory=partial(array, "I"))
    error_count: array[int] = field(default_factory=partial(array, "I"))
    replaced: array[int] = field(default_factory=partial(array, "I"))
    """How often a record was replaced by one of the same span that says more."""
    start_ns: array[int] = field(default_factory=partial(array, "q"))
    """The least start, or `NO_TIME`."""
    end_ns: array[int] = field(default_factory=partial(array, "q"))
    """The greatest end, or `NO_TIME`."""

    def __len__(self) -> int:
        return len(self.id_low)

    def append(self, high: int, low: int) -> int:
        """Add an empty trace with the two halves of its id and return its number."""
        self.id_high.append(high)
        self.first_row.append(NO_ROW)
        self.last_row.append(NO_ROW)
        self.root_row.append(NO_ROW)
        self.root_count.append(0)
        self.span_count.append(0)
        self.error_count.append(0)
        self.replaced.append(0)
        self.start_ns.append(NO_TIME)
        self.end_ns.append(NO_TIME)
        self.id_low.append(low)
        return len(self.id_low) - 1

    def extend(self, highs: bytes, lows: bytes) -> None:
        """Add empty traces with the two halves of their ids, 64 bits each as this machine has them."""
        count = len(lows) // self.id_low.itemsize
        self.id_high.frombytes(highs)
        for rows in (self.first_row, self.last_row, self.root_row):
            rows.extend(array("I", [NO_ROW]) * count)
        for counts in (self.root_count, self.span_count, self.error_count, self.replaced):
            counts.frombytes(bytes(counts.itemsize * count))
        for times in (self.start_ns, self.end_ns):
            times.extend(array("q", [NO_TIME]) * count)
        self.id_low.frombytes(lows)

    def shares(self, traces: Sequence[int], spans: int) -> Iterator[Sequence[int]]:
        """Cut a sequence of traces into shares of at least so many spans, except the last one."""
        counts, first, size = self.span_count, 0, 0
        for position, trace in enumerate(traces, 1):
            size += counts[trace]
            if size >= spans or position == len(traces):
                yield traces[first:position]
                first, size = position, 0

    def duration_ns(self, trace: int) -> int | None:
        """Return nanoseconds from the least start to the greatest end; None where one is missing."""
        start, end = self.start_ns[trace], self.end_ns[trace]
        return None if NO_TIME in (start, end) else end - start

    def version(self, trace: int) -> int:
        """Return a number that grows whenever there is something new in a trace."""
        return self.span_count[trace] + self.replaced[trace]

    def trace_id(self, trace: int) -> int:
        """Return the id of a trace as 128 bits; 0 is the group of the spans without a usable trace id."""
        return self.id_high[trace] << 64 | self.id_low[trace]

    def hex_id(self, trace: int) -> str | None:
        """Return the id of a trace in 32 hex digits; None for the group of the spans without a usable trace id."""
        return format_trace_id(trace_id) if (trace_id := self.trace_id(trace)) else None
