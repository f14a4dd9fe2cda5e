"""How a query sees the values of attributes: as texts, and as numbers where they are or spell some."""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from spanview.formats.jsontext import dumps_strict

if TYPE_CHECKING:
    from spanview.model.span import Span

Number: TypeAlias = int | float

REQUEST_ID_KEYS: Final = ("request_id", "ray.request_id")
"""Attributes that identify Serve's requests; the second one on Anyscale."""
UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
"""Serve's request ids, unless the caller gives one."""

NUMBERS: Final = {
    "integer": r"[+-]?[0-9]{1,4000}",
    "decimal": r"[+-]?(?:[0-9]+\.[0-9]*|\.?[0-9]+)(?:[eE][+-]?[0-9]+)?",
}
"""Regular expressions of whole texts, which mean the same in JavaScript."""
_INTEGER, _DECIMAL = map(re.compile, NUMBERS.values())


def values_of(span: Span, key: str) -> list[Any] | None:
    """Return the values that a span, its events and its resource have for a key; lists are flattened.

    Returns:
        JSON values; None where nothing has the key.
    """
    values: list[Any] | None = None
    for attributes in (span.attributes, *[event.attributes for event in span.events], span.resource.attributes):
        if key in attributes:
            value = attributes[key]
            values = (values or []) + (value if isinstance(value, list) else [value])
    return values


def text_of(value: Any) -> str:
    """Return a value as it is written in JSON, a text without its quotes."""
    if isinstance(value, str):
        return value
    text = dumps_strict(value).decode()
    return text.strip('"') if isinstance(value, float) and not isfinite(value) else text


def number_of(value: Any) -> Number | None:
    """Return the number that a value is or spells, or None; integers stay exact, and booleans aren't numbers."""
    if isinstance(value, int | float):
        return None if isinstance(value, bool) else value
    if not isinstance(value, str):
        return None
    if _INTEGER.fullmatch(value):
        return int(value)
    return float(value) if _DECIMAL.fullmatch(value) else None


def is_equal(value: Any, text: str, number: Number | None) -> bool:
    """Return whether a value equals a query's text: as the number that it spells, if it does, or else as text."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value == number:
        return True
    return text_of(value) == text
