"""Queries that no span may match, and whether any span could.

status=ERROR                      3 spans match               the gate is shut
http.status_code>=500             none of 40 that have it     the gate is open
http.status_cod>=500              no span has such a key      unknown: nothing could have matched
name="GET /typo" duration>200ms   no span has this name       the same
finding=no_attempt                no span is a Ray call       the same
outcome=cancelled                 Ray wrote no events         the same
p95(name="GET /")>200ms           no span has this name       the same: it has no P95
count(status=ERROR)>0             3 spans match               the gate is shut

A query is about the spans that its terms with = select, and tests them by the others. Names and services select by ~
and by words, too, where something is tested or asked below. A status, sizes and exception events are always tests, and
the number of an attribute is one where there is no other, as in kind=SERVER http.status_code=500.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from spanview.analysis.diagnosis.finding import OF_SPANS, About
from spanview.analysis.query.aggregate import COUNT, figure_of, values_in
from spanview.analysis.query.keys import OWN_KEYS
from spanview.analysis.query.misses import NoAttribute, absent_attributes, matches_any, misses_of
from spanview.analysis.query.parse import RawBelow, RawGroup, RawPart, RawTerm, parse_parts
from spanview.analysis.query.query import Query, parse_query, query_of
from spanview.analysis.query.select import selected_rows
from spanview.analysis.query.values import number_of
from spanview.analysis.query.written import literally, quoted, written_value
from spanview.analysis.ray.names import RAN, SUBMITTED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from spanview.analysis.query.aggregate import Aggregate, Limited
    from spanview.analysis.query.misses import Miss
    from spanview.analysis.query.values import Number
    from spanview.index.store import Store

_OF_EVENTS: Final = frozenset(("cancelled", "node_died", "out_of_memory", "pending"))
"""Outcomes of calls that only Ray's own events tell."""
_EXCEPTION: Final = "exception"
"""OpenTelemetry's name for the events of exceptions."""
_ABOUT: Final = {
    About.CALLS: f"({literally(SUBMITTED)}|{literally(RAN)})$",
    About.REQUESTS: "^(proxy_|route_to_replica|replica_handle_request)",
}
"""The names of the spans that a finding is about; of the others they can be any."""
_IN_WORDS: Final = {names: about.value for about, names in _ABOUT.items()}


@dataclass(frozen=True, slots=True)
class Gate:
    """The result of a query that no span may match, or of a figure that may not be as its limit says."""

    text: str
    """The query, or the figure with its limit, as it was given."""
    matches: int
    """Spans that match, or that have what the figure is of."""
    misses: tuple[Miss, ...] = ()
    """Why none could, as far as terms explain it; of one that some could match, only attributes that no span has."""
    selects_none: str | None = None
    """None where a span could have matched; else the terms that select none, or nothing if there are no spans."""
    limited: Limited | None = None
    """The figure with its limit; None for a query."""
    value: Number | None = None
    """What the figure is; None for a query, and where no span has what it is of."""

    @property
    def is_shut(self) -> bool:
        """Whether it fails: a span matches, or the figure is as its limit says."""
        if self.limited is None:
            return self.matches > 0
        return self.value is not None and self.limited.is_met_by(self.value)

    @property
    def is_open_to_any(self) -> bool:
        """Whether a span could have matched: the query selects some, whether they pass its tests or not."""
        return self.selects_none is None


def ask(store: Store, query: Query, traces: Collection[int] | None) -> Gate:
    """Return how many spans of the traces match a query, and if none does, whether any could."""
    matches = _count(store, query, traces)
    if matches:
        return Gate(query.text, matches)
    if not _count(store, Query(""), traces):
        return Gate(query.text, 0, (), "")
    parts = parse_parts(query.text)
    if store.ray is None and (untold := next(filter(_is_of_events, parts), None)) is not None:
        return Gate(query.text, 0, (), f"{_written(untold)}, which only Ray's own events tell of every call")
    for selecting in _selections(parts, is_tested=any(map(_tests, parts))):
        if not matches_any(store, query_of("", selecting), traces):
            misses = tuple(misses_of(store, query, traces))
            return Gate(query.text, 0, misses, " ".join(map(_written, selecting)))
    return Gate(query.text, 0, tuple(NoAttribute(key, None) for key in absent_attributes(store, query, traces)))


