"""Silent failures: what attributes and processes tell that no error does.

span                                    failure
----                                    -------
SERVER, http.status_code 404            HTTP 404
CLIENT, rpc.grpc.status_code 14         gRPC 14
INTERNAL, http.status_code 404          none: its request's span says it
a call without attempt that may run     none, but it is open
a call without attempt that doesn't     no attempt
the same, waiting to the end, says Ray  none
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

import pytest

from builders import Builder, store_of
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.functions import functions_of
from spanview.analysis.ray.names import SUBMITTED
from spanview.analysis.silent import failure_in, silent_failures
from spanview.reports.traces import groups_report
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from builders import Document
    from spanview.index.store import Store

FIXTURES = pathlib.Path(__file__).parent.parent.parent / "fixtures"


def found(store: Store, *, may_run: bool = False) -> tuple[dict[str, str], int]:
    """Return the labels of silent failures by the spans' names, and how many calls are open."""
    failures, open_calls = silent_failures(store, range(len(store.trace_table)), lambda _: may_run)
    names = store.names.texts
    return {names[store.spans.name[row]]: failure.label for row, failure in failures.items()}, len(open_calls)


def documents() -> list[Document]:
    """Return the spans of the table."""
    build = Builder()
    return [
        build.span("not found", kind="SERVER", attributes={"http.status_code": 404}),
        build.span("found", kind="SERVER", attributes={"http.status_code": "200"}),
        build.span("inner", attributes={"http.status_code": 404}),
        build.span("failed", trace=2, kind="SERVER", status="ERROR", attributes={"http.status_code": 500}),
        build.span("away", trace=2, kind="CLIENT", attributes={"rpc.grpc.status_code": 14}),
        build.span("m.f ray.remote", trace=3, kind="PRODUCER"),
        build.span("m.g ray.remote", trace=3, span=90, kind="PRODUCER"),
        build.span("m.g ray.remote_worker", trace=3, parent=90, kind="CONSUMER"),
        build.span("m.h ray.remote", trace=3, kind="PRODUCER", status="ERROR"),
    ]


def test_the_table() -> None:
    """As it is drawn; an error is none, and what may run is open."""
    store = store_of(*documents())
    requests = {"not found": "HTTP 404", "away": "gRPC 14"}
    assert found(store) == (requests | {"m.f ray.remote": "no attempt"}, 0)
    assert found(store, may_run=True) == (requests, 1)


def test_some_traces() -> None:
    """Only what is asked for is looked at."""
    store = store_of(*documents())
    traces = [trace for trace in range(len(store.trace_table)) if store.trace_table.trace_id(trace) == 2]
    failures, _ = silent_failures(store, traces, lambda _: False)
    assert [failure.text for failure in failures.values()] == ["gRPC status 14 UNAVAILABLE"]


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({}, None),
        ({"http.status_code": 399}, None),
        ({"http.status_code": "503"}, "HTTP status 503"),
        ({"http.response.status_code": 400}, "HTTP status 400"),
        ({"http.status_code": "", "http.response.status_code": 404}, "HTTP status 404"),
        ({"http.status_code": 1000}, None),
        ({"http.status_code": 1011}, "HTTP status 1011"),
        ({"rpc.grpc.status_code": "OK"}, None),
        ({"rpc.grpc.status_code": "NOT_FOUND"}, "gRPC status NOT_FOUND"),
        ({"rpc.grpc.status_code": 99}, "gRPC status 99"),
        ({"rpc.grpc.status_code": [1]}, "gRPC status [1]"),
        ({"http.status_code": {"a": 1}}, None),
    ],
)
def test_attributes(attributes: dict[str, Any], text: str | None) -> None:
    """Codes of HTTP from 400 on, and all of gRPC but OK, whatever their type; a websocket's normal closing is fine."""
    failure = failure_in(attributes)
    assert (failure and failure.text) == text


def test_real_recordings() -> None:
    """Replicas leave spans UNSET whose handlers raised; killed workers leave calls without attempts."""
    assert set(found(load_store([str(FIXTURES / "serve")]))[0].values()) == {
        "HTTP 404",
        "HTTP 418",
        "HTTP 422",
        "HTTP 500",
    }
    assert set(found(load_store([str(FIXTURES / "killed-workers")]))[0].values()) == {"no attempt"}
    # An actor's untraced methods, and actors that existed already, are no failures.
    assert "no attempt" not in found(load_store([str(FIXTURES / "ray-data")]))[0].values()


@pytest.mark.parametrize("name", ["ray-events-hook", "ray-events-bundled"])
def test_what_waited_to_the_end_has_not_failed(name: str) -> None:
    """Where Ray says what became of calls, those without an attempt have failed that its report counts, no others."""
    store = load_store([str(FIXTURES / name)])
    counted = functions_of(store, calls_of(store))
    have_failed = {f"{one.function}{SUBMITTED}" for one in counted if one.failed and one.no_attempt}
    assert {one for one in found(store)[0] if one.endswith(SUBMITTED)} == have_failed
    waited = next(one for one in counted if one.function.endswith("never"))
    assert (waited.calls, waited.no_attempt, waited.failed) == (1, 1, 0)
    assert [group.failed for group in groups_report(store).rows if group.name == f"{waited.function}{SUBMITTED}"] == [0]
