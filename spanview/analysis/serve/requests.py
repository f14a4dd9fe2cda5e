"""Ray Serve's requests: proxy, routing and replica as one, with the time that each took, and how it ended.

proxy_http_request            ==========================================    total
  route_to_replica              =================
    replica_handle_request      ~~~~~~~~~~~~=========================       ~ queue, = handling
                              oo                                     ooo    other

- The routing begins when the caller, the proxy or a handle, submits a request to the router. The router waits for
  the request's arguments, chooses a replica, waiting while all are full, sends the request, begins again if the replica
  refuses it, and ends when one accepts it. So the replica has started by then. Spans don't show when a replica was
  chosen.
- Queue: from the routing's start to the replica's. If the replica's clock is behind, it is 0, never less. Where
  Serve doesn't ask replicas whether they accept, the replica's own queue is part of its handling.
- Handling: the replica's span, to the last item of what it streams. What of it went to the queues of other deployments
  that it called is told apart, as `serve_nested` defines it.
- Route: what of the routing is neither queue nor handling; all of it where no replica was seen.
- Other: the rest of the total, so that these four add up to it. It is negative where the replica ran on after its
  caller had given up, or where clocks differ; a replica whose request is cancelled ends its span, whatever runs on.
- Total: the proxy's span. Without one, from the routing's start to the latest end of routing and replica. A replica
  alone doesn't show it.

A routing without a proxy above it is a request of its own: through a handle, from another deployment's replica or from
a driver, or traced where the proxy isn't. So is a replica without a routing; if it has no parent id at all, the request
was most likely sampled out before it came here. Of several replicas below one routing, the last to start has
answered; the others are ignored.

Serve leaves routing and replica UNSET when a handler raises, so status codes and exception events count as well.

Source: `ray/serve/_private/tracing_utils.py`, `proxy.py`, `router.py` and `replica.py` of Ray 2.60.
"""

from __future__ import annotations

import re
from enum import Enum, StrEnum
from functools import partial
from sys import maxsize
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanview.analysis.genai.fields import NO_CALL
from spanview.analysis.genai.requests import model_calls
from spanview.analysis.intervals import time_between
from spanview.analysis.query.values import REQUEST_ID_KEYS, number_of, text_of
from spanview.analysis.serve.nested import NestedQueue, ServedCall, awaited_responses, nested_queues, summed
from spanview.analysis.telling import unheard
from spanview.index.table import NO_ROW
from spanview.model.codes import ERROR
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from spanview.analysis.genai.fields import ModelCall
    from spanview.analysis.telling import Tell
    from spanview.index.forest import Forest
    from spanview.index.store import Store
    from spanview.index.table import Interned, SpanTable
    from spanview.model.span import Span

_NAME: Final = re.compile(
    r"(?:(proxy_(?:http|grpc|websocket)_request)|(route_to_replica)|(replica_handle_request))(?: |$)"
)
_OF_PROXY: Final = re.compile(r"proxy_(?:http|grpc|websocket)_request (?=\S)")
"""What a proxy's span has before the name of its request."""
_REQUESTS_PER_REPORT: Final = 256
"""Requests that are read between two progress reports."""
_CLIENT_ERROR, _SERVER_ERROR, _NO_HTTP_STATUS = 400, 500, 600
_WEBSOCKET_FROM: Final = 1000
_NORMAL_CLOSURES: Final = (1000, 1001)
GRPC_OK: Final = ("", "OK", "0")
"""Names and numbers of a gRPC status that is OK, or missing."""
HTTP_STATUS: Final = "http.status_code"
"""The attribute that has the status code of HTTP, or the closing code of a websocket."""
GRPC_STATUS: Final = "rpc.grpc.status_code"
CANCELLED: Final = frozenset(("CancelledError", "RequestCancelledError", "TaskCancelledError"))
"""Exceptions by which asyncio, Serve and Ray end what is cancelled."""


class Part(StrEnum):
    """Which part of a request a span of Serve is."""

    PROXY = "proxy"
    ROUTE = "route"
    REPLICA = "replica"


