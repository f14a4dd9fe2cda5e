"""Figures of many spans, against those that plain Python makes of the same durations.

GET /cart × 40   1 to 40 µs, size 10 to 400; the last two failed
main.leaf ray.remote (PRODUCER) 0-10, its attempt 2 s later, 20 µs (CONSUMER)
open             without an end
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, store_of
from spanview.analysis.query.aggregate import figure_meant, is_aggregate, parse_limited
from spanview.analysis.query.gate import Gate, compare
from spanview.analysis.query.misses import NoAttribute
from spanview.analysis.query.query import parse_query
from spanview.display.miss_text import caret_lines
from spanview.model.problems import QueryError

if TYPE_CHECKING:
    from spanview.index.store import Store

DURATIONS: Final = [1000 * number for number in range(1, 41)]
CALL: Final = "main.leaf ray.remote"
FIGURES: Final[tuple[tuple[str, float | None], ...]] = (
    *((f"p{percent}(name~GET)>1h", DURATIONS[math.ceil(percent * 40 / 100) - 1]) for percent in (1, 50, 90, 95, 99)),
    ("min(name~GET)>1h", 1000),
    ("max(name~GET)>1h", 40_000),
    ("mean(name~GET)>1h", sum(DURATIONS) / 40),
    ("sum(name~GET)>1h", sum(DURATIONS)),
    ("max(duration, name~GET)>1h", 40_000),
    ("max(size)>1000", 400),
    ("p50(size, status=ERROR)>1000", 390),
    ("sum(duration)>1h", sum(DURATIONS) + 30_000),
    ("max(self, name~GET)>1h", 40_000),
    ("max(self_time, name~remote$)>1h", 10_000),
    ("max(wait)>1h", 2_000_000_000),
    ("sum(wait, name~remote_worker)>1h", 2_000_000_000),
    ("count(name~GET)>99", 40),
    ("count()>99", 43),
    ("count(size, status=ERROR)>99", 2),
    ('count(status=ERROR (name~GET OR name~"a,b"))>99', 2),
    ("rate(status=ERROR)>10%", 2 / 43),
    ("rate(status=ERROR, name~GET)>10%", 0.05),
    ("rate(status=ERROR, -status=ERROR)>10%", 0),
)
"""Figures below their limits."""
MISTAKES: Final = (
    # a gate, the character of the mistake from 0, what is expected there
    ("p95(name=x>1s", 3, "expected a ) to close"),
    ('p95(name="x)>1s', 9, 'expected a closing "'),
    ("p95(name=)>1s", 9, "expected a value after ="),
    ("p95(depth~x)>1s", 9, "expected =, !="),
    ("p95(name=x)>200", 12, "expected a duration such as"),
    ("p95(name=x) 200", 12, "expected >, >="),
    ("p95(name=x)", 11, "and a limit here"),
    ("p95(name=x)~2s", 11, "expected >, >="),
    ("pp95(name=x)>1s", 0, "did you mean p95?"),
    ("p0(name=x)>1s", 0, "expected one of p50"),
    ("p95(name, status=OK)>1s", 4, "expected duration, self_time"),
    ("p95(wait, a, b)>1s", 11, "expected a ) here; if the comma"),
    ("rate()>1%", 5, "expected a query for the spans that count"),
    ("rate(a)>1s", 8, "expected a share such as 1%"),
    ("max(size)>1s", 10, "expected a number"),
    ("max(wiat)>1s", 10, "did you mean wait?"),
    ("p95(durration, name=x)>1s", 23, "did you mean duration?"),
    ("cou(status=ERROR)>1", 0, "did you mean count?"),
    ("count(status=ERROR)<0", 20, "count is never <0"),
    ("count(status=ERROR)>=0", 21, "count is always >=0"),
    ("count(status=ERROR)=1.5", 20, "count is never =1.5"),
    ("count(status=ERROR)!=-1", 21, "count is always !=-1"),
    ("rate(status=ERROR)>=0%", 20, "rate is always >=0%"),
    ("rate(status=ERROR)<=1", 20, "did you mean 1%?"),
    ("rate(status=ERROR)=2", 19, "did you mean 2%?"),
    ("max(wait)<0s", 10, "max is never <0s"),
    ("min(self)>=0s", 11, "min is always >=0s"),
)


@pytest.fixture(scope="module")
def store() -> Store:
    """Return a store with the spans above."""
    build = Builder()
    served = [
        build.span(
            "GET /cart",
            trace=number,
            start=0,
            duration=number,
            status="ERROR" if number > 38 else "OK",
            attributes={"size": str(10 * number) if number % 2 else 10 * number},
        )
        for number in range(1, 41)
    ]
    call = build.span(CALL, trace=50, span=900, kind="PRODUCER", start=0, duration=10)
    size = {"size": "x"}
    ran = build.span(
        f"{CALL}_worker", trace=50, parent=900, kind="CONSUMER", start=2_000_010, duration=20, attributes=size
    )
    return store_of(*served, call, ran, build.span("open", trace=60, duration=None))


@pytest.mark.parametrize(("text", "expected"), FIGURES)
def test_figures(store: Store, text: str, expected: float) -> None:
    """They are those of the spans' values, and are below the limit; turned round, the gate is shut."""
    assert is_aggregate(text)
    gate = compare(store, parse_limited(text), None)
    assert gate.value == pytest.approx(expected)
    assert (gate.is_shut, gate.is_open_to_any) == (False, True)
    assert compare(store, parse_limited(text.replace(")>", ")<=")), None).is_shut


