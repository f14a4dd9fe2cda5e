"""Spans whose lines have others between them: logs of the same process, with and without its name before them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, file_of, store_of_files
from independent_reader import read_text
from records import record_of
from spanview.formats.decoder import Decoder

if TYPE_CHECKING:
    import random

    from spanview.formats.rows import Batch

OTHERS: Final = (
    b"INFO 2026-11-20 11:55:46,917 epoch 3",
    b"[2026-11-20 11:55:46,917 E 1 2] core_worker.cc:1: lost",
    b'{"level": "info", "loss": 0.1}',
    b"{'loss': 0.1}",
    b"{}",
    b"3",
    b"null",
    b'"hello"',
    b"[1, 2]",
    b"\r 50%|#####     | 5/10",
    b'  File "/srv/app.py", line 1, in f',
    b"Traceback (most recent call last):",
    b"",
)
NAMES: Final = (b"", b"(App pid=1) ", b"\x1b[36m(App pid=1)\x1b[0m ", b"api-1  | ")
ATTRIBUTES: Final = {"x": 1, "y": [1, "a", None], "z": "three"}


def batches_of(pieces: list[bytes]) -> tuple[Batch, ...]:
    """Return the batches of a file that arrives in pieces."""
    decoder = Decoder()
    return (*map(decoder.feed, pieces), decoder.tail(), decoder.close())


def places_of(batches: tuple[Batch, ...]) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the ids and the places of spans, in the order of the file."""
    ids = [span_id for batch in batches for span_id in batch.columns.span_ids]
    return ids, sorted(place for batch in batches for place in batch.documents)


def between(text: bytes, chance: random.Random, share: float) -> bytes:
    """Return a text with other lines between some of its own."""
    lines = []
    for line in text.splitlines(keepends=True):
        if chance.random() < share:
            lines.append(chance.choice(OTHERS) + b"\n")
        lines.append(line)
    return b"".join(lines)


@settings(max_examples=200, deadline=None)
@given(
    st.randoms(use_true_random=False),
    st.sampled_from(NAMES),
    st.sampled_from((2, 4)),
    st.sampled_from((0.02, 0.3)),
    st.integers(0, 10),
)
def test_all_spans_are_read(chance: random.Random, name: bytes, indent: int, share: float, cuts: int) -> None:
    """No line that another part of the program prints costs a span, in whatever pieces the file comes."""
    builder = Builder()
    spans = [builder.span(f"of {at}", attributes=ATTRIBUTES) for at in range(chance.randint(1, 6))]
    text = between(file_of(spans, indent=indent), chance, share)
    text = b"".join(name + line for line in text.splitlines(keepends=True))
    places = sorted(chance.randrange(len(text) + 1) for _ in range(cuts))
    pieces = [text[start:stop] for start, stop in zip([0, *places], [*places, len(text)], strict=True)]
    whole, cut = batches_of([text]), batches_of(pieces)
    assert places_of(whole) == places_of(cut)
    assert sorted(places_of(whole)[0]) == [int(span["context"]["span_id"], 16) for span in spans]
    assert not any(batch.gaps for batch in (*whole, *cut))
    store = store_of_files({"worker.out": text})
    found = {span["span_id"]: span for span in (record_of(store.span(row)) for row in range(len(store.spans)))}
    assert found == {span["span_id"]: span for span in read_text(file_of(spans).decode())}


@pytest.mark.parametrize("junk", [b"x", b"INFO x", b"\xff", b"\x1b[0m"])
def test_a_damaged_line_isnt_left_out(junk: bytes) -> None:
    """A line whose beginning is damaged isn't taken for another's: then the span would lack what stands there."""
    span = Builder().span(attributes=ATTRIBUTES | {"n": {"a": [{"b": 1}, 2.5]}})
    lines = file_of([span], indent=4).splitlines(keepends=True)
    for at, line in enumerate(lines):
        for start in range(min(4, len(line) - 1)):
            damaged = line[:start] + junk + line[start + len(junk) :].rstrip(b"\n") + b"\n"
            ids, _ = places_of(batches_of([b"".join([*lines[:at], damaged, *lines[at + 1 :]])]))
            assert ids == [], damaged


def test_a_line_of_zeros_isnt_left_out() -> None:
    """A hole in the file that covers a whole line is no other output."""
    lines = file_of([Builder().span(attributes=ATTRIBUTES)], indent=4).splitlines(keepends=True)
    for at in range(1, len(lines) - 1):
        hole = b"\0" * (len(lines[at]) - 1) + b"\n"
        assert places_of(batches_of([b"".join([*lines[:at], hole, *lines[at + 1 :]])]))[0] == [], at


def test_two_halves_make_no_span() -> None:
    """A record that breaks off and the rest of another one, with text between them, aren't taken for one."""
    first, second = (
        json.dumps(Builder().span(name, attributes={name: 1}), indent=4).encode().splitlines(keepends=True)
        for name in ("a", "b")
    )
    text = b"".join([*first[:9], b"INFO hello\n", *second[6:]])
    batches = batches_of([text])
    assert places_of(batches)[0] == []
    assert sum(len(batch.gaps) for batch in batches) == 1


@pytest.mark.parametrize("glued", [b"", b"INFO "])
def test_a_record_between_the_lines_of_another(glued: bytes) -> None:
    """A whole record on a line between those of another is read, with or without text before it."""
    builder = Builder()
    lines = file_of([builder.span()], indent=4).splitlines(keepends=True)
    lines.insert(5, glued + file_of([builder.span()]))
    ids, _ = places_of(batches_of([b"".join(lines)]))
    assert 2 in ids


def test_what_python_prints_is_text() -> None:
    """A dict that is printed is no damaged record, also where it arrives byte by byte."""
    document: dict[str, Any] = Builder().span()
    text = b"{'loss': 0.1}\n" + file_of([document], indent=4) + b"{'loss': 0.1, 'x': {}}\n{'a" + b"b': 1}\n"
    for pieces in ([text], [text[at : at + 1] for at in range(len(text))]):
        batches = batches_of(pieces)
        assert places_of(batches)[0] == [1]
        assert not any(batch.gaps for batch in batches)
        assert any(batch.has_text for batch in batches)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "other", [b"epoch 1,", b"INFO config = {", b"x = [", b"{'lr': 0.1,", b"\x1b[32mloss 3,"], ids=repr
)
def test_text_that_ends_like_json(name: bytes, other: bytes) -> None:
    """Words at the margin are none of an indented document's, whatever they end with."""
    lines = file_of([Builder().span(attributes=ATTRIBUTES)], indent=4).splitlines(keepends=True)
    for at in range(1, len(lines)):
        text = b"".join(name + line for line in (*lines[:at], other + b"\n", *lines[at:]))
        assert places_of(batches_of([text]))[0] == [1], at


def test_the_first_name_stands_within_a_span() -> None:
    """The lines of a program's own span and those of a worker's are told apart from the first one on."""
    builder = Builder()
    own, other = (file_of([builder.span()], indent=4).splitlines(keepends=True) for _ in range(2))
    for at in range(1, len(own)):
        text = b"".join([*own[:at], *(b"(A pid=1) " + line for line in other), *own[at:]])
        for pieces in ([text], [text[begin : begin + 7] for begin in range(0, len(text), 7)]):
            batches = batches_of(pieces)
            assert sorted(places_of(batches)[0]) == [1, 2], at
            assert not any(batch.gaps for batch in batches)
