"""What is probably running, told by which processes are alive.

file      process   what it holds
7.txt     7         the caller: f ray.remote, A.g ray.remote (of actor a1)
8.txt     8         a worker: f ray.remote_worker
9.txt     9         the process of actor a1: A.g ray.remote_worker
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import EPOCH_NS, Builder
from spanview.analysis.running import Running
from viewers import Growing

if TYPE_CHECKING:
    from collections.abc import Collection

CALLER, WORKER, ACTOR = 7, 8, 9
A1: Final = {"ray.actor_id": "a1"}


def filled() -> Growing:
    """Return the files of the drawing, with a call of f, of the actor, and of one that has run nothing, unanswered."""
    build, data = Builder(), Growing()

    def call(name: str, span: int, **fields: Any) -> list[Any]:
        return [build.span(f"{name} ray.remote", span=span, trace=span, kind="PRODUCER", **fields)]

    data.add(*call("f", 1), *call("A.g", 2, attributes=A1), path=f"spans/{CALLER}.txt")
    data.add(*call("f", 3), *call("A.g", 4, attributes=A1), path=f"spans/{CALLER}.txt")
    data.add(*call("B.h", 5, attributes={"ray.actor_id": "b1"}), path=f"spans/{CALLER}.txt")
    ran = build.span("f ray.remote_worker", span=11, parent=1, trace=1, kind="CONSUMER")
    data.add(ran, path=f"spans/{WORKER}.txt")
    ran = build.span("A.g ray.remote_worker", span=12, parent=2, trace=2, kind="CONSUMER", attributes=A1)
    data.add(ran, path=f"spans/{ACTOR}.txt")
    return data


def running(data: Growing, alive: Collection[int]) -> Running:
    """Return what tells of it while some processes are alive, and have been since before the first span."""
    return Running(data.store, lambda pid, seen_ns: pid in alive and seen_ns > EPOCH_NS)


@pytest.mark.parametrize(
    ("span", "alive", "may_run", "text"),
    [
        (3, {CALLER, WORKER, ACTOR}, True, "runs or waits, likely: 2 workers alive"),
        (3, {CALLER, ACTOR}, True, "runs or waits, likely: 1 worker alive"),
        (3, {CALLER}, True, "waits, likely: no worker is alive"),
        (3, {WORKER, ACTOR}, False, f"lost, likely: its caller, pid {CALLER}, has gone"),
        (4, {CALLER, WORKER, ACTOR}, True, f"runs or waits, likely: its actor, pid {ACTOR}, lives"),
        (4, {CALLER, WORKER}, False, f"lost, likely: its actor, pid {ACTOR}, has gone"),
        (5, {CALLER, WORKER, ACTOR}, True, "waits, likely: its actor has run nothing yet"),
    ],
)
def test_calls_without_an_attempt(span: int, alive: set[int], text: str, *, may_run: bool) -> None:
    """By its caller, its actor, or the workers that there are."""
    data = filled()
    row = data.store.spans.span_id.index(span)
    thought = running(data, alive).thought_of(row)
    assert (thought.may_run, thought.text) == (may_run, text)


def test_a_file_that_no_process_is_told_by() -> None:
    """Then nothing is claimed."""
    data = Growing()
    data.add(Builder().span("f ray.remote", kind="PRODUCER"), path="spans/all.json")
    assert running(data, {CALLER}).thought_of(0).text == "runs, waits or is lost"


def test_traces_of_the_living() -> None:
    """A trace is told while its root is missing and a process of it lives; what comes later is looked at, too."""
    build, data = Builder(), Growing()
    data.add(build.span("late", trace=1, parent=99), build.span("root", trace=2), path="spans/7.txt")
    tells = running(data, {7})
    assert tells.traces_of_the_living() == {0}
    data.add(build.span("late", trace=3, parent=99), path="spans/8.txt")
    assert tells.traces_of_the_living() == {0}
    data.add(build.span("late", trace=3, parent=99), path="spans/7.txt")
    assert tells.traces_of_the_living() == {0, 2}
    data.add(build.span("root", trace=1, span=99), path="spans/7.txt")
    assert tells.traces_of_the_living() == {2}
