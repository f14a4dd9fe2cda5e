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
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from hypothesis import given, settings

from builders import Builder, store_of
from html_blocks import blocks_of
from span_graphs import forests, graphs
from spanview.exports.html import html_chunks
from spanview.exports.losses import Losses
from spanview.exports.trace_tree import trace_tree_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builders import Document
    from spanview.index.store import Store

MAX_CODE_BYTES: Final = 100_000
_MISSING: Final = 1


def page_of(store: Store) -> bytes:
    """Return the page of all traces."""
    return b"".join(html_chunks(store, store.traces_in_order(), Losses("html")))


def nodes_of(store: Store) -> list[list[dict[str, Any]]]:
    """Return the nodes of each trace, parents before what is below them, as the trace tree has them."""
    chunks = trace_tree_chunks(store, store.traces_in_order(), summary=store.summary(), problems=())
    return [[*_below(trace["roots"], 0)] for trace in json.loads(b"".join(chunks))["traces"]]


def _below(nodes: list[dict[str, Any]], depth: int) -> Iterator[dict[str, Any]]:
    for node in nodes:
        yield {**node, "depth": depth}
        yield from _below(node["children"], depth + 1)


def hold(documents: list[Document]) -> None:
    """Compare the page of some spans with their trace tree."""
    store = store_of(*documents)
    blocks = blocks_of(page_of(store))
    (_, _, overview), (_, _, rows) = blocks[:2]
    traces, number, details = overview["traces"], 0, [span for _, _, value in blocks[2:] for span in value["spans"]]
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
            assert description == node["status"].get("description", "")
            assert dict(attributes) == {key: text_of(value) for key, value in node["attributes"].items()}
            assert [event[0] for event in events] == [event["name"] for event in node["events"]]
            assert [link[1] for link in links] == [link["span_id"] for link in node["links"]]
        number += 1
        path = rows["path"][trace]
        if "not sure" not in traces["path"][trace]:
            assert sum(path) - sum(path[1::2]) == traces["length"][trace]
    assert next(spans, None) is None
    assert [first for _, first, _ in blocks[2:]] == [*range(0, len(details), 128)]


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
    """The policy names the one style and the one script, by what they are; nothing in them leads anywhere."""
    page = page_of(store_of(Builder().span())).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    style, script = (re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL) for tag in ("style", "script"))
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (*script, *style)]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    assert (len(style), len(script)) == (1, 1)
    assert {*re.findall(r"\w+://[^\s\"']+", page)} == {"http://www.w3.org/2000/svg"}
    for way in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "fetch(", "<!--"):
        assert way not in script[0], way


def test_the_code_is_small() -> None:
    """Style, script and all else that isn't data take no more than 100 KB."""
    folder = files("spanview.exports.page")
    sizes = [len(folder.joinpath(f"page.{ending}").read_bytes()) for ending in ("html", "css", "js")]
    assert sum(sizes) < MAX_CODE_BYTES


def test_no_traces() -> None:
    """A page of nothing is a page."""
    store = store_of()
    kinds = [kind for kind, _, _ in blocks_of(page_of(store))]
    assert kinds == ["overview", "rows"]
