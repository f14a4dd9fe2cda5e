"""Whether a JSON list is one of records, judged by its first element, so that the elements can be framed one by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.framing.scanner import Scanner, ScanVerdict
from spanview.formats.jsontext import BadJsonError, loads_quick

if TYPE_CHECKING:
    from collections.abc import Callable

# `[`, and the blanks before its first element.
_START: Final = re.compile(rb"\[[ \t\r\n]*")


class ListProbe:
    """Probes one list after the other; the scan of an unfinished element is continued, not repeated.

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
        match = _START.match(data, position)
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
