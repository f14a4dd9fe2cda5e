"""Calls that Ray's tracing breaks or cuts short, traced as they are, and the task that each call submits.

method or task                          under Ray's tracing                      here
--------------                          -------------------                      ----
a generator task                        its span ends when it is made            when it is exhausted, closed or fails
an actor's generator method             TypeError: … `_ray_trace_ctx`            the same
an actor's static or class method       TypeError: … `_ray_trace_ctx`            a span as of any method
either one with `**kwargs`              gets `_ray_trace_ctx` among them         a span as of any method

Ray wraps what it traces in two functions, by a keyword argument that carries the context. Nothing public leads there,
so these two are replaced where Ray looks them up, after a look at whether they are what this was written for; what Ray
wraps well stays wrapped by Ray. Classes that were decorated before there was a session are mended when they are used.

a call's span               under Ray's tracing                      here, once it is submitted
-------------               -------------------                      --------------------------
ray.task_id                 the task that submits; none in a driver  the task that is submitted
ray.submitter_task_id       -                                        the task that submits

Ray opens this span around what submits, which is a variable of its wrapper: that is what is replaced. A call with
`num_returns=0` returns nothing that names its task, so its span stays as Ray makes it.
"""

from __future__ import annotations

import inspect
import sys
from contextlib import contextmanager, nullcontext, suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.propagate import extract
from opentelemetry.trace import SpanKind, Status, StatusCode

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from types import ModuleType

_CONTEXT: Final = "_ray_trace_ctx"
"""The keyword argument that carries a call's context."""
_GENERATOR: Final = "ray.generator"
"""The attribute that tells readers that a generator's span has its run time."""
_WRAPPED: Final = "__ray_tracing_wrapped__"
"""What Ray sets on a method that is wrapped."""
_MENDED: Final = "__spanview_mended__"
"""What is set on a class whose methods are."""
_HELPER: Final = "ray.util.tracing.tracing_helper"
_INTO_FUNCTION, _INTO_CLASS = "_inject_tracing_into_function", "_inject_tracing_into_class"
_SHAPES: Final[Mapping[str, tuple[str, ...]]] = {
    _INTO_FUNCTION: ("function",),
    _INTO_CLASS: ("_cls",),
    "_add_param_to_signature": ("function", "new_param"),
    "_function_hydrate_span_args": ("function_name",),
    "_actor_hydrate_span_args": ("class_", "method"),
}
"""Parameters of what is used of Ray's tracing."""
_USERS: Final = (
    ("ray.remote_function", _INTO_FUNCTION),
    ("ray.actor", _INTO_CLASS),
    ("ray._private.function_manager", _INTO_CLASS),
)
"""The modules that look these up, by names of their own."""
_SUBMITTERS: Final = (
    ("ray.remote_function", "RemoteFunction", "_invocation_remote_span"),
    ("ray.actor", "ActorMethod", "_start_span"),
    ("ray.actor", "ActorClass", "_invocation_actor_class_remote_span"),
)
"""The classes whose `_remote` submits, and the function that opens the span around it."""
_TASK, _SUBMITTER = "ray.task_id", "ray.submitter_task_id"


def mend_calls() -> str:
    """Trace from now on what Ray's tracing breaks or cuts short, in this process.

    Returns:
        Why that can't be done; empty if it was.
    """
    if _HELPER not in sys.modules:
        return ""
    helper = sys.modules[_HELPER]
    if difference := _difference(helper):
        return difference
    into_function, into_class = getattr(helper, _INTO_FUNCTION), getattr(helper, _INTO_CLASS)
    replacements = {_INTO_FUNCTION: _function_mender(into_function), _INTO_CLASS: _class_mender(into_class)}
    for module, name in _USERS:
        setattr(sys.modules[module], name, replacements[name])
    actor_class = sys.modules["ray.actor"].ActorClass
    actor_class._remote = _creation_mender(actor_class._remote, replacements[_INTO_CLASS])  # noqa: SLF001
    return ""


def name_tasks() -> str:
    """Write from now on, on the span of each call, which task the call submits, in this process.

    Returns:
        Why that can't be done; empty if it was.
    """
    if _HELPER not in sys.modules:
        return ""
    cells = []
    for module, owner, opens in _SUBMITTERS:
        submits = getattr(getattr(sys.modules.get(module), owner, None), "_remote", None)
        traced: Any = getattr(submits, "__wrapped__", None)
        code = getattr(traced, "__code__", None)
        if code is None or (code.co_name, code.co_freevars) != (opens, ("method",)):
            return f"{module}.{owner}._remote is another function"
        cells.append(traced.__closure__[0])
    for cell in cells:
        cell.cell_contents = _naming(cell.cell_contents)
    return ""


