"""One call of a tool: what it asks for, and of which spans."""

from __future__ import annotations

import json
import shlex
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.query.selection import Selection
from spanview.analysis.query.since import parse_since

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.analysis.ray.unended import Unended
    from spanview.commands.agents.recordings import Recordings
    from spanview.index.store import Store

LIMIT: Final = 20
"""Rows of an answer, unless another number is asked for."""
_CALLS: Final = {"ray-call": ("calls", "call"), "serve-request": ("requests", "request")}
"""Which tool answers `stats --by`, and what it calls that; others are answered by `stats`."""


def call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as it is written down: `stats({"by": "name", "offset": 20})`."""
    return f"{tool}({json.dumps(arguments, ensure_ascii=False) if arguments else ''})"


def call_of_command(words: str) -> str:
    """Return the call that answers what a command answers, given by its words behind `spanview`."""
    command, *rest = shlex.split(words)
    has_bars = "--bars" in rest
    rest = [word for word in rest if word != "--bars"]
    if command == "explain":
        return call_text("explain", {"trace": rest[0]})
    given = {name.strip("-"): value for name, value in zip(rest[::2], rest[1::2], strict=True)}
    if "q" in given:
        return call_text("query_spans" if command == "spans" else "list_traces", {"query": given["q"]})
    if command == "tree":
        return call_text("critical_path" if has_bars else "get_trace", given)
    if given.get("by") in _CALLS:
        tool, by = _CALLS[given["by"]]
        return call_text(tool, {"by": by})
    return call_text(command, given)


class Question:
    """What is asked for by one call.

    Args:
        arguments: As the tool's schema has them.
    """

    def __init__(self, recordings: Recordings, tool: str, arguments: Mapping[str, Any]) -> None:
        self.recordings = recordings
        self.tool = tool
        self.arguments = arguments

    def get(self, name: str, default: Any = None) -> Any:
        """Return an argument."""
        return self.arguments.get(name, default)

    @property
    def first(self) -> int:
        """The position of the first row that is asked for."""
        return int(self.get("offset", 0))

    @property
    def end(self) -> int:
        """The position behind the last one."""
        return self.first + int(self.get("limit", LIMIT))

    @cached_property
    def selection(self) -> Selection:
        """Which spans are asked for.

        Raises:
            SpanviewError: That can't be understood.
        """
        query, since, trace = self.get("query", ""), self.get("since"), self.get("trace")
        return Selection(
            (query,) if query.strip() else (),
            None if since is None else parse_since(since, time.time_ns()),
            () if trace is None else (trace,),
        )

    @cached_property
    def store(self) -> Store:
        """What is there."""
        return self.recordings.store(decodes_all=self.tool == "check")

    @cached_property
    def traces(self) -> list[int] | None:
        """Which traces are asked for, by start; None for all.

        Raises:
            TraceNotFoundError: There is none that has the id.
        """
        return None if self.selection.is_everything else self.selection.traces(self.store)

    @cached_property
    def unended(self) -> Mapping[int, Unended]:
        """What has become of spans without an end, by row."""
        return self.recordings.unended(self.store)

    def again(self, **changes: Any) -> str:
        """Return the same call with other arguments; None leaves one out."""
        arguments = {**self.arguments, **changes}
        return call_text(self.tool, {name: value for name, value in arguments.items() if value is not None})
