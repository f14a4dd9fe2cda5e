"""Run rows, and shortened tests, at full size and print a table: `python -m tests.reliability [1 4 8b …]`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from .figures import Figures, Row, table
from .rows import ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(words: Sequence[str]) -> int:
    """Run what is asked for; the exit status is 1 where anything is not as promised."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", help="a row's name, or its number for all its parts; all without"
    )
    parser.add_argument("--least", action="store_true", help="as many trials as the tests make")
    parser.add_argument("--trials", type=int, help="so many trials of each row")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args(words)
    # Viewers that are started neither take nor change what the person has set who runs this.
    os.environ["XDG_CONFIG_HOME"] = os.devnull
    outcomes: list[tuple[Row, Figures]] = []
    is_well = True
    for row in ROWS:
        if given.rows and row.name not in given.rows and row.name.rstrip("abcdefgh") not in given.rows:
            continue
        if reason := row.unavailable():
            sys.stderr.write(f"{row.name:>3}  left out: {reason}\n")
            continue
        trials, began = given.trials or (row.least if given.least else row.full), time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            figures = row.run(trials, Path(folder))
        outcomes.append((row, figures))
        mistakes = row.mistakes(figures, trials)
        is_well = is_well and not mistakes
        sys.stderr.write(
            f"{row.name:>3}  {'as promised' if not mistakes else 'BROKEN'}  {time.monotonic() - began:.0f} s\n"
        )
        sys.stderr.writelines(f"     {text}\n" for text in (*mistakes, *figures.notes))
    if not (given.rows or given.least or given.trials):
        is_well = _has_all_properties() and is_well
    if given.json:
        sys.stdout.write(
            json.dumps([{"row": row.name, "fault": row.fault, **asdict(of)} for row, of in outcomes]) + "\n"
        )
    else:
        sys.stdout.write(table(outcomes, markdown=given.markdown) + "\n")
    return 0 if is_well else 1


def _has_all_properties() -> bool:
    """Run the property tests with all their examples, and the shortened ones in full; tell whether all hold."""
    words, said = (sys.executable, "-m", "pytest", "-q", "-m", "hypothesis or shortened"), ""
    with subprocess.Popen(words, env={**os.environ, "THOROUGH": "1"}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for said in process.stdout:
            sys.stderr.write(said)
    outcome = "as promised" if not process.returncode else "BROKEN"
    sys.stderr.write(f"tests in full  {outcome}  {said.strip('= ')}")
    return not process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
