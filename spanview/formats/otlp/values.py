"""Attributes as OTLP's JSON has them, in and out.

Source: `AnyValue` and `KeyValue` in opentelemetry/proto/common/v1/common.proto, protobuf's JSON mapping, and the
deviations of "JSON Protobuf Encoding" in the OTLP specification.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from contextlib import suppress
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from spanview.formats.careful import Careful
from spanview.formats.console.columns import as_text
from spanview.formats.jsontext import INVALID_TEXT, dumps_strict, non_finite_name, valid_text
from spanview.formats.otlp.fields import ENUMS, snake_case
from spanview.model.span import BytesText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from spanview.formats.otlp.fields import FieldKind

    Lose: TypeAlias = Callable[[str], None]
    """Takes note of something that a format can't represent."""

INT64: Final = range(-(2**63), 2**63)
UINT32: Final = range(2**32)
_MAX_DEPTH_READ: Final = 64
_MAX_DEPTH_WRITTEN: Final = 31
"""Lists and maps in an event's attribute, one in the other: protobuf reads 100 nested messages."""
# `-42` · `1.5e3` · `5.`, `NaN`, `-Infinity`
_INTEGER: Final = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,2})?", re.ASCII)
NUMBER: Final = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|NaN|-?Infinity", re.ASCII)
_URL_SAFE: Final = str.maketrans("-_", "+/")


def field(holder: Mapping[str, Any], name: str) -> Any:
    """Return a field by its name in camel case, or else in snake case; None for none and null."""
    value = holder.get(name)
    return holder.get(snake_case(name)) if value is None else value


def integer(value: Any) -> int | None:
    """Return an integer that is written as a number or as text, or None."""
    if type(value) is int:
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if not isinstance(value, str):
        return None
    if _INTEGER.fullmatch(value):
        return int(value)
    # As JSON's mapping of protobuf has it, an exponent may be there, or a fraction of zero.
    number = Decimal(value) if _DECIMAL.fullmatch(value) else None
    return None if number is None or number != number.to_integral_value() else int(number)


def enum_number(kind: FieldKind, value: Any) -> int | None:
    """Return the number of an enum that is written as a name or a number, or None; it may be one that isn't known."""
    prefix, names = ENUMS[kind]
    if isinstance(value, str) and (name := value.upper().removeprefix(prefix)) in names:
        return names.index(name)
    return integer(value)


def bytes_of(text: str) -> bytes | None:
    """Decode base64, of either alphabet and with or without padding; None if it is none."""
    bare = text.translate(_URL_SAFE).rstrip("=")
    try:
        return b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except ValueError:
        return None


class Reader(Careful):
    """Reads values and remembers whether one of them was unusable, or not as the protocol has it."""

    __slots__ = ()

    def number_in(self, value: Any, limits: range) -> int:
        """Return an integer within limits; 0 for none and for any other value."""
        number = 0 if value is None else integer(value)
        if number is None or number not in limits:
            self.is_malformed = True
            return 0
        return number

    def attributes(self, value: Any, depth: int = 0) -> dict[str, Any]:
        """Return the attributes of a list of pairs."""
        with suppress(KeyError, TypeError):
            # Of most spans all values are texts: this is more than twice as quick as the loop below.
            texts = {pair["key"]: pair["value"]["stringValue"] for pair in value if len(pair["value"]) == 1}
            if len(texts) == len(value) and {*map(type, texts), *map(type, texts.values())} <= {str}:
                return texts
        if isinstance(value, dict):
            self.is_malformed = True
            return {key: self.value(part, depth) for key, part in value.items()}
        attributes: dict[str, Any] = {}
        pairs = self.objects(value)
        for pair in pairs:
            key, value = pair.get("key"), pair.get("value")
            # Most values are texts: a call for each would cost more than all else.
            text = value.get("stringValue") if type(value) is dict and len(value) == 1 else None
            known = self.value(value, depth) if type(text) is not str else text
            attributes[key if type(key) is str else self.text(key)] = known
        self.is_malformed |= len(attributes) < len(pairs)
        return attributes

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return an attribute's value.

        Args:
            depth: How many lists and maps it is in.
        """
        if not isinstance(value, dict):
            return value if value is None else self._malformed(value)
        for name, part in value.items():
            if name in _STRING_MEMBERS and type(part) is str:
                return part
            if part is not None and name in _MEMBERS:
                return _MEMBERS[name](self, part, depth)
        self.is_malformed |= any(part is not None for part in value.values())
        return None

    def _malformed(self, value: Any) -> Any:
        """Return a value that isn't as the protocol has it; a nested one as text."""
        self.is_malformed = True
        return as_text(value) if isinstance(value, dict | list) else value

    def _string(self, value: Any, _depth: int) -> Any:
        return self.text(value)

    def _bool(self, value: Any, _depth: int) -> Any:
        return value if isinstance(value, bool) else self._malformed(value)

    def _int(self, value: Any, _depth: int) -> Any:
        number = integer(value)
        if number is None:
            return self._malformed(value)
        self.is_malformed |= number not in INT64
        return number

    def _double(self, value: Any, _depth: int) -> Any:
        if isinstance(value, str) and NUMBER.fullmatch(value):
            return float(value)
        try:
            return float(value) if type(value) in (int, float) else self._malformed(value)
        except OverflowError:
            return self._malformed(value)

    def _bytes(self, value: Any, _depth: int) -> Any:
        raw = bytes_of(value) if isinstance(value, str) else None
        return self._malformed(value) if raw is None else BytesText(b64encode(raw).decode())

    def _array(self, value: Any, depth: int) -> Any:
        values = value.get("values") if isinstance(value, dict) else value
        if depth == _MAX_DEPTH_READ or not isinstance(values, list | None):
            return self._malformed(value)
        self.is_malformed |= values is value
        return [self.value(part, depth + 1) for part in values or ()]

    def _map(self, value: Any, depth: int) -> Any:
        if depth == _MAX_DEPTH_READ or not isinstance(value, dict):
            return self._malformed(value)
        return self.attributes(value.get("values"), depth + 1)


