"""The way out to standard output, and whether what is printed has colours.

These depend on `--color`, then NO_COLOR and FORCE_COLOR, then whether it goes to a terminal.
Source: https://no-color.org, https://force-color.org
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, TextIO

from spanview.display.shades import colored, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spanview.commands.options import Options
    from spanview.display.shades import Paint

_DEFAULT_WIDTH: Final = 80


def write_to_standard_output(chunks: Iterable[bytes], stream: TextIO | None = None) -> None:
    """Write JSON out; on a terminal, what it would act on is escaped."""
    # The viewer asks for colours alone.
    from spanview.exports.jsonl import escape_for_terminal

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


def paint_for(options: Options) -> Paint:
    """Return what colours the texts that go to standard output, or leaves them as they are."""
    return colored if _has_colors(options) else plain


def is_colorless(options: Options) -> bool:
    """Tell whether the terminal is to be sent no colours, or can't show any."""
    return options.color == "never" or (options.color == "auto" and _lacks_colors(options.environment))


def _has_colors(options: Options) -> bool:
    if options.color != "auto":
        return options.color == "always"
    if options.environment.get("NO_COLOR"):
        return False
    if options.environment.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and not _lacks_colors(options.environment)


def _lacks_colors(environment: Mapping[str, str]) -> bool:
    return bool(environment.get("NO_COLOR")) or environment.get("TERM") in {"dumb", "unknown"}
