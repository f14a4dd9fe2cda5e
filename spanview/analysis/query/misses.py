"""Why a query matches nothing, as far as its terms explain that.

deployment=Front     no span has this attribute; ray.serve.deployment is near
durration>1s         no span has this attribute; duration is near
name=Model           no name equals it, and one has it inside: name~Model
service=shopp        no service equals it, and one is spelled nearly so: service=shop
name~model           no name has it inside, and one does in another case: name~"(?i)model"
cart or charge       or is searched for, too; OR is what joins terms
cart|charge          | is searched for, too; cart OR charge, or name~"cart|charge"
cart status=ERROR    some spans match one term, some the other, and none matches both
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.analysis.query.base import OfAttribute, OfBelow, Term, attributes_of
from spanview.analysis.query.keys import OWN_KEYS, Cost
from spanview.analysis.query.parse import parse_parts, terms_in
from spanview.analysis.query.query import Query
from spanview.analysis.query.regex import regex_search
from spanview.analysis.query.terms import near_key, near_text
from spanview.analysis.query.values import values_of
from spanview.analysis.query.words import gather
from spanview.analysis.query.written import literally, quoted, written_value
from spanview.analysis.telling import unheard

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from spanview.analysis.query.complete import Vocabulary
    from spanview.analysis.query.parse import RawTerm
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store

_GATHERED_FOR_S: Final = 0.5
_MAX_SPELLINGS: Final = 2_000
"""Texts that are looked at for a similar spelling, which takes up to 100 µs for each."""
_ANY_CASE: Final = "(?i)"
_SEPARATOR: Final = re.compile(r"[._-]")


@dataclass(frozen=True, slots=True)
class NoAttribute:
    """No span has an attribute."""

    key: str
    near: str | None
    """A key that was probably meant: the language's own, or an attribute that some span has."""


@dataclass(frozen=True, slots=True)
class TooExact:
    """A term asks for a text that none is equal to, or that none has inside, and another term is less exact."""

    operator: str
    """`=` or `~`."""
    instead: str
    """The term that some text matches."""


@dataclass(frozen=True, slots=True)
class Misspelled:
    """A term asks for a text that none is equal to, and one is spelled nearly so."""

    instead: str
    """The term with that text."""


@dataclass(frozen=True, slots=True)
class NoneTogether:
    """Each term matches some span, and no span matches all of them."""

    is_lineage: bool
    """Whether the query asks for spans below others."""


@dataclass(frozen=True, slots=True)
class SmallOr:
    """`or` is a word that names are searched for; `OR` isn't."""


@dataclass(frozen=True, slots=True)
class OrSign:
    """A word has `|` in it, which only patterns take for or."""

    terms: str
    """What the word probably means, as terms."""
    pattern: str
    """What the word probably means, as one term with a pattern."""


Miss: TypeAlias = SmallOr | OrSign | NoAttribute | TooExact | Misspelled | NoneTogether


def misses_of(store: Store, query: Query, traces: Collection[int] | None = None, tell: Tell = unheard) -> list[Miss]:
    """Return why a query matches nothing once all is read, by its terms; nothing where they don't explain it."""
    misses = [*dict.fromkeys(_of_terms(store, query, traces, tell))]
    if misses or query.trace_terms or len(query.span_terms) == 1:
        return misses
    below = [term.rests_on.term for term in query.span_terms if isinstance(term.rests_on, OfBelow)]
    others = [term for term in query.span_terms if not isinstance(term.rests_on, OfBelow)]
    alone = (Query("", (term,)) for term in (*others, *below))
    # It may match where nobody asked: before a time, or in another trace.
    if any(not matches_any(store, part, traces, tell) for part in alone) or matches_any(store, query, traces, tell):
        return []
    return [NoneTogether(bool(below))]


def _of_terms(store: Store, query: Query, traces: Collection[int] | None, tell: Tell) -> Iterator[Miss]:
    """Yield what single terms explain."""
    terms = [*terms_in(parse_parts(query.text))]
    # In quotes it is meant as a word.
    if any(query.text[term.value_start :][:3].lower().strip() == "or" for term in terms if not term.operator):
        yield SmallOr()
    for term in terms:
        words = [*filter(None, term.value.split("|"))]
        if not term.operator and len(words) > 1 and not query.text.startswith('"', term.value_start):
            pattern = "|".join(map(literally, words))
            yield OrSign(" OR ".join(words), f"name~{pattern}")
    if not any(term.operator in {"=", "~"} or term.key.lower() not in OWN_KEYS for term in terms if term.key):
        return
    absent = absent_attributes(store, query, traces, tell)

    def is_wanted() -> bool:
        tell(0.0)
        return True

    _, vocabulary = gather(store, _GATHERED_FOR_S, is_wanted)
    for term in terms:
        if term.own_key is None and term.key in absent:
            near = None if term.key_is_quoted else near_key(term.key)
            yield NoAttribute(term.key, near or _near_attribute(term.key, vocabulary.attributes))
        elif term.operator in {"=", "~"} and term.value and not term.negated:
            yield from _nearly(term, [*_texts_of(store, term, traces, vocabulary)])


