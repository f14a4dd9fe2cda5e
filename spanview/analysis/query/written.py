"""How texts are written in a query, so that they are taken literally."""

from __future__ import annotations

import re
from typing import Final

_PLAIN_VALUE: Final = re.compile(r"[\w.:/@%+,;#&?*^$|{}\[\]\\-]+")
_OF_PATTERNS: Final = re.compile(r"([\\.^$*+?{}\[\]|()])")


def anywhere(word: str) -> str:
    """Return the term that searches everywhere for what a bare word, or a phrase, searches for in names."""
    return f"any~{written_value(word, is_pattern=True)}"


def written_value(text: str, *, is_pattern: bool, is_quoted: bool = False) -> str:
    """Return how a value is written that is meant as a text.

    Args:
        is_pattern: Whether it follows ~, where it is escaped to be taken literally.
        is_quoted: Whether it has quotes, needed or not.
    """
    if is_pattern:
        text = literally(text)
    return text if not is_quoted and _PLAIN_VALUE.fullmatch(text) else quoted(text)


def literally(text: str) -> str:
    """Return the regular expression that matches just one text."""
    return _OF_PATTERNS.sub(r"\\\1", text)


def quoted(text: str) -> str:
    """Return a text in quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
