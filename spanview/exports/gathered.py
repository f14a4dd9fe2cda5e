"""Small pieces of an export made into larger ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CHUNK: Final = 256 * 1024


def gathered(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Join small pieces, because each that is written costs a call."""
    pending: list[bytes] = []
    size = 0
    for part in parts:
        pending.append(part)
        size += len(part)
        if size >= _CHUNK:
            yield b"".join(pending)
            pending.clear()
            size = 0
    yield b"".join(pending)
