"""The way out to standard output."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, TextIO

from spanview.exports.jsonl import escape_for_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable

_DEFAULT_WIDTH: Final = 80


def write_to_standard_output(chunks: Iterable[bytes], stream: TextIO | None = None) -> None:
    """Write JSON out; on a terminal, what it would act on is escaped."""
    text = sys.stdout if stream is None else stream
    output, is_terminal = text.buffer, text.isatty()
    for chunk in chunks:
        output.write(escape_for_terminal(chunk) if is_terminal else chunk)
    output.flush()


def terminal_width() -> int | None:
    """Return how many cells a line of standard output has; None if that isn't a terminal."""
    if not sys.stdout.isatty():
        return None
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    # A terminal whose size was never set says 0.
    return columns or _DEFAULT_WIDTH
