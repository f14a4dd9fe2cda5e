"""What every term of a query is made of: what decides it, what that costs, and tests of texts and values."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from spanview.analysis.query.keys import OWN_KEYS, Cost
from spanview.analysis.query.parse import fail
from spanview.analysis.query.regex import regex_search
from spanview.analysis.query.values import Number, is_equal, number_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanview.analysis.query.parse import RawTerm
    from spanview.analysis.query.subject import Subject
    from spanview.analysis.query.timetext import Clock
    from spanview.index.lives import State

Test: TypeAlias = "Callable[[Subject], bool]"

_GROWING: Final = ("duration", "trace.duration")
"""Numbers that grow while a span runs."""


@dataclass(frozen=True, slots=True)
class OfText:
    """A term that a text in a column decides."""

    column: str
    test: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class OfNumber:
    """A term that a number in a column decides; spans without one don't match."""

    column: str
    compare: Callable[[Any, Number], Any]
    value: Number | Clock
    """A time of day is one of the data's days."""


@dataclass(frozen=True, slots=True)
class OfState:
    """A term that processes decide: what has become of a span."""

    state: State


@dataclass(frozen=True, slots=True)
class OfAttribute:
    """A term that the values of an attribute decide; spans without it don't match."""

    key: str
    text: str | None
    """What one of them must equal; None for any other test."""
    holds: Callable[[list[Any]], bool]
    """The test of one span's values."""


@dataclass(frozen=True, slots=True)
class OfTexts:
    """A term that can hold only where a text is in the record; where it is, decoding decides."""

    text: str
    """JSON can write it differently only with escapes."""


@dataclass(frozen=True, slots=True)
class OfParts:
    """A term that others decide: any of them, or all."""

    is_any: bool
    parts: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class OfBelow:
    """A term that the spans below decide: one of them must match."""

    is_child: bool
    """Whether a child must match, not just any descendant."""
    term: Term


@dataclass(frozen=True, slots=True)
class Term:
    """One test, negation included."""

    of_trace: bool
    cost: Cost
    test: Test
    rests_on: OfText | OfNumber | OfState | OfAttribute | OfTexts | OfParts | OfBelow | None = None
    """What decides it, for testing many spans at once; None where only `test` does."""
    negated: bool = False
    """Whether `test` negates `rests_on`."""

    @property
    def needs_tree(self) -> bool:
        """Whether it asks for what a span alone doesn't show."""
        if isinstance(self.rests_on, OfParts):
            return any(part.needs_tree for part in self.rests_on.parts)
        return self.of_trace or self.cost is Cost.TREE or isinstance(self.rests_on, OfBelow)


def rests_of(term: Term) -> Iterator[OfText | OfNumber | OfState | OfAttribute | OfTexts | OfBelow]:
    """Yield what decides a term, or each of its parts."""
    if isinstance(term.rests_on, OfParts):
        for part in term.rests_on.parts:
            yield from rests_of(part)
    elif term.rests_on is not None:
        yield term.rests_on


def of_now(term: Term) -> Iterator[OfNumber | OfState]:
    """Yield what in a term time alone may change: how long a span has run, and whether it still does."""
    for rest in rests_of(term):
        if isinstance(rest, OfState) or (isinstance(rest, OfNumber) and rest.column in _GROWING):
            yield rest
        elif isinstance(rest, OfBelow):
            yield from of_now(rest.term)


def attributes_of(term: Term) -> Iterator[str]:
    """Yield the attributes that a term asks for; a span that lacks one matches the negation."""
    if term.negated:
        return
    if isinstance(term.rests_on, OfAttribute):
        yield term.rests_on.key
    elif isinstance(term.rests_on, OfParts):
        for part in term.rests_on.parts:
            yield from attributes_of(part)
    elif isinstance(term.rests_on, OfBelow):
        yield from attributes_of(term.rests_on.term)


SIZES: Final = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def negation(term: Term) -> Term:
    """Return the term that holds where another one doesn't."""
    test = term.test
    return replace(term, test=lambda subject: not test(subject), negated=not term.negated)


def column_term(
    column: str | None, read: Callable[[Subject], str], test: Callable[[str], bool], *, of_trace: bool = False
) -> Term:
    """Return the test of a text; `column` has it, or None if each span is asked."""
    rests_on = None if column is None else OfText(column, test)
    return Term(of_trace, Cost.COLUMN, lambda subject: test(read(subject)), rests_on)


def text_term(
    raw: RawTerm,
    read: Callable[[Subject], str],
    equals: Callable[[str, str], bool] = operator.eq,
    *,
    column: str | None = None,
) -> Term:
    """Return the test that an operator makes of a text; `column` is that of `column_term`."""
    value = raw.value
    if raw.operator == "~":
        return column_term(column, read, regex_search(raw))
    if raw.operator == "=":
        return column_term(column, read, lambda text: equals(text, value))
    if raw.operator == "!=":
        return column_term(column, read, lambda text: not equals(text, value))
    return fail_without_size(raw)


def fail_without_size(raw: RawTerm) -> NoReturn:
    """Raise the error for comparing the size of a key that has none."""
    fail(
        raw.operator_start,
        f"expected =, != or ~ after {raw.key}, which can't be compared with {raw.operator}{child_hint(raw)}",
    )


def child_hint(raw: RawTerm) -> str:
    """Return what to write where a child may have been meant, not a comparison; empty where that can't be."""
    is_size = raw.key.lower() in OWN_KEYS and raw.value[:1].isdigit()
    if raw.operator != ">" or not raw.is_spaced or is_size:
        return ""
    return f"; for a child, write name~{raw.key} > name~{raw.value}"


def values_test(raw: RawTerm) -> Callable[[list[Any]], bool]:
    """Return the test of the values that one key has; the value of a term that asks for a size is a number."""
    text, number = raw.value, number_of(raw.value)
    if raw.operator == "~":
        search = regex_search(raw)
        return lambda values: any(search(text_of(value)) for value in values)
    if raw.operator == "=":
        return lambda values: any(is_equal(value, text, number) for value in values)
    if raw.operator == "!=":
        return lambda values: not any(is_equal(value, text, number) for value in values)
    compare: Callable[[Any, Any], bool] = SIZES[raw.operator]
    return lambda values: any(size is not None and compare(size, number) for size in map(number_of, values))
