"""Self time on real recordings: the same figure wherever it is shown, and that of an oracle on the exported trees.

the oracle    a span's interval, from which each descendant's is cut out
shown by      export, lines, statistics, blocks, comparison, the query `self`, the column of a trace, its bars, details
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from seeds import sample
from spanview.analysis.critical import critical_by_name
from spanview.analysis.diff import diff, to_json
from spanview.analysis.flame import flame
from spanview.analysis.query.query import parse_query
from spanview.analysis.query.subject import QueryFacts
from spanview.analysis.selftime import self_times
from spanview.analysis.stats import statistics
from spanview.display.span_in_tree import SpanInTree
from spanview.display.timing_text import timing_facts
from spanview.exports import span_texts
from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.trace_tree import trace_tree_chunks
from spanview.index.summary import summary_of
from spanview.model.times import parse_time
from spanview.tui.trace import stitched_trace
from spanview.tui.trace.stitched_trace import StitchedTrace
from test_ground_truth import FOLDERS, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.index.store import Store

Node: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[str, int, str | None]


def exported(store: Store) -> list[Node]:
    """Return the roots of the exported traces."""
    chunks = trace_tree_chunks(store, store.traces_in_order(), summary=summary_of(store), problems=store.problems())
    # Each chunk may be a view of a buffer that the next one is written to.
    text = b"".join([bytes(chunk) for chunk in chunks])
    return [root for trace in json.loads(text)["traces"] for root in trace["roots"]]


def walked(nodes: list[Node]) -> Iterator[Node]:
    """Yield nodes and all that is below them."""
    for node in nodes:
        yield node
        yield from walked(node["children"])


def interval(node: Node) -> tuple[int, int] | None:
    """Return when a node runs, in nanoseconds; None where that isn't known."""
    if node.get("missing") or None in (node["start_time"], node["end_time"]):
        return None
    return parse_time(node["start_time"]), parse_time(node["end_time"])


def uncovered(node: Node) -> int | None:
    """Return how many nanoseconds of a node none of its descendants covers."""
    whole = interval(node)
    if whole is None:
        return None
    free = {whole} if whole[0] < whole[1] else set[tuple[int, int]]()
    for below in walked(node["children"]):
        cut = interval(below)
        if cut is not None and cut[0] < cut[1]:
            halves = {half for start, end in free for half in ((start, min(end, cut[0])), (max(start, cut[1]), end))}
            free = {(start, end) for start, end in halves if start < end}
    return sum(end - start for start, end in free)


def own_times(store: Store) -> dict[Place, int | None]:
    """Return the self time of each exported span, as the oracle has it, by the place of its record."""
    spans = [node for node in walked(exported(store)) if not node.get("missing")]
    return {place_of(node): uncovered(node) for node in spans}


def place_of(node: Node) -> Place:
    """Return what tells an exported span from all others."""
    return node["source"]["file"], node["source"]["offset"], node["span_id"]


def as_exported(name: str | None) -> str:
    """Return a name as JSON has it, where nothing but Unicode may stand."""
    return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in name or "")


