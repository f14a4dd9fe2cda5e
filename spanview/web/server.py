"""The server of the viewer's pages: it listens to this machine alone, and starts a viewer for each tab.

textual-serve has what is shown in a browser, a terminal (xterm.js), and its own server, which asks nobody where they
come from, listens under any name, and lets pages load fonts from elsewhere: only its files are served.
"""

from __future__ import annotations

import asyncio
import errno
import html
import logging
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Final

import orjson
from aiohttp import WSCloseCode, WSMsgType, web
from aiohttp.http_exceptions import HttpProcessingError

from spanview.display.sanitise import sanitise
from spanview.model.problems import SpanviewError
from spanview.web.gate import LOOPBACK, AccessCheck
from spanview.web.tab import Tab, TabSize

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from spanview.web.standard_input import SharedInput

MAX_TABS: Final = 8
"""Each of them reads everything by itself."""
_PLACE_S: Final = 3.0
"""So long a new tab waits for another one to end: one that is loaded again opens before it has closed."""
_ENDING_S: Final = 10.0
_HEARTBEAT_S: Final = 15.0
"""A browser that doesn't answer for so long is gone."""
_GOODBYE_S: Final = 1.0
"""So long it has time to answer that its tab is closed."""
_ENDING: Final = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_OWN: Final = Path(__file__).parent / "page"
_FILES: Final = {
    "page.css": _OWN / "page.css",
    "page.js": _OWN / "page.js",
    "terminal.css": Path(str(files("textual_serve"))) / "static" / "css" / "xterm.css",
    "terminal.js": Path(str(files("textual_serve"))) / "static" / "js" / "textual.js",
}
_MAX_TITLE: Final = 200
_CLEARED: Final = "\x1b[?1049l\x1b[2J\x1b[H"


@dataclass(frozen=True, slots=True)
class ServedViewer:
    """What is served."""

    command: Callable[[int | None], tuple[Sequence[str], Mapping[str, str]]]
    """Returns the words that start a viewer, and its variables, by the descriptor of what is piped in."""
    title: str
    """What the page is called."""
    piped: SharedInput | None
    """What is piped in."""


def serve(viewer: ServedViewer, port: int, announce: Callable[[str], None]) -> None:
    """Serve a viewer until a signal ends it.

    Raises:
        SpanviewError: The port can't be had.
    """
    listener = _listener(port)
    asyncio.run(_serve(viewer, listener, announce))


def _listener(port: int) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise SpanviewError(f"port {port} is in use: give another --port, or leave it out") from None
        raise SpanviewError(f"can't listen on port {port}: {error.strerror or error}") from None


async def _serve(viewer: ServedViewer, listener: socket.socket, announce: Callable[[str], None]) -> None:
    gate, is_ended = AccessCheck(listener.getsockname()[1]), asyncio.Event()
    for number in _ENDING:
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, is_ended.set)
    tabs = _Tabs(viewer)
    logger = logging.getLogger("spanview.web")
    logger.addFilter(_is_ours)
    application = _application(gate, viewer.title, tabs)
    runner = web.AppRunner(application, access_log=None, logger=logger, shutdown_timeout=_ENDING_S)
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        announce(gate.address)
        await is_ended.wait()
    finally:
        await tabs.close()
        await runner.cleanup()


def _is_ours(record: logging.LogRecord) -> bool:
    """Tell whether an error is of concern to whoever runs this: what isn't HTTP is answered, and that is all."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def _application(gate: AccessCheck, title: str, tabs: _Tabs) -> web.Application:
    @web.middleware
    async def guard(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        is_socket = "Upgrade" in request.headers
        if refusal := gate.refusal(request.path, request.headers, is_socket=is_socket):
            raise web.HTTPForbidden(text=f"{refusal}\n")
        return await handler(request)

    async def send_headers(request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(gate.headers(request.headers.get("Host", "")))

    async def page(request: web.Request) -> web.Response:
        place = f"{request.headers['Host']}/{gate.token}"
        filled = Template((_OWN / "page.html").read_text(encoding="utf-8")).substitute(
            title=html.escape(sanitise(title, _MAX_TITLE)), files=f"/{gate.token}/files", socket=f"ws://{place}/socket"
        )
        return web.Response(text=filled, content_type="text/html")

    async def file(request: web.Request) -> web.StreamResponse:
        path = _FILES.get(request.match_info["name"])
        if path is None:
            raise web.HTTPNotFound
        return web.FileResponse(path)

    application = web.Application(middlewares=[guard])
    application.on_response_prepare.append(send_headers)
    application.add_routes(
        [
            web.get("/{token}", page),
            web.get("/{token}/", page),
            web.get("/{token}/files/{name}", file),
            web.get("/{token}/socket/{background}", tabs.open),
        ]
    )
    return application


class _Tabs:
    """The tabs that are open."""

    def __init__(self, viewer: ServedViewer) -> None:
        self._viewer = viewer
        self._places = asyncio.Semaphore(MAX_TABS)
        self._sockets: set[web.WebSocketResponse] = set()

    async def open(self, request: web.Request) -> web.WebSocketResponse:
        """Show a viewer in a tab, for as long as both are there."""
        browser = web.WebSocketResponse(heartbeat=_HEARTBEAT_S, timeout=_GOODBYE_S, compress=False)
        await browser.prepare(request)
        self._sockets.add(browser)
        try:
            await asyncio.wait_for(self._places.acquire(), _PLACE_S)
        except TimeoutError:
            await _say_last(browser, f"{MAX_TABS} tabs are open, and each of them reads everything: close one first")
        else:
            try:
                await self._show(browser, request)
            except OSError as error:
                await _say_last(browser, f"no viewer can be started: {error.strerror or error}")
            finally:
                self._places.release()
        finally:
            self._sockets.discard(browser)
        return browser

    async def _show(self, browser: web.WebSocketResponse, request: web.Request) -> None:
        piped = None if self._viewer.piped is None else self._viewer.piped.pipe()
        words, variables = self._viewer.command(piped)
        tab = await Tab.begin(
            words,
            variables,
            TabSize.of(request.query.get("width"), request.query.get("height")),
            piped,
            is_light=request.match_info["background"] == "light",
        )
        painting = asyncio.create_task(_paint(tab, browser))
        try:
            async for message in browser:
                if message.type == WSMsgType.TEXT:
                    await _take(tab, browser, message.data)
        finally:
            await tab.end()
            await painting

    async def close(self) -> None:
        """End all of them."""
        await asyncio.gather(*(browser.close(code=WSCloseCode.GOING_AWAY) for browser in self._sockets))


async def _paint(tab: Tab, browser: web.WebSocketResponse) -> None:
    complaint = await tab.paint(browser.send_bytes)
    await _say_last(browser, complaint)


async def _say_last(browser: web.WebSocketResponse, text: str) -> None:
    """Leave a text in a tab's terminal, if there is one, and end the tab."""
    if text:
        with suppress(ConnectionError):
            await browser.send_bytes((_CLEARED + "\r\n".join(map(sanitise, text.splitlines()))).encode())
    await browser.close()


async def _take(tab: Tab, browser: web.WebSocketResponse, text: str) -> None:
    """Pass on what a page sends; what no page of ours would send is left alone."""
    try:
        message: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return
    match message:
        case ["stdin", str(typed)]:
            await tab.type(typed)
        case ["resize", {"width": int(width), "height": int(height)}]:
            await tab.resize(TabSize.of(width, height))
        case ["focus" | "blur" as kind, *_]:
            await tab.tell(kind)
        case ["ping", time]:
            with suppress(ConnectionError):
                await browser.send_json(["pong", time])
