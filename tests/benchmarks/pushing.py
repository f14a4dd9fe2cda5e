"""P18, the pushing half: processor time of a span from its file to an endpoint that takes all and looks at nothing."""

from __future__ import annotations

import socketserver
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from .figures import Figure, cpu_seconds_of, in_turns
from .folders import Layout, Shape, folder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MOST_US: Final = 50.0
"""Microseconds of processor time a span, which is 20,000 spans a second on one core."""
_PROTOCOLS: Final = ("http/json", "http/protobuf")
_LAYOUTS: Final = (Layout.MIXED, Layout.OTLP)


def push(spans: int, rounds: int) -> list[Figure]:
    """P18: whole processes of `spanview push`, over HTTP in both forms, from files of the SDK and of our hook."""
    cases = [(protocol, layout) for layout in _LAYOUTS for protocol in _PROTOCOLS]
    with _sink() as url:

        def measure(protocol: str, layout: Layout) -> Callable[[], float]:
            folder = str(folder_of(Shape(spans, layout=layout)))
            words = ("-m", "spanview", "push", folder, "--no-cache", "--endpoint", url, "--protocol", protocol)
            return lambda: cpu_seconds_of(*words)

        seconds = in_turns([measure(*case) for case in cases], rounds)
    return [
        Figure("P18", f"a span pushed over {protocol}, from files {layout}", each / spans * 1e6, "µs", limit=_MOST_US)
        for (protocol, layout), each in zip(cases, seconds, strict=True)
    ]


class _Sink(socketserver.StreamRequestHandler):
    """Answers each request with success."""

    def handle(self) -> None:
        """Take requests until the connection ends."""
        while line := self.rfile.readline():
            length = 0
            while line.strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                line = self.rfile.readline()
            while length:
                length -= len(self.rfile.read1(length))
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


@contextmanager
def _sink() -> Iterator[str]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Sink) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
