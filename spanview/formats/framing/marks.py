"""What the beginning of a document looks like, among blanks, in text, and in what is left of a torn record."""

from __future__ import annotations

import re
from typing import Final

# Blanks, NUL bytes of a hole, commas and byte order marks, on one line.
_INDENT: Final = rb"(?:[ \t\r\x00,]++|\xef\xbb\xbf)*+"
# A run of them is one step: holes may be as long as files.
_SEPARATOR: Final = re.compile(rb"(?:[ \t\r\n\x00,]++|\xef\xbb\xbf)*+")
_FIRST_VALUE: Final = (
    rb'[ \t\r\n]*+(?:[{\["\]]'
    rb"|(?:-?+(?:[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+|Infinity)|true|false|null|NaN)[ \t\r\n]*+[,\]]"
    rb"|[A-Za-z0-9.+-]*+[ \t\r\n]*+\Z)"
)
"""What follows the bracket of a list, or may; not a log's `[INFO]` or `[2026-11-20 …]`."""
_INSPECTED: Final = rb"(?:[ \t\r]*+\n)?+[ \t]*+[A-Za-z_$][A-Za-z0-9_$]{0,60}+"
"""Behind a brace: the first key of an object that JavaScript, or Ray's log, prints, which has no quotes."""
_OPENING: Final = rb"\{(?!'[^'\"\r\n]{0,200}(?:'|\Z)|" + _INSPECTED + rb"(?::|\Z))"
"""What opens an object; `{'loss': 0.1}` is Python's, and `{ loss: 0.1 }` is JavaScript's."""
# `{"name"`, `[{`, `[1, 2]`; neither `{'loss': 0.1}` nor `[INFO]`.
_BEGINNING: Final = re.compile(_OPENING + rb"|\[" + _FIRST_VALUE)
_FRONT: Final = (
    rb'\{[ \t\r\n]*+"(?:resource(?:S|_s)pans"[ \t\r\n]*+:|schema"[ \t\r\n]*+:[ \t\r\n]*+"spanview/trace-tree'
    rb'|data"[ \t]*+:[ \t]*+\[[ \t]*+\{[ \t\r\n]*+"traceID")|\[[ \t\r\n]*+\{[ \t\r\n]*+"traceId"'
)
"""`{"resourceSpans":`, `[{"traceId"`: of a document that holds records one by one."""
_PART: Final = rb"[ \t\r\n]{0,20}".join(
    rb'\{ "(?:trace_id" : "[0-9a-f]{32}" , "(?:span_id" : "[0-9a-f]{16}" , "parent_id|start_time)'
    rb'|trace(?:ID|Id)" : "[0-9a-f]{16,32}" , "(?:spans|id)|resource" : \{ "attributes)"'.split(b" ")
)
"""`{"trace_id":"88ae…","span_id":"5998…","parent_id`: of a line of spanview's, or of a document. Other log
records have a trace id, too."""
_LIST: Final = rb'\[[ \t]*+\{[ \t\r\n]*+"(?:traceID|trace_id|resource)"'
"""Of traces, or of the spans of resources, if what precedes it is damaged."""
# `\n    {`, `\n[{`, and `{"name":` in the middle of a line.
_LINE_OR_RECORD: Final = re.compile(
    rb"\n"
    + _INDENT
    + rb"(?:"
    + _OPENING
    + rb"|\[(?="
    + _FIRST_VALUE
    + rb'))|\{[ \t\r\n]*+"[nN]ame"[ \t\r\n]*+:|'
    + _PART
    + rb"|"
    + _FRONT
    + rb"|"
    + _LIST
)
_FIRST_KEYS: Final = b"[nN]ame|trace_id|traceI[dD]|resource|scope(?:S|_s)pans"
"""Of a span, a trace, or the spans of a resource, in whatever format."""
# In a gap: `\n{`, `\0{`, and `{"name":`, `{"trace_id":` anywhere.
# Each alternative begins with a bracket, so that all other bytes are skipped quickly.
_RESYNC: Final = re.compile(rb'\{(?:(?<=\n\{)|(?<=\x00\{)|[ \t\r\n]*"(?:' + _FIRST_KEYS + rb')"[ \t\r\n]*:)|' + _FRONT)
# `{`, `{"na`, `[{ "trace`, `{"data": [{"trac` at the end of the buffer.
_PARTIAL_BEGINNING: Final = re.compile(
    rb"(?:\{|\[[ \t\r\n]*(?:\{|\Z))[ \t\r\n]*"
    rb'(?:"[A-Za-z_]{0,14}(?:"[ \t\r\n]*(?::[ \t\r\n\[{]*(?:"[A-Za-z_/-]{0,22}(?:"[ \t\r\n]*)?)?)?)?)?\Z'
    rb'|\{"trace(?:_id|ID|Id)"[a-z0-9_:", \t\r\n]{0,160}\Z'
)
# `{'los` and `{ los` at the end of the buffer, which isn't JSON if it continues like this.
_PARTIAL_PRINTED: Final = rb"\{(?:'[^'\"\r\n]{0,200}|" + _INSPECTED + rb")\Z"
# `\n  \xef\xbb`, and `\n{'los`.
_PARTIAL_BLANK_LINE: Final = re.compile(rb"\n" + _INDENT + rb"(\xef?+\xbb?+\Z|" + _PARTIAL_PRINTED + rb")")
_PARTIAL_MARK: Final = re.compile(rb"\xef\xbb?\Z|" + _PARTIAL_PRINTED)

