"""Figures of many spans: what gates compare with a limit, or between two sides.

p95(name="GET /")                 a percentile of durations, by nearest rank, of spans that match
max(wait, name~leaf)              of another figure: self_time, wait, what was waited for, or a numeric attribute
count(status=ERROR)               how many spans match
rate(status=ERROR, name~predict)  the share of those that match the second query which match the first one, too

Durations are those of `stats`: spans without an end have none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.percentiles import rank_of
from spanview.analysis.query.base import SIZES
from spanview.analysis.query.keys import OWN_KEYS, WAITS
from spanview.analysis.query.misses import having
from spanview.analysis.query.parse import end_of, fail
from spanview.analysis.query.query import Query, mistakes_in, parse_query
from spanview.analysis.query.select import selected_rows
from spanview.analysis.query.terms import meant_text, near_key
from spanview.analysis.query.timetext import DURATIONS, parse_duration
from spanview.analysis.query.values import Number, number_of, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from spanview.index.store import Store

COUNT, RATE = "count", "rate"
_OF_VALUES: Final[dict[str, Callable[[Sequence[Any]], Number]]] = {
    "min": min,
    "max": max,
    "mean": lambda values: sum(values) / len(values),
    "sum": sum,
}
FUNCTIONS: Final = ("p50", "p95", "p99", *_OF_VALUES, COUNT, RATE)
"""Any percentile from p1 to p99 is one, too."""
PERCENTILE: Final = re.compile(r"p([1-9][0-9]?)")
DURATION, SELF_TIME, WAIT = "duration", "self_time", "wait"
MEASURES: Final = (DURATION, SELF_TIME, WAIT, *(f"{WAIT}.{part}" for part in WAITS))
"""What spans have besides attributes, in nanoseconds."""
_CALL: Final = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.]*)(\s*)\(")
# `p95>200ms`, which lacks the spans that it is a figure of, and `p95 name=x > 5ms`, which lacks their parentheses.
_ALONE: Final = re.compile(r'\s*(\w+)(?:\s+([\w"].*?)\s*(?=[<>]=?[^<>=!]*$)|\s*(?=>=|<=|!=|[><=]))')
# `name="GET /cart"`, of which nothing ends an argument.
_ARGUMENT: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^"(),])*', re.DOTALL)
_WORD: Final = re.compile(r'(?!-)[^\s=<>~!()",]+')
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)+"')
_LIMIT: Final = re.compile(r"\s*(>=|<=|!=|>|<|=)\s*")
_NOT: Final = {">": "<=", "<=": ">", ">=": "<", "<": ">=", "=": "!=", "!=": "="}
_PERCENT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%")
_BLANK: Final = re.compile(r"\s*")
_QUOTE_COMMA: Final = '; if the comma belongs to a value, quote the value: "…"'
_MAX_ARGUMENTS: Final = 2


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A figure of some spans."""

    function: str
    """One of `FUNCTIONS`, or any `PERCENTILE`."""
    among: Query
    """Which spans it is of."""
    counted: Query | None = None
    """Which of them count, for a rate."""
    measure: str = DURATION
    """One of `MEASURES`, or the key of an attribute; empty where spans themselves are counted."""
    is_attribute: bool = False

    @property
    def is_time(self) -> bool:
        """Whether it is in nanoseconds."""
        return self.function not in {COUNT, RATE} and not self.is_attribute

    @property
    def bounds(self) -> tuple[float, float]:
        """What it is never beyond; a duration may be negative, where a file says so."""
        is_free = self.is_attribute or self.measure == DURATION
        return -inf if is_free else 0, 1 if self.function == RATE else inf

    def is_never(self, operator: str, limit: Number) -> bool:
        """Return whether no spans could have a figure that compares so with a limit."""
        low, high = self.bounds
        if operator in {">", ">="}:
            return limit > high or (operator == ">" and limit == high)
        if operator in {"<", "<="}:
            return limit < low or (operator == "<" and limit == low)
        return operator == "=" and (not low <= limit <= high or (self.function == COUNT and limit != int(limit)))


@dataclass(frozen=True, slots=True)
class Limited:
    """A figure that is compared with a limit."""

    text: str
    """As it was given."""
    aggregate: Aggregate
    operator: str
    limit: Number

    def is_met_by(self, value: Number) -> bool:
        """Return whether a figure compares with the limit as the operator says."""
        return bool(SIZES[self.operator](value, self.limit))


