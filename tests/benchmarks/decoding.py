"""What loading is held against: orjson decodes each object of some files, and nothing is kept; run as a program too."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path

import orjson

_BEGIN = re.compile(rb"\n\{")


def decode_all(folder: str) -> int:
    """Read a folder's files and decode their objects, of both layouts; return how many of them are torn."""
    torn = 0
    for path in sorted(Path(folder).iterdir()):
        data = path.read_bytes()
        view = memoryview(data)
        begins = [0, *(match.start() for match in _BEGIN.finditer(data)), len(data)]
        for begin, end in pairwise(begins):
            try:
                orjson.loads(view[begin:end])
            except orjson.JSONDecodeError:
                torn += 1
    return torn


if __name__ == "__main__":
    decode_all(sys.argv[1])
