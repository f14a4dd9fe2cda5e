"""Whether what is printed has colours: `--color`, then NO_COLOR and FORCE_COLOR, then whether it goes to a terminal.

Source: https://no-color.org, https://force-color.org
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spanview.display.shades import colored, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.commands.options import Options
    from spanview.display.shades import Paint


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
