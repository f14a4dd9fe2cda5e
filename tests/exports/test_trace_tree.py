"""The trace-tree export; what is very deep and very wide is read back in `reliability/huge.py`.

a 0-10                {"name": "a", …, "children": [
  b 2-5          ->     {"name": "b", …, "children": []},
  c 4-7                 {"name": "c", …, "children": []}]}
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from builders import Builder, file_of, store_of, store_of_files
from spanview.exports.trace_tree import trace_tree_chunks
from spanview.index.summary import summary_of
from spanview.model.problems import Problem, ProblemKind, Summary

if TYPE_CHECKING:
    from spanview.index.store import Store

TRACE_KEYS = "trace_id start_time end_time duration_ns span_count error_count services complete roots"
SPAN_KEYS = (
    "span_id parent_id name kind start_time end_time duration_ns self_time_ns status attributes events links "
    "trace_state resource scope source warnings on_critical_path children"
)
Tree: TypeAlias = dict[str, Any]


def exported(store: Store) -> bytes:
    """Return the export of all traces."""
    chunks = trace_tree_chunks(store, store.traces_in_order(), summary=summary_of(store), problems=store.problems())
    return b"".join(chunks)


def read(store: Store) -> Tree:
    """Return the export of all traces, read with a decoder that recurses."""
    value: Tree = json.loads(exported(store))
    return value


def outline(node: Tree) -> str:
    """Return a node and what is below it as names in brackets; a placeholder is its id's last digit."""
    inside = " ".join(map(outline, node["children"]))
    name = node["span_id"][-1] if node.get("missing") else node["name"]
    return f"{name}({inside})" if inside else name


def test_keys_and_order() -> None:
    """All keys stand in the order of the format."""
    value = read(store_of(*Builder().draw("a 0-10\n  b 2-5")))
    assert list(value) == ["schema", "traces", "summary", "problems"]
    assert value["schema"] == "spanview/trace-tree/v1"
    assert " ".join(value["traces"][0]) == TRACE_KEYS
    assert " ".join(value["traces"][0]["roots"][0]) == SPAN_KEYS
    assert " ".join(value["summary"]) == "files bytes spans traces roots missing_parents duplicates torn skipped"


def test_a_trace() -> None:
    """A trace has its times, counts and services, and its spans nested by start."""
    builder = Builder()
    documents = builder.draw("a 0-10\n  c 4-7\n  b 2-15\n    d 3-4")
    documents[1]["status"] = {"status_code": "ERROR"}
    for document, service in zip(documents, ("web", "cart", "", "cart"), strict=True):
        document["resource"]["attributes"] = {"service.name": service}
    trace = read(store_of(*documents))["traces"][0]
    roots = trace.pop("roots")
    assert trace == {
        "trace_id": "00000000000000000000000000000001",
        "start_time": "2023-11-14T22:13:20.000000Z",
        "end_time": "2023-11-14T22:13:20.000015Z",
        "duration_ns": 15_000,
        "span_count": 4,
        "error_count": 1,
        "services": ["cart", "web"],
        "complete": True,
    }
    assert [outline(root) for root in roots] == ["a(b(d) c)"]
    assert roots[0]["self_time_ns"] == 2_000


def test_a_missing_parent() -> None:
    """A parent that no file holds is a node of three keys among the roots, at its earliest child's place."""
    builder = Builder()
    store = store_of(
        builder.span("late", start=30),
        builder.span("y", parent=9, start=20),
        builder.span("x", parent=9, start=10),
        builder.span("early", start=0),
    )
    value = read(store)
    roots = value["traces"][0]["roots"]
    assert [outline(root) for root in roots] == ["early", "9(x y)", "late"]
    assert list(roots[1]) == ["span_id", "missing", "children"]
    assert (roots[1]["span_id"], roots[1]["missing"]) == ("0000000000000009", True)
    assert value["traces"][0]["complete"] is False
    assert value["summary"]["missing_parents"] == 1


def test_a_circle() -> None:
    """A circle of parents is cut at its earliest span, which says so."""
    builder = Builder()
    documents = [builder.span(name, parent=parent) for name, parent in (("a", 3), ("b", 1), ("c", 2), ("self", 4))]
    trace = read(store_of(*documents))["traces"][0]
    assert [outline(root) for root in trace["roots"]] == ["a(b(c))", "self"]
    assert [root["warnings"] for root in trace["roots"]] == [["cycle"], ["cycle"]]
    assert trace["complete"] is False