class Failure(Enum):
    """Why a request counts as failed; the first that holds."""

    CLIENT = "4xx"
    SERVER = "5xx"
    CLOSED = "closed"
    """A websocket was closed with a code that isn't 1000 or 1001."""
    GRPC = "grpc"
    """A gRPC status that isn't OK."""
    RAISED = "raised"
    """An exception, but no code that says so."""
    CANCELLED = "cancelled"
    """The same, by which a request ends that is cancelled, as when its caller gives up: nothing was raised."""
    ERROR = "error"
    """The status ERROR, and nothing else that says so."""


class RequestKey(NamedTuple):
    """What requests are counted by."""

    app: str
    deployment: str
    route: str
    """As the application declares it, if the router knew it; else the requested path."""
    method: str
    """Of HTTP or gRPC; else the method of the deployment that was called."""
    status: str
    """The code of the outermost span that has one; else `exception`, `cancelled`, `error`, or nothing."""


class Request(NamedTuple):
    """One request to a deployment."""

    rows: tuple[int, ...]
    """The rows of its spans in the span table, the outermost first; at least one."""
    parts: tuple[Part, ...]
    """What these are."""
    is_alone: bool
    """Whether it is a replica's span without a parent id."""
    key: RequestKey
    request_id: str
    failure: Failure | None
    """None if it isn't known to have failed."""
    total_ns: int | None
    """None, as are the parts of the time, where a span or one of its times is missing."""
    queue_ns: int | None
    handling_ns: int | None
    route_ns: int | None
    is_nested: bool = False
    """Whether its outermost span is below a replica, or a routing in a replica's process: a call from one deployment to
    another. FastAPI begins a trace of its own in a replica, so that Serve's span isn't above what is called in it."""
    nested_queues: tuple[NestedQueue, ...] = ()
    """What of the handling went to the queues of other deployments, the longest first."""
    awaited: NestedQueue | None = None
    """The response of another deployment that it may have waited for in the queue, which it takes as an argument."""
    model_call: ModelCall = NO_CALL
    """What vLLM says of the call of a language model that it has led to."""

    def failed_row(self, store: Store) -> int | None:
        """Return the row of the span at which it failed: the innermost with an error, else the one that says so.

        An exception that no status tells of is in the span of the innermost part, a code in that of the outermost.
        """
        if self.failure is None:
            return None
        failed = (row for row in reversed(self.rows) if store.spans.status[row] == ERROR)
        return next(failed, self.rows[-1 if self.failure in {Failure.RAISED, Failure.CANCELLED} else 0])

    @property
    def nested_queue_ns(self) -> int | None:
        """What of the handling went to the queues of other deployments; None if the handling isn't known."""
        return None if self.handling_ns is None else sum(queue.ns for queue in self.nested_queues)

    @property
    def other_ns(self) -> int | None:
        """What of the total is neither queue nor handling nor route, as far as these are known; it can be negative."""
        if self.total_ns is None:
            return None
        return self.total_ns - sum(time or 0 for time in (self.queue_ns, self.handling_ns, self.route_ns))

    @property
    def longest_ns(self) -> int | None:
        """The longest known time: the total, else the handling."""
        return self.handling_ns if self.total_ns is None else self.total_ns


def part_of_name(name: str) -> Part | None:
    """Return which part of a request a span with this name is; None if it isn't a span of Serve."""
    match = _NAME.match(name)
    return None if match is None else (Part.PROXY, Part.ROUTE, Part.REPLICA)[(match.lastindex or 1) - 1]


def request_name(deployment: str, method: str, route: str) -> str:
    """Return what requests are called everywhere: `Cart GET /cart/{n}`, or `Cart /shop.Cart/Get` for those of gRPC."""
    # Of gRPC, the method has the whole path, and the route is the application's name.
    return " ".join(filter(None, (deployment or "–", method, "" if method.startswith("/") else route)))


def name_of_trace(root: str) -> str:
    """Return what a trace is called by the name of its root: as its request, where that is a proxy's span."""
    match = _OF_PROXY.match(root)
    return root if match is None else root[match.end() :].rstrip()


def numbers_of(names: Interned, part: Part) -> frozenset[int]:
    """Return the numbers of the names that spans of a part have."""
    return names.where(_TESTS[part])


