"""Why a query matches nothing, by the terms that explain it.

GET /cart   http.route /cart, on resource deployment.zone eu     charge   tries 2, event exception
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from builders import Builder, store_of
from spanview.analysis.query.misses import (
    Miss,
    Misspelled,
    NoAttribute,
    NoneTogether,
    OrSign,
    SmallOr,
    TooExact,
    misses_of,
)
from spanview.analysis.query.query import parse_query

if TYPE_CHECKING:
    from builders import Document

MISSES = [
    ("deployment=eu", [NoAttribute("deployment", "deployment.zone")]),
    ("Zone=eu status=OK", [NoAttribute("Zone", "deployment.zone")]),
    ("deploymentZone=eu", [NoAttribute("deploymentZone", "deployment.zone")]),
    ("HTTP.Route=/cart", [NoAttribute("HTTP.Route", "http.route")]),
    ("stauts=ERROR", [NoAttribute("stauts", "status")]),
    ('"stauts"=ERROR', [NoAttribute("stauts", None)]),
    ("weather=fine (a OR wheather~x)", [NoAttribute("weather", None), NoAttribute("wheather", None)]),
    ("charge > (weather>5 OR tries>1)", [NoAttribute("weather", None)]),
    ("-weather=fine charge cart", [NoneTogether(False)]),
    ("charge http.route=/cart", [NoneTogether(False)]),
    ("cart or charge", [SmallOr()]),
    ("cart|a.b||charge", [OrSign("cart OR a.b OR charge", "name~cart|a\\.b|charge")]),
    ('"cart|charge"', []),
    ("|", []),
    ('cart "or" charge', []),
    ("cart >> charge", [NoneTogether(True)]),
    ("charge trace.spans=2", []),
    ("charge nobody", []),
    ("charge duration>1h", []),
    ("charge tries=2", []),
    ("name=cart", [TooExact("=", "name~cart")]),
    ("name=CHARGE", [TooExact("=", 'name~"(?i)CHARGE"')]),
    ("Name = /Cart", [TooExact("=", 'Name~"(?i)/Cart"')]),
    ("name~CHARGE$", [TooExact("~", 'name~"(?i)CHARGE$"')]),
    ("service=sho", [TooExact("=", "service~sho")]),
    ("trace.root=GET", [TooExact("=", "trace.root~GET")]),
    ("event=excep", [TooExact("=", "event~excep")]),
    ("http.route=cart", [TooExact("=", "http.route~cart")]),
    ('"http.route"=car', [TooExact("=", '"http.route"~car')]),
    ("name=charge tries=3", []),
    ("name=chrage", [Misspelled("name=charge")]),
    ("service=shopp", [Misspelled("service=shop")]),
    ("http.route=/crat status=OK", [Misspelled("http.route=/cart")]),
    ("-name=chrage cart status=OK", []),
    ("nobody", []),
    ("duration>1h", []),
]


@pytest.mark.parametrize(("text", "expected"), MISSES)
def test_misses(text: str, expected: list[Miss]) -> None:
    """A missing attribute, with one that is near, and a text that is inside of another or has another case."""
    build = Builder()
    zone = {"deployment.zone": "eu"}
    event: Document = {"name": "exception", "timestamp": None, "attributes": {}}
    store = store_of(
        build.span("GET /cart", trace=1, attributes={"http.route": "/cart"}, resource=zone, service="shop"),
        build.span("charge", trace=2, parent=1, attributes={"tries": 2}, events=[event]),
    )
    query = parse_query(text)
    assert misses_of(store, query) == expected


def test_misses_of_one_trace() -> None:
    """What only other traces have is missing where it was asked."""
    build = Builder()
    store = store_of(build.span("a", trace=1, attributes={"k": 1}), build.span("b", trace=2))
    query = parse_query("k=2")
    assert misses_of(store, query) == []
    assert misses_of(store, query, [1]) == [NoAttribute("k", None)]
    query = parse_query("name=A")
    assert misses_of(store, query, [0]) == [TooExact("=", 'name~"(?i)A"')]
    assert misses_of(store, query, [1]) == []
