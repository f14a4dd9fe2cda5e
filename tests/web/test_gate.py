"""Who may ask.

the page          with the token, by this machine's own name; a caller that says where it comes from, from here
its files         the same
its socket        the same, and the caller has to say where it comes from
"""

from __future__ import annotations

import pytest

from spanview.web.gate import AccessCheck

GATE = AccessCheck(8123, "token")
HERE = "http://127.0.0.1:8123"


@pytest.mark.parametrize(
    ("path", "host", "origin", "is_socket", "said"),
    [
        ("/token/", "127.0.0.1:8123", None, False, ""),
        ("/token", "127.0.0.1:8123", None, False, ""),
        ("/token/files/page.js", "127.0.0.1:8123", HERE, False, ""),
        ("/token/socket/dark", "127.0.0.1:8123", HERE, True, ""),
        ("/token/socket/dark", "localhost:8123", "http://localhost:8123", True, ""),
        ("/", "127.0.0.1:8123", None, False, "token"),
        ("", "127.0.0.1:8123", None, False, "token"),
        ("*", "127.0.0.1:8123", None, False, "token"),
        ("/tokem/", "127.0.0.1:8123", None, False, "token"),
        ("/token2/", "127.0.0.1:8123", None, False, "token"),
        ("//token/", "127.0.0.1:8123", None, False, "token"),
        ("/\udcff/", "127.0.0.1:8123", None, False, "token"),
        ("/token/", "evil.example:8123", None, False, "127.0.0.1:8123 only"),
        ("/token/", "evil.example", None, False, "127.0.0.1:8123 only"),
        ("/token/", "127.0.0.1:8124", None, False, "the same number"),
        ("/token/", "127.0.0.1", None, False, "127.0.0.1:8123 only"),
        ("/token/", "", None, False, "127.0.0.1:8123 only"),
        ("/token/", "127.0.0.1:8123", "http://evil.example", False, "other pages"),
        ("/token/socket/dark", "127.0.0.1:8123", "http://127.0.0.1:9000", True, "other pages"),
        ("/token/socket/dark", "127.0.0.1:8123", "https://127.0.0.1:8123", True, "other pages"),
        ("/token/socket/dark", "127.0.0.1:8123", "http://localhost:8123", True, "other pages"),
        ("/token/socket/dark", "127.0.0.1:8123", "null", True, "other pages"),
        ("/token/socket/dark", "127.0.0.1:8123", None, True, "other pages"),
    ],
)
def test_refusals(path: str, host: str, origin: str | None, *, is_socket: bool, said: str) -> None:
    """What isn't a request of the page is refused in words."""
    headers = {"Host": host} | ({} if origin is None else {"Origin": origin})
    refusal = GATE.refusal(path, headers, is_socket=is_socket)
    assert said in refusal
    assert bool(said) == bool(refusal)


def test_the_port_that_browsers_leave_out() -> None:
    """At port 80, a host has no port."""
    gate = AccessCheck(80, "token")
    assert gate.refusal("/token/", {"Host": "127.0.0.1", "Origin": "http://127.0.0.1"}, is_socket=True) == ""


def test_tokens_can_not_be_guessed() -> None:
    """Each server has its own token, of 192 bits."""
    tokens = {AccessCheck(1).token for _ in range(100)}
    assert len(tokens) == 100
    assert {len(token) for token in tokens} == {32}


def test_headers_name_no_host_that_a_request_made_up() -> None:
    """A policy is ours, whatever the request says."""
    assert "evil" not in str(GATE.headers("evil.example; script-src *"))
