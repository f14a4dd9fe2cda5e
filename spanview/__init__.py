"""spanview: the `less` of distributed traces.

>>> import spanview
>>> store = spanview.load("fixtures/ray-tasks-bundled-hook")
>>> trace = max(store.traces, key=lambda trace: trace.span_count)
>>> trace.span_count
19
"""

import typing as _typing

from spanview.version import __version__

if _typing.TYPE_CHECKING:
    from spanview.api.captured import CapturedSpans
    from spanview.api.following import follow
    from spanview.api.report import Explanation, Report
    from spanview.api.rows import (
        Amounts,
        Call,
        CallGroup,
        Difference,
        Finding,
        Group,
        PathShare,
        Request,
        RequestGroup,
        Sentence,
    )
    from spanview.api.spans import from_spans
    from spanview.api.store import Store, diff, export, load
    from spanview.api.trace import Answer, AnswerPart, Node, PathSection, Trace
    from spanview.model.problems import (
        CollectError,
        DiffError,
        ExportError,
        NoSuchPathError,
        Problem,
        ProblemKind,
        PushError,
        QueryError,
        ReceiveError,
        Severity,
        SpanviewError,
        Summary,
        TraceNotFoundError,
        Warnings,
    )
    from spanview.model.span import Event, Link, Resource, Scope, Source, Span, Status

__all__ = [
    "Amounts",
    "Answer",
    "AnswerPart",
    "Call",
    "CallGroup",
    "CapturedSpans",
    "CollectError",
    "DiffError",
    "Difference",
    "Event",
    "Explanation",
    "ExportError",
    "Finding",
    "Group",
    "Link",
    "NoSuchPathError",
    "Node",
    "PathSection",
    "PathShare",
    "Problem",
    "ProblemKind",
    "PushError",
    "QueryError",
    "ReceiveError",
    "Report",
    "Request",
    "RequestGroup",
    "Resource",
    "Scope",
    "Sentence",
    "Severity",
    "Source",
    "Span",
    "SpanviewError",
    "Status",
    "Store",
    "Summary",
    "Trace",
    "TraceNotFoundError",
    "Warnings",
    "__version__",
    "diff",
    "export",
    "follow",
    "from_spans",
    "load",
]

_HOMES = (
    *("model.problems", "model.span"),
    *(f"api.{module}" for module in ("rows", "report", "trace", "store", "spans", "following", "captured")),
)
"""Where these are, each before those that import it."""


# A type checker that saw it would take any name for one of the package's.
if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a public name when it is used first: `spanview --help` loads next to nothing."""
        from importlib import import_module

        for home in _HOMES if name in __all__ else ():
            module = import_module(f"spanview.{home}")
            if name in vars(module):
                return vars(module)[name]
        raise AttributeError(f"module 'spanview' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, whether they were imported yet or not."""
    return sorted(__all__)
