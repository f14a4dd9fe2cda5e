"""Which lines that a process printed are of a document on several lines, and which were printed between them.

{
    "name": "train",
INFO 2026-11-20 11:55:46,917 …          a log's line
{"level": "info", "epoch": 3}           a document on one line
    "context": {
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.framing.marks import NOWHERE, find_in_gap
from spanview.formats.framing.prefix import names_writer
from spanview.formats.jsontext import BadJsonError, loads_quick

if TYPE_CHECKING:
    from collections.abc import Callable

_JSON: Final = re.compile(
    rb"""
    [ \t]*+ (?:
        [}\]]
        | \{ (?!') | \[ [ \t\r]* (?: [\[{"\]] | \Z )
        | "(?:[^"\\]|\\.)*+" [ \t]*+ (?: : | ,? [ \t\r]*+ \Z )
        | (?: -?[0-9][0-9.eE+-]*+ | true | false | null | NaN | -?Infinity ) ,? [ \t\r]*+ \Z
    )
    """,
    re.VERBOSE | re.DOTALL,
)
"""How a line of a JSON document begins, indented or not; other output mustn't be taken for one."""
# 12 of `… [repeated 12x across cluster] (Ray deduplicates logs by default. …)`.
_REPEATED: Final = re.compile(rb"\[repeated ([0-9]{1,9})x across cluster\]")
_OPENING: Final = re.compile(rb"\{[ \t\r]*\Z")
"""`{`, which begins a document on several lines."""
_CLOSING: Final = re.compile(rb"\}(.*\{)?[ \t\r]*\Z", re.DOTALL)
"""`}`, which ends one, and `}{`, where another follows without a line end."""
_MEMBER: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"[ \t]*+:', re.DOTALL)
"""`"name": "train",`."""
_CLOSED: Final = re.compile(rb"[ \t]*[}\]]")
"""`    },`, `    ],`."""
_OPENED_BEFORE: Final = re.compile(rb"[{\[][ \t\r]*\Z")
"""`    "attributes": {`, `    "events": [`."""
_OPENED: Final = re.compile(rb'[{\[][ \t]*"')
"""`{"level": "in`: the front of a document in one line."""
_FIRST_LINE: Final = re.compile(rb"\{[ \t\r]*\n")
_UNFINISHED_LINE: Final = re.compile(rb"[,{\[][ \t\r]*\Z")
"""`foo": {`, `"kind": "INT,`: the end of a line that isn't one of a document, and may be a damaged one."""
_CONTROL: Final = re.compile(rb"[\x00-\x07\x0e-\x1a]")
"""NUL bytes of a hole, for instance; not the tab, line ends and escape that logs have."""
_TORN_TEXT: Final = re.compile(rb'[ \t]++"')
"""`        "two`: what is left of an indented line of a document."""
_WORDS: Final = re.compile(rb"(?:\{'|[^\s\":,{}\]])[^\s\"]*+(?: [^\s\"]++)++\r?\Z")
"""
`loss is 0.1,`: what no damage makes of a line of an indented document, for that is one word, or has a quotation mark
or some of the blanks.
"""
_SPACE: Final = ord(" ")
NAMES_WRITER: Final = (NOWHERE, None)
_MAX_SEARCH_BYTES: Final = 1024 * 1024
"""Bytes in which the end of a document is searched for."""


def repeat_mark_of(text: bytes) -> re.Match[bytes] | None:
    """Return the mark that Ray puts after a line printed for several; its group 1 says for how many."""
    return _REPEATED.search(text, text.rfind(b'"') + 1)


def without_repeat_mark(text: bytes) -> tuple[bytes, int]:
    """Return a line without the mark of Ray's de-duplication, and how many others it stands for; else as it is, and 0.

    The mark is only removed after a whole document: a line of a document on several lines is part of none any more.
    """
    mark = repeat_mark_of(text) if text[:1] == b"{" else None
    if mark:
        document = text[: text.rfind(b"}") + 1]
        with suppress(BadJsonError):
            loads_quick(document)
            return document, int(mark[1]) - 1
    return text, 0