def is_aggregate(text: str) -> bool:
    """Return whether a text is meant as an aggregate, not as a query: no word of a query has a ( directly after it."""
    call = _CALL.match(text)
    return call is not None and not call[2]


def _is_function(name: str) -> bool:
    return name in FUNCTIONS or PERCENTILE.fullmatch(name) is not None


def figure_meant(text: str) -> str:
    """Return how a query was meant that compares the name of a figure, as a hint; empty where it does nothing so."""
    if (call := _CALL.match(text)) is not None and call[2] and _is_function(call[1].lower()):
        return f"; did you mean {call[1]}{text[call.end() - 1 :]}?"
    alone = _ALONE.match(text)
    if alone is None or not _is_function(alone[1].lower()):
        return ""
    of = alone[2] or {COUNT: "", RATE: "status=ERROR"}.get(alone[1].lower(), DURATION)
    return f"; did you mean {alone[1]}({of}){text[alone.end() :]}?"


def parse_limited(text: str) -> Limited:
    """Return an aggregate and its limit.

    Raises:
        QueryError: There is a mistake in it, with its position and what was expected there.
    """
    with mistakes_in(text):
        aggregate, end = parse_aggregate(text)
        operator = _LIMIT.match(text, end)
        if operator is None:
            fail(end_of(_BLANK, text, end), f"expected >, >=, <, <=, = or != {'and a limit ' * (end == len(text))}here")
        limit = parse_amount(text[operator.end() :], aggregate)
        if limit is None:
            near = near_key(aggregate.measure, MEASURES) if aggregate.is_attribute else None
            fail(operator.end(), f"expected {amount_expected(aggregate)} after {operator[1]}{meant_text(near)}")
        is_never = aggregate.is_never(operator[1], limit)
        if is_never or aggregate.is_never(_NOT[operator[1]], limit):
            written = text[operator.start() :].strip()
            meant = f"{limit:g}%" if aggregate.function == RATE and limit >= 1 else None
            why = "never" if is_never else "always"
            fail(operator.end(), f"{aggregate.function} is {why} {written}, whatever the spans{meant_text(meant)}")
        return Limited(text, aggregate, operator[1], limit)


def parse_amount(text: str, aggregate: Aggregate) -> Number | None:
    """Return what a text says of an aggregate, in nanoseconds for times, and as a share for rates; None if nothing."""
    if aggregate.is_time:
        return parse_duration("".join(text.split()))
    if aggregate.function == RATE and (percent := _PERCENT.fullmatch(text.strip())):
        return float(percent[1]) / 100
    return number_of(text.strip())


def amount_expected(aggregate: Aggregate) -> str:
    """Return what `parse_amount` takes."""
    if aggregate.is_time:
        return f"a duration such as {DURATIONS}"
    return "a share such as 1% or 0.01" if aggregate.function == RATE else "a number"


def parse_aggregate(text: str) -> tuple[Aggregate, int]:
    """Return the aggregate that a text begins with, and its end.

    Raises:
        QueryError: There is a mistake in it.
    """
    call = _CALL.match(text)
    assert call is not None  # noqa: S101 - the caller has asked `is_aggregate`
    function = call[1].lower()
    if not _is_function(function):
        meant = meant_text(near_key(function, FUNCTIONS))
        fail(call.start(1), f"expected one of {', '.join(FUNCTIONS)} before ({meant}")
    starts, end = _arguments(text, call.end())
    parts = [slice(start, end) for start, end in zip(starts, [*(start - 1 for start in starts[1:]), end], strict=True)]
    if len(parts) > _MAX_ARGUMENTS:
        fail(parts[_MAX_ARGUMENTS].start - 1, f"expected a ) here{_QUOTE_COMMA}")
    first, among = parts[0], _query(text, parts[1]) if len(parts) > 1 else Query("")
    if function == RATE:
        counted = _query(text, first)
        if counted.is_empty:
            fail(first.start, "expected a query for the spans that count, as in rate(status=ERROR)")
        return Aggregate(function, among, counted, ""), end + 1
    # A word alone is what spans have: names are searched for by name~word.
    is_measure = len(parts) > 1 or (function != COUNT and _WORD.fullmatch(text[first].strip()) is not None)
    if is_measure:
        return Aggregate(function, among, None, *_measure(text, first)), end + 1
    return Aggregate(function, _query(text, first), None, "" if function == COUNT else DURATION), end + 1


