"""The way out to standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spanview.exports.jsonl import escape_for_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable


def write_to_standard_output(chunks: Iterable[bytes]) -> None:
    """Write JSON out; on a terminal, what it would act on is escaped."""
    output, is_terminal = sys.stdout.buffer, sys.stdout.isatty()
    for chunk in chunks:
        output.write(escape_for_terminal(chunk) if is_terminal else chunk)
    output.flush()
