"""Marks for terminals without colours: what colours say elsewhere, in the text itself."""

from __future__ import annotations

from typing import Final

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
