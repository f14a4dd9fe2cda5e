"""Small things that several lists paint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.filter import LineFilter

from spanview.display.cells import data_text, fixed, right
from spanview.display.colors import COLORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.color import Color

__all__ = ["HARMLESS", "PALETTE", "Encodable", "data_text", "fixed", "line", "right"]

PALETTE: Final = tuple(Style(color=color) for color in COLORS)
"""For services and processes."""


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
    return "".join(each if each.isprintable() else " " * cell_len(each) for each in text)


HARMLESS: Final = _Harmless()
_PLAIN: Final = {
    ord(shape): plain
    for shapes, plain in (
        ("█▉▊▋▌▐▇▆▅▄▃▂▁▓▒░■", "#"),
        ("▍▎▏▕│", "|"),
        ("─━┈╌–", "-"),
        ("▾", "v"),
        ("▴", "^"),
        ("▸›→", ">"),
        ("‹", "<"),
        ("✖×", "x"),
        ("●•◆", "*"),
        ("○◌", "o"),
        ("·", "."),
        ("…", "~"),
        ("╱", "/"),
        ("µ", "u"),
    )
    for shape in shapes
}


class Encodable(LineFilter):
    """For a terminal whose encoding lacks what the screen is drawn with: bars of `#`, and question marks.

    Args:
        encoding: The terminal's.
    """

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - as filters are called
        """Return the segments of a line with what can be encoded, in as many cells."""
        return [Segment(self._encodable(segment.text), segment.style) for segment in segments]

    def _encodable(self, text: str) -> str:
        if self._has(text):
            return text
        plain = (each if self._has(each) else each.translate(_PLAIN) for each in text)
        return "".join(each if self._has(each) else "?" * cell_len(each) for each in plain)

    def _has(self, text: str) -> bool:
        try:
            text.encode(self._encoding)
        except UnicodeEncodeError:
            return False
        return True


def line(parts: Sequence[tuple[str, Style | None]]) -> list[Segment]:
    """Return texts and their styles as segments."""
    return [Segment(text, style) for text, style in parts if text]
