"""Folders of span files as a real run of Ray leaves them, made once and kept in the temporary folder.

driver          |f ray.remote|                                   PRODUCER, no parent
worker 1                |f ray.remote_worker ==============|     CONSUMER, its child
worker 1                   |g ray.remote|                        PRODUCER, a call that the task makes
worker 2                             |g ray.remote_worker|       CONSUMER

proxy           |proxy_http_request ===============|             SERVER, no parent; left out below a task
proxy             |route_to_replica ============|                SERVER
replica              |replica_handle_request ======|             SERVER

Each process writes a file of its own, a span when it ends. The text is the SDK's: `ReadableSpan.to_json`, or that of
`spanview.ray.lines`.

layout      files                    as written by
------      -----                    -------------
indented    <pid>.json               the hook that Ray's documentation prints
lines       <pid>.txt                Ray's bundled hook: one span a line
mixed       every other              both
otlp        <pid>.jsonl              spanview's hook
started     <pid>.started.jsonl, too the same: each span a second time, as it was when it started
"""

from __future__ import annotations

import os
import random
import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode

from spanview.model.times import format_time
from spanview.ray.lines import frame_of, line_of

from .figures import KEPT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSION: Final = 1
"""To be counted up when other folders are made; those of before are made anew."""
PROCESSES: Final = 64
JOB_ID: Final = "01000000"
"""Of all spans, as `ray.job_id`."""
TASK_KEY: Final = "ray.task_id"
"""The attribute that each attempt has with a value of its own."""
_FUNCTIONS: Final = 24
_ERRORS: Final = 0.01
_PROXY, _REPLICAS = 4, range(5, 13)
"""The processes of Ray Serve."""
_STARTED_US: Final = 1_780_000_000_000_000
_TRACE_ID: Final = 0xA1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1
_SPAN_ID, _PARENT_ID, _TASK_ID = 0xB1B1B1B1B1B1B1B1, 0xC1C1C1C1C1C1C1C1, "d1" * 24
_PID, _WORKER_ID, _INSTANCE_ID = "e1" * 4, "f1" * 28, "a2" * 16
_NODE_ID: Final = "e6d34bd8280b0085e859ecade1d67d9d48f428b2136ee788fefdd495"
_LOG_LINES: Final = 20_000
_START_NS, _END_NS = 1_111_111_111_111_111_000, 1_222_222_222_222_222_000


_FIRST_DIGIT: Final = re.compile(rb'("trace_id": "0x).')


class Role(StrEnum):
    """What a span is of, and its name or the end of it."""

    SUBMITTED = " ray.remote"
    ATTEMPT = " ray.remote_worker"
    PROXY = "proxy_http_request Model GET /predict"
    ROUTE = "route_to_replica Model __call__"
    REPLICA = "replica_handle_request Model __call__"

    @property
    def is_of_serve(self) -> bool:
        """Whether it is a part of a request."""
        return self in {Role.PROXY, Role.ROUTE, Role.REPLICA}


class Layout(StrEnum):
    """How spans are laid out."""

    INDENTED = "indented"
    LINES = "lines"
    MIXED = "mixed"
    """Every other file is of each."""
    OTLP = "otlp"
    STARTED = "started"


class Text(StrEnum):
    """The text of a span; its value is how the names of files end."""

    INDENTED = "json"
    LINE = "txt"
    OTLP = "jsonl"


class Form(StrEnum):
    """Who calls whom in a trace."""

    USUAL = "usual"
    """Some task that was called shortly before, by another function each time."""
    WIDE = "wide"
    """The first task calls all others, which are of one function."""
    DEEP = "deep"
    """Each task calls the next."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a folder holds."""

    spans: int
    trace: int = 0
    """Spans of each trace; 0 for sizes as they come: many of 2, some of hundreds."""
    files: int = PROCESSES
    """One of each process."""
    layout: Layout = Layout.INDENTED
    form: Form = Form.USUAL
    requests: int = 0
    """So many requests of Ray Serve come besides, each a trace of its own; in a single trace below its first task."""
    alone: int = 0
    """So many calls come besides that leave no attempt, each a trace of its own."""

    @property
    def name(self) -> str:
        """The folder's name."""
        files = f"-{self.files}files" if self.files != PROCESSES else ""
        layout = f"-{self.layout}" if self.layout is not Layout.INDENTED else ""
        form = f"-{self.form}" if self.form is not Form.USUAL else ""
        requests = f"-{self.requests}requests" if self.requests else ""
        alone = f"-{self.alone}alone" if self.alone else ""
        return f"v{VERSION}-{self.spans}-{self.trace}{files}{layout}{form}{requests}{alone}"

    @property
    def is_single(self) -> bool:
        """Whether there is one trace only."""
        return self.trace >= self.spans

    def text(self, process: int) -> Text:
        """Return what a process writes."""
        if self.layout in {Layout.OTLP, Layout.STARTED}:
            return Text.OTLP
        is_in_lines = self.layout is Layout.LINES or (self.layout is Layout.MIXED and process % 2 == 1)
        return Text.LINE if is_in_lines else Text.INDENTED


