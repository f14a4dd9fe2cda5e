"""What is said of Serve's requests, in words."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from spanview.analysis.serve.requests import Part, request_name
from spanview.display.sanitise import sanitise
from spanview.display.units import count, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from spanview.analysis.serve.groups import RequestGroup
    from spanview.analysis.serve.nested import NestedQueue
    from spanview.analysis.serve.requests import Request, RequestKey
    from spanview.index.store import Store

_MAX_LENGTH: Final = 200
_FEWEST_QUEUES: Final = 2


def request_text(key: RequestKey) -> str:
    """Return application, deployment, method and route, safe to print."""
    return f"{sanitise(key.app, _MAX_LENGTH) or '–'} › {request_names([key])[key][0]}"


def request_names(keys: Collection[RequestKey]) -> dict[RequestKey, tuple[str, ...]]:
    """Return what requests are called in a list, the longest first, safe to print; all of it tells them apart.

    A name begins with the deployment; the application follows where several have a deployment of that name. In little
    room the method goes, or the route, if deployment and status tell as much without.
    """
    apps = Counter(deployment for _, deployment in {(key.app, key.deployment) for key in keys})

    def name(key: RequestKey, method: str, route: str) -> str:
        app = f" ({key.app or '–'})" if apps[key.deployment] > 1 else ""
        texts = f"{key.deployment or '–'}{app}", method, route
        return request_name(*(sanitise(text, _MAX_LENGTH) for text in texts))

    shorter: tuple[Callable[[RequestKey], str], ...] = (
        lambda key: name(key, "", key.route),
        lambda key: name(key, key.method, ""),
        lambda key: name(key, "", ""),
    )
    telling = [text for text in shorter if len({(text(key), key.status) for key in keys}) == len(keys)]
    return {key: (name(key, key.method, key.route), *(text(key) for text in telling)) for key in keys}


def status_text(key: RequestKey) -> str:
    """Return how it ended, as Serve says it, safe to print."""
    return sanitise(key.status, _MAX_LENGTH) or "–"


def failures_text(group: RequestGroup) -> str:
    """Return how many have failed, and how, unless the status says it: `3 5xx`; nothing where none has."""
    how = "" if group.failure is None else f"{group.errors:,} {group.failure.value}"
    return how.removesuffix(f" {group.key.status}")


def counts_text(groups: Iterable[RequestGroup]) -> str:
    """Return how many requests there are: `17 requests, 1 failed; 17 calls between deployments, 1 failed`."""
    failed = defaultdict[bool, list[bool]](list)
    for group in groups:
        for request in group.requests:
            failed[request.is_nested].append(request.failure is not None)
    texts = {
        False: count(len(failed[False]), "request"),
        True: f"{count(len(failed[True]), 'call')} between deployments",
    }
    return "; ".join(
        f"{text}, {sum(failed[is_nested]):,} failed" if any(failed[is_nested]) else text
        for is_nested, text in texts.items()
        if failed[is_nested]
    )


def what_text(requests: Iterable[Request]) -> str:
    """Return what some requests are: calls, where all come from other deployments."""
    return "call" if all(request.is_nested for request in requests) else "request"


def sums_texts(group: RequestGroup) -> list[str]:
    """Return what the time of requests went to: `2.41 s in 25 requests = 1.61 s queue + …`; nothing if unknown.

    The parts are those of the columns: the queue is that of the deployment itself. What of the handling went to the
    queues of other deployments that it called is told behind it.

    Returns:
        The same in ever fewer words; empty texts if the time isn't known.
    """
    known, sums = sum(request.total_ns is not None for request in group.requests), group.sums
    if not any((sums.queue, sums.handling, sums.route, sums.other)):
        return [""]
    queued = _nested_texts(group.nested_queues, sums.nested_queue)
    counted = [f" in {count(known, what_text(group.requests))}", *[""] * len(queued)]

    def said(in_queues: str) -> str:
        parts = {
            "queue": sums.queue,
            f"handling{in_queues}": sums.handling,
            "route": sums.route,
            "other": max(0, sums.other),
        }
        text = " + ".join(f"{duration(ns)} {part}" for part, ns in parts.items() if ns)
        # A handler may go on after its response has been sent.
        return f"{text}, less {duration(-sums.other)} outside of it" if sums.other < 0 else text

    return [
        f"{duration(sums.total)}{of} = {said(in_queues)}"
        for of, in_queues in zip(counted, [queued[0], *queued], strict=True)
    ]


def _nested_texts(queues: Sequence[NestedQueue], ns: int) -> list[str]:
    """Return what of a handling was queued elsewhere, in ever fewer words; an empty text where nothing was."""
    if not ns:
        return [""]
    name, longest_ns = sanitise(queues[0].deployment, _MAX_LENGTH) or "–", queues[0].ns
    if len(queues) == 1:
        in_full = f"{duration(ns)} of it in {name}'s queue"
    else:
        in_full = f"{duration(ns)} of it in queues: {_of_each(queues, duration)}"
    return [f" ({text})" for text in (in_full, f"{duration(longest_ns)} in {name}'s queue", f"{duration(ns)} queued")]


def queues_text(queues: Sequence[NestedQueue], as_text: Callable[[int], str]) -> str:
    """Return how long requests were in the queue of each deployment: ` (Cart 880 ms, Price 440 ms)`.

    Nothing where there is one deployment alone.
    """
    if len(queues) < _FEWEST_QUEUES:
        return ""
    return f" ({_of_each(queues, as_text)})"


def _of_each(queues: Sequence[NestedQueue], as_text: Callable[[int], str]) -> str:
    return ", ".join(f"{sanitise(name, _MAX_LENGTH) or '–'} {as_text(ns)}" for name, ns in queues if ns)


def failure_text(request: Request) -> str:
    """Return how a request failed: `✖ 5xx`; nothing where it hasn't."""
    return "" if request.failure is None else f"✖ {request.failure.value}"


def seen_text(request: Request) -> str:
    """Return which of a request's spans were seen, and what that may mean."""
    if request.is_alone:
        return "replica alone: by a handle, or sampled out"
    if request.parts == (Part.REPLICA,):
        return "replica: its caller was not seen"
    return " › ".join(part.value for part in request.parts)


def other_text(store: Store, request: Request) -> str:
    """Return why a request has no *other* time: it is negative; nothing where it isn't."""
    if (request.other_ns or 0) >= 0:
        return ""
    rows, ends = dict(zip(request.parts, request.rows, strict=True)), store.spans.end_ns
    ran_on_ns = ends[rows[Part.REPLICA]] - ends[request.rows[0]] if Part.REPLICA in rows else 0
    if ran_on_ns <= 0:
        return "handling goes beyond the total, likely since the clocks of two nodes differ"
    return f"the replica ran on for {duration(ran_on_ns)} after its caller had ended, or clocks differ"