def _naming(submit: Any) -> Any:
    @wraps(submit)
    def submit_and_name(self: Any, args: Any, kwargs: Any, *rest: Any, **options: Any) -> Any:
        context = kwargs and kwargs.get(_CONTEXT)
        result = submit(self, args, kwargs, *rest, **options)
        # An actor that is to be created unless it exists is submitted by another span, which puts its own context here.
        if context and kwargs.get(_CONTEXT) is context:
            # Whatever Ray returns is the program's, whether it names a task or not.
            with suppress(Exception):
                _name_task(trace.get_current_span(), result)
        return result

    return submit_and_name


def _name_task(span: Any, result: Any) -> None:
    """Write on a call's span which task it submits, and which task did so, if what it returns says that."""
    if not span.is_recording():
        return
    raylet = sys.modules["ray._raylet"]
    reference = result[0] if type(result) is list else getattr(result, "_generator_ref", result)
    # A client's reference may still have to wait for its id.
    if type(reference) is raylet.ObjectRef:
        task = reference.task_id()
    elif getattr(result, "_ray_original_handle", False):
        task = raylet.TaskID.for_actor_creation_task(result._ray_actor_id)  # noqa: SLF001
    else:
        return
    submitter = span.attributes.get(_TASK) or sys.modules["ray._private.worker"].global_worker.current_task_id.hex()
    span.set_attributes({_TASK: task.hex(), _SUBMITTER: submitter})


def _difference(helper: ModuleType) -> str:
    """Return what is another in this release of Ray."""
    for name, parameters in _SHAPES.items():
        function = getattr(helper, name, None)
        if not inspect.isfunction(function) or tuple(inspect.signature(function).parameters) != parameters:
            return f"{_HELPER}.{name} is another function"
    for module, name in _USERS:
        if getattr(sys.modules.get(module), name, None) is not getattr(helper, name):
            return f"{module} has another {name}"
    if not hasattr(getattr(sys.modules["ray.actor"], "ActorClass", None), "_remote"):
        return "ray.actor.ActorClass has no _remote"
    return ""


def _function_mender(into_function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(into_function)
    def inject(function: Any) -> Any:
        traced = into_function(function)
        if traced is function or not _is_generator(function):
            return traced

        def started(context: Any, _arguments: tuple[Any, ...]) -> _Attempt:
            name = f"{function.__module__}.{function.__name__}"
            attributes = _helper()._function_hydrate_span_args(name)  # noqa: SLF001
            return _Attempt(context, name, {**attributes, _GENERATOR: True})

        return _wrapped(function, started)

    return inject


def _class_mender(into_class: Callable[[type], Any]) -> Callable[[type], Any]:
    @wraps(into_class)
    def inject(cls: type) -> Any:
        result = into_class(cls)
        for name, method in inspect.getmembers(cls, inspect.isroutine):
            # A function of a C extension takes no signature, and stays as it is.
            with suppress(AttributeError, TypeError, ValueError):
                _mend_method(cls, name, method)
        return result

    return inject


def _mend_method(cls: type, name: str, method: Any) -> None:
    """Wrap a method that Ray leaves out."""
    found = inspect.getattr_static(cls, name)
    kind = type(found) if isinstance(found, staticmethod | classmethod) else None
    function = inspect.unwrap(method)
    function = getattr(function, "__func__", function)
    is_left_out = _is_generator(function) if kind is None else not name.startswith("__")
    if not is_left_out or _takes_context(function):
        return
    # It gets lost when a class is sent to a worker.
    parameter = inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, default=None)
    function.__signature__ = _helper()._add_param_to_signature(function, parameter)  # noqa: SLF001
    if getattr(method, _WRAPPED, False):
        return

    of_generator = {_GENERATOR: True} if _is_generator(function) else {}

    def started(context: Any, arguments: tuple[Any, ...]) -> _Attempt:
        owner = cls if kind is staticmethod else arguments[0] if kind is classmethod else type(arguments[0])
        attributes = _helper()._actor_hydrate_span_args(owner.__name__, name)  # noqa: SLF001
        return _Attempt(context, f"{owner.__name__}.{name}", {**attributes, **of_generator})

    wrapped = _wrapped(function, started)
    setattr(wrapped, _WRAPPED, True)
    setattr(cls, name, wrapped if kind is None else kind(wrapped))


def _takes_context(function: Any) -> bool:
    """Return whether a method looks for the context among its arguments by itself, as those of Serve's replicas do."""
    parameters = inspect.signature(function).parameters.values()
    is_of_serve = str(function.__module__).startswith("ray.serve.")
    return is_of_serve and any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)


def _creation_mender(remote: Any, inject: Callable[[type], Any]) -> Any:
    @wraps(remote)
    def mended(self: Any, *args: Any, **kwargs: Any) -> Any:
        # What can't be mended runs as it does without this.
        with suppress(Exception):
            _mend_class(self.__ray_metadata__, inject)
        return remote(self, *args, **kwargs)

    return mended


