"""The page's queries against those of Python: the same spans, trace by trace, or a word why the page can't tell.

query          held against
-----          ------------
of all kinds   the rows that match in a recording, and where its mistakes are
of patterns    RE2, over texts made for them
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

from browsers import Windows, chromium, shown
from builders import Builder, store_of, time_text
from html_blocks import open_page
from seeds import THOROUGH, sample
from spanview.analysis.query.keys import OWN_KEYS
from spanview.analysis.query.matches import rows_that_match
from spanview.analysis.query.query import parse_query
from spanview.analysis.query.written import quoted
from spanview.commands.standard_error import why_nothing
from spanview.model.ids import format_span_id, format_trace_id
from spanview.model.problems import QueryError
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builders import Document
    from spanview.index.store import Store

# One browser for all.
pytestmark = pytest.mark.xdist_group("browser")

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
RECORDINGS: Final = sorted(path.name for path in FIXTURES.iterdir() if path.is_dir() and path.name != "pictures")
_ASK: Final = """async texts => {
  const { queries, data, span_id } = globalThis.inside, answers = [];
  for (const text of texts) {
    try {
      const found = await queries.ask(queries.understood(text), 0, data.rows.size, () => true);
      const of = verdict => [...found.keys()].filter(row => found[row] === verdict)
        .map(row => [data.traces.id[data.rows.trace[row]], span_id(row)].join());
      answers.push([of(1), of(2), ""]);
    } catch (error) {
      if (error instanceof queries.Mistake) answers.push([[...text.slice(0, error.position)].length]);
      else if (error instanceof queries.Unanswered) answers.push([[], [], error.message]);
      else throw error;
    }
  }
  return answers;
}"""
QUERIES: Final = """
leaf | LEAF | "GET /" | any~leaf | any~Leaf | any=leaf | -leaf | any!=leaf | any~"(?i)LEAF" | "" | any~ray | any=4
name=pipeline | name!=pipeline | name~^p | name~"\\w+ ray\\.remote$" | name~"[^a-z]" | name~"a|b"
name~"(GET|POST) /" | service=shop | service!=shop | service~. | service="" | kind=SERVER | kind!=server
-kind=INTERNAL | kind~^S | kind=unspecified | status=ERROR | status=unset | status!=ok | status~R | status=running
status=lost | status!=waiting | status=waiting | description~. | description="" | description!="" | description~Error
description~timeout | duration>10ms | duration<1s | duration=0 | duration!=0 | duration >= 1.5 ms
duration<2.0000005ms | duration<=3m | duration>=1h | self>10ms | self<1ms | self=0 | self!=0 | start>18:05:04
start<2030-01-01 | start>=2023-11-14T22:13:20.1Z | start<2023-11-15T07:13:20,123456789+09:00 | start>2025
start<23:59 | start>3:05 | depth<3 | depth=0 | depth>1 | depth!=1.0 | trace=1 | trace~0 | trace!=18726b | trace=0x1
span=2 | span~a$ | span!=5 | pid>1 | pid=8714 | pid!=8714 | -pid>0 | file~json | file~txt$ | file=1.json
file!=1.json | event=exception | event!=exception | event~. | -event~. | scope=my.tracer | scope~. | scope!=x
finding=no_attempt | finding!=no_attempt | finding=unset_attempts | finding=missing | wait>1s | wait=0 | wait<1h
-wait>=0 | wait.arguments>1ms | wait.resources>1ms | wait.worker_start>1ms | wait.creation>1ms | wait.actor>1ms
wait.retry>1ms | wait.loading>1ms | wait.unknown>1ms | wait.unknown=0
outcome=finished | outcome!=finished | outcome=failed
outcome=unknown | outcome=pending | outcome=cancelled | outcome~f | -outcome=finished | trace.duration>1s
trace.duration<=100ms | trace.spans>3 | trace.spans=1 | trace.errors>0 | trace.errors=0 | trace.root=train
trace.root~a | trace.root!=pipeline | trace.root="" | trace.root=pipeline | trace.root~"^__main__"
trace.complete=true | trace.complete=FALSE | trace.complete!=true | trace.nothing=1 | "trace.nothing"=1 | ray.remote
ray.pid>0 | ray.task_id~. | ray.job_id=01000000 | ray.job_id!=01000000 | -ray.job_id=01000000 | ray.pid=1e3
http.status_code>=500 | http.status_code=200 | http.status_code!=200 | http.method~^G | exception.type=ValueError
exception.type~Error$ | exception.message~. | telemetry.sdk.language=python | telemetry.sdk.language!=python
"event"=x | telemetry.sdk.version>=1 | process.pid<100000 | schema_url~. | "name"=x | x=1 | x!=1 | x~1 | x<=1 | x>a
leaf OR pipeline | (leaf OR name~a) duration>1us | -(leaf pipeline) | -(leaf OR pipeline) | (((leaf)))
status=ERROR OR duration>1s -leaf | leaf OR | OR leaf | "OR" | -"OR" | AND | NOT leaf | leaf AND pipeline | - | --
-(-leaf) | pipeline > leaf | pipeline >> leaf | pipeline >> status=ERROR | -(a > b) | a > -b | a >> b >> c
duration>1us > duration>1us | name~. >> any~. | name~. > (event~. OR status=ERROR) | > a | a > | a >b | a> b | a>>b
a >> | duration > 1us > leaf | ( | ) | (leaf | leaf) | () | leaf(x) | "leaf | "leaf"x | name= | name="" | name=(
name==x | =x | name>x | kind>1 | kind=x | kind<SERVER | status=x | duration>x | duration~1 | start~1 | start>x
trace=xyz | span=123456789012345678 | depth>x | trace.complete>true | trace.complete=maybe | any>1 | event>1 | scope<1
file>1 | finding=x | finding~x | outcome=x | name~"(" | name~"a**" | name~"a{2}{3}" | name~"[b-a]" | name~"(?=a)"
name~"\\1" | name~"\\Z" | name~")" | name~"[a" | name~"(?P<x>a)" | name~"a{1001}" | name~"\\" | name~a++ | name~"*a"
name~"[[:foo:]]" | name~"\\pX" | name~"\\p{Greek}"
""".replace("\n", " | ")


@pytest.fixture(scope="module")
def windows() -> Iterator[Windows]:
    """Start one browser for all tests, and return its windows."""
    with chromium() as started:
        yield Windows(started)


def answers_of(store: Store, queries: list[str], path: Path, windows: Windows) -> list[Any]:
    """Return what a page of a store answers, by what is inside it."""
    path.write_bytes(open_page(store, "queries", "data", "span_id"))
    with shown(windows, path) as look:
        answers: list[Any] = look.page.evaluate(_ASK, queries)
    return answers


def holds(store: Store, query: str, answer: list[Any]) -> None:
    """Assert that an answer is Python's, as far as the page gives one."""
    try:
        parsed, mistake = parse_query(query), None
    except QueryError as error:
        parsed, mistake = None, error
    if parsed is None:
        assert len(answer) == 1 or answer[2], (query, answer)
        is_pattern = "regular expression" in str(mistake)
        assert is_pattern or answer == [mistake and mistake.position], (query, str(mistake))
        return
    assert len(answer) == 3, (query, answer)
    matching, unsure, why = answer
    spans, table = store.spans, store.trace_table
    rows = rows_that_match(store, parsed, range(len(spans)))
    expected = Counter(
        f"{format_trace_id(number) if (number := table.trace_id(spans.trace[row])) else ''},"
        f"{format_span_id(spans.span_id[row])}"
        for row in rows
    )
    if not why:
        assert not Counter(matching) - expected, query
        assert not expected - Counter(matching) - Counter(unsure), query


