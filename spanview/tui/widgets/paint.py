"""Small things that several lists paint, and marks for terminals without colours."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.filter import LineFilter

from spanview.display.shades import SLOTS

if TYPE_CHECKING:
    from textual.color import Color as TextualColor

PALETTE: Final = tuple(map(Style.from_color, map(Color.from_ansi, SLOTS)))
"""Colours for services and processes that can be told apart in each theme; none is the red of errors."""


class _Harmless(LineFilter):
    """The last guard before the terminal: what can't be printed is left out, and no cell is added or lost.

    Data never comes here unsanitised; what is pasted into a prompt, Textual's own included, does.
    """

    def apply(self, segments: list[Segment], background: TextualColor) -> list[Segment]:  # noqa: ARG002 - as filters are called
        """Return the segments of a line without what a terminal would act on."""
        return [
            segment if segment.text.isprintable() else Segment(_printable(segment.text), segment.style)
            for segment in segments
        ]


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " * cell_len(character) for character in text)


HARMLESS: Final = _Harmless()


class _Colorless(LineFilter):
    """Leaves no colour, of the text or behind it; what is bold, dim or turned round stays so."""

    def apply(self, segments: list[Segment], background: TextualColor) -> list[Segment]:  # noqa: ARG002 - as filters are called
        """Return the segments of a line without colours."""
        return [Segment(segment.text, _without_color(segment.style)) for segment in segments]


@lru_cache(4096)
def _without_color(style: Style | None) -> Style | None:
    return None if style is None else style.without_color


COLORLESS: Final = _Colorless()
_PLAIN: Final = {
    ord(shape): plain
    for shapes, plain in (
        ("█▉▊▋▌▐▇▆▅▄▃▂▁▓■", "#"),
        ("▒░▚", "="),
        ("▍▎▏▕│┤├└╵‖", "|"),
        ("─━╌–", "-"),
        ("┈·", "."),
        ("▾↓", "v"),
        ("▴↑", "^"),
        ("▸›→≥", ">"),
        ("‹←≤", "<"),
        ("↻", "@"),
        ("✖×", "x"),
        ("●•◆", "*"),
        ("○◌", "o"),
        ("…⋯", "~"),
        ("╱", "/"),
        ("µ", "u"),
    )
    for shape in shapes
}


class Encodable(LineFilter):
    """For a terminal whose encoding lacks what the screen is drawn with: bars of `#`, and question marks."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    def apply(self, segments: list[Segment], background: TextualColor) -> list[Segment]:  # noqa: ARG002 - as filters are called
        """Return the segments of a line with what can be encoded, in as many cells."""
        return [Segment(self._encodable(segment.text), segment.style) for segment in segments]

    def _encodable(self, text: str) -> str:
        if self._has(text):
            return text
        plain = (character if self._has(character) else character.translate(_PLAIN) for character in text)
        return "".join(character if self._has(character) else "?" * cell_len(character) for character in plain)

    def _has(self, text: str) -> bool:
        try:
            text.encode(self._encoding)
        except UnicodeEncodeError:
            return False
        return True


def joined(cells: list[tuple[str, Style | None]]) -> list[Segment]:
    """Return cells as segments, neighbours of one style in one."""
    segments: list[Segment] = []
    run, style = "", cells[0][1] if cells else None
    for character, cell_style in cells:
        if cell_style is style or cell_style == style:
            run += character
        else:
            segments.append(Segment(run, style))
            run, style = character, cell_style
    segments.append(Segment(run, style))
    return segments


CURSOR: Final = "› "
"""Before the selected row."""
CURSOR_ELSEWHERE: Final = "· "
"""Before the selected row of a list that the keys don't go to."""
LIGHT: Final = "▒"
"""The part of a bar in which something below the span runs."""
UNLIT: Final = "░"
"""A bar, or a part of one, that isn't on the path that is lit."""
FULL: Final = "█"
"""What of it is."""
OUTSIDE: Final = "·"
"""Something that lies outside of what was picked."""
MATCH: Final = "╱"
"""Behind the name of what a search has found."""
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def letter_of(number: int) -> str:
    """Return what stands for a colour's number."""
    return _LETTERS[number % len(_LETTERS)]
