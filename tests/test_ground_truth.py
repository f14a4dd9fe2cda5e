"""Every span of every recording, held against a reader that shares no line with spanview."""

from __future__ import annotations

import json
import runpy
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from independent_reader import Record, ground_truth, key_of, of_one_span_each, read_folder, without_doubles
from records import record_of
from spanview.index.summary import summary_of
from spanview.model.codes import KIND_NAMES, STATUS_NAMES
from spanview.model.times import NO_TIME
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

FIXTURES: Final = Path(__file__).parent.parent / "fixtures"
FOLDERS: Final = sorted(path.parent.name for path in FIXTURES.glob("*/spans"))
COUNTED: Final = sorted(path.parent.name for path in FIXTURES.glob("*/GROUND_TRUTH.json"))


def load(folder: str) -> Store:
    """Return the store of a fixture's files."""
    return load_store(str(FIXTURES / folder / "spans"))


def expected(folder: str) -> list[Record]:
    """Return what the independent reader finds in a fixture, by path and offset, without doubles."""
    files = read_folder(FIXTURES / folder / "spans")
    return of_one_span_each(without_doubles([record for _, records in sorted(files.items()) for record in records]))


def truth_of(folder: str) -> dict[str, Any]:
    """Return a fixture's GROUND_TRUTH.json."""
    truth: dict[str, Any] = json.loads((FIXTURES / folder / "GROUND_TRUTH.json").read_text(encoding="utf-8"))
    return truth


def test_fixtures_are_there() -> None:
    """The folders that the other tests go through are found."""
    assert {"made", "serve", "sdk-versions", "ray-tasks-bundled-hook"} <= set(FOLDERS)
    assert set(FOLDERS) - {"documentation-samples", "pid-reuse", "sdk-versions"} == set(COUNTED)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_span_is_as_written(folder: str) -> None:
    """Ids, times, attributes, events and links of every span are what the independent reader reads, in file order."""
    store = load(folder)
    found = [record_of(store.span(row)) for row in store.rows_in_order()]
    assert list(map(key_of, found)) == list(map(key_of, expected(folder)))


