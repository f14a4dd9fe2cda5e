"""What is said where there are no spans."""

from __future__ import annotations

import ast
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from spanview.sources.places import events_beside, how_to_turn_tracing_on

if TYPE_CHECKING:
    from pathlib import Path

WIDTH = 80
"""Cells of a line on the empty screen of a terminal of 80 columns."""


def pasteable(above: str) -> list[str]:
    """Return the lines below a heading that are code."""
    lines = how_to_turn_tracing_on(["spans"])
    below = lines[next(number for number, line in enumerate(lines) if line.startswith(above)) + 1 :]
    return below[: below.index("")]


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh"])
def test_what_is_said_of_serve_can_be_pasted(shell: str) -> None:
    """As lines of a shell, after which programs have both variables."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    names = "RAY_SERVE_TRACING_SAMPLING_RATIO", "RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH"
    show = f"import os; print(*map(os.environ.get, {names}))"
    ratio, path = pasteable("for Ray Serve")
    assert ratio.startswith("export ")
    assert path.startswith("export ")
    lines = [ratio, path, shlex.join([sys.executable, "-c", show])]
    done = subprocess.run([shell, "-eu"], input="\n".join(lines), capture_output=True, text=True, check=True, env={})
    assert done.stdout.split() == ["1.0", "spanview.ray.hook:span_processors"]


def test_what_is_said_of_ray_can_be_pasted() -> None:
    """As a line of Python; and no line is broken on a usual terminal."""
    (line,) = pasteable("to turn tracing on in a Ray program")
    assert "_tracing_startup_hook" in ast.unparse(ast.parse(line))
    assert max(map(len, how_to_turn_tracing_on(["spans"]))) <= WIDTH


def test_events_beside_spans_of_a_session(tmp_path: Path) -> None:
    """Those of a session in whose logs a PATH is, whether they are there yet or not; of no other folder."""
    logs = tmp_path / "session_1" / "logs"
    (logs / "spans").mkdir(parents=True)
    (logs / "spans" / "7.jsonl").write_text("")
    events = str(logs / "export_events")
    assert events_beside([str(logs / "spans")]) == (events,)
    assert events_beside([str(logs / "spans" / "7.jsonl"), str(logs / "spans")]) == (events,)
    later = tmp_path / "session_latest" / "logs"
    assert events_beside([str(later / "spans")]) == (str(later / "export_events"),)
    assert events_beside([str(tmp_path), "-", str(logs)]) == ()
