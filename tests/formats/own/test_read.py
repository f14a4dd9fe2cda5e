"""What spanview has written, read again: the same spans, whichever way they were written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, store_of
from programs import spanview as run
from seeds import sample
from span_graphs import forests
from spanview.api.trace import traces_of
from spanview.exports.jsonl import line_of
from spanview.formats.jsontext import loads_exact
from spanview.formats.own import read as own
from spanview.formats.own.write import span_value
from spanview.index.summary import summary_of
from spanview.model.problems import Warnings
from spanview.model.span import BytesText, Event, Link, Resource, Scope, Source, Span, Status
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from builders import Document
    from spanview.index.store import Store

FIXTURES: Final = Path(__file__).parents[3] / "fixtures"
RECORDINGS: Final = sorted(folder.name for folder in FIXTURES.iterdir() if (folder / "spans").is_dir())
_OF_TREES: Final = Warnings.DUPLICATE_ID | Warnings.CYCLE | Warnings.CLOCK_SKEW
NOWHERE: Final = Source("", 0, 0)
_READ_AGAIN: Final = sorted(
    {*sample([each for each in RECORDINGS if each != "sdk-versions"], 7), "console-with-worker-files"}
)
"""The one by its name alone tells of a parent that is dropped."""


def spans_of(store: Store) -> list[bytes]:
    """Return the spans of a store as lines, without their places, in an order that doesn't depend on these."""
    spans = map(store.span, range(len(store.spans)))
    return sorted(line_of(replace(span, source=NOWHERE, warnings=span.warnings & ~_OF_TREES)) for span in spans)


@pytest.mark.shortened
@pytest.mark.parametrize("output", ["jsonl", "trace-tree"])
@pytest.mark.parametrize("recording", _READ_AGAIN)
def test_recordings(recording: str, output: str, tmp_path: Path) -> None:
    """Exported and read again, a recording has the same spans, traces and missing parents."""
    folder = FIXTURES / recording / "spans"
    path = tmp_path / "again"
    assert run("export", str(folder), "--format", output, "-o", str(path)).status == 0
    before, after = load_store([str(folder)]), load_store([str(path)])
    assert spans_of(after) == spans_of(before)
    counts, again = summary_of(before), summary_of(after)
    assert (again.spans, again.traces, again.roots) == (counts.spans, counts.traces, counts.roots)
    assert (again.missing_parents, again.torn, again.skipped) == (counts.missing_parents, 0, 0)
    if recording in {"made", "otlp-json"}:
        # Where ids are doubled, the order in the file decides which span is the parent, and that is another one now.
        return
    assert [[node.span_id for node, _ in trace.walk()] for trace in traces_of(after)] == [
        [node.span_id for node, _ in trace.walk()] for trace in traces_of(before)
    ]


def test_exported_again(tmp_path: Path) -> None:
    """What is exported of an export is the same but for the places."""
    texts = []
    source = str(FIXTURES / "ray-tasks-bundled-hook/spans")
    for number in range(2):
        path = tmp_path / f"{number}.json"
        assert run("export", source, "-o", str(path)).status == 0
        texts.append(_without_places(json.loads(path.read_text())["traces"]))
        source = str(path)
    assert texts[0] == texts[1]


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_places(part) for key, part in value.items() if key != "source"}
    return [*map(_without_places, value)] if isinstance(value, list) else value


@settings(max_examples=100, deadline=None)
@given(forests(traces=3, most=20))
def test_a_tree_is_a_document(documents: list[Document]) -> None:
    """Its spans come with it, each once, parents before their children; each is found again by its place."""
    before = store_of(*documents)
    trees = loads_exact(b"".join(_tree(before)))
    found = own.spans_of(trees, NOWHERE)
    assert len(found) == len(before.spans)
    seen = set[str | None]()
    known = {span.span_id for span in found}
    for span in found:
        assert span.parent_id is None or span.parent_id in seen or span.parent_id not in known
        seen.add(span.span_id)


def _tree(store: Store) -> list[bytes]:
    from spanview.exports.trace_tree import trace_tree_chunks

    traces = store.traces_in_order()
    return [*trace_tree_chunks(store, traces, summary=summary_of(store), problems=store.problems())]


FULL: Final = Span(
    trace_id=f"{7:032x}",
    span_id=f"{8:016x}",
    parent_id=f"{9:016x}",
    name="näme\ud800",
    kind_value=3,
    start_ns=1_700_000_000_123_456_789,
    end_ns=None,
    status=Status(2, "it failed"),
    attributes={"a": [1, 2.0, True, None, {"b": float("inf")}], "big": 2**70, "bytes": BytesText("AAEC")},
    events=(Event("e", None, {"x": BytesText("/w==")}, {"dropped_attributes_count": 3}),),
    links=(Link(None, f"{5:016x}", {"k": "v"}, {"y": 1}, {"flags": 257}),),
    trace_state={"vendor": "1"},
    resource=Resource({"service.name": "shop"}, "https://schema", {"dropped_attributes_count": 1}),
    scope=Scope("library", None, "https://other", {"z": 1.5}, {"dropped_attributes_count": 2}),
    extra={"flags": 1, "dropped_events_count": 4},
    warnings=Warnings.ODD_VALUE,
)