def _arguments(text: str, position: int) -> tuple[list[int], int]:
    """Return where arguments begin, and where the parenthesis is that ends them."""
    starts, depth, opened = [position], 0, position - 1
    while True:
        position = end_of(_ARGUMENT, text, position)
        sign = text[position : position + 1]
        if sign == '"':
            fail(position, 'expected a closing " for this one')
        if not sign:
            fail(opened, "expected a ) to close this parenthesis")
        if sign == ")" and not depth:
            return starts, position
        if sign == "," and not depth:
            starts.append(position + 1)
        depth += {"(": 1, ")": -1}.get(sign, 0)
        position += 1


def _query(text: str, part: slice) -> Query:
    # In its place, so that mistakes have their positions in the whole.
    query = parse_query(f"{' ' * part.start}{text[part]}")
    return replace(query, text=text[part].strip())


def _measure(text: str, part: slice) -> tuple[str, bool]:
    """Return what a figure is of, and whether that is an attribute."""
    word = text[part].strip()
    measure = SELF_TIME if word.lower() == "self" else word.lower()
    if measure in MEASURES:
        return measure, False
    if _QUOTED.fullmatch(word):
        return word[1:-1], True
    if not _WORD.fullmatch(word) or word.lower() in OWN_KEYS:
        hint = "" if word.lower() in OWN_KEYS else _QUOTE_COMMA
        fail(end_of(_BLANK, text, part.start), f"expected {', '.join(MEASURES)} or a numeric attribute{hint}")
    return word, True


def values_in(store: Store, aggregate: Aggregate, traces: Collection[int] | None) -> list[Number]:
    """Return what spans have of an aggregate's measure, sorted; of a rate, a 1 for each that counts, and a 0."""
    return sorted(value for _, value in values_by_row(store, aggregate, traces))


def values_by_row(store: Store, aggregate: Aggregate, traces: Collection[int] | None) -> Iterable[tuple[int, Number]]:
    """Return the values of `values_in`, each with the row of its span; where spans are counted, a 1 for each."""
    if aggregate.is_attribute:
        return _attributes(store, aggregate, traces)
    rows = selected_rows(store, query=aggregate.among, traces=traces)
    if aggregate.counted is not None:
        counted = {*selected_rows(store, query=aggregate.counted, traces=traces)}
        return ((row, int(row in counted)) for row in rows)
    if not aggregate.measure:
        return ((row, 1) for row in rows)
    if aggregate.measure.startswith(WAIT):
        return _waits(store, aggregate.measure, rows)
    return _times(store, rows, aggregate.measure)


def _attributes(store: Store, aggregate: Aggregate, traces: Collection[int] | None) -> Iterator[tuple[int, Number]]:
    among = aggregate.among
    query = Query(among.text, (*among.span_terms, *having(aggregate.measure).span_terms), among.trace_terms)
    for row in selected_rows(store, query=query, traces=traces):
        for number in map(number_of, values_of(store.span(row), aggregate.measure) or ()):
            if number is not None:
                yield row, number


def _waits(store: Store, measure: str, rows: Sequence[int]) -> Iterator[tuple[int, Number]]:
    from spanview.analysis.ray.known_calls import KnownCalls

    known, part = KnownCalls(store), measure.removeprefix(WAIT).removeprefix(".")
    for row in rows:
        parts = known.wait_parts_of(row)
        if parts is not None:
            yield row, parts.get(part, 0) if part else sum(parts.values())


def _times(store: Store, rows: Sequence[int], measure: str) -> Iterator[tuple[int, Number]]:
    """Return the durations or self times of the spans that have them."""
    import numpy as np

    from spanview.analysis.forest_selftime import exact, times_in
    from spanview.index.arrays import copy_of
    from spanview.index.forest import forest_of

    positions = np.array(rows, np.int64)
    if measure == DURATION:
        spans = store.spans
        starts, ends, are_known = exact(copy_of(spans.start_ns)[positions], copy_of(spans.end_ns)[positions])
        lengths = ends - starts
    else:
        times = times_in(forest_of(store))
        lengths, are_known = times.own[positions], times.are_known[positions]
    return zip(positions[are_known].tolist(), lengths[are_known].tolist(), strict=True)


def figure_of(function: str, values: Sequence[Number]) -> Number | None:
    """Return the figure of sorted values; None where there are none, which have no figure but their number."""
    if function == COUNT:
        return len(values)
    if not values:
        return None
    if function == RATE:
        return sum(values) / len(values)
    percentile = PERCENTILE.fullmatch(function)
    if percentile is not None:
        return values[rank_of(len(values), int(percentile[1]))]
    return _OF_VALUES[function](values)
