"""The one way from data to the screen: nothing that a file says can act on the terminal.

Source: Unicode's general categories Cc, Cf, Cs, Co, Cn, Zl and Zp, its property Default_Ignorable_Code_Point but for
the selectors of a glyph's variant, and the control pictures block.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import Final

MAX_LENGTH: Final = 4096
"""Characters of one text that are shown."""
_HIDDEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_BLANK: Final = "Zs"
_IGNORABLE: Final = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\U000e0100-\U000e01ef]")
"""Letters and marks that are invisible."""
_STAND_IN: Final = re.compile(r"([\u2400-\u2421])|\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_CONTROL_PICTURES: Final = 0x2400
_DELETE: Final = 0x7F
_DELETE_PICTURE: Final = "\u2421"
_FIRST_PRINTABLE: Final = 0x20


class _StandIns(dict[int, str]):
    """Code points and what is shown for them, filled as they occur."""

    def __missing__(self, code: int) -> str:
        shown = chr(code)
        category = unicodedata.category(shown)
        if code < _FIRST_PRINTABLE:
            shown = chr(_CONTROL_PICTURES + code)
        elif code == _DELETE:
            shown = _DELETE_PICTURE
        elif category in _HIDDEN or _IGNORABLE.match(shown):
            shown = f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004
        elif category == _BLANK:
            # Blanks of other widths could make one text look like two columns.
            shown = " "
        self[code] = shown
        return shown


_STAND_INS: Final = _StandIns()


def sanitise(text: str, longest: int = MAX_LENGTH) -> str:
    """Return a text as one line that is safe to print, whatever is in it; an ellipsis replaces what is too long.

    Control characters become their pictures, other invisible ones their hexadecimal form.
    """
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return (
        text if text.isprintable() and (text.isascii() or not _IGNORABLE.search(text)) else text.translate(_STAND_INS)
    )


def sanitise_lines(text: str, longest: int = MAX_LENGTH) -> list[str]:
    """Return the lines of a text, each safe to print; for stack traces and other texts of several lines."""
    return [sanitise(line.expandtabs(4), longest) for line in text.split("\n")]


def typed(text: str) -> str:
    """Return a text as it can be edited: stand-ins for what isn't shown, and every blank as it is."""
    return "".join(
        character if unicodedata.category(character) == _BLANK else sanitise(character) for character in text
    )


def meant(text: str) -> str:
    """Return what was typed with the characters themselves in the places of their stand-ins."""
    return _STAND_IN.sub(_meant, text)


def _meant(match: re.Match[str]) -> str:
    picture, *digits = match.groups()
    if picture:
        code = _DELETE if picture == _DELETE_PICTURE else ord(picture) - _CONTROL_PICTURES
    else:
        code = int("".join(filter(None, digits)), base=16)
    return chr(code) if code <= sys.maxunicode and sanitise(chr(code)) == match[0] else match[0]