def compare(store: Store, limited: Limited, traces: Collection[int] | None) -> Gate:
    """Return a figure of some traces, None for all, beside its limit; and if it is of none, whether any could be."""
    aggregate = limited.aggregate
    values = values_in(store, aggregate, traces)
    gate = Gate(limited.text, len(values), limited=limited, value=figure_of(aggregate.function, values))
    if values and (aggregate.counted is None or any(values)):
        return gate
    # Of a rate, none may count where others are there.
    is_rate = bool(values)
    about = aggregate.counted if is_rate and aggregate.counted is not None else aggregate.among
    asked = ask(store, about, traces)
    if asked.matches:
        return gate if is_rate else replace(gate, misses=lacking(store, aggregate, traces), selects_none="")
    selects_none = asked.selects_none
    if selects_none is None and aggregate.function != COUNT and not is_rate:
        selects_none = about.text
    return replace(gate, misses=asked.misses, selects_none=selects_none)


def lacking(store: Store, aggregate: Aggregate, traces: Collection[int] | None) -> tuple[Miss, ...]:
    """Return that spans lack what a figure is of, with the attribute that was probably meant; or that none matches."""
    if not selected_rows(store, query=aggregate.among, traces=traces):
        return tuple(misses_of(store, aggregate.among, traces))
    key = aggregate.measure
    if not aggregate.is_attribute:
        return (NoAttribute(key, None),)
    misses = misses_of(store, parse_query(f"{quoted(key)}~." if '"' in key or " " in key else f"{key}~."), traces)
    return tuple(miss for miss in misses if isinstance(miss, NoAttribute)) or (NoAttribute(f"{key} as a number", None),)


def _count(store: Store, query: Query, traces: Collection[int] | None) -> int:
    return len(selected_rows(store, query=query, traces=traces))


def _tests(part: RawPart) -> bool:
    """Return whether a part tests spans, not just selects them."""
    if part.negated:
        return False
    if isinstance(part, RawGroup):
        return any(map(_tests, part.parts))
    if isinstance(part, RawBelow):
        return True
    return part.operator not in {"", "=", "~"} or (part.own_key is not None and not _selects(part, is_tested=True))


def _is_of_events(part: RawPart) -> bool:
    """Return whether a part, which isn't negated, can only hold where Ray's own events are."""
    if not isinstance(part, RawTerm) or part.negated:
        return False
    key = part.own_key
    return key in {"wait.arguments", "wait.retry"} or (key == "outcome" and part.value.lower() in _OF_EVENTS)


def _selects(term: RawTerm, *, is_tested: bool) -> bool:
    """Return whether a term that isn't negated selects the spans that a query is about."""
    key = term.own_key
    if key is None:
        return term.operator == "=" and (is_tested or number_of(term.value) is None)
    if not key or term.operator == "~":
        # Bare words are of names.
        return is_tested and (not key or "~" in OWN_KEYS[key].selects)
    return term.operator in OWN_KEYS[key].selects and (key, term.value) != ("event", _EXCEPTION)


def _selections(parts: Iterable[RawPart], *, is_tested: bool) -> Iterator[list[RawPart]]:
    """Yield what some span must match if any is to match all parts: itself, and one below for each that asks there."""
    selecting, below = list[RawPart](), list[RawPart]()
    for part in parts:
        if part.negated:
            continue
        if isinstance(part, RawBelow):
            below.append(part.part)
        elif isinstance(part, RawTerm):
            selecting += _selection(part, is_tested=is_tested)
        elif part.is_any:
            choices = [next(_selections([choice], is_tested=is_tested)) for choice in part.parts]
            # One that selects all is enough.
            if all(choices):
                selecting.append(RawGroup(False, True, tuple(RawGroup(False, False, (*each,)) for each in choices)))
        else:
            first, *others = _selections(part.parts, is_tested=is_tested)
            selecting += first
            yield from others
    yield selecting
    for part in below:
        yield from _selections([part], is_tested=is_tested)


def _selection(term: RawTerm, *, is_tested: bool) -> list[RawPart]:
    """Return what a term selects as a term, if it does."""
    if _selects(term, is_tested=is_tested):
        return [term]
    if term.own_key is None:
        return [replace(term, operator="~", value="", written='""')]
    about = OF_SPANS[term.value.lower()].rule.about if (term.own_key, term.operator) == ("finding", "=") else None
    if term.own_key == "outcome" or term.own_key.startswith("wait"):
        about = About.CALLS
    if about not in _ABOUT:
        return []
    return [replace(term, operator="~", key="name", value=_ABOUT[about], written=_written(term))]


def _written(part: RawPart) -> str:
    if isinstance(part, RawTerm):
        if part.value in _IN_WORDS and part.key == "name":
            return f"{part.written}, which is about {_IN_WORDS[part.value]}"
        value = part.written or written_value(part.value, is_pattern=False)
        return f"{quoted(part.key) if part.key_is_quoted else part.key}{part.operator}{value}"
    assert isinstance(part, RawGroup)  # noqa: S101 - what is below is selected apart
    return f"({' OR '.join(map(_written, part.parts))})" if part.is_any else " ".join(map(_written, part.parts))
