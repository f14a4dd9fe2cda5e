"""Serve's requests, against drawings, and against the same thing counted from a recording's files without spanview.

µs        0    5   10   15   20   25   30   35   40   45
proxy     =============================================       total 40
  route     ===========                                       route 10, queue 6
    replica       ========================                    handling 22
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from unittest.mock import patch

import pytest
from hypothesis import given

from builders import Builder, file_of, store_of, store_of_files, trace_row
from independent_reader import read_folder
from span_graphs import programs
from spanview.analysis.serve.groups import serve_groups
from spanview.analysis.serve.requests import Failure, Part, part_of_name, seen_requests, serve_requests
from spanview.display.serve_text import counts_text
from spanview.reports.serve import serve_report
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from builders import Document
    from independent_reader import Record
    from spanview.analysis.serve.requests import Request
    from spanview.index.store import Store

RECORDING: Final = Path(__file__).parents[3] / "fixtures" / "serve" / "spans"
EXCEPTION: Final = {"name": "exception", "timestamp": None, "attributes": {"exception.type": "ValueError"}}
CANCELLED: Final = EXCEPTION | {"attributes": {"exception.type": "asyncio.exceptions.CancelledError"}}
"""What a replica records when its request is cancelled."""
US: Final = 1000
Fields: TypeAlias = dict[str, Any]
"""Of a span, as the builder takes them."""


def request_of(*documents: Document) -> Request:
    """Return the one request that some documents are."""
    (request,) = serve_requests(store_of(*documents))
    return request


def http(status: int = 200, *, proxy: Fields | None = None, replica: Fields | None = None) -> list[Document]:
    """Return the drawing's three spans, with what proxy and replica have besides or instead."""
    build = Builder()
    own = {"app": "shop", "deployment": "Cart"}
    asked = {"request_id": "r1", "request_method": "GET", "http.route": "/cart/7", "http.status_code": status}
    handled = {"call_method": "__call__", "http.method": "GET", "http.status_code": str(status)}
    routed = {"route": "/cart/{n}", "http.method": "__call__"}
    of_proxy: Fields = {"span": 1, "start": 0, "duration": 40, "attributes": own | asked}
    of_replica: Fields = {"span": 3, "parent": 2, "start": 8, "duration": 22, "attributes": own | handled}
    return [
        build.span("proxy_http_request Cart GET /cart/7", **of_proxy | (proxy or {})),
        build.span("route_to_replica Cart __call__", span=2, parent=1, start=2, duration=10, attributes=own | routed),
        build.span("replica_handle_request Cart __call__", **of_replica | (replica or {})),
    ]


def test_failures_of_grpc() -> None:
    """Of the recorded gRPC requests those have failed whose proxies have another code than OK, each for that reason."""
    folder = RECORDING.parents[1] / "serve-grpc" / "spans"
    spans = [span for records in read_folder(folder).values() for span in records]
    codes = [span["attributes"].get("rpc.grpc.status_code") for span in spans if span["name"].startswith("proxy_grpc")]
    failed = [request.key.status for request in serve_requests(load_store(folder)) if request.failure]
    assert sorted(failed) == sorted(code for code in codes if code != "OK")
    assert len(failed) == 17
    requests = serve_requests(load_store(folder))
    assert {request.failure for request in requests} == {Failure.GRPC, None}


NAMES: Final = [
    ("proxy_http_request Cart GET /", Part.PROXY),
    ("proxy_grpc_request Cart /shop.Cart/Get", Part.PROXY),
    ("proxy_websocket_request Cart GET /ws", Part.PROXY),
    ("proxy_http_request", Part.PROXY),
    ("route_to_replica Cart __call__", Part.ROUTE),
    ("route_to_replica", Part.ROUTE),
    ("replica_handle_request Cart __call__", Part.REPLICA),
    ("replica_handle_request", Part.REPLICA),
    ("replica_handle_requests", None),
    ("my replica_handle_request", None),
    ("proxy_ftp_request", None),
    ("", None),
]


@pytest.mark.parametrize(("name", "part"), NAMES)
def test_names(name: str, part: Part | None) -> None:
    """Serve's spans are known by the first word of their names."""
    assert part_of_name(name) is part


