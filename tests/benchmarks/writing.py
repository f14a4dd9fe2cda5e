"""What a span costs in a worker of Ray: untraced, by Ray's own hook, and by ours with started marks and without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from typing import Final

from .figures import Figure

_PROGRAM: Final = """
import json
import os
import sys

import ray

folder, rounds, spans = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ray.init(num_cpus=1, object_store_memory=200_000_000, include_dashboard=False, log_to_driver=False)


@ray.remote
def measure():
    import time
    from statistics import median

    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
    from opentelemetry.trace import SpanKind
    from ray.util.tracing.tracing_helper import _function_hydrate_span_args
    from spanview.ray.processors import SpanFiles

    def bundled():
        out = open(f"{folder}/{os.getpid()}.txt", "w")
        return SimpleSpanProcessor(
            ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + os.linesep)
        )

    makers = {
        "none": lambda: None,
        "bundled": bundled,
        "ended": lambda: SpanFiles(folder + "/ended", marks=False),
        "started": lambda: SpanFiles(folder + "/started"),
    }
    tracers = {}
    for name, make in makers.items():
        provider = TracerProvider()
        if processor := make():
            provider.add_span_processor(processor)
        tracers[name] = provider.get_tracer("ray.util.tracing.tracing_helper")

    def run(tracer):
        began = time.thread_time()
        for _ in range(spans):
            # As Ray wraps a call.
            with tracer.start_as_current_span(
                "__main__.f ray.remote_worker",
                kind=SpanKind.CONSUMER,
                attributes=_function_hydrate_span_args("__main__.f"),
            ):
                pass
        return (time.thread_time() - began) / spans * 1e6

    taken = {name: [] for name in tracers}
    for _ in range(rounds + 1):
        for name, tracer in tracers.items():
            taken[name].append(run(tracer))
    return {name: median(values[1:]) for name, values in taken.items()}


print(json.dumps(ray.get(measure.remote())))
"""
_MOST_ENDED: Final = 1.0
_MOST_STARTED: Final = 1.4


def a_span(rounds: int) -> list[Figure]:
    """P19: processor time of a span in a worker, all ways in turns in the same process."""
    if find_spec("ray") is None:
        raise RuntimeError("Ray isn't installed")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        environment = {
            **os.environ,
            "RAY_TMPDIR": folder,
            "RAY_AUTH_MODE": "disabled",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ADDRESS": "",
        }
        words = (sys.executable, "-c", _PROGRAM, folder, str(4 * rounds), "500")
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        us = json.loads(done.stdout.splitlines()[-1])
    return [
        Figure("P19", "a span in a worker, by our hook without marks", us["ended"], "µs", us["bundled"], _MOST_ENDED),
        Figure("P19", "the same with started marks", us["started"], "µs", us["bundled"], _MOST_STARTED),
        Figure("P19", "the same, no hook", us["none"], "µs", us["bundled"]),
    ]
