"""Which functions are generators, whose spans end when the generator is made.

µs                    0  2    5      10
f ray.remote_worker   |==|                a generator is made
item                          |==|        its body runs: a root in the same process
g ray.remote_worker                  |==| the next attempt
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import Builder, file_of, store_of_files
from programs import spanview
from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray.generators import RUN_NOT_KNOWN, generators_of
from spanview.display.span_in_tree import SpanInTree
from spanview.display.timing_text import timing_facts, timing_parts
from spanview.reports.calls import calls_report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from builders import Document
    from spanview.index.store import Store

TASK: Final = {"ray.remote": "function", "ray.task_id": "t1"}
LIKELY: Final = {"f": Certainty.LIKELY}


def generators(*worker: Document, other: Sequence[Document] = ()) -> dict[str, Certainty]:
    """Return what is found in a worker's file, with another process's beside it."""
    return generators_of(store_of_files({"1.txt": file_of(worker), "2.txt": file_of(other)}))


def attempt(start: float = 0, name: str = "f", **fields: Any) -> Document:
    """Return an attempt of 2 µs."""
    given: dict[str, Any] = {"duration": 2, "attributes": TASK} | fields
    return Builder().span(
        f"{name} ray.remote_worker", trace=2, span=round(start) + 50, kind="CONSUMER", start=start, parent=9, **given
    )


def root(start: float = 5, **fields: Any) -> Document:
    """Return a root of 2 µs."""
    return Builder().span("item", trace=3, span=round(start) + 500, start=start, duration=2, **fields)


def test_what_runs_after_an_attempt() -> None:
    """Roots that start after an attempt, before the next one of its process, are what a generator's body did."""
    assert generators(attempt(), root()) == LIKELY
    assert generators(attempt(), root(), attempt(10, "g")) == LIKELY
    assert generators(attempt(), root(20_000, kind="PRODUCER", attributes={"ray.task_id": "t1"})) == LIKELY
    submits = {"ray.task_id": "t2", "ray.submitter_task_id": "t1"}
    assert generators(attempt(), root(20_000, kind="PRODUCER", attributes=submits)) == LIKELY


@pytest.mark.parametrize(
    "worker",
    [
        [attempt()],
        [root(), attempt(10)],
        [attempt(duration=10), root()],
        [attempt(), root(), attempt(20, duration=10), root(25)],
        [attempt(duration=6_000), root(7_000)],
        [attempt(attributes={"ray.remote": "actor"}), root()],
        [attempt(), root(kind="PRODUCER", attributes={"ray.task_id": "t2"})],
        [attempt(), root(kind="PRODUCER", attributes={"ray.task_id": "t1", "ray.submitter_task_id": "t2"})],
        [attempt(), root(20_000)],
        [attempt(), root(), attempt(10), attempt(20)],
        [attempt(resource={"service.instance.id": "1"}), root(resource={"service.instance.id": "2"})],
        [attempt(), root(parent=77)],
    ],
    ids=[
        "nothing follows",
        "it comes before",
        "a thread beside an attempt",
        "a thread beside another attempt",
        "it takes too long to be the making of a generator",
        "an actor's background work",
        "a call of another task",
        "a call of another task that submits this one again",
        "too long after",
        "after fewer than half of the attempts",
        "another process with the same file",
        "a child of something",
    ],
)
def test_what_is_no_generator(worker: list[Document]) -> None:
    """Threads, actors and other processes make roots, too."""
    assert generators(*worker) == {}


def test_roots_of_other_processes() -> None:
    """A driver's roots stand in its own file, and tell nothing of a worker's attempts."""
    assert generators(attempt(), other=[root()]) == {}


def test_tasks_of_ray_data() -> None:
    """Some are known by their names, and need no other sign."""
    name = "ray.data._internal.execution.operators.map_operator._map_task"
    assert generators(attempt(name=name), attempt(10, "mine._map_task")) == {name: Certainty.CERTAIN}


def test_what_is_not_known_of_a_generator() -> None:
    """Its runs and how many ran at once are null."""
    producer = Builder().span("f ray.remote", trace=2, span=9, kind="PRODUCER", start=0, duration=1)
    store = store_of_files({"1.txt": file_of([attempt(2), root()]), "2.txt": file_of([producer])})
    (found,) = calls_report(store).document()["rows"]
    nothing = {"total": None, "p50": None, "p95": None, "p99": None, "max": None}
    assert (found["generator"], found["run_ns"], found["max_concurrency"]) == ("likely", nothing, None)
    assert (found["attempts"], found["wait_ns"]["max"]) == (1, 1_000)
    assert (found["cold_starts"], found["cold_wait_ns"]) == (1, 1_000)


def test_generators_of_spanviews_hook() -> None:
    """Their spans last until they are exhausted, which the first attempt and the last one say."""
    name = "ray.data._internal.execution.operators.map_operator._map_task"
    lasting = {"ray.remote": "function", "ray.generator": True}
    whole = [attempt(start, name, attributes=lasting) for start in (0, 10, 20)]
    assert generators(*whole) == {}
    assert generators(*whole, attempt(30, name)) == {name: Certainty.CERTAIN}
    assert generators(attempt(0, name), *whole[1:]) == {name: Certainty.CERTAIN}


def test_nothing_compares_the_times_of_generators(tmp_path: Path) -> None:
    """Details don't say how quick an attempt is among its like, and statistics by name say that its run isn't known."""
    data = file_of([attempt(), root(), attempt(10), root(15), attempt(20, "g"), attempt(40, "g", duration=20)])
    store = store_of_files({"1.txt": data})
    compared = {name: "same name" in timing_keys(store, f"{name} ray.remote_worker") for name in ("f", "g")}
    assert compared == {"f": False, "g": True}
    (tmp_path / "1.txt").write_bytes(data)
    lines = spanview("stats", "--by", "name", str(tmp_path)).text.splitlines()
    assert {line.split()[0]: RUN_NOT_KNOWN in line for line in lines if line[0] in "fg"} == {"f": True, "g": False}
    assert any(line.endswith(f"likely a generator, {RUN_NOT_KNOWN}") for line in lines)


def timing_keys(store: Store, name: str) -> set[str]:
    """Return what the details of the first span of a name say of its times."""
    row = store.spans.name.index(store.names.texts.index(name))
    trace = store.spans.trace[row]
    tree = store.tree(trace)
    subject = SpanInTree(store.span(row), store, trace, tree, tree.rows.index(row))
    return {part.key for part in timing_parts(subject, timing_facts(subject))}
