"""What the keys of a query mean: from a term as it is written to a test of one span, or of one trace."""

from __future__ import annotations

import re
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NoReturn

from spanview.analysis.diagnosis.finding import OF_SPANS
from spanview.analysis.query.base import (
    SIZES,
    OfAttribute,
    OfBelow,
    OfNumber,
    OfParts,
    OfState,
    Term,
    child_hint,
    column_term,
    fail_without_size,
    negation,
    text_term,
    values_test,
)
from spanview.analysis.query.everywhere import any_term, event_term, record_term
from spanview.analysis.query.keys import OWN_KEYS, Cost, Takes
from spanview.analysis.query.parse import RawBelow, RawGroup, fail
from spanview.analysis.query.timetext import parse_clock, parse_duration, parse_moment
from spanview.analysis.query.values import Number, number_of, values_of
from spanview.analysis.root_groups import names_of_root
from spanview.index.lives import State
from spanview.index.table import NO_ROW
from spanview.model.codes import KIND_NAMES, STATUS_NAMES
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from spanview.analysis.query.keys import OwnKey
    from spanview.analysis.query.parse import RawPart, RawTerm
    from spanview.analysis.query.subject import Subject

KINDS: Final = (*KIND_NAMES, "UNSPECIFIED")
"""What `kind` may be compared with; the column's values are indices."""
OUTCOMES: Final = (
    *("finished", "failed", "cancelled", "worker_died", "node_died", "out_of_memory", "actor_died"),
    *("constructor_failed", "dependency_failed", "pending", "running", "not_submitted", "unknown"),
)
"""What may have become of a call, as `analysis.ray.told.CallOutcome` has it."""
_LEAST_BEGINNING: Final = 3
"""Characters of a key that is cut short."""
MIN_SIMILARITY: Final = 0.75
"""The similarity from which on a word is taken for a key: `durration` and `stauts`, not `state`."""
_READ: Final[Mapping[Takes, Callable[[str], Number | None]]] = {
    Takes.NUMBER: number_of,
    Takes.DURATION: parse_duration,
    Takes.MOMENT: parse_moment,
}
"""What reads the value of a term; None where it can't."""


def compile_part(raw: RawPart) -> Term:
    """Return the test that a term stands for, or a group of them.

    Raises:
        QueryError: The key doesn't exist, or doesn't take the operator or the value.
    """
    term = _group(raw) if isinstance(raw, RawGroup) else _below(raw) if isinstance(raw, RawBelow) else _single(raw)
    return negation(term) if raw.negated else term


def in_order(raw: Iterable[RawPart]) -> tuple[Term, ...]:
    """Return the tests of the parts, those that columns decide first: then most spans are never read again."""
    return tuple(sorted(map(compile_part, raw), key=lambda term: term.cost))


def _group(raw: RawGroup) -> Term:
    parts, joined = in_order(raw.parts), any if raw.is_any else all
    tests = [part.test for part in parts]
    return Term(
        all(part.of_trace for part in parts),
        parts[-1].cost,
        lambda subject: joined(test(subject) for test in tests),
        OfParts(raw.is_any, parts),
    )


def _below(raw: RawBelow) -> Term:
    term, is_child = compile_part(raw.part), raw.is_child

    def test(subject: Subject) -> bool:
        return subject.facts.is_above(subject.store, subject.row, term.test, is_child=is_child)

    return Term(False, max(Cost.TREE, term.cost), test, OfBelow(is_child, term))


def _single(raw: RawTerm) -> Term:
    if not raw.operator:
        word = raw.value.casefold()
        return column_term("name", lambda subject: subject.name, lambda text: word in text.casefold())
    key = raw.key.lower()
    if raw.own_key is not None:
        return _MADE.get(key, _own_term)(replace(raw, key=key))
    if key.startswith("trace.") and not raw.key_is_quoted:
        known = ", ".join(key for key in OWN_KEYS if key.startswith("trace."))
        quoted = f'for an attribute of that name, write "{raw.key}" with the quotes'
        fail(raw.key_start, f"expected one of {known}{_hint(raw)}; {quoted}")
    return _attribute_term(raw)


def near_key(key: str, known: Collection[str] = OWN_KEYS) -> str | None:
    """Return the key that was probably meant, by `durration` or `dur`; None if none is similar, or begins so."""
    begun = [each for each in known if each.startswith(key.lower())]
    if len(key) >= _LEAST_BEGINNING and len(begun) == 1:
        return begun[0]
    return near_text(key.lower(), known)


