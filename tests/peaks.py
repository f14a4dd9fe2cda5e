"""spanview as a program that says in the end how much memory it had at the most."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from programs import spanview

if TYPE_CHECKING:
    from pathlib import Path

    from programs import Outcome

# What a process has used according to getrusage() begins, on Linux, with what its parent used.
_PROGRAM: Final = """
import resource, sys
from spanview.cli import main
status = main()
try:
    with open("/proc/self/status") as file:
        peak = next(line.split()[1] for line in file if line.startswith("VmHWM"))
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
print(peak, file=sys.stderr)
sys.exit(status)
"""


WITH_PEAK: Final = (sys.executable, "-c", _PROGRAM)
"""spanview, and on a last line of standard error the most KiB that it had."""


def spanview_with_peak(*words: str | Path) -> tuple[Outcome, float]:
    """Run spanview to its end, and return what it answered and the most MiB it had."""
    outcome = spanview(*words, program=WITH_PEAK)
    return outcome, int(outcome.lines[-1]) / 1024
