"""The README as package indexes show it: they have neither its pictures nor the pages that it links to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# `![A trace](fixtures/pictures/trace.svg)`, and the empty line below it.
_PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n\n", re.MULTILINE)
# `[query](spanview/docs/query.md)`, of which the text stays.
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")


class ReadmeHook(MetadataHookInterface):
    """Leaves out of the README what leads to files of the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description of the package."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = _LINK.sub(r"\1", _PICTURE.sub("", text))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