def test_the_drawing() -> None:
    """Proxy, routing and replica are one request, with the times of the drawing."""
    request = request_of(*http())
    assert request.parts == (Part.PROXY, Part.ROUTE, Part.REPLICA)
    times = request.total_ns, request.queue_ns, request.handling_ns, request.route_ns, request.other_ns
    assert times == (40 * US, 6 * US, 22 * US, 0, 12 * US)
    assert request.key == ("shop", "Cart", "/cart/{n}", "GET", "200")
    assert (request.request_id, request.failure, request.is_alone) == ("r1", None, False)


FAILURES: Final = [
    (http(404), "404", Failure.CLIENT),
    (http(500), "500", Failure.SERVER),
    (http(599), "599", Failure.SERVER),
    (http(399), "399", None),
    # The proxy tells how it ended; what only the replica tells counts, too.
    (http(200, replica={"attributes": {"http.status_code": "500"}}), "200", Failure.SERVER),
    (http(499, replica={"events": [EXCEPTION], "attributes": {}}), "499", Failure.CLIENT),
    # A stream that breaks off has begun with 200.
    (http(200, replica={"events": [EXCEPTION]}), "200", Failure.RAISED),
    (http(0, proxy={"attributes": {}}, replica={"events": [EXCEPTION], "attributes": {}}), "exception", Failure.RAISED),
    (
        http(0, proxy={"attributes": {}}, replica={"events": [CANCELLED], "attributes": {}}),
        "cancelled",
        Failure.CANCELLED,
    ),
    (http(200, proxy={"events": [CANCELLED]}, replica={"events": [EXCEPTION]}), "200", Failure.RAISED),
    (http(0, proxy={"attributes": {}, "status": "ERROR"}, replica={"attributes": {}}), "error", Failure.ERROR),
    (http(0, proxy={"attributes": {}}, replica={"attributes": {}}), "", None),
    (http(1000), "1000", None),
    (http(1011), "1011", Failure.CLOSED),
    (http(0, proxy={"attributes": {"rpc.grpc.status_code": "OK"}}), "OK", None),
    (http(0, proxy={"attributes": {"rpc.grpc.status_code": "NOT_FOUND"}}), "NOT_FOUND", Failure.GRPC),
    (http(0, proxy={"attributes": {"rpc.grpc.status_code": 13}}), "13", Failure.GRPC),
    (http(0, proxy={"attributes": {"rpc.grpc.status_code": 0}}), "0", None),
    (http(0, proxy={"attributes": {"http.status_code": ["odd"]}}, replica={"attributes": {}}), '["odd"]', None),
]


@pytest.mark.parametrize(("documents", "status", "failure"), FAILURES)
def test_how_it_ended(documents: list[Document], status: str, failure: Failure | None) -> None:
    """Codes come before exception events, these before the status ERROR."""
    request = request_of(*documents)
    assert (request.key.status, request.failure) == (status, failure)


def test_from_one_deployment_to_another() -> None:
    """A routing in a replica, at any depth, is a request of its own: from the routing's start to the latest end."""
    build, called = Builder(), {"call_method": "gen"}
    nested = [
        build.span("mine", span=9, parent=3, start=10, duration=10),
        build.span("route_to_replica Model gen", span=4, parent=9, start=11, duration=4),
        build.span("replica_handle_request Model gen", span=5, parent=4, start=14, duration=30, attributes=called),
    ]
    requests = serve_requests(store_of(*http(), *nested))
    assert [(request.key.deployment, request.key.method) for request in requests] == [("Cart", "GET"), ("Model", "gen")]
    assert requests[1].parts == (Part.ROUTE, Part.REPLICA)
    assert (requests[1].total_ns, requests[1].queue_ns) == (33 * US, 3 * US)
    # What comes of it doesn't make the one above fail.
    nested[2]["events"] = [EXCEPTION]
    assert [request.failure for request in serve_requests(store_of(*http(), *nested))] == [None, Failure.RAISED]


def test_from_a_trace_of_fastapi() -> None:
    """FastAPI's trace has no span of the replica that it is in: the process tells what a deployment called."""
    build = Builder()
    front = [
        build.span("replica_handle_request Front __call__", trace=1, parent=9, start=0, duration=50),
        build.span("GET /shop", trace=2, span=20, start=5, duration=40, kind="SERVER"),
        build.span("route_to_replica Back calc", trace=2, span=21, parent=20, start=6, duration=3),
    ]
    back = [build.span("replica_handle_request Back calc", trace=2, parent=21, start=8, duration=9)]
    driver = [build.span("route_to_replica Back calc", trace=3, span=30, start=90, duration=3)]
    files = {"1.json": front, "2.json": back, "3.json": driver}
    store = store_of_files({path: file_of(spans) for path, spans in files.items()})
    assert [request.is_nested for request in serve_requests(store)] == [False, True, False]
    assert [request.is_nested for request in serve_requests(store, [1])] == [True]
    assert counts_text(serve_groups(store)) == "2 requests; 1 call between deployments"


