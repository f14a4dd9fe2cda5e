"""What is tried of much."""

from __future__ import annotations

from itertools import product

import pytest

import seeds
from seeds import spread


@pytest.mark.parametrize(
    ("counts", "size", "expected"),
    [
        ((9,), 3, [(0,), (3,), (6,)]),
        ((4,), 9, [(0,), (1,), (2,), (3,)]),
        ((2, 3), 3, [(0, 0), (0, 2), (1, 1)]),
        ((2, 6), 3, [(0, 0), (0, 4), (1, 2)]),
        ((3, 2), 6, [*product(range(3), range(2))]),
    ],
)
def test_in_few(
    counts: tuple[int, ...], size: int, expected: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many variants are tried, each value in one where that can be, else every nth; and all with `THOROUGH=1`."""
    variants = [*product(*map(range, counts))]
    assert [*spread(variants, size, lambda each: each)] == (expected if not seeds.THOROUGH else variants)
    monkeypatch.setattr(seeds, "THOROUGH", True)
    assert [*spread(variants, size, lambda each: each)] == variants


@pytest.mark.shortened(2)
@pytest.mark.parametrize("number", range(5))
def test_marked(number: int) -> None:
    """A test is made in as many variants as its mark says."""
    assert number in ({0, 2} if not seeds.THOROUGH else range(5))
