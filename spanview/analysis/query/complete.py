r"""Completions of the term under the cursor: keys, and values after an operator.

    duration>5ms -sta|             status=
    duration>5ms -status=|         ERROR, OK, UNSET
    name=GET|                      "GET /cart", written with its quotes
    091db297-50b6-…|               request_id=091db297-50b6-…, of a whole UUID
    f43d93be|                      any~f43d93be, last of all: what isn't a name may be something else

It reads a query that isn't finished, so it is more lenient than `query_parse`: only where terms begin and end, what
is a key, and what is a value. Parentheses separate terms, as blanks do, and `>` and `>>` between blanks.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from spanview.analysis.diagnosis.finding import OF_SPANS
from spanview.analysis.query.keys import DURATION_KEYS, OWN_KEYS
from spanview.analysis.query.parse import ESCAPED, end_of, operator_after
from spanview.analysis.query.query import parse_query
from spanview.analysis.query.terms import KINDS, OUTCOMES
from spanview.analysis.query.values import REQUEST_ID_KEYS, UUID, number_of
from spanview.analysis.query.written import anywhere, quoted, written_value
from spanview.index.lives import State
from spanview.model.codes import STATUS_NAMES
from spanview.model.problems import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

OPERATOR_OF: Final = {key: own.usual_operator for key, own in OWN_KEYS.items()}
"""The language's own keys, in the order in which they are proposed, and the operator that most often follows."""
MAX_CANDIDATES: Final = 100
"""Candidates that are returned."""
MAX_CHARACTERS: Final = 120
"""Characters of a text that is proposed."""
_UNITS: Final = ("ms", "s", "us", "m", "h", "ns", "d")
_SIZES: Final = frozenset(("<", ">", "<=", ">="))
_MIN_INNER_CHARACTERS: Final = 2
"""From so many characters on, they are also searched for within a text."""

_QUOTED: Final = r'"(?:[^"\\]|\\.|\\\Z)*(?:"|\Z)'
_TERM: Final = re.compile(
    rf"""
    -?
    (?P<key> {_QUOTED} | (?:(?!!=)[^\s=<>~()"])* )
    (?: \s* (?P<operator> != | <= | >= | [=<~] | >(?!>) ) \s* (?P<value> {_QUOTED} | [^\s()"]* ) )?
    """,
    re.VERBOSE | re.DOTALL,
)
_ALONE: Final = re.compile(rf"-?(?P<key>{_QUOTED}|[^\s()\"]*)(?P<operator>(?!))?(?P<value>(?!))?", re.DOTALL)
"""A term without an operator, with the same groups."""
_SEPARATORS: Final = re.compile(r"(?:[\s()]|(?<=[\s)])>>?(?=\s))*")
_CLOSED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_RUN: Final = re.compile(r"[^\s()]*")
_PLAIN_KEY: Final = re.compile(r"\w[\w.:/@-]*")
_DIGITS: Final = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})?")
_ANY_VALUES: Final = ("1", "1s", "a", "true", "2024-05-28", "OK", "SERVER", *[*OF_SPANS][:1], OUTCOMES[0])
"""One of them fits each key that takes the operator before it."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What can be asked for, besides the language's own keys; each in the order of the proposals."""

    names: Sequence[str] = ()
    services: Sequence[str] = ()
    roots: Sequence[str] = ()
    files: Sequence[str] = ()
    attributes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Keys of attributes, and values that were seen, as `text_of` writes them."""
    events: Sequence[str] = ()
    scopes: Sequence[str] = ()
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict, compare=False)
    """How many of all spans have a text, by the language's own key; empty where that isn't known."""
    attribute_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict, compare=False)
    """How many of all spans have a text, by the key of an attribute."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One text that can be taken."""

    shown: str
    """The key as it is written, or the value without quotes; from a file, so to be sanitised."""
    text: str
    """What goes into the query."""
    rest: str
    """What of it is still to be typed, if what was typed is its beginning."""
    spans: int | None = None
    """How many spans have this value; None where that isn't known, or it isn't one."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What can be taken, and what it replaces."""

    start: int = 0
    """Characters of the query before the stretch that is replaced."""
    end: int = 0
    candidates: tuple[Candidate, ...] = ()
    """The best first, at most `MAX_CANDIDATES`."""
    total: int = 0
    """How many there are."""
    is_started: bool = False
    """Whether a value is expected, or some of a key is typed."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The part of a term that the cursor is in."""

    start: int
    end: int
    typed: str
    """What is typed before the cursor, unescaped."""
    is_quoted: bool
    key: str | None = None
    """As it is written, before a value; None where the stretch is a key."""
    operator: str = ""
    """Before a value, or after a key."""
    value: str = ""
    """After a key, as it is written."""