def test_what_is_missing() -> None:
    """A replica alone tells its handling; a routing alone what it took; what has no end tells nothing."""
    build = Builder()
    alone = request_of(build.span("replica_handle_request A __call__", duration=5))
    assert (alone.is_alone, alone.total_ns, alone.queue_ns, alone.handling_ns) == (True, None, None, 5 * US)
    orphan = request_of(build.span("replica_handle_request A __call__", parent=99))
    assert (orphan.is_alone, orphan.key.deployment) == (False, "A")
    sent = request_of(build.span("route_to_replica A __call__", duration=5))
    assert (sent.total_ns, sent.route_ns, sent.handling_ns, sent.other_ns) == (5 * US, 5 * US, None, 0)
    runs = request_of(
        build.span("route_to_replica A f", span=50, start=0, duration=5),
        build.span("replica_handle_request A f", parent=50, start=3, duration=None),
    )
    assert (runs.total_ns, runs.queue_ns, runs.handling_ns, runs.other_ns) == (None, 3 * US, None, None)


@pytest.mark.parametrize("recording", ["serve", "serve-grpc"])
def test_parts_add_up(recording: str) -> None:
    """Queue, handling, route and other are the total, of each request and of those of a group."""
    for group in serve_groups(load_store(RECORDING.parents[1] / recording / "spans")):
        known = [request for request in group.requests if request.total_ns is not None]
        for request in known:
            parts = request.queue_ns, request.handling_ns, request.route_ns, request.other_ns
            assert sum(part or 0 for part in parts) == request.total_ns
        sums = group.sums
        assert sums.total == sums.queue + sums.handling + sums.route + sums.other
        assert sums.total == sum(request.total_ns or 0 for request in known)


def test_what_routing_takes_beside() -> None:
    """What of the routing is neither queue nor handling: after the replica's end, or all of it without a replica."""
    build = Builder()
    late = request_of(
        build.span("route_to_replica A f", span=50, start=0, duration=30),
        build.span("replica_handle_request A f", parent=50, start=3, duration=20),
    )
    assert (late.total_ns, late.queue_ns, late.handling_ns, late.route_ns, late.other_ns) == (
        *(30 * US, 3 * US, 20 * US, 7 * US),
        0,
    )


def test_a_replica_that_runs_on() -> None:
    """Where the caller has given up before, the rest is less than nothing, so that all of it still adds up."""
    request = request_of(*http(replica={"duration": 90}))
    assert request.total_ns == 40 * US
    assert request.other_ns == (40 - 6 - 90) * US


def test_clocks_that_differ() -> None:
    """A replica that starts before its routing, by its clock, hasn't waited."""
    documents = http(replica={"start": 1, "duration": 22})
    assert request_of(*documents).queue_ns == 0


def test_of_two_replicas_the_last_to_start_answered() -> None:
    """After the first one had gone, the routing went to another: until then the request waited."""
    again = Builder().span("replica_handle_request Cart __call__", span=4, parent=2, start=11, duration=3)
    assert (request_of(*http(), again).queue_ns, request_of(again, *http()).handling_ns) == (9 * US, 3 * US)


def test_a_proxy_that_routes_twice() -> None:
    """Serve doesn't do that; the earlier routing would be a request of its own, and nothing would be lost."""
    build = Builder()
    again = [
        build.span("route_to_replica Cart __call__", span=4, parent=1, start=20, duration=10),
        build.span("replica_handle_request Cart __call__", span=5, parent=4, start=23, duration=10),
    ]
    first, second = serve_requests(store_of(*http(), *again))
    assert (first.parts, first.queue_ns) == ((Part.PROXY, Part.ROUTE, Part.REPLICA), 3 * US)
    assert (second.parts, second.queue_ns) == ((Part.ROUTE, Part.REPLICA), 6 * US)