@pytest.mark.parametrize("folder", FOLDERS)
def test_columns_are_as_written(folder: str) -> None:
    """The columns hold the same ids, times, names, kinds and statuses as the details do."""
    store = load(folder)
    spans = store.spans
    found = [
        (
            store.trace_table.trace_id(spans.trace[row]),
            spans.span_id[row],
            spans.parent_id[row],
            spans.start_ns[row],
            spans.end_ns[row],
            store.names.texts[spans.name[row]],
            f"SpanKind.{KIND_NAMES[spans.kind[row]]}",
            STATUS_NAMES[spans.status[row]],
            store.services.texts[spans.service[row]],
        )
        for row in store.rows_in_order()
    ]
    assert found == [
        (
            int(record["trace_id"] or "0", 16),
            int(record["span_id"] or "0", 16),
            int(record["parent_id"] or "0", 16),
            NO_TIME if record["start_ns"] is None else record["start_ns"],
            NO_TIME if record["end_ns"] is None else record["end_ns"],
            record["name"],
            record["kind"],
            record["status"],
            record["resource"].get("service.name", ""),
        )
        for record in expected(folder)
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_trees_are_as_stitched_by_dict(folder: str) -> None:
    """Children, missing parents and roots of every trace are those that a dict of ids gives."""
    store, records = load(folder), expected(folder)
    known = {(record["trace_id"], record["span_id"]) for record in records}
    edges = Counter[tuple[str | None, str | None, str | None, str]]()
    for record in records:
        # A circle and a span that is its own parent are cut, and cut edges aren't in the tree.
        is_cut = record["name"] in {"ant", "self"} and folder == "made"
        edges[record["trace_id"], None if is_cut else record["parent_id"], record["span_id"], record["name"]] += 1
    found = Counter[tuple[str | None, str | None, str | None, str]]()
    missing = set()
    for trace in store.traces_in_order():
        tree = store.tree(trace)
        trace_id = store.trace_table.trace_id(trace)
        text = f"{trace_id:032x}" if trace_id else None
        for node, row in enumerate(tree.rows):
            span, parent = store.span(row), tree.parents[node]
            parent_id = f"{tree.span_id(parent):016x}" if parent >= 0 else None
            found[text, parent_id, span.span_id, span.name] += 1
        missing |= {(text, f"{span_id:016x}") for span_id in tree.missing}
    assert found == edges
    assert missing == {
        (record["trace_id"], record["parent_id"])
        for record in records
        if record["parent_id"] and (record["trace_id"], record["parent_id"]) not in known
    }


@pytest.mark.parametrize("folder", COUNTED)
def test_summary_is_the_ground_truth(folder: str) -> None:
    """Files, bytes, spans, traces, roots and all else that both count come out the same."""
    store, truth = load(folder), truth_of(folder)
    summary = summary_of(store)
    counts = {name: getattr(summary, name) for name in summary.__slots__ if name in truth}
    assert counts.keys() >= {"files", "bytes", "spans", "traces", "roots"}
    assert counts == {name: truth[name] for name in counts}


@pytest.mark.parametrize("folder", [folder for folder in COUNTED if folder != "made"])
def test_columns_count_up_to_the_ground_truth(folder: str) -> None:
    """Kinds, statuses, depth, orphans and children beyond their parents are as many as the ground truth says."""
    store, truth = load(folder), truth_of(folder)
    spans, trees = store.spans, [*map(store.tree, store.traces_in_order())]
    orphans = [
        node for tree in trees for node, parent in enumerate(tree.parents) if parent >= 0 and tree.is_missing(parent)
    ]
    deepest = max(map(_levels, trees))
    late = sum(
        1
        for tree in trees
        for node, row in enumerate(tree.rows)
        if (parent := tree.parents[node]) >= 0
        and not tree.is_missing(parent)
        and spans.end_ns[row] > spans.end_ns[tree.rows[parent]]
    )
    assert {
        "kinds": dict(Counter(f"SpanKind.{KIND_NAMES[kind]}" for kind in spans.kind)),
        "statuses": dict(Counter(STATUS_NAMES[status] for status in spans.status)),
        "unended": sum(end == NO_TIME for end in spans.end_ns),
        "negative_duration": sum(map(int.__lt__, spans.end_ns, spans.start_ns)),
        "orphans_parent_not_in_corpus": len(orphans),
        "biggest_trace": max(store.trace_table.span_count),
        "max_depth": deepest,
        "child_ends_after_parent": late,
        "traces_without_root": sum(not count for count in store.trace_table.root_count),
    }.items() <= truth.items()


def _levels(tree: TraceTree) -> int:
    """Return how many spans stand one below the other; a placeholder at the top is none."""
    deepest = above = 0
    for node, depth in tree.walk():
        above = above if depth else not tree.is_missing(node)
        deepest = max(deepest, depth + above)
    return deepest


@pytest.mark.parametrize("folder", [folder for folder in COUNTED if folder != "made"])
def test_independent_reader_reaches_the_ground_truth(folder: str) -> None:
    """The reader that everything is held against counts what was counted when the recording was made."""
    counted, truth = ground_truth(FIXTURES / folder / "spans"), truth_of(folder)
    # Of the names only the most frequent were noted down.
    assert truth["names"].items() <= counted.pop("names").items()
    truth["per_file"] = {
        name: {key: of_file[key] for key in ("spans", "bytes")} for name, of_file in truth["per_file"].items()
    }
    common = counted.keys() & truth.keys()
    assert len(common) >= 15
    assert {key: counted[key] for key in common} == {key: truth[key] for key in common}


def test_pid_reuse_has_the_recorded_counts() -> None:
    """A file that was truncated between runs has each run's spans, one that was appended to has all up to then."""
    store = load("pid-reuse")
    counts = Counter(Path(store.sources[number].path).name for number in store.spans.source)
    assert [counts[f"1.txt.after_{nth}"] for nth in ("first", "second", "third")] == [5, 3, 9]
    # What stands in the second and third copy too is a double, kept where the first stands.
    assert [counts[f"1.json.after_{nth}"] for nth in ("first", "second", "third")] == [5, 3, 9]
    assert summary_of(store).duplicates == 5 + 8


def test_made_files_are_what_their_script_makes() -> None:
    """`make.py` reproduces each of its files byte for byte, and there are no others."""
    folder = FIXTURES / "made"
    made = runpy.run_path(str(folder / "make.py"))["made"]()
    there = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    }
    assert there == made