class Line(Enum):
    """What a line is."""

    OF_DOCUMENT = auto()
    ALONE = auto()
    """JSON at the margin within a document that is indented."""
    OTHER = auto()


class _State(Enum):
    NOTHING = auto()
    """No document, or one that isn't indented."""
    FIRST_LINE = auto()
    INDENTED = auto()


class DocumentLines:
    """Sorts the lines of one process, in their order."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        self._state = _State.NOTHING

    def sort(self, text: bytes) -> Line:
        """Return what the next line is, which comes without its end."""
        if _JSON.match(text) is None or repeat_mark_of(text):
            return Line.OTHER
        if text[0] in b" \t":
            self._state = _State.INDENTED if self._state is _State.FIRST_LINE else self._state
        elif _OPENING.match(text):
            self._state = _State.FIRST_LINE
        elif self._state is not _State.NOTHING:
            closing = _CLOSING.match(text)
            if not (closing or (self._state is _State.FIRST_LINE and _MEMBER.match(text))):
                return Line.ALONE
            self._state = _State.FIRST_LINE if closing and closing[1] else _State.NOTHING
        return Line.OF_DOCUMENT


def take_apart(
    data: bytes, position: int, is_record: Callable[[Any], bool], *, cap: int, is_all: bool
) -> tuple[int, Any] | None:
    """Return where a record ends that has other lines between its own, and its value.

    It is taken only if none of its own lines can be missing: no line that was left out ends like a line of JSON, after
    which another one would have to follow, or is the only one between brackets, and no key is there twice, as in the
    halves of two records.

    Args:
        position: Where the record begins, at the start of a line.
        cap: Bytes of the longest record that is kept, other lines included.
        is_all: Whether nothing follows the buffer.

    Returns:
        `position` and None where more bytes are needed; `NAMES_WRITER` where a line begins with its writer's name;
        None for anything else.
    """
    if not _FIRST_LINE.match(data, position):
        return None
    kept, lines, start, has_others = list[bytes](), DocumentLines(), position, False
    while start < position + min(cap, _MAX_SEARCH_BYTES):
        line_end = data.find(b"\n", start)
        if line_end < 0 and not is_all:
            return position, None
        line_end = line_end if line_end >= 0 else len(data)
        text = data[start:line_end]
        line_kind = lines.sort(text)
        if line_kind is not Line.OF_DOCUMENT:
            if line_kind is Line.OTHER and names_writer(text):
                return NAMES_WRITER
            if line_end == len(data) or _may_be_own(text) or _holds_record(text, is_record):
                return None
            has_others = has_others or not text.isspace()
        elif kept and (text[0] == ord("{") or (_CLOSED.match(text) and _OPENED_BEFORE.search(kept[-1]))):
            return None
        elif text[0] == ord("}"):
            value = _load([*kept, b"}"]) if has_others else None
            return (start + 1, value) if is_record(value) else None
        else:
            kept.append(text)
        start = line_end + 1
    return None


def _may_be_own(text: bytes) -> bool:
    """Tell whether a line may be one of the document that is damaged."""
    is_unfinished = _UNFINISHED_LINE.search(text) and not _WORDS.match(text)
    return bool(_CONTROL.search(text) or _TORN_TEXT.match(text) or is_unfinished)


def _holds_record(text: bytes, is_record: Callable[[Any], bool]) -> bool:
    """Tell whether a line is, or holds, what may be a record itself, whole or damaged."""
    if find_in_gap(text, 0, _SPACE) != NOWHERE:
        return True
    try:
        return is_record(loads_quick(text))
    except BadJsonError:
        return _OPENED.match(text) is not None


def _load(lines: list[bytes]) -> Any:
    """Return the document that lines are; None if they are none."""
    text = b"\n".join(lines)
    try:
        json.loads(text, object_pairs_hook=_without_duplicate_keys)
        return loads_quick(text)
    except (ValueError, RecursionError):
        return None


def _without_duplicate_keys(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        raise ValueError
    return value
