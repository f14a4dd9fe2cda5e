"""A light program that is traced: it appends records to a file, so many a second, until its standard input ends.

Run as `python -m tests.reliability.writer FILE NUMBER PER_SECOND`; in the end it prints how many spans it wrote.
"""

from __future__ import annotations

import select
import sys
import time

from builders import Builder, file_of


def write(path: str, trace: int, per_second: float) -> int:
    """Write spans of a trace, named as `name_of` says, and return how many.

    Args:
        path: The file, which is appended to.
        trace: The trace's number.
        per_second: How many a second.
    """
    build, number, began = Builder(), 0, time.monotonic()
    with open(path, "ab", buffering=0) as file:
        while True:
            wait_s = max(0.0, began + number / per_second - time.monotonic())
            if select.select([sys.stdin], [], [], wait_s)[0]:
                return number
            name = name_of(trace, number)
            file.write(file_of([build.span(name, trace=trace, attributes={"of": name})]))
            number += 1


def name_of(trace: int, number: int) -> str:
    """Return the name of a span."""
    return f"load {trace} {number}"


if __name__ == "__main__":
    print(write(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))  # noqa: T201 - it is a program
