"""What is tried of much: a twelfth of the seeds of trials, a sample of values, and all with `THOROUGH=1`.

A test with the mark `shortened(12)` is made in twelve of its variants: `test_in_few` says which.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

THOROUGH: Final = bool(os.environ.get("THOROUGH"))
_SHARE: Final = 12
_Each = TypeVar("_Each")


def seeds(count: int) -> range:
    """Return the seeds of a test that has so many in all."""
    return range(count if THOROUGH else -(-count // _SHARE))


def sample(values: Sequence[_Each], size: int) -> Sequence[_Each]:
    """Return what a test is made with: so many of some values, spread over them, or all with `THOROUGH=1`."""
    return values if THOROUGH else values[:: -(-len(values) // size)]


def spread(variants: Sequence[_Each], size: int, places: Callable[[_Each], tuple[int, ...]]) -> Sequence[_Each]:
    """Return so many variants of a test, or all with `THOROUGH=1`.

    Args:
        variants: All combinations of what a test is made with.
        size: How many are enough: each value is in one of them where so many variants can have them all, else every
            nth is.
        places: Returns the place of each value of a variant among all that its parameter has.
    """
    if THOROUGH or size >= len(variants):
        return variants
    counts = [1 + max(each) for each in zip(*map(places, variants), strict=True)]
    chosen = {
        tuple(turn % count if count <= size else turn * count // size for count in counts) for turn in range(size)
    }
    return [variant for variant in variants if places(variant) in chosen]