@pytest.mark.shortened
@pytest.mark.parametrize("name", sample(RECORDINGS, 5))
def test_the_same_spans_match(name: str, windows: Windows, tmp_path: Path) -> None:
    """Each query keeps the same spans of a recording on the page and in Python; what is a mistake is one in both."""
    store = load_store([str(FIXTURES / name)])
    queries = [query.strip() for query in QUERIES.split(" | ")]
    answers = answers_of(store, queries, tmp_path / "page.html", windows)
    for query, answer in zip(queries, answers, strict=True):
        holds(store, query, answer)
    # A page of recordings that are whole knows nearly everything.
    assert sum(bool(answer[1:] and (answer[1] or answer[2])) for answer in answers) <= 6, [
        (query, answer[1:])
        for query, answer in zip(queries, answers, strict=True)
        if answer[1:] and (answer[1] or answer[2])
    ]


MISSES: Final = {
    "serve": """
stauts=ERROR | nmae~x | dur>1ms | deployment=Ingress | ray.serve.deploymnt=Ingress | "stauts"=x | http.methd=GET
name=proxy | name~ROUTE_TO | name=ROUTE_TO_REPLICA | service=unknown | http.method=get | http.method=GTE
http.route~PREDICT | name~"(POXY" OR nothing | proxy or route_to | proxy|route_to_x | file=nothing.json
proxy_http_request route_to_replica | route_to_replica > proxy_http_request | route_to_replica >> proxy | nowhere
(nowhere OR nmae~x) proxy | "no where" | nowhere status=ERROR | trace.root=GET | event=excepton | -stauts=x
trace.errors>100 | duration>1h | name="route_to_replica Ingres __call__" | name="it's"
""",
    "ray-events-hook": """
name=never | __main__.NEVER | ray.remte=function | outcome=pending dies | kind=SERVER | ray.functon~x | job_id=02000000
name~"^queue" | name=__main__.nevr | wide >> never | service=x | process.pid=1 hostnme=x | exception.typ=ValueError
""",
}


