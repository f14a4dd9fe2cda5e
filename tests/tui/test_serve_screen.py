"""Serve's requests in the viewer, the requests behind a line, and the other half of one of them.

trace 1                          trace 2                          trace 3
proxy GET /a   0 - 40 µs  200    proxy GET /a  100 - 180 µs 500   GET /a  9 - 28 µs, 200
  route        2 - 12              route       102 - 112            FastAPI's, in the file of the replica
    replica    8 - 30                replica   110 - 170
"""

from __future__ import annotations

import re
import threading
from itertools import product
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from builders import Builder
from spanview.analysis.serve.requests import RequestKey
from spanview.display.serve_text import request_names
from spanview.reports.serve import serve_table
from spanview.tui.serve import serve_screen
from spanview.tui.serve.serve_screen import RequestsScreen, ServeScreen
from spanview.tui.span.span_screen import SpanScreen
from spanview.tui.trace.trace_screen import TraceScreen
from viewers import looking_at

if TYPE_CHECKING:
    from builders import Document


def _request(trace: int, start: int, lengths: tuple[int, int, int], code: int, **of_replica: Any) -> list[Document]:
    build, first = Builder(), 10 * trace
    own = {"app": "shop", "deployment": "Cart", "request_id": f"id-{trace}"}
    proxy, route, replica = (
        f"{each} Cart" for each in ("proxy_http_request", "route_to_replica", "replica_handle_request")
    )
    asked = own | {"request_method": "GET", "http.status_code": code}
    handled = own | {"http.method": "GET", "http.status_code": str(code), "route": "/a"}
    total, queue, handling = lengths
    common: dict[str, Any] = {"trace": trace, "kind": "SERVER"}
    return [
        build.span(proxy, span=first, start=start, duration=total, attributes=asked, **common),
        build.span(route, span=first + 1, parent=first, start=start + 2, duration=10, attributes=own, **common),
        build.span(
            replica,
            **common
            | {"span": first + 2, "parent": first + 1, "start": start + 2 + queue, "duration": handling}
            | {"attributes": handled}
            | of_replica,
        ),
    ]


def _documents() -> list[Document]:
    answered = {"http.request.method": "GET", "http.route": "/a", "http.response.status_code": 200}
    return [
        *_request(1, 0, (40, 6, 22), 200),
        *_request(2, 100, (80, 8, 60), 500),
        Builder().span("GET /a", trace=3, span=90, start=9, duration=19, kind="SERVER", attributes=answered),
    ]


async def test_from_the_traces_to_one_request() -> None:
    """The lines of a deployment, the requests behind one, and the trace of one of them, at its span."""
    async with looking_at(*_documents(), size=(160, 40)) as look:
        await look.press("H")
        await look.until_shown("Serve requests of 3 traces   2 requests, 1 failed")
        assert look.is_on(ServeScreen)
        first, second = look.body[1:3]
        assert first.startswith("Cart GET /a ")
        assert " 500 " in first
        assert "1 5xx" in first
        assert second.split()[:7] == ["Cart", "GET", "/a", "200", "1", "40", "µs"]
        await look.press("enter")
        assert look.is_on(RequestsScreen)
        assert "shop › Cart GET /a  500   1 request" in look.header
        assert look.body[0].split()[:6] == ["TOTAL", "▾", "QUEUE", "HANDLING", "ROUTE", "OTHER"]
        assert look.body[1].split()[:12] == ["80", "µs", "8", "µs", "60", "µs", "0", "µs", "12", "µs", "✖", "5xx"]
        assert "id-2" in look.body[1]
        assert "proxy › route › replica" in look.body[1]
        await look.press("y")
        assert look.app.clipboard == "id-2"
        await look.press("enter")
        await look.until(lambda: look.is_on(TraceScreen))
        assert "‹ Cart   " in look.header


async def test_calls_between_deployments() -> None:
    """They are counted apart from requests, and so are those that failed; what they queued is part of a handling."""
    build, own = Builder(), {"app": "shop", "deployment": "Price"}
    raised = [{"name": "exception", "timestamp": None, "attributes": {"exception.type": "ValueError"}}]
    nested = [
        build.span("route_to_replica Price f", trace=2, span=80, parent=22, start=120, duration=40, attributes=own),
        build.span("replica_handle_request Price f", trace=2, span=81, parent=80, start=150, duration=9, events=raised),
    ]
    async with looking_at(*_request(1, 0, (40, 6, 22), 200), *_request(2, 100, (80, 8, 60), 200), *nested) as look:
        await look.press("H")
        await look.until_shown("2 requests; 1 call between deployments, 1 failed")
        await look.until_shown("120 µs in 2 requests = 14 µs queue + 82 µs handling (30 µs of it in Price's queue)")
        await look.press("down")
        await look.until_shown("40 µs in 1 call = 30 µs queue")
        (group, _) = look.screen.rows.items if isinstance(look.screen, ServeScreen) else ()
        assert group.queue.max == 8_000
        assert group.sums.queue == 14_000
        await look.press("enter")
        await look.until_shown("shop › Price  exception   1 call")


