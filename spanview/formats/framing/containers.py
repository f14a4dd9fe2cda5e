"""Documents that hold records one by one, at their front: those too large or damaged are read element by element.

{"data": [{…}, {…}, {…      the first two are whole
         ^ the first element

[{"traceId": …}, …          a list of Zipkin's: nothing says who shares an id, and the records are marked
["traceId": …}, {"tr…       the same, damaged in its first element
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.framing.scanner import Scanner, ScanVerdict
from spanview.formats.jsontext import BadJsonError, loads_quick, loads_usual

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ELEMENT_CAP_FACTOR: Final = 16
"""An element, a whole trace or all spans of a resource, may be this many times as long as other documents."""
_PROBE_BYTES: Final = 8192
"""Bytes of a document by which it is recognized: always the same ones, in whatever pieces they come."""
_KEY: Final = rb'\{\s*+"(?:data|traces|resourceSpans|resource_spans|batches|schema)"'
_TOGETHER_BYTES: Final = 64 * 1024
"""Bytes of elements that are decoded together: more would leave the processor's cache."""
_BEGINNING: Final = re.compile(_KEY)
_MAY_BE_FRONT: Final = re.compile(rb"\[|" + _KEY)
# `[`, which may be behind one of a list that broke off at once, and the blanks before its first element.
_LIST: Final = re.compile(rb"(?:\[[ \t\r\n]*){1,2}+")
_FRONT: Final = re.compile(
    rb"""
    \{ \s*+ (?: "schema" \s*+ : \s*+ "spanview/trace-tree/v1" \s*+ , \s*+ )?
    "(?: data | traces | resourceSpans | resource_spans | batches )" \s*+ :
        (?: \s*+ \[ \s*+ (?=\{) | [^{}"]{0,16} (?= \{ \s*+ "(?: traceID | trace_id | resource )" ) )
    | \[ [^{}\[\]"]{0,16}+ (?: \[ \s*+ )?+
        (?: (?= \{ (?: [^{}]{0,1000} "traceId" | .{0,4000}? \} \s*+ , \s*+ \{ \s*+ "traceId" ) )
        | [^{}]{0,1000} \{ .{0,4000}? \} \s*+ , \s*+ (?= \{ \s*+ "traceId" ) )
    """,
    re.VERBOSE | re.DOTALL,
)


_FIRST_KEY: Final = re.compile(rb'\{[ \t\r\n]*+"(traceId|trace_id|traceID|resource)"')
"""Of an element."""


@cache
def _between(key: bytes) -> re.Pattern[bytes]:
    """Return what is between elements that begin with a key, and hardly anywhere else: `},{"traceId"`.

    Jaeger's traces begin as their spans do: `},{"traceID":"88ae…","spans"`.
    """
    more = rb'\s*+:\s*+"[^"\\]*+"\s*+,\s*+"spans"' if key == b"traceID" else b""
    return re.compile(rb'\}[ \t\r\n]*+,[ \t\r\n]*+(?=\{[ \t\r\n]*+"' + key + rb'"' + more + rb")")


def take_elements(
    data: bytes, position: int, *, keep: Callable[[list[Any]], Iterable[Any]], cap: int, base: int
) -> tuple[int, list[tuple[int, int, Any]]]:
    """Take elements of a document that was entered, as long as each is whole up to where another seems to begin.

    What decodes is an element: an object has one end only.

    Args:
        keep: Returns what is kept of each of some decoded values.
        base: Offset in the file of the buffer.

    Returns:
        Where to go on: at an element; and of each that was taken its offset in the file, its length and what is kept.
    """
    taken = list[tuple[int, int, Any]]()
    for group in _elements(data, position, cap):
        kept = keep([value for _, _, _, value in group])
        taken += [(base + begin, end - begin, part) for (begin, end, _, _), part in zip(group, kept, strict=True)]
        position = group[-1][2]
    return position, taken