def _mend_class(metadata: Any, inject: Callable[[type], Any]) -> None:
    """Mend the class of an actor that was decorated before there was a session, once."""
    cls = metadata.modified_class
    if cls is not None and not vars(cls).get(_MENDED):
        inject(cls)
        type.__setattr__(cls, _MENDED, True)
        for name, parameters in metadata.method_meta.signatures.items():
            _accept_context(cls, name, parameters)


def _accept_context(cls: type, name: str, parameters: list[inspect.Parameter]) -> None:
    """Let a call's context pass the check of arguments, whose list Ray made when the class was decorated."""
    method = inspect.unwrap(getattr(cls, name))
    wanted = inspect.signature(method).parameters
    if _CONTEXT in wanted and all(parameter.name != _CONTEXT for parameter in parameters):
        at = next((at for at, each in enumerate(parameters) if each.kind is each.VAR_KEYWORD), len(parameters))
        parameters.insert(at, wanted[_CONTEXT])


def _is_generator(function: Any) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _helper() -> Any:
    return sys.modules[_HELPER]


def _wrapped(function: Any, started: Callable[[Any, tuple[Any, ...]], _Attempt]) -> Any:
    """Return a function of the same kind, by which Ray decides how to run it, with a span around what it does.

    Args:
        started: Starts the span of a call that carries a context; others have none.
    """
    if inspect.isasyncgenfunction(function) or inspect.iscoroutinefunction(function):
        return _wrapped_async(function, started)
    if inspect.isgeneratorfunction(function):

        @wraps(function)
        def traced_generator(*args: Any, _ray_trace_ctx: Any = None, **kwargs: Any) -> Any:
            items = function(*args, **kwargs)
            return (yield from (items if _ray_trace_ctx is None else _run(items, started(_ray_trace_ctx, args))))

        return traced_generator

    @wraps(function)
    def traced(*args: Any, _ray_trace_ctx: Any = None, **kwargs: Any) -> Any:
        if _ray_trace_ctx is None:
            return function(*args, **kwargs)
        attempt = started(_ray_trace_ctx, args)
        with attempt.lasting(), attempt.running():
            return function(*args, **kwargs)

    return traced


def _wrapped_async(function: Any, started: Callable[[Any, tuple[Any, ...]], _Attempt]) -> Any:
    if inspect.isasyncgenfunction(function):

        @wraps(function)
        async def traced_generator(*args: Any, _ray_trace_ctx: Any = None, **kwargs: Any) -> Any:
            items = function(*args, **kwargs)
            attempt = None if _ray_trace_ctx is None else started(_ray_trace_ctx, args)
            lasting, running = (attempt.lasting, attempt.running) if attempt else (nullcontext, nullcontext)
            with lasting():
                step, given = items.asend, None
                try:
                    while True:
                        with running():
                            try:
                                item = await step(given)
                            except StopAsyncIteration:
                                return
                        try:
                            step, given = items.asend, (yield item)
                        except GeneratorExit:
                            raise
                        except BaseException as error:  # noqa: BLE001 - the generator's to answer
                            step, given = items.athrow, error
                finally:
                    with running():
                        await items.aclose()

        return traced_generator

    @wraps(function)
    async def traced(*args: Any, _ray_trace_ctx: Any = None, **kwargs: Any) -> Any:
        if _ray_trace_ctx is None:
            return await function(*args, **kwargs)
        attempt = started(_ray_trace_ctx, args)
        with attempt.lasting(), attempt.running():
            return await function(*args, **kwargs)

    return traced


def _run(items: Generator[Any, Any, Any], attempt: _Attempt) -> Generator[Any, Any, Any]:
    """Do what `yield from` does, each step in the span: whoever takes the items is not in it.

    What is sent in has to arrive: Ray Data's tasks are sent how long their blocks took to be stored.
    """
    with attempt.lasting():
        step: Callable[[Any], Any] = items.send
        given: Any = None
        try:
            while True:
                with attempt.running():
                    try:
                        item = step(given)
                    except StopIteration as end:
                        return end.value
                try:
                    step, given = items.send, (yield item)
                except GeneratorExit:
                    raise
                except BaseException as error:  # noqa: BLE001 - the generator's to answer
                    step, given = items.throw, error
        finally:
            with attempt.running():
                items.close()


class _Attempt:
    """The CONSUMER span of a call."""

    def __init__(self, carried: Any, function: str, attributes: Mapping[str, Any]) -> None:
        parent = extract(carried)
        self._span = trace.get_tracer(_HELPER).start_span(
            f"{function} ray.remote_worker", parent, SpanKind.CONSUMER, attributes
        )
        self._context = trace.set_span_in_context(self._span, parent)

    @contextmanager
    def lasting(self) -> Iterator[None]:
        """End the span afterwards, with an error if there is one."""
        try:
            yield
        except Exception as error:
            self._span.record_exception(error)
            self._span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
            raise
        finally:
            self._span.end()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Be the current span."""
        token = contexts.attach(self._context)
        try:
            yield
        finally:
            contexts.detach(token)