@pytest.mark.parametrize(
    ("text", "misses", "selects_none"),
    [
        ("p95(name=typo)>1s", (), "name=typo"),
        ("p95(name=typo status=ERROR)>1s", (), "name=typo"),
        ("p95(status=UNSET name~GET)>1s", (), "status=UNSET name~GET"),
        ("max(sizee)>1", (NoAttribute("sizee", "size"),), ""),
        ("max(size, name~worker)>1", (NoAttribute("size as a number", None),), ""),
        ("max(wait, name~GET)>1s", (NoAttribute("wait", None),), ""),
        ("max(name=open)>1s", (NoAttribute("duration", None),), ""),
        ("count(name=typo status=ERROR)>0", (), "name=typo"),
        ("count(finding=lone_replicas)>0", (), "finding=lone_replicas, which is about requests to Ray Serve"),
        ("rate(status=ERROR, name=typo)>1%", (), "name=typo"),
        ("rate(stauts=ERROR)>1%", (NoAttribute("stauts", "status"),), "stauts=ERROR"),
    ],
)
def test_figures_of_nothing(store: Store, text: str, misses: object, selects_none: str) -> None:
    """What nothing could fail isn't open, and says why."""
    gate = compare(store, parse_limited(text), None)
    assert not gate.is_shut
    assert not gate.is_open_to_any
    assert gate.selects_none == selects_none
    if misses:
        assert gate.misses == misses


@pytest.mark.parametrize("text", ["count(status=OK name~leaf)>0", "rate(status=OK, name~leaf)>0", "count(timeout)>0"])
def test_counting_none_is_a_pass_where_some_could_match(store: Store, text: str) -> None:
    """There are spans that it is about, and none of them counts."""
    gate = compare(store, parse_limited(text), None)
    assert (gate.value, gate.is_shut, gate.is_open_to_any) == (0, False, True)


def test_figures_of_some_traces(store: Store) -> None:
    """Only the spans of the traces that are asked for count."""
    limited = parse_limited("max(name~GET)>15us")
    trace_of = {name: store.spans.trace[row] for row, name in enumerate(["1", "2", "3"])}
    assert compare(store, limited, {*trace_of.values()}) == Gate(limited.text, 3, limited=limited, value=3000)


@pytest.mark.parametrize(("text", "position", "expected"), MISTAKES)
def test_mistakes(text: str, position: int, expected: str) -> None:
    """A mistake has its place in the whole gate, which a caret shows."""
    with pytest.raises(QueryError) as raised:
        parse_limited(text)
    error = raised.value
    assert (error.text, error.position) == (text, position)
    assert f"query, character {position + 1}: " in str(error)
    assert expected in str(error)
    shown, caret = caret_lines(error.text, position)
    assert shown == f"    {text}"
    assert caret == f"    {' ' * position}^"


@pytest.mark.parametrize("text", ["status=ERROR", "name~x (a OR b)", "p95 (a)", '"p95("', "a OR (b)", "-(a)"])
def test_queries_are_no_aggregates(text: str) -> None:
    """Whatever is a query is taken for one."""
    parse_query(text)
    assert not is_aggregate(text)


def test_a_caret_below_wide_and_hidden_characters() -> None:
    """The caret stands below its character by cells; of a long text only the part around it is shown."""
    assert caret_lines("名\t=1", 2) == ["    名␉=1", "       ^"]
    shown, caret = caret_lines(f"{'a' * 100}={'b' * 100}", 100)
    assert shown == f"    …{'a' * 60}={'b' * 39}…"
    assert shown[caret.index("^")] == "="


@pytest.mark.parametrize("text", ["rate(status=ERROR)>5", "rate(status=ERROR)>1", "rate(status=ERROR)>=101%"])
def test_a_share_that_none_can_exceed_is_a_mistake(text: str) -> None:
    """A gate that could never fail isn't taken: who writes 5 means 5%."""
    with pytest.raises(QueryError, match=r"rate is never >.*did you mean"):
        parse_limited(text)
    assert parse_limited("rate(status=ERROR)>5%").limit == 0.05
    assert parse_limited("rate(status=ERROR)>=100%").limit == 1
    # A file may say that a span ended before it started, and an attribute may be anything.
    assert parse_limited("min(duration)<0s").limit == parse_limited("min(size)<0").limit == 0
    assert parse_limited("count(status=ERROR)=0").limit == 0


def test_a_figure_without_spans_is_meant() -> None:
    """Where a figure's name is compared as a key, the hint is how a figure is written."""
    assert figure_meant("p95>200ms") == "; did you mean p95(duration)>200ms?"
    assert figure_meant("count >= 1") == "; did you mean count()>= 1?"
    assert figure_meant("p95 (name=x)>1s") == "; did you mean p95(name=x)>1s?"
    assert figure_meant('p95 name="GET /" > 5ms') == '; did you mean p95(name="GET /")> 5ms?'
    assert figure_meant("count name=x") == figure_meant("charge > status=ERROR") == ""
    assert figure_meant("rate>1%") == "; did you mean rate(status=ERROR)>1%?"
    assert figure_meant("duration>1s") == figure_meant("p95(name=x)>1s") == ""
