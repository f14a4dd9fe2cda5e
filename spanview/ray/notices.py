"""What is said to whoever runs the program: a line on standard error, which is a worker's `.err` file in Ray."""

from __future__ import annotations

import sys
from contextlib import suppress


def say(text: str) -> None:
    """Print one line, if that can be done; what a terminal would act on is escaped."""
    # Paths and errors have anything in them.
    harmless = "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
    # It may be closed, full or None.
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"spanview: {harmless}\n")
        sys.stderr.flush()