def near_text(text: str, known: Iterable[str]) -> str | None:
    """Return the known text that was probably meant, by its spelling; None if none is similar."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(text, [*known], n=1, cutoff=MIN_SIMILARITY)), None)


def _hint(raw: RawTerm) -> str:
    return meant_text(None if raw.key_is_quoted else near_key(raw.key))


def meant_text(near: str | None) -> str:
    """Return what is added to the message of a mistake, where it is known what was meant."""
    return "" if near is None else f"; did you mean {near}?"


def _refuse_choice(raw: RawTerm, names: Iterable[str]) -> NoReturn:
    """Refuse a value that is none of those which a key has."""
    by_case = {name.casefold(): name for name in names}
    near = near_text(raw.value.casefold(), by_case)
    known = ", ".join(by_case.values())
    fail(raw.value_start, f"expected one of {known}, not {raw.value!r}{meant_text(near and by_case[near])}")


def _root_name(subject: Subject) -> str:
    store = subject.store
    row = store.trace_table.root_row[subject.trace]
    return "" if row == NO_ROW else store.names.texts[store.spans.name[row]]


def _root_term(raw: RawTerm) -> Term:
    """Return the test of all that a trace is called after its root: as the span is, as a request, as a function."""
    if raw.operator not in {"=", "!=", "~"}:
        fail_without_size(raw)
    has = values_test(raw)
    return column_term("trace.root", _root_name, lambda name: has([*names_of_root(name)]), of_trace=True)


def _choice_term(raw: RawTerm, names: Sequence[str], read: Callable[[Subject], str]) -> Term:
    """Return the test of a column with a closed set of values; it has the name of the key."""
    wanted = raw.value.upper()
    if raw.operator not in {"=", "!="}:
        return text_term(raw, read, column=raw.key)
    if wanted not in names:
        _refuse_choice(raw, names)
    return text_term(raw, read, lambda text, _: text == wanted, column=raw.key)


def _status_term(raw: RawTerm) -> Term:
    state = next((state for state in State if state == raw.value.lower()), None)
    if state is None or raw.operator not in {"=", "!="}:
        names = STATUS_NAMES if raw.operator == "~" else (*STATUS_NAMES, *State)
        return _choice_term(raw, names, lambda subject: STATUS_NAMES[subject.store.spans.status[subject.row]])
    term = Term(
        False,
        Cost.TREE,
        lambda subject: subject.row in subject.facts.rows_in(subject.store, state),
        OfState(state),
    )
    return term if raw.operator == "=" else negation(term)


def _id_term(raw: RawTerm, digits: int, read: Callable[[Subject], str]) -> Term:
    prefix = raw.value.lower().removeprefix("0x")
    if raw.operator != "~" and not re.fullmatch(f"[0-9a-f]{{1,{digits}}}", prefix):
        fail(raw.value_start, f"expected the first hex digits of an id, at most {digits}")
    return text_term(raw, read, lambda text, _: text.startswith(prefix), column=raw.key)


def _file_term(raw: RawTerm) -> Term:
    def is_file(path: str, wanted: str) -> bool:
        return path == wanted or re.split(r"[/\\]", path)[-1] == wanted

    return text_term(raw, lambda subject: subject.file, is_file, column=raw.key)


def _start_term(raw: RawTerm) -> Term:
    clock = parse_clock(raw.value)
    if clock is None:
        return _own_term(raw)
    compare = _comparison(raw)

    def test(subject: Subject) -> bool:
        start = subject.start_ns
        return start is not None and bool(compare(start, subject.facts.moment(subject.store, clock)))

    # Only all spans show which day is meant.
    return Term(False, Cost.TREE, test, OfNumber("start", compare, clock))


def _comparison(raw: RawTerm) -> Callable[[Any, Number], Any]:
    compare = SIZES.get(raw.operator)
    if compare is None:
        fail(raw.operator_start, f"expected =, !=, <, >, <= or >= after {raw.key}, which isn't text")
    return compare


def _own_term(raw: RawTerm) -> Term:
    """Return the test of a property of spans or traces; if it costs no more than a column, the column has its name."""
    own = OWN_KEYS[raw.key]
    if own.takes is Takes.TEXT:
        return text_term(raw, attrgetter(own.reads), column=raw.key)
    return _size_term(raw, own, attrgetter(own.reads))


def _size_term(raw: RawTerm, own: OwnKey, read: Callable[[Subject], Number | None]) -> Term:
    """Return the test of something that has a size."""
    compare, value = _comparison(raw), _READ[own.takes](raw.value)
    if value is None:
        fail(raw.value_start, f"expected {own.takes.value}{child_hint(raw)}")

    def test(subject: Subject) -> bool:
        size = read(subject)
        return size is not None and bool(compare(size, value))

    rests_on = OfNumber(raw.key, compare, value) if own.cost is Cost.COLUMN else None
    return Term(raw.key.startswith("trace."), own.cost, test, rests_on)


def _complete_term(raw: RawTerm) -> Term:
    if raw.operator not in {"=", "!="}:
        fail(raw.operator_start, "expected = or != after trace.complete")
    if raw.value.lower() not in {"true", "false"}:
        fail(raw.value_start, "expected true or false")
    is_wanted = (raw.value.lower() == "true") == (raw.operator == "=")
    return Term(True, Cost.TREE, lambda subject: subject.facts.complete(subject.store, subject.trace) == is_wanted)


def _finding_term(raw: RawTerm) -> Term:
    if raw.operator not in {"=", "!="}:
        fail(raw.operator_start, "expected = or != after finding")
    wanted = raw.value.lower()
    if wanted not in OF_SPANS:
        _refuse_choice(raw, OF_SPANS)
    kind, is_wanted = OF_SPANS[wanted], raw.operator == "="
    return Term(
        False, Cost.TREE, lambda subject: subject.facts.is_in_finding(subject.store, subject.row, kind) == is_wanted
    )


def _wait_term(raw: RawTerm) -> Term:
    """Return the test of how long a Ray call waited before it ran, or of the part that it waited for one thing."""
    waited_for = raw.key.removeprefix("wait").removeprefix(".")

    def read(subject: Subject) -> Number | None:
        parts = subject.facts.wait_parts(subject.store, subject.row)
        return None if parts is None else parts.get(waited_for, 0) if waited_for else sum(parts.values())

    return _size_term(raw, OWN_KEYS[raw.key], read)


def _outcome_term(raw: RawTerm) -> Term:
    """Return the test of what became of a Ray call, which its span and that of its last attempt have."""
    if raw.operator not in {"=", "!="}:
        fail(raw.operator_start, "expected = or != after outcome")
    wanted, is_wanted = raw.value.lower(), raw.operator == "="
    if wanted not in OUTCOMES:
        _refuse_choice(raw, OUTCOMES)

    def test(subject: Subject) -> bool:
        outcome = subject.facts.outcome(subject.store, subject.row)
        return outcome is not None and (outcome == wanted) == is_wanted

    return Term(False, Cost.TREE, test)


def _attribute_term(raw: RawTerm) -> Term:
    """Return the test of an attribute; a span that lacks it never matches, not even with `!=`."""
    key = raw.key
    if raw.operator not in {"=", "!=", "~"} and number_of(raw.value) is None:
        fail(raw.value_start, f"expected a number after {key}{raw.operator}{_hint(raw) or child_hint(raw)}")
    holds = values_test(raw)
    rests_on = OfAttribute(key, raw.value if raw.operator == "=" else None, holds)

    def test(subject: Subject) -> bool:
        values = values_of(subject.span, key)
        return values is not None and holds(values)

    return Term(False, Cost.DETAIL, test, rests_on)


_MADE: Final[Mapping[str, Callable[[RawTerm], Term]]] = {
    "kind": lambda raw: _choice_term(raw, KINDS, lambda subject: KINDS[subject.store.spans.kind[subject.row]]),
    "status": _status_term,
    **{key: _wait_term for key in OWN_KEYS if key.startswith("wait")},
    "outcome": _outcome_term,
    "any": any_term,
    "event": event_term,
    "finding": _finding_term,
    "description": lambda raw: record_term(raw, lambda span: span.status.description),
    "scope": lambda raw: record_term(raw, lambda span: None if span.scope is None else span.scope.name),
    "trace": lambda raw: _id_term(raw, TRACE_ID_DIGITS, lambda subject: subject.trace_id),
    "span": lambda raw: _id_term(raw, SPAN_ID_DIGITS, lambda subject: subject.span_id),
    "start": _start_term,
    "file": _file_term,
    "trace.root": _root_term,
    "trace.complete": _complete_term,
}
"""What makes the tests of keys that are more than a property."""
