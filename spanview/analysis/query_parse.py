r"""The text of a query to its terms, before anybody asks what their keys mean.

    query   = all { "OR" all }
    all     = part { part }              binds closer than OR
    part    = ["-"] ( key operator value | word | "phrase" | "(" query ")" )
    key     = word | "quoted"            a quoted one is always an attribute's
    value   = word | "quoted"            in quotes, \" and \\ stand for " and \

Parts stand apart by white space. A word has neither quotes nor parentheses in it, and as a key none of the operators.
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
"""What stands for a character in quotes."""
_BLANK: Final = re.compile(r"\s*")
_OR: Final = re.compile(r"OR(?=[\s()]|$)")
_DEEPEST: Final = 50
"""Parentheses within one another."""


@dataclass(frozen=True, slots=True)
class RawTerm:
    """One term as it is written; places are characters of the query, counted from 0."""

    negated: bool
    key: str
    """Empty for a bare word or a phrase."""
    key_is_quoted: bool
    operator: str
    """`=`, `!=`, `<`, `>`, `<=`, `>=` or `~`; empty for a bare word or a phrase."""
    value: str
    key_at: int
    operator_at: int
    value_at: int
    written: str = ""
    """The value as it was typed, with its quotes."""

    def place_in_value(self, index: int) -> int:
        """Return where a character of the value is in the query."""
        if not self.written.startswith('"'):
            return self.value_at + index
        place = 1
        for _ in range(index):
            place += 2 if ESCAPED.match(self.written, place) else 1
        return self.value_at + place


@dataclass(frozen=True, slots=True)
class RawGroup:
    """Parts of which all must hold, or any."""

    negated: bool
    is_any: bool
    parts: tuple[RawPart, ...]


RawPart: TypeAlias = RawTerm | RawGroup


def fail(at: int, message: str) -> NoReturn:
    """Raise the error of a mistake.

    Args:
        at: Where it is, in characters from 0.
        message: What was expected there.

    Raises:
        QueryError: Always.
    """
    raise QueryError(f"query, character {at + 1}: {message}")


def parse_parts(text: str) -> list[RawPart]:
    """Return the parts of a query, all of which must hold.

    Raises:
        QueryError: There is a mistake in it; with its place and what was expected there.
    """
    parts, at = _alternatives(text, end_of(_BLANK, text, 0), 0)
    if at < len(text):
        fail(at, 'expected a ( before this ), or what has it in quotes: "…"')
    return parts


def words_in(parts: Iterable[RawPart]) -> Iterator[str]:
    """Yield the bare words and the phrases that are looked for, as they are meant; those behind a - are not."""
    for part in parts:
        if part.negated:
            continue
        if isinstance(part, RawGroup):
            yield from words_in(part.parts)
        elif not part.operator:
            yield part.value


def _alternatives(text: str, at: int, depth: int) -> tuple[list[RawPart], int]:
    """Return what must hold up to the end, or up to the parenthesis that closes, and where that is."""
    parts, at = _all(text, at, depth)
    if not _OR.match(text, at):
        return parts, at
    alternatives = []
    while _OR.match(text, at):
        if not parts:
            fail(at, 'expected a term before OR; the word itself is put in quotes: "OR"')
        alternatives.append(_joined(parts))
        parts, at = _all(text, end_of(_BLANK, text, at + len("OR")), depth)
    if not parts:
        fail(at, 'expected a term behind OR; the word itself is put in quotes: "OR"')
    return [RawGroup(False, True, (*alternatives, _joined(parts)))], at


def _all(text: str, at: int, depth: int) -> tuple[list[RawPart], int]:
    """Return what must hold up to the next OR, to the parenthesis that closes, or to the end, and where that is."""
    parts: list[RawPart] = []
    while at < len(text) and text[at] != ")" and not _OR.match(text, at):
        part, end = _part(text, at, depth)
        is_more = isinstance(part, RawGroup) and not part.is_any and not part.negated
        parts += part.parts if isinstance(part, RawGroup) and is_more else [part]
        at = end_of(_BLANK, text, end)
        if text[at : at + 1] == "(" and at == end:
            fail(at, 'expected a space before (; if it belongs to a term, put what has it in quotes: "…"')
        if at == end < len(text) and text[at] != ")":
            fail(at, f"expected a space before {text[at]}")
    return parts, at


def _joined(parts: list[RawPart]) -> RawPart:
    return parts[0] if len(parts) == 1 else RawGroup(False, False, tuple(parts))


def _part(text: str, at: int, depth: int) -> tuple[RawPart, int]:
    negated = text[at] == "-"
    at += negated
    if text[at : at + 1] != "(":
        return _term(text, at, negated=negated)
    if depth == _DEEPEST:
        fail(at, f"expected no more than {_DEEPEST} parentheses within one another")
    parts, end = _alternatives(text, end_of(_BLANK, text, at + 1), depth + 1)
    if end == len(text):
        fail(at, "expected a ) that ends what begins here")
    if not parts:
        fail(end, "expected a term in the parentheses")
    part = _joined(parts)
    return (replace(part, negated=not part.negated) if negated else part), end + 1


def end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return where what matches a pattern ends; the place itself where nothing does."""
    match = pattern.match(text, at)
    return match.end() if match else at


