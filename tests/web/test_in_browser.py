"""The viewer in a real browser: what it shows, what its keys do, and what other pages can't do.

page             the terminal, as large as the window; keys, clicks and the clipboard go the way they go in a terminal
another page     knows the address, and can neither read it, nor show it, nor open its socket
"""

from __future__ import annotations

import http.server
import re
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pytest

from browsers import chromium
from builders import Builder, file_of
from programs import DEADLINE_S
from served import Served, are_gone_soon
from terminals import Picture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Page, WebSocket

SPANS: Final = Path(__file__).parents[2] / "fixtures" / "ray-tasks-bundled-hook" / "spans"
_LARGEST: Final = (300, 100)
_POLL_MS: Final = 50


class BrowserTab:
    """A tab of a browser, and what its terminal was sent."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.asked: list[str] = []
        """The addresses that it asked for, and those of its sockets."""
        self.said: list[str] = []
        """Errors in its console, and those that nothing caught."""
        self._output = b""
        self._picture = Picture(_LARGEST)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("websocket", self._listen)
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("console", self._note)

    def _note(self, message: ConsoleMessage) -> None:
        # Of a busy machine, the terminal has warnings.
        if message.type == "error":
            self.said.append(message.text)

    def _listen(self, socket: WebSocket) -> None:
        self.asked.append(socket.url)
        socket.on("framereceived", self._take)

    def _take(self, payload: Any) -> None:
        if isinstance(payload, bytes):
            self._output += payload

    @property
    def lines(self) -> list[str]:
        """What its terminal was sent, as lines."""
        self._picture.draw(self._output)
        return self._picture.lines

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so."""
        until = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < until, (self.lines, self.said)
            self.page.wait_for_timeout(_POLL_MS)

    def until_shown(self, *texts: str) -> None:
        """Wait until texts are on its screen, each within a line."""
        self.until(lambda: all(any(text in line for line in self.lines) for text in texts))

    def places_of(self, text: str) -> list[tuple[int, int]]:
        """Return where a text stands on its screen: column and row of its first cell, counted from 1."""
        self._picture.draw(self._output)
        return self._picture.places_of(text)

    def click(self, column: int, row: int) -> None:
        """Click on a cell, counted from 1."""
        screen = self.page.locator(".xterm-screen").bounding_box()
        assert screen is not None
        across, down = self.size
        self.page.mouse.click((column - 0.5) * screen["width"] / across, (row - 0.5) * screen["height"] / down)

    @property
    def size(self) -> tuple[int, int]:
        """Cells across and down, as it was opened."""
        (socket,) = (url for url in self.asked if url.startswith("ws:"))
        across, down = (int(number) for number in re.findall(r"=(\d+)", socket))
        return across, down

    def until_focused(self) -> None:
        """Wait until what is typed goes to the terminal."""
        self.until(lambda: self.page.evaluate("document.activeElement.tagName") == "TEXTAREA")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a browser."""
    with chromium() as there:
        yield there


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """Return a server of a recording."""
    with Served(SPANS) as server:
        yield server


@contextmanager
def tab_of(browser: Browser, address: str, *, is_dark: bool = True) -> Iterator[BrowserTab]:
    """Open an address in a window of its own."""
    context = browser.new_context(
        viewport={"width": 1000, "height": 600}, color_scheme="dark" if is_dark else "light", timezone_id="UTC"
    )
    context.add_init_script("navigator.clipboard.writeText = async text => { window.copied = text; };")
    tab = BrowserTab(context.new_page())
    try:
        tab.page.goto(address)
        yield tab
    finally:
        context.close()


def test_the_viewer_in_a_tab(browser: Browser, served: Served) -> None:
    """It shows the traces, takes keys, clicks and sizes, and asks nobody but its server."""
    with tab_of(browser, served.address) as tab:
        tab.until_shown("31 traces", "pipeline")
        tab.until_focused()
        (process,) = served.viewers
        first = tab.page.screenshot()
        tab.page.keyboard.press("Enter")
        tab.until_shown("‹ pipeline", "119 ms = ")
        tab.until(lambda: tab.page.screenshot() != first)
        tab.page.keyboard.press("I")
        tab.until_shown("copied the trace id")
        assert len(tab.page.evaluate("window.copied")) == 32
        tab.page.keyboard.press("T")
        tab.until_shown("theme: light")
        tab.page.keyboard.press("Escape")
        tab.until(lambda: not any("‹ pipeline" in line for line in tab.lines))
        tab.click(*tab.places_of("Calls")[0])
        tab.until_shown("TOTAL WAIT")
        tab.page.set_viewport_size({"width": 1600, "height": 900})
        tab.until(lambda: any("? help" in line for line in tab.lines[45:]))
        hosts = {urlsplit(url).netloc for url in tab.asked if not url.startswith("data:")}
        assert hosts == {urlsplit(served.address).netloc}
        assert tab.said == []
    assert are_gone_soon([process])


def test_the_viewer_is_light_in_a_light_browser(browser: Browser, served: Served) -> None:
    """The theme is the browser's; the next one of the light one isn't the light one again."""
    with tab_of(browser, served.address, is_dark=False) as tab:
        tab.until_shown("31 traces")
        tab.until_focused()
        tab.page.keyboard.press("T")
        tab.until_shown("theme: ")
        assert not any("theme: light" in line for line in tab.lines)


def test_a_viewer_that_is_left_can_be_opened_again(browser: Browser, served: Served) -> None:
    """The page says that it has ended, and its button opens another one."""
    with tab_of(browser, served.address) as tab:
        tab.until_shown("31 traces")
        tab.until_focused()
        (process,) = served.viewers
        assert not tab.page.locator("#ended").is_visible()
        tab.page.keyboard.press("q")
        tab.page.wait_for_selector("#ended", state="visible")
        assert are_gone_soon([process])
        tab.page.click("#again")
        tab.until(lambda: served.viewers and served.viewers != [process])


def test_links_in_texts_are_not_opened(browser: Browser, tmp_path: Path) -> None:
    """A click on a row selects it, whatever address stands in its name."""
    name = "GET http://evil.example/a-long-way-to-go"
    (tmp_path / "1.txt").write_bytes(file_of(Builder().span(name, trace=number) for number in (1, 2)))
    with Served(tmp_path) as served, tab_of(browser, served.address) as tab:
        tab.until_shown(name)
        ((column, row), _) = tab.places_of("evil.example")
        tab.click(column, row)
        tab.page.wait_for_timeout(300)
        assert len(tab.page.context.pages) == 1


_OTHER_PAGE: Final = b"""<!doctype html><title>another page</title><body><script>
const address = new URLSearchParams(location.search).get("address");
const socket = address.replace("http:", "ws:") + "socket/dark?width=80&height=24";
const outcome = element => new Promise(done => {
  element.onload = () => done("loaded"); element.onerror = () => done("refused"); document.body.append(element); });
async function attack() {
  const opened = await new Promise(done => {
    const tried = new WebSocket(socket); tried.onopen = () => done("opened"); tried.onerror = () => done("refused"); });
  const read = await fetch(address).then(answer => answer.text(), () => "refused");
  const blind = await fetch(address, { mode: "no-cors" }).then(answer => answer.text(), () => "refused");
  const script = document.createElement("script"); script.src = address + "files/page.js";
  const frame = document.createElement("iframe"); frame.src = address;
  const loaded = await outcome(script); await outcome(frame);
  return { opened, read, blind, loaded };
}
</script>"""


@pytest.fixture(scope="module")
def other_page() -> Iterator[str]:
    """Return the address of a page of another server on this machine."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(_OTHER_PAGE)

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def test_another_page_can_do_nothing(browser: Browser, served: Served, other_page: str) -> None:
    """Even one that knows the whole address, on the same machine, can't drive the viewer, read it or show it."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{other_page}?address={served.address}")
    assert page.evaluate("attack()") == dict.fromkeys(("opened", "read", "blind", "loaded"), "refused")
    # The frame is there, and nothing in it.
    assert [frame.query_selector("#terminal") for frame in page.frames] == [None, None]
    assert served.viewers == []
    context.close()
