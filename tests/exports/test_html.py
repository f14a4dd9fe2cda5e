"""What a page carries, held against the trace tree of the same spans, and what it is allowed to do.

page                     trace tree
----                     ----------
a row                    a node, in the same order
its own time             `self_time_ns`
details                  attributes, events, links, resource
the path's stretches     add up to the trace
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from array import array
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import pytest
from hypothesis import given, settings

from builders import EPOCH_NS, Builder, file_of, store_of, store_of_files
from html_blocks import blocks_of
from programs import spanview
from span_graphs import forests, graphs
from spanview.analysis.consistent import consistent
from spanview.analysis.ray.unended import Fate, Unended
from spanview.analysis.ray.waited_for import AllAttempts
from spanview.analysis.serve import requests as serve
from spanview.analysis.serve.requests import Part, part_of_name
from spanview.exports.html import html_chunks
from spanview.exports.losses import Losses
from spanview.exports.page.columns import Columns
from spanview.exports.trace_tree import trace_tree_chunks
from spanview.formats import jsontext
from spanview.index.store import Store
from spanview.index.summary import summary_of
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from builders import Document

MAX_CODE_BYTES: Final = 80_000
_MISSING: Final = 1


def page_of(store: Store) -> bytes:
    """Return the page of all traces."""
    return b"".join(html_chunks(store, store.traces_in_order(), Losses("html")))


def nodes_of(store: Store) -> list[list[dict[str, Any]]]:
    """Return the nodes of each trace, parents before what is below them, as the trace tree has them."""
    chunks = trace_tree_chunks(store, store.traces_in_order(), summary=summary_of(store), problems=())
    return [[*_below(trace["roots"], 0)] for trace in json.loads(b"".join(chunks))["traces"]]


def _below(nodes: list[dict[str, Any]], depth: int) -> Iterator[dict[str, Any]]:
    for node in nodes:
        yield {**node, "depth": depth}
        yield from _below(node["children"], depth + 1)


def hold(documents: list[Document]) -> None:
    """Compare the page of some spans with their trace tree."""
    store = store_of(*documents)
    blocks = blocks_of(page_of(store))
    (_, _, overview), _, (_, _, rows) = blocks[:3]
    traces, number, details = overview["traces"], 0, [span for _, _, value in blocks[3:] for span in value["spans"]]
    spans = iter(details)
    for trace, nodes in enumerate(nodes_of(store)):
        assert traces["first"][trace] == number
        time = 0
        for number, node in enumerate(nodes, number):  # noqa: B020 - counted on
            is_missing = bool(rows["flags"][number] & _MISSING)
            assert is_missing == node.get("missing", False)
            assert rows["depth"][number] == node["depth"]
            span_id = rows["span_id"][16 * number : 16 * number + 16]
            assert span_id == (node["span_id"] or "0" * 16)
            time += rows["start"][number] or 0
            if is_missing:
                continue
            assert overview["names"][rows["name"][number]] == node["name"]
            assert rows["length"][number] == node["duration_ns"]
            assert rows["own"][number] == node["self_time_ns"]
            description, attributes, events, links, *_ = next(spans)
            assert (description or "") == node["status"].get("description", "")
            assert {key: text for key, text, *_ in attributes} == {
                key: text_of(value) for key, value in node["attributes"].items()
            }
            assert [event[0] for event in events] == [event["name"] for event in node["events"]]
            assert [link[1] for link in links] == [link["span_id"] for link in node["links"]]
        number += 1
        path = rows["path"][trace]
        if "not sure" not in traces["path"][trace]:
            assert sum(path) - sum(path[1::2]) == traces["length"][trace]
    assert next(spans, None) is None
    assert [first for _, first, _ in blocks[3:]] == [*range(0, len(details), 128)]


def text_of(value: Any) -> str:
    """Return an attribute's value as the page has it."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_rows_of_any_trace(documents: list[Document]) -> None:
    """Each node of the trace tree is a row, whatever the ids and the times."""
    hold(documents)


