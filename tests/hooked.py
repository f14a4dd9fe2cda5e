"""Programs that spanview's hook traces, and what they have left: their own list of what they did beside the files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from independent_otlp import records_of
from programs import environment_with

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HEAD: Final = """
import os
import sys

from opentelemetry import trace
from spanview.ray.hook import setup_tracing

SET_UP
tracer = trace.get_tracer("program")


def done(span):
    os.write(1, f"{span.get_span_context().span_id:016x}\\n".encode())


"""
"""How a program begins that prints the id of a span once it has ended."""


@dataclass(frozen=True, slots=True)
class Left:
    """What a program left."""

    ended: list[dict[str, Any]]
    """The spans of the files of ended spans, file by file."""
    started: list[dict[str, Any]]
    """Those of the others, without their ends."""
    notes: list[str]
    """What log records among them say."""
    files: list[Path]


def left_in(folder: Path) -> Left:
    """Read the files in a folder; each line has to be whole."""
    left = Left([], [], [], sorted(folder.glob("**/*.jsonl")))
    for path in left.files:
        text = path.read_bytes()
        assert text.endswith(b"\n") or not text
        for line in text.splitlines():
            document = json.loads(line)
            if "resourceLogs" in document:
                (record,) = document["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
                left.notes.append(record["body"]["stringValue"])
            elif ".started" in path.name:
                (scope,) = document["resourceSpans"][0]["scopeSpans"]
                assert "endTimeUnixNano" not in scope["spans"][0]
                scope["spans"][0]["endTimeUnixNano"] = "0"
                left.started.extend(records_of(document))
            else:
                left.ended.extend(records_of(document))
    return left


def start(
    text: str, folder: Path, environment: Mapping[str, str] | None = None, set_up: str = "setup_tracing()"
) -> subprocess.Popen[bytes]:
    """Start a program that is traced into a folder.

    Args:
        text: What it does.
        folder: Where its spans are written.
        environment: Variables to change.
        set_up: How it begins.
    """
    return subprocess.Popen(
        [sys.executable, "-c", HEAD.replace("SET_UP", set_up) + text],
        env=environment_with({"SPANVIEW_DIR": str(folder), **(environment or {})}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=os.path.dirname(__file__),
    )


def run(
    text: str, folder: Path, environment: Mapping[str, str] | None = None, set_up: str = "setup_tracing()"
) -> tuple[list[str], str, int]:
    """Run such a program to its end.

    Returns:
        What it printed line by line, what it said on standard error, and its exit status.
    """
    with start(text, folder, environment, set_up) as process:
        try:
            output, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return output.decode().splitlines(), errors.decode(), process.returncode