def _is_of(part: Part, name: str) -> bool:
    return part_of_name(name) is part


_TESTS: Final = {part: partial(_is_of, part) for part in Part}


def queue_between(spans: SpanTable, route_row: int, replica_row: int) -> int | None:
    """Return the queue of a replica below its routing, in nanoseconds, by their rows; None where a start is missing."""
    queue_ns = time_between(spans.start_ns[route_row], spans.start_ns[replica_row])
    return None if queue_ns is None else max(0, queue_ns)


def serve_requests(store: Store, traces: Iterable[int] | None = None, tell: Tell = unheard) -> list[Request]:
    """Return the requests in the order in which their outermost spans were read; only Serve's spans are decoded.

    Spans that arrive meanwhile don't count.
    """
    from spanview.index.whole_spans import spans_at

    chains, callers = _chains(store, traces)
    replicas = _replicas(store) if chains else frozenset[int]()
    requests, keys = [], dict[RequestKey, RequestKey]()
    chained = [(row, {part: chain[part] for part in Part if part in chain}) for row, chain in sorted(chains.items())]
    spans = spans_at(store, [row for _, chain in chained for row in chain.values()])
    for number, (row, chain) in enumerate(chained):
        if not number % _REQUESTS_PER_REPORT:
            tell(number / len(chains))
        decoded = {part: next(spans) for part in chain}
        is_nested = row in callers or (Part.ROUTE in chain and store.spans.process[row] in replicas)
        requests.append(_request(store, chain, decoded, keys, is_nested=is_nested))
    if called := model_calls(store, {request.request_id for request in requests} - {""}):
        requests = [
            request._replace(model_call=called[request.request_id]) if request.request_id in called else request
            for request in requests
        ]
    if not callers:
        return requests
    served = [*_served_calls(store.spans, requests, callers)]
    queues, awaited = nested_queues(served), awaited_responses(served)
    for number, request in enumerate(requests):
        row = request.rows[-1]
        nested = queues.get(row, ()) if request.handling_ns is not None else ()
        if nested or row in awaited:
            requests[number] = request._replace(nested_queues=nested, awaited=awaited.get(row))
    return requests


class SeenRequest(NamedTuple):
    """A request as far as columns show it."""

    rows: Mapping[Part, int]
    """Of its spans."""
    queues: tuple[NestedQueue, ...]
    """How long it was in the queue of each deployment, the longest first, where part of its handling went to others."""


def seen_requests(store: Store, traces: Iterable[int]) -> dict[int, SeenRequest]:
    """Return the requests of some traces by their outermost rows; they are decoded only where any called others."""
    chains, callers = _chains(store, traces)
    queues = {
        request.rows[0]: summed((NestedQueue(request.key.deployment, request.queue_ns or 0), *request.nested_queues))
        for request in (serve_requests(store, traces) if callers else ())
        if request.nested_queues
    }
    return {row: SeenRequest(chain, queues.get(row, ())) for row, chain in chains.items()}


def _served_calls(spans: SpanTable, requests: Iterable[Request], callers: Mapping[int, int]) -> Iterator[ServedCall]:
    """Yield the requests whose replicas have started."""
    for request in requests:
        replica = request.rows[-1]
        start, end = spans.start_ns[replica], spans.end_ns[replica]
        if request.parts[-1] is Part.REPLICA and start != NO_TIME:
            yield ServedCall(
                request.key.deployment,
                replica,
                callers.get(request.rows[0], NO_ROW),
                start - (request.queue_ns or 0),
                start,
                # Until its end is known, it runs.
                maxsize if end == NO_TIME else max(start, end),
            )


# -- which spans belong together ---------------------------------------------------------------------------------------


