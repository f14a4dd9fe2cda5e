"""The kinds and the status codes of spans, by their names and the values that opentelemetry-api gives them."""

from __future__ import annotations

from typing import Final

KIND_NAMES: Final = ("INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
"""Names of `opentelemetry.trace.SpanKind`, at the places of their values."""
STATUS_NAMES: Final = ("UNSET", "OK", "ERROR")
"""Names of `opentelemetry.trace.StatusCode`, at the places of their values."""
KIND_UNSPECIFIED: Final = len(KIND_NAMES)
SERVER: Final = KIND_NAMES.index("SERVER")
CLIENT: Final = KIND_NAMES.index("CLIENT")
PRODUCER: Final = KIND_NAMES.index("PRODUCER")
CONSUMER: Final = KIND_NAMES.index("CONSUMER")
UNSET: Final = STATUS_NAMES.index("UNSET")
ERROR: Final = STATUS_NAMES.index("ERROR")


def known_kind(value: int) -> int | None:
    """Return a kind of the columns as a span has it: None for `KIND_UNSPECIFIED`."""
    return None if value == KIND_UNSPECIFIED else value
