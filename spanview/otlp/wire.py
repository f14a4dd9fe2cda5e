"""Protobuf's encoding, as far as OTLP needs it.

field          tag, then value
varint         7 bits a byte, the lowest first; the high bit says that more bytes follow
fixed          4 or 8 bytes, the lowest first
delimited      a varint of the length, then as many bytes: text, bytes, a message

Source: https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

_Bytes = TypeVar("_Bytes", bytes, memoryview)

VARINT: Final = 0
FIXED_64: Final = 1
DELIMITED: Final = 2
FIXED_32: Final = 5
_FIXED_BYTES: Final = {FIXED_64: 8, FIXED_32: 4}
_KEPT_VARINTS: Final = 16384
_MAX_SHIFT: Final = 63
_64_BITS: Final = 2**64


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


_VARINTS: Final = tuple(map(_varint, range(_KEPT_VARINTS)))


def varint(value: int) -> bytes:
    """Return an integer of 64 bits; negative ones in two's complement."""
    return _VARINTS[value] if 0 <= value < _KEPT_VARINTS else _varint(value % _64_BITS)


def tag(number: int, kind: int) -> bytes:
    """Return what stands before a field's value."""
    return _varint(number << 3 | kind)


def sized(content: bytes) -> bytes:
    """Return bytes with their length before them."""
    return varint(len(content)) + content


def fields_of(message: _Bytes) -> Iterator[tuple[int, int | _Bytes]]:
    """Yield the fields of a message: number, and an integer or bytes; those of a view are views.

    Raises:
        ValueError: It is no message; the text names what is wrong in it.
    """
    position = 0
    while position < len(message):
        key, position = _read_varint(message, position)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, position = _read_varint(message, position)
            yield number, value
            continue
        if kind == DELIMITED:
            size, position = _read_varint(message, position)
        elif kind in _FIXED_BYTES:
            size = _FIXED_BYTES[kind]
        else:
            raise ValueError("a field of an unknown kind")
        content = message[position : position + size]
        if len(content) < size:
            raise ValueError("an incomplete field")
        position += size
        yield number, content if kind == DELIMITED else int.from_bytes(content, "little")


def _read_varint(message: bytes | memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(message) and shift <= _MAX_SHIFT:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the high bit
            return value, position
        shift += 7
    raise ValueError("an incomplete integer")


def signed(value: int) -> int:
    """Return an integer that was read, of which the highest of 64 bits is the sign."""
    return value - _64_BITS if value >= _64_BITS // 2 else value
