"""Texts in columns: so many cells and no more, whatever their characters take."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from spanview.display.sanitise import sanitise


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
