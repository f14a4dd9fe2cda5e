"""What a group of spans is called."""

from __future__ import annotations

from typing import Final

from spanview.display.sanitise import MAX_LENGTH, sanitise

_NONE: Final = "(none)"
_EMPTY: Final = {"service": _NONE, "kind": _NONE, "name": "(no name)", "trace.root": "(no name)"}


def group_text(key: str | None, by: str, longest: int = MAX_LENGTH) -> str:
    """Return the key of a group, safe to print and not too long; in words where its spans have none."""
    if key:
        return sanitise(key, longest)
    return _NONE if key is None else _EMPTY.get(by, '""')
