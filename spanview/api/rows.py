"""The rows of reports, with their types: fields are called as columns of data frames are.

What a figure means, the page tables says of the column of the same name. Times are in nanoseconds; what isn't known is
None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Group:
    """The spans that have something in common, such as their name."""

    key: str | None
    count: int
    errors: int
    no_end: int
    total_ns: int | None
    self_time_ns: int | None
    min_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    histogram: Sequence[int]


@dataclass(frozen=True, slots=True)
class Amounts:
    """The numbers that spans with something in common have as an attribute."""

    key: str | None
    count: int
    value_total: float
    value_min: float
    value_p50: float
    value_p95: float
    value_p99: float
    value_max: float


@dataclass(frozen=True, slots=True)
class PathShare:
    """What the spans of one name take of critical paths."""

    key: str | None
    traces: int
    critical_total_ns: int | None
    critical_self_ns: int | None
    critical_wait_ns: int | None
    errors: int


@dataclass(frozen=True, slots=True)
class Call:
    """One Ray call."""

    function: str
    submitted_ns: int | None
    wait_ns: int | None
    waited_for: str | None
    """`arguments`, `resources`, `worker_start`, `creation`, `actor`, `loading`, `retry` or `unknown`."""
    wait_certainty: str | None
    """`certain` or `likely`."""
    wait_parts_ns: Mapping[str, int]
    """How long it waited for what."""
    run_ns: int | None
    wait_and_run_ns: int | None
    attempts: int
    outcome: str
    outcome_certainty: str | None
    """`certain` or `likely`."""
    cause: str | None
    generator: bool
    root: str | None
    file: str | None
    trace_id: str | None
    span_id: str | None


@dataclass(frozen=True, slots=True)
class CallGroup:
    """The Ray calls of one function, actor, node or job."""

    function: str
    """Its name; or the actor, node or job that is asked for."""
    calls: int
    ended: int
    cut_off: int
    cancelled: int
    failed: int
    retried: int
    no_attempt: int
    running: int
    lost: int
    no_end: int
    attempts: int
    errors: int
    submit_errors: int
    untraced: int
    serves_own: int
    existing: int
    wait_total_ns: int | None
    wait_p50_ns: int | None
    wait_p95_ns: int | None
    wait_p99_ns: int | None
    wait_max_ns: int | None
    waited_for: Mapping[str, Mapping[str, int]]
    cold_starts: int
    cold_wait_ns: int | None
    run_total_ns: int | None
    run_p50_ns: int | None
    run_p95_ns: int | None
    run_p99_ns: int | None
    run_max_ns: int | None
    max_concurrency: int | None
    generator: bool | str


@dataclass(frozen=True, slots=True)
class Request:
    """One request to Ray Serve."""

    request_id: str | None
    start_ns: int | None
    total_ns: int | None
    queue_ns: int | None
    handling_ns: int | None
    route_ns: int | None
    other_ns: int | None
    app: str | None
    deployment: str | None
    route: str | None
    method: str | None
    status: str | None
    failure: str | None
    seen: str | None
    trace_id: str | None


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """The requests to Ray Serve with one application, deployment, route, method and status."""

    app: str | None
    deployment: str | None
    route: str | None
    method: str | None
    status: str | None
    count: int
    errors: int
    total_p50_ns: int | None
    total_p95_ns: int | None
    total_p99_ns: int | None
    total_max_ns: int | None
    queue_p50_ns: int | None
    queue_p95_ns: int | None
    queue_p99_ns: int | None
    queue_max_ns: int | None
    handling_p50_ns: int | None
    handling_p95_ns: int | None
    handling_p99_ns: int | None
    handling_max_ns: int | None


@dataclass(frozen=True, slots=True)
class Finding:
    """What `check` found."""

    kind: str
    severity: str
    certainty: str
    count: int
    detail: str
    advice: str
    evidence: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Sentence:
    """What `explain` says, and what it rests on."""

    topic: str
    text: str
    certainty: str
    duration_ns: int | None
    trace_id: str | None
    span_id: str | None
    more: str | None
    """The command that shows more, to which PATHs are to be added."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One call path, name or Ray function on both sides: B's figure minus A's is the change, B's by A's the ratio."""

    path: Sequence[str | None]
    name: str | None
    service: str | None
    depth: int
    only_in: str | None
    count_a: float | None
    count_b: float | None
    count_change: float | None
    count_ratio: float | None
    errors_a: float | None
    errors_b: float | None
    errors_change: float | None
    errors_ratio: float | None
    self_time_a_ns: float | None
    self_time_b_ns: float | None
    self_time_change_ns: float | None
    self_time_ratio: float | None
    total_a_ns: float | None
    total_b_ns: float | None
    total_change_ns: float | None
    total_ratio: float | None
    p50_a_ns: float | None
    p50_b_ns: float | None
    p50_change_ns: float | None
    p50_ratio: float | None
    p95_a_ns: float | None
    p95_b_ns: float | None
    p95_change_ns: float | None
    p95_ratio: float | None
