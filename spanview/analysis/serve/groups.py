"""Serve's requests counted: by application, deployment, route, method and status, with percentiles of their times."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanview.analysis.genai.fields import FIELDS, Measured, joined
from spanview.analysis.percentiles import histogram, nearest_rank
from spanview.analysis.serve.nested import summed
from spanview.analysis.serve.requests import serve_requests
from spanview.analysis.telling import unheard

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spanview.analysis.genai.fields import ModelCall
    from spanview.analysis.serve.nested import NestedQueue
    from spanview.analysis.serve.requests import Failure, Request, RequestKey
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store


@dataclass(frozen=True, slots=True)
class Spread:
    """Percentiles of durations in nanoseconds; None if there are none."""

    p50: int | None
    p95: int | None
    p99: int | None
    max: int | None


@dataclass(frozen=True, slots=True)
class Sums:
    """How long requests took in total, of those whose total is known, in nanoseconds: the parts add up to `total`."""

    total: int
    queue: int
    handling: int
    route: int
    other: int
    nested_queue: int
    """What of the handling went to the queues of other deployments."""


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """The requests to one route of a deployment with the same status."""

    key: RequestKey
    requests: tuple[Request, ...]
    """The slowest first, as far as known; those of unknown duration last."""
    errors: int
    """How many failed."""
    failure: Failure | None
    """The most common one of those that failed."""
    total: Spread
    queue: Spread
    handling: Spread
    route: Spread
    other: Spread
    nested_queue: Spread
    """What of the handling went to the queues of other deployments."""
    sums: Sums
    nested_queues: tuple[NestedQueue, ...]
    """The sum of these by deployment, the longest first."""
    histogram: list[int]
    """Of the total times, as in `stats.Group`."""
    model_calls: ModelCall
    """What vLLM says of the calls of language models that they have led to, added up."""
    model_times: Mapping[str, Spread]
    """Of the times of these, by their names."""

    @property
    def count(self) -> int:
        """How many requests."""
        return len(self.requests)


def serve_groups(
    store: Store,
    traces: Iterable[int] | None = None,
    tell: Tell = unheard,
    requests: Iterable[Request] | None = None,
) -> list[RequestGroup]:
    """Return the requests by application, deployment, route, method and status, sorted by these.

    Spans that arrive meanwhile don't count.

    Args:
        requests: Those of these traces, where they were found already.
    """
    groups: defaultdict[RequestKey, list[Request]] = defaultdict(list)
    for request in serve_requests(store, traces, tell) if requests is None else requests:
        groups[request.key].append(request)
    return [_group(requests) for _, requests in sorted(groups.items())]


def _group(requests: Sequence[Request]) -> RequestGroup:
    known = [request for request in requests if request.total_ns is not None]
    totals = sorted(request.total_ns for request in known if request.total_ns is not None)
    called = [request.model_call for request in requests if request.model_call.calls]
    failures = Counter(request.failure for request in requests if request.failure is not None)
    return RequestGroup(
        key=requests[0].key,
        requests=tuple(sorted(requests, key=lambda one: (one.longest_ns is None, -(one.longest_ns or 0), one.rows[0]))),
        errors=failures.total(),
        failure=next((failure for failure, _ in failures.most_common(1)), None),
        total=_spread(totals),
        queue=_spread(request.queue_ns for request in requests),
        handling=_spread(request.handling_ns for request in requests),
        route=_spread(request.route_ns for request in requests),
        other=_spread(request.other_ns for request in requests),
        nested_queue=_spread(request.nested_queue_ns for request in requests),
        sums=Sums(*(sum(getattr(request, f"{part}_ns") or 0 for request in known) for part in Sums.__slots__)),
        nested_queues=summed(queue for request in known for queue in request.nested_queues),
        histogram=histogram(totals),
        model_calls=joined(called),
        model_times={
            name: _spread(getattr(call, name) for call in called)
            for name, field in FIELDS.items()
            if field.measured is Measured.TIME
        },
    )


def _spread(times: Iterable[int | None]) -> Spread:
    durations = sorted(time for time in times if time is not None)
    return Spread(*(nearest_rank(durations, percent) for percent in (50, 95, 99, 100)))
