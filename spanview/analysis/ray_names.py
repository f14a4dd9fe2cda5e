"""How the spans of Ray's calls are named, and which spans are attempts.

main.<locals>.A.ok ray.remote     a call of A.ok: its PRODUCER
A.ok ray.remote_worker            an attempt to run it: a CONSUMER
A.__init__ ray.remote             the call of an actor's constructor
_StatsActor.register ray.remote   a call of one of Ray's own actors
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.model.codes import CONSUMER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from spanview.index.arrays import Places
    from spanview.index.store import Store

NameNumbers: TypeAlias = tuple[set[int], set[int]]
"""Of the names of spans that submit calls, and of those that are attempts."""
SUBMITTED: Final = " ray.remote"
"""The ending of the name of a span that submits a call."""
CONSTRUCTED: Final = f"__init__{SUBMITTED}"
"""The ending of the name of a span that submits an actor's constructor."""
RAN: Final = " ray.remote_worker"
"""The ending of the name of a span that is an attempt."""

_OWN_MODULES: Final = "ray."
_DATA_MODULES: Final = ("ray.data._internal.execution.", "ray.data._internal.planner.")
"""Tasks of Ray Data: they do the work of the program's own pipeline."""
_OWN_CLASSES: Final = frozenset(
    {
        "ActorLocationTracker",
        "HAProxyManager",
        "JobSupervisor",
        "ProxyActor",
        "ServeController",
        "ServeControllerAvatar",
        "SplitCoordinator",
        "_AutoscalingCoordinatorActor",
        "_StatsActor",
    }
)
"""Classes of Ray 2.60 whose actors run no code of the program; spans name them without their modules."""


def call_names(store: Store) -> NameNumbers:
    """Return the numbers of the names of spans that submit calls, and of those that are attempts."""
    submits, runs = set[int](), set[int]()
    for number, text in enumerate(store.names.texts):
        if text.endswith(SUBMITTED):
            submits.add(number)
        elif text.endswith(RAN):
            runs.add(number)
    return submits, runs


def started_attempts(store: Store) -> Places:
    """Return the rows of all attempts that have a start, including those whose call is in no file."""
    import numpy as np

    from spanview.index.arrays import copy_of

    spans, (_, runs) = store.spans, call_names(store)
    size = len(spans.next_row)
    kinds, names, starts = (copy_of(column)[:size] for column in (spans.kind, spans.name, spans.start_ns))
    return np.flatnonzero((kinds == CONSUMER) & np.isin(names, [*runs]) & (starts != NO_TIME))


def function_of(name: str) -> str:
    """Return the function in a span's name: Ray names submission and attempt differently."""
    return name.removesuffix(RAN).removesuffix(SUBMITTED)


def is_rays_own(function: str) -> bool:
    """Return whether a function, or an actor's method, is Ray's own and runs no code or data of the program.

    Args:
        function: As `function_of` returns it, such as `_StatsActor.register_dataset`; or the class of an actor.
    """
    if function.startswith(_OWN_MODULES):
        return not function.startswith(_DATA_MODULES)
    return function.partition(".")[0] in _OWN_CLASSES
