"""Odd values, drawn at random from a seed: the same seed draws the same."""

from __future__ import annotations

import random
from typing import Any, Final

_TEXTS: Final = (
    "",
    " ",
    "text",
    "null",
    "NaN",
    '}\n{"name": "',
    "\\",
    '"',
    "\x00",
    "\x1b[31m",
    "\x85\u2028\u202e",
    "é€😀",
    "\ufeff",
    "\ufffd",
    "\ud800",
    "\udfff",
    "a\udcff",
    "0x" + "ab" * 8,
    "2023-11-14T22:13:20.000000Z",
    "SpanKind.SERVER",
    "9" * 30,
    "x" * 3_000,
)
_INTEGERS: Final = (0, 1, -1, 500, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64 - 1, 2**64, 2**70, -(2**70))
_HUGE: Final = (10**30, -(10**400), 10**4_299)
_FLOATS: Final = (0.0, -0.0, 0.1, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 2.0**64)
_NOT_FINITE: Final = (float("nan"), float("inf"), float("-inf"))
_DEEPEST: Final = 3
_BEYOND: Final = 40


class Dice(random.Random):
    """Draws values as JSON has them, odd ones more often than a program would."""

    def text(self) -> str:
        """Draw a text, valid Unicode or not."""
        if self.random() < 1 / 4:
            return "".join(map(chr, self.choices(range(0x110000), k=self.randint(1, 6))))
        return "".join(self.choices(_TEXTS, k=self.choice((1, 1, 1, 2))))

    def number(self) -> int | float:
        """Draw a number, finite or not."""
        draws = (
            lambda: self.choice(_INTEGERS),
            lambda: self.choice(_INTEGERS),
            lambda: self.choice(_FLOATS),
            lambda: self.choice(_NOT_FINITE),
            lambda: self.randint(-(2**72), 2**72),
            lambda: self.uniform(-1e9, 1e9),
            lambda: self.choice(_HUGE),
        )
        return self.choice(draws)()

    def value(self, depth: int = 0) -> Any:
        """Draw a value of any JSON type."""
        draw = self.random()
        if depth < _DEEPEST and draw < 1 / 5:
            return [self.value(depth + 1) for _ in range(self.randint(0, 3))]
        if depth < _DEEPEST and draw < 2 / 5:
            return self.attributes(depth + 1)
        if draw < 3 / 5:
            return self.text()
        if draw < 4 / 5:
            return self.number()
        if draw < 0.98:
            return self.choice((None, True, False))
        nested: Any = self.number()
        for level in range(self.randint(1, _BEYOND)):
            nested = [nested] if level % 2 else {"in": nested}
        return nested

    def attributes(self, depth: int = 0) -> dict[str, Any]:
        """Draw a mapping of a few values."""
        return {self.text(): self.value(depth) for _ in range(self.choice((0, 1, 1, 2, 4)))}
