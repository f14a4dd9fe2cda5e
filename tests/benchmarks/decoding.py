"""What loading is held against: orjson decodes each object of some files, and nothing is kept; run as a program too."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import orjson

_END = re.compile(rb"\n\}\n")
_LINE_END = re.compile(rb"\n")


def decode_all(folder: str) -> None:
    """Read a folder's files and decode their objects, of both of the SDK's layouts."""
    for path in sorted(Path(folder).iterdir()):
        data = path.read_bytes()
        view, at = memoryview(data), 0
        for match in (_END if data.startswith(b"{\n") else _LINE_END).finditer(data):
            orjson.loads(view[at : match.end()])
            at = match.end()


if __name__ == "__main__":
    decode_all(sys.argv[1])
