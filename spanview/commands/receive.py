"""`spanview receive`: an OTLP endpoint that writes span files."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from spanview.commands.standard_error import say
from spanview.model.problems import ReceiveError

if TYPE_CHECKING:
    from spanview.commands.options import Options

_NEEDED: Final = ("aiohttp", "grpc", "google.rpc", "opentelemetry.proto")
_FILES_IN_FOLDER: Final = 4
"""How many files there are at least in a folder with a limit, so that not all goes at a time."""


def run(options: Options) -> int:
    """Receive until it is interrupted.

    Raises:
        ReceiveError: What it needs isn't installed, or nothing can be received.
    """
    if not all(map(_is_there, _NEEDED)):
        raise ReceiveError("receiving OTLP needs more than is installed: pip install 'spanview[otlp]'")
    # What gRPC's core says of connections has no place on standard error.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from spanview.otlp.body import Signal
    from spanview.otlp.http import HttpLimits
    from spanview.otlp.receiver import ReceiveOptions, receive
    from spanview.otlp.span_log import LogLimits

    assert options.output is not None  # noqa: S101 - for type checkers
    file_bytes = min(options.max_file, options.max_bytes // _FILES_IN_FOLDER or options.max_file)
    receive(
        ReceiveOptions(
            folder=options.output,
            host=options.host,
            http_port=options.http,
            grpc_port=options.grpc,
            limits=LogLimits(max(file_bytes, 1), options.max_bytes, options.fsync),
            http_limits=HttpLimits(options.max_body, frozenset(options.cors)),
            keep={Signal(kind) for kind in ("logs", "metrics") if {kind, "all"} & {*options.keep}},
        ),
        say,
    )
    return 0


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # What it is in isn't there.
        return False
