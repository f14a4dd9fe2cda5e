"""Statistics, against a table and against the same thing counted slowly from the documents.

name  µs          count  total  min  p50  p95  p99  max
a     1 … 100       100   5050    1   50   95   99  100
b     without end     1      –    –    –    –    –    –
"""

from __future__ import annotations

import re
from collections import defaultdict
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, file_of, own_line, store_of, store_of_files, trace_row
from slow_paths import written
from slow_trees import export_of
from span_graphs import forests, graphs
from spanview.analysis import grouping
from spanview.analysis.grouping import column_of
from spanview.analysis.percentiles import nearest_rank
from spanview.analysis.stats import Group, spans_of, statistics
from spanview.index.whole_spans import spans_at
from spanview.model.problems import QueryError
from spanview.model.times import parse_time
from spanview.reports.statistics import report_of, statistics_report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from builders import Document
    from spanview.index.known_records import KnownRecords
    from spanview.index.store import Store
    from spanview.model.span import Span


def test_a_table() -> None:
    """The figures of spans of 1 to 100 µs are what a table of them says."""
    builder = Builder()
    documents = [builder.span("a", duration=us, status="ERROR" if us > 97 else "OK") for us in range(1, 101)]
    store = store_of(*documents, builder.span("b", duration=None))
    us = 1000
    # Nine below 10 µs, ninety below 100 µs, and one of 100 µs.
    powers = [0, 0, 0, 9, 90, 1, *[0] * 10]
    assert statistics(store) == [
        Group("a", 100, 3, 5050 * us, 5050 * us, us, 50 * us, 95 * us, 99 * us, 100 * us, powers),
        Group("b", 1, 0, 0, 0, None, None, None, None, None, [0] * 16, no_end=1),
    ]
    # That nobody knows how long it lasted isn't 0; it is counted apart, where there is such a span.
    of_a, of_b = statistics_report(store).document()["rows"]
    assert (of_b["no_end"], of_b["duration_ns"]["total"], of_b["self_time_ns"]) == (1, None, None)
    assert (of_a["no_end"], of_a["duration_ns"]["total"]) == (0, 5050 * us)


@pytest.mark.parametrize(
    ("count", "percent", "rank"),
    [(1, 50, 1), (2, 50, 1), (3, 50, 2), (4, 50, 2), (100, 95, 95), (100, 99, 99), (101, 99, 100), (20, 95, 19)],
)
def test_nearest_rank(count: int, percent: int, rank: int) -> None:
    """Of n sorted values it is the one at rank ceil(p·n), counted from 1."""
    assert nearest_rank([*range(1, count + 1)], percent) == rank


def test_nearest_rank_of_nothing() -> None:
    """Without values there is no percentile."""
    assert nearest_rank([], 50) is None


def test_order() -> None:
    """The greatest total comes first, and equal ones come by key."""
    builder = Builder()
    store = store_of(*[builder.span(name, duration=us) for name, us in (("c", 5), ("b", 5), ("a", 1), ("d", 9))])
    assert [group.key for group in statistics(store)] == ["d", "b", "c", "a"]


def test_placeholders_are_nobody() -> None:
    """A parent that no file holds is in no group."""
    assert [group.count for group in statistics(store_of(Builder().span(parent=9)))] == [1]


def test_only_some_traces() -> None:
    """Where traces are given, only their spans count."""
    builder = Builder()
    store = store_of(builder.span("a", trace=1), builder.span("b", trace=2))
    assert [group.key for group in statistics(store, traces=[trace_row(store, 2)])] == ["b"]


def test_an_empty_store() -> None:
    """Without spans there are no groups."""
    assert statistics(store_of()) == []


def test_by_service_and_kind() -> None:
    """Spans without a service, or without a kind, have an empty key."""
    builder = Builder()
    store = store_of(builder.span(service="cart"), builder.span(kind="SERVER"), builder.span() | {"kind": "odd"})
    assert {group.key: group.count for group in statistics(store, "service")} == {"": 2, "cart": 1}
    assert {group.key: group.count for group in statistics(store, "kind")} == {"": 1, "INTERNAL": 1, "SERVER": 1}


