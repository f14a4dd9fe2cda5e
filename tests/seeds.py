"""Seeds of trials that are drawn by chance: a sixth of them, and all with `THOROUGH=1`, as property tests have it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

THOROUGH: Final = bool(os.environ.get("THOROUGH"))
_SHARE: Final = 6
_Each = TypeVar("_Each")


def seeds(count: int) -> range:
    """Return the seeds of a test that has so many in all."""
    return range(count if THOROUGH else -(-count // _SHARE))


def sample(values: Sequence[_Each], size: int) -> Sequence[_Each]:
    """Return what a test is made with: so many of some values, spread over them, or all with `THOROUGH=1`."""
    return values if THOROUGH else values[:: -(-len(values) // size)]
