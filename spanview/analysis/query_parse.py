r"""The text of a query to its terms, whatever their keys mean.

    query   = all { "OR" all }
    all     = part { part }              binds closer than OR
    part    = ["-"] ( key operator value | word | "phrase" | "(" query ")" )
    key     = word | "quoted"            a quoted one is always an attribute's
    value   = word | "quoted"            in quotes, \" and \\ stand for " and \

Parts are separated by white space. A word has neither quotes nor parentheses in it, and as a key no operators.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from spanview.model.problems import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OPERATOR: Final = re.compile(r"!=|<=|>=|[=<>~]")
_WORD: Final = re.compile(r'(?:(?!!=)[^\s=<>~()"])+')
_VALUE: Final = re.compile(r"[^\s()\"]+")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
ESCAPED: Final = re.compile(r'\\(["\\])')
"""An escaped character in quotes."""
_BLANK: Final = re.compile(r"\s*")
_OR: Final = re.compile(r"OR(?=[\s()]|$)")
_MAX_DEPTH: Final = 50
"""Parentheses within one another."""


@dataclass(frozen=True, slots=True)
class RawTerm:
    """One term as it is written; positions are characters of the query, from 0."""

    negated: bool
    key: str
    """Empty for a bare word or a phrase."""
    key_is_quoted: bool
    operator: str
    """`=`, `!=`, `<`, `>`, `<=`, `>=` or `~`; empty for a bare word or a phrase."""
    value: str
    key_start: int
    operator_start: int
    value_start: int
    written: str = ""
    """The value as it was typed, with its quotes."""

    def position_in_value(self, index: int) -> int:
        """Return the position in the query of a character of the value."""
        if not self.written.startswith('"'):
            return self.value_start + index
        offset = 1
        for _ in range(index):
            offset += 2 if ESCAPED.match(self.written, offset) else 1
        return self.value_start + offset


@dataclass(frozen=True, slots=True)
class RawGroup:
    """Parts of which all must hold, or any."""

    negated: bool
    is_any: bool
    parts: tuple[RawPart, ...]


RawPart: TypeAlias = RawTerm | RawGroup


def fail(position: int, message: str) -> NoReturn:
    """Raise the error of a mistake.

    Args:
        position: Where it is, in characters from 0.
        message: What was expected there.

    Raises:
        QueryError: Always.
    """
    raise QueryError(f"query, character {position + 1}: {message}")


def parse_parts(text: str) -> list[RawPart]:
    """Return the parts of a query, all of which must hold.

    Raises:
        QueryError: There is a mistake in it; with its position and what was expected there.
    """
    parts, position = _alternatives(text, end_of(_BLANK, text, 0), 0)
    if position < len(text):
        fail(position, 'expected a ( before this ), or what has it in quotes: "…"')
    return parts


def words_in(parts: Iterable[RawPart]) -> Iterator[str]:
    """Yield the bare words and phrases that are searched for, unescaped; not those after a -."""
    for part in parts:
        if part.negated:
            continue
        if isinstance(part, RawGroup):
            yield from words_in(part.parts)
        elif not part.operator:
            yield part.value


def _alternatives(text: str, position: int, depth: int) -> tuple[list[RawPart], int]:
    """Return the parts up to the end or the closing parenthesis, and the position of that."""
    parts, position = _all(text, position, depth)
    if not _OR.match(text, position):
        return parts, position
    alternatives = []
    while _OR.match(text, position):
        if not parts:
            fail(position, 'expected a term before OR; the word itself is put in quotes: "OR"')
        alternatives.append(_joined(parts))
        parts, position = _all(text, end_of(_BLANK, text, position + len("OR")), depth)
    if not parts:
        fail(position, 'expected a term after OR; the word itself is put in quotes: "OR"')
    return [RawGroup(False, True, (*alternatives, _joined(parts)))], position


def _all(text: str, position: int, depth: int) -> tuple[list[RawPart], int]:
    """Return the parts up to the next OR, the closing parenthesis or the end, and the position of that."""
    parts: list[RawPart] = []
    while position < len(text) and text[position] != ")" and not _OR.match(text, position):
        part, end = _part(text, position, depth)
        is_more = isinstance(part, RawGroup) and not part.is_any and not part.negated
        parts += part.parts if isinstance(part, RawGroup) and is_more else [part]
        position = end_of(_BLANK, text, end)
        if text[position : position + 1] == "(" and position == end:
            fail(position, 'expected a space before (; if it belongs to a term, quote the value: "…"')
        if position == end < len(text) and text[position] != ")":
            fail(position, f"expected a space before {text[position]}")
    return parts, position


def _joined(parts: list[RawPart]) -> RawPart:
    return parts[0] if len(parts) == 1 else RawGroup(False, False, tuple(parts))


def _part(text: str, position: int, depth: int) -> tuple[RawPart, int]:
    negated = text[position] == "-"
    position += negated
    if text[position : position + 1] != "(":
        return _term(text, position, negated=negated)
    if depth == _MAX_DEPTH:
        fail(position, f"expected no more than {_MAX_DEPTH} nested parentheses")
    parts, end = _alternatives(text, end_of(_BLANK, text, position + 1), depth + 1)
    if end == len(text):
        fail(position, "expected a ) that ends what begins here")
    if not parts:
        fail(end, "expected a term in the parentheses")
    part = _joined(parts)
    return (replace(part, negated=not part.negated) if negated else part), end + 1


def end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Return where a match of a pattern ends; the position itself if nothing matches."""
    match = pattern.match(text, position)
    return match.end() if match else position


