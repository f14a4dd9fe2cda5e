"""What is proposed while a query is typed; the bar is the cursor.

typed                proposed                      taken
-----                --------                      -----
-sta|                status=                       -status=|
name=GE|             GET /cart                     name="GET /cart"|
"tra|                "trace.id", an attribute      "trace.id"=|
8f43|                any~8f43                      any~8f43|
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanview.analysis.query.complete import MAX_CANDIDATES, OPERATOR_OF, Candidate, Completion, Vocabulary, complete
from spanview.analysis.query.keys import OWN_KEYS
from spanview.analysis.query.parse import RawBelow, RawPart, RawTerm, parse_parts
from spanview.analysis.query.query import parse_query
from spanview.analysis.query.terms import compile_part
from spanview.analysis.query.written import anywhere
from spanview.model.problems import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ATTRIBUTES: Final = {
    "http.status_code": ["200", "500", "none"],
    "http.method": ["GET", "POST"],
    "name": ["inner name"],
    "trace.id": ["7"],
    "two words": ["a b"],
    'q"k': ['"'],
}
SHOP: Final = Vocabulary(
    ["GET /cart", "batch", "f(x)", 'say "hi" \\'],
    ["shop", "pay ments"],
    ["batch"],
    ["77.txt"],
    ATTRIBUTES,
    ["exception", "two words"],
    ["my.scope"],
)

REQUEST: Final = "091db297-50b6-4e67-9b8c-de8794178aeb"

PROPOSED = [
    ("|", ["name=|", "service=|", "kind=|", "status=|", "duration>|"]),
    ("sta|", ["status=|", "start>|", "wait.worker_start>|", "http.status_code=|", "any~sta|"]),
    ("STAT|", ["status=|", "http.status_code=|", "any~STAT|"]),
    ("-sta|", ["-status=|", "-start>|", "-wait.worker_start>|", "-http.status_code=|", "-any~sta|"]),
    ("status=OK -du|", ["status=OK -duration>|", "status=OK -trace.duration>|", "status=OK -any~du|"]),
    ("na| status=OK", ["name=| status=OK", '"name"=| status=OK', "any~na| status=OK"]),
    ("na|m=x", ["name|=x", '"name"|=x']),
    ("na|m>x", []),
    ("na|m>7", ['"name"|>7']),
    ("na|m>", ['"name"|>']),
    ("tra|>1s", ["trace.duration|>1s"]),
    ("x y|", ["x any~y|"]),
    ("x| y", ["any~x| y"]),
    ("x|x y", []),
    ("tw|", ['"two words"=|', "any~tw|"]),
    ('"tr|', ['"trace.id"=|', "any~tr|"]),
    ('"trace.id"|', ['"trace.id"=|', "any~trace\\.id|"]),
    ('"q\\"|', ['"q\\"k"=|', 'any~"q\\""|']),
    ('"f(x) \\\\"|', ['any~"f\\\\(x\\\\) \\\\\\\\"|']),
    ("AND|", []),
    ("(a OR (b -8f43|", ["(a OR (b -any~8f43|"]),
    ("status=|", ["status=ERROR|", "status=OK|", "status=UNSET|", "status=running|", "status=waiting|"]),
    ("status!=u|", ["status!=UNSET|"]),
    ("Status = |", ["Status = ERROR|", "Status = OK|", "Status = UNSET|", "Status = running|", "Status = waiting|"]),
    ("status = er| b", ["status = ERROR| b"]),
    ("duration > 10|", [f"duration > 10{unit}|" for unit in ("ms", "s", "us", "m", "h", "ns", "d")]),
    (
        "batch > sta|",
        [
            "batch > status=|",
            "batch > start>|",
            "batch > wait.worker_start>|",
            "batch > http.status_code=|",
            "batch > any~sta|",
        ],
    ),
    ("(a) >> status=er|", ["(a) >> status=ERROR|"]),
    ("name=batch > x >> kind=ser|", ["name=batch > x >> kind=SERVER|"]),
    ("a >> |", ["a >> name=|", "a >> service=|", "a >> kind=|", "a >> status=|", "a >> duration>|"]),
    ("x| > y", ["any~x| > y"]),
    ("-status=er| b", ["-status=ERROR| b"]),
    ("status=ERROR|", []),
    ("status>|", []),
    ("kind=ser|", ["kind=SERVER|"]),
    ("name=GE|", ['name="GET /cart"|']),
    ('name="GE|', ['name="GET /cart"|']),
    ('name="GE| status=OK', ['name="GET /cart"| status=OK']),
    ('name="GET /b|asket" x', []),
    ('name="GET /|basket" x', ['name="GET /cart"| x']),
    ('name="b|', ['name="batch"|']),
    ("name=f|", ['name="f(x)"|']),
    ("name~f|", ['name~"f\\\\(x\\\\)"|']),
    ("name=sa|", ['name="say \\"hi\\" \\\\"|']),
    ("service=|", ["service=shop|", 'service="pay ments"|']),
    ("trace.root=|", ["trace.root=batch|"]),
    ("trace.complete!=f|", ["trace.complete!=false|"]),
    ("trace.complete<|", []),
    ("event=|", ["event=exception|", 'event="two words"|']),
    ("scope~my|", ["scope~my\\.scope|"]),
    ("self>10m|", []),
    ("self>1|", [f"self>1{unit}|" for unit in ("ms", "s", "us", "m", "h", "ns", "d")]),
    ("file=7|", ["file=77.txt|"]),
    ("duration>10|", [f"duration>10{unit}|" for unit in ("ms", "s", "us", "m", "h", "ns", "d")]),
    ("duration>ten|", []),
    ("http.status_code=|", ["http.status_code=200|", "http.status_code=500|", "http.status_code=none|"]),
    ("http.status_code>=|", ["http.status_code>=200|", "http.status_code>=500|"]),
    ('"name"=|', ['"name"="inner name"|']),
    ("unheard=|", []),
    ("trace.unheard=|", []),
    ("start>|", []),
    ("(sta| x)", ["(status=| x)", "(start>| x)", "(wait.worker_start>| x)", "(http.status_code=| x)", "(any~sta| x)"]),
    ("a OR (b -status=e|)", ["a OR (b -status=ERROR|)"]),
    ("a OR|", []),
    ("(a)|", []),
    ('"a b"sta|', []),
    ("|name", []),
    ("-|name", []),
    ("name=|x", []),
    ("name|", ["name=|", '"name"=|', "any~name|"]),
    ("name!|", ['any~"name!"|']),
    ("duration>|=5ms", []),
    (f"{REQUEST}|", [f"request_id={REQUEST}|", f"any~{REQUEST}|"]),
    (
        f"-{REQUEST.upper()}| status=OK",
        [f"-request_id={REQUEST.upper()}| status=OK", f"-any~{REQUEST.upper()}| status=OK"],
    ),
    (f"{REQUEST[:-1]}|", [f"any~{REQUEST[:-1]}|"]),
    (f"{REQUEST}0|", [f"any~{REQUEST}0|"]),
    (f"{REQUEST}|=1", []),
    (f'"{REQUEST}|', [f"any~{REQUEST}|"]),
]
"""A query with the cursor in it, and what it becomes, one candidate after the other; of many, the first five."""


def _split(text: str) -> tuple[str, int]:
    return text.replace("|", ""), text.index("|")


def _taken(text: str, found: Completion, candidate: Candidate) -> tuple[str, int]:
    """Return the query in which a candidate was taken, and the cursor's place then."""
    return f"{text[: found.start]}{candidate.text}{text[found.end :]}", found.start + len(candidate.text)


