"""What a start imports, and what it doesn't: imports are most of the time until something is shown.

what starts          what it must not load
-----------          ---------------------
spanview --help      orjson, textual, rich: they cost several times the whole help
spanview export      textual, rich, watchfiles; so do `tree` and `spans`
the viewer           watchfiles, opentelemetry, the query language, rich's progress bars: all of them come later
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).parent.parent
RECORDING: Final = str(ROOT / "fixtures" / "ray-tasks-bundled-hook" / "spans")
LISTING: Final = "import json, sys; sys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))"


def modules_after(code: str) -> set[str]:
    """Return the names of all modules that are loaded once this code has run in a fresh interpreter."""
    script = f"import sys\nsys.path.append('tests')\ntry:\n    {code}\nexcept SystemExit:\n    pass\n{LISTING}"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(run.stderr.splitlines()[-1]))


def command(*words: str) -> str:
    """Return the code that runs a command."""
    return f"from spanview.cli import main; main({list(words)!r})"


def listed() -> Sequence[int]:
    """Return the traces of the recording as the viewer lists them at first."""
    from spanview.index.store import Store
    from spanview.reports.traces_model import TracesModel
    from spanview.sources.details import RecordReader
    from spanview.sources.session import Session
    from spanview.sources.terms import ReadOptions

    details = RecordReader()
    store = Store(details, notes_changes=True)
    model = TracesModel(store)
    for _ in Session(ReadOptions((RECORDING,), newest_first=True), store, details).load():
        model.refresh()
    return model.order


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        (command("--help"), {"orjson", "textual", "rich", "argparse", "dataclasses"}),
        (command("--version"), {"orjson", "textual", "rich", "argparse", "dataclasses"}),
        (
            command("export", "-o", os.devnull, "--force", RECORDING),
            {"textual", "rich", "watchfiles", "opentelemetry"},
        ),
        (command("tree", RECORDING), {"textual", "rich", "watchfiles", "opentelemetry", "multiprocessing"}),
        (command("spans", RECORDING), {"textual", "rich", "watchfiles", "opentelemetry", "multiprocessing"}),
        (
            command("stats", RECORDING),
            # Which cells a text takes is all that it needs of rich.
            {"textual", "rich.console", "watchfiles", "opentelemetry", "multiprocessing", "pyarrow", "ray"}
            | {"urllib.request", "numpy.ma"},
        ),
        (
            "import spanview.commands.view, spanview.commands.reading, spanview.sources.session",
            {
                "watchfiles",
                "opentelemetry",
                "rich.progress",
                "numpy",
                "spanview.analysis.query.query",
                "spanview.model.span",
                "textual",
                "spanview.tui.trace.trace_screen",
                "spanview.tui.help.help_screen",
                "spanview.sources.follow",
                "spanview.cluster",
                "ray",
            },
        ),
        (
            "from test_startup import listed; assert len(listed()) > 1",
            {"numpy", "watchfiles", "opentelemetry", "spanview.analysis.query.query"},
        ),
    ],
    ids=["help", "version", "export", "tree", "spans", "stats", "viewer", "list"],
)
def test_a_start_loads_no_more_than_it_needs(code: str, unwanted: set[str]) -> None:
    """Until something is shown, nothing is imported that only later actions need."""
    assert modules_after(code) & unwanted == set()
