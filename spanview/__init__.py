"""spanview: the `less` of distributed traces.

>>> import spanview
>>> store = spanview.load("fixtures/ray-tasks-bundled-hook")
>>> trace = max(store.traces, key=lambda trace: trace.span_count)
>>> trace.span_count
19
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spanview.index.store import Store
    from spanview.index.trace import Node, Trace
    from spanview.model.problems import SpanviewError
    from spanview.model.span import Event, Link, Resource, Span, Status
    from spanview.sources.loading import load

__version__ = "0.1.0"
__all__ = [
    "Event",
    "Link",
    "Node",
    "Resource",
    "Span",
    "SpanviewError",
    "Status",
    "Store",
    "Trace",
    "__version__",
    "load",
]

_HOMES = {
    "Store": "spanview.index.store",
    "Node": "spanview.index.trace",
    "Trace": "spanview.index.trace",
    "SpanviewError": "spanview.model.problems",
    "Event": "spanview.model.span",
    "Link": "spanview.model.span",
    "Resource": "spanview.model.span",
    "Span": "spanview.model.span",
    "Status": "spanview.model.span",
    "load": "spanview.sources.loading",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is used first: `spanview --help` loads next to nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'spanview' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names, those that were not imported yet among them."""
    return sorted({*globals(), *__all__})
