"""Programs that are traced by the real SDK, and killed: its console exporter writes until SIGKILL comes.

Run as `python -m tests.reliability.traced`: each line on standard input is a list of `Writing`s, each of which becomes
a process of its own; the answer is a line, when all of them are dead.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opentelemetry.trace import Tracer

_LENGTHS: Final = (0, 10, 200, 5_000, 60_000, 600_000)
"""Characters of an attribute: what doesn't fit into a buffer is what a kill tears."""
_PATIENCE_S: Final = 1.0
_PART: Final = 50_000
"""Bytes that come in one write."""
_TEMPTING: Final = '}\n{"name": "x", "context": {"trace_id": "0x1", "span_id": "0x1"}, "kind": "SpanKind.SERVER"}\n{'


@dataclass(frozen=True, slots=True)
class Writing:
    """One process, from its start to its death."""

    path: str
    """The file that it appends to."""
    is_compact: bool
    """Whether a span is one line, as Ray's own hook writes it, or indented, as the exporter does."""
    seed: int
    seconds: float
    """After so long it is killed."""
    in_a_write: bool
    """Whether it is killed only once the file grows, which tears many more records than chance does."""


def line_of(writings: Iterable[Writing]) -> str:
    """Return the line that asks for these processes."""
    return json.dumps([*map(asdict, writings)]) + "\n"


def _write(writing: Writing) -> NoReturn:
    """Make spans without an end."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

    # The ids come from here too, and each process has its own.
    random.seed(writing.seed)
    provider = TracerProvider(resource=Resource({"service.name": f"service {writing.seed}"}))
    with open(writing.path, "a", encoding="utf-8") as file:
        if writing.is_compact:
            exporter = ConsoleSpanExporter(out=file, formatter=lambda span: span.to_json(indent=None) + os.linesep)
        else:
            exporter = ConsoleSpanExporter(out=file)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        tracer = provider.get_tracer(__name__)
        while True:
            _trace(tracer)


def _trace(tracer: Tracer) -> None:
    """Make a trace of three spans, with something in every field."""
    from opentelemetry import trace as api

    with tracer.start_as_current_span("root é", kind=api.SpanKind.SERVER, attributes=_attributes()) as root:
        link = api.Link(root.get_span_context(), {"why": _TEMPTING})
        with tracer.start_as_current_span("child", kind=api.SpanKind.CLIENT, links=[link]) as child:
            child.set_attributes(_attributes())
            child.add_event("event", _attributes())
            child.set_status(api.StatusCode.ERROR, _TEMPTING)
        tracer.start_span("empty").end()


def _attributes() -> Mapping[str, Any]:
    return {
        "tempting": _TEMPTING,
        "list": [1, -2.5, True, "]"],
        "object": {"n": [{"m": None}]},
        "text": random.choice('x"\\é\n') * random.choice(_LENGTHS),
    }


def main() -> None:
    """Let processes write, and kill them."""
    import opentelemetry.sdk.trace.export  # noqa: F401 - once for all

    for line in sys.stdin:
        writings = [Writing(**fields) for fields in json.loads(line)]
        began = time.monotonic()
        processes = [_forked(writing) for writing in writings]
        for writing, process in sorted(zip(writings, processes, strict=True), key=lambda pair: pair[0].seconds):
            time.sleep(max(0.0, began + writing.seconds - time.monotonic()))
            if writing.in_a_write:
                _wait_for_growth(writing.path)
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        sys.stdout.write("dead\n")
        sys.stdout.flush()


def _wait_for_growth(path: str) -> None:
    deadline, size = time.monotonic() + _PATIENCE_S, _size(path)
    while _size(path) - size < _PART and time.monotonic() < deadline:
        pass


def _size(path: str) -> int:
    return os.stat(path).st_size if os.path.exists(path) else 0


def _forked(writing: Writing) -> int:
    process = os.fork()
    if not process:
        _write(writing)
    return process


if __name__ == "__main__":
    main()