@settings(max_examples=100, deadline=None)
@given(forests())
def test_rows_of_traces(documents: list[Document]) -> None:
    """The same of several traces, with details in the order of the rows."""
    hold(documents)


def test_details_in_blocks() -> None:
    """Details are in blocks of 128 spans, each of which knows its first."""
    build = Builder()
    hold([build.span(f"s{number}", parent=1 if number else None, attributes={"n": number}) for number in range(300)])


def test_nothing_but_the_page_runs() -> None:
    """The policy names the style, the script and what starts it, by what they are; nothing in them leads anywhere."""
    page = page_of(store_of(Builder().span())).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    style, script = (re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL) for tag in ("style", "script"))
    script += [zlib.decompress(base64.b64decode(text)).decode() for text in re.findall('id="script">(.*?)<', page)]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (*script, *style)]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digests[0]}' 'sha256-{digests[1]}'; style-src 'sha256-{digests[2]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert (len(style), len(script)) == (1, 2)
    assert {*re.findall(r"\w+://[^\s\"']+", page + script[1])} == {"http://www.w3.org/2000/svg"}
    for way in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "fetch(", "<!--"):
        assert way not in "".join(script), way


def test_the_code_is_small() -> None:
    """A page of one span, which is style, script and hardly anything else, takes no more than 80 KB."""
    assert len(page_of(store_of(Builder().span()))) < MAX_CODE_BYTES


def test_no_traces() -> None:
    """A page of nothing is a page."""
    store = store_of()
    kinds = [kind for kind, _, _ in blocks_of(page_of(store))]
    assert kinds == ["overview", "conclusions", "rows"]


class Looked(array):  # type: ignore[type-arg] # it can't be subscribed at run time
    """A column that counts how often it is copied whole, which is how numpy looks at one."""

    whole = 0

    def __getitem__(self, index: Any) -> Any:
        Looked.whole += index == slice(None)
        return super().__getitem__(index)


def _many_traces(count: int) -> Store:
    """Return traces with calls that waited, calls without an attempt, requests, and calls that were tried again."""
    build, files = Builder(), dict[str, list[Any]]()

    def add(path: str, name: str, times: tuple[int, int], **fields: Any) -> None:
        start, end = (200_000 * fields["trace"] + us for us in times)
        files.setdefault(path, []).append(build.span(name, start=start, duration=end - start, **fields))

    for trace in range(1, count + 1):
        call: dict[str, Any] = {"trace": trace, "span": 1, "kind": "PRODUCER", "attributes": {"ray.remote": "function"}}
        ran = {**call, "kind": "CONSUMER", "parent": 1}
        match trace % 4:
            case 0:
                add("spans/1.txt", "f ray.remote", (0, 10), **call)
                add("spans/2.txt", "f ray.remote_worker", (120_000, 130_000), **{**ran, "span": 2})
            case 1:
                add("spans/1.txt", "g ray.remote", (0, 10), **call)
            case 2:
                add("spans/1.txt", "f ray.remote", (0, 10), **call)
                for number in (2, 3):
                    times = 60_000 * number, 60_000 * number + 9_000
                    add(f"spans/{number}.txt", "f ray.remote_worker", times, **{**ran, "span": number})
            case _:
                add("spans/4.txt", "proxy_http_request App GET /", (0, 9_000), trace=trace, span=1)
                add("spans/4.txt", "route_to_replica App __call__", (10, 8_000), trace=trace, span=2, parent=1)
                add("spans/5.txt", "replica_handle_request App __call__", (90, 7_000), trace=trace, span=3, parent=2)
    return store_of_files({path: file_of(documents) for path, documents in files.items()})


