"""Which process a span is of, where a file has several of them, and where several files have one.

received-20261123T133005Z.jsonl   api a1, api b2, web web-1 12, web
received-20261123T133005Z.2.jsonl api a1
7.jsonl                           api a1, but the file is named after a process
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from builders import store_of_files
from receivers import span
from spanview.analysis.ray.lanes import lanes_in
from spanview.analysis.ray.workers import process_name
from spanview.analysis.stats import statistics
from spanview.formats.otlp import read as otlp
from spanview.formats.otlp import rows as otlp_rows
from spanview.formats.usual import NOWHERE, row_of_span
from spanview.index.forest import forest_of
from spanview.index.store import Store
from spanview.model.span import process_text
from spanview.sources.details import RecordReader
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

if TYPE_CHECKING:
    from pathlib import Path

_UUID = "627cc493-f310-47de-96bd-71410b7dec09"
_FIRST, _SECOND = "received-20261123T133005Z.jsonl", "received-20261123T133005Z.2.jsonl"
_A1: dict[str, Any] = {"service.name": "api", "service.instance.id": "a1"}
_B2: dict[str, Any] = {"service.name": "api", "service.instance.id": _UUID}
_PID: dict[str, Any] = {"service.name": "web", "host.name": "web-1", "process.pid": 12}
_WEB: dict[str, Any] = {"service.name": "web"}


def line(number: int, resource: dict[str, Any]) -> bytes:
    """Return the line of a span, in the layout that is scanned."""
    values = {
        key: {"intValue": str(value)} if type(value) is int else {"stringValue": value}
        for key, value in resource.items()
    }
    attributes = [{"key": key, "value": value} for key, value in values.items()]
    of_scope = {"scope": {"name": "s"}, "spans": [span(number)]}
    document = {"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [of_scope]}]}
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


FILES = {
    _FIRST: b"".join(line(number, resource) for number, resource in enumerate((_A1, _B2, _PID, _WEB, _A1), 1)),
    _SECOND: line(6, _A1) + line(7, _PID | {"process.pid": 13}),
    "7.jsonl": line(8, _A1),
}
EXPECTED = {
    1: "api a1",
    2: f"api {_UUID}",
    3: "web web-1 12",
    4: _FIRST,
    5: "api a1",
    6: "api a1",
    7: "web web-1 13",
    8: "7.jsonl",
}


def processes_of(store: Store) -> dict[int, str]:
    """Return what the process of each span is known by, by the span's id."""
    spans = store.spans
    texts = (store.processes.text(number).rpartition("/")[2] for number in spans.process)
    return dict(sorted(zip(spans.span_id, texts, strict=True)))


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({}, ""),
        (_WEB, ""),
        (_A1, "api a1"),
        (_A1 | _PID, "web a1"),
        (_PID, "web web-1 12"),
        ({"process.pid": "12"}, "12"),
        ({"host.name": "web-1"}, ""),
        ({"service.instance.id": ""}, ""),
        ({"service.instance.id": ["a"], "process.pid": True}, ""),
    ],
)
def test_what_a_resource_says(attributes: dict[str, Any], text: str) -> None:
    """An instance says it, else a pid; what is neither a text nor an integer says nothing."""
    assert process_text(attributes) == text


def test_both_decoders_say_the_same() -> None:
    """The columns of usual lines have what spans have."""
    for record in FILES[_FIRST].splitlines():
        document = json.loads(record)
        assert otlp_rows.rows_of(document) == [*map(row_of_span, otlp.spans_of(document, NOWHERE))]


def test_processes_of_files() -> None:
    """A process is the same in all files, and a file that is named after one is that one's."""
    assert processes_of(store_of_files(FILES)) == EXPECTED


@pytest.mark.parametrize("quick_from", [0, 1 << 60])
def test_scanned(quick_from: int, tmp_path: Path) -> None:
    """A scan comes to the same, and so does an index in which files are in another order."""
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    details = RecordReader()
    store = Store(details)
    for _ in Session(ReadOptions((str(tmp_path),), quick_from=quick_from), store, details).load():
        pass
    assert processes_of(store) == EXPECTED


def test_lanes_and_statistics() -> None:
    """Each process has a lane, and a line of statistics."""
    store = store_of_files(FILES)
    lanes = lanes_in(forest_of(store)).lanes
    assert [(process_name(store.processes, lane.process), lane.spans) for lane in lanes] == [
        ("api 627cc493", 1),
        ("api a1", 3),
        ("web web-1 12", 1),
        ("web web-1 13", 1),
        ("7", 1),
        (_FIRST.removesuffix(".jsonl"), 1),
    ]
    groups = {group.key: group.count for group in statistics(store, "process")}
    assert groups == {text: [*EXPECTED.values()].count(text) for text in EXPECTED.values()}
