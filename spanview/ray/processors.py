"""Each span to its files: a line when it starts, and another one when it has ended.

<stem>.jsonl            spans that have ended, written by the thread that ends them
<stem>.started.jsonl    spans that have started, without an end: what a process was at when it was killed

Nothing waits in memory, because Ray ends workers without letting them finish. Whatever fails here never reaches the
program: spans that couldn't be written are counted, the first time is reported on standard error, and the count becomes
a line of its own (a log record) when writing works again.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.trace import SpanKind

from spanview.ray.identity import identity_of
from spanview.ray.lines import frame_of, line_of, loss_line_of
from spanview.ray.notices import say
from spanview.ray.runtime import ray_process, task_attributes
from spanview.ray.span_file import SpanFile

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span

    from spanview.ray.identity import Identity
    from spanview.ray.lines import Frame
    from spanview.ray.runtime import RayProcess

ENDED: Final = ".jsonl"
STARTED: Final = ".started.jsonl"
_MAX_FRAMES: Final = 256
"""Resources and scopes whose texts are kept."""


class SpanFiles(SpanProcessor):
    """Writes spans to the files of this process.

    Args:
        folder: Where they are; empty for the default place.
        marks: Whether spans that start are written.
        max_bytes: As a `SpanFile` has it, and `keep`.
    """

    def __init__(self, folder: str = "", *, marks: bool = True, max_bytes: int = 0, keep: int = 0) -> None:
        self._folder = os.path.abspath(folder) if folder else ""
        self._marks = marks
        self._limits = max_bytes, keep
        # A span may end in the midst of another one's end: by a signal's handler, or when memory is cleared away.
        self._lock = threading.RLock()
        self._is_forked = False
        self._ray: RayProcess | None = None
        self._losses = _Losses()
        self._begin(identity_of(None, self._folder))
        if hasattr(os, "register_at_fork"):
            after_fork = weakref.WeakMethod(self._after_fork)
            os.register_at_fork(after_in_child=lambda: (method := after_fork()) and method())

    @property
    def path(self) -> str:
        """The file that spans which have ended are written to."""
        with self._lock:
            return self._ended.path

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - the SDK's
        """Write that a span has started, and note on the span which task it is of."""
        try:
            if not self._is_forked:
                _note_task(span)
            if self._marks and span.context.trace_flags.sampled:
                with self._lock:
                    line = line_of(span, self._frame(span))
                    self._started.write(line)
                    self._ended.keep_up_with(self._started)
        except Exception as error:  # noqa: BLE001 - tracing never breaks a program
            self._losses.say_once(error, self._started.path)

    def on_end(self, span: ReadableSpan) -> None:
        """Write a span that has ended."""
        if not span.context.trace_flags.sampled:
            return
        try:
            with self._lock:
                line = line_of(span, self._frame(span), _ended_by(span))
                self._ended.write(self._loss_line() + line)
                self._started.keep_up_with(self._ended)
                self._losses.count = 0
        except Exception as error:  # noqa: BLE001 - tracing never breaks a program
            with self._lock:
                self._losses.add(error)
                self._losses.say_once(error, self._ended.path)

    def shutdown(self) -> None:
        """Do nothing: all is written, and what still ends is written, too."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 - the SDK's
        """Return that all is written."""
        return True

    def _begin(self, identity: Identity) -> None:
        self._identity = identity
        self._frames: dict[tuple[int, str, str | None, str | None], tuple[Any, Frame]] = {}
        self._ended = SpanFile(identity.stem, ENDED, *self._limits)
        self._started = SpanFile(identity.stem, STARTED, *self._limits)

    def _frame(self, span: ReadableSpan) -> Frame:
        """Return what the span's line has in common with others, after a look at which session this is by now."""
        if not self._is_forked and (ray := ray_process(self._ray)) is not self._ray:
            self._ray = ray
            identity = identity_of(ray, self._folder)
            if identity.stem != self._identity.stem:
                self._ended.close()
                self._started.close()
                self._begin(identity)
            else:
                self._identity, self._frames = identity, {}
        resource, scope = span.resource, span.instrumentation_scope
        if scope is not None and scope.attributes:
            return frame_of(self._identity.resource(resource.attributes), resource.schema_url, scope)
        key = (id(resource), scope.name, scope.version, scope.schema_url) if scope else (id(resource), "", None, None)
        known = self._frames.get(key)
        if known is None:
            if len(self._frames) >= _MAX_FRAMES:
                self._frames.clear()
            # The resource is kept, so that no other can have its id.
            known = resource, frame_of(self._identity.resource(resource.attributes), resource.schema_url, scope)
            self._frames[key] = known
        return known[1]

    def _loss_line(self) -> bytes:
        if not self._losses.count:
            return b""
        return loss_line_of(self._identity.resource({}), time.time_ns(), self._losses.count, self._losses.reason)

    def _after_fork(self) -> None:
        # The lock may be one of a thread that isn't in the child, whose files are its own.
        self._lock = threading.RLock()
        self._is_forked = True
        self._ended.close()
        self._started.close()
        self._losses = _Losses()
        self._begin(identity_of(self._ray, self._folder))


class _Losses:
    """Spans that couldn't be written."""

    def __init__(self) -> None:
        self.count = 0
        self.reason = ""
        """Why the last one was not written."""
        self._is_said = False

    def add(self, error: Exception) -> None:
        """Count one."""
        self.count += 1
        self.reason = _reason(error)

    def say_once(self, error: Exception, path: str) -> None:
        """Report on standard error that spans can't be written, unless that was done."""
        if not self._is_said:
            self._is_said = True
            say(f"spans can't be written to {path}: {_reason(error)}. The program continues without them.")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or f"{type(error).__name__}: {error}"


def _ended_by(span: ReadableSpan) -> str:
    """Return what ends an attempt now that is no failure: it is told to exit, or cancelled; empty for nothing."""
    error = sys.exception()
    is_attempt = span.kind is SpanKind.CONSUMER and "ray.remote" in (span.attributes or {})
    # A generator that isn't exhausted is closed.
    if not is_attempt or error is None or isinstance(error, Exception | GeneratorExit):
        return ""
    # Ray says in its own words why it exits, as in `The process receives a SIGTERM.`
    text = getattr(error, "ray_terminate_msg", None) or str(error)
    return f"{type(error).__name__}: {text}".removesuffix(": ")


def _note_task(span: Span) -> None:
    attributes = span.attributes or {}
    remote = attributes.get("ray.remote")
    is_attempt = remote is not None and span.kind is SpanKind.CONSUMER
    name = str(attributes.get("ray.function") or "") if is_attempt else ""
    noted = task_attributes(name)
    if noted:
        # What Ray has written stays, and a call isn't of the actor that submits it.
        is_call = remote is not None and not is_attempt
        missing = {key: noted[key] for key in noted if key not in attributes and (not is_call or key == "ray.task_id")}
        span.set_attributes(missing)
