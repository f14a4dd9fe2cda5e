"""The house rules that no linter knows: floors, and what an import loads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
RECORDING: Final = str(ROOT / "fixtures" / "ray-tasks-bundled-hook" / "spans")

HOOK: Final = "from spanview.ray.hook import setup_tracing"


def modules_after(code: str) -> set[str]:
    """Return the top-level names of all modules that are loaded once this code has run in a fresh interpreter."""
    listing = "import json, sys; print('\\n' + json.dumps([name.partition('.')[0] for name in sys.modules]))"
    script = f"{code}\n{listing}"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(run.stdout.splitlines()[-1]))


def test_floors() -> None:
    """A module imports only from the floors below it, as the contracts in pyproject.toml say."""
    run = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 broken" in run.stdout


@pytest.mark.parametrize(
    ("code", "needed", "unwanted"),
    [
        ("import spanview", "spanview", {"textual", "rich", "orjson", "watchfiles", "opentelemetry", "asyncio"}),
        ("import spanview.cli", "spanview", {"textual", "rich", "orjson", "watchfiles", "opentelemetry"}),
        (
            "import spanview.ray.hook",
            "spanview",
            {"textual", "rich", "orjson", "numpy", "psutil", "opentelemetry", "ray"},
        ),
        (f"{HOOK}; setup_tracing()", "opentelemetry", {"textual", "rich", "orjson", "numpy", "ray"}),
        (f"import spanview; spanview.load({RECORDING!r})", "orjson", {"textual", "rich", "watchfiles"}),
        (f"import spanview.cli; spanview.cli.main(['export', {RECORDING!r}])", "orjson", {"textual", "watchfiles"}),
    ],
    ids=["the package", "the commands", "the hook", "the hook at work", "loading", "an export"],
)
def test_imports_load_no_more_than_they_need(code: str, needed: str, unwanted: set[str]) -> None:
    """What is read, counted and exported needs no interface, and the package alone needs next to nothing."""
    loaded = modules_after(code)
    assert needed in loaded
    assert loaded & unwanted == set()
