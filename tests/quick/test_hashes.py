"""The hashes by which rows are found, for many keys at once as for one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spanview.index.arrays import hashes_of
from spanview.index.slots import slot_hash

_EDGES = (0, 1, 2, 2**31, 2**32, 2**60, 2**61 - 2, 2**61 - 1, 2**61, 2**62, 2**63, 2**64 - 2, 2**64 - 1)


def test_pairs() -> None:
    """A trace's number and a span's id, or the halves of a trace's id, are hashed as they are one by one."""
    dice = random.Random(1)
    pairs = [(dice.choice((0, 1, 2**32 - 2, dice.getrandbits(32))), dice.getrandbits(64)) for _ in range(5_000)]
    pairs += [(dice.getrandbits(64), dice.getrandbits(64)) for _ in range(5_000)]
    pairs += [(first, second) for first in (7, 2**32 - 2, *_EDGES) for second in _EDGES]
    first, second = (np.array(column, np.uint64) for column in zip(*pairs, strict=True))
    hashes = hashes_of(first, second).tolist()
    assert hashes == [slot_hash(*pair) for pair in pairs]
    assert max(hashes) < 2**32


@pytest.mark.parametrize("shift", range(0, 64, 4))
def test_ids_that_count(shift: int) -> None:
    """Ids that count in some of their digits only are spread over all slots."""
    ids = [number << shift for number in range(1 << min(16, 64 - shift))]
    for slots in ({slot_hash(7, each) % 2**16 for each in ids}, {slot_hash(each, 0) % 2**16 for each in ids}):
        assert len(slots) > len(ids) / 3
