"""The places that are looked at when no PATH is given, and spanview's own folders."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

RAY_SPANS: Final = "/tmp/spans"  # noqa: S108 - both of Ray's hooks write there, whatever TMPDIR says
DEMO: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "demo")
"""The folder of the recording that comes with spanview."""
_SESSION_SPANS: Final = os.path.join("logs", "spans")
"""Below a session of Ray, where spanview's own hook writes: what collects Ray's logs takes them along."""
_SERVE_SPANS: Final = os.path.join("logs", "serve", "spans")
_LOGS: Final = "logs"
_EVENTS: Final = os.path.join(_LOGS, "export_events")
"""Below a session, where Ray writes its own events, if it is told to."""


def default_places(environment: Mapping[str, str]) -> list[str]:
    """Return the folders that spanview's hook, Ray's hooks and Ray Serve's exporter write to.

    `RAY_TMPDIR` in the environment moves Ray's sessions.
    """
    session = latest_session(environment)
    return [os.path.join(session, _SESSION_SPANS), RAY_SPANS, os.path.join(session, _SERVE_SPANS)]


def event_folder(environment: Mapping[str, str]) -> str:
    """Return the folder of Ray's own events, which are read beside spans that are in the default places."""
    return os.path.join(latest_session(environment), _EVENTS)


def events_beside(paths: Sequence[str]) -> tuple[str, ...]:
    """Return where Ray's own events are, if it writes any, of the sessions in whose `logs` some PATHs are."""
    beside = dict[str, None]()
    for path in paths:
        # Of a current folder that was removed, nobody knows the path.
        with suppress(OSError):
            # What isn't there yet may become a folder.
            folders = (path,) if os.path.isdir(path) else (path, os.path.dirname(path))
            beside |= dict.fromkeys(os.path.dirname(os.path.abspath(folder)) for folder in folders)
    return tuple(os.path.join(logs, os.path.basename(_EVENTS)) for logs in beside if os.path.basename(logs) == _LOGS)


def in_words(places: Sequence[str]) -> str:
    """Return places as `a, b and c`, with a name for standard input."""
    *others, last = ["standard input" if place == "-" else place for place in places]
    return f"{', '.join(others)} and {last}" if others else last


def latest_session(environment: Mapping[str, str]) -> str:
    """Return the folder of Ray's latest session; `RAY_TMPDIR` in the environment moves sessions."""
    return os.path.join(environment.get("RAY_TMPDIR") or "/tmp", "ray", "session_latest")  # noqa: S108


def cache_folder() -> str | None:
    """Return the folder for what can be made again, where this platform has it; None without a home folder."""
    from platformdirs import user_cache_dir

    return _own_folder(user_cache_dir)


def settings_folder() -> str | None:
    """Return the folder for what a person has set, where this platform has it; None without a home folder."""
    from platformdirs import user_config_dir

    return _own_folder(user_config_dir)


def _own_folder(folder_of: Callable[..., str]) -> str | None:
    try:
        folder = folder_of("spanview", appauthor=False)
    except (RuntimeError, OSError):
        # A user without an entry and without HOME, as in containers.
        return None
    return folder if os.path.isabs(folder) else None


_HOW_TO: Final = (
    "",
    "to turn tracing on in a Ray program:",
    'ray.init(_tracing_startup_hook="spanview.ray.hook:setup_tracing")',
    "",
    "for Ray Serve, in the shell before Ray starts (the default ratio is 0.01):",
    "export RAY_SERVE_TRACING_SAMPLING_RATIO=1.0",
    "export RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH=spanview.ray.hook:span_processors",
    "",
    "spanview --demo shows a recording that ships with spanview",
)
"""Lines to paste stand alone, not indented, and have room in a terminal of 80 columns."""


def how_to_turn_tracing_on(looked_at: Sequence[str]) -> list[str]:
    """Return lines: where was looked, how to make Ray and Ray Serve write spans there, and what else there is."""
    return [f"looked in {in_words(looked_at)}", *_HOW_TO]
