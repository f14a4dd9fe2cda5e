"""Functions wrapped as Ray's workers run them: what their spans cover, without a cluster.

generator         exhausted     closed early     fails
span              ends then     ends then        ends then, with the error
between items     whoever takes them isn't in the span
"""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest
from opentelemetry import trace
from opentelemetry.propagate import inject
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ray_sessions import need
from spanview.ray import calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from opentelemetry.sdk.trace import ReadableSpan

BOOM: Final = "boom"


class Tracing:
    """A provider that takes the place of the global one, and a call's context."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
        self.context: dict[str, str] = {}
        with provider.get_tracer("t").start_as_current_span("call") as call:
            inject(self.context)
        self.call_id = call.get_span_context().span_id
        self._exporter.clear()

    @property
    def ended(self) -> list[ReadableSpan]:
        """The spans that have ended."""
        return list(self._exporter.get_finished_spans())

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function wrapped as a task."""
        wrapped = calls._wrapped(function, lambda context, _arguments: calls._Attempt(context, "f", {}))
        kinds = (inspect.isgeneratorfunction, inspect.isasyncgenfunction, inspect.iscoroutinefunction)
        assert [kind(wrapped) for kind in kinds] == [kind(function) for kind in kinds]
        result: Callable[..., Any] = wrapped
        return result


@pytest.fixture
def tracing(monkeypatch: pytest.MonkeyPatch) -> Tracing:
    """Give a tracer of the test's own."""
    return Tracing(monkeypatch)


def current() -> int:
    """Return the id of the current span; 0 outside of any."""
    return trace.get_current_span().get_span_context().span_id


def numbers(stop: int, seen: list[int]) -> Iterator[int]:
    """Yield numbers, noting the current span before each and at the end; fail at 3."""
    try:
        for number in range(stop):
            seen.append(current())
            if number == 3:
                raise ValueError(BOOM)
            yield number
    finally:
        seen.append(current())


async def async_numbers(stop: int, seen: list[int]) -> Any:
    """Do the same, asynchronously."""
    for number in numbers(stop, seen):
        await asyncio.sleep(0)
        yield number


def take(wrapped: Any, count: int, *args: Any, **named: Any) -> tuple[list[int], list[int]]:
    """Take so many items, then close; return them and the current spans while each was taken."""
    items = wrapped(*args, **named)
    is_async = inspect.isasyncgen(items)
    taken: list[int] = []
    outside: list[int] = []
    if is_async:

        async def run() -> None:
            try:
                while len(taken) < count:
                    taken.append(await anext(items))
                    outside.append(current())
            except StopAsyncIteration:
                pass
            finally:
                await items.aclose()

        asyncio.run(run())
    else:
        try:
            while len(taken) < count:
                taken.append(next(items))
                outside.append(current())
        except StopIteration:
            pass
        finally:
            items.close()
    return taken, outside


@pytest.mark.parametrize("function", [numbers, async_numbers])
@pytest.mark.parametrize(("stop", "count"), [(2, 9), (3, 1), (0, 1)], ids=["exhausted", "closed", "empty"])
def test_generator(tracing: Tracing, function: Callable[..., Any], stop: int, count: int) -> None:
    """What a generator does is in its span, which ends with it; what is done with the items is not."""
    seen: list[int] = []
    taken, outside = take(tracing.wrap(function), count, stop, seen, _ray_trace_ctx=tracing.context)
    assert taken == [*range(min(stop, count))]
    (span,) = tracing.ended
    assert span.parent is not None
    assert (span.name, span.parent.span_id, span.status.is_ok) == ("f ray.remote_worker", tracing.call_id, True)
    assert {*seen} == {span.context.span_id}
    assert {*outside} <= {0}


@pytest.mark.parametrize("function", [numbers, async_numbers])
def test_generator_that_fails(tracing: Tracing, function: Callable[..., Any]) -> None:
    """Its span has the error, and whoever takes its items gets it."""
    with pytest.raises(ValueError, match=BOOM):
        take(tracing.wrap(function), 9, 5, [], _ray_trace_ctx=tracing.context)
    (span,) = tracing.ended
    assert span.status.description == f"ValueError: {BOOM}"
    assert [event.name for event in span.events] == ["exception"]


def adding(seen: list[int]) -> Any:
    """Yield the sum of what is sent, -1 for an error that is thrown in, and return the sum."""
    total = 0
    while total < 10:
        seen.append(current())
        try:
            total += yield total
        except KeyError:
            total += yield -1
    return total


async def async_adding(seen: list[int]) -> Any:
    """Do the same, asynchronously; such a generator can't return the sum."""
    total = 0
    while total < 10:
        seen.append(current())
        try:
            total += yield total
        except KeyError:
            total += yield -1


def test_what_is_sent_in_arrives(tracing: Tracing) -> None:
    """Values, errors and the result go through, as Ray Data needs it."""
    seen: list[int] = []
    items = tracing.wrap(adding)(seen, _ray_trace_ctx=tracing.context)
    assert [next(items), items.send(3), items.throw(KeyError()), items.send(2)] == [0, 3, -1, 5]
    with pytest.raises(StopIteration) as end:
        items.send(7)
    assert end.value.value == 12
    assert {*seen} == {span.context.span_id for span in tracing.ended}


