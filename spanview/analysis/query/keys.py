"""The language's own keys, each once: how it is compared, what is read for it, and what it does in gates."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final, NamedTuple

from spanview.analysis.query.timetext import DURATIONS, TIMES

WAITS: Final = ("arguments", "resources", "worker_start", "creation", "actor", "loading", "retry", "unknown")
"""What a call may have waited for, as `analysis.ray.waited_for.WaitedFor` has it; importing that takes numpy."""


class Takes(Enum):
    """What a key is compared with."""

    TEXT = "a text"
    NUMBER = "a number"
    DURATION = f"a duration such as {DURATIONS}"
    MOMENT = f"a time such as {TIMES}"


class Cost(IntEnum):
    """What has to be read before a term is decided, the cheapest first."""

    COLUMN = 0
    TREE = 1
    DETAIL = 2


class OwnKey(NamedTuple):
    """What holds for one of the keys."""

    reads: str = ""
    """The property of `Subject` that has its value; empty where `terms` has a function that makes its test."""
    takes: Takes = Takes.TEXT
    cost: Cost = Cost.COLUMN
    operator: str = ""
    """What most often follows it, where that isn't = for a text and > for a size."""
    selects: str = ""
    """The operators by which it selects the spans that a gate is about; with others it tests these."""

    @property
    def usual_operator(self) -> str:
        """What most often follows it."""
        return self.operator or ("=" if self.takes is Takes.TEXT else ">")


_WAIT: Final = OwnKey("", Takes.DURATION, Cost.TREE)
OWN_KEYS: Final = {
    "name": OwnKey("name", selects="=~"),
    "service": OwnKey("service", selects="=~"),
    "kind": OwnKey(selects="="),
    "status": OwnKey(),
    "duration": OwnKey("duration_ns", Takes.DURATION),
    "self": OwnKey("self_ns", Takes.DURATION, Cost.TREE),
    "wait": _WAIT,
    **dict.fromkeys((f"wait.{name}" for name in WAITS), _WAIT),
    "outcome": OwnKey(),
    "any": OwnKey(operator="~", selects="="),
    "event": OwnKey(selects="="),
    "finding": OwnKey(),
    "description": OwnKey(operator="~", selects="="),
    "scope": OwnKey(selects="="),
    "trace": OwnKey(selects="="),
    "span": OwnKey(selects="="),
    "start": OwnKey("start_ns", Takes.MOMENT),
    "pid": OwnKey("pid", Takes.NUMBER, Cost.DETAIL, "=", selects="="),
    "file": OwnKey(selects="=~"),
    "depth": OwnKey("depth", Takes.NUMBER, Cost.TREE, "="),
    "trace.duration": OwnKey("trace_duration_ns", Takes.DURATION),
    "trace.spans": OwnKey("trace_spans", Takes.NUMBER),
    "trace.errors": OwnKey("trace_errors", Takes.NUMBER),
    "trace.root": OwnKey(selects="=~"),
    "trace.complete": OwnKey(),
}
"""In the order of the proposals; all other keys are attributes."""
DURATION_KEYS: Final = frozenset(key for key, own in OWN_KEYS.items() if own.takes is Takes.DURATION)
