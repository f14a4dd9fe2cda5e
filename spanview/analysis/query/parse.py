r"""The text of a query to its terms, whatever their keys mean.

    query   = all { "OR" all }
    all     = lineage { lineage }        binds closer than OR
    lineage = part [ (">" | ">>") lineage ]
    part    = ["-"] ( key operator value | word | "phrase" | "(" query ")" )
    key     = word | "quoted"            a quoted one is always an attribute's
    value   = word | "quoted"            in quotes, \" and \\ stand for " and \

Parts are separated by white space, which may stand around operators, too. A word has neither quotes nor parentheses in
it, and as a key no operators. With white space on both sides, > is an operator after one of the language's own keys,
or where a digit follows; everywhere else it asks for a child.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from spanview.analysis.query.keys import DURATION_KEYS, OWN_KEYS
from spanview.model.problems import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOKENS: Final = {
    "operator": r"!=|<=|>=|[=<>~]",
    "word": r'(?:(?!!=)[^\s=<>~()"])+',
    # `ERROR`, and `2024-05-28 18:05:04` as screens show it.
    "value": r'[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[^\s()"]*|[^\s()"]+',
    # `17.2 ms` as screens show it.
    "duration": r"([0-9.]+) ((?:[nuµμm]?s|[mhd])(?=[\s()]|$))",
    "quoted": r'"((?:[^"\\]|\\.)*)"',
    "escaped": r'\\(["\\])',
    "blank": r"[\s]*",
    "or": r"OR(?=[\s()]|$)",
    "lineage": r">>?(?=[\s()]|$)",
    # How a number, a duration or a time begins.
    "number": r"[-+]?\.?[0-9]",
}
"""What queries are made of, as regular expressions that mean the same in JavaScript: pages take them from here."""
_OPERATOR, _WORD, _VALUE, _DURATION, _QUOTED, ESCAPED, _BLANK, _OR, _LINEAGE, _NUMBER = (
    re.compile(pattern, re.DOTALL) for pattern in TOKENS.values()
)
MAX_DEPTH: Final = 50
"""Parentheses within one another, and generations."""


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
    is_spaced: bool = False
    """Whether there is white space on both sides of the operator."""

    @property
    def own_key(self) -> str | None:
        """The language's own key, in lower case, empty for a bare word or a phrase; None for an attribute."""
        key = self.key.lower()
        return key if not self.operator or (key in OWN_KEYS and not self.key_is_quoted) else None

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


@dataclass(frozen=True, slots=True)
class RawBelow:
    """A part that must hold for a span below."""

    negated: bool
    is_child: bool
    """Whether the span is a child, not any descendant."""
    part: RawPart


RawPart: TypeAlias = RawTerm | RawGroup | RawBelow


def fail(position: int, message: str) -> NoReturn:
    """Raise the error of a mistake at a position, in characters from 0, which says what was expected there.

    Raises:
        QueryError: Always.
    """
    raise QueryError(f"query, character {position + 1}: {message}", position=position)


def parse_parts(text: str) -> list[RawPart]:
    """Return the parts of a query, all of which must hold.

    Raises:
        QueryError: There is a mistake in it; with its position and what was expected there.
    """
    parts, position = _alternatives(text, end_of(_BLANK, text, 0), 0)
    if position < len(text):
        fail(position, 'expected a ( before this ); if it is part of a word, quote the word: "…"')
    return parts


def terms_in(parts: Iterable[RawPart], *, negated: bool = False) -> Iterator[RawTerm]:
    """Yield the terms, in their order; those after a - only if `negated`."""
    for part in parts:
        if part.negated and not negated:
            continue
        if isinstance(part, RawTerm):
            yield part
        else:
            yield from terms_in([part.part] if isinstance(part, RawBelow) else part.parts, negated=negated)


def words_in(parts: Iterable[RawPart]) -> Iterator[str]:
    """Yield the bare words and phrases that are searched for, unescaped; not those after a -."""
    return (term.value for term in terms_in(parts) if not term.operator)


def _alternatives(text: str, position: int, depth: int) -> tuple[list[RawPart], int]:
    """Return the parts up to the end or the closing parenthesis, and the position of that."""
    parts, position = _all(text, position, depth)
    if not _OR.match(text, position):
        return parts, position
    alternatives = []
    while _OR.match(text, position):
        if not parts:
            fail(position, 'expected a term before OR; to search for the word, quote it: "OR"')
        alternatives.append(_joined(parts))
        parts, position = _all(text, end_of(_BLANK, text, position + len("OR")), depth)
    if not parts:
        fail(position, 'expected a term after OR; to search for the word, quote it: "OR"')
    return [RawGroup(False, True, (*alternatives, _joined(parts)))], position


def _all(text: str, position: int, depth: int) -> tuple[list[RawPart], int]:
    """Return the parts up to the next OR, the closing parenthesis or the end, and the position of that."""
    parts: list[RawPart] = []
    while position < len(text) and text[position] != ")" and not _OR.match(text, position):
        part, end = _lineage(text, position, depth)
        is_more = isinstance(part, RawGroup) and not part.is_any and not part.negated
        parts += part.parts if isinstance(part, RawGroup) and is_more else [part]
        position = end_of(_BLANK, text, end)
        if text[position : position + 1] == ">":
            arrow = ">>" if text.startswith(">>", position) else ">"
            fail(position, f"expected spaces around {arrow}, as in a {arrow} b")
        if text[position : position + 1] == "(" and position == end:
            fail(position, 'expected a space before (; if it belongs to a term, quote the value: "…"')
        if position == end < len(text) and text[position] != ")":
            fail(position, f"expected a space before {text[position]}")
    return parts, position


