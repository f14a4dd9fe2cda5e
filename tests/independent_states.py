"""What really became of calls: spans of a recording held against Ray's own word, without a line of spanview in it.

STATE.json has the tasks of Ray's state API: name, state, and when each state was entered, in milliseconds. A call's
PRODUCER and its task are told to be one by the function's name and the time: the task is made while the PRODUCER runs.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from independent_reader import Record, read_folder

if TYPE_CHECKING:
    from pathlib import Path

_SLACK_NS = 3_000_000
"""Ray's times are whole milliseconds."""


class Truth(StrEnum):
    """What became of a call without an attempt."""

    NO_CALL = "no call"
    """Ray has no task of it."""
    FINISHED = "finished"
    FAILED_RUNNING = "failed after it began"
    FAILED_BEFORE = "failed before it began"
    OPEN = "neither finished nor failed"


def truths(recording: Path) -> dict[str, tuple[str, Truth]]:
    """Return name and truth of each call without an attempt, by the PRODUCER's span id."""
    state = json.loads((recording / "STATE.json").read_text(encoding="utf-8"))
    spans = [span for records in read_folder(recording / "spans").values() for span in records]
    producers = [span for span in spans if _is(span, "PRODUCER", " ray.remote")]
    tried = {span["parent_id"] for span in spans if _is(span, "CONSUMER", " ray.remote_worker")}
    left = [task for task in state["tasks"] if task["attempt_number"] == 0]
    found = {}
    # Those with an attempt first: their tasks are no others'.
    for span in sorted(producers, key=lambda span: (span["span_id"] not in tried, span["start_ns"])):
        task = min(
            (task for task in left if _fits(span, task)),
            key=lambda task: abs(_made(task) - span["end_ns"]),
            default=None,
        )
        if task is not None:
            left.remove(task)
        if span["span_id"] not in tried:
            found[span["span_id"]] = span["name"].removesuffix(" ray.remote"), _truth(task)
    return found


def _is(span: Record, kind: str, ending: str) -> bool:
    return bool(span["kind"] == f"SpanKind.{kind}" and span["name"].endswith(ending))


def _made(task: dict[str, Any]) -> int:
    return int(task["states_ms"]["PENDING_ARGS_AVAIL"]) * 1_000_000


def _fits(span: Record, task: dict[str, Any]) -> bool:
    name = span["name"].removesuffix(" ray.remote")
    is_named = task["func_or_class_name"] in {name, name.rpartition(".")[2]}
    return is_named and span["start_ns"] - _SLACK_NS <= _made(task) <= span["end_ns"] + _SLACK_NS


def _truth(task: dict[str, Any] | None) -> Truth:
    if task is None:
        return Truth.NO_CALL
    if task["state"] == "FINISHED":
        return Truth.FINISHED
    if task["state"] == "FAILED":
        return Truth.FAILED_RUNNING if "RUNNING" in task["states_ms"] else Truth.FAILED_BEFORE
    return Truth.OPEN