async def test_slowest_first() -> None:
    """The requests of a line, the slowest first; a replica alone is taken by its handling."""
    alone = Builder().span(
        "replica_handle_request Cart",
        trace=5,
        span=99,
        start=0,
        duration=50,
        attributes={
            "app": "shop",
            "deployment": "Cart",
            "http.method": "GET",
            "http.status_code": "200",
            "route": "/a",
        },
    )
    documents = [*_request(1, 0, (40, 6, 22), 200), *_request(2, 0, (80, 6, 22), 200), alone]
    async with looking_at(*documents, size=(160, 40)) as look:
        await look.press("H")
        await look.until_shown("3 requests")
        await look.press("enter")
        lines = [" ".join(line.split()) for line in look.body[1:4]]
        assert [line.split(" µs")[0] for line in lines] == ["80", "– – 50", "40"]
        assert "replica alone: by a handle" in lines[1]
        await look.press("down", "y")
        assert "this request has no id" in look.footer


async def test_handling_beyond_the_total_is_explained() -> None:
    """The replica ran on after its caller had ended: that is said of the requests of a line, and of one."""
    async with looking_at(*_request(1, 0, (40, 6, 90), 200), size=(160, 40)) as look:
        await look.press("H")
        await look.until_shown("90 µs handling, less 56 µs outside of it")
        await look.press("enter")
        await look.until_shown("the replica ran on for 58 µs after its caller had ended, or clocks differ")
        assert look.body[1].split()[:9] == ["40", "µs", "6", "µs", "90", "µs", "0", "µs", "–"]


async def test_sorting() -> None:
    """Each column in its turn, told in the heads and in the footer, and kept for the next time."""
    async with looking_at(*_documents(), size=(129, 40)) as look:
        await look.press("H")
        await look.until_shown("2 requests, 1 failed")
        assert " P95 ▾" in look.body[0]
        assert " 500 " in look.body[1]
        for name, head, code in (
            ("total max", "MAX ▾", "500"),
            ("queue p50", "QUEUE P50 ▾", "500"),
            ("queue p95", " P95 ▾", "500"),
            ("handling p50", "HANDLING P50 ▾", "500"),
            ("handling p95", " P95 ▾", "500"),
            ("request", "REQUEST ▴", "200"),
            ("count", "COUNT▾", "200"),
            ("errors", "ERRORS ▾", "500"),
            ("total p50", "TOTAL P50 ▾", "500"),
            ("total p95", " P95 ▾", "500"),
        ):
            await look.press("s")
            assert f"sorted by {name}" in look.footer
            assert head in look.body[0]
            assert f" {code} " in look.body[1], name
        await look.press("s", "escape", "H")
        await look.until_shown("MAX ▾")


async def test_of_one_trace() -> None:
    """From a trace, only its own requests count; without any of Serve's spans the key says so."""
    async with looking_at(*_documents(), Builder().span("mine", trace=9, start=999), size=(100, 24)) as look:
        await look.press("enter", "H")
        await look.until_shown("no Ray Serve requests in this trace")
        await look.press("escape", "down", "enter", "H")
        await look.until_shown("Serve requests of Cart   1 request, 1 failed")


async def test_reading_takes_a_while() -> None:
    """The header says how far it is; going back ends it."""
    ended = threading.Event()

    def slow(_store: Any, _traces: Any, tell: Any) -> list[Any]:
        try:
            while True:
                tell(0.25)
                threading.Event().wait(0.001)
        finally:
            ended.set()

    async with looking_at(*_documents(), size=(100, 24)) as look:
        with patch.object(serve_screen, "serve_groups", slow):
            await look.press("H")
            await look.until_shown("reading them … 25%")
            await look.press("escape")
            await look.until(ended.is_set)
        assert not look.is_on(ServeScreen)


async def test_a_narrow_screen() -> None:
    """On 80 cells queue and handling are there, and their sum."""
    async with looking_at(*_documents(), size=(80, 24)) as look:
        await look.press("H")
        await look.until_shown("2 requests, 1 failed")
        assert " ".join(look.body[0].split()) == "REQUEST STATUS TOTAL P95 ▾ QUEUE P95 HANDLING P50 P95"
        assert " ".join(look.body[1].split()).endswith("500 80 µs 8 µs 60 µs 60 µs")
        await look.until_shown("80 µs in 1 request = 8 µs queue + 60 µs handling + 12 µs other")