@dataclass(frozen=True, slots=True)
class _Written:
    """One span, ready to be written."""

    end_us: int
    start_us: int
    process: int
    function: int
    role: Role
    failed: bool
    trace_id: int
    span_id: int
    parent_id: int
    """0 for none."""
    request: int = 0
    """The request's id; 0 for what is no part of one."""


def folder_of(shape: Shape) -> Path:
    """Return a folder of that shape, made where there is none yet."""
    return kept(shape.name, lambda folder: _write(folder, shape))


def kept(name: str, write: Callable[[Path], None]) -> Path:
    """Return a folder of a name, written where there is none yet."""
    folder = KEPT / name
    if not folder.exists():
        half = KEPT / f"{name}.{os.getpid()}"
        half.mkdir(parents=True)
        try:
            write(half)
            half.rename(folder)
        finally:
            shutil.rmtree(half, ignore_errors=True)
    return folder


def write_logs() -> None:
    """Write a log of each process beside the folders, with a line every millisecond, where there is none yet."""
    for process in range(PROCESSES):
        path = KEPT / f"worker-{process:056x}-{JOB_ID}-{10_000 + process}.err"
        if not path.exists():
            times = (_time((_STARTED_US + 1_000 * number) * 1_000) for number in range(_LOG_LINES))
            path.write_text("".join(f"{time} INFO stage one more is done\n" for time in times))


