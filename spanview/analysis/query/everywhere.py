"""The keys of a query that ask for texts of the record: `any` of them, an `event`, the `description`, the `scope`.

any~f43d93be     the name, the service, the ids, and whatever text or value the record has
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.query.base import (
    OfParts,
    OfTexts,
    Term,
    column_term,
    fail_without_size,
    negation,
    text_term,
    values_test,
)
from spanview.analysis.query.keys import Cost
from spanview.analysis.query.regex import regex_search
from spanview.analysis.query.values import is_equal, number_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanview.analysis.query.parse import RawTerm
    from spanview.analysis.query.subject import Subject
    from spanview.model.span import Span

MIN_ID_DIGITS: Final = 4
"""Hex digits from which on a value may be a prefix of an id."""
ID: Final = re.compile(r"[0-9a-f]+")
LITERAL: Final = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^\w\s])+")
"""A regular expression that matches just one text."""
_ESCAPED: Final = re.compile(r"\\(.)")
_AS_IT_IS: Final = re.compile(r"(?!:)[ !#-+\--Z^-z|~]+")
"""Printable ASCII that JSON writes as it is and doesn't use itself; its own colons follow a quote."""
_OF_NUMBERS: Final = re.compile(r"[-+.0-9eE]+")
"""Characters of numbers, which can be written in other ways."""
_OF_BYTES: Final = re.compile(r"[0-9A-Za-z+/=]*[+/=][0-9A-Za-z+/=]*")
"""What may be in base64, of which there are several spellings."""
_WORDS: Final = ("-Infinity", "-inf", "NaN", "nan", "True", "False", "null")
"""Words that can be written in other ways; OTLP has nothing where other formats have null."""


def any_term(raw: RawTerm) -> Term:
    """Return the test of all texts of a span: one of them is enough, and `!=` holds where none is."""
    holds, holds_of_id, holds_of_value, text = _tests(raw)
    parts = [
        column_term("name", lambda subject: subject.name, holds),
        # A span without a service has an empty text in the column.
        column_term("service", lambda subject: subject.service, lambda service: bool(service) and holds(service)),
    ]
    if holds_of_id is not None:
        parts += [
            column_term("trace", lambda subject: subject.trace_id, holds_of_id),
            column_term("span", lambda subject: subject.span_id, holds_of_id),
            column_term("parent", lambda subject: subject.parent_id, holds_of_id),
        ]
    rests_on = OfTexts(text) if text and _is_written_so(text) else None
    inside = Term(False, Cost.DETAIL, lambda subject: any(map(holds_of_value, _values_in(subject.span))), rests_on)
    together = (*parts, inside)
    term = Term(
        False, Cost.DETAIL, lambda subject: any(part.test(subject) for part in together), OfParts(True, together)
    )
    return negation(term) if raw.operator == "!=" else term


def _tests(
    raw: RawTerm,
) -> tuple[Callable[[str], bool], Callable[[str], bool] | None, Callable[[Any], bool], str | None]:
    """Return the tests of a text, of an id and of a value, and the text that is searched for, if it is just one."""
    value = raw.value
    if raw.operator == "~":
        search, literal = regex_search(raw), _literal_of(value)
        is_for_ids = literal is None or ID.fullmatch(literal.lower()) is not None
        return (
            search,
            # An id may be pasted in capitals.
            (lambda text: bool(text) and any(map(search, (text, text.upper())))) if is_for_ids else None,
            lambda candidate: search(text_of(candidate)),
            literal,
        )
    if raw.operator not in {"=", "!="}:
        fail_without_size(raw)
    number, prefix = number_of(value), value.lower().removeprefix("0x")
    is_id = len(prefix) >= MIN_ID_DIGITS and ID.fullmatch(prefix) is not None
    return (
        value.__eq__,
        (lambda text: text.startswith(prefix)) if is_id else None,
        lambda candidate: is_equal(candidate, value, number),
        value,
    )


def _literal_of(pattern: str) -> str | None:
    """Return the text that a regular expression matches, if it matches just one."""
    return _ESCAPED.sub(r"\1", pattern) if LITERAL.fullmatch(pattern) else None


def _is_written_so(text: str) -> bool:
    """Return whether a text in a value is also in its record as it is, except for escapes."""
    if not _AS_IT_IS.fullmatch(text) or _OF_NUMBERS.fullmatch(text) or _OF_BYTES.fullmatch(text):
        return False
    return not any(text in word for word in _WORDS)


def _values_in(span: Span) -> Iterator[Any]:
    """Yield the texts and attribute values of a record, and what nested ones contain."""
    if span.status.description is not None:
        yield span.status.description
    if span.scope is not None:
        yield span.scope.name
    for event in span.events:
        yield event.name
    inner = [holder.attributes for holders in (span.events, span.links) for holder in holders]
    for value in chain.from_iterable(
        attributes.values() for attributes in (span.attributes, *inner, span.resource.attributes)
    ):
        parts = value if isinstance(value, list) else [value]
        yield from parts
        # It may be deep: only the whole and its leaves are turned into text.
        yield from _leaves([part for part in parts if isinstance(part, dict | list)])


def _leaves(pending: list[Any]) -> Iterator[Any]:
    while pending:
        part = pending.pop()
        if isinstance(part, dict | list):
            pending += part.values() if isinstance(part, dict) else part
        else:
            yield part


def event_term(raw: RawTerm) -> Term:
    """Return the test of the events' names; a span without events never matches, not even with `!=`."""
    if raw.operator not in {"=", "!=", "~"}:
        fail_without_size(raw)
    holds = values_test(raw)

    def test(subject: Subject) -> bool:
        names: list[Any] = [event.name for event in subject.span.events]
        return bool(names) and holds(names)

    return Term(False, Cost.DETAIL, test, _of_record(raw))


def record_term(raw: RawTerm, read: Callable[[Span], str | None]) -> Term:
    """Return the test of one text of the record, empty where it has none."""
    test = text_term(raw, lambda subject: read(subject.span) or "").test
    return Term(False, Cost.DETAIL, test, _of_record(raw))


def _of_record(raw: RawTerm) -> OfTexts | None:
    text = {"=": raw.value, "~": _literal_of(raw.value)}.get(raw.operator)
    return OfTexts(text) if text and _is_written_so(text) else None
