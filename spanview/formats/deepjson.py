"""A JSON decoder without recursion, for documents that nest deeper than others can follow; slow, and rarely asked."""

from __future__ import annotations

import re
from json import decoder
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH: Final = 20_000
"""Levels; what nests deeper is taken for damage."""

# The standard library's own reader of strings, which its stubs don't list.
_scan_string: Final[Callable[[str, int, bool], tuple[str, int]]] = vars(decoder)["scanstring"]
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_SCALAR: Final = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|null|NaN|-?Infinity")
"""`-12.5e+3` in three parts, `true`, `-Infinity`."""
_WORDS: Final = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}


def loads_deep(text: str, parse_int: Callable[[str], Any]) -> Any:
    """Decode one document of any depth up to `MAX_DEPTH`.

    Raises:
        ValueError: It is no JSON document, or nests too deep.
    """
    reader = _Reader(text, parse_int)
    top: list[Any] = []
    holders: list[list[Any] | dict[str, Any]] = [top]
    while holders:
        holder = holders[-1]
        is_closed = bool(top) if holder is top else reader.takes("]" if isinstance(holder, list) else "}")
        if is_closed:
            holders.pop()
        else:
            if holder and holder is not top:
                reader.expect(",")
            key = reader.key() if isinstance(holder, dict) else None
            value = reader.value()
            if isinstance(holder, dict):
                holder[str(key)] = value
            else:
                holder.append(value)
            if isinstance(value, list | dict):
                holders.append(value)
                if len(holders) > MAX_DEPTH:
                    raise ValueError("nested too deep")
    reader.expect_end()
    return top[0]


class _Reader:
    """A position in a text."""

    def __init__(self, text: str, parse_int: Callable[[str], Any]) -> None:
        self._text = text
        self._position = 0
        self._parse_int = parse_int

    def takes(self, character: str) -> bool:
        """Pass over blanks, and over a character if it is next; tell whether it was."""
        self._pass_blanks()
        is_next = self._text.startswith(character, self._position)
        self._position += is_next
        return is_next

    def _pass_blanks(self) -> None:
        match = _BLANK.match(self._text, self._position)
        self._position = match.end() if match else self._position

    def expect(self, character: str) -> None:
        """Pass over a character that has to come next."""
        if not self.takes(character):
            raise ValueError(f"expected {character} at {self._position}")

    def expect_end(self) -> None:
        """Refuse anything but blanks after the document."""
        self._pass_blanks()
        if self._position < len(self._text):
            raise ValueError(f"expected the end at {self._position}")

    def key(self) -> str:
        """Return the key that comes next, and pass over its colon."""
        self.expect('"')
        key, self._position = _scan_string(self._text, self._position, True)
        self.expect(":")
        return key

    def value(self) -> Any:
        """Return the text or number that comes next, or an empty list or dict for what is opened."""
        if self.takes('"'):
            value, self._position = _scan_string(self._text, self._position, True)
            return value
        for opener, empty in (("{", dict), ("[", list)):
            if self.takes(opener):
                return empty()
        match = _SCALAR.match(self._text, self._position)
        if match is None:
            raise ValueError(f"expected a value at {self._position}")
        self._position = match.end()
        if match[0] in _WORDS:
            return _WORDS[match[0]]
        return float(match[0]) if match[2] or match[3] else self._parse_int(match[0])
