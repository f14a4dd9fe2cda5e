"""spanview's own stages as spans: free where no SDK is set up, and readable with spanview where one is."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def stage(name: str) -> AbstractContextManager[Any]:
    """Return a context that traces one stage, such as `scan`, `decode`, `stitch` or `paint`.

    opentelemetry-api is only asked where the program that runs spanview has set an SDK up; importing it costs more
    than all of spanview's start.
    """
    if "opentelemetry.sdk.trace" not in sys.modules:
        return nullcontext()
    from opentelemetry import trace

    return trace.get_tracer("spanview").start_as_current_span(name)