def _write(folder: Path, shape: Shape) -> None:
    chance = random.Random(shape.spans * 31 + shape.trace)
    spans: list[_Written] = []
    now_us = _STARTED_US
    while len(spans) < shape.spans:
        calls = max(1, (shape.trace or _usual_size(chance)) // 2)
        spans += _trace(chance, min(calls, max(1, (shape.spans - len(spans)) // 2)), now_us, shape.files, shape.form)
        now_us += chance.randrange(200, 20_000)
    spans += _requests(chance, shape, spans, now_us)
    spans += [_alone(chance, now_us) for _ in range(shape.alone)]
    spans.sort(key=lambda span: span.end_us)
    written: list[list[tuple[_Written, int]]] = [[] for _ in range(shape.files)]
    for span in spans:
        written[span.process].append((span, chance.getrandbits(192)))
    for process, of_it in enumerate(written):
        text = shape.text(process)
        with (folder / f"{10_000 + process}.{text}").open("w", encoding="utf-8") as file:
            file.writelines([_text(span, task, text) for span, task in of_it])
        if shape.layout is Layout.STARTED:
            started = sorted(of_it, key=lambda pair: pair[0].start_us)
            with (folder / f"{10_000 + process}.started.{text}").open("w", encoding="utf-8") as file:
                file.writelines([_text(span, task, text, has_ended=False) for span, task in started])


def _usual_size(chance: random.Random) -> int:
    return round(min(3_000, 2 * chance.paretovariate(1.1)))


def _trace(chance: random.Random, calls: int, now_us: int, processes: int, form: Form) -> list[_Written]:
    """Return the spans of one trace: calls, each with its attempt, all but the first made by an attempt before."""
    trace_id = chance.getrandbits(128)
    workers = chance.sample(range(4, processes), min(2 + calls // 40, 24))
    if form is Form.USUAL:
        callers = [-1] + [max(0, at - 1 - int(chance.expovariate(0.2))) for at in range(1, calls)]
    else:
        callers = [-1] + [0 if form is Form.WIDE else at - 1 for at in range(1, calls)]
    submitted: list[int] = []
    started: list[int] = []
    ended: list[int] = []
    chosen: list[int] = []
    for at in range(calls):
        begin = now_us if not at else started[callers[at]] + chance.randrange(20, 4_000)
        submitted.append(begin)
        started.append(begin + chance.randrange(300, 3_000))
        ended.append(started[at] + 200 + int(chance.expovariate(1 / 8_000)))
        chosen.append(chance.choice(workers))
    for at in range(calls - 1, 0, -1):
        ended[callers[at]] = max(ended[callers[at]], ended[at] + 150)
    ids = [chance.getrandbits(64) | 1 for _ in range(2 * calls)]
    driver, spans = chance.randrange(4), []
    for at, caller in enumerate(callers):
        function, failed = chance.randrange(_FUNCTIONS) if form is Form.USUAL else min(at, 1), chance.random() < _ERRORS
        parent = ids[2 * caller + 1] if at else 0
        process = chosen[caller] if at else driver
        end = submitted[at] + chance.randrange(60, 290)
        spans.append(
            _Written(end, submitted[at], process, function, Role.SUBMITTED, False, trace_id, ids[2 * at], parent)
        )
        span = _Written(
            ended[at], started[at], chosen[at], function, Role.ATTEMPT, failed, trace_id, ids[2 * at + 1], ids[2 * at]
        )
        spans.append(span)
    return spans


def _requests(chance: random.Random, shape: Shape, spans: list[_Written], until_us: int) -> list[_Written]:
    """Return the spans of requests, which come all the time that the others take."""
    written: list[_Written] = []
    for _ in range(shape.requests):
        request, ids = chance.getrandbits(128), [chance.getrandbits(64) | 1 for _ in range(3)]
        failed, start = chance.random() < _ERRORS, chance.randrange(_STARTED_US, until_us)
        queue, handling = chance.randrange(300, 3_000), 500 + int(chance.expovariate(1 / 8_000))
        routed = start + 400 + queue
        if shape.is_single:
            trace_id, parent = spans[1].trace_id, spans[1].span_id
        else:
            trace_id, parent = request, ids[0]
            end = routed + handling + 600
            written.append(_Written(end, start, _PROXY, 0, Role.PROXY, failed, trace_id, parent, 0, request))
        route = _Written(routed + 200, start + 400, _PROXY, 0, Role.ROUTE, False, trace_id, ids[1], parent, request)
        replica, end = chance.choice(_REPLICAS), routed + handling
        written.append(route)
        written.append(_Written(end, routed, replica, 0, Role.REPLICA, failed, trace_id, ids[2], ids[1], request))
    return written


def _alone(chance: random.Random, until_us: int) -> _Written:
    """Return a call of a driver that leaves no attempt, and comes at any time."""
    start, driver, function = chance.randrange(_STARTED_US, until_us), chance.randrange(4), chance.randrange(_FUNCTIONS)
    trace_id, span_id = chance.getrandbits(128), chance.getrandbits(64) | 1
    return _Written(start + 150, start, driver, function, Role.SUBMITTED, False, trace_id, span_id, 0)


@contextmanager
def repeated(folder: Path, times: int) -> Iterator[Path]:
    """Yield a folder, which isn't kept, of what an indented one holds, so many times (16 at most), in other traces."""
    with TemporaryDirectory() as scratch:
        for path in sorted(folder.iterdir()):
            text = path.read_bytes()
            for number in range(times):
                other = _FIRST_DIGIT.sub(b"\\g<1>%x" % number, text)
                Path(scratch, f"{number}-{path.name}").write_bytes(other)
        yield Path(scratch)


def late_span(process: int, task: int, layout: Text) -> str:
    """Return the text of an attempt that a process writes when all of a folder has been written.

    Args:
        process: Its number.
        task: The task's id, which nothing else has.
        layout: Its text.
    """
    end_us = _STARTED_US + 10**12 + task % 10**9
    span = _Written(end_us, end_us - 1_000, process, process % _FUNCTIONS, Role.ATTEMPT, False, task, task % 2**64, 0)
    return _text(span, task, layout)


@cache
def _template(function: int, role: Role, layout: Text, *, failed: bool, has_ended: bool) -> list[str]:
    """Return what is written for such a span, cut where ids, times and so on belong."""
    stage = f"pipeline.stage_{function:02d}"
    attributes: dict[str, str | int] = {
        "ray.remote": "function",
        "ray.function": stage,
        "ray.pid": _PID,
        "ray.job_id": JOB_ID,
        "ray.node_id": _NODE_ID,
        **({TASK_KEY: _TASK_ID} if role is Role.ATTEMPT else {}),
        "ray.worker_id": _WORKER_ID,
    }
    name, kind = f"{stage}{role}", SpanKind.CONSUMER if role is Role.ATTEMPT else SpanKind.PRODUCER
    if role.is_of_serve:
        name, kind = str(role), SpanKind.SERVER
        attributes = {"request_id": _TASK_ID, "deployment": "Model", "app": "default", "http.route": "/predict"}
        attributes |= {"http.status_code": 500 if failed else 200} if role is Role.PROXY else {}
    has_raised, is_error = failed and role is not Role.PROXY, failed and role is not Role.REPLICA
    failure = {"exception.type": "RuntimeError", "exception.message": "no more", "exception.escaped": "False"}
    span = ReadableSpan(
        name=name,
        context=SpanContext(_TRACE_ID, _SPAN_ID, is_remote=False),
        parent=SpanContext(_TRACE_ID, _PARENT_ID, is_remote=True),
        kind=kind,
        status=Status(StatusCode.ERROR, "RuntimeError: no more") if is_error and has_ended else Status(),
        attributes=attributes,
        events=[Event("exception", failure, _END_NS)] if has_raised and has_ended else [],
        resource=Resource.create({"service.instance.id": _INSTANCE_ID}),
        start_time=_START_NS,
        end_time=_END_NS if has_ended else None,
    )
    if layout is Text.OTLP:
        of_ray = {"ray.node_id": _NODE_ID, "ray.worker_id": _WORKER_ID, "ray.job_id": JOB_ID}
        of_process = {"service.name": "pipeline.py", "host.name": "node-1", "process.pid": _PID, "ray.session": "s-1"}
        scope = InstrumentationScope("ray.util.tracing.tracing_helper")
        text = line_of(span, frame_of({**span.resource.attributes, **of_process, **of_ray}, "", scope)).decode()
    else:
        text = span.to_json(indent=None if layout is Text.LINE else 4) + "\n"
    return re.split(f"({'|'.join(map(re.escape, _marks(layout)))})", text)


@cache
def _marks(layout: Text) -> tuple[str, ...]:
    """Return what the texts of templates have where values belong, in the order of `_text`."""
    parent, times = f'"0x{_PARENT_ID:016x}"', (_time(_START_NS), _time(_END_NS))
    if layout is Text.OTLP:
        parent, times = f'"parentSpanId":"{_PARENT_ID:016x}",', (str(_START_NS), str(_END_NS))
    return parent, f"{_TRACE_ID:032x}", f"{_SPAN_ID:016x}", *times, _PID, _TASK_ID, _WORKER_ID, _INSTANCE_ID


def _text(span: _Written, task: int, layout: Text, *, has_ended: bool = True) -> str:
    """Return the text of a span."""
    template = _template(span.function, span.role, layout, failed=span.failed, has_ended=has_ended)
    start, end = span.start_us * 1_000, span.end_us * 1_000
    if layout is Text.OTLP:
        parent = f'"parentSpanId":"{span.parent_id:016x}",' if span.parent_id else ""
        times = str(start), str(end)
    else:
        parent = f'"0x{span.parent_id:016x}"' if span.parent_id else "null"
        times = _time(start), _time(end)
    ids, process = (f"{span.trace_id:032x}", f"{span.span_id:016x}"), (f"{span.process:056x}", f"{span.process:032x}")
    own = f"{span.request:032x}" if span.role.is_of_serve else f"{task:048x}"
    values = parent, *ids, *times, str(10_000 + span.process), own, *process
    value_of = dict(zip(_marks(layout), values, strict=True))
    # A line says twice who wrote it, before its span and in it.
    take = value_of.get if layout is Text.OTLP else value_of.pop
    return "".join([take(part, part) for part in template])


def _time(ns: int) -> str:
    return format_time(ns) or ""
