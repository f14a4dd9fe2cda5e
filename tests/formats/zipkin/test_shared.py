"""Zipkin's servers that share the id of their client's span.

line of a drawing              record
-----------------              ------
1 CLIENT a                     id 1, of service a
1 SERVER b shared < 0          id 1, of service b, shared, parent 0 (0 is none)
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanview
from any_spans import SOURCE
from spanview.formats.zipkin.read import spans_of, value_of

if TYPE_CHECKING:
    from pathlib import Path


def drawn(drawing: str) -> list[dict[str, Any]]:
    """Return the records of a drawing."""
    records = []
    for line in filter(str.strip, drawing.splitlines()):
        left, _, parent = line.partition("<")
        number, kind, endpoint, *shared = left.split()
        service, _, port = endpoint.partition(":")
        members = {"kind": kind, "parentId": parent.strip(), "shared": bool(shared)}
        if service != "?":
            members["localEndpoint"] = {"serviceName": service, **({"port": int(port)} if port else {})}
        record = {"traceId": "a", "id": number, **members}
        records.append({key: part for key, part in record.items() if part not in ("-", "", False)})
    return records


def tree(drawing: str) -> str:
    """Return the parents of each span, spans by number and service: `1a>2a` is 2 of a under 1 of a."""
    records = drawn(drawing)
    read = spans_of(records, SOURCE)
    names = {
        span.span_id: f"{record['id']}{record.get('localEndpoint', {}).get('serviceName', '?')}"
        for record, span in zip(records, read, strict=True)
    }
    assert len(names) == len(read)
    return " ".join(f"{names.get(span.parent_id, '') if span.parent_id else ''}>{names[span.span_id]}" for span in read)


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        ("1 CLIENT a\n1 SERVER b shared", ">1a 1a>1b"),
        ("1 SERVER b shared\n1 CLIENT a", "1a>1b >1a"),
        ("1 CLIENT a\n1 SERVER b", ">1a 1a>1b"),
        ("1 - a\n1 SERVER b", "1b>1a >1b"),
        ("1 SERVER b shared", ">1b"),
        ("1 CLIENT a shared\n1 SERVER b shared", ">1a 1a>1b"),
        (
            "1 CLIENT a\n1 SERVER b shared\n2 - a < 1\n3 - b < 1\n4 - c < 1\n5 - ? < 1",
            ">1a 1a>1b 1a>2a 1b>3b 1a>4c 1a>5?",
        ),
        ("1 CLIENT a\n1 SERVER b:80 shared\n2 - b < 1", ">1a 1a>1b 1b>2b"),
        ("1 CLIENT a\n1 SERVER b shared\n1 SERVER c shared\n2 - c < 1", ">1a 1a>1b 1a>1c 1c>2c"),
        ("0 SERVER z\n1 SERVER b shared < 0\n1 SERVER c shared < 0\n2 - c < 1", ">0z >1b >1c 1c>2c"),
        ("1 CLIENT a\n1 SERVER a:80 shared\n2 - a < 1\n3 - a:80 < 1", ">1a 1a>1a 1a>2a 1a>3a"),
        ("1 CLIENT a\n1 SERVER b shared\n2 CLIENT b < 1\n2 SERVER c shared < 1", ">1a 1a>1b 1b>2b 2b>2c"),
    ],
)
def test_tree(drawing: str, expected: str) -> None:
    """The server stands under its client, and its children under it where that can be told."""
    assert tree(drawing).replace("0z>1", ">1") == expected


def test_an_id_is_stable() -> None:
    """A server's own id depends on its record alone, not on what stands beside it."""
    one = spans_of(drawn("1 CLIENT a\n1 SERVER b shared"), SOURCE)[1]
    other = spans_of(drawn("7 - x\n1 SERVER b shared\n1 CLIENT a"), SOURCE)[1]
    assert one.span_id == other.span_id not in {f"{1:016x}", None}
    assert one.extra["zipkin"]["id"] == f"{1:016x}"


def test_what_came_late_stands_under_its_own() -> None:
    """A record without kind and start has an id of its own, under the one with its endpoint."""
    part, server, client, child = spans_of(drawn("1 - b\n1 SERVER b shared\n1 CLIENT a\n2 - b < 1"), SOURCE)
    assert len({part.span_id, server.span_id, client.span_id}) == 3
    assert server.parent_id == client.span_id == f"{1:016x}"
    assert part.parent_id == child.parent_id == server.span_id


NUMBERS = st.sampled_from(["1", "2", "3"])
LINES = st.tuples(
    NUMBERS, st.sampled_from(["CLIENT", "SERVER", "-"]), st.sampled_from(["a", "b", "?"]), st.booleans(), NUMBERS
)


@settings(deadline=None)
@given(st.lists(LINES, max_size=6))
def test_what_is_shared_is_written_as_it_was(lines: list[tuple[str, str, str, bool, str]]) -> None:
    """Ids, parents and `shared` are the file's own again, whoever shares with whom."""
    drawing = "\n".join(f"{a} {kind} {service} {'shared' * flag} < {up}" for a, kind, service, flag, up in lines)
    records = drawn(drawing)
    for record, span in zip(records, spans_of(records, SOURCE), strict=True):
        written = value_of(span)
        assert written is not None
        expected = {**record, "traceId": f"{10:016x}", "id": f"{int(record['id']):016x}"}
        if record.get("parentId"):
            expected["parentId"] = f"{int(record['parentId']):016x}"
        if expected.get("parentId") == expected["id"] and "shared" not in expected:
            expected.pop("parentId")
        assert written == expected


def test_many_that_share_are_told_apart_in_time() -> None:
    """Thousands of servers with one id, and thousands of children, don't take the square of that."""
    lines = ["1 CLIENT a", *(f"1 SERVER b:{port} shared" for port in range(1, 4000))]
    lines += [f"{port + 1:x} - b:{port} < 1" for port in range(1, 4000)]
    read = spans_of(drawn("\n".join(lines)), SOURCE)
    servers, children = read[1:4000], read[4000:]
    assert [child.parent_id for child in children] == [server.span_id for server in servers]


@pytest.mark.parametrize("indent", [None, 2])
def test_in_a_file(indent: int | None, tmp_path: Path) -> None:
    """A list is read whole, so that servers stand under their clients, each span once."""
    both = {"traceId": f"{1:032x}", "id": f"{2:016x}", "name": "get", "timestamp": 10, "duration": 5}
    spans = [
        both | {"kind": "CLIENT", "localEndpoint": {"serviceName": "front"}},
        both | {"kind": "SERVER", "shared": True, "localEndpoint": {"serviceName": "back"}},
    ]
    path = tmp_path / "zipkin.json"
    path.write_text(json.dumps(spans, indent=indent))
    store = spanview.load(path)
    (trace,) = store.traces
    assert [(node.span and node.span.service, depth) for node, depth in trace.walk()] == [("front", 0), ("back", 1)]
    assert store.problems() == []
