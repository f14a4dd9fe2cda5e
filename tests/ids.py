"""Ids as text, and what is no id in any spelling."""

from __future__ import annotations

from typing import Final

TRACE_TEXT: Final = "0af7651916cd43dd8448eb211c80319c"
SPAN_TEXT: Final = "b7ad6b7169203331"
NOTHING: Final = (None, "", "0", "0x", "0x0", "0" * 16, "0x" + "0" * 16, "0" * 32)
"""Spellings of no id at all, as a root has it for its parent's."""
NO_IDS: Final[tuple[object, ...]] = (
    " ",
    "xyz",
    "0xg" + "1" * 15,
    "1" * 33,
    "0x" + "1" * 33,
    "-1",
    "+1",
    "1 2",
    "1_000",
    "0x0x1",
    "\u0661\u0662",
    "\uff11",
    "\ud800",
    "=",
    "AAAA=",
    "AAECAwQFBg==",
    "!!!!!!!!!!!=",
    "AAAAAAAAAAA=",
    0,
    1,
    1.5,
    2**70,
    float("nan"),
    True,
    False,
    [],
    [SPAN_TEXT],
    {},
    {"low": 1},
)
"""What nobody can use as an id."""
