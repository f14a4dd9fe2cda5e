"""What a page of `--format html` carries, unpacked."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any, Final

_BLOCK: Final = re.compile(rb'<script type="text/plain" data-kind="(\w+)" data-first="(\d+)">([\w+/=]+)</script>\n')


def blocks_of(page: bytes) -> list[tuple[str, int, Any]]:
    """Return what a page carries: the kind of each block, the number of its first span, and its value."""
    return [
        (kind.decode(), int(first), json.loads(zlib.decompress(base64.b64decode(text))))
        for kind, first, text in _BLOCK.findall(page)
    ]
