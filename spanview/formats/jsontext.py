"""JSON as programs really write it: quick where the text is strict, exact where it isn't."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, Final

import orjson

from spanview.formats.deepjson import loads_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CHARACTER_CLASSES: Final = bytes(
    ord("0") if byte in b"0123456789" else ord(" ") if byte in b" \t\n\r,:[-" else ord(".") for byte in range(256)
)
"""Digits, and what can precede a number inside a list or an object."""
_LONG_INTEGER: Final = b" " + b"0" * 19
_NOTHING: Final = object()
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}".encode()
INVALID_TEXT: Final = "replaced invalid Unicode in {text}"
"""What is lost of such texts in any JSON."""


class BadJsonError(ValueError):
    """The text is no JSON document, or one that nests too deep to be decoded."""


def loads_usual(data: bytes | bytearray | memoryview) -> Any:
    """Decode one document that isn't null and has nothing unusual, not even NaN; None for any other."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


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
    return _loads_lenient(data) if has_long_integer(data) else loads_quick(data)


def has_long_integer(data: bytes) -> bool:
    """Tell whether a document may have an integer of more than 64 bits; one that has a sign and 19 digits may too."""
    # Every record that is shown comes through here: this is ten times as quick as a regular expression. Ids made of
    # digits are frequent, and begin with a quotation mark.
    marked = data.translate(_CHARACTER_CLASSES)
    return _LONG_INTEGER in marked or marked.startswith(_LONG_INTEGER[1:])


def _loads_lenient(data: bytes) -> Any:
    text = data.decode("utf-8-sig", "replace")
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        pass
    except ValueError as error:
        raise BadJsonError(str(error)) from None
    try:
        return loads_deep(text, _integer)
    except ValueError as error:
        raise BadJsonError(str(error)) from None


def _integer(digits: str) -> int | str:
    """Return the number, or the digits themselves where there are more than the interpreter converts."""
    try:
        return int(digits)
    except ValueError:
        return digits


def dumps_sorted(value: Any) -> bytes:
    """Return the same text for all values that are equal, types included, whatever the order of their keys."""
    try:
        return json.dumps(value, sort_keys=True, default=_fields_of, separators=(",", ":")).encode()
    except RecursionError:
        return _dumps_deep(value, sort_keys=True, ensure_ascii=True).encode()


def _fields_of(part: Any) -> dict[str, Any]:
    return {name: getattr(part, name) for name in part.__slots__}


def _dumps_deep(value: Any, *, sort_keys: bool, ensure_ascii: bool) -> str:
    """Encode without recursion, to the same text as the standard library's encoder."""
    encoder = json.JSONEncoder(ensure_ascii=ensure_ascii)
    parts: list[str] = []
    pending: list[tuple[str, Any]] = [("", value)]
    while pending:
        before, item = pending.pop()
        parts.append(before)
        if hasattr(item, "__slots__"):
            item = _fields_of(item)
        if isinstance(item, dict):
            keys = sorted(item) if sort_keys else list(item)
            inside = [(f"{',' if index else ''}{encoder.encode(key)}:", item[key]) for index, key in enumerate(keys)]
            parts.append("{")
            pending.append(("}", _NOTHING))
            pending.extend(reversed(inside))
        elif isinstance(item, list | tuple):
            parts.append("[")
            pending.append(("]", _NOTHING))
            pending.extend(("," if index else "", part) for index, part in reversed([*enumerate(item)]))
        elif item is not _NOTHING:
            parts.append(encoder.encode(item))
    return "".join(parts)


def dumps_strict(value: Any, *, has_non_finite: bool = True) -> bytes:
    """Encode a value as strict JSON in UTF-8.

    NaN and infinities become the strings `"NaN"`, `"Infinity"` and `"-Infinity"`, integers of any size stay exact,
    and what is no valid Unicode becomes U+FFFD. Keys that become equal by that are numbered.

    Args:
        has_non_finite: False where the caller knows that there are no NaN and no infinities, which saves a search.
    """
    try:
        text = orjson.dumps(value)
    except orjson.JSONEncodeError:
        pass
    else:
        # It writes null for NaN and infinities, and all else as it is.
        nulls = text.count(b"null") if has_non_finite else 0
        if not nulls or (isinstance(value, dict) and nulls == [*value.values()].count(None)):
            return text
        if not _has_non_finite(value):
            return text
    strict = _strict(value)
    try:
        lenient = json.dumps(strict, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        lenient = _dumps_deep(strict, sort_keys=False, ensure_ascii=False)
    return lenient.encode("utf-8", "replace")


def _has_non_finite(value: Any) -> bool:
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            pending.extend(part.values())
        elif isinstance(part, list | tuple):
            pending.extend(part)
        elif isinstance(part, float) and not isfinite(part):
            return True
    return False


def dumps_reporting(value: Any, lose: Callable[[str], None], *, has_non_finite: bool = True) -> bytes:
    """Encode a value as `dumps_strict` does, and report texts that can't be written as they are."""
    text = dumps_strict(value, has_non_finite=has_non_finite)
    if _REPLACEMENT in text:
        for part in parts_in(value):
            if isinstance(part, str) and not is_valid_text(part):
                lose(INVALID_TEXT)
    return text


def parts_in(value: Any) -> Iterator[Any]:
    """Yield what nests in a value at any depth, and the keys; in any order."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            pending += part.values()
            yield from part
        elif isinstance(part, list | tuple):
            pending += part
        else:
            yield part


def _strict(value: Any) -> Any:
    """Copy a value without recursion, with texts and numbers that strict JSON has."""
    top: list[Any] = [value]
    pending: list[dict[Any, Any] | list[Any]] = [top]
    while pending:
        holder = pending.pop()
        for key, item in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if isinstance(item, dict):
                renamed = {valid_text(str(name)): part for name, part in item.items()}
                holder[key] = renamed if len(renamed) == len(item) else _numbered(item)
                pending.append(holder[key])
            elif isinstance(item, list | tuple):
                holder[key] = list(item)
                pending.append(holder[key])
            elif isinstance(item, float) and not isfinite(item):
                holder[key] = non_finite_name(item)
            elif isinstance(item, str):
                holder[key] = valid_text(item)
    return top[0]


def _numbered(item: dict[Any, Any]) -> dict[str, Any]:
    """Return a dict with valid keys, none of them lost; those that are valid stay as they are."""
    names = [*map(str, item)]
    taken, counts = {name for name in names if valid_text(name) == name}, Counter[str]()
    numbered: dict[str, Any] = {}
    for name, part in zip(names, item.values(), strict=True):
        valid = free = valid_text(name)
        while free in taken and free != name:
            counts[valid] += 1
            free = f"{valid} ({counts[valid] + 1})"
        taken.add(free)
        numbered[free] = part
    return numbered


def non_finite_name(value: float) -> str:
    """Return how a number that isn't finite is written: `"NaN"`, `"-Infinity"`."""
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


def valid_text(text: str) -> str:
    """Return a text with U+FFFD for what is no valid Unicode."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_valid_text(text: str) -> bool:
    """Tell whether all of a text can be written in UTF-8."""
    return valid_text(text) == text