_STRING_MEMBERS: Final = frozenset(("stringValue", "string_value"))
_MEMBERS: Final[Mapping[str, Callable[[Reader, Any, int], Any]]] = {
    spelling: read
    for name, read in (
        ("stringValue", Reader._string),  # noqa: SLF001 - a table of its own methods
        ("boolValue", Reader._bool),  # noqa: SLF001
        ("intValue", Reader._int),  # noqa: SLF001
        ("doubleValue", Reader._double),  # noqa: SLF001
        ("bytesValue", Reader._bytes),  # noqa: SLF001
        ("arrayValue", Reader._array),  # noqa: SLF001
        ("kvlistValue", Reader._map),  # noqa: SLF001
    )
    for spelling in (name, snake_case(name))
}


class OtlpValueWriter:
    """Writes values, and reports what the format can't represent."""

    __slots__ = ("lose",)

    def __init__(self, lose: Lose) -> None:
        self.lose = lose

    def text(self, text: str) -> str:
        """Return a text as it is, or without what is no Unicode."""
        if text.isascii():
            return text
        valid = valid_text(text)
        if valid != text:
            self.lose(INVALID_TEXT)
        return valid

    def attributes(self, attributes: Mapping[str, Any], depth: int = 0) -> list[dict[str, Any]]:
        """Return attributes as a list of pairs."""
        # Most values are short texts: a call for each would cost more than all else.
        return [
            {
                "key": key if key.isascii() else self.text(key),
                "value": {"stringValue": value} if type(value) is str and value.isascii() else self.value(value, depth),
            }
            for key, value in attributes.items()
        ]

    def value(self, value: Any, depth: int = 0) -> dict[str, Any]:
        """Return an attribute's value as an `AnyValue`.

        Args:
            value: What JSON has, or bytes as base64.
            depth: How many lists and maps it is in.
        """
        if isinstance(value, str):
            is_base64 = isinstance(value, BytesText) and bytes_of(value) is not None
            return {"bytesValue" if is_base64 else "stringValue": self.text(value)}
        if isinstance(value, bool):
            return {"boolValue": value}
        if isinstance(value, int):
            if value in INT64:
                return {"intValue": str(value)}
            self.lose("wrote {integer} of more than 64 bits as text")
            return {"stringValue": str(value)}
        if isinstance(value, float):
            return {"doubleValue": value if isfinite(value) else non_finite_name(value)}
        return {} if value is None else self._nested(value, depth)

    def _nested(self, value: Any, depth: int) -> dict[str, Any]:
        if depth == _MAX_DEPTH_WRITTEN:
            self.lose("wrote {value} as text, nested too deeply for protobuf")
            return {"stringValue": dumps_strict(value).decode()}
        if isinstance(value, dict):
            return {"kvlistValue": {"values": self.attributes(value, depth + 1)}}
        items: Iterable[Any] = value
        return {"arrayValue": {"values": [self.value(item, depth + 1) for item in items]}}
