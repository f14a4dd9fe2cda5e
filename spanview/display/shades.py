"""Colours of printed lines: what stands out and what steps back, in the terminal's own colours.

Source: ECMA-48, select graphic rendition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.display.colors import SLOTS

if TYPE_CHECKING:
    from collections.abc import Callable

    Paint: TypeAlias = Callable[[str, str], str]
    """Returns a text in a shade; the text is safe to print, and as wide as before."""

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
