"""What missing parents probably are, drawn: a ? is a parent that no file holds.

trace 1        trace 2        trace 3
job            ?              ?
  load           load           f ray.remote_worker
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, store_of
from span_graphs import forests, graphs
from spanview.analysis.ray.unseen import Guess, guesses, parents_of_names
from spanview.index.tree import ROOT
from viewers import Growing

if TYPE_CHECKING:
    from builders import Document
    from spanview.index.store import Store


def guessed(*documents: Document, trace: int = 2) -> list[Guess]:
    """Return what is thought of the missing parents of a trace, whichever way other traces are asked."""
    store = store_of(*documents)
    number = next(each for each in range(len(store.trace_table)) if store.trace_table.trace_id(each) == trace)
    tree = store.tree(number)
    found = guesses(store, tree)
    store.is_growing = True
    assert guesses(store, tree) == found
    assert {*found} <= {*tree.missing}
    return [*found.values()]


def pair(build: Builder, parent: str, child: str, trace: int, **fields: Any) -> list[Document]:
    """Return a trace of two."""
    return [
        build.span(parent, trace=trace, span=10 * trace, **fields),
        build.span(child, trace=trace, parent=10 * trace),
    ]


def test_what_submitted_a_call() -> None:
    """Above an attempt stands the call, whatever other traces have."""
    build = Builder()
    orphan = build.span("f ray.remote_worker", trace=2, parent=99, kind="CONSUMER")
    assert guessed(orphan) == [Guess("f ray.remote", "it submitted f, which has run")]


@pytest.mark.parametrize(
    ("others", "names"),
    [
        ([("job", "load")], ["job"]),
        ([("job", "load"), ("job", "load")], ["job"]),
        ([("job", "load"), ("batch", "load")], []),
        ([("job", "save")], []),
        ([], []),
    ],
)
def test_what_stands_there_elsewhere(others: list[tuple[str, str]], names: list[str]) -> None:
    """The name that always stands above such a child; where there are several, nothing is told."""
    build = Builder()
    documents = [each for at, names in enumerate(others) for each in pair(build, *names, trace=at + 3)]
    found = guessed(*documents, build.span("load", trace=2, parent=99))
    assert [guess.name for guess in found] == names
    for guess in found:
        assert guess.basis == f"the only parent of load elsewhere, {len(others)} time{'s' * (len(others) > 1)}"


def test_children_that_disagree() -> None:
    """Children that have different parents elsewhere tell nothing; one that is known tells for one that isn't."""
    build = Builder()
    known = [*pair(build, "job", "load", 3), *pair(build, "batch", "save", 4)]
    assert guessed(*known, build.span("load", trace=2, parent=9), build.span("save", trace=2, parent=9)) == []
    (guess,) = guessed(*known, build.span("load", trace=2, parent=9), build.span("new", trace=2, parent=9))
    assert guess.name == "job"


@pytest.mark.parametrize(
    ("calls", "name"),
    [
        ([{}], "f ray.remote_worker"),
        ([{}, {}], None),
        ([{}, {"attributes": {"ray.actor_id": "a1"}}], "f ray.remote_worker"),
        ([{}, {"start": 90}], "f ray.remote_worker"),
        ([{}, {"status": "ERROR"}], "f ray.remote_worker"),
        ([{"start": 90}], None),
        ([], None),
    ],
)
def test_a_call_that_is_running(calls: list[dict[str, Any]], name: str | None) -> None:
    """A worker's span stands in the call that it runs: the only one without an attempt that can be it."""
    build, data = Builder(), Growing()
    for call in calls:
        data.add(build.span("f ray.remote", trace=2, kind="PRODUCER", **{"start": 0, "duration": 1, **call}), path="1")
    answered = build.span("g ray.remote", trace=2, span=70, start=0, duration=1, kind="PRODUCER")
    data.add(answered, build.span("g ray.remote", trace=2, parent=99, start=50, kind="PRODUCER"), path="2")
    data.add(build.span("g ray.remote_worker", trace=2, parent=70, start=60, kind="CONSUMER"), path="3")
    tree = data.store.tree(0)
    (missing,) = tree.missing
    guess = guesses(data.store, tree).get(missing)
    # Of those in the worker's own file none is meant: a process doesn't wait for itself.
    assert (None if guess is None else guess.name) == name


def slowly(store: Store, names: set[int]) -> dict[int, dict[int, int]]:
    """Count what stands above names, span by span."""
    counts: dict[int, Counter[int]] = {}
    for trace in range(len(store.trace_table)):
        tree = store.tree(trace)
        for node, row in enumerate(tree.rows):
            parent = tree.parents[node]
            if store.spans.name[row] in names and parent != ROOT and not tree.is_missing(parent):
                counts.setdefault(store.spans.name[row], Counter())[store.spans.name[tree.rows[parent]]] += 1
    return {name: dict(each) for name, each in counts.items()}


@settings(max_examples=100, deadline=None)
@given(st.one_of(forests(traces=4, most=30), graphs(most=15)))
def test_random_forests(documents: list[Document]) -> None:
    """What stands above names is what a slow count says."""
    store = store_of(*documents)
    for names in ({0}, {0, 1}, {0, 1, 2}):
        assert parents_of_names(store, names) == slowly(store, names)


@settings(max_examples=100, deadline=None)
@given(graphs(most=15))
def test_random_graphs(documents: list[Document]) -> None:
    """Whatever ids say, each guess is of a parent that is missing, and not told where names differ."""
    store = store_of(*documents)
    for trace in range(len(store.trace_table)):
        tree = store.tree(trace)
        assert {*guesses(store, tree)} <= {*tree.missing}
