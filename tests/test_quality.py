"""What else has to hold before a change is done: one command runs all of it, here and in CI."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).parent.parent


@pytest.mark.parametrize(
    "words",
    [("ruff", "check", "--no-cache"), ("ruff", "format", "--check", "--no-cache"), ("mypy",)],
    ids=["rules", "format", "types"],
)
def test_tools_find_nothing(words: Sequence[str]) -> None:
    """Ruff with all rules, its formatter, and mypy with strict types agree with every file."""
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ci_runs_what_the_readme_says() -> None:
    """The line that CI runs stands in the README as it is, and is the only one that CI runs."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (line,) = [line for line in script.splitlines() if "pytest" in line]
    assert script.rstrip().endswith(line)
    assert f"\n```sh\n{line}\n```\n" in (ROOT / "README.md").read_text(encoding="utf-8")
