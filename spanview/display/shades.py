"""Colours of services and processes, and of printed lines: what stands out and what steps back.

Those of lines are the terminal's own.

Source: ECMA-48, select graphic rendition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    Paint: TypeAlias = Callable[[str, str], str]
    """Returns a text in a shade; the text is safe to print, and as wide as before."""

SLOTS: Final = (12, 2, 3, 5, 6, 11, 10, 4, 13)
"""Numbers of the terminal's colours that stand for these, in their order."""
COLORS: Final = ("#4e9fdd", "#5fb36a", "#d9a441", "#b07ad6", "#3fb5b5", "#d9805f", "#8fa63c", "#7f8fd9", "#d67ab0")
"""Colours that are distinct on light and dark; none is the red of errors."""
ERROR: Final = "31"
"""What failed."""
WARNING: Final = "33"
"""What is incomplete, or slower than before."""
BETTER: Final = "34"
"""What is quicker than before."""
QUIET: Final = "2"
"""What is secondary."""
HEAD: Final = "1"
"""The heads of columns, and titles."""
_BRIGHT: Final = 8


def plain(text: str, _shade: str) -> str:
    """Return a text as it is."""
    return text


def colored(text: str, shade: str) -> str:
    """Return a text in a shade; without a shade, as it is."""
    return f"\x1b[{shade}m{text}\x1b[0m" if text and shade else text


def shade_of(number: int) -> str:
    """Return the shade that spans of one service, process, or the like have in common."""
    slot = SLOTS[number % len(SLOTS)]
    return str(30 + slot) if slot < _BRIGHT else str(90 + slot - _BRIGHT)
