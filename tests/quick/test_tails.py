"""Tails are told from those that were seen, many at a time, and each different one is decoded once."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from spanview.quick import tails
from spanview.quick.known_rows import NO_NUMBER, KnownRows
from spanview.quick.layouts import ONE_LINE
from spanview.quick.tails import Ends, Tails

if TYPE_CHECKING:
    from builders import Document
    from spanview.index.gather import Bytes

MARGIN = 1024


def record(service: str, instance: str, *, linked: bool = False) -> bytes:
    """Return a span as the SDK writes it in one line."""
    span: Document = {
        "name": "f",
        "context": {"trace_id": f"0x{1:032x}", "span_id": f"0x{1:016x}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": None,
        "start_time": "2026-01-01T00:00:00.000000Z",
        "end_time": "2026-01-01T00:00:00.000001Z",
        "status": {"status_code": "OK"},
        "attributes": {"k": instance},
        "events": [],
        "links": [{"context": {}, "attributes": {}}] if linked else [],
        "resource": {"attributes": {"service.instance.id": instance, "service.name": service}, "schema_url": ""},
    }
    return json.dumps(span).encode()


def ends_of(records: list[bytes]) -> Ends:
    """Return where these records are when they follow one another."""
    data = bytearray(b"\n".join(records) + b"\n" + bytes(MARGIN))
    lengths = np.array([len(each) + 1 for each in records])
    behind = np.cumsum(lengths)
    attributes = [each.index(ONE_LINE.attributes) + len(ONE_LINE.attributes) for each in records]
    buffer: Bytes = np.frombuffer(data, np.uint8)
    return Ends(data, buffer, behind - lengths, behind - lengths + np.array(attributes), behind - 1)


@pytest.mark.parametrize("widths", [1, 3, 40])
def test_each_tail_is_looked_at_once(widths: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, of few widths, and whatever fails between them."""
    dice = random.Random(widths)
    looked: list[int] = []
    look = Tails._tail_of

    def note(self: Tails, ends: Ends, at: int) -> object:
        looked.append(at)
        return look(self, ends, at)

    monkeypatch.setattr(Tails, "_tail_of", note)
    instances = [f"{number:04d}" + "x" * (number % widths) for number in range(80)]
    services = [f"s{number % 7}" for number in range(80)]
    chosen = [dice.randrange(80) for _ in range(3000)]
    linked = [dice.random() < 0.02 for _ in chosen]
    made = [record(services[each], instances[each], linked=is_so) for each, is_so in zip(chosen, linked, strict=True)]
    names: list[str] = []

    def number_of(name: str) -> int:
        names.append(name)
        return int(name[1:])

    known = Tails(ONE_LINE.tail, number_of)
    ends = ends_of(made)
    found = known.services(ends, np.arange(len(made)))[0].tolist()
    expected = [NO_NUMBER if is_so else each % 7 for each, is_so in zip(chosen, linked, strict=True)]
    assert found == expected
    assert len(names) == 80
    if widths <= 3:
        # The first of each width is looked at to learn the width, too.
        assert len(looked) <= 80 + widths + sum(linked)
        looked.clear()
        assert known.services(ends, np.arange(len(made)))[0].tolist() == expected
        # One of each width was compared with, and not noted.
        assert sum(linked) <= len(looked) <= sum(linked) + widths


def test_only_those_that_are_asked_for() -> None:
    """The others have no number."""
    ends = ends_of([record("s1", "a"), record("s2", "b"), record("s1", "a")])
    found, begins = Tails(ONE_LINE.tail, lambda name: int(name[1:])).services(ends, np.array([1, 2]))
    assert found.tolist() == [NO_NUMBER, 2, 1]
    assert [ends.data[begin:].startswith(ONE_LINE.tail) for begin in begins] == [False, True, True]


def test_a_byte_makes_another_tail() -> None:
    """Wherever it stands, and if only a decoder sees that it makes a tail of nothing."""
    good = record("s1", "0123456789abcdef0123456789")
    begin = good.index(ONE_LINE.tail)
    for place in range(begin, len(good)):
        other = bytearray(good)
        other[place] = 0
        ends = ends_of([good, bytes(other), good])
        found, _ = Tails(ONE_LINE.tail, lambda _: 7).services(ends, np.arange(3))
        assert found.tolist() == [7, NO_NUMBER, 7], place


def test_long_ones_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tails that are too long to be compared come to the same."""
    monkeypatch.setattr(tails, "_MAX_TAIL_BYTES", 10)
    ends = ends_of([record("s1", "a"), record("s2", "b"), record("s1", "a")])
    found, begins = Tails(ONE_LINE.tail, lambda name: int(name[1:])).services(ends, np.arange(3))
    assert (found.tolist(), [ends.data[begin:].startswith(ONE_LINE.tail) for begin in begins]) == (
        [1, 2, 1],
        [True] * 3,
    )


@pytest.mark.parametrize("width", [8, 64, 400])
def test_equal_sums(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has the sum of something else isn't taken for it."""
    seen = KnownRows(width)
    monkeypatch.setattr(seen, "_spread", np.ones(width // 8, np.uint64))
    words = np.zeros((3, width // 8), np.uint64)
    words[0, 0], words[1, -1] = 5, 5
    words[2, 0] = 6
    found = seen.find(words, lambda row: row + 10).tolist()
    assert found == ([10, 10, 12] if width == 8 else [10, NO_NUMBER, 12])


def test_many_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was forgotten is asked for again, and the numbers stay right."""
    monkeypatch.setattr("spanview.quick.known_rows._MAX_ROWS", 4)
    dice = random.Random(1)
    seen = KnownRows(16)
    for _ in range(30):
        values = np.array([[dice.randrange(50), 3] for _ in range(20)], np.uint64)
        assert seen.find(values, lambda row, values=values: int(values[row, 0])).tolist() == values[:, 0].tolist()  # type: ignore[misc]