def test_what_is_known_of_calls_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of eight times the traces looks no more often at all spans, nor at a name again."""

    def looks(count: int) -> tuple[int, int]:
        store = _many_traces(count)
        for name in ("span_id", "parent_id", "trace", "name", "kind", "process", "start_ns", "end_ns", "status"):
            column = getattr(store.spans, name)
            setattr(store.spans, name, Looked(column.typecode, column))
        tested = list[str]()

        def part_of(name: str) -> Part | None:
            tested.append(name)
            return part_of_name(name)

        monkeypatch.setattr(serve, "part_of_name", part_of)
        Looked.whole = 0
        assert len(blocks_of(page_of(store))) > 3
        return Looked.whole, len(tested)

    (few_looks, few_tested), (many_looks, many_tested) = looks(8), looks(64)
    # What is said in sentences is more of fewer traces.
    assert many_looks <= few_looks
    assert many_tested == few_tested


def test_calls_and_critical_paths_are_found_once() -> None:
    """Rows, reports and sentences of a page share the attempts, what these waited for, and where the paths lead."""
    store = _many_traces(8)
    with (
        patch.object(AllAttempts, "_producers", autospec=True, side_effect=AllAttempts._producers) as attempts,
        patch.object(AllAttempts, "reasons_of", autospec=True, side_effect=AllAttempts.reasons_of) as waits,
        patch("spanview.analysis.critical.consistent", side_effect=consistent) as paths,
    ):
        page_of(store)
    assert attempts.call_count == 1
    assert sum(len(call.args[1]) > 1 for call in waits.call_args_list) == 1
    # The sentences tell of the median trace and of the slowest one by themselves.
    assert sorted(call.args[0].count for call in paths.call_args_list) == [1, 1, 8]


def test_traces_are_stitched_at_once() -> None:
    """The rows of a page come from one walk of all traces: no trace is stitched by itself."""
    store = _many_traces(8)
    with patch.object(Store, "tree", side_effect=AssertionError("stitched")):
        columns = Columns(store, store.traces_in_order(), {})
    assert len(columns.rows["depth"]) == len(store.spans)


def test_rows_are_written_as_they_are() -> None:
    """What a page has of all rows is encoded at once: nothing in it must be copied for strict JSON first."""
    with patch.object(jsontext, "_strict", side_effect=AssertionError("copied")):
        assert blocks_of(page_of(_many_traces(8)))


def test_advice_names_what_was_read(tmp_path: Path) -> None:
    """The page advises what `check` does: commands with the PATHs that were given, and logs below `RAY_TMPDIR`."""
    build = Builder()
    spans = tmp_path / "my spans"
    spans.mkdir()
    (spans / "1.json").write_bytes(file_of([build.span("f ray.remote", kind="PRODUCER"), build.span("g", parent=77)]))
    environment = {"RAY_TMPDIR": "/elsewhere"}
    spanview("export", spans, "--format", "html", "-o", "page.html", folder=tmp_path, environment=environment)
    _, (_, _, told), *_ = blocks_of((tmp_path / "page.html").read_bytes())
    checked = json.loads(spanview("check", spans, "--json", folder=tmp_path, environment=environment).output)
    advised = [advice for *_, advice, _ in told["findings"]]
    assert advised == [finding["advice"].replace("`", "") for finding in checked["findings"]]
    assert f"spanview '{spans}' --follow shows attempts" in advised[0]
    assert "/elsewhere/ray/session_latest/logs" in advised[0]


@pytest.mark.parametrize(("told", "lead"), [(True, "at most "), (False, "at least ")])
def test_what_is_said_of_a_trace_that_ends_with_what_was_lost(*, told: bool, lead: str) -> None:
    """Its time is as long as Ray says at the most, or else as its process was seen at the least."""
    store = store_of(*Builder().draw("run 0-20\n  lost 10-?"))
    row = next(row for row in range(len(store.spans)) if store.spans.end_ns[row] == NO_TIME)
    seen_ns, told_ns = (NO_TIME, EPOCH_NS + 50_000) if told else (EPOCH_NS + 50_000, NO_TIME)
    unended = {row: Unended(Fate.LOST, "its worker died", seen_ns=seen_ns, told_ns=told_ns)}
    columns = Columns(store, [0], unended)
    (answer,) = columns.overview(Losses("html"))["traces"]["answer"]
    assert answer.startswith(f"{lead}50 µs = ")
    assert answer.endswith("not sure: 1 span has no end")
