"""The records of a page that fit a layout so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places
    from spanview.index.gather import Bytes, Template


class Matches:
    """The records that fit so far: the positions of their next parts, and their columns."""

    __slots__ = ("columns", "positions")

    def __init__(self, positions: Places, **columns: NDArray[Any]) -> None:
        self.positions, self.columns = positions, columns

    def keep(self, fits: Flags) -> bool:
        """Keep only those that fit; tell whether any were left out."""
        if fits.all():
            return False
        # Numbers choose quicker than flags.
        selected = np.flatnonzero(fits)
        self.positions = self.positions[selected]
        self.columns = {name: values[selected] for name, values in self.columns.items()}
        return True

    def take(self, template: Template, buffer: Bytes) -> Bytes:
        """Return the next bytes of the records that fit a template, and keep only these."""
        rows, fits = template.take(buffer, self.positions)
        self.positions = self.positions + template.width
        return rows[fits] if self.keep(fits) else rows

    def take_where(self, flags: Flags, template: Template, buffer: Bytes) -> tuple[Bytes, Flags]:
        """Go on behind a template where flags are set; return the bytes of these records, and which of all fit."""
        rows, some_fit = template.take(buffer, self.positions[flags])
        fits = np.ones(len(flags), np.bool_)
        fits[flags] = some_fit
        self.positions = self.positions + template.width * flags
        return rows, fits