def test_doubled_ids() -> None:
    """Of two records with one id, what is below belongs to the first, by file and place; the other is alone."""
    double = Builder().span("route_to_replica Cart __call__", span=2, parent=1, start=3, duration=4)
    proxy, route, replica = http()
    for documents, queue in (((proxy, double, route, replica), 5), ((proxy, route, double, replica), 6)):
        requests = serve_requests(store_of(*documents))
        assert [request.queue_ns for request in requests if Part.REPLICA in request.parts] == [queue * US]
        assert sum(len(request.rows) for request in requests) == 4
    files = {"b.json": file_of([proxy, route, replica]), "a.json": file_of([double])}
    requests = serve_requests(store_of_files(files))
    assert [request.queue_ns for request in requests if Part.REPLICA in request.parts] == [5 * US]


def test_older_releases_and_anyscale() -> None:
    """Bare names are told by their attributes; the id may be `ray.request_id`."""
    attributes = {
        "ray.request_id": "x",
        "deployment": "D",
        "app": "a",
        "request_method": "GET",
        "request_route_path": "/",
    }
    request = request_of(Builder().span("proxy_http_request", attributes=attributes))
    assert request.key == ("a", "D", "/", "GET", "")
    assert request.request_id == "x"


def test_of_some_traces() -> None:
    """Only the traces that are asked for count."""
    build = Builder()
    store = store_of(*http(), build.span("route_to_replica B f", trace=2, span=9), build.span("other", trace=3))
    assert [request.key.deployment for request in serve_requests(store, [trace_row(store, 2)])] == ["B"]
    assert serve_requests(store, []) == []
    assert serve_requests(store) == serve_requests(store, range(3))
    assert len(serve_requests(store)) == 2


def test_only_serve_is_decoded() -> None:
    """A store without Serve's spans has no requests, and no record is read."""
    store = store_of(Builder().span("a"), Builder().span("b", span=2))
    with patch.object(store, "span", side_effect=AssertionError):
        assert serve_requests(store) == []


def test_it_can_be_ended() -> None:
    """Whoever waits is told how far it is, and may end it."""

    class EndedError(Exception):
        pass

    def end(_share: float) -> None:
        raise EndedError

    with pytest.raises(EndedError):
        serve_requests(store_of(*http()), None, end)


# -- a recording -------------------------------------------------------------------------------------------------------


@cache
def records() -> list[Record]:
    """Return all spans of the recording, as an independent reader has them."""
    return [record for several in read_folder(RECORDING).values() for record in several]


def _slowly() -> list[dict[str, Any]]:
    """Count the recording's requests: from each span of Serve's upwards, with lists and dicts."""
    by_id = {(record["trace_id"], record["span_id"]): record for record in records()}
    words = {"proxy_http_request": "proxy", "route_to_replica": "route", "replica_handle_request": "replica"}
    chains: dict[str, dict[str, Record]] = defaultdict(dict)
    for record in records():
        kind = words.get(record["name"].split(" ")[0])
        top: Record | None = record
        outermost, below = record, kind
        while below is not None and (top := by_id.get((outermost["trace_id"], outermost["parent_id"]))) is not None:
            above = words.get(top["name"].split(" ")[0])
            if (above, below) not in {("proxy", "route"), ("route", "replica")}:
                break
            outermost, below = top, above
        if kind is not None:
            chains[outermost["span_id"]][kind] = record
    groups: dict[tuple[str, ...], list[dict[str, int | None]]] = defaultdict(list)
    failed: dict[tuple[str, ...], int] = defaultdict(int)
    for chain in chains.values():
        proxy, route, replica = (chain.get(each, {}).get("attributes", {}) for each in ("proxy", "route", "replica"))
        any_of = {**replica, **route, **proxy}
        code = proxy.get("http.status_code", replica.get("http.status_code"))
        raised = any(event["name"] == "exception" for record in chain.values() for event in record["events"])
        key = (
            any_of["app"],
            any_of["deployment"],
            route.get("route", replica.get("route")),
            replica.get("http.method") or proxy.get("http.method") or any_of["call_method"],
            str(code) if code else "exception" if raised else "",
        )
        failed[key] += raised or (code is not None and int(code) >= 400)
        lengths = {kind: record["end_ns"] - record["start_ns"] for kind, record in chain.items()}
        total = lengths.get("proxy")
        if total is None and "route" in chain:
            total = max(record["end_ns"] for record in chain.values()) - chain["route"]["start_ns"]
        has_waited = {"route", "replica"} <= chain.keys()
        queue = chain["replica"]["start_ns"] - chain["route"]["start_ns"] if has_waited else None
        routing = lengths.get("route")
        if has_waited:
            routing = max(0, chain["route"]["end_ns"] - chain["replica"]["end_ns"])
        times = {"total": total, "queue": queue, "handling": lengths.get("replica"), "route": routing}
        parts = (time or 0 for part, time in times.items() if part != "total")
        times["other"] = None if total is None else total - sum(parts)
        times["nested_queue"] = _nested_queue(chain["replica"], chains, by_id) if "replica" in chain else None
        groups[key].append(times)
    return [
        {name: text or None for name, text in zip(("app", "deployment", "route", "method", "status"), key, strict=True)}
        | {"count": len(groups[key]), "errors": failed[key]}
        | {f"{name}_ns": _spread([times[name] for times in groups[key]]) for name in groups[key][0]}
        | {"sum_ns": _sums([times for times in groups[key] if times["total"] is not None], [*groups[key][0]])}
        for key in sorted(groups)
    ]


