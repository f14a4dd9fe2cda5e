"""The other half of a FastAPI request on Serve, as a table, and in a recording where ids and paths tell who is right.

µs                    0    10   20   30   40
replica  (trace 1)    =================         replica_handle_request, GET /p/{x}, 200
FastAPI  (trace 2)       ===========            GET /p/{x}, 200
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import pytest

from builders import Builder, store_of, store_of_files
from independent_reader import read_folder
from spanview.analysis.serve import pairs as serve_pairs
from spanview.analysis.serve.pairs import OtherHalf, may_have_other_half, other_half
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from builders import Document
    from independent_reader import Record
    from spanview.index.store import Store

RECORDING: Final = Path(__file__).parents[3] / "fixtures" / "serve" / "spans"
SERVED: Final = {"http.method": "GET", "route": "/p/{x}", "http.status_code": "200", "request_id": "r1"}
ANSWERED: Final = {"http.request.method": "GET", "http.route": "/p/{x}", "http.response.status_code": 200}


def replica(trace: int = 1, start: int = 0, end: int = 40, **more: Any) -> Document:
    """Return a replica's span."""
    return _span("replica_handle_request Ingress __call__", trace, start, end, {"attributes": SERVED} | more)


def answer(trace: int = 2, start: int = 7, end: int = 30, **more: Any) -> Document:
    """Return the root of a trace of FastAPI's."""
    return _span("GET /p/{x}", trace, start, end, {"attributes": ANSWERED} | more)


def _span(name: str, trace: int, start: int, end: int, fields: dict[str, Any]) -> Document:
    common: dict[str, Any] = {"trace": trace, "span": trace, "start": start, "duration": end - start, "kind": "SERVER"}
    return Builder().span(name, **common | fields)


def routed(trace: int, request_id: str) -> Document:
    """Return a routing to another deployment, below a trace's root."""
    attributes = {"request_id": request_id}
    return Builder().span("route_to_replica Model f", trace=trace, span=90, parent=trace, attributes=attributes)


def test_the_drawing() -> None:
    """Each is the other's half, and what they agree in is told."""
    store = store_of(replica(), answer())
    assert other_half(store, 0) == OtherHalf(1, "GET", "/p/{x}", "200", "")
    assert other_half(store, 1) == OtherHalf(0, "GET", "/p/{x}", "200", "")


def test_the_request_id() -> None:
    """Where FastAPI's trace goes on to another deployment, the id speaks, too."""
    store = store_of(replica(), answer(), routed(2, "r1"))
    half = other_half(store, 0)
    assert half is not None
    assert half.request_id == "r1"
    # Of two that run at the same time it tells which.
    store = store_of(replica(), answer(), routed(2, "r1"), answer(3), routed(3, "r2"))
    assert other_half(store, 0) == half
    assert other_half(store, 3) is None


OLDER: Final = {"http.method": "GET", "http.status_code": 200}
FITTING: Final = [
    [replica(), answer(start=0, end=40)],
    [replica(), answer(attributes=OLDER)],
    [replica(attributes={"http.method": "GET"}), answer()],
    # In the same process at the same time, but another request.
    [replica(), answer(), answer(3, attributes=ANSWERED | {"http.route": "/q"})],
    [replica(), answer(), replica(3, attributes=SERVED | {"route": "/q"})],
    [replica(), answer(), answer(3, kind="INTERNAL"), answer(4, parent=99), answer(5, end=41)],
]


@pytest.mark.parametrize("documents", FITTING)
def test_what_fits(documents: list[Document]) -> None:
    """What one of them doesn't say differs from nothing, and others at that time don't count where they don't fit."""
    store = store_of(*documents)
    for row, expected in ((0, 1), (1, 0)):
        half = other_half(store, row)
        assert half is not None
        assert half.row == expected


