"""The hashes by which rows are found, for many keys at once: those of CPython."""

from __future__ import annotations

import random

import numpy as np

from spanview.index.bulk import hashes_of, hashes_of_halves
from spanview.index.slots import IS_KNOWN_HASH

_EDGES = (0, 1, 2, 2**31, 2**32, 2**60, 2**61 - 2, 2**61 - 1, 2**61, 2**62, 2**63, 2**64 - 2, 2**64 - 1)


def test_this_python_is_known() -> None:
    """The quick way is taken at all."""
    assert IS_KNOWN_HASH


def test_pairs() -> None:
    """A trace's number and a span's id are hashed as a tuple is."""
    dice = random.Random(1)
    pairs = [(dice.choice((0, 1, 2**32 - 2, dice.getrandbits(32))), dice.getrandbits(64)) for _ in range(5_000)]
    pairs += [(first, second) for first in (0, 7, 2**32 - 2) for second in _EDGES]
    first, second = (np.array(column, np.uint64) for column in zip(*pairs, strict=True))
    assert hashes_of(first, second).tolist() == [hash(pair) % 2**64 for pair in pairs]


def test_halves() -> None:
    """The two halves of a trace's id are hashed as the id is."""
    dice = random.Random(2)
    pairs = [(dice.getrandbits(64), dice.getrandbits(64)) for _ in range(5_000)]
    pairs += [(high, low) for high in _EDGES for low in _EDGES]
    high, low = (np.array(column, np.uint64) for column in zip(*pairs, strict=True))
    assert hashes_of_halves(high, low).tolist() == [hash(high << 64 | low) for high, low in pairs]
