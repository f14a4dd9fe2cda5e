"""`spanview --web`: the viewer in a browser, which begins a viewer of the same for each tab."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from spanview.commands.options import SERVED
from spanview.commands.reading import standard_input
from spanview.commands.standard_error import say
from spanview.commands.view import checked_places
from spanview.model.problems import SpanviewError
from spanview.sources.discover import STANDARD_INPUT
from spanview.sources.places import in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanview.commands.options import Options


def run(options: Options) -> int:
    """Serve the viewer until it is interrupted.

    Raises:
        SpanviewError: What it needs isn't installed, the port is taken, or there is nothing that can be shown.
    """
    if not all(map(find_spec, ("aiohttp", "textual_serve"))):
        raise SpanviewError("the viewer in a browser needs another package: pip install 'spanview[web]'")
    paths = checked_places(options)
    stream = standard_input(paths)
    if stream is not None and os.name != "posix":
        raise SpanviewError(f"{STANDARD_INPUT} can't be shown in a browser on this system: give a file")
    from spanview.web.server import ServedViewer, serve
    from spanview.web.standard_input import SharedInput

    words = [sys.executable, "-m", "spanview", *words_of(options)]

    def command(piped: int | None) -> tuple[Sequence[str], Mapping[str, str]]:
        return words, {**options.environment, SERVED: "" if piped is None else str(piped)}

    piped = None if stream is None else SharedInput(stream, say)
    serve(ServedViewer(command, f"spanview · {in_words(paths)}", piped), options.port or 0, _announce)
    return 0


def words_of(options: Options) -> list[str]:
    """Return the words by which a viewer shows the same in a tab, whatever words have asked for it."""
    return [
        "view",
        *(["--follow"] if options.follow else []),
        *(f"--query={query}" for query in options.queries),
        *([] if options.since is None else [f"--since={options.since}"]),
        *(f"--trace={prefix}" for prefix in options.traces),
        f"--color={options.color}",
        f"--max-span-size={options.cap}",
        *([] if options.use_cache else ["--no-cache"]),
        "--",
        *options.paths,
    ]


def _announce(address: str) -> None:
    say("open this address in a browser on this machine; Ctrl+C ends it")
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