def _term(text: str, at: int, *, negated: bool) -> tuple[RawTerm, int]:
    key_at = at
    key, is_quoted, at = _key(text, at, negated=negated)
    operator = _OPERATOR.match(text, at)
    if operator is None:
        if key == "OR" and not is_quoted:
            if not negated:
                fail(at, f"expected a space before {text[at]}")
            fail(key_at, 'expected a term right behind the -; the word itself is put in quotes: -"OR"')
        if key in {"AND", "NOT"} and not is_quoted:
            instead = "a space means and" if key == "AND" else "a - right before the term means not"
            fail(key_at, f'expected a term, not {key}: {instead}; the word itself is put in quotes: "{key}"')
        return RawTerm(negated, "", False, "", key, key_at, key_at, key_at), at
    if not key:
        fail(key_at, f'expected a key before {operator[0]}, as in name{operator[0]}x, or the whole in quotes: "…"')
    value, value_at, end = _value(text, operator)
    return RawTerm(negated, key, is_quoted, operator[0], value, key_at, at, value_at, text[value_at:end]), end


def _key(text: str, at: int, *, negated: bool) -> tuple[str, bool, int]:
    if text.startswith('"', at):
        return _quoted(text, at)
    word = _WORD.match(text, at)
    if word is not None:
        return word[0], False, word.end()
    if negated and (at == len(text) or text[at].isspace() or text[at] == ")"):
        fail(at, "expected a term right behind the -, as in -status=ERROR")
    return "", False, at


def _value(text: str, operator: re.Match[str]) -> tuple[str, int, int]:
    at = operator.end()
    if text.startswith('"', at):
        value, _, end = _quoted(text, at)
        return value, at, end
    value_match = _VALUE.match(text, at)
    if value_match is None:
        what = (
            'what has parentheses in it is put in quotes: "…"'
            if text[at : at + 1] in {"(", ")"}
            else 'an empty one is written ""'
        )
        fail(at, f"expected a value behind {operator[0]}; {what}")
    if value_match[0][0] in "=<>~":
        fail(
            at, f"expected a value behind {operator[0]}, not {value_match[0][0]}; if it belongs to the value, quote it"
        )
    return value_match[0], at, value_match.end()


def _quoted(text: str, at: int) -> tuple[str, bool, int]:
    match = _QUOTED.match(text, at)
    if match is None:
        fail(at, 'expected a second " that ends what begins here')
    return ESCAPED.sub(r"\1", match[1]), True, match.end()
