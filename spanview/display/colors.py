"""The colours of services and processes, for the screen and for pictures."""

from __future__ import annotations

from typing import Final

SLOTS: Final = (12, 2, 3, 5, 6, 11, 10, 4, 13)
"""Numbers of the terminal's colours that stand for these, in their order."""
COLORS: Final = ("#4e9fdd", "#5fb36a", "#d9a441", "#b07ad6", "#3fb5b5", "#d9805f", "#8fa63c", "#7f8fd9", "#d67ab0")
"""Colours that are distinct on light and dark; none is the red of errors."""
