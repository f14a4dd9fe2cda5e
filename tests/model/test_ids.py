"""Ids in every spelling that was seen, and in those that nobody can use.

spelling in the file                  the id
--------------------                  ------
0x00ab…01, 00ab…01, 0X00AB…01         the same one
1, 0x1                                …0001: leading zeros were left out
AAECAwQFBgc=                          the 8 bytes that protobuf's own JSON writes as base64
all zeros, text, numbers, null …      none, and the span says `bad_id`
"""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Builder, store_of
from ids import NO_IDS, NOTHING, SPAN_TEXT, TRACE_TEXT
from spanview.index.summary import summary_of
from spanview.model.ids import (
    SPAN_ID_DIGITS,
    TRACE_ID_DIGITS,
    UNUSABLE,
    format_span_id,
    format_trace_id,
    parse_id,
)
from spanview.model.problems import Warnings

BASE64_TRACE = base64.b64encode(bytes.fromhex(TRACE_TEXT)).decode()
BASE64_SPAN = base64.b64encode(bytes.fromhex(SPAN_TEXT)).decode()

USABLE: list[tuple[str, int, int]] = [
    (SPAN_TEXT, 16, int(SPAN_TEXT, 16)),
    ("0x" + SPAN_TEXT, 16, int(SPAN_TEXT, 16)),
    ("0X" + SPAN_TEXT.upper(), 16, int(SPAN_TEXT, 16)),
    (SPAN_TEXT.upper(), 16, int(SPAN_TEXT, 16)),
    (f" {SPAN_TEXT}\n", 16, int(SPAN_TEXT, 16)),
    ("1", 16, 1),
    ("0x1", 16, 1),
    ("0" * 15 + "a", 16, 10),
    (TRACE_TEXT, 32, int(TRACE_TEXT, 16)),
    ("0x" + TRACE_TEXT, 32, int(TRACE_TEXT, 16)),
    (SPAN_TEXT, 32, int(SPAN_TEXT, 16)),
    (BASE64_TRACE, 32, int(TRACE_TEXT, 16)),
    (BASE64_SPAN, 16, int(SPAN_TEXT, 16)),
    ("f" * 16, 16, 2**64 - 1),
    ("f" * 32, 32, 2**128 - 1),
]


@pytest.mark.parametrize(("text", "digits", "number"), USABLE)
def test_usable_spelling(text: str, digits: int, number: int) -> None:
    """Every spelling that a program writes stands for its id."""
    assert parse_id(text, digits) == number


@pytest.mark.parametrize("value", [*NOTHING, *NO_IDS], ids=ascii)
@pytest.mark.parametrize("digits", [SPAN_ID_DIGITS, TRACE_ID_DIGITS])
def test_unusable_spelling(value: object, digits: int) -> None:
    """What is no id gives the integer that stands for none, of whatever type it is."""
    assert parse_id(value, digits) == UNUSABLE


@given(st.integers(1, 2**64 - 1))
def test_span_id_round_trip(number: int) -> None:
    """A formatted span id has 16 lower-case digits and parses to itself, with and without 0x."""
    text = format_span_id(number)
    assert len(text) == 16
    assert text == text.lower()
    assert parse_id(text, SPAN_ID_DIGITS) == parse_id(f"0x{text}", SPAN_ID_DIGITS) == number


@given(st.integers(1, 2**128 - 1))
def test_trace_id_round_trip(number: int) -> None:
    """A formatted trace id has 32 lower-case digits and parses to itself, with and without 0x."""
    text = format_trace_id(number)
    assert len(text) == 32
    assert text == text.lower()
    assert parse_id(text, TRACE_ID_DIGITS) == parse_id(f"0X{text.upper()}", TRACE_ID_DIGITS) == number


@pytest.mark.parametrize("key", ["trace_id", "span_id"])
def test_span_without_id_field_is_kept(key: str) -> None:
    """A context that lacks an id altogether is like one with a bad id."""
    document = Builder().span("odd")
    del document["context"][key]
    span = store_of(document).span(0)
    assert (getattr(span, key), span.warnings) == (None, Warnings.BAD_ID)


def test_bad_ids_of_one_group_stay_apart() -> None:
    """Spans without a usable span id are not doubles of each other, unless the records are equal."""
    build = Builder()
    documents = [build.span(f"odd {number}", start=number) for number in range(5)]
    for document in documents:
        document["context"]["span_id"] = "?"
    store = store_of(*documents, documents[2])
    assert (summary_of(store).spans, summary_of(store).duplicates) == (5, 1)
    assert list(store.spans.warnings) == [Warnings.BAD_ID] * 5


def test_trace_without_id_is_counted_apart() -> None:
    """Spans without a usable trace id stand in one group, which is not counted as a trace."""
    build = Builder()
    documents = [build.span("placed"), build.span("odd 1"), build.span("odd 2")]
    for document, bad in zip(documents[1:], ("?", None), strict=True):
        document["context"]["trace_id"] = bad
    store = store_of(*documents)
    assert (summary_of(store).spans, summary_of(store).traces) == (3, 1)
    assert len(store.trace_table) == 2
    assert [store.trace_table.trace_id(trace) for trace in store.traces_in_order()] == [1, 0]