def complete(text: str, cursor: int, vocabulary: Vocabulary) -> Completion:
    """Return the completions of the term under the cursor."""
    stretch = _stretch_at(text, cursor)
    if stretch is None:
        return Completion()
    texts = _keys(stretch, vocabulary) if stretch.key is None else _values(stretch, vocabulary)
    current = text[stretch.start : cursor]
    proposals = [
        proposal
        for proposal in _fitting(stretch, texts)
        # What is there already isn't proposed.
        if len(proposal) > len(current) or _written(stretch, proposal) != current
    ]
    last = _anywhere(stretch, cursor)
    counts = _counts(stretch, vocabulary)
    shown = (_candidate(stretch, proposal, counts) for proposal in proposals[: MAX_CANDIDATES - len(last)])
    candidates = (*shown, *last)
    is_started = bool(stretch.typed) or stretch.key is not None
    return Completion(stretch.start, stretch.end, candidates, len(proposals) + len(last), is_started)


def complete_key(text: str, cursor: int, vocabulary: Vocabulary) -> Completion:
    """Return the keys of attributes that complete a text, unquoted."""
    stretch = _Stretch(0, len(text), text[:cursor], is_quoted=False)
    proposals = [proposal for proposal in _fitting(stretch, vocabulary.attributes) if proposal != text]
    candidates = tuple(
        Candidate(proposal, proposal, _rest(proposal, stretch.typed)) for proposal in proposals[:MAX_CANDIDATES]
    )
    return Completion(0, len(text), candidates, len(proposals), bool(stretch.typed))


# -- where the cursor is -----------------------------------------------------------------------------------------------


def _stretch_at(text: str, cursor: int) -> _Stretch | None:
    position = 0
    while (position := end_of(_SEPARATORS, text, position)) < cursor:
        term = _term_at(text, position)
        if term is None or term.end() >= cursor:
            return None if term is None else _stretch_in(text, cursor, term)
        position = max(term.end(), position + 1)
    # Between terms: a new one begins, unless one follows the cursor, or a parenthesis was just closed.
    is_free = _is_between(text[cursor : cursor + 1]) and not text[:cursor].endswith(")")
    return _Stretch(cursor, cursor, "", is_quoted=False) if is_free else None


def _term_at(text: str, position: int) -> re.Match[str] | None:
    term = _TERM.match(text, position)
    if term is None or not term["operator"]:
        return term
    is_compared = operator_after(text, term.end("key"), term["key"]) is not None
    return term if is_compared else _ALONE.match(text, position)


def _stretch_in(text: str, cursor: int, term: re.Match[str]) -> _Stretch | None:
    if not _is_between(text[: term.start()][-1:]):
        # What follows a quoted text without a space is a mistake.
        return None
    operator, value = term["operator"] or "", term["value"] or ""
    if term.start("key") <= cursor <= term.end("key"):
        stretch = _Stretch(*_part(text, cursor, term, "key"), None, operator, value)
    elif operator and term.end("operator") <= cursor < term.start("value"):
        # What follows the blank may be another term.
        stretch = _Stretch(cursor, cursor, "", is_quoted=False, key=term["key"], operator=operator)
    elif operator and cursor >= term.start("value"):
        stretch = _Stretch(*_part(text, cursor, term, "value"), term["key"], operator)
    else:
        return None
    is_before_text = not stretch.typed and (stretch.end > cursor or (operator and stretch.key is None))
    return None if is_before_text or stretch.typed == "OR" else stretch


def _is_between(character: str) -> bool:
    """Return whether a character separates terms, as the ends of the query do."""
    return not character.strip().strip("()")


def _part(text: str, cursor: int, term: re.Match[str], name: str) -> tuple[int, int, str, bool]:
    """Return where a part of a term begins and ends, what is typed of it, and whether it is quoted."""
    start, end = term.span(name)
    typed, is_quoted = text[start:cursor], text.startswith('"', start)
    if is_quoted:
        is_closed = _CLOSED.fullmatch(text, start, end) is not None
        if not is_closed or not (_is_between(text[end : end + 1]) or (name == "key" and term["operator"])):
            # The quote that begins here isn't closed yet, or would be closed by the one that begins another text.
            end = end_of(_RUN, text, cursor)
        typed = typed[1:-1] if cursor == end and _CLOSED.fullmatch(typed) else typed[1:]
        typed = ESCAPED.sub(r"\1", typed)
    return start, end, typed, is_quoted


# -- what may be there -------------------------------------------------------------------------------------------------


