"""Both halves of a Ray call in a line, by what their records say of who wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from builders import Builder, store_of
from spanview.analysis.ray.functions import Function
from spanview.analysis.ray.wait_causes import WaitedFor, WaitSum
from spanview.display.call_text import call_text, causes_text, cold_starts_text, waited_for_shares, waited_for_text
from spanview.display.span_in_tree import SpanInTree

if TYPE_CHECKING:
    from builders import Document
    from spanview.analysis.ray.wait_causes import WaitSums

DRIVER, WORKER = "01000000" + "f" * 48, "5de2d0bd" * 7


def texts_of(*documents: Document) -> list[str]:
    """Return what is said of each span of a trace, in the order of its tree."""
    store = store_of(*documents)
    tree = store.tree(0)
    return [call_text(SpanInTree(store.span(row), store, 0, tree, node)) for node, row in enumerate(tree.rows)]


def process(worker_id: str, pid: int) -> dict[str, Any]:
    """Return the attributes by which Ray says who has written a span."""
    return {"ray.worker_id": worker_id, "ray.pid": str(pid)}


@pytest.mark.parametrize(
    ("cold", "started", "text"),
    [
        ([0], [(0, 0)], ""),
        ([1], [(0, 0)], "1 cold start"),
        ([1], [(1, 800)], "1 cold start (likely 800 µs of waiting for a new worker or its code)"),
        # One waited for its actor at last, and overlapping waits make more than the clock shows.
        (
            [2, 1, 0],
            [(1, 800), (1, 700), (0, 0)],
            "3 cold starts (together likely 1.50 ms of waiting for new workers or their code)",
        ),
    ],
)
def test_cold_starts(cold: list[int], started: list[tuple[int, int]], text: str) -> None:
    """Only what was likely waited for a worker's start counts, and it is said that it is a sum."""
    functions = [
        Function(
            "f",
            cold_starts=number,
            cold_wait_ns=9_000_000,
            waited_for={WaitedFor.WORKER_START: WaitSum(calls, us * 1_000), WaitedFor.ACTOR: WaitSum(1, 7_000_000)},
        )
        for number, (calls, us) in zip(cold, started, strict=True)
    ]
    assert cold_starts_text(functions) == text


def test_loading_is_no_cold_start() -> None:
    """Workers that are there load functions and arguments, too."""
    waited_for = {WaitedFor.WORKER_START: WaitSum(1, 2_000_000, 2_000_000), WaitedFor.LOADING: WaitSum(1, 3_000_000)}
    said = cold_starts_text([Function("f", cold_starts=1, waited_for=waited_for)])
    assert said == "1 cold start (2 ms of waiting for a new worker)"


@pytest.mark.parametrize(
    ("caller", "said"), [(process(DRIVER, 7), "the driver"), (process(WORKER, 8), "pid 8")], ids=["driver", "worker"]
)
def test_an_attempt(caller: dict[str, Any], said: str) -> None:
    """An attempt says what it waited, how long it ran and where, and who submitted its call; the call says nothing."""
    build, runner = Builder(), process(WORKER, 9)
    assert texts_of(
        build.span("m.f ray.remote", start=0, duration=2, kind="PRODUCER", attributes=caller),
        build.span("m.f ray.remote_worker", parent=1, start=10, duration=5, kind="CONSUMER", attributes=runner),
    ) == ["", f"waited 8 µs · ran 5 µs on worker 9 · submitted by {said}"]


def test_what_is_not_known_is_not_said() -> None:
    """Without an end it ran for an unknown time; a second attempt waited since the first one; others say nothing."""
    build, runner = Builder(), process(WORKER, 9)
    attempt: dict[str, Any] = {"parent": 1, "kind": "CONSUMER", "attributes": runner}
    texts = texts_of(
        build.span("m.f ray.remote", span=1, start=0, duration=2, kind="PRODUCER", attributes=process(DRIVER, 7)),
        build.span("m.f ray.remote_worker", span=2, start=10, duration=5, **attempt),
        build.span("m.f ray.remote_worker", span=3, start=18, duration=None, **attempt),
        build.span("queue receive", span=4, start=20, **attempt),
        build.span("m.f ray.remote_worker", span=5, start=30, kind="CONSUMER"),
    )
    assert texts[2:] == ["waited 3 µs · no end on worker 9 · submitted by the driver", "", ""]


