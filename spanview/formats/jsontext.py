"""JSON as programs really write it: quick where the text is strict, exact where it isn't."""

from __future__ import annotations

import json
import re
from math import isfinite, isnan
from typing import Any, Final

import orjson

_LONG_INTEGER: Final = re.compile(rb"[0-9]{19}")


class BadJsonError(ValueError):
    """The text is no JSON document, or one that nests too deep to be decoded."""


def loads_quick(data: bytes | bytearray | memoryview) -> Any:
    """Decode one document; integers over 64 bits may come back as floats.

    NaN, infinities and lone surrogates, which the SDK writes, are accepted; invalid UTF-8 becomes U+FFFD.

    Raises:
        BadJsonError: It is no JSON document.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _loads_lenient(bytes(data))


def loads_exact(data: bytes) -> Any:
    """Decode one document and keep integers of any size exact.

    Raises:
        BadJsonError: It is no JSON document.
    """
    if _LONG_INTEGER.search(data):
        return _loads_lenient(data)
    return loads_quick(data)


def _loads_lenient(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise BadJsonError(str(error)) from None


def dumps_sorted(value: Any) -> bytes:
    """Return one text for all values that are equal, types included, whatever the order of their keys."""
    try:
        return json.dumps(value, sort_keys=True, default=_fields_of).encode()
    except RecursionError:
        return repr(value).encode("utf-8", "surrogatepass")


def _fields_of(part: Any) -> dict[str, Any]:
    return {name: getattr(part, name) for name in part.__slots__}


def dumps_strict(value: Any, *, has_odd_numbers: bool = True) -> bytes:
    """Encode a value as strict JSON in UTF-8.

    NaN and infinities become the strings `"NaN"`, `"Infinity"` and `"-Infinity"`, integers of any size stay exact,
    and what is no valid Unicode becomes U+FFFD.

    Args:
        value: What JSON has: dicts, lists, texts, numbers, booleans and None.
        has_odd_numbers: False where the caller knows that there are no NaN and no infinities, which is quicker.
    """
    if not has_odd_numbers:
        try:
            return orjson.dumps(value)
        except orjson.JSONEncodeError:
            pass
    text = json.dumps(_strict(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _strict(value: Any) -> Any:
    """Copy a value without recursion, with texts and numbers that strict JSON has."""
    top: list[Any] = [value]
    pending: list[dict[Any, Any] | list[Any]] = [top]
    while pending:
        holder = pending.pop()
        for key, item in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if isinstance(item, dict):
                holder[key] = {_valid_text(str(name)): part for name, part in item.items()}
                pending.append(holder[key])
            elif isinstance(item, list | tuple):
                holder[key] = list(item)
                pending.append(holder[key])
            elif isinstance(item, float) and not isfinite(item):
                holder[key] = "NaN" if isnan(item) else "Infinity" if item > 0 else "-Infinity"
            elif isinstance(item, str):
                holder[key] = _valid_text(item)
    return top[0]


def _valid_text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
