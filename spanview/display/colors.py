"""The colours of services and processes, for the screen and for pictures."""

from __future__ import annotations

from typing import Final

COLORS: Final = ("#4e9fdd", "#5fb36a", "#d9a441", "#b07ad6", "#3fb5b5", "#d9805f", "#8fa63c", "#7f8fd9", "#d67ab0")
"""Colours that are distinct on light and dark; none is the red of errors."""