@pytest.mark.parametrize(
    ("sums", "text", "shares"),
    [
        (
            {
                WaitedFor.UNKNOWN: WaitSum(12, 97_000_000),
                WaitedFor.CREATION: WaitSum(3, 35_000_000),
                WaitedFor.RESOURCES: WaitSum(2, 60_000_000),
            },
            (
                "192 ms waiting: 60 ms likely for a worker or resources, 35 ms for its actor to be ready, "
                "97 ms cause unknown"
            ),
            "likely worker or resources 31%, creation 18%, unknown 51%",
        ),
        # Of a part of a wait the cause is known.
        (
            {WaitedFor.WORKER_START: WaitSum(18, 188_000_000)},
            "192 ms waiting: 188 ms likely for a new worker or its code, 4 ms cause unknown",
            "likely worker start or code 98%, unknown 2%",
        ),
        ({WaitedFor.ACTOR: WaitSum(1, 192_000_000)}, "192 ms waiting, likely for its actor", "likely actor 100%"),
        # Ray itself says so, all of it, or all but next to nothing.
        ({WaitedFor.ACTOR: WaitSum(9, 192_000_000, 190_100_000)}, "192 ms waiting, for its actor", "actor 100%"),
        (
            {WaitedFor.ACTOR: WaitSum(9, 192_000_000, 190_000_000)},
            "192 ms waiting, likely for its actor",
            "likely actor 100%",
        ),
        ({WaitedFor.ACTOR: WaitSum(1, 192_000_000, 192_000_000)}, "192 ms waiting, for its actor", "actor 100%"),
        (
            {WaitedFor.ARGUMENTS: WaitSum(2, 150_000_000, 150_000_000), WaitedFor.ACTOR: WaitSum(1, 42_000_000, 7)},
            "192 ms waiting: 150 ms for its arguments, 42 ms likely for its actor",
            "arguments 78%, likely actor 22%",
        ),
        ({WaitedFor.UNKNOWN: WaitSum(1, 1)}, "192 ms waiting, cause unknown", "unknown 100%"),
        ({}, "", ""),
    ],
)
def test_all_that_calls_waited_for(sums: WaitSums, text: str, shares: str) -> None:
    """What is known comes first, however much isn't; together it is all of their waiting."""
    function = Function("f", calls=18, total_wait_ns=192_000_000, waited_for=sums)
    assert (waited_for_text(function), waited_for_shares(function)) == (text, shares)


@pytest.mark.parametrize(
    ("causes", "is_certain", "text"),
    [
        ([(WaitedFor.ARGUMENTS, 3_000)], True, ""),
        ([(WaitedFor.ARGUMENTS, 3_000), (WaitedFor.RESOURCES, 4)], True, ""),
        (
            [(WaitedFor.ARGUMENTS, 1_000), (WaitedFor.RESOURCES, 3_000)],
            True,
            "3 µs for a worker or resources, 1 µs for its arguments",
        ),
        (
            [(WaitedFor.WORKER_START, 1_000), (WaitedFor.UNKNOWN, 3_000)],
            False,
            "1 µs likely for a new worker or its code, 3 µs cause unknown",
        ),
        # Ray tells the loading of code apart.
        (
            [(WaitedFor.WORKER_START, 2_000), (WaitedFor.LOADING, 1_000)],
            False,
            "2 µs likely for a new worker, 1 µs for its code or arguments to be loaded",
        ),
        (
            [(cause, 1_000) for cause in WaitedFor],
            True,
            "1 µs for a new worker, 1 µs for a worker or resources, 1 µs for an earlier attempt, …",
        ),
    ],
)
def test_causes(causes: list[tuple[WaitedFor, int]], is_certain: bool, text: str) -> None:  # noqa: FBT001 - a column
    """The longest known cause is first and what isn't known last; what rounds to nothing is left out, too."""
    assert causes_text(causes, 10, 3, is_certain=is_certain) == text
