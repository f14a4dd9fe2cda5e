"""Mistakes in queries, each with its place and what was expected there; and what the quotes mean.

duration>5
         ^ character 10: expected a duration such as 7ns, …
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanview.analysis.query.parse import RawBelow, RawPart, RawTerm, parse_parts
from spanview.analysis.query.query import parse_query
from spanview.model.problems import QueryError

MISTAKES = [
    ("OR b", 1, "expected a term before OR"),
    ("a OR", 5, "expected a term after OR"),
    ("a OR OR b", 6, "expected a term before OR"),
    ("(a OR ) b", 7, "expected a term after OR"),
    ("a -OR b", 4, "expected a term directly after -; to search for the word"),
    ("a AND b", 3, "a space means and"),
    ("NOT a", 1, "a - directly before a term means not"),
    ('OR"a"', 3, 'expected a space before "'),
    ("(a", 1, "expected a ) to close this parenthesis"),
    ("a (b (c)", 3, "expected a ) to close this parenthesis"),
    ("()", 2, "expected a term in the parentheses"),
    ("a -( )", 6, "expected a term in the parentheses"),
    ("a )", 3, "expected a ( before this )"),
    ("(a))", 4, "expected a ( before this )"),
    ("(a)b", 4, "expected a space before b"),
    ("(a)(b)", 4, "expected a space before ("),
    ("(-)", 3, "expected a term directly after -"),
    ("(a kind=FOO)", 9, "expected one of INTERNAL"),
    ("(" * 51 + "a" + ")" * 51, 51, "expected at most 50 nested parentheses"),
    ("name=f(x)", 7, "quote the value"),
    ("name=(x)", 6, "to use parentheses in a value, quote it"),
    ('"never ends', 1, 'expected a closing "'),
    ('name="never ends', 6, 'expected a closing "'),
    ('"a"b', 4, "expected a space before b"),
    ('a"b"', 2, 'expected a space before "'),
    ("=3", 1, "expected a key before =, as in name=x"),
    ("a <lambda>", 4, "expected a number after a<"),
    ("name=", 6, "expected a value after ="),
    ("name =  ", 9, "expected a value after ="),
    ("name= (x)", 7, "to use parentheses in a value, quote it"),
    ("durration>1s", 11, "expected a number after durration>; did you mean duration?"),
    ("durration > 1s", 13, "expected a number after durration>; did you mean duration?"),
    ("dur>1s", 5, "expected a number after dur>; did you mean duration?"),
    ("sta>x", 5, "expected a number after sta>"),
    ("cart > 5xx", 8, "expected a number after cart>; for a child, write name~cart > name~5xx"),
    ("name > b", 6, "which can't be compared with >; for a child, write name~name > name~b"),
    ("duration > b", 12, "expected a duration such as"),
    ("a >b", 4, "expected a number after a>"),
    ("a>>b", 2, "expected spaces around >>, as in a >> b"),
    ("a >>b", 3, "expected spaces around >>, as in a >> b"),
    ("name=a >b", 8, "expected spaces around >, as in a > b"),
    ("(a)>(b)", 4, "expected spaces around >, as in a > b"),
    (">> b", 1, "expected a term before >>"),
    ("a OR > b", 6, "expected a term before >"),
    ("a >> > b", 6, "expected a term before >"),
    ("a >>", 5, "expected a term after >>"),
    ("(a > ) b", 6, "expected a term after >"),
    ("a > OR b", 5, "expected a term after >"),
    (" > ".join("a" * 51), 201, "expected at most 50 generations"),
    ("a AND = 3", 3, "a space means and"),
    ("name==x", 6, "expected a value after =, not ="),
    ("name=~x", 6, "expected a value after =, not ~"),
    ("-", 2, "expected a term directly after -"),
    ("- a", 2, "expected a term directly after -"),
    ("kind=FOO", 6, "expected one of INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER, UNSPECIFIED, not 'FOO'"),
    ("kind=SERVE", 6, "not 'SERVE'; did you mean SERVER?"),
    ("finding=no_atempt", 9, "not 'no_atempt'; did you mean no_attempt?"),
    ("status=FAILED", 8, "expected one of UNSET, OK, ERROR, running, waiting, lost, not 'FAILED'"),
    ("status > 3", 8, "expected =, != or ~ after status, which can't be compared with >"),
    ("kind>SERVER", 5, "expected =, != or ~ after kind"),
    ("name<b", 5, "expected =, != or ~ after name"),
    ("any>x", 4, "expected =, != or ~ after any"),
    ("event>=x", 6, "expected =, != or ~ after event"),
    ("description<x", 12, "expected =, != or ~ after description"),
    ("scope>x", 6, "expected =, != or ~ after scope"),
    ("any~[", 5, "expected a regular expression"),
    ("self>5", 6, "expected a duration such as"),
    ("self~5ms", 5, "expected =, !=, <, >, <= or >= after self"),
    ("duration>5", 10, "expected a duration such as 7ns, 5us, 3ms"),
    ("duration~5ms", 9, "expected =, !=, <, >, <= or >= after duration"),
    ("start>yesterday", 7, "expected a time such as 18:05:04, 2024-05-28T18:05:04"),
    ("start>25:00", 7, "expected a time such as"),
    ("start~11:57", 6, "expected =, !=, <, >, <= or >= after start, which isn't text"),
    ("start>2024-13-01", 7, "expected a time such as"),
    ("pid=worker", 5, "expected a number"),
    ("depth>deep", 7, "expected a number"),
    ("trace=xyz", 7, "expected the first hex digits of an id, at most 32"),
    ("span=00000000000000001", 6, "expected the first hex digits of an id, at most 16"),
    ("name~[", 6, "expected a regular expression: missing ] ["),
    ("name~a[b", 7, "expected a regular expression: missing ] [b"),
    ("name~a++", 7, "possessive repetition isn't supported"),
    (r"name~a\Z", 7, r"the end of the text is written $ or \z"),
    ("name~a{1001}", 7, "invalid repetition size {1001}"),
    ('name~"a(?=b)"', 8, "lookahead isn't supported"),
    ('name~"[(?!]a(?!b)"', 13, "lookahead isn't supported"),
    (r'name~"\"\\\\(?<=a)b"', 13, "lookbehind isn't supported"),
    (r'name~"(a)\\1"', 10, "references to groups aren't supported"),
    ('name~"(?P<a>b)(?P=a)"', 15, "references to groups aren't supported"),
    ('name~"(?>a)"', 7, "atomic groups aren't supported"),
    ('name~"(?:(?:a{999}){999}){999}"', 20, "invalid repetition size {999}"),
    ("x.y~(", 5, "to use parentheses in a value, quote it"),
    ('x.y~"("', 6, "expected a regular expression: missing ) ("),
    ("http.status_code>=5xx", 19, "expected a number after http.status_code>="),
    ("trace.error>0", 1, "expected one of trace.duration, trace.spans, trace.errors, trace.root, trace.complete"),
    ("trace.complete=maybe", 16, "expected true or false"),
    ("trace.complete>true", 15, "expected = or != after trace.complete"),
    ("trace.spans>many", 13, "expected a number"),
    ("trace.duration>1 x", 16, "expected a duration"),
    ("  ok   kind=FOO", 13, "expected one of INTERNAL"),
]
"""A query, the character of the mistake counted from 1, and what the message says."""


@pytest.mark.parametrize(("text", "place", "message"), MISTAKES)
def test_mistakes(text: str, place: int, message: str) -> None:
    """A mistake is answered with its place and what was expected there, in one line."""
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert str(caught.value).startswith(f"query, character {place}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", [(False, "", "", "a")]),
        ("-a", [(True, "", "", "a")]),
        ("a-b Hello!", [(False, "", "", "a-b"), (False, "", "", "Hello!")]),
        ('or "AND"', [(False, "", "", "or"), (False, "", "", "AND")]),
        ('"OR" "(a)"', [(False, "", "", "OR"), (False, "", "", "(a)")]),
        ("a=1\tb!=2\nc~3", [(False, "a", "=", "1"), (False, "b", "!=", "2"), (False, "c", "~", "3")]),
        ("a<1 b<=2", [(False, "a", "<", "1"), (False, "b", "<=", "2")]),
        ("c>3 -d>=-4", [(False, "c", ">", "3"), (True, "d", ">=", "-4")]),
        ("url=http://x/?a=1&b=2", [(False, "url", "=", "http://x/?a=1&b=2")]),
        ('a="x \\" y \\\\ \\d"', [(False, "a", "=", 'x " y \\ \\d')]),
        ('"a b"=""', [(False, "a b", "=", "")]),
        ("b64=abc==", [(False, "b64", "=", "abc==")]),
        ("a = 1 b !=  2", [(False, "a", "=", "1"), (False, "b", "!=", "2")]),
        ("a =1 b= 2 c", [(False, "a", "=", "1"), (False, "b", "=", "2"), (False, "", "", "c")]),
        ('-a ~ "x y" "a b" = 1', [(True, "a", "~", "x y"), (False, "a b", "=", "1")]),
        ("duration>17.2 ms b", [(False, "duration", ">", "17.2ms"), (False, "", "", "b")]),
        ("self <= 5 µs x>5 s", [(False, "self", "<=", "5µs"), (False, "x", ">", "5"), (False, "", "", "s")]),
        ("duration > 1s Self > 1ms", [(False, "duration", ">", "1s"), (False, "Self", ">", "1ms")]),
        ('http.code > 499 "http.code" > -5', [(False, "http.code", ">", "499"), (False, "http.code", ">", "-5")]),
        ("start>2024-05-28 18:05:04 b", [(False, "start", ">", "2024-05-28 18:05:04"), (False, "", "", "b")]),
    ],
)
def test_terms(text: str, expected: list[tuple[bool, str, str, str]]) -> None:
    """A query falls into terms at its blanks; quotes hold together what belongs together."""
    parts = parse_parts(text)
    terms = [part for part in parts if isinstance(part, RawTerm)]
    assert terms == parts
    assert [(term.negated, term.key, term.operator, term.value) for term in terms] == expected


def written(part: RawPart) -> str:
    """Return a part with all its parentheses, `|` between those of which any must hold."""
    sign = "-" if part.negated else ""
    if isinstance(part, RawTerm):
        return f"{sign}{part.key}{part.operator}{part.value}"
    if isinstance(part, RawBelow):
        return f"{'>' if part.is_child else '>>'}{written(part.part)}"
    return f"{sign}({(' | ' if part.is_any else ' ').join(map(written, part.parts))})"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", ["a", "b"]),
        ("(a)", ["a"]),
        ("((a b)) c", ["a", "b", "c"]),
        ("a OR b", ["(a | b)"]),
        ("a b OR c", ["((a b) | c)"]),
        ("a (b OR c) d=1", ["a", "(b | c)", "d=1"]),
        ("a OR b OR -c", ["(a | b | -c)"]),
        ("-(a)", ["-a"]),
        ("-(-a)", ["a"]),
        ("-(a b)", ["-(a b)"]),
        ("-(a OR b)", ["-(a | b)"]),
        ("-(-(a b))", ["a", "b"]),
        ("(a OR (b c)) -(d OR e=2 (f OR g))", ["(a | (b c))", "-(d | (e=2 (f | g)))"]),
        ("( a OR\tb )", ["(a | b)"]),
        ('ORDER "OR" x=OR OR or', ["((ORDER OR x=OR) | or)"]),
        ("(" * 50 + "a" + ")" * 50, ["a"]),
        ("a > b", ["a", ">b"]),
        ("a >> b c", ["a", ">>b", "c"]),
        ("a b >> -c OR d", ["((a b >>-c) | d)"]),
        ("a > b=1 >> c > 5", ["a", ">(b=1 >>c>5)"]),
        ("-a > (b OR c)", ["-a", ">(b | c)"]),
        ("-(a > (b c))", ["-(a >(b c))"]),
        ('"a b" > "c d" (e) >> f', ["a b", ">c d", "e", ">>f"]),
        ("duration > 1s > name", ["duration>1s", ">name"]),
    ],
)
def test_groups(text: str, expected: list[str]) -> None:
    """OR stands between parts, blanks bind closer, then what is below, and parentheses closest."""
    assert [*map(written, parse_parts(text))] == expected


@settings(max_examples=1000, deadline=None)
@given(st.text())
def test_any_text(text: str) -> None:
    """Whatever is typed is a query, or a mistake that is answered with a place in it."""
    assert 1 <= _place_of_mistake(text) <= len(text) + 1


@settings(max_examples=1000, deadline=None)
@given(
    st.lists(st.sampled_from([*'ab=<>~!-"() .', "name", "kind", "duration", "trace.", "OR", "5ms", " > ", " >> "])).map(
        "".join
    )
)
def test_any_pieces(text: str) -> None:
    """Whatever is put together from the language's own pieces is a query, or a mistake with a place in it."""
    assert 1 <= _place_of_mistake(text) <= len(text) + 1


def _place_of_mistake(text: str) -> int:
    """Return the character of a query's mistake, or 1 where it has none."""
    try:
        parse_query(text)
    except QueryError as error:
        message = str(error)
        return int(message.removeprefix("query, character ").partition(":")[0])
    return 1
