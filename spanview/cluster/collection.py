"""The nodes of a cluster, and the folder that their span files are collected into, so that it can go on where it ended.

DIR/
  .spanview-collected                           devices and inodes of the files, by which renamed ones are known
  worker-7@3f2a9c01b2d4/tmp/spans/8714.txt      a file of the node 3f2a9c01b2d4…, whose host is worker-7
  worker-7@3f2a9c01b2d4.2/tmp/spans/8714.txt    its second generation: it was truncated, or made anew
  head/export_events/event_EXPORT_TASK.log      what the cluster's head said of tasks, in `task_states`

How far a file was collected, and its checksum, are those of the file in DIR. Nothing that is kept beside it could
disagree with it, whatever ended an earlier call.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from spanview.cluster.node_files import digest_of
from spanview.model.problems import CollectError
from spanview.sources.descriptors import is_in_use

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.cluster.node_files import Known, Piece

_ID_DIGITS: Final = 12
"""Digits of a node's id in the name of its folder."""
_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9._-]")
_STATE: Final = ".spanview-collected"
_BLOCK_BYTES: Final = 1024 * 1024
_NO_IDENTITY: Final = (0, 0)
_APPEND: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class ClusterNode(NamedTuple):
    """A node of a cluster, as Ray lists it; texts from elsewhere."""

    id: str
    """Hex digits."""
    host: str

    @property
    def folder(self) -> str:
        """The name of its folder, `worker-7@3f2a9c01b2d4`; safe to print."""
        return f"{_UNUSUAL.sub('-', self.host)}@{_UNUSUAL.sub('-', self.id[:_ID_DIGITS])}"


class NodeState(StrEnum):
    """How far collecting from a node is."""

    WAITING = "waiting for an answer"
    READING = "reading"
    CURRENT = "up to date"
    DONE = "done"
    LOST = "lost"


@dataclass(slots=True)
class NodeProgress:
    """What has come from a node."""

    node: ClusterNode
    state: NodeState = NodeState.WAITING
    bytes: int = 0
    sent: int = 0
    """Bytes as they came, compressed or not."""
    left: int = 0
    """Bytes that the node has still to read, as far as it knows."""
    problems: list[str] = field(default_factory=list)
    """Sentences, to be sanitised; the last one is why a node is lost."""
    attempts: int = 0
    """Tasks that it was given."""
    since_s: float = field(default_factory=time.monotonic)
    """Since when the state is this one, in monotonic seconds."""

    def turn(self, state: NodeState) -> None:
        """Go over to a state."""
        if state is not self.state:
            self.state, self.since_s = state, time.monotonic()


class Collection:
    """What was collected, in a folder that nobody else writes to meanwhile; a context that ends it.

    Raises:
        CollectError: It can't be made or written, or another call of `collect` writes to it.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.files = 0
        """Files that were seen since then."""
        self.bytes = 0
        """Bytes that were added since then."""
        self._seen: set[str] = set()
        try:
            os.makedirs(folder, exist_ok=True)
            self._state = os.open(os.path.join(folder, _STATE), _APPEND, 0o666)
            if is_in_use(self._state):
                raise CollectError(f"{folder}: another spanview is collecting into it; give another folder")
            self._identities = _identities(os.pread(self._state, os.fstat(self._state).st_size, 0))
        except OSError as error:
            raise _unwritable(folder, error) from None

    def known(self, node: ClusterNode) -> list[Known]:
        """Return what there is of a node, each file with its length and checksum."""
        known = []
        pattern = re.compile(rf"{re.escape(node.folder)}(?:\.([1-9][0-9]*))?")
        for name in sorted(os.listdir(self.folder)):
            if (match := pattern.fullmatch(name)) is None:
                continue
            top = os.path.join(self.folder, name)
            for below, _, files in os.walk(top):
                for file in files:
                    local = os.path.relpath(os.path.join(below, file), self.folder)
                    path = "/" + os.path.relpath(os.path.join(below, file), top)
                    length, digest = self._contents(local)
                    identity = self._identities.get(local, _NO_IDENTITY)
                    known.append((path, int(match[1] or 1), *identity, length, digest))
        return known

    def _contents(self, local: str) -> tuple[int, bytes]:
        try:
            with open(os.path.join(self.folder, local), "rb") as file:
                digest = digest_of(iter(lambda: file.read(_BLOCK_BYTES), b""))
                return file.tell(), digest
        except OSError as error:
            raise _unwritable(local, error) from None

    def add(self, node: ClusterNode, pieces: Sequence[Piece], content: bytes) -> None:
        """Append what is new to a node's files.

        Raises:
            CollectError: A file can't be written, or isn't as long any more as it was.
        """
        data = memoryview(content)
        self._note({self._local(node, piece[0], piece[1]): (piece[2], piece[3]) for piece in pieces})
        start = 0
        for path, generation, _, _, offset, length in pieces:
            self.append(self._local(node, path, generation), offset, data[start : start + length])
            start += length

    def _local(self, node: ClusterNode, path: str, generation: int) -> str:
        if not path.startswith("/") or os.path.normpath(path) != path:
            raise CollectError(f"{node.folder}: {path} isn't the path of a file")
        return node.folder + (f".{generation}" if generation > 1 else "") + path

    def append(self, local: str, offset: int, data: memoryview) -> None:
        """Append to a file of DIR.

        Raises:
            CollectError: It can't be written, or isn't as long as the offset says.
        """
        target = os.path.join(self.folder, local)
        try:
            if local not in self._seen:
                os.makedirs(os.path.dirname(target), exist_ok=True)
            descriptor = os.open(target, _APPEND, 0o666)
            try:
                if os.fstat(descriptor).st_size != offset:
                    raise CollectError(f"{target} was changed by another program; remove it and collect again")
                while data:
                    written = os.write(descriptor, data)
                    self.bytes += written
                    data = data[written:]
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _unwritable(target, error) from None
        if local not in self._seen:
            self._seen.add(local)
            self.files += 1

    def _note(self, identities: dict[str, tuple[int, int]]) -> None:
        """Keep the devices and inodes of files, before anything is written to them."""
        if identities.items() <= self._identities.items():
            return
        new = {local: identity for local, identity in identities.items() if self._identities.get(local) != identity}
        self._identities.update(new)
        try:
            # A line more, which a kill may leave unfinished; of two lines about a file the later one counts.
            os.write(self._state, b"\n" + json.dumps(new).encode())
        except OSError as error:
            raise _unwritable(self.folder, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # This also lets go of the lock.
        os.close(self._state)


def _identities(state: bytes) -> dict[str, tuple[int, int]]:
    """Return the devices and inodes of the files of DIR by their paths below it."""
    found: dict[str, tuple[int, int]] = {}
    for line in state.splitlines():
        with suppress(ValueError):
            value: Any = json.loads(line)
            found |= {local: (int(device), int(inode)) for local, (device, inode) in value.items()}
    return found


def _unwritable(path: str, error: OSError) -> CollectError:
    return CollectError(f"{path}: can't be written: {error.strerror or error}")
