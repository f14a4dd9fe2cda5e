"""What Ray and Ray Serve are told to call, so that every process writes its spans for spanview.

ray.init(_tracing_startup_hook="spanview.ray.hook:setup_tracing")
ray start --head --tracing-startup-hook=spanview.ray.hook:setup_tracing
RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH=spanview.ray.hook:span_processors

variable             what it says                                                  without it
--------             ------------                                                  ----------
SPANVIEW_DIR         the folder of the files                                       <session>/logs/spans
SPANVIEW_STARTED     0: don't write when spans start                               written
SPANVIEW_MAX_BYTES   how large a file may become before the next one begins        any size
SPANVIEW_KEEP        how many files a process may have; the oldest is removed      any number

OpenTelemetry's own variables hold, too: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, limits.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from spanview.ray.notices import say

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

_OFF: Final = frozenset(("0", "false", "no", "off"))
_SERVE_RATIO: Final = "RAY_SERVE_TRACING_SAMPLING_RATIO"
_processor: SpanProcessor | None = None
"""What writes this process's spans; there is never a second one, which would write each span twice."""


def setup_tracing() -> None:
    """Write the spans of this process from now on, those of Ray's calls and those of the program.

    Where the program has set a provider of its own, it keeps it and writes for spanview, too. Nothing is raised: a
    worker whose hook fails would end, and its task with it.
    """
    if _processor is not None:
        return
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider

        provider = trace.get_tracer_provider()
        if not isinstance(provider, TracerProvider):
            from spanview.ray.random_ids import UnseededIds

            provider = TracerProvider(id_generator=UnseededIds())
            trace.set_tracer_provider(provider)
        for processor in span_processors():
            provider.add_span_processor(processor)
        from spanview.ray.calls import mend_calls, name_tasks

        if difference := name_tasks():
            say(f"spans of calls don't name the tasks that they submit, because {difference} in this release.")
        if difference := mend_calls():
            say(f"generators and static methods are traced as by Ray itself, because {difference} in this release.")
    except Exception as error:  # noqa: BLE001 - tracing never breaks a program
        say(f"no spans are written: {_advice(error)}")


def span_processors() -> list[SpanProcessor]:
    """Return what writes spans, for a provider that somebody else sets: Ray Serve, Anyscale or a hook of one's own.

    Returns:
        One processor; none if this process has one already.
    """
    global _processor  # noqa: PLW0603 - the provider that it belongs to is global, too
    if _processor is not None:
        if os.environ.get(_SERVE_RATIO, "1.0") not in ("1", "1.0"):
            say(
                f"Ray Serve's spans are written by Ray's hook, so {_SERVE_RATIO} has no effect. "
                "What counts are OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG."
            )
        return []
    try:
        from spanview.ray.processors import SpanFiles

        _processor = SpanFiles(
            os.environ.get("SPANVIEW_DIR", ""),
            marks=os.environ.get("SPANVIEW_STARTED", "").lower() not in _OFF,
            max_bytes=_number("SPANVIEW_MAX_BYTES"),
            keep=_number("SPANVIEW_KEEP"),
        )
    except Exception as error:  # noqa: BLE001 - tracing never breaks a program
        say(f"no spans are written: {_advice(error)}")
        return []
    return [_processor]


def _number(variable: str) -> int:
    text = os.environ.get(variable, "")
    if text and not (text.isascii() and text.isdecimal()):
        say(f"{variable} is ignored, because it isn't a whole number: {text[:40]!r}")
        return 0
    return int(text or 0)


def _advice(error: Exception) -> str:
    if isinstance(error, ImportError) and (error.name or "").startswith("opentelemetry"):
        return f"{error}. Install OpenTelemetry's SDK where Ray runs: pip install 'spanview[ray]'"
    return f"{type(error).__name__}: {error}"