def without_path(name: str) -> str:
    """Return the name of a proxy's span without what was asked for: call paths have routes."""
    return name.partition("/")[0] if name.startswith("proxy_http_request ") else name


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("folder", FOLDERS)
def test_exports_and_figures_of_many_spans(monkeypatch: pytest.MonkeyPatch, folder: str, *, at_once: bool) -> None:
    """Both exports, statistics, blocks and comparisons say what the oracle does, trace by trace and all at once."""
    store = load(folder)
    expected = own_times(store)
    assert len(expected) == len(store.spans)
    if at_once:
        monkeypatch.setattr(span_texts, "MANY_SPANS", 0)
    text = b"".join([bytes(chunk) for chunk in jsonl_chunks(store, store.rows_in_order())])
    lines = [json.loads(line) for line in text.splitlines()]
    for spans in ([node for node in walked(exported(store)) if not node.get("missing")], lines):
        assert {place_of(span): span["self_time_ns"] for span in spans} == expected
    sums: Counter[str] = Counter()
    for line in lines:
        sums[line["name"]] += line["self_time_ns"] or 0
    total = sum(sums.values())
    assert {as_exported(group.key): group.self_ns for group in statistics(store)} == dict(sums)
    paths = flame(store).paths
    of_paths: Counter[str] = Counter()
    for path in paths:
        of_paths[without_path(as_exported(path.name))] += path.self_ns
    without_paths: Counter[str] = Counter()
    for name, self_ns in sums.items():
        without_paths[without_path(name)] += self_ns
    assert {name: of_paths[name] for name in without_paths} == dict(without_paths)
    assert sum(path.self_ns for path in paths) == total
    merged = diff(flame(store), flame(store, []))
    assert merged.change("self_ns") == -total
    assert sum(to_json(merged, path)["a"]["self_ns"] for path in merged.paths) == total


@pytest.mark.shortened
@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("folder", sample(FOLDERS, 9))
def test_figures_of_one_span(monkeypatch: pytest.MonkeyPatch, folder: str, *, at_once: bool) -> None:
    """The column of a trace, its bars, the details of a span and the query `self` say what the oracle does."""
    if at_once:
        monkeypatch.setattr(stitched_trace, "AT_ONCE", 0)
    store = load(folder)
    expected = own_times(store)
    facts = QueryFacts()
    for trace in range(len(store.trace_table)):
        tree = store.tree(trace)
        stitched, joined = (StitchedTrace(store, trace, tree, joins=joins) for joins in (False, True))
        for node, row in enumerate(tree.rows):
            span = store.span(row)
            own = expected[span.source.file, span.source.offset, span.span_id]
            assert stitched.own[node] == facts.self_ns(store, row) == own
            assert stitched.own_times(node).sums[-1] == (own or 0)
            assert timing_facts(SpanInTree(span, store, trace, tree, node)).own_ns == own
            if row in joined.tree.rows:
                shown = joined.tree.rows.index(row)
                assert joined.own[shown] == own
                assert joined.own_times(shown).sums[-1] == (own or 0)
            # What a query finds doesn't depend on how a screen stitches a trace.
            if own is not None and not at_once:
                exact, more = (parse_query(f"self{term}{own // 1_000}us") for term in (">=", ">"))
                assert exact.keeps(store, row)
                assert more.keeps(store, row) == (own % 1_000 > 0)


def test_a_proxy_does_not_own_what_its_replica_did() -> None:
    """Of these requests, the time of a proxy is its own exactly where the critical path blames it."""
    store = load("serve")
    own = {group.key: group for group in statistics(store)}
    blamed = {share.name: share.self_ns for share in critical_by_name(store)}
    proxies = [name for name in blamed if name.startswith("proxy_http_request Ingress")]
    assert len(proxies) > 10
    assert {name: own[name].self_ns for name in proxies} == {name: blamed[name] for name in proxies}
    # The replica had nine tenths of it, after the route to it had ended.
    assert (
        own["proxy_http_request Ingress GET /slow"].self_ns < own["proxy_http_request Ingress GET /slow"].total_ns / 10
    )


def test_a_driver_does_not_own_what_its_tasks_did() -> None:
    """In the time in which a task runs below a span, that span has no time of its own."""
    store = load("ray-odd-ends")
    tree = store.tree(0)
    (root,) = tree.roots
    row = tree.rows[root]
    own = self_times(tree, store.spans)[root]
    assert own is not None
    duration = store.spans.end_ns[row] - store.spans.start_ns[row]
    children = sum(
        store.spans.end_ns[tree.rows[child]] - store.spans.start_ns[tree.rows[child]] for child in tree.children(root)
    )
    # Its children alone, which are calls, would leave it nearly all of the run.
    assert own < 0.6 * duration < 0.9 * duration < duration - children