def test_details_in_memory(tmp_path: Path) -> None:
    """What strict JSON has no word for is still there in a span of a document: infinities, nesting to any depth."""
    deep = 5_000
    text = '{"n": 1e999, "deep": ' + '{"a": ' * deep + "1" + "}" * deep + "}"
    nodes = [span_value(replace(FULL, span_id=f"{at:016x}", attributes={}), None) for at in (1, 2)]
    tree = json.dumps({"schema": own.SCHEMA, "traces": [{"trace_id": FULL.trace_id, "roots": nodes}]})
    path = tmp_path / "tree.json"
    path.write_text(tree.replace('"attributes": {}, "events"', f'"attributes": {text}, "events"', 1))
    store = load_store(path)
    assert store.span(0).attributes["n"] == float("inf")
    assert store.span(1).attributes == {}
    for output in ("jsonl", "trace-tree", "otlp", "jaeger", "zipkin", "chrome", "html"):
        done = run("export", path, "--format", output)
        assert (done.status, done.text != "") == (0, True)


_JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*FULL.__slots__, "x"]), inner),
    max_leaves=10,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from([*FULL.__slots__, "start_time", "end_time", "kind", "children"]), _JSON))
def test_any_shape(fields: dict[str, Any]) -> None:
    """Whatever stands in a field of a line or of a node, there is a span, and it can be written again."""
    line = {"trace_id": None, "span_id": None, "parent_id": None, "name": "", "status": {}, "attributes": {}} | fields
    assert own.is_document(line)
    (span,) = own.spans_of(line, NOWHERE)
    assert own.span_of(loads_exact(line_of(span)), NOWHERE).span_id == span.span_id
    tree = {"schema": own.SCHEMA, "traces": [{"trace_id": None, "roots": [line, fields]}, fields]}
    assert own.is_document(tree)
    own.spans_of(tree, NOWHERE)


def test_what_is_no_document() -> None:
    """Other JSON is not taken for it."""
    values: list[Any] = [
        None,
        [],
        {},
        {"traces": []},
        {"schema": "other", "traces": []},
        {"roots": []},
        {"trace_id": "1"},
    ]
    assert not any(map(own.is_document, values))


def test_details_of_a_document(tmp_path: Path) -> None:
    """Attributes of spans in a tree are read again when somebody looks, and the document's place is told."""
    build = Builder()
    documents = [build.span(f"s{at}", span=at, parent=at - 1 or None, attributes={"n": at}) for at in range(1, 6)]
    path = tmp_path / "tree.json"
    path.write_bytes(b"\n" + b"".join(_tree(store_of(*documents))))
    store = load_store([str(path)])
    assert {store.span(row).name: store.span(row).attributes for row in range(5)} == {
        f"s{at}": {"n": at} for at in range(1, 6)
    }
    size = path.stat().st_size - 2
    assert {store.span(row).source for row in range(5)} == {Source(str(path), 1, size)}
    path.write_bytes(b" " * (size + 2))
    # What is at hand stays so; what has to be read again is gone.
    again = load_store([str(tmp_path)])
    assert len(again.spans) == 0


_LINE: Final[dict[str, Any]] = {
    "trace_id": f"{7:032x}",
    "span_id": f"{8:016x}",
    "parent_id": None,
    "name": "a",
    "kind": "SERVER",
    "start_time": "2026-11-20T11:55:46.000000Z",
    "end_time": "2026-11-20T11:55:47.000000Z",
    "status": {"code": "OK"},
    "attributes": {},
    "events": [{"name": "e", "timestamp": "2026-11-20T11:55:46.000000Z", "attributes": {}}],
    "links": [{"trace_id": f"{7:032x}", "span_id": f"{9:016x}", "trace_state": {}, "attributes": {}}],
    "trace_state": {"a": "1"},
    "resource": {"attributes": {}, "schema_url": ""},
    "scope": {"name": "s", "version": "1", "schema_url": None, "attributes": {}},
    "extra": {},
    "warnings": [],
}


def _with(value: Any, path: list[Any], part: Any) -> Any:
    """Return a copy of a value with another part at a path."""
    changed = json.loads(json.dumps(value))
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = part
    return changed


def _paths(value: Any, path: list[Any]) -> list[list[Any]]:
    """Return the paths to all parts of a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [each for key, part in parts for each in ([*path, key], *_paths(part, [*path, key]))]


_ODD: Final = [path for path in _paths(_LINE, []) if path[0] not in ("trace_id", "span_id", "parent_id")]


@pytest.mark.parametrize("path", _ODD, ids=str)
def test_a_part_of_another_type(path: list[Any]) -> None:
    """What can't be where it stands is left out or shown as text, and marked; what is as it should be isn't."""
    assert own.span_of(_LINE, NOWHERE).warnings == Warnings(0)
    assert own.span_of(_with(_LINE, path, 7), NOWHERE).warnings == Warnings.ODD_VALUE
