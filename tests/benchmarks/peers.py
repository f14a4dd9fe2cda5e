"""Other programs on the same files, for information: none of them answers what spanview does.

toolong has no way to run without its screen; lnav needs a description of the format first, and reads no span that
stands on several lines. DuckDB, which can answer the same, is P3.
"""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Final

from .figures import Figure, in_turns, seconds_of
from .processes import stats_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_JSON_OF_PYTHON: Final = """
import sys
from json import JSONDecoder
from pathlib import Path
decode = JSONDecoder().raw_decode
for path in Path(sys.argv[1]).iterdir():
    text, at = path.read_text(), 0
    while at < len(text):
        span, at = decode(text, at)
        at += 1
"""
_SELECT: Final = "[.name, .start_time, .end_time]"


def peers(folder: Path, rounds: int) -> list[Figure]:
    """Return what others take, against `spanview stats --json`."""
    measures: list[Callable[[], float]] = [lambda: seconds_of("-c", _JSON_OF_PYTHON, str(folder))]
    names = ["json of Python decodes all spans"]
    jq = shutil.which("jq")
    if jq is None:
        sys.stderr.write("left out: jq is not installed\n")
    else:
        files = [str(path) for path in sorted(folder.iterdir())]
        measures.append(lambda: seconds_of("-c", _SELECT, *files, program=jq))
        names.append("jq prints names and times of all spans")
    base, *taken = in_turns([lambda: seconds_of(*stats_of(folder)), *measures], max(1, rounds - 1))
    return [
        Figure("peers", f"{name}, against stats --json", seconds, "s", base)
        for name, seconds in zip(names, taken, strict=True)
    ]
