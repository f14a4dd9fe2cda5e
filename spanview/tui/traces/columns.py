"""What the lists of traces and of groups can be sorted by."""

from __future__ import annotations

from enum import Enum
from typing import Final

_WORDS: Final = {
    "SHARE": "share of errors",
    "INCOMPLETE": "incomplete traces",
    "NEWEST": "newest start",
    "ROOT": "root name",
}


class _Column(Enum):
    """A column, by its head."""

    @property
    def word(self) -> str:
        """What is sorted by, in words."""
        return _WORDS.get(self.name, self.name.lower())


class TraceColumn(_Column):
    """What the list can be sorted by."""

    START = "START"
    DURATION = "DURATION"
    SPANS = "SPANS"
    ERRORS = "ERR"
    ROOT = "ROOT"


class GroupColumn(_Column):
    """What groups can be sorted by, in the order in which the columns stand."""

    TRACES = "TRACES"
    ERRORS = "ERR"
    SHARE = "ERR%"
    INCOMPLETE = "INC"
    P50 = "P50"
    P95 = "P95"
    P99 = "P99"
    MAX = "MAX"
    TOTAL = "TOTAL"
    NEWEST = "NEWEST"
    ROOT = "ROOT"