def _term(text: str, position: int, *, negated: bool) -> tuple[RawTerm, int]:
    key_start = position
    key, is_quoted, position = _key(text, position, negated=negated)
    operator = _OPERATOR.match(text, position)
    if operator is None:
        if key == "OR" and not is_quoted:
            if not negated:
                fail(position, f"expected a space before {text[position]}")
            fail(key_start, 'expected a term right after the -; the word itself is put in quotes: -"OR"')
        if key in {"AND", "NOT"} and not is_quoted:
            instead = "a space means and" if key == "AND" else "a - right before the term means not"
            fail(key_start, f'expected a term, not {key}: {instead}; the word itself is put in quotes: "{key}"')
        return RawTerm(negated, "", False, "", key, key_start, key_start, key_start), position
    if not key:
        fail(key_start, f'expected a key before {operator[0]}, as in name{operator[0]}x, or the whole in quotes: "…"')
    value, value_start, end = _value(text, operator)
    return RawTerm(
        negated, key, is_quoted, operator[0], value, key_start, position, value_start, text[value_start:end]
    ), end


def _key(text: str, position: int, *, negated: bool) -> tuple[str, bool, int]:
    if text.startswith('"', position):
        return _quoted(text, position)
    word = _WORD.match(text, position)
    if word is not None:
        return word[0], False, word.end()
    if negated and (position == len(text) or text[position].isspace() or text[position] == ")"):
        fail(position, "expected a term right after the -, as in -status=ERROR")
    return "", False, position


def _value(text: str, operator: re.Match[str]) -> tuple[str, int, int]:
    position = operator.end()
    if text.startswith('"', position):
        value, _, end = _quoted(text, position)
        return value, position, end
    value_match = _VALUE.match(text, position)
    if value_match is None:
        what = (
            'what has parentheses in it is put in quotes: "…"'
            if text[position : position + 1] in {"(", ")"}
            else 'an empty one is written ""'
        )
        fail(position, f"expected a value after {operator[0]}; {what}")
    if value_match[0][0] in "=<>~":
        fail(
            position,
            f"expected a value after {operator[0]}, not {value_match[0][0]}; if it belongs to the value, quote it",
        )
    return value_match[0], position, value_match.end()


def _quoted(text: str, position: int) -> tuple[str, bool, int]:
    match = _QUOTED.match(text, position)
    if match is None:
        fail(position, 'expected a second " that ends what begins here')
    return ESCAPED.sub(r"\1", match[1]), True, match.end()
