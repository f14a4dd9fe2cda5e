"""One call of a tool, what it asks for, and of which spans: the PATHs, read again where files have changed since."""

from __future__ import annotations

import json
import shlex
import time
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.query.selection import Selection
from spanview.analysis.query.since import parse_since
from spanview.commands.reading import places, read_all, read_options
from spanview.sources.discover import Listing, discover, is_as_listed, is_there
from spanview.sources.unended import let_ask, unended_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.analysis.ray.unended import Unended
    from spanview.commands.options import Options
    from spanview.index.store import Store

LIMIT: Final = 20
"""Rows of an answer, unless another number is asked for."""
ONLY_OWN_SESSIONS: Final = ""
"""The folder of Ray's latest session for who reads no session but those that PATHs are in."""
_CALLS: Final = {
    "ray-call": ("calls", "call"),
    "serve": ("requests", "route"),
    "serve-request": ("requests", "request"),
}
"""Which tool answers `stats --by`, and what it calls that; others are answered by `stats`."""
_ARGUMENTS: Final = {"-q": "query", "--trace": "trace", "--by": "by", "--since": "since"}
"""What options are called there."""


def call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as it is written down: `stats({"by": "name", "offset": 20})`."""
    return f"{tool}({json.dumps(arguments, ensure_ascii=False) if arguments else ''})"


def call_of_command(words: str) -> str:
    """Return the call that answers what a command answers, given by its words behind `spanview`."""
    command, *rest = shlex.split(words)
    if command in _ARGUMENTS:
        # The viewer's list.
        command, rest = "tree", [command, *rest]
    given = dict[str, str]()
    for option, value in pairwise(rest):
        if option == "-q" and "query" in given:
            given["query"] = f"({given['query']}) ({value})"
        elif option in _ARGUMENTS:
            given[_ARGUMENTS[option]] = value
    if command == "explain" and not given:
        given["trace"] = rest[0]
    elif command == "tree" and "trace" in given:
        return call_text("critical_path" if "--bars" in rest else "get_trace", given)
    elif given.get("by") in _CALLS:
        command, given["by"] = _CALLS[given["by"]]
    return call_text({"tree": "list_traces", "spans": "query_spans"}.get(command, command), given)


class Recordings:
    """What is in the PATHs now, and nowhere else."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._store: Store | None = None
        self._listed: tuple[list[str], Listing] = [], Listing()
        self._has_decoded_all = False

    @property
    def options(self) -> Options:
        """As they were given, with the PATHs that are read.

        Raises:
            NoSuchPathError: None was given, and none of the default places is there.
        """
        return self._options._replace(paths=places(self._options))

    def store(self, *, decodes_all: bool = False) -> Store:
        """Return the spans that are there.

        Args:
            decodes_all: Whether damage is to be found that reading doesn't notice.

        Raises:
            SpanviewError: They can't be read.
        """
        how = read_options(self._options)
        paths = [path for path in (*how.paths, *how.events) if is_there(path)]
        listed_paths, listing = self._listed
        is_current = self._store is not None and paths == listed_paths and is_as_listed(paths, listing)
        if self._store is None or not is_current or (decodes_all and not self._has_decoded_all):
            # What changes while it is read has changed when it is asked for again.
            self._listed = paths, discover(paths)
            # Not two of them at a time.
            self._store = None
            self._store = read_all(self._options, decodes_all=decodes_all)
            self._has_decoded_all = decodes_all
        # Also of what was read before: what runs is found out anew.
        let_ask(self._store, ONLY_OWN_SESSIONS)
        return self._store

    def unended(self, store: Store) -> Mapping[int, Unended]:
        """Return what has become of spans without an end, by row."""
        return unended_in(store, session=ONLY_OWN_SESSIONS)


class Question:
    """What is asked for by one call, with arguments as the tool's schema has them."""

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

    @property
    def options(self) -> list[str]:
        """What commands call the query and the time that are asked for."""
        given = (option for option, name in _ARGUMENTS.items() if name in {"query", "since"})
        return [word for option in given if (value := self.get(_ARGUMENTS[option])) for word in (option, value)]

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
