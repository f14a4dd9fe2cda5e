"""`spanview receive`: an OTLP endpoint that writes span files."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from spanview.commands.beside import Beside
from spanview.commands.standard_error import say
from spanview.model.problems import ReceiveError

if TYPE_CHECKING:
    from spanview.commands.options import Options

_NEEDED: Final = ("aiohttp", "grpc", "google.rpc", "opentelemetry.proto")
_READY: Final = "receiving at "
"""How the line begins that says where is received, once that is so."""
_FILES_IN_FOLDER: Final = 4
"""How many files there are at least in a folder with a limit, so that not all goes at a time."""


def run(options: Options) -> int:
    """Receive until it is interrupted, or until the viewer is left.

    Raises:
        ReceiveError: What it needs isn't installed, or nothing can be received.
    """
    if sys.platform == "win32":
        raise ReceiveError("spanview receive needs Linux or macOS")
    if not all(map(_is_there, _NEEDED)):
        raise ReceiveError("receiving OTLP needs another package: pip install 'spanview[otlp]'")
    return _shown(options) if options.view else _receive(options)


def _shown(options: Options) -> int:
    """Show what another process receives meanwhile."""
    from spanview.commands import run as show

    # As it was called, but for the viewer.
    words = [word for word in options.words if word != "--view"]
    with Beside(words, options.environment) as receiving:
        if receiving.wait(lambda: any(line.startswith(_READY) for line in receiving.lines())) is not None:
            raise ReceiveError((receiving.lines() or ["the receiving process has ended"])[-1])
        begun = receiving.lines()
        for line in begun:
            say(line)
        nothing = (*begun, "where the spans come from, set OTEL_EXPORTER_OTLP_ENDPOINT to one of these")
        try:
            return show(options._replace(command="view", paths=(str(options.output),), follow=True, nothing=nothing))
        finally:
            receiving.end()
            for line in receiving.lines()[len(begun) :]:
                say(line)


def _receive(options: Options) -> int:
    # What gRPC's core says of connections has no place on standard error.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from spanview.otlp.body import Signal
    from spanview.otlp.http import HttpLimits
    from spanview.otlp.receiver import ReceiveOptions, receive
    from spanview.otlp.span_log import LogLimits

    assert options.output is not None  # noqa: S101 - for type checkers
    file_bytes = options.max_file
    if options.max_bytes:
        file_bytes = max(1, min(file_bytes, options.max_bytes // _FILES_IN_FOLDER))
    receive(
        ReceiveOptions(
            folder=options.output,
            host=options.host,
            http_port=options.http,
            grpc_port=options.grpc,
            limits=LogLimits(file_bytes, options.max_bytes, options.fsync),
            http_limits=HttpLimits(options.max_body, frozenset(options.cors)),
            keep={Signal(kind) for kind in ("logs", "metrics") if {kind, "all"} & {*options.keep}},
        ),
        say,
        ready=lambda where: say(f"{_READY}{where}"),
    )
    return 0


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # What it is in isn't there.
        return False