@pytest.mark.parametrize("name", MISSES)
def test_why_nothing_matches(name: str, windows: Windows, tmp_path: Path) -> None:
    """Of a query that nothing matches the page says what the commands say: which word, or key, nothing has."""
    store, path = load_store([str(FIXTURES / name)]), tmp_path / "page.html"
    path.write_bytes(open_page(store, "queries", "data"))
    said = dict[str, str]()
    for query in filter(None, map(str.strip, MISSES[name].replace("\n", " | ").split(" | "))):
        try:
            parsed = parse_query(query)
        except QueryError:
            continue
        if not rows_that_match(store, parsed, range(len(store.spans))):
            said[query] = "; ".join(why_nothing(store, parsed))
    with shown(windows, path) as look:
        ask = """async texts => {
          const { queries, data } = globalThis.inside, said = [];
          for (const text of texts) said.push((await queries.why_nothing(text, 0, data.rows.size)).join("; "));
          return said;
        }"""
        assert dict(zip(said, look.page.evaluate(ask, [*said]), strict=True)) == said
    assert len(said) > 10
    assert sum("did you mean" in why for why in said.values()) >= 3


def odd_spans() -> list[Document]:
    """Return spans whose values are of all kinds, and texts of which some look like others."""
    build = Builder()
    values: list[Any] = [
        *(5, 5.0, "5", "05", 2**60 + 1, -0.5, 1e22, "1e22", "+5", True, "true", "null", None, "", " ", "NaN", "Straße"),
        *(
            [1, "2"],
            [],
            [[1, 2], {"a": ["deep", 3.0]}],
            {"a": 1},
            "[1,2]",
            ["[1,2]"],
            [True],
            ["5"],
            "a\nb",
            "\u00e9",
            "\u017f",
        ),
    ]
    names = ["Straße", "STRASSE", "ﬁsh", "FISH", "ΑΣ", "ας", "K", "k", "\u0131", "i", "İ", "a\nb", "", "x" * 900, "İ̇"]
    spans = [build.span(name, span=number, start=number) for number, name in enumerate(names, 1)]
    spans += [
        build.span(
            "v",
            trace=2,
            span=100 + number,
            start=number,
            attributes={"k": value},
            events=[{"name": f"e{number}", "timestamp": time_text(number), "attributes": {"ek": value}}],
        )
        for number, value in enumerate(values)
    ]
    stack = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n\traise\nValueError: bad'
    spans += [
        build.span(
            "stack",
            trace=3,
            span=200,
            attributes={"k": stack, "plain": "tab\there"},
            description="\x1b[31mred\x1b[0m",
            status="ERROR",
        ),
        build.span("one", trace=4, span=201, parent=202),
        build.span("two", trace=4, span=202, parent=201),
        build.span("open", trace=5, span=203, duration=None),
        build.span("orphan", trace=5, span=204, parent=999, start=7),
    ]
    return spans