def test_by_status_root_pid_and_scope() -> None:
    """As queries have these keys; attributes that are called so are asked for in quotes."""
    build = Builder()
    line = own_line("own")
    files = {
        "77.txt": file_of([*build.draw("a 0-9\n  b 1-2", trace=1, status="ERROR"), build.span(trace=2, parent=9)]),
        "x.txt": file_of([build.span("d", trace=3, attributes={"ray.pid": "88", "status": "mine"}, service="shop")]),
        "y.txt": file_of([line | {"scope": {"name": "my.scope"}}]),
    }
    store = store_of_files(files)

    def counts(by: str) -> dict[str | None, int]:
        return {group.key: group.count for group in statistics(store, by)}

    assert counts("status") == {"ERROR": 2, "UNSET": 3}
    assert counts('"status"') == {"mine": 1, None: 4}
    assert counts("trace.root") == {"a": 2, "d": 1, "own": 1, None: 1}
    assert counts("service+name") == {"a": 1, "b": 1, "span": 1, "shop: d": 1, "own": 1}
    assert counts("pid") == {"77": 3, "88": 1, None: 1}
    assert counts("scope") == {"my.scope": 1, None: 4}
    with pytest.raises(QueryError, match="'scope': no span has one; there are also name"):
        statistics(store_of(build.span()), "scope")


def test_no_such_grouping() -> None:
    """What spans can't be grouped by is answered with what they can be."""
    others = re.escape("name, service, kind, service+name, status, trace.root, process, pid, scope")
    with pytest.raises(QueryError, match=f"'colour': no span has such an attribute; there are also {others}"):
        statistics(store_of(), "colour")


def test_json() -> None:
    """The object has the keys of the format, in its order."""
    value = report_of(statistics(store_of(Builder().span("a"))), "name").document()
    assert list(value) == ["schema", "by", "rows", "groups"]
    keys = (
        "key count errors no_end duration_ns total_ns self_time_ns self_ns min_ns p50_ns p95_ns p99_ns max_ns histogram"
    )
    assert " ".join(value["rows"][0]) == keys
    assert " ".join(value["rows"][0]["duration_ns"]) == "total min p50 p95 p99 max"
    assert value["rows"][0]["key"] == "a"
    assert value["groups"] == value["rows"]


@settings(max_examples=200, deadline=None)
@given(forests())
def test_is_what_counting_slowly_comes_to(documents: list[Document]) -> None:
    """Every figure of every group is that of an implementation that reads the documents themselves."""
    groups = report_of(statistics(store_of(*documents)), "name").document()["rows"]
    expected = _slowly(documents)
    assert [{key: group[key] for key in slow} for group, slow in zip(groups, expected, strict=True)] == expected


@settings(max_examples=150, deadline=None)
@given(st.one_of(graphs(), forests()), st.integers(0, 7))
def test_any_spans_are_counted_as_the_exported_trees_have_them(documents: list[Document], chosen: int) -> None:
    """The same of some traces, with doubled and unusable ids, circles, and times the wrong way round."""
    store = store_of(*documents)
    table = store.trace_table
    traces = [trace for trace in range(len(table)) if chosen >> trace & 1]
    ids = {f"{table.trace_id(trace):032x}" if table.trace_id(trace) else None for trace in traces}
    for by in ("name", "kind"):
        spans: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        pending = [
            node for trace in export_of(written(documents))[0] if trace["trace_id"] in ids for node in trace["roots"]
        ]
        while pending:
            node = pending.pop()
            pending += node["children"]
            if "missing" not in node:
                spans[node[by]].append(node)
        expected = {}
        for key, nodes in spans.items():
            lengths = sorted(node["duration_ns"] for node in nodes if node["duration_ns"] is not None)
            errors = sum(node["status"]["code"] == "ERROR" for node in nodes)
            own = sum(node["self_time_ns"] or 0 for node in nodes)
            longest = lengths[-1] if lengths else None
            expected[key] = len(nodes), errors, sum(lengths), own, longest
        assert expected == {
            group.key: (group.count, group.errors, group.total_ns, group.self_ns, group.max_ns)
            for group in statistics(store, by, traces)
        }


def _slowly(documents: list[Document]) -> list[dict[str, Any]]:
    by_name: defaultdict[str, list[Document]] = defaultdict(list)
    for document in documents:
        by_name[document["name"]].append(document)
    groups = []
    for name, spans in by_name.items():
        values = sorted(len(_moments(span)) if _length(span) > 0 else _length(span) for span in spans if _ended(span))
        own = sum(
            len(_moments(span).difference(*[_moments(other) for other in _below(documents, span)])) for span in spans
        )
        at = {p: values[ceil(Fraction(p, 100) * len(values)) - 1] * 1000 if values else None for p in (50, 95, 99)}
        groups.append(
            {
                "key": name,
                "count": len(spans),
                "errors": sum(span["status"]["status_code"] == "ERROR" for span in spans),
                "no_end": len(spans) - len(values),
                "total_ns": sum(values) * 1000 if values else None,
                "self_ns": own * 1000 if values else None,
                "min_ns": values[0] * 1000 if values else None,
                "p50_ns": at[50],
                "p95_ns": at[95],
                "p99_ns": at[99],
                "max_ns": values[-1] * 1000 if values else None,
                "histogram": [sum(_power(value * 1000) == power for value in values) for power in range(16)],
            }
        )
    return sorted(groups, key=lambda group: (group["p50_ns"] is None, -(group["total_ns"] or 0), group["key"]))


