"""The nodes of a cluster, and how far collecting from each is."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

_ID_DIGITS: Final = 12
"""Digits of a node's id in the name of its folder."""
_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9._-]")


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
