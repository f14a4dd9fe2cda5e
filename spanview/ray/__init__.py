"""Writing spans: the hook for Ray and the exporter for Ray Serve, which lose nothing that has ended.

In the order in which a span passes through:

hook          what Ray and Ray Serve are told to call
calls         what Ray's tracing breaks or cuts short, traced as it is, and the task that a call submits
random_ids    ids that a program's random seed has no part in
processors    each span to its files, as it starts and as it ends
identity      who this process is, and where its files are
runtime       what Ray knows of this process and of the task that it runs
lines         a span as a line of OTLP's JSON
notices       what is said on standard error
span_file     lines to a file, each by one write; files of limited size

Workers import this, so it loads nothing of the other folders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

EVENTS: Final[Mapping[str, str]] = {
    "RAY_enable_export_api_write_config": "EXPORT_TASK,EXPORT_ACTOR,EXPORT_NODE,EXPORT_DRIVER_JOB"
}
"""The environment in which Ray writes its own events to `<session>/logs/export_events`: in each process that has it
before it starts or joins a Ray, by `os.environ.update(EVENTS)` or in the environment of `ray start`."""
