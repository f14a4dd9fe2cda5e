"""What a call may wait for before it runs, and sums of that."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping


class WaitedFor(StrEnum):
    """What most of a wait was for, or what it ended with; in the order of time."""

    RETRY = "an earlier attempt"
    """Which left no span; only Ray's own events show it."""
    ARGUMENTS = "its arguments"
    """Only Ray's own events show it."""
    RESOURCES = "a worker or resources"
    """That one is free, or what else it needs, which no node had left; Ray's own events tell neither from the other."""
    CREATION = "its actor to be ready"
    WORKER_START = "a new worker"
    """Its process started; where Ray's own events don't tell these apart, it loaded the function, too."""
    ACTOR = "its actor"
    """The actor ran something else."""
    LOADING = "its code or arguments to be loaded"
    """By the worker that has it; only Ray's own events show it."""
    UNKNOWN = "unknown"
    """As handing over a call, at the end."""

    @property
    def is_known(self) -> bool:
        """Whether it is known, certainly or likely, what was waited for."""
        return self is not WaitedFor.UNKNOWN

    def label_of(self, extent: str, *, is_certain: bool, loads_apart: bool = False) -> str:
        """Return the words for a part of a wait, as `likely mostly for a new worker`.

        Args:
            extent: Which part; empty for all of it.
            is_certain: Whether Ray's own events say so; besides, what has to end before a call runs is certain.
            loads_apart: Whether loading code is another part.
        """
        if self is WaitedFor.UNKNOWN:
            return "cause unknown"
        text = f"{extent} for {self}" if extent else f"for {self}"
        if self.is_sure(is_certain=is_certain):
            return text
        return f"likely {text}{' or its code' if self is WaitedFor.WORKER_START and not loads_apart else ''}"

    def is_sure(self, *, is_certain: bool) -> bool:
        """Tell whether it is certain that this was waited for, as `label_of` means it."""
        return is_certain or self in _ALWAYS_SURE

    @property
    def brief(self) -> str:
        """What was waited for in fewer words, such as `worker start`."""
        return "worker or resources" if self is WaitedFor.RESOURCES else self.name.lower().replace("_", " ")

    def brief_of(self, *, is_certain: bool) -> str:
        """Return what was waited for in fewer words, as `likely worker start or code`, as `label_of` means it."""
        if self.is_sure(is_certain=is_certain):
            return self.brief
        return f"likely {self.brief}{' or code' if self is WaitedFor.WORKER_START else ''}"


_ALWAYS_SURE: Final = frozenset((WaitedFor.CREATION, WaitedFor.LOADING, WaitedFor.UNKNOWN))
KINDS: Final = (*WaitedFor,)
MOST_HANDOVER_NS: Final = 20_000_000
"""So soon after a result is there, the call that takes it begins."""
UNKNOWN: Final = KINDS.index(WaitedFor.UNKNOWN)
"""The last one."""
LETTERS: Final = dict(zip(KINDS, "tarcwql?", strict=True))
"""What a waterfall's dots begin with that stand for each, where Ray's own events say so."""


class WaitSum(NamedTuple):
    """What several calls waited for one thing."""

    calls: int
    """How many did, longer than handing over a call takes."""
    ns: int
    certain_ns: int = 0
    """What of it Ray's own events say."""

    @property
    def is_certain(self) -> bool:
        """Whether Ray says all of it, but for less than a hundredth."""
        return self.ns > 0 and 100 * (self.ns - self.certain_ns) < self.ns


WaitSums: TypeAlias = "Mapping[WaitedFor, WaitSum]"