def _nested_queue(
    replica: Record, chains: dict[str, dict[str, Record]], by_id: dict[tuple[str, str | None], Record]
) -> int:
    """Return how long calls below a replica were queued while none of them ran; nothing is nested twice here."""
    below = []
    for chain in chains.values():
        above = by_id.get((chain["route"]["trace_id"], chain["route"]["parent_id"])) if "route" in chain else None
        while above is not None and not above["name"].startswith("replica_handle_request"):
            above = by_id.get((above["trace_id"], above["parent_id"]))
        if above is replica:
            below.append((chain["route"]["start_ns"], chain["replica"]["start_ns"], chain["replica"]["end_ns"]))
    edges = sorted({edge for times in below for edge in times})
    return sum(
        end - start
        for start, end in pairwise(edges)
        if any(queued <= start < begun for queued, begun, _ in below)
        and not any(begun <= start < ended for _, begun, ended in below)
    )


def _sums(known: list[dict[str, int | None]], names: list[str]) -> dict[str, int]:
    return {name: sum(times[name] or 0 for times in known) for name in names}


def _spread(times: list[int | None]) -> dict[str, int | None]:
    known = sorted(time for time in times if time is not None)
    ranks = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1}
    ranked = {name: known[ceil(round(rank * len(known), 6)) - 1] if known else -1 for name, rank in ranks.items()}
    # What is left of a total that handling goes beyond is none.
    return {name: None if time < 0 else time for name, time in ranked.items()}


def test_a_recording() -> None:
    """Every figure of every group is what counting the files themselves comes to, to the nanosecond."""
    expected = _slowly()
    counted = serve_report(load_store(str(RECORDING))).document()
    for group in counted["rows"]:
        histogram = group.pop("histogram")
        assert sum(histogram) <= group["count"]
        assert group.pop("gen_ai")["calls"] == 0
        queues = group.pop("nested_queues")
        assert sum(queue["sum_ns"] for queue in queues) == group["sum_ns"]["nested_queue"]
    assert sorted(map(str, counted["rows"])) == sorted(map(str, expected))
    assert sum(group["count"] for group in expected) == 114
    assert {group["status"] for group in expected if group["errors"]} == {
        "404",
        "418",
        "422",
        "499",
        "500",
        "exception",
    }


@given(programs(traces=2))
def test_requests_as_columns_show_them(documents: list[Document]) -> None:
    """They have the spans that decoded ones have, and queues of those that called others, whatever the graph."""
    assert_seen_alike(store_of(*documents))


@pytest.mark.parametrize("recording", ["serve", "serve-grpc"])
def test_recorded_requests_as_columns_show_them(recording: str) -> None:
    """They have the spans that decoded ones have, and queues of those that called others."""
    assert assert_seen_alike(load_store(RECORDING.parents[1] / recording / "spans"))


def assert_seen_alike(store: Store) -> int:
    """Compare requests with decoded ones; return how many were in the queues of several deployments."""
    traces = range(len(store.trace_table))
    requests, seen = serve_requests(store, traces), seen_requests(store, traces)
    assert {*seen} == {request.rows[0] for request in requests}
    for request in requests:
        rows, queues = seen[request.rows[0]]
        assert rows == dict(zip(request.parts, request.rows, strict=True))
        nested = sum(queue.ns for queue in request.nested_queues)
        assert sum(queue.ns for queue in queues) == ((request.queue_ns or 0) + nested if nested else 0)
    return sum(bool(queues) for _, queues in seen.values())
