"""A record as lines that can be folded: every text and number as the file has it, only the blanks between them are new.

▾ {                                 unfolded, as all is at first
    "name": "read",
    "status": {"status_code": "OK"},        simple values stay on one line where there is room
  ▸ "attributes": {… 14 keys},      folded
  }
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from spanview.display.json_text import FOLDED, MARGIN, OPEN, hidden_text, indent
from spanview.display.parts import DetailPart, cell_len_at_most

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.display.parts import Folds, Path

_TOKEN: Final = re.compile(r'\s*+("[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s{}\[\],:"]++)', re.DOTALL)
_MAX_TOKENS: Final = 12_000
"""What has more isn't laid out: each key would take too long."""
_ENDS: Final = {"{": "}", "[": "]"}


@dataclass(slots=True)
class _Line:
    """One line, and the stretch of the record that it is about."""

    text: str
    depth: int
    start: int
    end: int
    inside: Path | None
    fold: Path | None = None
    is_open: bool = False


@dataclass(slots=True)
class _Opened:
    """An object or a list whose end is still to come."""

    bracket: str
    line_index: int
    """Of its first line."""
    start: int
    path: Path
    is_hidden: bool
    """Whether its members aren't shown."""
    members: int = 0
    is_simple: bool = True
    """Whether no member has members."""


class _NoRecordError(ValueError):
    """The text isn't what a record is written as."""


class _Layout:
    """Lays a record out; paths begin with the section."""

    def __init__(self, text: str, section: str, *, folds: Folds, room: int) -> None:
        self._section = section
        self._folds = folds
        self._room = room
        self._above: list[_Opened] = []
        self._count = 0
        """Of all objects and lists so far."""
        self.lines: list[_Line] = []
        tokens = [(match[1], match.start(1)) for match in islice(_matches(text), _MAX_TOKENS + 1)]
        if not tokens or tokens[0][0] not in _ENDS or len(tokens) > _MAX_TOKENS:
            raise _NoRecordError
        index = 0
        while index < len(tokens):
            index = self._take(tokens, index)
        if self._above:
            raise _NoRecordError

    @property
    def _is_hidden(self) -> bool:
        return bool(self._above) and self._above[-1].is_hidden

    def _take(self, tokens: list[tuple[str, int]], index: int) -> int:
        """Take one or more tokens; return the index of the next one."""
        piece, start = tokens[index]
        if not self._above and self.lines:
            raise _NoRecordError
        if piece in _ENDS.values():
            self._close(piece, start + 1)
            return index + 1
        if piece == ",":
            if not self._above[-1].members:
                raise _NoRecordError
            if not self._is_hidden:
                self.lines[-1].text += ","
            return index + 1
        label = ""
        if (
            piece[0] == '"'
            and self._above[-1].bracket == "{"
            and index + 2 < len(tokens)
            and tokens[index + 1][0] == ":"
        ):
            label = f"{piece}: "
            index += 2
            piece, start = tokens[index]
        if piece in {":", ",", "}", "]"}:
            raise _NoRecordError
        if self._above:
            self._above[-1].members += 1
        end = _ENDS.get(piece)
        if end is not None and (index + 1 == len(tokens) or tokens[index + 1][0] != end):
            self._open(label, piece, start)
            return index + 1
        text, following = (piece, index + 1) if end is None else (piece + end, index + 2)
        self._add(label + text, start, tokens[following - 1][1] + len(tokens[following - 1][0]))
        return following

    def _add(self, text: str, start: int, end: int) -> None:
        if not self._is_hidden:
            inside = self._above[-1].path if self._above else None
            self.lines.append(_Line(text, len(self._above), start, end, inside))

    def _open(self, label: str, bracket: str, start: int) -> None:
        path, self._count = (self._section, self._count), self._count + 1
        was_hidden, is_open = self._is_hidden, self._folds.get(path, True)
        self._add(label + bracket, start, start)
        if not was_hidden:
            self.lines[-1].fold, self.lines[-1].is_open = path, is_open
        for above in self._above[-1:]:
            above.is_simple = False
        self._above.append(_Opened(bracket, len(self.lines) - 1, start, path, was_hidden or not is_open))

    def _close(self, bracket: str, end: int) -> None:
        if not self._above or _ENDS[self._above[-1].bracket] != bracket:
            raise _NoRecordError
        opened = self._above.pop()
        if self._is_hidden:
            return
        line = self.lines[opened.line_index]
        line.end = end
        if opened.is_hidden:
            line.text += hidden_text(opened.members, is_object=opened.bracket == "{") + bracket
            return
        # The comma that may follow has its room.
        room = self._room - len(indent(line.depth)) - MARGIN - 1
        if opened.is_simple and 2 * opened.members <= room:
            short = line.text + " ".join(following.text for following in self.lines[opened.line_index + 1 :]) + bracket
            if cell_len_at_most(short, room):
                self.lines[opened.line_index :] = [_Line(short, line.depth, opened.start, end, line.inside)]
                return
        self.lines.append(_Line(bracket, line.depth, opened.start, end, opened.path))


def _matches(text: str) -> Iterator[re.Match[str]]:
    """Yield the tokens, one right after the other."""
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise _NoRecordError
        yield match
        position = match.end()


def raw_parts(text: str, section: str, *, folds: Folds, room: int) -> list[DetailPart] | None:
    """Return a record as lines; None for what isn't written as an object or a list, or has too much in it."""
    try:
        lines = _Layout(text, section, folds=folds, room=room).lines
    except _NoRecordError:
        return None
    parts = []
    for line in lines:
        mark = " " * MARGIN if line.fold is None else OPEN if line.is_open else FOLDED
        margin = indent(line.depth) + mark
        parts.append(
            DetailPart(
                "",
                margin + line.text,
                text[line.start : line.end],
                fold=line.fold,
                is_open=line.is_open,
                inside=line.inside,
                hang=len(margin) + 2,
            )
        )
    return parts