@pytest.mark.parametrize("is_traced", [False, True])
def test_what_is_sent_in_arrives_asynchronously(tracing: Tracing, is_traced: bool) -> None:  # noqa: FBT001
    """The same for the other kind, with a span and without one."""
    seen: list[int] = []

    async def run() -> list[int]:
        items = tracing.wrap(async_adding)(seen, _ray_trace_ctx=tracing.context if is_traced else None)
        got = [await anext(items), await items.asend(3), await items.athrow(KeyError()), await items.asend(2)]
        with pytest.raises(StopAsyncIteration):
            await items.asend(7)
        return got

    assert asyncio.run(run()) == [0, 3, -1, 5]
    assert {*seen} == ({span.context.span_id for span in tracing.ended} or {0})
    assert len(tracing.ended) == is_traced


def over_a_range() -> Any:
    """Delegate to an iterator that takes nothing, which Ray's own workers can't drive either: they send."""
    return (yield from range(2))


def over_a_generator() -> Any:
    """Delegate to a generator that returns something."""
    return (yield from adding([]))


def outcome(drive: Callable[[Any], Any], items: Any) -> tuple[str, str]:
    """Return what comes of driving a generator: its items, or the kind and the text of what it raises."""
    try:
        return "items", repr(drive(items))
    except (AttributeError, KeyError, StopIteration, TypeError) as error:
        return type(error).__name__, str(error)
    finally:
        items.close()


DRIVEN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "to its end": lambda items: [next(items), *map(items.send, (None, None))],
    "by next": lambda items: [next(items), next(items)],
    "by sending": lambda items: [next(items), items.send(4)],
    "by throwing": lambda items: [next(items), items.throw(KeyError("k"))],
    "to what it returns": lambda items: [next(items), items.send(10)],
    "to an early end": lambda items: [next(items), items.close(), next(items, "closed")],
}


@pytest.mark.parametrize("drive", DRIVEN.values(), ids=DRIVEN)
@pytest.mark.parametrize("function", [over_a_range, over_a_generator])
def test_delegation(tracing: Tracing, function: Callable[[], Any], drive: Callable[[Any], Any]) -> None:
    """A generator that delegates answers as it does without a span, whatever takes its items."""
    assert outcome(drive, tracing.wrap(function)(_ray_trace_ctx=tracing.context)) == outcome(drive, function())
    assert len(tracing.ended) == 1


def test_usual_functions(tracing: Tracing) -> None:
    """A function and a coroutine have a span while they run, and hand on what they return."""

    async def coroutine() -> int:
        return current()

    plain = tracing.wrap(current)(_ray_trace_ctx=tracing.context)
    awaited = asyncio.run(tracing.wrap(coroutine)(_ray_trace_ctx=tracing.context))
    assert [span.context.span_id for span in tracing.ended] == [plain, awaited]


@pytest.mark.parametrize("function", [numbers, async_numbers])
def test_without_a_context(tracing: Tracing, function: Callable[..., Any]) -> None:
    """Whoever calls the function by itself gets what it does, without a span."""
    assert take(tracing.wrap(function), 9, 2, [])[0] == [0, 1]
    assert tracing.ended == []


MEND: Final = """
import ray
import ray.actor, ray.remote_function
import ray._private.function_manager
from ray.util.tracing import tracing_helper as helper

before = ray.actor._inject_tracing_into_class
CHANGE
from spanview.ray.calls import mend_calls
print(mend_calls() or "mended")
print(ray.actor._inject_tracing_into_class is before)
"""
NAME: Final = """
import ray
import ray.actor
from ray.remote_function import RemoteFunction

submits = RemoteFunction._remote.__wrapped__.__closure__[0]
before = submits.cell_contents
CHANGE
from spanview.ray.calls import name_tasks
print(name_tasks() or "named")
print(submits.cell_contents is before)
"""


@pytest.mark.ray
@pytest.mark.parametrize(
    ("program", "change", "said"),
    [
        (MEND, "", "mended"),
        (
            MEND,
            "helper._actor_hydrate_span_args = lambda class_, method, more: {}",
            "ray.util.tracing.tracing_helper._actor_hydrate_span_args is another function",
        ),
        (
            MEND,
            "ray.remote_function._inject_tracing_into_function = print",
            "ray.remote_function has another _inject_tracing_into_function",
        ),
        (MEND, "del ray.actor.ActorClass._remote", "ray.actor.ActorClass has no _remote"),
        (NAME, "", "named"),
        (NAME, "del ray.actor.ActorMethod._remote", "ray.actor.ActorMethod._remote is another function"),
        (
            NAME,
            "RemoteFunction._remote = RemoteFunction._remote.__wrapped__",
            "ray.remote_function.RemoteFunction._remote is another function",
        ),
    ],
)
def test_another_ray(program: str, change: str, said: str) -> None:
    """Where Ray's tracing isn't what this was written for, nothing is replaced, and it says why."""
    need("ray")
    done = subprocess.run(
        [sys.executable, "-c", program.replace("CHANGE", change)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [said, str(said not in ("mended", "named"))]
