"""Seeds of trials that are drawn by chance: a sixth of them, and all with `THOROUGH=1`, as property tests have it."""

from __future__ import annotations

import os
from typing import Final

THOROUGH: Final = bool(os.environ.get("THOROUGH"))
_SHARE: Final = 6


def seeds(count: int) -> range:
    """Return the seeds of a test that has so many in all."""
    return range(count if THOROUGH else -(-count // _SHARE))