UNFIT: Final = [
    [replica(), answer(attributes=ANSWERED | {"http.request.method": "POST"})],
    [replica(), answer(attributes=ANSWERED | {"http.route": "/other"})],
    [replica(), answer(attributes=ANSWERED | {"http.response.status_code": 500})],
    [replica(), answer(attributes={})],
    [replica(), answer(), routed(2, "r2")],
    [replica(), answer(start=-1)],
    [replica(), answer(end=41)],
    [replica(), answer(duration=None)],
    [replica(duration=None), answer()],
    [replica(), answer(kind="INTERNAL")],
    [replica(), answer(parent=77)],
    # Below the replica in its own trace it needs no guess.
    [replica(), answer(1, span=2)],
    # Which of two it is can't be told.
    [replica(), answer(), answer(3)],
    [replica(), answer(), replica(3)],
]


@pytest.mark.parametrize("documents", UNFIT)
def test_what_does_not_fit(documents: list[Document]) -> None:
    """Where anything speaks against it, or for another one as well, nothing is said."""
    store = store_of(*documents)
    for row in range(len(documents)):
        assert other_half(store, row) is None


def test_another_file() -> None:
    """Another file may be of another process."""
    store = store_of_files({"a.json": json.dumps(replica()).encode(), "b.json": json.dumps(answer()).encode()})
    assert [other_half(store, row) for row in (0, 1)] == [None, None]


def test_too_many() -> None:
    """Where hundreds run within its time, records aren't read without end."""
    store = store_of(replica(), *[answer(trace, attributes={}) for trace in range(2, 9)], answer(9))
    assert other_half(store, 0) is not None
    with patch.object(serve_pairs, "_MAX_SPANS", 7):
        assert other_half(store, 0) is None


def test_others_are_not_asked() -> None:
    """For what is neither a replica's span nor a root no record is read."""
    store = store_of(answer(parent=5), Builder().span("route_to_replica A f", kind="SERVER"))
    with patch.object(store, "span", side_effect=AssertionError):
        assert [may_have_other_half(store, row) or other_half(store, row) for row in (0, 1)] == [None, None]


# -- a recording -------------------------------------------------------------------------------------------------------


def _halves(store: Store) -> dict[str, str]:
    """Return the span ids of the roots that have another half, and of these."""
    rows = [row for row in range(len(store.spans)) if may_have_other_half(store, row)]
    halves = {row: half.row for row in rows if (half := other_half(store, row)) is not None}
    assert all(halves[other] == row for row, other in halves.items())
    ids = [f"{span_id:016x}" for span_id in store.spans.span_id]
    return {ids[row]: ids[other] for row, other in halves.items()}


def _records() -> dict[str, Record]:
    return {record["span_id"]: record for several in read_folder(RECORDING).values() for record in several}


def _path(records: Mapping[str, Record], replica_id: str) -> str | None:
    """Return what the proxy was asked for that a replica handles."""
    route = records.get(records[replica_id]["parent_id"])
    proxy = records.get(route["parent_id"]) if route else None
    return proxy["attributes"]["request_route_path"] if proxy else None


@pytest.mark.parametrize(("knows_ids", "expected"), [(True, 45), (False, 40)])
def test_a_recording(*, knows_ids: bool, expected: int, tmp_path: Path) -> None:
    """Of 46 requests to FastAPI nearly all get their half, and none a wrong one, without a look at the ids, too.

    Who is right is told by the path that the proxy was asked for, and by the ids that routings below have.
    """
    for path in RECORDING.iterdir():
        # Of other deployments' routings only; what was removed is what tells who is right.
        text = path.read_text(encoding="utf-8")
        (tmp_path / path.name).write_text(text if knows_ids else text.replace('"request_id"', '"unread"'))
    records = _records()
    halves = {
        one: other
        for one, other in _halves(load_store(str(tmp_path))).items()
        if "url.path" in records[one]["attributes"]
    }
    roots = [each for each in records.values() if "url.path" in each["attributes"] and not each["parent_id"]]
    assert (len(roots), len(halves)) == (46, expected)
    ids_below = {
        each["trace_id"]: each["attributes"]["request_id"]
        for each in records.values()
        if each["name"].startswith("route_to_replica") and "request_id" in each["attributes"]
    }
    proved = 0
    for one, other in halves.items():
        path_asked = _path(records, other)
        assert path_asked in {None, records[one]["attributes"]["url.path"]}
        request_id = ids_below.get(records[one]["trace_id"])
        assert request_id in {None, records[other]["attributes"]["request_id"]}
        proved += path_asked is not None
    assert proved >= expected - 1