def _joined(parts: list[RawPart]) -> RawPart:
    return parts[0] if len(parts) == 1 else RawGroup(False, False, tuple(parts))


def _lineage(text: str, position: int, depth: int) -> tuple[RawPart, int]:
    """Return a part, and what must be below it: `a > b >> c` is an a with a child b that has a descendant c."""
    part, end = _part(text, position, depth)
    generations, arrows = [part], list[str]()
    while True:
        position = end_of(_BLANK, text, end)
        arrow = _LINEAGE.match(text, position)
        if arrow is None or position == end:
            break
        position = end_of(_BLANK, text, arrow.end())
        if position == len(text) or text[position] == ")" or _OR.match(text, position):
            fail(position, f"expected a term after {arrow[0]}")
        if depth + len(generations) >= MAX_DEPTH:
            fail(position, f"expected at most {MAX_DEPTH} generations")
        part, end = _part(text, position, depth + len(generations))
        generations.append(part)
        arrows.append(arrow[0])
    part = generations.pop()
    while generations:
        part = _joined([generations.pop(), RawBelow(False, arrows.pop() == ">", part)])
    return part, end


def _part(text: str, position: int, depth: int) -> tuple[RawPart, int]:
    negated = text[position] == "-"
    position += negated
    if text[position : position + 1] != "(":
        return _term(text, position, negated=negated)
    if depth >= MAX_DEPTH:
        fail(position, f"expected at most {MAX_DEPTH} nested parentheses")
    parts, end = _alternatives(text, end_of(_BLANK, text, position + 1), depth + 1)
    if end == len(text):
        fail(position, "expected a ) to close this parenthesis")
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
    operator = operator_after(text, position, "" if is_quoted else key)
    if operator is None or (operator.start() > position and key in {"OR", "AND", "NOT"}):
        if key == "OR" and not is_quoted:
            if not negated:
                fail(position, f"expected a space before {text[position]}")
            fail(key_start, 'expected a term directly after -; to search for the word, quote it: -"OR"')
        if key in {"AND", "NOT"} and not is_quoted:
            instead = "a space means and" if key == "AND" else "a - directly before a term means not"
            fail(key_start, f'expected a term, not {key}: {instead}; to search for the word, quote it: "{key}"')
        return RawTerm(negated, "", False, "", key, key_start, key_start, key_start), position
    if not key:
        if operator[0] == ">" and (lineage := _LINEAGE.match(text, key_start)) is not None:
            fail(key_start, f"expected a term before {lineage[0]}")
        fail(
            key_start,
            f'expected a key before {operator[0]}, as in name{operator[0]}x; to search for the text, quote it: "…"',
        )
    value, value_start, end = _value(text, operator, "" if is_quoted else key.lower())
    is_spaced = operator.start() > position and value_start > operator.end()
    return RawTerm(
        negated,
        key,
        is_quoted,
        operator[0],
        value,
        key_start,
        operator.start(),
        value_start,
        text[value_start:end],
        is_spaced,
    ), end


def operator_after(text: str, position: int, key: str) -> re.Match[str] | None:
    """Return the operator that compares a key (empty if quoted), after it or after blanks; None if there is none."""
    operator = _OPERATOR.match(text, end_of(_BLANK, text, position))
    if operator is None or operator.start() == position or operator[0] != ">":
        return operator
    if text.startswith(">>", operator.start()):
        return None
    value_start = end_of(_BLANK, text, operator.end())
    if value_start == operator.end() < len(text) or key.lower() in OWN_KEYS:
        return operator
    return operator if _NUMBER.match(text, value_start) else None


def _key(text: str, position: int, *, negated: bool) -> tuple[str, bool, int]:
    if text.startswith('"', position):
        return _quoted(text, position)
    word = _WORD.match(text, position)
    if word is not None:
        return word[0], False, word.end()
    if negated and (position == len(text) or text[position].isspace() or text[position] == ")"):
        fail(position, "expected a term directly after -, as in -status=ERROR")
    return "", False, position


def _value(text: str, operator: re.Match[str], key: str) -> tuple[str, int, int]:
    if text.startswith(">>", operator.start()):
        fail(operator.start(), "expected spaces around >>, as in a >> b")
    position = end_of(_BLANK, text, operator.end())
    if text.startswith('"', position):
        value, _, end = _quoted(text, position)
        return value, position, end
    duration = _DURATION.match(text, position) if key in DURATION_KEYS else None
    if duration is not None:
        return duration[1] + duration[2], position, duration.end()
    value_match = _VALUE.match(text, position)
    if value_match is None:
        what = (
            'to use parentheses in a value, quote it: "…"'
            if text[position : position + 1] in {"(", ")"}
            else 'for an empty value, write ""'
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
        fail(position, 'expected a closing " for this one')
    return ESCAPED.sub(r"\1", match[1]), True, match.end()
