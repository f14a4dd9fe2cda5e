"""Small things that several lists paint."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.filter import LineFilter

from spanview.display.cells import data_text, fixed, name_text, right
from spanview.tui.app.themes import service_color

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.color import Color

__all__ = [
    "COLORLESS",
    "HARMLESS",
    "PALETTE",
    "Encodable",
    "data_text",
    "fixed",
    "joined",
    "line",
    "name_text",
    "right",
]

PALETTE: Final = tuple(map(Style.from_color, map(service_color, range(9))))
"""Colours for services and processes that can be told apart in each theme; none is the red of errors."""


class _Harmless(LineFilter):
    """The last guard before the terminal: what can't be printed is left out, and no cell is added or lost.

    Data never comes here unsanitised; what is pasted into a prompt, Textual's own included, does.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - as filters are called
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

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - as filters are called
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

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - as filters are called
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


def line(parts: Sequence[tuple[str, Style | None]]) -> list[Segment]:
    """Return texts and their styles as segments."""
    return [Segment(text, style) for text, style in parts if text]


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
