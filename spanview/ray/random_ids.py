"""Ids that a program's random numbers have no part in.

The SDK draws ids from Python's `random`, so every run of a program that calls `random.seed(3)` has the same ones, and
its processes that call it have those of each other.
"""

from __future__ import annotations

from random import SystemRandom
from typing import Final

from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

_SYSTEM: Final = SystemRandom()
"""Has no state, so it can't be seeded, and a fork doesn't copy it."""


class UnseededIds(RandomIdGenerator):
    """The SDK's generator of ids, with the operating system's random numbers."""

    def generate_span_id(self) -> int:
        """Return 64 bits, never all zeros."""
        while not (span_id := _SYSTEM.getrandbits(64)):
            pass
        return span_id

    def generate_trace_id(self) -> int:
        """Return 128 bits, never all zeros."""
        while not (trace_id := _SYSTEM.getrandbits(128)):
            pass
        return trace_id
