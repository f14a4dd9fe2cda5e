"""The README's recipes: fenced blocks behind a mark, as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

README: Final = (Path(__file__).parent.parent / "README.md").read_text()
RECIPES: Final = dict(
    re.findall(r"<!-- recipe: (\S+) -->\n```(?:python|sh)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
)
"""The text of each block by its name."""
