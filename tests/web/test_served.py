"""`spanview --web`, without a browser: what is answered to whom, and what becomes of the viewers it has started.

server    ──▶ page, four files, a socket for each tab
socket    ──▶ a viewer, which ends with it, with the server, and when the server is killed
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

import psutil
import pytest

from builders import Builder, file_of
from programs import SPANVIEW, spanview
from served import Served, are_gone_soon, open_tab
from spanview.cli import _options
from spanview.commands.options import SERVED
from spanview.commands.web import run, words_of
from spanview.model.problems import SpanviewError
from spanview.web import server
from spanview.web.server import ServedViewer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

SPANS: Final = Path(__file__).parents[2] / "fixtures" / "ray-tasks-bundled-hook" / "spans"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """Return a server of a recording."""
    with Served(SPANS) as there:
        yield there


@pytest.mark.parametrize("name", ["", "files/page.js", "files/page.css", "files/terminal.js", "files/terminal.css"])
def test_everything_needs_the_token(served: Served, name: str) -> None:
    """The page and its files are there for whoever has the address, and not for others."""
    answer = served.ask(served.path + name)
    assert answer.status == 200
    assert answer.text
    assert served.ask(f"/{name}").status == 403
    assert served.ask(f"/{'A' * 32}/{name}").status == 403
    assert served.ask(served.path + name, Host="evil.example").status == 403
    assert served.ask(served.path + name, Origin="http://evil.example").status == 403


@pytest.mark.parametrize("name", ["", "files/page.js", "nothing", "socket/dark", "../wrong"])
def test_answers_are_of_no_use_to_other_pages(served: Served, name: str) -> None:
    """Whatever is answered, it can't be framed, loads nothing from elsewhere, is kept nowhere and tells nobody."""
    policy = served.ask(served.path + name).headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    for headers in ({}, {"Host": "evil.example"}):
        answer = served.ask(served.path + name, **headers)
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Content-Security-Policy"] == policy
        assert not [name for name in answer.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize(
    ("name", "method", "status"),
    [
        ("nothing", "GET", 404),
        ("files/", "GET", 404),
        ("files/server.py", "GET", 404),
        ("files/..%2f..%2fserver.py", "GET", 404),
        ("files/..%2fpage.js", "GET", 404),
        ("", "POST", 405),
        ("socket/dark", "GET", 400),
    ],
)
def test_nothing_else_is_there(served: Served, name: str, method: str, status: int) -> None:
    """No other file is served, and nothing can be changed."""
    assert served.ask(served.path + name, method).status == status


def test_sockets_are_for_the_page_alone(served: Served) -> None:
    """Another page, or a program that doesn't say where it comes from, opens no tab."""
    here = f"http://127.0.0.1:{served.port}"
    for origin in ("http://evil.example", f"http://127.0.0.1:{served.port + 1}", "null", here.replace("http", "https")):
        assert served.ask_for_socket(Origin=origin).status == 403
    assert served.ask_for_socket().status == 403
    assert served.ask_for_socket(Origin=here, Host=f"evil.example:{served.port}").status == 403
    assert served.viewers == []
    assert served.ask_for_socket(Origin=here).status == 101


@pytest.mark.parametrize(
    "data",
    [b"\x16\x03\x01\x02", b"GET / HTTP/1.1\r\n\r\n", b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n"],
    ids=["TLS", "no host", "a long path"],
)
def test_what_is_no_request(served: Served, data: bytes) -> None:
    """It is answered, and nobody is troubled with it."""
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.sendall(data)
        assert connection.recv(1024).startswith(b"HTTP/1.0 400 ")
    assert served.ask(served.path).status == 200
    assert len(served.process.notices) == 1


async def test_a_viewer_that_can_not_be_started() -> None:
    """The tab says why."""
    async with serving(["/no/such/program"]) as address, open_tab(address) as tab:
        assert "no viewer can be started: No such file or directory" in await tab.ends()


async def test_a_tab_shows_the_viewer_until_it_is_closed(served: Served) -> None:
    """Each tab has a viewer of its own, which takes its keys and its size, and ends with it."""
    async with open_tab(served.address) as tab, open_tab(served.address) as other:
        await tab.until("31 traces")
        await other.until("31 traces")
        processes = served.viewers
        assert len(processes) == 2
        await tab.press("\r")
        await tab.until("‹ pipeline")
        assert not any("‹ pipeline" in line for line in other.lines)
        await other.send("resize", {"width": 60, "height": 20})
        await other.press("L")
        await other.until("‹ workers")
        assert "? help" in other.lines[19]
    assert are_gone_soon(processes)


async def test_messages_that_no_page_sends(served: Served) -> None:
    """They are passed over, and the tab goes on."""
    async with open_tab(served.address) as tab:
        await tab.until("31 traces")
        for message in (["stdin"], ["stdin", 7], ["resize", {"width": "x", "height": -1}], ["resize"], [], ["quit"]):
            await tab.send(*message)
        await tab.send("resize", {"width": 10**12, "height": 36})
        await tab.send("stdin", "\udcff")
        await tab.press("L")
        await tab.until("7 workers")


async def test_following_begins_in_the_same_tab(tmp_path: Path) -> None:
    """The viewer begins anew in its process, as large as it was."""
    (tmp_path / "1.txt").write_bytes(file_of([Builder().span("alpha")]))
    with Served(tmp_path) as there:
        async with open_tab(there.address) as tab:
            await tab.until("alpha", "␣ follow")
            await tab.press(" ")
            await tab.until("● following", "alpha")
            assert max(map(len, tab.lines)) > 100
            (tmp_path / "2.txt").write_bytes(file_of([Builder().span("beta", trace=2)]))
            await tab.until("beta", "2 traces")


async def test_no_key_writes_a_file(tmp_path: Path) -> None:
    """Pictures, exports and settings stay in no folder; the keys say why."""
    (tmp_path / "spans").mkdir()
    (tmp_path / "spans" / "1.txt").write_bytes(file_of([Builder().span("alpha")]))
    program = ("/usr/bin/env", f"XDG_CONFIG_HOME={tmp_path}", *SPANVIEW)
    with Served("./spans", "--no-cache", program=program, folder=tmp_path) as there:
        async with open_tab(there.address) as tab:
            await tab.until("alpha", "1 trace")
            await tab.press("\r")
            await tab.until("‹ alpha")
            await tab.press("P")
            await tab.until("in a browser, no files are written")
            await tab.press("T")
            await tab.until("theme: ")
            await tab.press(":export as otlp")
            await tab.until("export as otlp: ")
            await tab.press("\r")
            await tab.until("in a browser, no files are written")
            await tab.press(":forget settings")
            await tab.until("forget settings: ")
            await tab.press("\r")
            await tab.until("defaults restored")
    assert files_in(tmp_path) == ["1.txt", "spans"]


def files_in(folder: Path) -> list[str]:
    """Return the names of everything in a folder, at any depth."""
    return sorted(path.name for path in folder.rglob("*"))


async def test_what_is_piped_in_is_there_for_each_tab(tmp_path: Path) -> None:
    """Each tab has it from its beginning on, as it comes, and after its end."""
    first, second = (file_of([Builder().span(name, trace=number)]) for number, name in ((1, "alpha"), (2, "beta")))
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    # For reading, too: else it would wait for a reader.
    writing = os.open(pipe, os.O_RDWR)
    os.write(writing, first)
    with Served(program=("/bin/sh", "-c", f'exec "$@" < {pipe}', "sh", *SPANVIEW)) as there:
        async with open_tab(there.address) as tab, open_tab(there.address) as other:
            await tab.until("spanview  -", "alpha", "reading")
            await other.until("alpha", "reading")
            os.write(writing, second)
            os.close(writing)
            await tab.until("beta", "2 traces")
            await other.until("beta", "2 traces")
        async with open_tab(there.address) as late:
            await late.until("alpha", "beta", "2 traces")


async def test_a_viewer_that_fails_says_why(served: Served) -> None:
    """What it would say at a terminal is in the tab, and at the server's terminal."""
    with Served(SPANS, "--trace", "ffff") as there:
        async with open_tab(there.address) as tab:
            assert "begins with ffff" in await tab.ends()
        there.process.wait_for_notice("begins with ffff")
    assert served.ask(served.path).status == 200


async def test_tabs_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more than there may be says so, and one that is closed gives its place to another."""
    monkeypatch.setattr(server, "MAX_TABS", 1)
    monkeypatch.setattr(server, "_PLACE_S", 0.2)
    async with serving([*SPANVIEW, *words_of(_options("view", [str(SPANS)]))]) as address:
        async with open_tab(address) as tab:
            await tab.until("31 traces")
            async with open_tab(address) as one_more:
                assert "1 tabs are open" in await one_more.ends()
        monkeypatch.setattr(server, "_PLACE_S", 10)
        async with open_tab(address) as next_one:
            await next_one.until("31 traces")


@asynccontextmanager
async def serving(command: Sequence[str]) -> AsyncIterator[str]:
    """Serve what a command starts in this process, and yield the address."""
    viewer = ServedViewer(lambda _: (command, {**os.environ, SERVED: ""}), "spans", None)
    announced: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(server._serve(viewer, server._listener(0), announced.set_result))
    yield await announced
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
async def test_viewers_end_with_the_server(number: signal.Signals) -> None:
    """Ctrl+C ends all of them, and so does what leaves the server no time to."""
    with Served(SPANS) as there:
        async with open_tab(there.address) as tab, open_tab(there.address):
            await tab.until("31 traces")
            processes = there.viewers
            assert len(processes) == 2
            assert there.process.stop(number) == (-signal.SIGKILL if number is signal.SIGKILL else 0)
            assert are_gone_soon(processes)


async def test_a_viewer_that_does_not_end_is_killed() -> None:
    """A process that stands still goes with its tab all the same."""
    with Served(SPANS) as there:
        async with open_tab(there.address) as tab:
            await tab.until("31 traces")
            processes = there.viewers
            processes[0].suspend()
        assert are_gone_soon(processes)


def test_a_port_that_is_taken() -> None:
    """It is said, and nothing is shared."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = spanview("--web", "--port", str(port), SPANS)
    assert outcome.status == 2
    assert outcome.lines == [f"spanview: port {port} is in use: give another --port, or leave it out"]


def test_a_port_that_is_asked_for() -> None:
    """It is the one in the address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Served(SPANS, "--port", str(port)) as there:
        assert there.port == port


def test_nobody_else_is_listened_to(served: Served) -> None:
    """Only this machine's own address is."""
    there = psutil.Process(served.process.pid).net_connections()
    listening = {each.laddr for each in there if each.status == psutil.CONN_LISTEN}
    assert listening == {("127.0.0.1", served.port)}


def test_without_what_it_needs() -> None:
    """A sentence says what to install."""
    options = _options("view", ["--web", str(SPANS)])
    with (
        patch("spanview.commands.web.find_spec", lambda name: None if name == "textual_serve" else find_spec(name)),
        pytest.raises(SpanviewError, match=r"pip install 'spanview\[web\]'"),
    ):
        run(options)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["-f", "spans"],
        ["-q", "-status=OK", "--since", "last", "--trace", "abc", "--trace", "def", "tree", "-"],
        ["--query=a b", "-q", "c'\"$(d)", "--", "-odd", "--"],
        ["--max-span-size", "1k", "--no-cache", "--color", "never", "--demo"],
    ],
)
def test_tabs_show_what_was_asked_for(words: list[str]) -> None:
    """The words of a tab's viewer mean the same as the words of the server."""
    options = _options("view", words)
    assert _options(*_command_of(words_of(options))) == options


def _command_of(words: list[str]) -> tuple[str, list[str]]:
    return words[0], words[1:]