def _chains(store: Store, traces: Iterable[int] | None) -> tuple[dict[int, dict[Part, int]], dict[int, int]]:
    """Return the spans of each request by part, and the replica that it is below; both keyed by its outermost row."""
    numbers = {number: part for part in Part for number in numbers_of(store.names, part)}
    if not numbers:
        return {}, {}
    import numpy as np

    from spanview.index.forest import forest_of

    forest, spans = forest_of(store, traces), store.spans
    positions = np.flatnonzero(np.isin(forest.of("name"), [*numbers]))
    rows: list[int] = forest.rows[positions].tolist()
    parents = forest.parents[positions]
    parent_rows: list[int] = np.where(parents < 0, parents, forest.rows[np.maximum(parents, 0)]).tolist()
    parts = {row: numbers[spans.name[row]] for row in rows}
    latest: dict[tuple[int, Part], int] = {}
    above: dict[int, int] = {}
    for (row, part), parent in zip(parts.items(), parent_rows, strict=True):
        if (parts.get(parent), part) not in _BELOW:
            continue
        above[row] = parent
        known = latest.setdefault((parent, part), row)
        if (spans.start_ns[known], known) < (spans.start_ns[row], row):
            latest[parent, part] = row
    chains = {}
    for row, part in parts.items():
        # A proxy routes once. If it routed twice, the earlier routing would be a request of its own.
        if row not in above or (part is Part.ROUTE and latest[above[row], part] != row):
            chain = chains[row] = {part: row}
            route = latest.get((row, Part.ROUTE), row)
            if route != row:
                chain[Part.ROUTE] = route
            if (route, Part.REPLICA) in latest:
                chain[Part.REPLICA] = latest[route, Part.REPLICA]
    return chains, _callers(forest, dict(zip(rows, positions.tolist(), strict=True)), parts, chains)


def _callers(
    forest: Forest, positions: Mapping[int, int], parts: Mapping[int, Part], outermost: Iterable[int]
) -> dict[int, int]:
    """Return the row of the lowest replica above each of some rows; none for those that are below no replica."""
    replicas = {positions[row]: row for row, part in parts.items() if part is Part.REPLICA}
    callers, parents = dict[int, int](), forest.parents
    above = dict[int, int]()
    """What is known of spans on the way up."""
    for row in outermost:
        way, position = list[int](), int(parents[positions[row]])
        while position >= 0 and position not in replicas and position not in above:
            way.append(position)
            position = int(parents[position])
        caller = replicas.get(position, above.get(position, NO_ROW))
        above.update(dict.fromkeys(way, caller))
        if caller != NO_ROW:
            callers[row] = caller
    return callers


def _replicas(store: Store) -> frozenset[int]:
    """Return the processes of replicas, which aren't that of a proxy."""
    import numpy as np

    from spanview.index.arrays import copy_of

    names, processes = copy_of(store.spans.name), copy_of(store.spans.process)
    count = min(len(names), len(processes))

    def of(part: Part) -> set[int]:
        return {*np.unique(processes[:count][np.isin(names[:count], [*numbers_of(store.names, part)])]).tolist()}

    return frozenset(of(Part.REPLICA) - of(Part.PROXY))


_BELOW: Final = {(Part.PROXY, Part.ROUTE), (Part.ROUTE, Part.REPLICA)}


# -- one request -------------------------------------------------------------------------------------------------------


def _request(
    store: Store,
    chain: Mapping[Part, int],
    decoded: Mapping[Part, Span],
    keys: dict[RequestKey, RequestKey],
    *,
    is_nested: bool,
) -> Request:
    """Return one request of a chain of rows, the outermost first; requests with the same key share it."""
    spans, parts = store.spans, tuple(chain)
    outward = [span.attributes for span in decoded.values()]
    proxy, route, replica = (decoded[part].attributes if part in decoded else {} for part in Part)
    failure = failure_of(decoded.values())
    times = {part: time_between(spans.start_ns[chain[part]], spans.end_ns[chain[part]]) for part in parts}
    is_queued = {Part.ROUTE, Part.REPLICA} <= chain.keys()
    word = "exception" if failure is Failure.RAISED else failure and failure.value
    key = RequestKey(
        app=_first(outward, "app"),
        # Older releases only name the deployment.
        deployment=_first(outward, "deployment") or decoded[parts[0]].name.partition(" ")[2].partition(" ")[0],
        route=route_in(route) or route_in(replica) or _first([proxy], "http.route", "request_route_path"),
        method=_first([proxy], "request_method", "http.method", "rpc.method")
        or _first([replica], "http.method")
        or _first([replica, route], "call_method", "rpc.method"),
        # The code of a routing alone may be that of another request, which the caller had by then answered.
        status=_first([] if is_nested and Part.REPLICA not in chain else outward, HTTP_STATUS, GRPC_STATUS)
        or word
        or "",
    )
    return Request(
        rows=tuple(chain[part] for part in parts),
        parts=parts,
        is_alone=parts == (Part.REPLICA,) and not spans.parent_id[chain[Part.REPLICA]],
        key=keys.setdefault(key, key),
        request_id=_first(outward, *REQUEST_ID_KEYS),
        failure=failure,
        total_ns=_total(store, chain, times),
        queue_ns=queue_between(spans, chain[Part.ROUTE], chain[Part.REPLICA]) if is_queued else None,
        handling_ns=times.get(Part.REPLICA),
        route_ns=_route(spans, chain, times),
        is_nested=is_nested,
    )


