"""The parts of a decoded document, each of which may be of any type."""

from __future__ import annotations

from typing import Any

from spanview.formats.console.columns import as_text
from spanview.model.problems import NO_WARNINGS, Warnings
from spanview.model.times import known, parse_time


class Careful:
    """Reads parts and remembers whether one of them had a type that it can't have."""

    __slots__ = ("is_malformed",)

    def __init__(self) -> None:
        self.is_malformed = False

    def warnings(self, *, has_bad_id: bool) -> Warnings:
        """Return what is to be said of a span, all parts of which were read."""
        bad_id = Warnings.BAD_ID if has_bad_id else NO_WARNINGS
        return bad_id | (Warnings.ODD_VALUE if self.is_malformed else NO_WARNINGS)

    def text(self, value: Any) -> str:
        """Return a text; any other value as text."""
        self.is_malformed |= not isinstance(value, str | None)
        return as_text(value)

    def time(self, value: Any) -> int | None:
        """Return the nanoseconds since 1970 of an ISO time; None for none."""
        ns = known(parse_time(value))
        self.is_malformed |= ns is None and value is not None
        return ns

    def objects(self, value: Any) -> list[dict[str, Any]]:
        """Return the objects of a list; none for any other value."""
        items = self.items(value)
        objects = [item for item in items if isinstance(item, dict)]
        self.is_malformed |= len(objects) < len(items)
        return objects

    def items(self, value: Any) -> list[Any]:
        """Return a list; an empty one for any other value."""
        self.is_malformed |= not isinstance(value, list | None)
        return value if isinstance(value, list) else []

    def object(self, value: Any) -> dict[str, Any]:
        """Return an object; an empty one for any other value."""
        self.is_malformed |= not isinstance(value, dict | None)
        return value if isinstance(value, dict) else {}
