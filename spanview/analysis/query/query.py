"""The query language: what `-q`, the viewer's filter and its search keep.

checkout                      names that have this in them, in upper or lower case
"GET /cart"                   the same for what has spaces in it
any~f43d93be                  what has this in a name, service, id, attribute, event, scope or status description
status=ERROR duration>1.5s    both must hold, on one and the same span
-kind=SERVER                  not
http.status_code>=500         an attribute of the span, of one of its events, or of its resource
name~^GET                     a regular expression, searched
trace.errors>0                the whole trace, not the span
(a OR b) -(c d)               either; not both together
a > b                         an a with a child b; a >> b: with a descendant b
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spanview.analysis.query.base import of_now
from spanview.analysis.query.parse import parse_parts, words_in
from spanview.analysis.query.subject import QueryFacts, Subject
from spanview.analysis.query.terms import in_order
from spanview.model.problems import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.analysis.query.base import OfNumber, OfState, Term
    from spanview.analysis.query.parse import RawPart
    from spanview.index.store import Store


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query; made by `parse_query`."""

    text: str
    """As it was typed."""
    span_terms: tuple[Term, ...] = field(default=(), repr=False, compare=False)
    """What must hold on one and the same span, the cheapest first."""
    trace_terms: tuple[Term, ...] = field(default=(), repr=False, compare=False)
    """What must hold for its trace, the cheapest first."""
    words: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """What is searched for in names: bare words and phrases, except negated ones."""
    _facts: QueryFacts = field(default_factory=QueryFacts, repr=False, compare=False)

    @property
    def is_empty(self) -> bool:
        """Whether it has no terms, so that everything matches."""
        return not self.span_terms and not self.trace_terms

    @property
    def needs_tree(self) -> bool:
        """Whether it asks for what a span alone doesn't show: its depth, its self time, or anything about its trace."""
        return bool(self.trace_terms) or any(term.needs_tree for term in self.span_terms)

    @property
    def of_now(self) -> frozenset[OfNumber | OfState]:
        """What in it time alone may change, while something runs or waits."""
        return frozenset(part for term in (*self.span_terms, *self.trace_terms) for part in of_now(term))

    def matches(self, store: Store, row: int) -> bool:
        """Return whether all span terms hold for a span; its details are read at most once."""
        subject = Subject(store, self._facts, store.spans.trace[row], row)
        return all(term.test(subject) for term in self.span_terms)

    def keeps(self, store: Store, row: int) -> bool:
        """Return whether a span matches and the trace terms hold for its trace."""
        return self.holds(store, store.spans.trace[row]) and self.matches(store, row)

    def holds(self, store: Store, trace: int) -> bool:
        """Return whether the trace terms hold for a trace."""
        subject = Subject(store, self._facts, trace)
        return all(term.test(subject) for term in self.trace_terms)


def parse_query(text: str) -> Query:
    """Parse a query.

    Raises:
        QueryError: There is a mistake in it; one line with its position, in characters from 1, and what was
            expected there.
    """
    with mistakes_in(text):
        return query_of(text, parse_parts(text))


@contextmanager
def mistakes_in(text: str) -> Iterator[None]:
    """Let the error of a mistake say which text it is in."""
    try:
        yield
    except QueryError as error:
        error.text = text
        raise


def query_of(text: str, parts: Sequence[RawPart]) -> Query:
    """Return the query that keeps what all parts of a text keep.

    Raises:
        QueryError: There is a mistake in one of them.
    """
    terms = in_order(parts)
    return Query(
        text,
        tuple(term for term in terms if not term.of_trace),
        tuple(term for term in terms if term.of_trace),
        tuple(words_in(parts)),
    )


def parse_queries(texts: Sequence[str]) -> Query:
    """Return the query that keeps what all these queries keep.

    Raises:
        QueryError: There is a mistake in one of them; its position is counted from that query's beginning.
    """
    queries = [parse_query(text) for text in texts]
    return queries[0] if len(queries) == 1 else parse_query(joined(texts))


def joined(texts: Sequence[str]) -> str:
    """Return one text for several queries, of which none is empty."""
    return texts[0] if len(texts) == 1 else " ".join(f"({text})" for text in texts)
