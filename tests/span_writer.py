"""A program that is traced: the SDK's own console exporter writes its spans to a file, so many a second.

Run as `python tests/span_writer.py FILE NAME SPANS PER_SECOND`.
"""

from __future__ import annotations

import sys
import time

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor


def write(path: str, name: str, spans: int, per_second: float) -> None:
    """Write spans that carry their number, and the time at which they were handed to the exporter.

    Args:
        path: The file, which is appended to.
        name: Of all spans.
        spans: How many.
        per_second: How many a second.
    """
    provider = TracerProvider()
    with open(path, "a", encoding="utf-8") as file:
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=file)))
        tracer = provider.get_tracer(__name__)
        began = time.monotonic()
        for number in range(spans):
            time.sleep(max(0.0, began + number / per_second - time.monotonic()))
            with tracer.start_as_current_span(name) as span:
                span.set_attribute("number", number)
                span.set_attribute("written_ns", time.time_ns())
        provider.shutdown()


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
