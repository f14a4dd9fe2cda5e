r"""One span's object: the keys of the format in its order, and strict JSON whatever the SDK wrote.

NaN, Infinity      "NaN", "Infinity"
2**70              1180591620717411303424
"\udcff"           U+FFFD
"""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from builders import Builder, Document, store_of
from spanview.formats.own.write import dumps_span, span_value
from spanview.model.problems import Warnings
from spanview.model.span import Scope, Span

KEYS = (
    "span_id parent_id name kind start_time end_time duration_ns self_time_ns status attributes events links "
    "trace_state resource scope source warnings"
)


def exported(document: Document, **arguments: Any) -> dict[str, Any]:
    """Return the object that a document's export is read back as, by a reader that takes strict JSON only."""
    store = store_of(document)
    text = dumps_span(span_value(store.span(0), **({"self_time_ns": 7} | arguments)))
    value: dict[str, Any] = json.loads(text.decode("utf-8"), parse_constant=_refuse)
    orjson.loads(text)
    return value


def test_a_whole_span() -> None:
    """Every field stands where the format has it."""
    document = Builder().span(
        "GET /",
        parent=9,
        kind="SERVER",
        status="ERROR",
        description="no",
        service="cart",
        attributes={"n": 1, "ok": True, "f": 1.0, "list": ["a"]},
        events=[{"name": "e", "timestamp": "2023-11-14T22:13:20.000001Z", "attributes": {"a": 1}}],
        links=[
            {
                "context": {"trace_id": "0x" + "a" * 32, "span_id": "0x" + "b" * 16, "trace_state": "[]"},
                "attributes": {"l": 1},
            }
        ],
    )
    document["context"]["trace_state"] = "['{key=vendor, value=1}']"
    value = exported(document)
    assert " ".join(value) == KEYS
    assert value == {
        "span_id": "0000000000000001",
        "parent_id": "0000000000000009",
        "name": "GET /",
        "kind": "SERVER",
        "start_time": "2023-11-14T22:13:20.000000Z",
        "end_time": "2023-11-14T22:13:20.000010Z",
        "duration_ns": 10_000,
        "self_time_ns": 7,
        "status": {"code": "ERROR", "description": "no"},
        "attributes": {"n": 1, "ok": True, "f": 1.0, "list": ["a"]},
        "events": [{"name": "e", "timestamp": "2023-11-14T22:13:20.000001Z", "attributes": {"a": 1}}],
        "links": [{"trace_id": "a" * 32, "span_id": "b" * 16, "trace_state": {}, "attributes": {"l": 1}}],
        "trace_state": {"vendor": "1"},
        "resource": {"attributes": {"service.name": "cart"}, "schema_url": ""},
        "scope": None,
        "source": {"file": "spans/1.json", "offset": 0, "length": value["source"]["length"]},
        "warnings": [],
    }


def test_what_is_missing_is_null() -> None:
    """Times, parent and kind that the file doesn't have are null, and so is a self time that nobody knows."""
    value = exported(Builder().span(duration=None) | {"start_time": None, "kind": None}, self_time_ns=None)
    for key in ("parent_id", "kind", "start_time", "end_time", "duration_ns", "self_time_ns", "scope"):
        assert value[key] is None
    assert value["status"] == {"code": "UNSET"}


def test_nanoseconds() -> None:
    """A time that isn't a whole number of microseconds has nine digits."""
    value = exported(Builder().span(start_time="2023-11-14T22:13:20.000000001Z"))
    assert value["start_time"] == "2023-11-14T22:13:20.000000001Z"


def test_scope() -> None:
    """A scope is an object with all of its fields."""
    span = Span("a" * 32, "b" * 16, None, "n", 0, 1, 2, scope=Scope("lib", "1.0"))
    assert span_value(span, 1)["scope"] == {"name": "lib", "version": "1.0", "schema_url": None, "attributes": {}}


def test_warnings_of_span_and_tree() -> None:
    """Warnings come from the record and from the tree, in the order of their definition."""
    value = exported(Builder().span(duration=None), of_tree=Warnings.CLOCK_SKEW | Warnings.CYCLE)
    assert value["warnings"] == ["cycle", "no_end", "clock_skew"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (2**63, 2**63),
        (2**64, 2**64),
        (2**70, 2**70),
        (-(2**70), -(2**70)),
        ("\udcff", "�"),
        ("a\ud800b", "a�b"),
        ("\x00\x1b\u2028", "\x00\x1b\u2028"),
        ("null", "null"),
        (None, None),
        ([1, float("nan"), None], [1, "NaN", None]),
        ({"a": {"b": float("inf")}}, {"a": {"b": "Infinity"}}),
        (True, True),
        (1.0, 1.0),
    ],
)
def test_values_that_the_sdk_can_write(value: Any, expected: Any) -> None:
    """What is no strict JSON is replaced as the format says, wherever it stands; the rest is exact, type included."""
    document = Builder().span(
        attributes={"v": value},
        resource={"v": value},
        events=[{"name": "e", "timestamp": None, "attributes": {"v": value}}],
    )
    found = exported(document)
    values = [found["attributes"]["v"], found["events"][0]["attributes"]["v"], found["resource"]["attributes"]["v"]]
    assert values == [expected] * 3
    assert {type(part) for part in values} == {type(expected)}


@pytest.mark.parametrize("depth", [200, 300, 900])
def test_deep_values(depth: int) -> None:
    """An attribute nested as deep as decoders allow is exported whole."""
    record = json.dumps(Builder().span(attributes={"v": 0})).encode()
    record = record.replace(b'{"v": 0}', b'{"v": ' + b"[" * depth + b"]" * depth + b"}")
    store = store_of(record)
    text = dumps_span(span_value(store.span(0), None))
    assert b"[" * depth + b"]" * depth in text
    assert orjson.loads(text)["name"] == "span"


def test_spans_without_details() -> None:
    """A span whose record is gone has the columns' values, empty details, and says so."""
    store = store_of(Builder().span("kept", service="cart"))
    store.spans.length[0] = 3
    value = span_value(store.span(0), 1)
    assert (value["name"], value["attributes"], value["warnings"]) == ("kept", {}, ["detail_lost"])


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")
