r"""The text of a query to its terms, before anybody asks what their keys mean.

    query   = term { blank term }
    term    = ["-"] ( key operator value | word | "phrase" )
    key     = word | "quoted"            a quoted one is always an attribute's
    value   = word | "quoted"            in quotes, \" and \\ stand for " and \

Blanks are white space. A word has neither quotes nor parentheses in it, and as a key none of the operators.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from spanview.model.problems import QueryError

_OPERATOR: Final = re.compile(r"!=|<=|>=|[=<>~]")
_WORD: Final = re.compile(r'(?:(?!!=)[^\s=<>~()"])+')
_VALUE: Final = re.compile(r"[^\s()\"]+")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED: Final = re.compile(r'\\(["\\])')
_BLANK: Final = re.compile(r"\s*")


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


def fail(at: int, message: str) -> NoReturn:
    """Raise the error of a mistake.

    Args:
        at: Where it is, in characters from 0.
        message: What was expected there.

    Raises:
        QueryError: Always.
    """
    raise QueryError(f"query, character {at + 1}: {message}")


def parse_terms(text: str) -> list[RawTerm]:
    """Return the terms of a query.

    Raises:
        QueryError: There is a mistake in it; with its place and what was expected there.
    """
    terms = []
    at = _blank(text, 0)
    while at < len(text):
        term, end = _term(text, at)
        terms.append(term)
        at = _blank(text, end)
        if at == end < len(text):
            _refuse_unbuilt(text, at)
            fail(at, f"expected a space before {text[at]}")
    return terms


def _blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _term(text: str, at: int) -> tuple[RawTerm, int]:
    negated = text[at] == "-"
    at += negated
    key_at = at
    key, is_quoted, at = _key(text, at, negated=negated)
    operator = _OPERATOR.match(text, at)
    if operator is None:
        if key == "OR" and not is_quoted:
            fail(
                key_at, 'OR isn\'t built yet: ask once for each side, or put it in quotes to search for the word: "OR"'
            )
        return RawTerm(negated, "", False, "", key, key_at, key_at, key_at), at
    if not key:
        fail(key_at, f'expected a key before {operator[0]}, as in name{operator[0]}x, or the whole in quotes: "…"')
    value, value_at, end = _value(text, operator)
    return RawTerm(negated, key, is_quoted, operator[0], value, key_at, at, value_at), end


def _key(text: str, at: int, *, negated: bool) -> tuple[str, bool, int]:
    if text.startswith('"', at):
        return _quoted(text, at)
    word = _WORD.match(text, at)
    if word is not None:
        return word[0], False, word.end()
    _refuse_unbuilt(text, at)
    if negated and (at == len(text) or text[at].isspace()):
        fail(at, "expected a term right behind the -, as in -status=ERROR")
    return "", False, at


def _value(text: str, operator: re.Match[str]) -> tuple[str, int, int]:
    at = operator.end()
    if text.startswith('"', at):
        value, _, end = _quoted(text, at)
        return value, at, end
    value_match = _VALUE.match(text, at)
    if value_match is None:
        _refuse_unbuilt(text, at)
        fail(at, f'expected a value behind {operator[0]}; an empty one is written ""')
    if value_match[0][0] in "=<>~":
        fail(
            at, f"expected a value behind {operator[0]}, not {value_match[0][0]}; if it belongs to the value, quote it"
        )
    return value_match[0], at, value_match.end()


def _quoted(text: str, at: int) -> tuple[str, bool, int]:
    match = _QUOTED.match(text, at)
    if match is None:
        fail(at, 'expected a second " that ends what begins here')
    return _ESCAPED.sub(r"\1", match[1]), True, match.end()


def _refuse_unbuilt(text: str, at: int) -> None:
    if text[at : at + 1] in {"(", ")"}:
        fail(at, f'parentheses aren\'t built yet: leave {text[at]} out, or put what has it in quotes: "…"')