_OF_ODD: Final = (
    *(
        "Straße",
        "strasse",
        "fish",
        "ας",
        "ΑΣ",
        "K",
        "\u0131",
        "i",
        '"a\nb"',
        'name=""',
        'name~"(?i)STRASSE"',
        'name~"^.$"',
        "name~x{900}",
    ),
    *(
        f"{key}{operator}{value}"
        for key in ("k", "ek", "any")
        for operator in ("=", "!=", "~")
        for value in (
            "5",
            "5.0",
            "05",
            "true",
            "null",
            '""',
            "NaN",
            "1",
            "2",
            "3.0",
            "deep",
            '"[1,2]"',
            "1e22",
            "1152921504606846977",
            "\u017f",
            '"a.b"',
            '"(?s)a.b"',
        )
    ),
    *(
        f"{key}{operator}{value}"
        for key in ("k", "ek")
        for operator in ("<", ">=")
        for value in ("5", "1.5", "-1", "1152921504606846976", "1e22")
    ),
    *(
        "k~ValueError",
        "k~raise$",
        "plain~here",
        "any~red",
        "description~red",
        'description~"\\x1b"',
        "any~00c9",
        "any~3e7",
        "any=00000000000000c9",
    ),
    *(
        "duration>0",
        "-duration>0",
        "trace.duration>0",
        "trace.complete=false",
        "one >> two",
        "depth=1",
        "name~. > orphan",
        "start>2023-11-14",
    ),
)
_PIECES: Final = (
    *(
        "a",
        "b",
        "B",
        "1",
        "_",
        " ",
        "é",
        "ß",
        "\n",
        ".",
        "^",
        "$",
        "\\d",
        "\\D",
        "\\w",
        "\\W",
        "\\s",
        "\\S",
        "\\b",
        "\\B",
    ),
    *(
        "[ab]",
        "[^ab]",
        "[a-z0-9]",
        "[^\\w]",
        "[\\d-]",
        "[]a]",
        "[[:alpha:]_]",
        "\\.",
        "\\pL",
        "\\p{Lu}",
        "\\x41",
        "\\x{e9}",
    ),
    *(
        "(",
        ")",
        "(?:",
        "|",
        "*",
        "+",
        "?",
        "{2}",
        "{1,}",
        "{0,2}",
        "*?",
        "\\A",
        "\\z",
        "{",
        "}",
        "]",
        "\\n",
        "\\-",
        "(?P<n>",
    ),
)
_TEXTS: Final = (
    "",
    "a",
    "ab",
    "aab1",
    "B b",
    "a_b",
    "é",
    "ß9",
    "a\nb",
    "\n",
    "A1",
    "{a}",
    "]",
    "-.",
    "  ",
    "ba ab é1",
    "\r",
)


def test_each_key_is_asked() -> None:
    """What the language learns, pages learn, too: there is a query with it that both are asked."""
    assert [key for key in OWN_KEYS if not re.search(rf"(?:^|[\s(|-]){re.escape(key)}\s*[=~<>!]", QUERIES)] == []


def test_odd_values(windows: Windows, tmp_path: Path) -> None:
    """Numbers, words, lists and texts that look like them are told apart, and so are letters that fold."""
    store = store_of(*odd_spans())
    for query, answer in zip(_OF_ODD, answers_of(store, [*_OF_ODD], tmp_path / "page.html", windows), strict=True):
        holds(store, query, answer)


def test_patterns(windows: Windows, tmp_path: Path) -> None:
    """What a page finds by a pattern RE2 finds, too, and what one refuses isn't answered by the other."""
    chance, build = Random(7), Builder()
    patterns = ["".join(chance.choices(_PIECES, k=chance.randint(1, 5))) for _ in range(3000 if THOROUGH else 600)]
    patterns = [f"{chance.choice(('', '', '(?i)', '(?s)'))}{pattern}" for pattern in patterns]
    store = store_of(*(build.span(text, span=number) for number, text in enumerate(_TEXTS, 1)))
    queries = [f"name~{quoted(pattern)}" for pattern in patterns]
    answers = answers_of(store, queries, tmp_path / "page.html", windows)
    for query, answer in zip(queries, answers, strict=True):
        holds(store, query, answer)
    answered = sum(len(answer) == 3 and not answer[2] for answer in answers)
    assert answered > len(queries) / 5