async def test_hostile_values() -> None:
    """What a file says is made harmless, on both screens."""
    hostile = {
        "app": "[red]\x1b[2J",
        "deployment": "\u202eD",
        "http.method": "\x9b",
        "route": "/\n",
        "request_id": "\x07",
    }
    build = Builder()
    documents = [build.span("replica_handle_request D", attributes=hostile | {"http.status_code": "\x1b7"})]
    async with looking_at(*documents, size=(160, 24)) as look:
        await look.press("H")
        await look.until_shown("\\u202eD \\x9b /␊", "␛7")
        await look.press("enter")
        await look.until_shown("[red]␛[2J", "␇")


async def test_the_other_half() -> None:
    """The span screen says which trace is probably the other half, and why; Enter follows it there and back."""
    async with looking_at(*_documents(), size=(160, 40)) as look:
        await look.press("/")
        await look.type('trace.root="GET /a"')
        await look.press("enter", "enter", "enter")
        assert look.is_on(SpanScreen)
        await look.until_shown("see Links")
        await look.press("tab", "end")
        guess = (
            "probably belongs together with replica_handle_request Cart of trace 00000000…:",
            "same file, this one is within its time, same GET /a,",
            "same 200",
        )
        await look.until_shown(*guess)
        await look.press("enter")
        await look.until(lambda: look.is_on(TraceScreen))
        assert "‹ Cart   " in look.header
        await look.press("enter", "tab")
        await look.until_shown(
            "probably belongs together with GET /a of trace 00000000…: same file, within this one's time"
        )


async def test_no_other_half() -> None:
    """Nothing is said of a span that has none."""
    async with looking_at(*_request(1, 0, (40, 6, 22), 200), size=(160, 40)) as look:
        await look.press("enter", "end", "enter", "tab")
        await look.app.workers.wait_for_complete()
        await look.until_shown("replica_handle_request Cart", "linked from")
        assert "probably" not in look.text


def test_queue_and_handling_stay() -> None:
    """Whatever is sorted by, on any screen their P95 are there, and their medians from 110 cells on."""
    table = serve_table({})
    for width, key in product((60, 80, 110), {column.key for column in table.columns if column.key}):
        heads = "".join(table.fit(width, key, 40).heads_text(key).replace("▾", "").split())
        medians = "(P50)?" if width < 110 else "P50"
        assert re.search(f"QUEUE{medians}P95(P99|MAX)?HANDLINGP50P95", heads), (width, key)


def test_names_tell_requests_apart() -> None:
    """A name begins with its deployment; in little room, what others don't differ in goes, and never more."""
    cart, price = (RequestKey("shop", name, "/a", "GET", "200") for name in ("Cart", "Price"))
    assert request_names([cart, price])[price] == ("Price GET /a", "Price /a", "Price GET", "Price")
    failed = cart._replace(status="500")
    assert request_names([cart, failed])[cart][-1] == "Cart"
    put = cart._replace(method="PUT")
    assert request_names([cart, put])[put] == ("Cart PUT /a", "Cart PUT")
    other = put._replace(route="/b")
    assert request_names([cart, put, other])[put] == ("Cart PUT /a",)
    bank = cart._replace(app="bank")
    assert request_names([cart, bank])[bank][0] == "Cart (bank) GET /a"
    assert request_names([cart, price._replace(app="", deployment="")])[cart][0] == "Cart GET /a"


async def test_where_time_was_queued_in_less_room() -> None:
    """What of the handling was queued elsewhere is told by deployment, then for the longest, then as one sum."""
    build, below = Builder(), []
    for number, name in enumerate(("Price", "Stock"), 80):
        own, start = {"app": "shop", "deployment": name}, 120 + 20 * (number - 80)
        route, replica = f"route_to_replica {name} f", f"replica_handle_request {name} f"
        below += [
            build.span(route, trace=2, span=number, parent=22, start=start, duration=19, attributes=own),
            build.span(replica, trace=2, span=number + 10, parent=number, start=start + 10 + number - 80, duration=8),
        ]
    async with looking_at(*_request(2, 100, (80, 8, 60), 200), *below, size=(120, 24)) as look:
        await look.press("H")
        await look.until_shown(
            "80 µs in 1 request = 8 µs queue + 60 µs handling (21 µs of it in queues: Stock 11 µs, Price"
        )
        for cells, text in ((76, "60 µs handling (11 µs in Stock's queue)"), (66, "60 µs handling (21 µs queued)")):
            await look.pilot.resize_terminal(cells, 24)
            await look.until_shown(text)
