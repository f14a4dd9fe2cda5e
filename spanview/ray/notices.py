"""What is said to whoever runs the program: a line on standard error, which is a worker's `.err` file in Ray."""

from __future__ import annotations

import sys
from contextlib import suppress


def say(text: str) -> None:
    """Print a line, if that can be done."""
    # It may be closed, full or None.
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"spanview: {text}\n")
        sys.stderr.flush()
