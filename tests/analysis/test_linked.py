"""Who links to a span: the same as decoding every record tells, however the link is written.

way of writing a link's span id            found
-------------------------------            -----
0x00000000000000ab, 00…AB, 0xab, ab        yes
base64, padding bits set                   yes
a-b, slashes as escapes                    yes
the digits elsewhere: names, attributes    no
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, MemoryReader, file_of, span_id, store_of, store_of_files, trace_id
from spanview.analysis.linked import linking_rows, positions_of, texts_of
from spanview.model.ids import format_span_id, format_trace_id

if TYPE_CHECKING:
    from builders import Document
    from spanview.index.store import Store

WANTED = 0xFFEFBEADDE0000AB


def by_decoding(store: Store, trace: int, span: int) -> list[int]:
    """Return who links to a span, by decoding everything."""
    wanted = format_trace_id(trace), format_span_id(span)
    return [
        row
        for row in range(len(store.spans))
        if any((link.trace_id, link.span_id) == wanted for link in store.span(row).links)
    ]


def found(store: Store, trace: int, span: int) -> list[int]:
    """Return who links to a span, as it is looked for."""
    pieces = [*linking_rows(store, trace, span)]
    assert pieces[-1][1] == 0
    return sorted(row for rows, _ in pieces for row in rows)


def link(trace: object, span: object) -> Document:
    """Return a link to a span, its ids as they are to be written."""
    return {"context": {"trace_id": trace, "span_id": span, "trace_state": "[]"}, "attributes": {}}


def in_base64(span: int, spare: int = 0) -> str:
    """Return a span id as protobuf's JSON has it, with its spare bits set."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    text = base64.b64encode(span.to_bytes(8, "big")).decode()
    return text[:-2] + letters[letters.index(text[-2]) + spare] + "="


SPELLINGS = [
    f"0x{WANTED:016x}",
    f"{WANTED:016X}",
    f" {WANTED:x}\n",
    in_base64(WANTED),
    in_base64(WANTED, 3),
]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("escaped", [False, True])
def test_every_spelling_is_found(spelling: str, *, escaped: bool) -> None:
    """Digits in any case, without zeros, base64, and each character as an escape."""
    text = json.dumps(Builder().span("linking", links=[link(trace_id(7), "@")]))
    spelled = "".join(f"\\u{ord(each):04x}" for each in spelling) if escaped else json.dumps(spelling)[1:-1]
    store = store_of(text.replace("@", spelled).encode(), Builder().span("other", span=9))
    assert found(store, 7, WANTED) == by_decoding(store, 7, WANTED) == [0]
    assert not found(store, 8, WANTED)


def test_slashes_and_keys_as_escapes() -> None:
    """A base64 with escaped slashes, and the key of the links as an escape."""
    slashes = int.from_bytes(b"\xff" * 8, "big")
    text = json.dumps(Builder().span(links=[link(trace_id(7), in_base64(slashes))])).encode()
    store = store_of(text.replace(b'"links"', b'"lin\\u006bs"').replace(b"//", b"\\/\\/"))
    assert b"\\/" in (store.record(0) or b"")
    assert found(store, 7, slashes) == by_decoding(store, 7, slashes) == [0]


def test_digits_as_escapes() -> None:
    """A span id that has no letters, of which each digit is an escape."""
    ones = int("1" * 16, base=16)
    text = json.dumps(Builder().span(links=[link(trace_id(7), "@")])).replace("@", "\\u0031" * 16)
    store = store_of(text.encode())
    assert found(store, 7, ones) == by_decoding(store, 7, ones) == [0]


def test_records_that_are_gone() -> None:
    """What can't be read again links to nothing, and nothing else is lost by it."""
    reader = MemoryReader()
    spans = {
        f"{number}.json": file_of([Builder().span(trace=number, links=[link(trace_id(7), span_id(5))])])
        for number in (1, 2, 3)
    }
    store = store_of_files(spans, reader=reader)
    reader.files[1] = None
    assert found(store, 7, 5) == by_decoding(store, 7, 5) == [0, 2]


def test_only_few_are_decoded() -> None:
    """A span's children have its digits, but no links: they aren't decoded."""
    build = Builder()
    documents = [build.span("root", span=WANTED), *[build.span("leaf", parent=WANTED) for _ in range(50)]]
    store = store_of(*documents, build.span("linking", links=[link(trace_id(1), span_id(WANTED))]))
    with patch.object(type(store), "span", autospec=True, side_effect=type(store).span) as decoded:
        assert found(store, 1, WANTED) == [51]
    assert decoded.call_count == 1
    assert positions_of(texts_of(WANTED), b"nothing of it") == []


IDS = st.sampled_from([1, 0x1F, 0xABCDEF, WANTED])
LINKS = st.builds(
    lambda trace, span, how: link(how(trace, 32), how(span, 16)),
    IDS,
    IDS,
    st.sampled_from(
        [
            lambda number, digits: f"0x{number:0{digits}x}",
            lambda number, _: f"{number:X}",
            lambda number, digits: base64.b64encode(number.to_bytes(digits // 2, "big")).decode(),
            lambda number, _: number,
            lambda _number, _digits: None,
        ]
    ),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(IDS, st.lists(LINKS, max_size=3), st.sampled_from(["a", "abcdef", '"links": [', "\\u0031", "é/"])),
        min_size=1,
        max_size=12,
    ),
    st.booleans(),
)
def test_the_same_as_decoding_everything(spans: list[tuple[int, list[Document], str]], indented: bool) -> None:  # noqa: FBT001
    """Whatever records are made of."""
    build = Builder()
    documents = [
        build.span(text, trace=trace, links=links, attributes={"links": [], text: f"{WANTED:x}"})
        for trace, links, text in spans
    ]
    store = store_of_files({"1.json": file_of(documents, indent=4 if indented else None)})
    for trace in (1, 0x1F, WANTED):
        for span in (1, 0xABCDEF, WANTED):
            expected = by_decoding(store, trace, span)
            assert found(store, trace, span) == expected
