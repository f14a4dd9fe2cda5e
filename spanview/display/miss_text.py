"""Why a query matches nothing, a sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.misses import NoAttribute
from spanview.display.sanitise import sanitise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.analysis.misses import TooExact

_MAX_LENGTH: Final = 80


def miss_lines(misses: Iterable[NoAttribute | TooExact], whose: str = "no span") -> list[str]:
    """Return the reasons, each safe to print.

    Args:
        misses: The reasons.
        whose: What has none of the attributes.
    """
    return [_line(miss, whose) for miss in misses]


def _line(miss: NoAttribute | TooExact, whose: str) -> str:
    if isinstance(miss, NoAttribute):
        near = f" (did you mean {sanitise(miss.near, _MAX_LENGTH)}?)" if miss.near else ""
        return f"{whose} has {sanitise(miss.key, _MAX_LENGTH)}{near}"
    instead = sanitise(miss.instead, _MAX_LENGTH)
    if miss.operator == "~":
        return f"~ is case-sensitive, {instead} isn't"
    return f"= is exact, {instead} looks inside{' and ignores case' if '(?i)' in miss.instead else ''}"
