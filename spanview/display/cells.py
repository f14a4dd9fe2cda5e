"""Texts in columns: so many cells and no more, whatever their characters take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from spanview.display.sanitise import sanitise

if TYPE_CHECKING:
    from collections.abc import Sequence


def data_text(text: str, width: int) -> str:
    """Return a text from a file, made harmless, in exactly `width` cells."""
    return fixed(sanitise(text, max(width, 1) * 2 + 2), width)


def fixed(text: str, width: int) -> str:
    """Return a text of our own in exactly `width` cells, cut with an ellipsis where it is longer."""
    if width <= 0:
        return ""
    if text.isascii():
        return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…"


def right(text: str, width: int) -> str:
    """Return a short text of our own at the right edge of `width` cells."""
    return " " * (width - cell_len(text)) + text if cell_len(text) <= width else fixed(text, width)


def fitting(texts: Sequence[str], room: int) -> str:
    """Return the first of some texts of our own that has room, else the last."""
    return next((text for text in texts if cell_len(text) <= room), texts[-1])
