"""Who may ask, and what a browser may do with the answers.

Every page that a browser has open can send requests to this machine, and so can everybody who works on it. So

- nothing is answered without the token, which is a part of the address: not a cookie, which a browser would hand to
  servers on other ports of this machine, too;
- the host has to be this machine by its own name: another name may be made to stand for it (DNS rebinding);
- whoever says where it comes from has to come from here, and a socket's caller has to say so: sockets may be opened
  from any page.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

LOOPBACK: Final = "127.0.0.1"
_HOSTS: Final = (LOOPBACK, "localhost")
"""What this machine is called in addresses; by the second name editors forward ports."""
_PORT_OF_HTTP: Final = 80
"""The one that browsers leave out."""
_TOKEN_BYTES: Final = 24
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; "
    "connect-src 'self' ws://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The terminal makes its own styles; nothing else in a page has to be trusted."""
_HEADERS: Final = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "clipboard-read=(), camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class AccessCheck:
    """Answers whether a request is one of the page whose address was printed."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(_TOKEN_BYTES))

    @property
    def address(self) -> str:
        """What a browser is given."""
        return f"http://{LOOPBACK}:{self.port}/{self.token}/"

    @property
    def _hosts(self) -> Collection[str]:
        """What browsers call this server."""
        return [f"{name}:{self.port}" for name in _HOSTS] + [*_HOSTS] * (self.port == _PORT_OF_HTTP)

    def refusal(self, path: str, headers: Mapping[str, str], *, is_socket: bool = False) -> str:
        """Return in words why a request is refused; nothing where it isn't."""
        host, origin = headers.get("Host", ""), headers.get("Origin")
        if host not in self._hosts:
            return f"spanview is asked for at {LOOPBACK}:{self.port} only; a forwarded port has to have the same number"
        if (origin is not None or is_socket) and origin != f"http://{host}":
            return "spanview isn't there for other pages"
        given = path.removeprefix("/").partition("/")[0]
        if not secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
            return "spanview has to be asked for with its token: open the whole address that it has printed"
        return ""

    def headers(self, host: str) -> dict[str, str]:
        """Return the headers of every answer; what a request has called this machine isn't trusted."""
        known = host if host in self._hosts else f"{LOOPBACK}:{self.port}"
        return {**_HEADERS, "Content-Security-Policy": _POLICY.format(host=known)}
