"""How the spans of Ray's calls are named, and which spans are attempts.

main.<locals>.A.ok ray.remote     a call of A.ok: its PRODUCER
A.ok ray.remote_worker            an attempt to run it: a CONSUMER
A.__init__ ray.remote             the call of an actor's constructor
_StatsActor.register ray.remote   a call of one of Ray's own actors

A task is named after its module, a method after its class: after its whole path where it is called, and by its last
part where it runs. People know them as `leaf` and `A.ok`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from operator import methodcaller
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping

    from spanview.index.arrays import Places
    from spanview.index.store import Store
    from spanview.index.table import Interned

NameNumbers: TypeAlias = tuple[frozenset[int], frozenset[int]]
"""Of the names of spans that submit calls, and of those that are attempts."""
SUBMITTED: Final = " ray.remote"
"""The ending of the name of a span that submits a call."""
CONSTRUCTED: Final = f"__init__{SUBMITTED}"
"""The ending of the name of a span that submits an actor's constructor."""
RAN: Final = " ray.remote_worker"
"""The ending of the name of a span that is an attempt."""
# session_2026-11-24_07-41-33_520768_27233, /data/ray/session_2026-11-24_07-41-33_520768_27233
SESSION: Final = re.compile(r"(?:(?:/[\w.-]+)*/)?session_[\w.-]+", re.ASCII)
"""Matches what a session is called, and the path of its folder: nothing else may become a part of a path."""
_MOST_PARTS: Final = 8
"""So many parts tell nearly all functions apart; then the whole path is shown."""

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
_OWN_OF_REPLICAS: Final = frozenset({"get_num_ongoing_requests", "is_allocated", "push_proxy_handle"})
"""Methods of Serve's replicas that it asks by how they are: they run no code of the deployment."""
_LONG_POLL: Final = re.compile(rf"(?:ProxyActor\.receive_\w+_messages|ServeController\w*\.listen_for_\w+){RAN}")

_SUBMITS, _RUNS = methodcaller("endswith", SUBMITTED), methodcaller("endswith", RAN)
"""Whether a span with a name submits a call, or runs one."""
is_constructor: Final = methodcaller("endswith", f"__init__{RAN}")
"""Whether a span with a name is an attempt of an actor's constructor."""


def call_names(names: Interned) -> NameNumbers:
    """Return the numbers of the names of spans that submit calls, and of those that are attempts."""
    return names.where(_SUBMITS), names.where(_RUNS)


def started_attempts(store: Store) -> Places:
    """Return the rows of all attempts that have a start, including those whose call is in no file."""
    import numpy as np

    from spanview.index.arrays import copy_of

    spans, (_, runs) = store.spans, call_names(store.names)
    size = len(spans.next_row)
    kinds, names, starts = (copy_of(column)[:size] for column in (spans.kind, spans.name, spans.start_ns))
    return np.flatnonzero((kinds == CONSUMER) & np.isin(names, [*runs]) & (starts != NO_TIME))


def is_submitting(store: Store, row: int) -> bool:
    """Return whether a span submits a call, or did as far as is known: it names the actor that submits it, if any."""
    return store.spans.end_ns[row] == NO_TIME and store.spans.kind[row] == PRODUCER


def function_of(name: str) -> str:
    """Return the function in a span's name: Ray names submission and attempt differently."""
    return name.removesuffix(RAN).removesuffix(SUBMITTED)


def session_in(resource: Mapping[str, object]) -> str:
    """Return the folder of the Ray session that a resource names, else the session's name; empty where it has none."""
    named = (resource.get(key) for key in ("ray.session_dir", "ray.session"))
    return next((text for text in named if isinstance(text, str) and SESSION.fullmatch(text)), "")


def is_rays_own(function: str) -> bool:
    """Return whether a function, or an actor's method, is Ray's own and runs no code or data of the program.

    Args:
        function: As `function_of` returns it, such as `_StatsActor.register_dataset`; or the class of an actor.
    """
    if function.startswith(_OWN_MODULES):
        return not function.startswith(_DATA_MODULES)
    owner, _, method = function.rpartition(".")
    asks_replica = owner.startswith("ServeReplica:") and method in _OWN_OF_REPLICAS
    return asks_replica or function.partition(".")[0] in _OWN_CLASSES


def uncounted_names(store: Store) -> set[int]:
    """Return the numbers of the names of attempts that don't count where calls that run at once are counted.

    They are Ray's own, and Serve's of its replicas, which ask them how they are while requests run.
    """
    replicas = {
        number
        for number, text in enumerate(store.names.texts)
        if text.startswith("ServeReplica:") and not function_of(text).rpartition(".")[2].startswith("handle_request")
    }
    return rays_own_names(store) | replicas


def is_long_poll(name: str) -> bool:
    """Return whether an attempt with this name only waits for news, which Serve's own actors ask each other for."""
    return _LONG_POLL.fullmatch(name) is not None


