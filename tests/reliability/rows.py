"""All rows, in their order."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from . import exporting, folders, odd_files, rewritten, torn

if TYPE_CHECKING:
    from .figures import Row


def _place(row: Row) -> tuple[int, str]:
    digits = row.name.rstrip("abcdefgh")
    return int(digits), row.name[len(digits) :]


ROWS: Final = sorted(chain(exporting.ROWS, folders.ROWS, odd_files.ROWS, rewritten.ROWS, torn.ROWS), key=_place)
