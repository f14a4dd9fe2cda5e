"""Groups of traces: the root's name, and of requests to Ray Serve with the route that the router knows.

root                                    what is below it           group
proxy_http_request Shop GET /cart/7     a routing, /cart/{n}       proxy_http_request Shop GET /cart/{n}
proxy_http_request Shop GET /nowhere    nothing                    proxy_http_request Shop GET /nowhere
proxy_grpc_request Shop /shop.Cart/Get  a routing, shop            proxy_grpc_request Shop /shop.Cart/Get
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

import pytest

from builders import Builder, store_of
from independent_reader import read_folder
from programs import spanview as run
from spanview.analysis.flame import flame
from spanview.analysis.query.matches import matching_traces, rows_that_match
from spanview.analysis.query.query import parse_query
from spanview.analysis.root_groups import RootGroups
from spanview.analysis.stats import statistics
from spanview.exports.losses import Losses
from spanview.exports.page.columns import Columns
from spanview.reports.statistics import short_names_of
from spanview.reports.traces import shortened
from spanview.reports.traces_model import TracesModel
from spanview.sources.loading import load_store
from viewers import Growing, looking_at

if TYPE_CHECKING:
    from builders import Document
    from spanview.index.store import Store

RECORDING: Final = Path(__file__).parents[2] / "fixtures/serve/spans"
PROXY: Final = "proxy_http_request Shop GET "


def request(
    trace: int, name: str, route: str | None, *, below: str = "route_to_replica Shop __call__"
) -> list[Document]:
    """Return a proxy's span, and one below it that has a route."""
    build = Builder()
    attributes = {} if route is None else {"route": route}
    return [
        build.span(name, trace=trace, span=1, kind="SERVER"),
        build.span(below, trace=trace, span=2, parent=1, kind="SERVER", attributes=attributes),
    ]


CASES: Final = [
    (f"{PROXY}/cart/7", "/cart/{n}", f"{PROXY}/cart/{{n}}"),
    (f"{PROXY}/cart/7", "/cart", f"{PROXY}/cart"),
    (PROXY, "/", f"{PROXY}/"),
    ("proxy_websocket_request Shop GET /ws/1", "/ws/{n}", "proxy_websocket_request Shop GET /ws/{n}"),
    # Nothing is made up where nobody knows the route, and of gRPC it is the application's name.
    (f"{PROXY}/cart/7", None, f"{PROXY}/cart/7"),
    (f"{PROXY}/cart/7", "shop", f"{PROXY}/cart/7"),
    ("proxy_grpc_request Shop /shop.Cart/Get", "/shop", "proxy_grpc_request Shop /shop.Cart/Get"),
    ("proxy_http_request", "/cart/{n}", "proxy_http_request"),
    ("GET /cart/7", "/cart/{n}", "GET /cart/7"),
]


def groups_of(store: Store) -> Counter[str | None]:
    """Return how many traces each group has."""
    model = TracesModel(store)
    model.refresh()
    groups = {group.name: group.traces for group in model.groups()}
    for name, count in groups.items():
        assert len(model.named(name)) == count
    return Counter(groups)


@pytest.mark.parametrize(("name", "route", "group"), CASES)
def test_groups(name: str, route: str | None, group: str) -> None:
    """The path gives way to the route."""
    assert groups_of(store_of(*request(1, name, route))) == {group: 1}


def test_a_group_beside_a_root_of_its_name() -> None:
    """A root that has the name of a group is in it; a replica has the route where no routing was traced."""
    store = store_of(
        *request(1, f"{PROXY}/cart/7", "/cart/{n}"),
        *request(2, f"{PROXY}/cart/{{n}}", None),
        *request(3, f"{PROXY}/cart/8", "/cart/{n}", below="replica_handle_request Shop __call__"),
        *request(4, "other", None),
        Builder().span("no root", trace=5, span=1, parent=9),
    )
    assert groups_of(store) == {f"{PROXY}/cart/{{n}}": 3, "other": 1, None: 1}


def test_a_trace_that_grows() -> None:
    """A route that comes later than the root is found when it is there; one record is read for each name."""
    data = Growing()
    root, below = request(1, f"{PROXY}/cart/7", "/cart/{n}")
    data.add(root)
    groups = RootGroups(data.store)
    groups.find_routes()
    assert (groups.of_name(0), groups.open) == (f"{PROXY}/cart/7", 1)
    data.add(below, *request(2, f"{PROXY}/cart/7", "/cart/{n}"))
    with patch.object(data.store, "span", wraps=data.store.span) as read:
        groups.find_routes()
        groups.find_routes()
    assert read.call_count == 1
    assert (groups.of_name(0), groups.open) == (f"{PROXY}/cart/{{n}}", 0)


