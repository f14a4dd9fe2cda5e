"""What stands where files of spans are looked for and is none: it is refused, and nothing is read through it."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from builders import Builder, file_of
from programs import spanview
from spanview.model.problems import ProblemKind

from .figures import Figures, Row
from .followed import session_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from spanview.index.store import Store

_WITHIN_S: Final = 1.0

_WasUsed: TypeAlias = "Callable[[], bool]"
"""Tells whether somebody has opened it."""
_Kind: TypeAlias = "Callable[[Path, Path], AbstractContextManager[_WasUsed]]"
"""Makes something at a path; what it may lead to is in a folder outside."""
_Planter: TypeAlias = "Callable[[Path], _WasUsed]"
_Outcome: TypeAlias = "tuple[list[str], list[str], _WasUsed]"
"""The names of the spans that are shown, and what was refused."""


@contextmanager
def _fifo(path: Path, _: Path) -> Iterator[_WasUsed]:
    """Make a FIFO with a writer that waits for a reader."""
    os.mkfifo(path)
    code = f"print(flush=True); open({str(path)!r}, 'wb').close()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout is not None
            writer.stdout.readline()
            # Now it waits, or will in a moment.
            time.sleep(0.02)
            yield lambda: writer.poll() is not None
        finally:
            writer.kill()


@contextmanager
def _socket(path: Path, _: Path) -> Iterator[_WasUsed]:
    """Make a socket that listens."""
    with socket.socket(socket.AF_UNIX) as listening:
        before = os.getcwd()
        # The path of a socket has to be short.
        os.chdir(path.parent)
        try:
            listening.bind(path.name)
        finally:
            os.chdir(before)
        listening.listen()
        listening.setblocking(False)

        def was_used() -> bool:
            try:
                listening.accept()
            except BlockingIOError:
                return False
            return True

        yield was_used


@contextmanager
def _device(path: Path, _: Path) -> Iterator[_WasUsed]:
    """Make a device that never ends, or a link to one where devices can't be made."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.EACCES, errno.ENOTSUP}:
            raise
        path.symlink_to("/dev/zero")
    yield lambda: False


@contextmanager
def _folder(path: Path, _: Path) -> Iterator[_WasUsed]:
    """Make a folder that has a link to itself."""
    path.mkdir()
    (path / "round").symlink_to(path)
    yield lambda: False


def _link(to: str) -> _Kind:
    """Return what makes a link to something outside."""

    @contextmanager
    def make(path: Path, outside: Path) -> Iterator[_WasUsed]:
        path.symlink_to(path if to == "itself" else outside / to)
        yield lambda: False

    return make


_KINDS: Final = (
    _fifo,
    _socket,
    _device,
    _folder,
    _link("secret"),
    _link("secret/1.json"),
    _link("gone"),
    _link("itself"),
)


def _record(name: str) -> bytes:
    return file_of([Builder().span(name)])


def _plant(trials: int, folder: Path) -> Figures:
    figures, outside = Figures(), folder / "outside"
    (outside / "secret").mkdir(parents=True)
    (outside / "secret" / "1.json").write_bytes(_record("secret"))
    for trial in range(trials):
        figures.trials += 1
        kind, moment = _KINDS[trial % len(_KINDS)], _MOMENTS[trial // len(_KINDS) % len(_MOMENTS)]
        place = folder / str(trial)
        place.mkdir()
        (place / "1.json").write_bytes(_record("before"))
        with ExitStack() as stack:
            began = time.monotonic()
            names, refused, was_used = moment(place, partial(_make, stack, kind, outside))
            took_s = time.monotonic() - began
            where = f"{moment.__name__} {trial % len(_KINDS)}"
            figures.took(took_s)
            figures.compare(["before"], names, where)
            figures.expect(holds=len(refused) == 1, what=f"{where}: refused {refused}")
            figures.expect(holds=not was_used(), what=f"{where}: it was opened")
    return figures


def _make(stack: ExitStack, kind: _Kind, outside: Path, path: Path) -> _WasUsed:
    return stack.enter_context(kind(path, outside))


def _before_start(place: Path, make: _Planter) -> _Outcome:
    was_used = make(place / "2.json")
    done = spanview("spans", place)
    names = [json.loads(line)["name"] for line in done.text.splitlines()]
    return names, [line for line in done.lines if "2.json" in line], was_used


def _while_followed(place: Path, make: _Planter) -> _Outcome:
    with session_on(place) as (session, store):
        session.look()
        was_used = make(place / "2.json")
        session.look([str(place / "2.json")])
        session.look()
        session.look()
        return _outcome(store, was_used)


def _in_place_of_a_file(place: Path, make: _Planter) -> _Outcome:
    with session_on(place) as (session, store):
        session.look()
        (place / "1.json").unlink()
        was_used = make(place / "1.json")
        session.look([str(place / "1.json")])
        session.look()
        session.look()
        return _outcome(store, was_used)


_MOMENTS: Final = (_before_start, _while_followed, _in_place_of_a_file)


def _outcome(store: Store, was_used: _WasUsed) -> _Outcome:
    refused = [problem.file for problem in store.problems() if problem.kind is ProblemKind.REFUSED]
    return [store.names.texts[name] for name in store.spans.name], refused, was_used


def _not_posix() -> str:
    return "" if os.name == "posix" else "there are no such files here"


ROWS: Final = (
    Row("15", "FIFO, socket, device, link planted in the folder", "plants", 240, 24, _plant, _WITHIN_S, _not_posix),
)
