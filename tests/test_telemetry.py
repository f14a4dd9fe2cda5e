"""spanview's own stages are spans, and spanview reads them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import spanview

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=open(sys.argv[1], "w"))))
trace.set_tracer_provider(provider)

from spanview.cli import main

sys.exit(main(["check", "--json", sys.argv[2]]))
"""


def test_stages_are_spans_where_an_sdk_is_set_up(tmp_path: Path) -> None:
    """With an SDK, a run leaves a trace of its stages, which spanview shows as one tree."""
    own, folder = tmp_path / "own.json", "fixtures/pid-reuse/spans"
    words = [sys.executable, "-c", PROGRAM, str(own), folder]
    done = subprocess.run(words, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    store = spanview.load(own)
    trees = {
        root.span.name: [child.span.name for child in root.children if child.span]
        for trace in store.traces
        for root in trace.roots
        if root.span
    }
    assert trees["load"] == ["scan", *["read and decode"] * 6, "put in order"]
    assert trees["stitch"] == []
    assert all(trace.complete for trace in store.traces)
