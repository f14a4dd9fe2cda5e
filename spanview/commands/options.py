"""The options of a call, as one frozen object; nothing below reads the command line or the environment."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.analysis.query.selection import Selection

SERVED: Final = "SPANVIEW_SERVED"
"""The variable that tells a viewer that it is one of a browser's tabs."""
INTERNAL_ERROR: Final = 70
"""The exit status of an error of spanview's own; 1 says that `check` found something."""

NO_SEVERITY: Final = "none"
"""What stands for no severity."""


class Options(NamedTuple):
    """What the command line says; `cli` has what each option means."""

    command: str
    paths: tuple[str, ...] = ()
    """As given; empty for the default places."""
    follow: bool = False
    queries: tuple[str, ...] = ()
    """What has to match, all of them; none is empty."""
    since: str | None = None
    traces: tuple[str, ...] = ()
    """The first digits of ids of traces; empty for all."""
    cap: int = 16 * 1024 * 1024
    """Bytes of the longest record that is kept."""
    use_cache: bool = True
    """Whether the index of a large folder may be kept, and taken from where it is kept."""
    output: str | None = None
    force: bool = False
    format: str = "trace-tree"
    svg: str | None = None
    """The file that a picture goes to; `-` for standard output."""
    bars: bool = False
    width: int | None = None
    """Columns of a tree with bars; None for 100."""
    color: str = "auto"
    """`auto`, `always` or `never`."""
    by: str = "name"
    lines: int = 40
    """Of an explanation, at most."""
    value: str | None = None
    """The key of the attribute whose numbers are added up; None for durations."""
    sort: str | None = None
    """The column that a table is sorted by, - before it for the reverse order; None for the table's own order."""
    limit: int | None = None
    """Rows of a table, or traces, that are printed; None for all."""
    save: str | None = None
    """The file that keeps what the statistics rest on."""
    fail_on: tuple[str, ...] = ()
    """Queries, of which none may match a span, and figures with limits; of `diff`, changes of figures."""
    severity: str = "warning"
    """The severity from which on what was found counts; `NO_SEVERITY` for none."""
    ignore: tuple[str, ...] = ()
    """Kinds of findings and problems that are left out."""
    allow_empty: bool = False
    ignore_noise: bool = False
    """Whether a change counts that the spread of both sides explains, or that too few spans show."""
    namesake: str | None = None
    """A file or folder that is called like the command, where no PATH is given; None if there is none."""
    sides: tuple[str, ...] = ()
    """What `diff` compares, two as given; empty for the other commands."""
    address: str | None = None
    """The Ray cluster that is collected from: host and port of its head, or None and `auto` for this machine's."""
    dashboard: str | None = None
    node_paths: tuple[str, ...] = ()
    """Where span files are on each node; empty for the default places."""
    ray: str | None = None
    """The Ray cluster that is shown, or that counts: `auto`, or host and port of its head."""
    web: bool = False
    port: int | None = None
    served: str | None = None
    """None for a viewer at a terminal. One in a tab of a browser has the descriptor of what is piped in, or nothing."""
    http: int | None = 4318
    """The port for OTLP over HTTP: 0 for any that is free, None for none."""
    grpc: int | None = 4317
    """The port for OTLP over gRPC: 0 for any that is free, None for none."""
    host: str = "localhost"
    words: tuple[str, ...] = ()
    """The command and its options as they were given, where no PATH is."""
    view: bool = False
    nothing: tuple[str, ...] = ()
    """What the viewer shows while there is no span; empty for how to turn tracing on."""
    keep: tuple[str, ...] = ()
    """What is kept besides spans: `logs`, `metrics` or `all`."""
    max_body: int = 64 * 1024**2
    max_file: int = 256 * 1024**2
    max_bytes: int = 0
    """Bytes of all received files; 0 for any number."""
    fsync: bool = False
    cors: tuple[str, ...] = ()
    """Where web pages come from that may send; `*` for any."""
    endpoint: str | None = None
    protocol: str | None = None
    """`http/json`, `http/protobuf` or `grpc`; None for the environment's."""
    headers: tuple[str, ...] = ()
    """Of requests, each as `NAME=VALUE`."""
    timeout: float | None = None
    compression: str | None = None
    """`gzip` or `none`; None for the environment's."""
    batch: int = 512
    rate: float | None = None
    shift_to_now: bool = False
    """Whether all times are moved, so that the newest span ends now."""
    state: str | None = None
    environment: Mapping[str, str] = {}

    def selection(self) -> Selection:
        """Return which traces and spans are asked for; with `follow`, of those that are there already.

        Raises:
            QueryError: A query or the time can't be understood.
            TraceNotFoundError: No trace's id can begin with a given one.
        """
        from spanview.analysis.query.selection import Selection
        from spanview.analysis.query.since import parse_since

        since = None if self.since is None else parse_since(self.since, time.time_ns())
        return Selection(self.queries, since, self.traces, is_partial=self.follow)
