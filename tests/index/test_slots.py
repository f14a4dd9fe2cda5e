"""The hash table of row numbers: every row is found by its key, however it grows and collides."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanview.index.slots import Slots


def found(slots: Slots, keys: list[int], key: int) -> list[int]:
    """Return the rows with a key, as a reader of the table finds them."""
    rows = []
    slot = hash(key) & slots.mask
    while entry := slots.table[slot]:
        if keys[entry - 1] == key:
            rows.append(entry - 1)
        slot = (slot + 1) & slots.mask
    return rows


@given(st.lists(st.integers(-50, 50), max_size=3_000))
def test_rows_are_found_by_their_keys(keys: list[int]) -> None:
    """Each key has all of its rows, whatever the number of rows and of equal keys."""
    slots = Slots(lambda row: hash(keys[row]))
    for row in range(len(keys)):
        slots.insert(row)
    assert slots.used == len(keys)
    for key in {*keys, 99}:
        assert sorted(found(slots, keys, key)) == [row for row, other in enumerate(keys) if other == key]


def test_growth_keeps_every_row() -> None:
    """A table that grew many times has every row once, and is never full."""
    keys = [number * 0x9E3779B97F4A7C15 % 2**61 for number in range(50_000)]
    slots = Slots(lambda row: hash(keys[row]))
    for row in range(len(keys)):
        slots.insert(row)
    assert sorted(entry - 1 for entry in slots.table if entry) == list(range(len(keys)))
    assert slots.used * 3 <= len(slots.table) * 2
    assert all(found(slots, keys, key) == [row] for row, key in enumerate(keys[:1_000]))


@pytest.mark.parametrize("count", [1, 600, 700, 5_000])
def test_reserve(count: int) -> None:
    """A reserve makes room for so many rows at once, and changes nothing where there is room."""
    slots = Slots(hash)
    slots.insert(0)
    slots.reserve(count)
    mask = slots.mask
    assert (slots.used + count) * 3 <= mask * 2
    for row in range(1, count + 1):
        slots.insert(row)
    assert slots.mask == mask


def test_what_was_given_up_grows_when_it_is_made() -> None:
    """A table that grows while it is given up is made in its new size, and asks for no hash."""
    slots, sizes = Slots(hash), list[int]()
    slots.insert(0)

    def make(size: int) -> array[int]:
        sizes.append(size)
        return array("I", [1] + [0] * (size - 1))

    slots.give_up(make)
    slots.reserve(5_000)
    assert sizes == []
    assert (len(slots.table), slots.table[0], sizes) == (slots.mask + 1, 1, [slots.mask + 1])
    assert slots.mask * 2 >= 5_001 * 3


def test_colliding_rows_wrap_around() -> None:
    """Rows whose hash is the table's last slot go on at its first."""
    slots = Slots(lambda _row: -1)
    for row in range(3):
        slots.insert(row)
    assert [slots.table[-1], slots.table[0], slots.table[1], slots.table[2]] == [1, 2, 3, 0]
