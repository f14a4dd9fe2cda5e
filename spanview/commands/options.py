"""The options of a call, as one frozen object; nothing below reads the command line or the environment."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVED: Final = "SPANVIEW_SERVED"
"""The variable that tells a viewer that it is one of a browser's tabs."""
_SIZE: Final = re.compile(r"(\d+)\s*([kmg]?)(?:i?b)?", re.IGNORECASE)
"""`16MiB`, `16 mb`, `16m`, `500000`; each of them by powers of 1024."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    command: str
    paths: tuple[str, ...] = ()
    """As given; empty for the default places."""
    follow: bool = False
    queries: tuple[str, ...] = ()
    """What has to match, all of them; none is empty."""
    since: str | None = None
    trace: str | None = None
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
    """Whether trees are printed with bars."""
    width: int = 100
    """Columns of a tree with bars."""
    color: str = "auto"
    """`auto`, `always` or `never`."""
    by: str = "name"
    json: bool = False
    fail_on: tuple[str, ...] = ()
    """Queries, of which none may match a span."""
    allow_empty: bool = False
    """Whether queries that no span could match are allowed."""
    sides: tuple[str, ...] = ()
    """What `diff` compares, two as given; empty for the other commands."""
    address: str | None = None
    """The Ray cluster that is collected from: `auto`, or host and port of its head."""
    dashboard: str | None = None
    """The URL of the dashboard that is collected from instead."""
    node_paths: tuple[str, ...] = ()
    """Where span files are on each node; empty for the default places."""
    ray: str | None = None
    """The Ray cluster that is shown, or that counts: `auto`, or host and port of its head."""
    web: bool = False
    """Whether the viewer is shown in browsers."""
    port: int = 0
    """Where they find it; 0 for any port that is free."""
    served: str | None = None
    """None for a viewer at a terminal. One in a tab of a browser has the descriptor of what is piped in, or nothing."""
    environment: Mapping[str, str] = field(default_factory=dict)


def parse_size(text: str) -> int:
    """Return `16MiB`, `16m` or `16777216` as bytes.

    Raises:
        ValueError: It is no size, or zero.
    """
    match = _SIZE.fullmatch(text.strip())
    bytes_ = int(match[1]) * 1024 ** " kmg".index(match[2].lower() or " ") if match else 0
    if not bytes_:
        raise ValueError(text)
    return bytes_