def _elements(data: bytes, position: int, cap: int) -> Iterator[list[tuple[int, int, int, Any]]]:
    """Yield elements, some at a time: where each begins and ends, where the next one begins, and its value.

    The front of an element, as long as the shortest one so far, isn't searched for its end; if one is shorter, what is
    found doesn't decode, and all of it is searched.
    """
    front, view, skipped = _FIRST_KEY.match(data, position), memoryview(data), 0
    group, first = list[tuple[int, int, int, Any]](), position
    search = None if front is None else _between(front[1]).search
    while search is not None:
        match = search(data, position + skipped)
        last, after = (0, 0) if match is None else match.span()
        value = loads_usual(view[position : last + 1]) if after and last < position + cap else None
        if value is None:
            if not skipped:
                break
            skipped = 0
            continue
        group.append((position, last + 1, after, value))
        if not 0 < skipped <= last - position:
            skipped = last - position
        position = after
        if position - first > _TOGETHER_BYTES:
            yield group
            group, first = [], position
    if group:
        yield group


class Nesting:
    """Whether documents are elements of one that was entered, or follow its last element.

    Args:
        cap: Bytes of the longest document that is kept, outside of others.
    """

    __slots__ = ("_cap", "first", "is_after", "is_inside")

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self.is_inside = self.is_after = False
        """Whether documents are elements; whether what was entered ended where none begins, and its members follow."""
        self.first = 0
        """Offset of the first element of what was entered."""

    @property
    def cap(self) -> int:
        """Bytes of the longest document that is kept."""
        return self._cap * ELEMENT_CAP_FACTOR if self.is_inside else self._cap

    def enter(self, first: int) -> None:
        """Take note that documents are elements from an offset on."""
        self.is_inside, self.first = True, first

    def leave(self) -> None:
        """Take note of text: an element has none."""
        self.is_inside, self.is_after = False, self.is_inside or self.is_after

    def is_left_out(self, value: Any, is_record: Callable[[Any], bool]) -> bool:
        """Tell whether a whole document is a member of what was entered; the next record isn't."""
        self.is_after = self.is_after and not (is_record(value) or is_element(value))
        return self.is_after


def is_element(value: Any) -> bool:
    """Tell whether a decoded value is a span of a list, which may mean less alone: one of Zipkin's."""
    return isinstance(value, dict) and "traceId" in value and "id" in value


def begins_document(data: bytes, position: int) -> bool:
    """Tell whether an object at a position may hold records one by one, and so is no element of such a document."""
    return _BEGINNING.match(data, position) is not None


def first_element(data: bytes, position: int, cap: int) -> int:
    """Return the position of the first element of a document that holds records one by one; `position` for any other.

    Args:
        cap: Bytes of the longest document that is kept; no more are searched.
    """
    match = _FRONT.match(data, position, position + min(_PROBE_BYTES, cap))
    return match.end() if match else position


def is_undecided(data: bytes, position: int, cap: int) -> bool:
    """Tell whether more bytes may show that a document holds records one by one."""
    return len(data) - position < min(_PROBE_BYTES, cap) and _MAY_BE_FRONT.match(data, position) is not None


class ListProbe:
    """Judges by its first element whether a list is one of records, one list after the other.

    The scan of an unfinished element is continued, not repeated.

    Args:
        cap: Bytes at the beginning of a list that are probed.
    """

    __slots__ = ("_cap", "_is_record", "_scanner")

    def __init__(self, is_record: Callable[[Any], bool], cap: int) -> None:
        self._is_record = is_record
        self._cap = cap
        self._scanner: Scanner | None = None

    def first_record(self, data: bytes, position: int) -> int | None:
        """Return where the first element is if it is a record, `position` if not, None if it isn't complete yet.

        Args:
            data: The buffer; where its front was cut off, `shift` must have been called.
        """
        match = _LIST.match(data, position)
        start = match.end() if match else position
        if start == len(data):
            return None
        if data[start : start + 1] != b"{":
            return position
        scanner = self._scanner or Scanner(start)
        verdict = scanner.scan(data)
        self._scanner = scanner if verdict is ScanVerdict.UNFINISHED else None
        if verdict is ScanVerdict.UNFINISHED:
            return None
        if verdict is ScanVerdict.BROKEN or scanner.position - position > self._cap:
            return position
        try:
            is_record = self._is_record(loads_quick(memoryview(data)[start : scanner.position]))
        except BadJsonError:
            is_record = False
        return start if is_record else position

    def shift(self, count: int) -> None:
        """Take note that `count` bytes were cut off the front of the buffer."""
        if self._scanner is not None:
            self._scanner.shift(count)

    def forget(self) -> None:
        """Give up on an unfinished element."""
        self._scanner = None
