"""What of a replica went to the queues of the deployments that it called: drawings, and random calls moment by moment.

µs                     0    5   10   15   20   25   30
replica Front          ===============================
  route Price             ~~~~~~~~~~
    replica Price                   =====
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Builder, store_of
from spanview.analysis.serve.groups import serve_groups
from spanview.analysis.serve.nested import NestedQueue, ServedCall, awaited_responses, nested_queues
from spanview.analysis.serve.requests import serve_requests
from spanview.reports.serve import serve_report

if TYPE_CHECKING:
    from collections.abc import Sequence

US: Final = 1000
FRONT: Final = (
    "proxy_http_request Front GET 0-100\n  route_to_replica Front f 10-40\n    replica_handle_request Front f 30-90\n"
)
CASES: Final = [
    # What is below the replica of Front, and what of its 60 µs went to which queues.
    ("", {}),
    ("route_to_replica Price g 40-70\n  replica_handle_request Price g 65-80", {"Price": 25}),
    ("mine 35-85\n  route_to_replica Price g 40-70\n    replica_handle_request Price g 65-80", {"Price": 25}),
    # What runs comes before what is queued.
    (
        (
            "route_to_replica Price g 40-70\n  replica_handle_request Price g 65-80\n"
            "route_to_replica Stock h 42-55\n  replica_handle_request Stock h 50-60"
        ),
        {"Price": 15},
    ),
    # A moment counts once, for the one that began to wait first.
    (
        (
            "route_to_replica Price g 40-50\n  replica_handle_request Price g 50-70\n"
            "route_to_replica Stock h 35-47\n  replica_handle_request Stock h 45-46"
        ),
        {"Stock": 10, "Price": 4},
    ),
    # Of what was called, only what runs itself counts as running.
    (
        (
            "route_to_replica Price g 40-45\n  replica_handle_request Price g 45-80\n"
            "    route_to_replica Stock h 50-70\n      replica_handle_request Stock h 70-75"
        ),
        {"Price": 5, "Stock": 20},
    ),
    # Only the replica's own time counts.
    ("route_to_replica Price g 80-150\n  replica_handle_request Price g 140-150", {"Price": 10}),
    ("route_to_replica Price g 40-?\n  replica_handle_request Price g 60-?", {"Price": 20}),
    ("route_to_replica Price g 40-80", {}),
    # What was lost ran until it was tried again; what was called before may have run beside it.
    (
        (
            "route_to_replica Price g 40-?\n  replica_handle_request Price g 60-?\n"
            "route_to_replica Price g 65-72\n  replica_handle_request Price g 72-80"
        ),
        {"Price": 27},
    ),
    (
        (
            "route_to_replica Price g 40-?\n  replica_handle_request Price g 50-?\n"
            "route_to_replica Stock h 45-70\n  replica_handle_request Stock h 70-75"
        ),
        {"Price": 10},
    ),
]


@pytest.mark.parametrize(("below", "queues"), CASES)
def test_drawings(below: str, queues: dict[str, int]) -> None:
    """Each drawing comes to its queues, and the rest of the handling is left."""
    drawing = FRONT + "".join(f"      {line}\n" for line in below.splitlines())
    front, *nested = serve_requests(store_of(*Builder().draw(drawing)))
    assert {queue.deployment: queue.ns // US for queue in front.nested_queues} == queues
    assert (front.queue_ns, front.handling_ns) == (20 * US, 60 * US)
    assert front.nested_queue_ns == sum(queues.values()) * US
    assert not front.is_nested
    assert all(request.is_nested for request in nested)


def test_the_sums_of_a_group() -> None:
    """Queues of all its requests, by deployment."""
    drawing = FRONT + "      route_to_replica Price g 40-70\n        replica_handle_request Price g 65-80\n"
    documents = [span for trace in (1, 2) for span in Builder().draw(drawing, trace=trace)]
    store = store_of(*documents)
    front, price = serve_groups(store)
    assert front.nested_queues == (("Price", 50 * US),)
    assert (front.sums.nested_queue, front.nested_queue.p50, front.count) == (50 * US, 25 * US, 2)
    assert (price.nested_queues, price.nested_queue.max) == ((), 0)
    queues = {row["deployment"]: row["nested_queues"] for row in serve_report(store).document()["rows"]}
    assert queues == {"Front": [{"deployment": "Price", "sum_ns": 50 * US}], "Price": []}


_TIMES: Final = st.tuples(*[st.integers(0, 12)] * 3).map(sorted)


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(-1, 5), _TIMES), max_size=7))
def test_moment_by_moment(drawn: list[tuple[str, int, list[int]]]) -> None:
    """Random calls, each below an earlier one, as they are told apart at each moment alone."""
    calls = [
        ServedCall(name, number, min(caller, number - 1), *times) for number, (name, caller, times) in enumerate(drawn)
    ]
    expected = Counter(
        call.replica
        for moment in range(12)
        for call in calls
        if call.start_ns <= moment < call.end_ns and not _runs(call, moment, calls)
    )
    assert {row: sum(queue.ns for queue in queues) for row, queues in nested_queues(calls).items()} == expected


def _runs(caller: ServedCall, moment: int, calls: Sequence[ServedCall]) -> bool:
    """Return whether a replica, or one below it, runs at a moment, or nothing below it is queued."""
    below = [call for call in calls if call.caller == caller.replica]
    running = [call for call in below if call.start_ns <= moment < call.end_ns]
    if any(_runs(call, moment, calls) for call in running):
        return True
    return not running and not any(call.queued_ns <= moment < call.start_ns for call in below)


def test_nested_very_deeply() -> None:
    """Thousands of calls, each below the one before it, are told apart as far down as that takes no time."""
    calls = [ServedCall("A", number, number - 1, number, number + 1, 10_000) for number in range(5_000)]
    assert nested_queues(calls)[0][0].ns > 0


@pytest.mark.parametrize(
    ("deployment", "queued_ms", "end_ms", "awaited"),
    [
        ("Fetch", 90, 800, NestedQueue("Fetch", 700_000_000)),
        ("Fetch", 104, 800, NestedQueue("Fetch", 700_000_000)),
        # It was called later, ended before, or went on; or it is what the request was queued behind.
        ("Fetch", 200, 800, None),
        ("Fetch", 10, 99, None),
        ("Fetch", 90, 901, None),
        ("Score", 90, 800, None),
    ],
)
def test_a_response_that_a_request_may_have_waited_for(
    deployment: str, queued_ms: int, end_ms: int, awaited: NestedQueue | None
) -> None:
    """Of another deployment, called before by the same caller, that ended while the request was queued."""
    first = ServedCall(deployment, 1, 0, *(1_000_000 * ms for ms in (queued_ms, queued_ms + 1, end_ms)))
    second = ServedCall("Score", 2, 0, 100_000_000, 900_000_000, 999_000_000)
    assert awaited_responses([second, first]).get(2) == awaited
    # Of what nobody called nothing is known.
    assert awaited_responses([one._replace(caller=-1) for one in (second, first)]) == {}
