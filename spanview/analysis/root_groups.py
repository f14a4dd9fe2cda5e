"""What traces are grouped by: the names of their roots, and of requests to Ray Serve the route instead of the path.

proxy_http_request Shop GET /cart/7       a root
  route_to_replica Shop __call__          knows the route, /cart/{n}
proxy_http_request Shop GET /cart/{n}     the group

The proxy's span has the requested path, and only the router knows the route. If no span below the proxy has one, the
group has the root's name. A path has one route: it is read once for each name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.names import function_of
from spanview.analysis.serve.requests import Part, name_of_trace, part_of_name, route_in
from spanview.analysis.telling import unheard
from spanview.index.table import NO_ROW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store

_WITH_PATH: Final = re.compile(r"(proxy_(?:http|websocket)_request \S+ \S+ )(?:/.*)?", re.DOTALL)
"""As in `proxy_http_request Shop GET /cart/7`; the path may be empty."""
_TRACES_PER_REPORT: Final = 256
"""Traces."""


def names_of_root(name: str) -> Iterator[str]:
    """Yield what a trace may be called by the name of its root, each once.

    Its own, a request without what Serve calls the proxy's span, and all endings of a function's path that have whole
    parts: `proxy_http_request Shop GET /` is `Shop GET /`; `__main__.load ray.remote` is `__main__.load`, and `load`.
    """
    yield name
    if (request := name_of_trace(name)) != name:
        yield request
    if (path := function_of(name)) != name:
        yield path
        while path := path.partition(".")[2]:
            yield path


class RootGroups:
    """The groups of the traces of a store, which may grow meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._name_count = 0
        """How many names were checked for a path."""
        self._open: set[int] = set()
        """The names with a path whose route isn't known."""
        self._counts_without_route: dict[int, int] = {}
        """The number of spans of traces in which no route was found."""
        self.groups: dict[int, str] = {}
        """The group of each name; other names are groups by themselves."""

    def of_name(self, name: int) -> str:
        """Return the group of a root by the number of its name, as far as `find_routes` knows it."""
        known = self.groups.get(name)
        return self._store.names.texts[name] if known is None else known

    @property
    def open(self) -> int:
        """For how many names `find_routes` would find the route, at most."""
        self._take_names()
        return len(self._open)

    def find_routes(self, tell: Tell = unheard) -> None:
        """Find the routes of the current traces; one record is read for each name."""
        self._take_names()
        if not self._open:
            return
        names, table = self._store.spans.name, self._store.trace_table
        roots = table.root_row[:]
        for trace, row in enumerate(roots):
            if not trace % _TRACES_PER_REPORT:
                tell(trace / len(roots))
            if row == NO_ROW or names[row] not in self._open:
                continue
            self._look_below(trace, row)

    def of_trace(self, trace: int) -> str | None:
        """Return the group of a trace, where at most a record or two are read for it; None where it has no root."""
        row = self._store.trace_table.root_row[trace]
        if row == NO_ROW:
            return None
        name = self._store.spans.name[row]
        if name not in self.groups:
            self._take_names()
            if name in self._open:
                self._look_below(trace, row)
        return self.of_name(name)

    def _look_below(self, trace: int, root: int) -> None:
        """Find the route of a trace whose root has a path, unless it had none with as many spans."""
        count, name = self._store.trace_table.span_count[trace], self._store.spans.name[root]
        if self._counts_without_route.get(trace) == count:
            return
        route = self._route_below(trace, root)
        match = _WITH_PATH.fullmatch(self._store.names.texts[name])
        if route and match:
            self.groups[name] = match[1] + route
            self._open.discard(name)
        else:
            self._counts_without_route[trace] = count

    def _take_names(self) -> None:
        texts = self._store.names.texts
        new = range(self._name_count, len(texts))
        self._open.update(number for number in new if _WITH_PATH.fullmatch(texts[number]))
        self._name_count = new.stop

    def _route_below(self, trace: int, root: int) -> str:
        """Return the route that a routing or a replica below a proxy has; empty if none has one."""
        spans, texts = self._store.spans, self._store.names.texts
        for part in (Part.ROUTE, Part.REPLICA):
            for row in self._store.rows_of_trace(trace):
                if spans.parent_id[row] == spans.span_id[root] and part_of_name(texts[spans.name[row]]) is part:
                    route = route_in(self._store.span(row).attributes)
                    if route.startswith("/"):
                        return route
        return ""