REPEATED: Final = b"x across cluster]"
"""In the text that Ray's de-duplication puts where it left out lines."""
FRAGMENT: Final = b'"trace_id": "0x'
"""In the beginning of a span."""
_INSPECTED_SCOPE: Final = b"instrumentationScope: {"
_INSPECTED_TRACE: Final = b"\n  traceId: '"
"""In a span that the exporter of OpenTelemetry for JavaScript prints: early releases leave the scope out, and a log's
prefixes are before the blanks."""
_LOG_MARKS: Final = (
    ("repeated", REPEATED),
    ("fragments", FRAGMENT),
    ("_scopes", _INSPECTED_SCOPE),
    ("_traces", _INSPECTED_TRACE),
)
_MAX_MARK_BYTES: Final = max(len(mark) for _, mark in _LOG_MARKS)

_LF, _NUL = b"\n\x00"
NOWHERE: Final = -1
LOOKBACK_BYTES: Final = 256
"""Bytes before the end of a buffer, or before a break, in which the beginning of a record is searched for."""


def skip_separators(data: bytes, position: int) -> int:
    """Return where the blanks, commas and byte order marks between documents end."""
    match = _SEPARATOR.match(data, position)
    return match.end() if match else position


def is_partial_mark(data: bytes, position: int) -> bool:
    """Tell whether the bytes from `position` on may become a byte order mark, or an object that isn't JSON's."""
    return _PARTIAL_MARK.match(data, position) is not None


def may_begin(data: bytes, position: int) -> bool:
    """Tell whether a document may begin at a position where a line begins, or right after another document."""
    return _BEGINNING.match(data, position) is not None


def find_in_text(data: bytes, position: int) -> int:
    """Return where a document may begin: at the start of a line, or a record anywhere; `NOWHERE` if nowhere."""
    match = _LINE_OR_RECORD.search(data, position)
    if match is None:
        return NOWHERE
    return match.end() - 1 if data[match.start()] == _LF else match.start()


def find_in_gap(data: bytes, position: int, before: int) -> int:
    """Return where a record may begin after a torn one; `NOWHERE` if nowhere.

    Args:
        before: The byte before `position`, which may be before the buffer, where the pattern can't see it.
    """
    if before in (_LF, _NUL) and data[position : position + 1] == b"{":
        return position
    if data.find(b"{", position) < 0 and data.find(b"[", position) < 0:
        # A hole is passed over as quickly as its bytes can be looked at.
        return NOWHERE
    match = _RESYNC.search(data, position)
    return match.start() if match else NOWHERE


def find_partial(data: bytes, position: int, *, in_text: bool) -> tuple[int, bool]:
    """Return where at the end of the buffer a beginning may be unfinished, or its end, and whether that is in text."""
    match = _PARTIAL_BEGINNING.search(data, max(position, len(data) - LOOKBACK_BYTES))
    if match:
        return match.start(), in_text
    line = data.rfind(b"\n", position) if in_text else NOWHERE
    if line >= 0 and (match := _PARTIAL_BLANK_LINE.match(data, line)):
        # Its end may be an unfinished byte order mark, or what Python prints.
        return match.start(1), False
    return max(position, len(data) - (data[-1:] in (b"\n", b"\x00"))), in_text


class LogMarks:
    """What the text between documents says of a console log, counted in pieces of any size."""

    __slots__ = ("_before", "_inspected", "_scopes", "_traces", "fragments", "repeated")

    def __init__(self) -> None:
        self.repeated = 0
        """Marks of Ray's de-duplication for lines that it left out."""
        self.fragments = 0
        """Beginnings of spans in text."""
        self._scopes = self._traces = 0
        """Marks of spans that JavaScript has printed, in all: each has one of them, or both."""
        self._inspected = 0
        """Such spans that were told."""
        self._before = b""

    def count(self, data: bytes, start: int, end: int, *, goes_on: bool) -> None:
        """Count in a piece of text.

        Args:
            goes_on: Whether the next piece follows right after it.
        """
        across = self._before + data[start : min(end, start + _MAX_MARK_BYTES - 1)]
        before_bytes = len(self._before)
        for name, mark in _LOG_MARKS:
            # Those that begin in the piece before, then those that begin in this one.
            count = (
                across.count(mark, max(0, before_bytes - len(mark) + 1), before_bytes + len(mark) - 1)
                if before_bytes
                else 0
            )
            setattr(self, name, getattr(self, name) + count + data.count(mark, start, end))
        last = (self._before + data[max(start, end - _MAX_MARK_BYTES + 1) : end])[1 - _MAX_MARK_BYTES :]
        self._before = last if goes_on else b""

    def take(self) -> tuple[int, ...]:
        """Return what was counted since the last call: repetitions, fragments, inspected spans."""
        inspected = max(self._scopes, self._traces)
        counts = self.repeated, self.fragments, inspected - self._inspected
        self.repeated = self.fragments = 0
        self._inspected = inspected
        return counts