@pytest.mark.parametrize(("typed", "becomes"), PROPOSED)
def test_what_is_proposed(typed: str, becomes: list[str]) -> None:
    """Only the term under the cursor is completed: its key, or its value with the quotes that it needs."""
    text, cursor = _split(typed)
    found = complete(text, cursor, SHOP)
    taken = [_taken(text, found, each) for each in found.candidates]
    assert [f"{query[:at]}|{query[at:]}" for query, at in taken][:5] == becomes[:5]
    assert len(taken) == found.total


def test_the_id_of_a_request() -> None:
    """A UUID is looked for in the attributes of that kind that were seen."""
    for keys in (["ray.request_id"], ["request_id", "ray.request_id"]):
        found = complete(REQUEST, len(REQUEST), Vocabulary(attributes=dict.fromkeys(keys, ())))
        assert [candidate.text for candidate in found.candidates[:-1]] == [f"{key}={REQUEST}" for key in keys]


@pytest.mark.parametrize(
    ("typed", "rest"),
    [("sta|", "tus="), ("STA|", ""), ("name=GE|", "T /cart"), ("name=ge|", ""), ("tus|", ""), ("duration>1|", "ms")],
)
def test_what_is_still_to_be_typed(typed: str, rest: str) -> None:
    """It is the end of what was begun just so; what is written in another case, or had before, has none."""
    assert complete(*_split(typed), SHOP).candidates[0].rest == rest