def _first(several: Sequence[Mapping[str, Any]], *keys: str) -> str:
    """Return the first non-empty text of these attributes, from one span after the other."""
    for attributes in several:
        for key in keys:
            if key in attributes and (text := text_of(attributes[key])):
                return text
    return ""


def request_id_of(attributes: Mapping[str, Any]) -> str:
    """Return the id of the request that a span names; empty where it names none."""
    return _text(attributes, *REQUEST_ID_KEYS)


def _text(attributes: Mapping[str, Any], *keys: str) -> str:
    return _first((attributes,), *keys)


def route_in(attributes: Mapping[str, Any]) -> str:
    """Return the route as the application declares it, by the attributes of a routing or a replica; else empty."""
    return _text(attributes, "route", "http.route")


def failure_of(spans: Collection[Span]) -> Failure | None:
    """Return why a request failed, by its spans, the outermost first."""
    for span in spans:
        if failure := failure_of_http(_text(span.attributes, HTTP_STATUS)):
            return failure
        if _text(span.attributes, GRPC_STATUS).upper() not in GRPC_OK:
            return Failure.GRPC
    raised = [[event.attributes for event in span.events if event.is_exception] for span in spans]
    has_error = any(span.status.code_value == ERROR for span in spans)
    if any(raised):
        types = [_text(event, "exception.type") for of_span in raised for event in of_span]
        if not all(kind.rpartition(".")[2] in CANCELLED for kind in types):
            return Failure.RAISED
        *_, (last, of_last) = zip(spans, raised, strict=True)
        # A client that leaves when it has its answer cancels nothing but the proxy.
        has_answered = part_of_name(last.name) is Part.REPLICA and last.end_ns is not None and not of_last
        return Failure.CANCELLED if has_error or not has_answered else None
    return Failure.ERROR if has_error else None


def failure_of_http(code: str) -> Failure | None:
    """Return the failure of an HTTP status code, or of a websocket's closing code; None if there is none."""
    number = number_of(code)
    if number is None or number < _CLIENT_ERROR:
        return None
    if number < _SERVER_ERROR:
        return Failure.CLIENT
    if number < _NO_HTTP_STATUS:
        return Failure.SERVER
    return Failure.CLOSED if number >= _WEBSOCKET_FROM and number not in _NORMAL_CLOSURES else None


def _route(spans: SpanTable, chain: Mapping[Part, int], times: Mapping[Part, int | None]) -> int | None:
    if times.get(Part.ROUTE) is None or None in times.values():
        return None
    if Part.REPLICA not in chain:
        return times[Part.ROUTE]
    # The queue begins with the routing, and the handling where the queue ends.
    start, end = spans.start_ns[chain[Part.ROUTE]], spans.end_ns[chain[Part.ROUTE]]
    return max(0, end - max(start, spans.end_ns[chain[Part.REPLICA]]))


def _total(store: Store, chain: Mapping[Part, int], times: Mapping[Part, int | None]) -> int | None:
    if Part.PROXY in times or Part.ROUTE not in times or None in times.values():
        return times.get(Part.PROXY)
    rows = [*chain.values()]
    return max(store.spans.end_ns[row] for row in rows) - store.spans.start_ns[rows[0]]
