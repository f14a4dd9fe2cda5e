"""Folders of span files as a real run of Ray leaves them, made once and kept in the temporary folder.

driver          |f ray.remote|                                   PRODUCER, no parent
worker 1                |f ray.remote_worker ==============|     CONSUMER, its child
worker 1                   |g ray.remote|                        PRODUCER, a call that the task makes
worker 2                             |g ray.remote_worker|       CONSUMER

Each process writes a file of its own, a span when it ends. The text is the SDK's: `ReadableSpan.to_json`.
"""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode

from spanview.model.times import format_time

from .figures import KEPT

if TYPE_CHECKING:
    from pathlib import Path

VERSION: Final = 1
"""To be counted up when other folders are made; those of before are made anew."""
PROCESSES: Final = 64
_FUNCTIONS: Final = 24
_ERRORS: Final = 0.01
_STARTED_US: Final = 1_780_000_000_000_000
_TRACE_ID: Final = 0xA1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1
_SPAN_ID, _PARENT_ID, _TASK_ID = 0xB1B1B1B1B1B1B1B1, 0xC1C1C1C1C1C1C1C1, "d1" * 24
_START_NS, _END_NS = 1_111_111_111_111_111_000, 1_222_222_222_222_222_000


@dataclass(frozen=True, slots=True)
class Shape:
    """What a folder holds."""

    spans: int
    trace: int = 0
    """Spans of each trace; 0 for sizes as they come: many of 2, some of hundreds."""

    @property
    def name(self) -> str:
        """The folder's name."""
        return f"v{VERSION}-{self.spans}-{self.trace}"


@dataclass(frozen=True, slots=True)
class _Written:
    """One span, ready to be written."""

    end_us: int
    start_us: int
    process: int
    function: int
    is_attempt: bool
    failed: bool
    trace_id: int
    span_id: int
    parent_id: int
    """0 for none."""


def folder_of(shape: Shape) -> Path:
    """Return a folder of that shape, made where there is none yet."""
    folder = KEPT / shape.name
    if not folder.exists():
        half = KEPT / f"{shape.name}.{os.getpid()}"
        half.mkdir(parents=True)
        try:
            _write(half, shape)
            half.rename(folder)
        finally:
            shutil.rmtree(half, ignore_errors=True)
    return folder


def _write(folder: Path, shape: Shape) -> None:
    chance = random.Random(shape.spans * 31 + shape.trace)
    spans: list[_Written] = []
    now_us = _STARTED_US
    while len(spans) < shape.spans:
        calls = max(1, (shape.trace or _usual_size(chance)) // 2)
        spans += _trace(chance, min(calls, max(1, (shape.spans - len(spans)) // 2)), now_us)
        now_us += chance.randrange(200, 20_000)
    spans.sort(key=lambda span: span.end_us)
    templates: dict[tuple[int, int, bool, bool], list[str]] = {}
    files = [(folder / f"{10_000 + process}.json").open("w", encoding="utf-8") for process in range(PROCESSES)]
    for span in spans:
        key = (span.function, span.process, span.is_attempt, span.failed)
        if key not in templates:
            templates[key] = _template(*key[:2], is_attempt=span.is_attempt, failed=span.failed)
        files[span.process].write(_text(templates[key], span, chance))
    for file in files:
        file.close()


def _usual_size(chance: random.Random) -> int:
    return round(min(3_000, 2 * chance.paretovariate(1.1)))


def _trace(chance: random.Random, calls: int, now_us: int) -> list[_Written]:
    """Return the spans of one trace: calls, each with its attempt, and most of them made by an attempt before."""
    trace_id = chance.getrandbits(128)
    workers = chance.sample(range(4, PROCESSES), min(2 + calls // 40, 24))
    callers = [-1] + [max(0, at - 1 - int(chance.expovariate(0.2))) for at in range(1, calls)]
    submitted: list[int] = []
    started: list[int] = []
    ended: list[int] = []
    processes: list[int] = []
    for at in range(calls):
        begin = now_us if not at else started[callers[at]] + chance.randrange(20, 4_000)
        submitted.append(begin)
        started.append(begin + chance.randrange(300, 3_000))
        ended.append(started[at] + 200 + int(chance.expovariate(1 / 8_000)))
        processes.append(chance.choice(workers))
    for at in range(calls - 1, 0, -1):
        ended[callers[at]] = max(ended[callers[at]], ended[at] + 150)
    ids = [chance.getrandbits(64) | 1 for _ in range(2 * calls)]
    driver, spans = chance.randrange(4), []
    for at, caller in enumerate(callers):
        function, failed = chance.randrange(_FUNCTIONS), chance.random() < _ERRORS
        parent = ids[2 * caller + 1] if at else 0
        process = processes[caller] if at else driver
        end = submitted[at] + chance.randrange(60, 290)
        spans.append(_Written(end, submitted[at], process, function, False, False, trace_id, ids[2 * at], parent))
        span = _Written(
            ended[at], started[at], processes[at], function, True, failed, trace_id, ids[2 * at + 1], ids[2 * at]
        )
        spans.append(span)
    return spans


def _template(function: int, process: int, *, is_attempt: bool, failed: bool) -> list[str]:
    """Return what the SDK writes for such a span, cut where ids and times belong, in the order of `_text`."""
    name = f"pipeline.stage_{function:02d}"
    attributes = {
        "ray.remote": "function",
        "ray.function": name,
        "ray.pid": str(10_000 + process),
        "ray.job_id": "01000000",
        "ray.node_id": "e6d34bd8280b0085e859ecade1d67d9d48f428b2136ee788fefdd495",
        **({"ray.task_id": _TASK_ID} if is_attempt else {}),
        "ray.worker_id": f"{process:056x}",
    }
    failure = {"exception.type": "RuntimeError", "exception.message": "no more", "exception.escaped": "False"}
    span = ReadableSpan(
        name=f"{name} ray.remote_worker" if is_attempt else f"{name} ray.remote",
        context=SpanContext(_TRACE_ID, _SPAN_ID, is_remote=False),
        parent=SpanContext(_TRACE_ID, _PARENT_ID, is_remote=True),
        kind=SpanKind.CONSUMER if is_attempt else SpanKind.PRODUCER,
        status=Status(StatusCode.ERROR, "RuntimeError: no more") if failed else Status(),
        attributes=attributes,
        events=[Event("exception", failure, _END_NS)] if failed else [],
        resource=Resource.create({"service.instance.id": f"{process:032x}"}),
        start_time=_START_NS,
        end_time=_END_NS,
    )
    text: str = span.to_json() + "\n"
    marks = (f"0x{_TRACE_ID:032x}", f"0x{_SPAN_ID:016x}", f'"0x{_PARENT_ID:016x}"', _time(_START_NS), _time(_END_NS))
    for mark in (*marks, _TASK_ID):
        text = text.replace(mark, "\0", 1)
    return text.split("\0")


def _text(template: list[str], span: _Written, chance: random.Random) -> str:
    parent = f'"0x{span.parent_id:016x}"' if span.parent_id else "null"
    times = _time(span.start_us * 1_000), _time(span.end_us * 1_000)
    values = (f"0x{span.trace_id:032x}", f"0x{span.span_id:016x}", parent, *times, f"{chance.getrandbits(192):048x}")
    # Only attempts have a task id, the last of the values.
    pairs = zip(template, (*values[: len(template) - 1], ""), strict=True)
    return "".join([text for pair in pairs for text in pair])


def _time(ns: int) -> str:
    return format_time(ns) or ""