def test_clock_skew() -> None:
    """A child that starts more than 2 µs before its parent is marked; one that outlives it isn't."""
    builder = Builder()
    parent = builder.span("p", start=10, duration=10)
    early, nearly, late = (builder.span("c", parent=1, start=start, duration=20) for start in (7.9, 8, 12))
    (root,) = read(store_of(parent, early, nearly, late))["traces"][0]["roots"]
    assert [child["warnings"] for child in root["children"]] == [["clock_skew"], [], []]


def test_different_spans_with_one_id() -> None:
    """Both are exported and marked, and the children go to the first by path and offset."""
    builder = Builder()
    second, child = builder.span("second", span=5, start=0), builder.span("child", parent=5, start=5)
    store = store_of_files({"b": file_of([second, child]), "a": file_of([builder.span("first", span=5, start=3)])})
    roots = read(store)["traces"][0]["roots"]
    assert [outline(root) for root in roots] == ["second", "first(child)"]
    assert [root["warnings"] for root in roots] == [["duplicate_id"]] * 2


def test_doubles_are_exported_once() -> None:
    """A record that is there twice is one span, whatever its layout."""
    span = Builder().span("a")
    store = store_of_files({"1": file_of([span]), "2": file_of([span], indent=4)})
    value = read(store)
    assert [outline(root) for root in value["traces"][0]["roots"]] == ["a"]
    assert value["summary"]["duplicates"] == 1


def test_spans_without_a_trace_id() -> None:
    """Spans whose trace id is unusable stand in one group, the last, whose id is null and which isn't counted."""
    builder = Builder()
    store = store_of(builder.span("lost", trace=0), builder.span("found", start=50), builder.span("lost too", trace=0))
    value = read(store)
    assert [trace["trace_id"] and trace["trace_id"][-1] for trace in value["traces"]] == ["1", None]
    assert [outline(root) for root in value["traces"][1]["roots"]] == ["lost", "lost too"]
    assert value["summary"]["traces"] == 1


def test_a_trace_without_times() -> None:
    """Times that no span has are null."""
    trace = read(store_of(Builder().span(duration=None, start_time=None)))["traces"][0]
    assert [trace[key] for key in ("start_time", "end_time", "duration_ns")] == [None] * 3


def test_only_some_traces() -> None:
    """The traces that are asked for are written in the order in which they are given; the counts are the caller's."""
    builder = Builder()
    store = store_of(builder.span("a", trace=1), builder.span("b", trace=2))
    problem = Problem(ProblemKind.TORN, "f", 1, 2, "torn")
    second, first = reversed(store.traces_in_order())
    value = json.loads(b"".join(trace_tree_chunks(store, [second, first], summary=Summary(), problems=[problem])))
    assert [trace["roots"][0]["name"] for trace in value["traces"]] == ["b", "a"]
    assert value["problems"] == [problem.to_json()]
    assert set(value["summary"].values()) == {0}


def test_nothing() -> None:
    """An empty store is a whole document too."""
    assert read(store_of())["traces"] == []


def test_the_same_input_gives_the_same_bytes() -> None:
    """The order in which files are read doesn't show, but for the order of nothing."""
    builder = Builder()
    files = {"b": file_of(builder.draw("a 0-9\n  b 1-2\n  c 1-3")), "a": file_of([builder.span("b2", span=2, start=1)])}
    backwards = dict(reversed(files.items()))
    assert exported(store_of_files(files)) == exported(store_of_files(backwards))


def test_a_line_is_a_trace() -> None:
    """Each trace stands on a line of its own, so that lines can be searched."""
    builder = Builder()
    lines = exported(store_of(builder.span(trace=1), builder.span(trace=2))).splitlines()
    assert [line.startswith(b'{"trace_id"') for line in lines] == [False, False, True, True, False, False]


def test_memory_is_bounded_by_chunks() -> None:
    """The text comes in pieces, none of which is much larger than a span and a chunk."""
    builder = Builder()
    store = store_of(*[builder.span(parent=number or None, attributes={"x": "y" * 1000}) for number in range(2000)])
    sizes = [len(chunk) for chunk in trace_tree_chunks(store, store.traces_in_order(), summary=Summary(), problems=[])]
    assert len(sizes) > 5
    assert max(sizes) < 300_000