def absent_attributes(
    store: Store, query: Query, traces: Collection[int] | None = None, tell: Tell = unheard
) -> tuple[str, ...]:
    """Return the attributes that a query asks for and no span has; every record that may have them is read."""
    keys = dict.fromkeys(key for term in query.span_terms for key in attributes_of(term))
    return tuple(key for key in keys if not matches_any(store, having(key), traces, tell))


def having(key: str) -> Query:
    """Return the query for the spans that have an attribute, whatever its value."""
    every = OfAttribute(key, None, lambda _: True)
    having = Term(False, Cost.DETAIL, lambda subject: values_of(subject.span, key) is not None, every)
    return Query(key, (having,))


def matches_any(store: Store, query: Query, traces: Collection[int] | None = None, tell: Tell = unheard) -> bool:
    """Return whether a span matches, of these traces if they are given."""
    from spanview.analysis.query.matches import matching_traces

    for matching, _ in matching_traces(store, query, [*(range(len(store.trace_table)) if traces is None else traces)]):
        tell(0.0)
        if matching:
            return True
    return False


def near_grouping(store: Store, by: str, groupings: Iterable[str]) -> str | None:
    """Return which grouping, or which attribute of some span, was probably meant."""
    _, vocabulary = gather(store, _GATHERED_FOR_S)
    return _near_attribute(by, (*groupings, *vocabulary.attributes))


def _near_attribute(key: str, attributes: Iterable[str]) -> str | None:
    """Return the attribute that was probably meant by a key: spelled nearly so, or with more before or after it."""
    wanted, known = key.lower(), {other.lower(): other for other in attributes if other != key}
    whole = "".join(_SEPARATOR.split(wanted))
    parts = (attribute for lower, attribute in known.items() if whole in _parts(lower))
    return known.get(wanted) or next(parts, None) or known.get(near_text(wanted, known) or "")


def _parts(key: str) -> set[str]:
    """Return the beginnings and ends of a key: `ray.job_id` ends in `id` and `jobid`, and begins with `ray`."""
    words = _SEPARATOR.split(key)
    return {"".join(part) for cut in range(len(words)) for part in (words[cut:], words[: cut + 1])}


def _texts_of(store: Store, term: RawTerm, traces: Collection[int] | None, vocabulary: Vocabulary) -> Iterable[str]:
    """Return what a term is held against; of attributes, events and scopes, what a sample of the store has."""
    key, spans = term.own_key, store.spans
    if key is None:
        return vocabulary.attributes.get(term.key, ())
    if key in {"name", "service"}:
        texts = store.names.texts if key == "name" else store.services.texts
        column = spans.name if key == "name" else spans.service
        rows = (row for trace in traces or () for row in store.rows_of_trace(trace))
        return texts if traces is None else map(texts.__getitem__, {column[row] for row in rows})
    return {
        "trace.root": vocabulary.roots,
        "file": [source.path for source in store.sources],
        "event": vocabulary.events,
        "scope": vocabulary.scopes,
    }.get(key, ())


def _nearly(term: RawTerm, texts: Sequence[str]) -> Iterator[TooExact | Misspelled]:
    """Yield the term that a text matches where none matches this one, if there is such a term."""
    key = quoted(term.key) if term.key_is_quoted else term.key
    is_exact = term.operator == "="
    matches = term.value.__eq__ if is_exact else regex_search(term)
    if any(map(matches, texts)):
        return
    if is_exact and any(term.value in text for text in texts):
        yield TooExact("=", f"{key}~{written_value(term.value, is_pattern=True)}")
        return
    pattern = _ANY_CASE + (literally(term.value) if is_exact else term.value)
    ignores_case = regex_search(replace(term, operator="~", value=pattern))
    if any(map(ignores_case, texts)):
        yield TooExact(term.operator, f"{key}~{quoted(pattern)}")
    elif is_exact and (near := near_text(term.value, texts[:_MAX_SPELLINGS])) is not None:
        yield Misspelled(f"{key}={written_value(near, is_pattern=False)}")
