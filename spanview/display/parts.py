"""The lines that a span's details are made of: a key, a text, what a line means, and what it would copy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rich.cells import cell_len, chop_cells

from spanview.display.sanitise import sanitise, sanitise_lines
from spanview.formats.jsontext import dumps_strict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from spanview.analysis.logs.lines import LogPlace

MAX_TEXT_LENGTH: Final = 100_000
"""Characters of one value that are shown."""
_NARROW: Final = re.compile("[ -\u02ff\u0370-\u0482\u048a-\u0590\u2010-\u2027\u2030-\u205e\n\t\r]*")
"""Latin, Greek and Cyrillic texts: a cell a character. All others are measured, which takes half a microsecond each."""
_MAX_MEASURED: Final = 10_000
"""Characters of all values that are shown, where they have to be measured."""
_FEWEST_MEASURED: Final = 200
"""Characters of each value that are shown at the least, where values have to be measured."""
_MAX_LINES: Final = 20_000
_MAX_KEY_WIDTH: Final = 32

Path: TypeAlias = "tuple[str | int, ...]"
"""Where something that can be folded is: the section, the key, and the way into its value."""
Folds: TypeAlias = "Mapping[Path, bool]"
"""What a person has unfolded, or folded; all else is as long as it is."""


class Tone(Enum):
    """What a line means, for its colour."""

    PLAIN = "plain"
    OWN = "own"
    DIM = "dim"
    ERROR = "error"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class DetailPart:
    """Something that is shown on a line, or on several where it is long."""

    key: str
    text: str
    """As a file may have it; it is made harmless later."""
    whole: Any
    """What is copied; where that is long and seldom wanted, what returns it."""
    tone: Tone = Tone.PLAIN
    fold: Path | None = None
    """What the line folds and unfolds."""
    is_open: bool = False
    """Whether that is unfolded."""
    inside: Path | None = None
    """What the line is hidden with."""
    hang: int = 0
    """Cells by which further lines of it are indented."""
    target: int | None = None
    """The row of the span that it leads to."""
    log_place: LogPlace | None = None
    """The line of a log that it leads to."""
    is_wide: bool = False
    """Whether its lines take the cells of the keys, too."""


@dataclass(frozen=True, slots=True)
class DetailLine:
    """One line of the details; key and text are safe to print."""

    key: str
    text: str
    part: DetailPart
    is_strong: bool = False

    @property
    def value(self) -> str:
        """The whole value as the file has it: what is copied."""
        whole = self.part.whole
        return value_text(whole() if callable(whole) else whole)


def value_text(value: Any) -> str:
    """Return an attribute's value as a person writes it: texts as they are, the rest as JSON."""
    return value if isinstance(value, str) else dumps_strict(value).decode()


def wrapped(parts: Iterable[DetailPart], column: int, width: int) -> Iterator[DetailLine]:
    """Yield parts as lines of a width; `column` is what `key_column` returns."""
    beside, wide = max(10, width - column - (3 if column else 1)), max(10, width - 1)
    count, unmeasured = 0, _MAX_MEASURED
    for part in parts:
        text = part.text[:MAX_TEXT_LENGTH]
        if not text.isascii() and not _NARROW.fullmatch(text):
            text = text[: max(_FEWEST_MEASURED, unmeasured)]
            unmeasured -= len(text)
        key = sanitise(part.key, _MAX_KEY_WIDTH * 2)
        lines = _lines_of(part, text, wide if part.is_wide else beside)
        # A key that is wider than its column goes on below too.
        for shown, text in zip_longest(_cut(key, column) if key else [], lines, fillvalue=""):
            yield DetailLine(shown, text, part, is_strong=bool(shown))
            count += 1
            if count >= _MAX_LINES:
                yield DetailLine("", "… and more: the export has it all", part)
                return


def key_column(keys: Iterable[str], width: int) -> int:
    """Return the cells that keys take on lines of a width."""
    return min(
        max((cell_len(sanitise(key, _MAX_KEY_WIDTH * 2)) for key in keys), default=0),
        _MAX_KEY_WIDTH,
        max(8, width * 2 // 5),
    )


def _lines_of(part: DetailPart, text: str, room: int) -> Iterator[str]:
    """Yield the lines of as much of a part's text as is shown."""
    hang = " " * min(part.hang, room // 2)
    for line in sanitise_lines(text, MAX_TEXT_LENGTH):
        if cell_len_at_most(line, room):
            yield line
            continue
        first, *_ = _cut(line[: room + 1], room)
        yield first
        for piece in _cut(line[len(first) :], room - len(hang)):
            yield hang + piece
    if len(part.text) > len(text):
        yield f"… {len(part.text):,} characters in all; y copies them"


def cell_len_at_most(text: str, width: int) -> bool:
    """Tell whether a text that is safe to print is no wider than so many cells."""
    return len(text) <= width and (text.isascii() or cell_len(text) <= width)


def _cut(text: str, width: int) -> list[str]:
    """Return pieces of a text that is safe to print, each as many cells wide as fit."""
    pieces, start = [], 0
    # ASCII characters are one cell wide; measuring each takes time in long texts.
    while start < len(text) and text[start : start + width + 1].isascii():
        pieces.append(text[start : start + width])
        start += width
    return pieces + (chop_cells(text[start:], width) if start < len(text) else [])
