"""What the list of traces can be sorted by."""

from __future__ import annotations

from enum import StrEnum


class TraceColumn(StrEnum):
    """What the list can be sorted by, in words."""

    START = "start"
    DURATION = "duration"
    SPANS = "spans"
    ERRORS = "errors"
    ROOT = "root name"
