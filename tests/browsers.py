"""Pages in a real browser, which notes what they should not do: say something in the console, or ask for something."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page, ViewportSize

WIDE: Final = (1280, 800)
NARROW: Final = (400, 800)
_DEADLINE_MS: Final = 60_000
_POLL_MS: Final = 20
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_INSTALLING_S: Final = 240


@dataclass(slots=True)
class Windows:
    """The windows of a browser: one of each kind that was asked for."""

    browser: Browser
    pages: dict[tuple[tuple[int, int], bool], Page] = field(default_factory=dict)

    def page(self, size: tuple[int, int], *, is_dark: bool) -> Page:
        """Return an empty page in a window of a size, in a light or a dark browser."""
        # A window of its own for each test would take half of the time of all of them.
        if (size, is_dark) not in self.pages:
            scheme: Literal["dark", "light"] = "dark" if is_dark else "light"
            viewport: ViewportSize = {"width": size[0], "height": size[1]}
            context = self.browser.new_context(viewport=viewport, color_scheme=scheme, timezone_id="UTC")
            self.pages[size, is_dark] = context.new_page()
        page = self.pages[size, is_dark]
        page.goto("about:blank")
        return page


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium; where there is none, skip the test."""
    executable = _executable()
    if executable is None:
        pytest.skip(f"none of {', '.join(_NAMES)} is installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # There is nothing but pages that the tests have written, and root can't have the sandbox.
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


def _executable() -> str | None:
    """Return where the browser is; where it is just being installed, once that has ended."""
    installing, until = os.environ.get("INSTALLING", ""), time.monotonic() + _INSTALLING_S
    while installing and os.path.exists(f"/proc/{installing}") and time.monotonic() < until:
        time.sleep(1)
    return next(filter(None, map(shutil.which, _NAMES)), None)


@dataclass(slots=True)
class Shown:
    """A page that is shown."""

    page: Page
    said: list[str] = field(default_factory=list)
    """What it said in the console, and errors that nothing caught."""
    asked: list[str] = field(default_factory=list)
    """The addresses that it asked for, but for itself."""

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, each once the page has followed the one before."""
        for key in keys:
            self.page.keyboard.press(key)
            # That the address has changed is a task of its own, and rows are drawn with the next frame.
            self.page.evaluate("new Promise(done => setTimeout(() => requestAnimationFrame(done), 20))")

    def texts(self, selector: str) -> list[str]:
        """Return the texts of elements that can be seen, in the order of the document."""
        texts: list[str] = self.page.evaluate(
            "selector => [...document.querySelectorAll(selector)].filter(one => one.checkVisibility())"
            ".map(one => one.textContent)",
            selector,
        )
        return texts

    @property
    def names(self) -> list[str]:
        """The names in the rows in sight, from the top."""
        names: list[str] = self.page.evaluate(
            "[...document.querySelectorAll('.row')].filter(row => !row.hidden)"
            ".sort((a, b) => a.dataset.index - b.dataset.index).map(row => row.querySelector('.name').textContent)"
        )
        return names

    def rows(self) -> list[list[str]]:
        """Return the texts of all rows of the list, cell by cell, as they are printed."""
        rows: list[list[str]] = self.page.evaluate(
            "() => { dispatchEvent(new Event('beforeprint'));"
            " const rows = [...document.querySelectorAll('.row')].filter(row => !row.hidden);"
            " const texts = rows.map(row => [...row.children].map(cell => cell.textContent));"
            " dispatchEvent(new Event('afterprint')); return texts; }"
        )
        return rows

    @property
    def selected(self) -> str:
        """The name in the row under the cursor."""
        return self.page.locator(".row[aria-selected=true] .name").inner_text()

    @property
    def hash(self) -> str:
        """What stands behind the file in the address."""
        text: str = self.page.evaluate("location.hash")
        return text

    def until(self, expression: str, value: Any = None) -> None:
        """Wait until an expression of JavaScript, or a function of a value, is true."""
        # Playwright would have the page itself look again, by `eval`, which its policy forbids.
        until = time.monotonic() + _DEADLINE_MS / 1000
        while not self.page.evaluate(expression, value):
            assert time.monotonic() < until, expression
            self.page.wait_for_timeout(_POLL_MS)


@contextmanager
def shown(
    windows: Windows, path: Path, at: str = "", *, size: tuple[int, int] = WIDE, is_dark: bool = False
) -> Iterator[Shown]:
    """Show a file, and see at the end that it kept quiet and asked for nothing.

    Args:
        path: The file.
        at: What stands behind it in the address, with its `#`.
        size: Pixels of the window.
        is_dark: Whether the browser's theme is dark.
    """
    page = windows.page(size, is_dark=is_dark)
    look = Shown(page)
    listeners: dict[Any, Callable[[Any], None]] = {
        "console": lambda message: look.said.append(message.text),
        "pageerror": lambda error: look.said.append(str(error)),
        "dialog": lambda dialog: look.said.append(f"a dialog: {dialog.message}"),
        "request": lambda request: look.asked.append(request.url),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    page.goto(path.as_uri() + at)
    page.wait_for_selector("body[data-ready]", timeout=_DEADLINE_MS)
    try:
        yield look
    finally:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
    itself = {url for url in look.asked if url.split("#")[0] == path.as_uri()}
    assert look.said == []
    # The icon is in the page, too: it is why no other is asked for.
    assert {*look.asked} - itself <= {"data:,"}