def test_how_many_spans_have_a_value() -> None:
    """It is known of whole values only, the language's own and those of attributes apart."""
    known = Vocabulary(
        names=["a"],
        attributes={"name": ["a"], "k": ["a", "b"]},
        counts={"name": {"a": 3}},
        attribute_counts={"name": {"a": 1}, "k": {"a": 2}},
    )
    terms = ("name=", "Name != ", "name~", '"name"=', "k=", "k")
    found = [[candidate.spans for candidate in complete(text, len(text), known).candidates] for text in terms]
    assert found[:-1] == [[3], [3], [None], [1], [2, None]]
    assert {*found[-1]} == {None}


def test_the_keys_are_those_of_the_language() -> None:
    """Each key that the language has is proposed, and its operator is one that it takes."""
    assert [*OPERATOR_OF] == [*OWN_KEYS]
    for key, operator in OPERATOR_OF.items():
        found = [complete(f"{key}{operator}", len(key) + 1, SHOP), complete(key, len(key), SHOP)]
        assert found[1].candidates[0].text == f"{key}{operator}"
        assert any(
            _is_query(f"{key}{operator}{value}")
            for value in ("1", "1s", "OK", "SERVER", "true", "2024-01-01", "no_end", "finished")
        )


def test_of_many_the_first_are_returned() -> None:
    """However many fit, all of them are counted; what looks everywhere is the last of them still."""
    found = complete("name=n", 6, Vocabulary([f"n{number}" for number in range(1000)]))
    assert (len(found.candidates), found.total) == (MAX_CANDIDATES, 1000)
    found = complete("n.", 2, Vocabulary(attributes=dict.fromkeys([f"n.{number}" for number in range(1000)], ())))
    assert (len(found.candidates), found.total, found.candidates[-1].text) == (MAX_CANDIDATES, 1001, "any~n\\.")


@given(st.one_of(st.text(min_size=1), st.text('ab "\\().*+?[]{}|^$~=-#&', min_size=1)))
def test_what_looks_everywhere_means_the_word(word: str) -> None:
    """Whatever the word has in it, it is one term, whose pattern stands for the word."""
    (term,) = parse_parts(anywhere(word))
    assert isinstance(term, RawTerm)
    assert (term.key, term.operator, compile_literal(term)) == ("any", "~", word)
    assert re.fullmatch(term.value, word)


# -- whatever is taken -------------------------------------------------------------------------------------------------

TEXTS: Final = st.one_of(
    st.text(min_size=1, max_size=8),
    st.text('ab1 "\\()=<>~!-.\n', min_size=1, max_size=8),
    st.sampled_from(["OR", "name", "trace.x", "-a", "a!", "500", "f(x)", "status", "trace.spans", "a b"]),
)
VOCABULARIES: Final = st.builds(
    Vocabulary,
    *[st.lists(TEXTS, max_size=4)] * 4,
    st.dictionaries(TEXTS, st.lists(TEXTS, min_size=1, max_size=4), max_size=5),
)
PIECES: Final = st.lists(
    st.sampled_from([*'ab=<>~!-"() .\\', *OPERATOR_OF, "OR ", " ", " -", "5", "5ms", "ERROR", '"a b"', "http."]),
    max_size=12,
).map("".join)


def _is_query(text: str) -> bool:
    try:
        parse_query(text)
    except QueryError:
        return False
    return True


def _terms(parts: Iterable[RawPart]) -> Iterator[RawTerm]:
    """Yield all terms, those in parentheses too, in their order."""
    for part in parts:
        if isinstance(part, RawTerm):
            yield part
        else:
            yield from _terms([part.part] if isinstance(part, RawBelow) else part.parts)


def _term_before(text: str, at: int) -> RawTerm:
    """Return the term that ends at a place of a query; parentheses that are open there are closed."""
    opened = 0
    while True:
        try:
            *_, term = _terms(parse_parts(text[:at] + ")" * opened))
        except QueryError:
            opened += 1
            if opened > at:
                raise
        else:
            return term


