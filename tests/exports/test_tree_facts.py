"""What only trees show of spans, in lines, in trace trees and in Parquet, against one tree after the other.

line                          tree
----                          ----
wait_ns                       `wait_of` its node, where it is a call's attempt or a replica that waited
waited_for                    what its call waited for, where that is certain
on_critical_path              a section of the trace's critical path is its
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

import spanview
from builders import Builder, file_of
from pages import ROOT
from programs import spanview as run
from spanview.analysis.ray.waits import wait_of
from spanview.index.tree import ROOT as NO_PARENT
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDERS: Final = ("ray-events-hook", "ray-odd-calls", "ray-restarted-actor", "ray-compiled-graph", "serve", "made")
FACTS: Final = ("wait_ns", "waited_for", "on_critical_path")


def facts_of(value: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that an object has."""
    return {name: value[name] for name in FACTS if name in value}


def nodes_of(document: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield the place and the object of each span of a trace-tree document."""
    pending = [node for trace in document["traces"] for node in trace["roots"]]
    while pending:
        node = pending.pop()
        pending += node["children"]
        if "missing" not in node:
            yield (node["source"]["file"], node["source"]["offset"], node["span_id"]), node


def expected(folder: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the facts of each span by its place."""
    store = load_store(folder)
    # Without Ray's own events no cause is written, not even a certain one.
    calls = () if store.ray is None else spanview.load(folder).calls()
    certain = {call.span_id: call for call in calls if call.wait_certainty == "certain"}
    found = {}
    for number in store.traces_in_order():
        tree = store.tree(number)
        trace = next(
            trace for trace in spanview.load(folder).traces if trace.trace_id == store.span(tree.rows[0]).trace_id
        )
        on_path = {section.node.span_id for section in trace.critical_path()} if trace.trace_id else set()
        for node, row in enumerate(tree.rows):
            span, parent, facts = store.span(row), tree.parents[node], dict[str, Any]()
            wait = wait_of(store, tree, node)
            above = None if parent == NO_PARENT or tree.is_missing(parent) else tree.rows[parent]
            is_attempt = above is not None and (store.spans.kind[above], store.spans.kind[row]) == (PRODUCER, CONSUMER)
            if wait or (is_attempt and wait is not None):
                facts["wait_ns"] = wait
                call = certain.get(span.span_id or "")
                if call is not None and call.attempts == 1 and call.waited_for != "unknown":
                    facts["waited_for"] = call.waited_for
            if span.span_id in on_path:
                facts["on_critical_path"] = True
            found[span.source.file, span.source.offset, span.span_id] = facts
        assert number >= 0
    return found


@pytest.mark.parametrize("name", FOLDERS)
def test_facts_are_those_of_the_trees(name: str) -> None:
    """Lines and trace trees say of each span what its tree, its call and the critical path say."""
    folder = f"{ROOT}/fixtures/{name}"
    lines = [json.loads(line) for line in run("spans", folder).text.strip("\n").split("\n")]
    document = json.loads(run("export", folder).text)
    of_lines = {(line["source"]["file"], line["source"]["offset"], line["span_id"]): facts_of(line) for line in lines}
    assert of_lines == {place: facts_of(node) for place, node in nodes_of(document)}
    wanted = expected(folder)
    assert {*of_lines} == {*wanted}
    shared = {place for place, facts in wanted.items() if sum(other[2] == place[2] for other in wanted) > 1}
    for place, facts in of_lines.items():
        if place not in shared:
            assert facts == wanted[place]
    assert any("on_critical_path" in facts for facts in of_lines.values())
    assert name != "ray-events-hook" or sum("waited_for" in facts for facts in of_lines.values()) > 20


def test_chosen_spans_say_the_same() -> None:
    """What is left out by a query changes nothing of what is said of the others."""
    folder = f"{ROOT}/fixtures/ray-events-hook"
    every = {*run("spans", folder).text.strip("\n").split("\n")}
    chosen = run("spans", folder, "-q", "kind=CONSUMER").text.strip("\n").split("\n")
    assert 0 < len(chosen) < len(every)
    assert {*chosen} < every


def test_what_is_exported_reads_the_same_again(tmp_path: Path) -> None:
    """The facts are found again, not taken from the file: an export of an export says what is so there."""
    first = run("spans", f"{ROOT}/fixtures/ray-events-hook/spans").text
    (tmp_path / "1.jsonl").write_text(first)
    again = [json.loads(line) for line in run("spans", str(tmp_path)).text.strip("\n").split("\n")]
    assert [facts_of(line) for line in again] == [facts_of(json.loads(line)) for line in first.splitlines()]
    assert [line.get("extra") for line in again] == [json.loads(line).get("extra") for line in first.splitlines()]
    alone = json.loads(first.splitlines()[0]) | {"wait_ns": 7, "waited_for": "nothing", "on_critical_path": False}
    (tmp_path / "1.jsonl").write_text(json.dumps(alone))
    assert facts_of(json.loads(run("spans", str(tmp_path)).text)) == {"on_critical_path": True}


def test_without_a_trace_id(tmp_path: Path) -> None:
    """Spans that have no usable trace id are in no trace, and so on no critical path."""
    (tmp_path / "1.json").write_bytes(file_of([Builder().span("lost", trace=0)]))
    assert facts_of(json.loads(run("spans", str(tmp_path)).text)) == {}