def _power(ns: int) -> int:
    return min(15, len(str(ns)) - 1) if ns > 0 else 0


def _ended(span: Document) -> bool:
    return span["end_time"] is not None


def _length(span: Document) -> int:
    return (parse_time(span["end_time"]) - parse_time(span["start_time"])) // 1000


def _moments(span: Document) -> set[int]:
    """Return the microseconds in which a span runs."""
    if not _ended(span):
        return set()
    return {*range(parse_time(span["start_time"]) // 1000, parse_time(span["end_time"]) // 1000)}


def _is_child(span: Document, parent: Document) -> bool:
    return (span["context"]["trace_id"], span["parent_id"]) == (
        parent["context"]["trace_id"],
        parent["context"]["span_id"],
    )


def _below(documents: list[Document], span: Document) -> list[Document]:
    children = [child for child in documents if _is_child(child, span)]
    return [*children, *(below for child in children for below in _below(documents, child))]


def test_by_an_attribute() -> None:
    """Of the span, else of its events, else of its resource; any value is a text."""
    build = Builder()
    event = {"name": "e", "timestamp": None, "attributes": {"k": True}}
    store = store_of(
        build.span(attributes={"k": "a"}, duration=5, resource={"k": "not this"}),
        build.span(attributes={"k": "a"}, duration=7),
        build.span(attributes={"k": 1.5}, duration=3),
        build.span(attributes={"k": ["x", 2]}, duration=2),
        build.span(events=[event], resource={"k": "r"}, duration=1),
        build.span(resource={"k": "r"}, duration=1),
        build.span(duration=9),
    )
    groups = {group.key: (group.count, group.total_ns) for group in statistics(store, "k")}
    assert groups == {
        "a": (2, 12_000),
        "1.5": (1, 3_000),
        '["x",2]': (1, 2_000),
        "true": (1, 1_000),
        "r": (1, 1_000),
        None: (1, 9_000),
    }
    with pytest.raises(QueryError, match="no span has such an attribute"):
        statistics(store, "nothing")


def test_no_attribute_is_not_an_empty_one() -> None:
    """Spans without the key are a group of their own, `null` in JSON; of equal totals it comes last."""
    build = Builder()
    store = store_of(
        build.span(duration=5), build.span(attributes={"k": ""}, duration=5), build.span(attributes={"k": "x"})
    )
    groups = statistics(store, "k")
    assert [group.key for group in groups] == ["x", "", None]
    assert [group["key"] for group in report_of(groups, "k").document()["rows"]] == ["x", "", None]
    column = column_of(store, "k")
    assert [spans_of(store, column, key, None, 9) for key in (None, "", "x")] == [[0], [1], [2]]


def test_records_without_the_attribute_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever groups by one decodes the records that have it or may have it: as written, or with an escape for it."""
    build, read = Builder(), list[int]()
    documents = [*(build.span(attributes={"k": "x"} if number % 10 == 0 else {}) for number in range(50)), build.span()]
    lines = file_of(documents, indent=None).splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"attributes": {}', b'"attributes": {"\\u006b": "y"}')

    def noted(store: Store, rows: Sequence[int], known: KnownRecords) -> Iterator[Span]:
        read.extend(rows)
        return spans_at(store, rows, known)

    monkeypatch.setattr(grouping, "spans_at", noted)
    groups = {group.key: group.count for group in statistics(store_of_files({"a.txt": b"".join(lines)}), "k")}
    assert groups == {"x": 5, "y": 1, None: 45}
    assert read == [0, 1, 10, 20, 30, 40]


@pytest.mark.parametrize("limit", [1, 4, 5, 6, 9, 99])
def test_the_slowest(limit: int) -> None:
    """Of a group, only as many as are asked for; of equals those that come first."""
    lasting = [3, 7, 7, 1, 7, 2, 7, 9]
    builder = Builder()
    store = store_of(*(builder.span("a", duration=us) for us in lasting))
    expected = sorted(range(len(lasting)), key=lambda row: -lasting[row])
    assert spans_of(store, column_of(store, "name"), "a", None, limit) == expected[:limit]