def _keys(stretch: _Stretch, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield keys as they are written."""
    if not stretch.is_quoted and not stretch.operator and UUID.fullmatch(stretch.typed):
        # A UUID is the id of a request, and names don't have these.
        known = [key for key in REQUEST_ID_KEYS if key in vocabulary.attributes]
        yield from (f"{key}={stretch.typed}" for key in known or REQUEST_ID_KEYS[:1])
    if not stretch.is_quoted:
        yield from (key for key in OPERATOR_OF if _takes(key, stretch.operator, stretch.value))
    if _takes('"a"', stretch.operator, stretch.value):
        # A quoted key is always an attribute's.
        yield from (_written_key(key, is_quoted=stretch.is_quoted) for key in vocabulary.attributes)


@lru_cache(maxsize=256)
def _takes(key: str, operator: str, value: str) -> bool:
    """Return whether an operator may follow a key, and a value the operator."""
    if not operator:
        return True
    return any(_is_query(f"{key}{operator}{example}") for example in ((value,) if value else _ANY_VALUES))


def _is_query(text: str) -> bool:
    with suppress(QueryError):
        parse_query(text)
        return True
    return False


def _values(stretch: _Stretch, vocabulary: Vocabulary) -> Iterable[str]:
    key, operator = _own_or_written(stretch.key or ""), stretch.operator
    if not key or not _takes(key, operator, ""):
        return ()
    if key in DURATION_KEYS:
        return [f"{stretch.typed}{unit}" for unit in _UNITS] if _DIGITS.fullmatch(stretch.typed) else ()
    closed: dict[str, Sequence[str]] = {
        "name": vocabulary.names,
        "service": vocabulary.services,
        "kind": KINDS,
        "finding": [*OF_SPANS],
        "outcome": OUTCOMES,
        "status": (*STATUS_NAMES[::-1], *State),
        "file": vocabulary.files,
        "trace.root": vocabulary.roots,
        "trace.complete": ("true", "false"),
        "event": vocabulary.events,
        "scope": vocabulary.scopes,
    }
    if key in closed or key in OPERATOR_OF:
        return closed.get(key, ())
    values = vocabulary.attributes.get(_meant_key(key), ())
    return values if operator not in _SIZES else [value for value in values if number_of(value) is not None]


def _anywhere(stretch: _Stretch, cursor: int) -> tuple[Candidate, ...]:
    """Return the term that searches everywhere for a bare word, if the cursor is at its end."""
    is_word = stretch.key is None and not stretch.operator and cursor == stretch.end
    if not is_word or not stretch.typed or (not stretch.is_quoted and stretch.typed in {"AND", "NOT"}):
        return ()
    term = anywhere(stretch.typed)
    return (Candidate(term, term, ""),)


def _own_or_written(key: str) -> str:
    """Return a key of the language in lower case, another one as it is."""
    return key.lower() if key.lower() in OPERATOR_OF else key


def _meant_key(key: str) -> str:
    return ESCAPED.sub(r"\1", key[1:-1]) if key.startswith('"') else key


def _fitting(stretch: _Stretch, texts: Iterable[str]) -> list[str]:
    """Return the texts that begin with what is typed, then those that contain it, ignoring case."""
    sought = stretch.typed.casefold()
    if not sought:
        return [*texts]
    starting, containing = [], []
    for text in texts:
        folded = (_meant_key(text) if stretch.key is None else text).casefold()
        if folded.startswith(sought):
            starting.append(text)
        elif len(sought) >= _MIN_INNER_CHARACTERS and sought in folded:
            containing.append(text)
    return starting + containing


# -- how it is written -------------------------------------------------------------------------------------------------


def _counts(stretch: _Stretch, vocabulary: Vocabulary) -> Mapping[str, int]:
    """Return how many spans have each value, where the operator asks for whole ones."""
    if stretch.key is None or stretch.operator not in {"=", "!="}:
        return {}
    key = _own_or_written(stretch.key)
    return vocabulary.counts.get(key) or vocabulary.attribute_counts.get(_meant_key(key), {})


def _candidate(stretch: _Stretch, text: str, counts: Mapping[str, int]) -> Candidate:
    written = _written(stretch, text)
    if stretch.key is not None:
        return Candidate(text, written, _rest(text, stretch.typed), counts.get(text))
    return Candidate(text, written, _rest(_meant_key(text), stretch.typed, written.removeprefix(text)))


def _rest(text: str, typed: str, suffix: str = "") -> str:
    """Return the rest of a text and its suffix, if the text begins with what is typed."""
    return text.removeprefix(typed) + suffix if text.startswith(typed) else ""


def _written(stretch: _Stretch, text: str) -> str:
    """Return what replaces the stretch: a key with an operator, a value with its quotes."""
    if stretch.key is None:
        return text if stretch.operator or text.endswith(f"={stretch.typed}") else f"{text}{OPERATOR_OF.get(text, '=')}"
    return written_value(text, is_pattern=stretch.operator == "~", is_quoted=stretch.is_quoted)


def _written_key(key: str, *, is_quoted: bool) -> str:
    is_own = key.lower() in OPERATOR_OF or key.lower().startswith("trace.")
    is_plain = _PLAIN_KEY.fullmatch(key) and not is_own and key != "OR"
    return key if is_plain and not is_quoted else quoted(key)
