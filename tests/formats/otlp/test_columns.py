"""Spans to columns at once, and by way of whole spans: both come to the same.

as the protocol has it     columns
anything else              columns, or none: then whole spans are made
"""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hypothesis import given
from hypothesis import strategies as st

from otlp_messages import DOCUMENTS
from spanview.formats import foreign
from spanview.formats.otlp import columns as otlp_columns
from spanview.formats.otlp import read as otlp

if TYPE_CHECKING:
    from spanview.formats.rows import SpanColumns

FIXTURES: Final = Path(__file__).parents[3] / "fixtures" / "otlp-json" / "spans"
_ODD: Final[tuple[Any, ...]] = (
    *(
        None,
        True,
        0,
        -1,
        7,
        2**63,
        1.0,
        1.5,
        "",
        "0",
        "7",
        "-7",
        " 7",
        "x",
        "\u0664",
        "0" * 16,
        "1" * 16,
        "0" * 32,
        "1" * 32,
    ),
    *("a b" * 10 + "ab", "9" * 19, "SPAN_KIND_SERVER", "STATUS_CODE_OK", [], [None], [7], [{}], [[]], {}, {"x": 7}),
    *({"stringValue": 7}, {"intValue": "7.0"}, {"intValue": "9" * 19}, {"doubleValue": "NaN"}, {"doubleValue": 7}),
    *({"arrayValue": {"values": [{"intValue": True}]}}, {"arrayValue": {"values": [{"stringValue": "a"}]}}),
    *({"arrayValue": [{"stringValue": "a"}]}, {"boolValue": True, "stringValue": "a"}, {"stringValue": None}),
    *("logfire.span_type", "service.name", "pending_span"),
)
_KEYS: Final = ("traceId", "parent_span_id", "attributes", "batches", "spans", "resource_spans", "entityRefs", "more")


def expected(document: Any) -> SpanColumns:
    """Return the columns of a document by way of whole spans."""
    return foreign.columns_of(otlp.spans_of(document, foreign.NOWHERE))


@given(DOCUMENTS, st.data())
def test_any_documents(document: Any, data: st.DataObject) -> None:
    """Whatever is replaced, left out or added somewhere, there are the same columns, or none."""
    assert otlp_columns.columns_of(document) in (None, expected(document))
    for _ in range(data.draw(st.integers(1, 3))):
        holder = document
        while inner := [part for part in _parts(holder) if _parts(part)]:
            if data.draw(st.integers(0, 5)) == 0:
                break
            holder = data.draw(st.sampled_from(inner))
        if isinstance(holder, list) and holder:
            holder[data.draw(st.integers(0, len(holder) - 1))] = deepcopy(data.draw(st.sampled_from(_ODD)))
        elif isinstance(holder, dict) and holder:
            holder[data.draw(st.sampled_from([*holder, *_KEYS]))] = deepcopy(data.draw(st.sampled_from(_ODD)))
    found = otlp_columns.columns_of(document)
    assert found is None or found == expected(document)


def _parts(value: Any) -> list[Any]:
    return [*(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())]


def test_recordings() -> None:
    """Nearly all that was recorded goes to columns at once."""
    lines = [line for path in FIXTURES.rglob("*.jsonl") for line in path.read_bytes().splitlines()]
    documents = [document for document in map(json.loads, lines) if "resourceSpans" in document]
    found = [*map(otlp_columns.columns_of, documents)]
    at_once = [(columns, document) for columns, document in zip(found, documents, strict=True) if columns is not None]
    assert all(columns == expected(document) for columns, document in at_once)
    assert len(at_once) / len(documents) > 0.7
    assert sum(len(columns) for columns, _ in at_once) > 20
