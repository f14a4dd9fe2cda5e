"""Queries that no span may match: where none could match, that is no pass.

GET /cart (SERVER)   http.route /cart, http.status_code 200, on service shop
  main.leaf ray.remote (PRODUCER)
charge               event exception
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from builders import Builder, store_of
from spanview.analysis.query.gate import Gate, ask
from spanview.analysis.query.keys import OWN_KEYS
from spanview.analysis.query.misses import misses_of
from spanview.analysis.query.query import parse_query
from spanview.model.problems import QueryError

if TYPE_CHECKING:
    from spanview.index.store import Store

PASSING = (
    # Each could have matched.
    "status=ERROR",
    "duration>1h",
    "service=shop duration>1h",
    "name~^GET duration>1h",
    '"GET /cart" duration>1h',
    "kind=SERVER http.status_code=500",
    "http.status_code=500",
    "http.route=/cart http.status_code=500",
    "http.status_code>=500",
    "-name=typo status=ERROR",
    "finding=generators",
    "outcome=failed",
    "wait>1h",
    "finding=bad_id",
    "timeout",
    "name~timeout",
    "name=typo OR status=ERROR",
    "(name=typo OR name=charge) duration>1h",
    "charge > status=ERROR",
    "name=charge > kind=SERVER",
    "description~timeout",
    "trace.duration>1h trace.root=charge",
)
SHUT_TO_ALL = (
    # a query, what selects none
    ('name="GET /typo" duration>1ms', 'name="GET /typo"'),
    ("service=typo", "service=typo"),
    ("name~typo duration>1ms", "name~typo"),
    ("typo status=ERROR", "typo"),
    ('"GET /typo" duration>1ms', '"GET /typo"'),
    ("http.route=/typo", "http.route=/typo"),
    ("http.status_code=500 duration>1ms", "http.status_code=500"),
    ("name=charge service=shop http.route=/cart", "name=charge service=shop http.route=/cart"),
    ("name=typo OR http.route=/typo", "(name=typo OR http.route=/typo)"),
    ("charge > name=typo", "name=typo"),
    ("name=typo > 5ms", "name=typo"),
    ('"GET /typo" > charge', '"GET /typo"'),
    ("p95 name=charge > 5ms", "p95 name=charge"),
    ("name=typo >> duration>1ms", "name=typo"),
    ("kind=CLIENT duration>1ms", "kind=CLIENT"),
    ("event=typo", "event=typo"),
    ("outcome=cancelled", "outcome=cancelled, which only Ray's own events tell of every call"),
    ("wait.arguments>1s", "wait.arguments>1s, which only Ray's own events tell of every call"),
    ("finding=lone_replicas", "finding=lone_replicas, which is about requests to Ray Serve"),
)


@pytest.fixture(scope="module")
def store() -> Store:
    """Return a store with the spans above."""
    build = Builder()
    route = {"http.route": "/cart", "http.status_code": 200}
    served = build.span("GET /cart", trace=1, kind="SERVER", service="shop", attributes=route)
    call = build.span("main.leaf ray.remote", trace=1, kind="PRODUCER", parent=1)
    failed = build.span("charge", trace=2, events=[{"name": "exception", "timestamp": None, "attributes": {}}])
    return store_of(served, call, failed)


@pytest.mark.parametrize("text", PASSING)
def test_a_gate_that_something_could_match(store: Store, text: str) -> None:
    """Spans of which it is about are there, and pass its tests."""
    assert ask(store, parse_query(text), None) == Gate(text, 0)


@pytest.mark.parametrize(("text", "selects_none"), SHUT_TO_ALL)
def test_a_gate_that_nothing_could_match(store: Store, text: str, selects_none: str) -> None:
    """No span is what it is about, and the terms that select none are named."""
    query = parse_query(text)
    assert ask(store, query, None) == Gate(text, 0, (*misses_of(store, query),), selects_none)


@pytest.mark.parametrize("test", ["", " duration>1h", " status=ERROR"])
@pytest.mark.parametrize("key", sorted(OWN_KEYS))
def test_no_key_with_a_typo_passes(store: Store, key: str, test: str) -> None:
    """Neither a key that there isn't, nor a text that no span has, whatever else is asked."""
    for text in (f"{key}x=1", f"{key}x>1", f"{key}=typo", f"{key}=7f3a99"):
        try:
            query = parse_query(text + test)
        except QueryError:
            continue
        assert not ask(store, query, None).is_open_to_any, text


def test_the_traces_that_are_asked_count(store: Store) -> None:
    """What only another trace has selects nothing."""
    query = parse_query("service=shop duration>1h")
    assert ask(store, query, {0}) == Gate(query.text, 0)
    assert ask(store, query, {1}) == Gate(query.text, 0, (), "service=shop")
    assert ask(store, query, set()) == Gate(query.text, 0, (), "")


def test_calls_of_ray_are_what_waits_and_outcomes_are_about() -> None:
    """Where there are none, nothing could wait."""
    store = store_of(Builder().span("GET /cart", kind="SERVER"))
    for text in ("wait>1h", "outcome=failed"):
        assert ask(store, parse_query(text), None).selects_none == f"{text}, which is about Ray calls"