def rays_own_names(store: Store) -> set[int]:
    """Return the numbers of the names of spans that are halves of calls of Ray's own functions."""
    endings = SUBMITTED, RAN
    return {
        number
        for number, text in enumerate(store.names.texts)
        if text.endswith(endings) and is_rays_own(function_of(text))
    }


def short_names(names: Iterable[str], others: Container[str] = (), *, tells_halves: bool = False) -> dict[str, str]:
    """Return what people call Ray's functions, by the names of spans: `leaf` for `__main__.leaf ray.remote`.

    Where two functions would have the same short name, both get as many more parts of their paths as tell them apart.
    So does one that would be called like a span that isn't Ray's; if nothing is left to add, its name stays whole.

    Args:
        names: All names that are shown together, of any spans.
        others: Further names of spans that aren't Ray's, which no function is to have.
        tells_halves: Whether a call and its attempt are two things there: where both are, they keep their endings.

    Returns:
        The short names of Ray's spans; all others, and those that no short name tells apart, stay as they are.
    """
    halves, own = defaultdict[str, list[str]](list), set[str]()
    for name in dict.fromkeys(names):
        path = function_of(name)
        if path == name or not path or path.endswith("."):
            own.add(name)
        else:
            halves[path].append(name)

    def is_taken(text: str) -> bool:
        return text in own or text in others

    shared = defaultdict[str, list[str]](list)
    for path, text in _told_apart(halves, is_taken).items():
        if not is_taken(text):
            shared[text] += halves[path]
    short: dict[str, str] = {}
    for text, of_text in shared.items():
        keeps_endings = tells_halves and len(of_text) > 1
        short |= {name: text + name[len(function_of(name)) :] if keeps_endings else text for name in of_text}
    return short


def names_in_list(names: Collection[str]) -> dict[str, str]:
    """Return the short names of Ray's functions in a list that has each name once, calls and attempts told apart."""
    of_ray = [name for name in names if name.endswith((SUBMITTED, RAN))]
    return short_names(of_ray, {*names}, tells_halves=True) if of_ray else {}


class ShortNames:
    """What people call the Ray functions of a whole store, whose names come while it is read."""

    def __init__(self, names: Interned) -> None:
        self._names = names
        self._known = 0
        """So many of them were looked at."""
        self._of_ray: list[str] = []
        self._short: dict[str, str] = {}
        self._used: set[str] = set()

    def __getitem__(self, name: str) -> str:
        """Return the short name of a function, by the name of a span; of all others the name itself."""
        if self._known < len(self._names.texts):
            self._look_at(self._names.texts[self._known :])
        return self._short.get(name, name)

    def _look_at(self, names: list[str]) -> None:
        self._known += len(names)
        of_ray = [name for name in names if name.endswith((SUBMITTED, RAN))]
        self._of_ray += of_ray
        if of_ray or not self._used.isdisjoint(names):
            self._short = short_names(self._of_ray, self._names)
            self._used = {*self._short.values()}


def _told_apart(paths: Iterable[str], is_taken: Callable[[str], bool]) -> dict[str, str]:
    """Return the shortest endings of paths that are those of no other function, and that nothing else is called."""
    parts = {path: _parts(path) for path in paths}
    counts = {path: _fewest(of_path) for path, of_path in parts.items()}
    # `A.ok` is how `main.<locals>.A.ok` is called where it runs.
    methods = {path for path, of_path in parts.items() if counts[path] == len(of_path) == 2}  # noqa: PLR2004 - class and method
    short: dict[str, str] = {}
    open_paths = [*parts]
    while open_paths:
        short |= {path: ".".join(parts[path][-counts[path] :]) for path in open_paths}
        users = defaultdict[str, list[str]](list)
        for path, text in short.items():
            users[text].append(path)
        open_paths = []
        for text, sharing in users.items():
            if is_taken(text) or len(sharing) - (text in methods) > 1:
                open_paths += [path for path in sharing if counts[path] < len(parts[path])]
        for path in open_paths:
            counts[path] += 1
            if counts[path] > _MOST_PARTS:
                counts[path] = len(parts[path])
    return short


def _fewest(parts: list[str]) -> int:
    """Return how many parts of a path name a function at least: a method is one of its class."""
    if len(parts) == 1:
        return 1
    # Modules are in lower case; a class may be called `_StatsActor`, or by an expression, `MapWorker(Model)`.
    above, name = parts[-2:]
    return 2 if name == "__init__" or above.lstrip("_")[:1].isupper() or above.endswith(")") else 1


def _parts(path: str) -> list[str]:
    """Return the parts of a path; a dot in brackets, as in `MapWorker(pkg.Model).submit`, separates none."""
    if "(" not in path:
        return path.split(".")
    parts, start, depth = list[str](), 0, 0
    for index, character in enumerate(path):
        depth += (character == "(") - (character == ")")
        if character == "." and not depth:
            parts.append(path[start:index])
            start = index + 1
    return [*parts, path[start:]]
