"""What is said of Serve's requests, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.serve import Part
from spanview.display.sanitise import sanitise

if TYPE_CHECKING:
    from spanview.analysis.serve import Request, RequestKey
    from spanview.analysis.serve_groups import RequestGroup

_MAX_LENGTH: Final = 200


def request_text(key: RequestKey) -> str:
    """Return application, deployment, method and route, safe to print."""
    app, deployment, method, route = (
        sanitise(text, _MAX_LENGTH) for text in (key.app, key.deployment, key.method, key.route)
    )
    return f"{app or '–'} › {deployment or '–'}  {method} {route}".rstrip()


def status_text(key: RequestKey) -> str:
    """Return how it ended, as Serve says it, safe to print."""
    return sanitise(key.status, _MAX_LENGTH) or "–"


def failures_text(group: RequestGroup) -> str:
    """Return how many have failed, and how: `3 5xx`; nothing where none has."""
    return "" if group.failure is None else f"{group.errors:,} {group.failure.value}"


def failure_text(request: Request) -> str:
    """Return how a request failed: `✖ 5xx`; nothing where it hasn't."""
    return "" if request.failure is None else f"✖ {request.failure.value}"


def seen_text(request: Request) -> str:
    """Return which of a request's spans were seen, and what that may mean."""
    if request.is_alone:
        return "replica alone: sampled out?"
    if request.parts == (Part.REPLICA,):
        return "replica: its caller was not seen"
    return " › ".join(part.value for part in request.parts)
