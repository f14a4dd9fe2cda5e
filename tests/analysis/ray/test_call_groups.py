"""Calls by actor, node and job: against each record read by itself, and what is read at most.

file 1, of one process     file 2, of another one
r  of a, node n1           A.f  of actor a1, node n2
A.f submitted to a1        A.f  of actor a1, node n2     a2 takes the pid over: A.f of actor a2, node n2
A.f submitted to a1        …
A.g submitted to a9, which no file shows
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import Builder, file_of, store_of, store_of_files
from spanview.analysis.ray import call_groups as module
from spanview.analysis.ray.call_groups import UNKNOWN, CallsBy, call_group_names, call_groups
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.functions import functions_of
from spanview.model.codes import CONSUMER
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from spanview.index.store import Store

FIXTURES: Final = Path(__file__).parents[3] / "fixtures"
RECORDINGS: Final = sorted(folder.name for folder in FIXTURES.iterdir() if (folder / "spans").is_dir())
A1, A2, A9 = (f"{digit * 24}01000000" for digit in "129")
CALLS: Final = 64


def drawing() -> Store:
    """Return the files of the drawing: 64 calls of two actors, one after the other, and one that none has run."""
    build, ids = Builder(), iter(range(1, 1000))
    submitted, ran = [], []
    for number in range(CALLS):
        actor = {"ray.actor_id": A1 if number < CALLS // 2 else A2, "ray.actor_class": "A", "ray.remote": "actor"}
        parent = next(ids)
        times: dict[str, Any] = {"trace": number + 1, "attributes": actor | {"ray.job_id": "01000000"}}
        submitted.append(
            build.span("A.f ray.remote", span=parent, kind="PRODUCER", start=10 * number, duration=1, **times)
        )
        times["attributes"] = actor | {"ray.node_id": "n2"}
        ran.append(
            build.span(
                "A.f ray.remote_worker",
                span=next(ids),
                parent=parent,
                kind="CONSUMER",
                start=10 * number + 5,
                duration=2,
                **times,
            )
        )
    lone = {"ray.actor_id": A9, "ray.actor_class": "A", "ray.remote": "actor", "ray.job_id": "01000000"}
    submitted.append(build.span("A.g ray.remote", trace=999, span=999, kind="PRODUCER", attributes=lone))
    return store_of_files({"1.json": file_of(submitted), "2.json": file_of(ran)})


def counted(store: Store, by: CallsBy) -> dict[str, int]:
    """Return how many calls each group has, as the screen calls them."""
    groups = functions_of(store, calls := calls_of(store), call_groups(store, calls, by))
    names = call_group_names((group.function for group in groups), by)
    return {names[group.function]: group.calls for group in groups}


def test_the_drawing() -> None:
    """An actor's calls are those that ran in it, or were submitted to it; nobody knows where the lone one runs."""
    store = drawing()
    assert counted(store, CallsBy.ACTOR) == {"A (actor 1111)": 32, "A (actor 2222)": 32, "A (actor 9999)": 1}
    assert counted(store, CallsBy.NODE) == {"n2": 64, UNKNOWN: 1}
    assert counted(store, CallsBy.JOB) == {"01000000": 65}
    # Where two records of a process say the same, those between them aren't read.
    assert len(module._KNOWN[store]) < CALLS // 2


@pytest.mark.shortened(24)
@pytest.mark.parametrize("by", [CallsBy.ACTOR, CallsBy.NODE, CallsBy.JOB])
@pytest.mark.parametrize("recording", RECORDINGS)
def test_recordings(recording: str, by: CallsBy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups have all calls, attempts and waits, and each is where its own record says."""
    store = load_store(FIXTURES / recording / "spans")
    calls = calls_of(store)
    groups = call_groups(store, calls, by)
    by_function, by_group = functions_of(store, calls), functions_of(store, calls, groups)
    for figure in ("calls", "attempts", "errors", "retried", "no_attempt", "cold_starts", "total_wait_ns", "existing"):
        assert sum(getattr(one, figure) for one in by_group) == sum(getattr(one, figure) for one in by_function), figure
    monkeypatch.setattr(module, "is_of_one_process", lambda _path: False)
    monkeypatch.setattr(module, "_KNOWN", {})
    slow = call_groups(store, calls, by)
    for numbers in ("of_calls", "of_attempts"):
        assert [groups.keys[at] for at in getattr(groups, numbers)] == [slow.keys[at] for at in getattr(slow, numbers)]
    for row, number in zip(calls.attempts.tolist(), groups.of_attempts.tolist(), strict=True):
        attributes = store.span(row).attributes
        if by is CallsBy.NODE and "ray.node_id" in attributes:
            assert groups.keys[number] == attributes["ray.node_id"]
        if by is CallsBy.ACTOR and store.spans.kind[row] == CONSUMER:
            assert groups.keys[number].endswith(attributes.get("ray.actor_id", "tasks"))


def test_runs_of_generators_do_not_count() -> None:
    """An actor's or a node's runs are those that its spans show; how many they don't is said."""
    name, build = "ray.data._internal.x._map_task", Builder()
    node = {"ray.node_id": "n1", "ray.remote": "function"}
    spans = [
        build.span(f"{name} ray.remote", span=1, kind="PRODUCER", start=0, duration=2),
        build.span(f"{name} ray.remote_worker", span=2, parent=1, kind="CONSUMER", start=20, attributes=node),
        build.span("f ray.remote", trace=2, span=3, kind="PRODUCER", start=0, duration=2),
        build.span(
            "f ray.remote_worker", trace=2, span=4, parent=3, kind="CONSUMER", start=9, duration=7, attributes=node
        ),
    ]
    store = store_of(*spans)
    (group,) = functions_of(store, calls := calls_of(store), call_groups(store, calls, CallsBy.NODE))
    assert ([*group.runs_ns], group.unknown_runs, group.ended, group.attempts) == ([7_000], 1, 1, 2)


def test_names() -> None:
    """Ids are as short as tells them apart; other names stay whole."""
    keys = ["1234" + "0" * 28, "1235" + "0" * 28, "1235f" + "0" * 27, "host-with-a-long-name", UNKNOWN]
    shown = call_group_names(keys, CallsBy.NODE)
    assert [*shown.values()] == ["12340", "12350", "1235f", "host-with-a-long-name", UNKNOWN]
    assert call_group_names(["a.b.leaf"], CallsBy.FUNCTION) == {"a.b.leaf": "leaf"}
    assert Counter(call_group_names([f"A {A1}", "tasks"], CallsBy.ACTOR).values()) == {"A (actor 1111)": 1, "tasks": 1}
