"""A mistake in a text: the part of the text that it is in, and a caret below the character.

name="GET /cart duration>200ms
^
"""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len

from spanview.display.sanitise import sanitise

_BEFORE, _AFTER = 60, 40
"""Characters that are shown on both sides of a mistake."""
_INDENT: Final = "    "


def caret_lines(text: str, position: int) -> list[str]:
    """Return two lines, safe to print, for a character of a text from 0; its end is one after the last."""
    first = max(0, position - _BEFORE)
    before = f"{'…' if first else ''}{sanitise(text[first:position])}"
    after = f"{sanitise(text[position : position + _AFTER])}{'…' if position + _AFTER < len(text) else ''}"
    return [f"{_INDENT}{before}{after}", f"{_INDENT}{' ' * cell_len(before)}^"]