@settings(max_examples=500, deadline=None)
@given(PIECES, PIECES, VOCABULARIES)
def test_whatever_is_taken_is_a_query(before: str, after: str, vocabulary: Vocabulary) -> None:
    """Where a plain word in its place makes a query, each value does, and each key with a value behind it."""
    text, cursor = before + after, len(before)
    found = complete(text, cursor, vocabulary)
    assert 0 <= found.start <= found.end <= len(text)
    assert len(found.candidates) == min(found.total, MAX_CANDIDATES)
    for candidate in found.candidates:
        query, at = _taken(text, found, candidate)
        assert query != text
        if text[: found.start].endswith(tuple("=<>~")):
            key = text[: found.start].rstrip("=<>~!")
            plain = candidate.text if candidate.text.isascii() and candidate.text.isalnum() else "a"
            if not _is_query(f"{text[: found.start]}{plain}{text[found.end :]}"):
                continue
            assert _is_query(query), (key, query)
            term = _term_before(query, at)
            pattern = term.operator == "~"
            assert candidate.shown == (compile_literal(term) if pattern else term.value)
        elif candidate.text[-1] in "=>~":
            values = {">": "5ms 5 2024-05-28", "=": "a 5 ERROR SERVER true no_end finished", "~": "a"}[
                candidate.text[-1]
            ].split()
            if _is_query(f"{text[: found.start]}a{text[found.end :]}"):
                assert any(_is_query(f"{query[:at]}{value}{query[at:]}") for value in values), query
        elif _is_query(text):
            # An operator and a value stand behind it already.
            assert _is_query(query), query


def compile_literal(term: RawTerm) -> str:
    """Return the text that a regular expression stands for, if it stands for just one."""
    compile_part(term)
    text, rest = "", iter(term.value)
    for character in rest:
        assert character not in ".^$*+?{}[]|()"
        text += next(rest) if character == "\\" else character
    return text


@settings(max_examples=500, deadline=None)
@given(
    st.lists(st.sampled_from(["a", '"a b"', "-status=OK", "duration>5ms", "x=1"]), max_size=2),
    st.sampled_from(["", "-"]),
    st.sampled_from(["", " b", ' "c d" x!=1']),
    st.data(),
)
def test_whatever_is_taken_means_what_was_proposed(
    others: list[str], negation: str, after: str, data: st.DataObject
) -> None:
    """A key that was begun, then a value for it that was: the terms beside them stay as they are."""
    key, value, operator = data.draw(TEXTS), data.draw(TEXTS), data.draw(st.sampled_from(["=", "!=", "~"]))
    is_attribute = data.draw(st.booleans())
    if not is_attribute:
        key = data.draw(st.sampled_from(["name", "service", "trace.root", "file", "event", "scope"]))
    vocabulary = Vocabulary(
        [value], [value], [value], [value], {key: [value]} if is_attribute else {}, [value], [value]
    )
    before = "".join(f"{each} " for each in others) + negation
    begun = _begun(key, data, is_quoted=is_attribute)
    text, at = _take(
        before + begun, after, vocabulary, lambda each: each not in OPERATOR_OF if is_attribute else each == key
    )
    text = f"{text[: at - 1]}{operator}{text[at:]}"
    at += len(operator) - 1
    begun = _begun(value, data, is_quoted=data.draw(st.booleans())) if operator != "~" else ""
    text, at = _take(text[:at] + begun, text[at:], vocabulary, lambda each: each == value)
    parse_query(text)
    term = _term_before(text, at)
    assert (term.key, term.negated, term.operator) == (key, bool(negation), operator)
    assert term.key_is_quoted or not is_attribute or key not in OPERATOR_OF
    assert value == (compile_literal(term) if operator == "~" else term.value)
    beside = [each.value for each in _terms(parse_parts(text)) if each != term]
    assert beside == [each.value for part in (*others, after) for each in _terms(parse_parts(part))]


def _begun(text: str, data: st.DataObject, *, is_quoted: bool) -> str:
    """Return some of a text's first characters as they are typed, but not all, for then nothing can be taken."""
    some = text[: data.draw(st.integers(0, len(text) - 1))]
    if is_quoted and some:
        return '"' + some.replace("\\", "\\\\").replace('"', '\\"')
    return some if some.isalnum() else ""


def _take(before: str, after: str, vocabulary: Vocabulary, is_meant: Callable[[str], bool]) -> tuple[str, int]:
    """Return the query in which what is meant was taken, which must have been proposed, and the cursor's place."""
    found = complete(before + after, len(before), vocabulary)
    candidate = next(each for each in found.candidates if is_meant(each.shown))
    return _taken(before + after, found, candidate)
