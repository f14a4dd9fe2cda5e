"""How busy a machine is while something is timed: what a ceiling of wall time has to be multiplied by.

A process of its own works for ten milliseconds of processor time, again and again, and sees how long that takes: twice
as long where it gets half a processor. Run as a program it is that process.
"""

from __future__ import annotations

import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from types import TracebackType

_WORK_S: Final = 0.01
_PAUSE_S: Final = 0.2


class Busy:
    """What is measured as long as the context lasts."""

    def __init__(self) -> None:
        self.factor = 1.0
        """How many times as long as on an idle machine work took, when it took longest; known in the end."""
        self._process = subprocess.Popen(
            [sys.executable, "-S", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        output, _ = self._process.communicate()
        self.factor = max(1.0, float(output))


def _measure() -> None:
    longest_s = 0.0
    is_over = False
    while not is_over:
        began_s, until_s = time.monotonic(), time.process_time() + _WORK_S
        while time.process_time() < until_s:
            pass
        longest_s = max(longest_s, time.monotonic() - began_s)
        is_over = bool(select.select([sys.stdin], [], [], _PAUSE_S)[0])
    sys.stdout.write(f"{longest_s / _WORK_S}")


if __name__ == "__main__":
    _measure()