def test_the_recording() -> None:
    """The recorded requests stand in as many groups as they have methods and routes, in statistics too."""
    spans = [span for records in read_folder(RECORDING).values() for span in records]
    routes = {(span["trace_id"], span["parent_id"]): span["attributes"].get("route") for span in spans}
    wanted = Counter[str]()
    for span in spans:
        if not span["parent_id"] and span["name"].startswith("proxy_http_request"):
            route = routes.get((span["trace_id"], span["span_id"]))
            word, deployment, method, path = span["name"].split(" ", 3)
            wanted[f"{word} {deployment} {method} {route or path}"] += 1
    assert wanted["proxy_http_request Ingress GET /predict/{x}"] > 1
    store = load_store(RECORDING)
    groups = groups_of(store)
    assert {name: groups[name] for name in groups if name and name.startswith("proxy_http")} == wanted
    printed = json.loads(run("stats", RECORDING, "--by", "trace.root", "--json").output)
    keys = {group["key"] for group in printed["groups"]}
    assert wanted.keys() <= keys
    assert not any("/predict/0" in key for key in keys if key)


@pytest.mark.parametrize(
    ("room", "shown"),
    [
        (18, "Shop GET /cart/{n}"),
        (17, "… GET /cart/{n}"),
        (11, "… /cart/{n}"),
        (5, "… /cart/{n}"),
    ],
)
def test_where_there_is_little_room(room: int, shown: str) -> None:
    """Of a request the end is shown, which tells it from others."""
    assert shortened("Shop GET /cart/{n}", room) == shown
    assert shortened("Shop", 3) == "Shop"


async def test_in_the_viewer() -> None:
    """`r` shows the routes, and Enter lists the requests of one: they have one name, and each has its own path.

    Requests, the title of a trace and a page call them the same.
    """
    documents = [span for trace in range(1, 4) for span in request(trace, f"{PROXY}/cart/{trace}", "/cart/{n}")]
    async with looking_at(*documents, size=(130, 30)) as look:
        await look.press("r")
        await look.until_shown("  Shop GET /cart/{n}")
        await look.press("enter")
        await look.until_shown(*(f"  Shop GET /cart/{{n}}  /cart/{number}" for number in range(1, 4)))
        assert "in Shop GET /cart/{n}, 3 of 3" in look.bar
        await look.press("enter")
        await look.until_shown(" ‹ Shop GET /cart/{n}   ")
        await look.press("H")
        await look.until_shown("Shop GET /cart/{n}  ")
    store = store_of(*documents)
    overview = Columns(store, [0, 1, 2], {}).overview(Losses("html"))
    assert {overview["names"][name] for name in overview["traces"]["name"]} == {"Shop GET /cart/{n}"}
    (group,) = statistics(store, "trace.root")
    assert short_names_of([group], "trace.root") == {f"{PROXY}/cart/{{n}}": "Shop GET /cart/{n}"}


def test_call_paths_go_by_the_route_as_groups_do() -> None:
    """Requests of one route are one call path; a proxy that is called so without a known route is the same."""
    store = store_of(
        *request(1, f"{PROXY}/cart/7", "/cart/{n}"),
        *request(2, f"{PROXY}/cart/8", "/cart/{n}"),
        *request(3, f"{PROXY}/cart/{{n}}", None),
        *request(4, f"{PROXY}/nowhere", None),
    )
    counts = {path.name: path.count for path in flame(store).paths if path.depth == 0}
    assert counts == {f"{PROXY}/cart/{{n}}": 3, f"{PROXY}/nowhere": 1}


@pytest.mark.parametrize(
    ("term", "kept"),
    [
        ('trace.root="Shop GET /cart"', ["request"]),
        ("trace.root~^Shop", ["request"]),
        ("trace.root=load", ["task"]),
        ("trace.root=__main__.load", ["task"]),
        ('trace.root="__main__.load ray.remote"', ["task"]),
        ("trace.root!=load", ["request", "other"]),
        ('trace.root!="Shop GET /cart"', ["task", "other"]),
        ("trace.root=oad", []),
    ],
)
def test_queries_know_roots_as_screens_show_them(term: str, kept: list[str]) -> None:
    """As the span is called, and as its request or its function is; by columns as well as span by span."""
    build, texts = Builder(), {"request": f"{PROXY}/cart", "task": "__main__.load ray.remote", "other": "download"}
    store = store_of(*(build.span(name, trace=number) for number, name in enumerate(texts.values(), 1)))
    query, names = parse_query(term), [*texts]
    assert [names[row] for row in range(3) if query.keeps(store, row)] == kept
    assert [names[row] for row in sorted(rows_that_match(store, query, range(3)))] == kept
    found = set[int]().union(*(traces for traces, _ in matching_traces(store, query, range(3))))
    assert [names[trace] for trace in sorted(found)] == kept
