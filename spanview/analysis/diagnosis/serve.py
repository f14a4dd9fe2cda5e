"""Ray Serve: what was sampled out, what the proxy doesn't write, what looks better than it is, and what is too much."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.diagnosis.facts import NameFlag
from spanview.analysis.diagnosis.finding import Certainty, Finding, Kind, Place, finding_of, number
from spanview.analysis.query.values import text_of
from spanview.analysis.serve.requests import HTTP_STATUS, Failure, failure_of, failure_of_http
from spanview.model.codes import ERROR, UNSET
from spanview.model.problems import Severity

if TYPE_CHECKING:
    from spanview.analysis.diagnosis.facts import Facts

SERVE_FILE: Final = re.compile(r"(proxy|replica)_.*_tracing\.json(?:\.gz|\.zst)?")
_FEW_REQUESTS: Final = 10
"""Fewer requests than this suggest sampling."""
_MIN_HEALTH_CHECK_SHARE: Final = 0.2
"""Health checks of a smaller share of all spans aren't reported."""
_MIN_HEALTH_CHECKS: Final = 20
"""Fewer health checks than this aren't reported."""
_VERSION: Final = re.compile(r"(\d{1,4})\.(\d{1,4})", re.ASCII)
"""As in `2.54.1`."""
_FIRST_TRACED: Final = 2, 55
"""The release of Ray whose Serve traces requests first."""


def _files_of(facts: Facts) -> dict[str, list[str]]:
    """Return the paths of Serve's files, by what wrote them."""
    files: dict[str, list[str]] = {"proxy": [], "replica": []}
    for path, _ in facts.files:
        if match := SERVE_FILE.fullmatch(path.rpartition("/")[2]):
            files[match[1]].append(path)
    return files


def _lone(facts: Facts) -> list[int]:
    rows: list[int] = np.flatnonzero(facts.are_named(NameFlag.REPLICA) & facts.are_roots).tolist()
    return rows


def sampling(facts: Facts) -> Finding | None:
    """Find Serve's files with few requests, or with fewer than replicas without one."""
    files = _files_of(facts)
    count = len(files["proxy"]) + len(files["replica"])
    if not files["proxy"]:
        return None
    requests, lone = np.flatnonzero(facts.are_named(NameFlag.PROXY)), _lone(facts)
    words = number(len(requests), "traced request", "traced requests")
    of_files = f"{number(count, 'file', 'files')} of Ray Serve {'has' if count == 1 else 'have'} {words}"
    if len(lone) > len(requests):
        detail = f"{of_files}, and {len(lone):,} replica spans whose requests were not sampled."
        return finding_of(Kind.SAMPLING, count, detail, facts.places(lone))
    if len(requests) >= _FEW_REQUESTS:
        return None
    detail = f"{of_files}: there were few requests, or they were sampled. By default one request in a hundred is kept."
    places = [Place(path) for path in files["proxy"]]
    return finding_of(Kind.SAMPLING, count, detail, places, severity=Severity.INFO)


def lone_replicas(facts: Facts) -> Finding | None:
    """Find spans of replicas without a parent, where there are spans or files of a proxy."""
    rows = _lone(facts)
    if not rows or not (facts.are_named(NameFlag.PROXY).any() or _files_of(facts)["proxy"]):
        return None
    spans = number(len(rows), "replica span has", "replica spans have")
    detail = f"{spans} no proxy: the requests were not sampled, or came through a handle."
    return facts.of_spans(Kind.LONE_REPLICAS, rows, detail)


def no_proxy_file(facts: Facts) -> Finding | None:
    """Find files of replicas in folders without a file of a proxy, unless it is known why there is none."""
    if haproxy(facts) is not None:
        return None
    files = _files_of(facts)
    folders = {path.rpartition("/")[0] for path in files["proxy"]}
    paths = [path for path in files["replica"] if path.rpartition("/")[0] not in folders]
    subject = number(len(paths), "replica's file is", "replicas' files are")
    detail = f"{subject} in a folder without a proxy's file: requests begin at the replicas and have no root."
    return finding_of(Kind.NO_PROXY_FILE, len(paths), detail, [Place(path) for path in paths])


def haproxy(facts: Facts) -> Finding | None:
    """Find requests that came through HAProxy, by the spans of its manager.

    A replica that HAProxy asks begins to listen in the call that starts it, and each request that brings no trace of
    its own goes on with that call's.
    """
    if not facts.are_named(NameFlag.HAPROXY).any() or facts.are_named(NameFlag.PROXY).any():
        return None
    are_joined = facts.are_named(NameFlag.REPLICA) & (facts.parents >= 0)
    are_joined &= facts.are_named(NameFlag.REPLICA_STARTS)[np.maximum(facts.parents, 0)]
    joined: list[int] = np.flatnonzero(are_joined).tolist()
    rows = sorted([*_lone(facts), *joined])
    if not rows:
        return None
    begin = number(len(rows), "request begins at its replica", "requests begin at their replicas")
    joins = number(len(joined), "of them is", "of them are")
    traces = f" {joins} in the trace of the call that started the replica." if joined else ""
    detail = f"{begin}, because HAProxy writes no spans, or they came through a handle.{traces}"
    return facts.of_spans(Kind.HAPROXY, rows, detail)


def serve_untraced(facts: Facts) -> Finding | None:
    """Find calls that pass requests to replicas, where no request has a span of Ray Serve."""
    rows = np.flatnonzero(facts.are_named(NameFlag.TO_REPLICA)).tolist()
    if not rows or facts.are_named(NameFlag.PROXY | NameFlag.ROUTE | NameFlag.REPLICA).any():
        return None
    version = facts.store.span(rows[0]).resource.attributes.get("ray.version")
    parts = _VERSION.match(version) if isinstance(version, str) else None
    is_older = parts is not None and (int(parts[1]), int(parts[2])) < _FIRST_TRACED
    older = "" if parts is not None else ", or Ray is older than 2.55"
    why = f"Ray {version} can't trace them" if is_older else f"Serve's exporter isn't set, none was sampled{older}"
    requests = number(
        len(rows), "request was passed to a replica, but has", "requests were passed to replicas, but have"
    )
    finding = facts.of_spans(Kind.SERVE_UNTRACED, rows, f"{requests} no span of Ray Serve: {why}.")
    return replace(finding, certainty=Certainty.CERTAIN) if is_older else finding


def unset_requests(facts: Facts) -> Finding:
    """Find spans with the status UNSET of requests that failed, as their proxy says, and of failed calls below them."""
    above = np.maximum(facts.parents, 0)
    failed = facts.are_named(NameFlag.PROXY) & (facts.statuses == ERROR)
    unset = (facts.statuses == UNSET) & (facts.parents >= 0)
    routes = unset & facts.are_named(NameFlag.ROUTE)
    routes[routes] = failed[above[routes]]
    replicas = unset & facts.are_named(NameFlag.REPLICA)
    replicas[replicas] = (routes | failed)[above[replicas]]
    # A call to another deployment may have ended well: what was raised in its replica says that it didn't.
    nested = unset & facts.are_named(NameFlag.REPLICA) & ~replicas & (facts.forest.sums_above(failed) > 0)
    raised, _ = facts.read_again(np.flatnonzero(nested).tolist(), _has_exception)
    replicas[raised] = True
    routes[above[raised]] |= (unset & facts.are_named(NameFlag.ROUTE))[above[raised]]
    rows = np.flatnonzero(routes | replicas)
    spans = number(len(rows), "routing or replica span has", "routing and replica spans have")
    detail = f"{spans} the status UNSET below {number(int(failed.sum()), 'failed request', 'failed requests')}."
    return facts.of_spans(Kind.UNSET_REQUESTS, rows.tolist(), detail)


def broken_streams(facts: Facts) -> Finding:
    """Find requests with a code that says success, and an exception, by the outermost span that has a code."""
    are_proxies, parents, above = facts.are_named(NameFlag.PROXY), facts.parents, np.maximum(facts.parents, -1)
    # The proxy's span above each: its parent, or above the span that routed the request; -1 for none.
    proxies = np.append(np.where(are_proxies, np.arange(len(parents)), -1), -1)
    routes = np.where(facts.are_named(NameFlag.ROUTE), proxies[above], -1)
    proxies = np.where(proxies[above] < 0, np.append(routes, -1)[above], proxies[above])
    succeeded, are_replicas = facts.statuses != ERROR, facts.are_named(NameFlag.REPLICA)
    outer = succeeded & (are_proxies | (are_replicas & (proxies < 0)))
    rows, at_least = facts.read_again(np.flatnonzero(outer).tolist(), _broke_off)
    inner, more = facts.read_again(
        np.flatnonzero(succeeded & are_replicas & (proxies >= 0)).tolist(),
        lambda facts, row: _broke_off(facts, row) and not _code_of(facts, int(proxies[row])),
    )
    rows, at_least = sorted([*rows, *inner]), at_least or more
    replicas = np.flatnonzero(are_replicas)
    callers = np.where(parents[replicas] >= 0, parents[replicas], len(above))
    callers = np.where(np.isin(callers, rows), callers, np.append(parents, -1)[callers])
    answers = {row: replicas[callers == row].tolist() for row in rows}
    failures = {row: failure_of([*map(facts.store.span, (row, *below))]) for row, below in answers.items()}
    rows = [row for row in rows if failures[row] is not None]
    left = sum(failures[row] is Failure.CANCELLED for row in rows)
    responses = number(len(rows), "response", "responses")
    parts = [f"{len(rows) - left:,} with an exception", f"{left:,} cancelled, as when its caller gives up"]
    how = ", ".join(part for part, is_some in zip(parts, (len(rows) - left, left), strict=True) if is_some)
    detail = f"{at_least}{responses} broke off after a success status code was sent: {how}."
    return facts.of_spans(Kind.BROKEN_STREAMS, rows, detail)


def _broke_off(facts: Facts, row: int) -> bool:
    if not _has_exception(facts, row):
        return False
    code = _code_of(facts, row)
    return bool(code) and failure_of_http(code) is None


def _code_of(facts: Facts, row: int) -> str:
    """Return the status code that a span has; empty where it has none."""
    code = facts.store.span(row).attributes.get(HTTP_STATUS)
    return "" if code is None else text_of(code)


def _has_exception(facts: Facts, row: int) -> bool:
    # The bytes of most records show that they have none.
    is_named = b'"exception"' in (facts.store.record(row) or b"")
    return is_named and any(event.is_exception for event in facts.store.span(row).events)


def health_checks(facts: Facts) -> Finding | None:
    """Find health checks that are a large share of all spans."""
    rows = np.flatnonzero(facts.are_named(NameFlag.HEALTH))
    if len(rows) < max(_MIN_HEALTH_CHECKS, _MIN_HEALTH_CHECK_SHARE * facts.size):
        return None
    detail = f"{len(rows):,} of {facts.size:,} spans ({len(rows) / facts.size:.0%}) are health checks."
    return facts.of_spans(Kind.HEALTH_CHECKS, rows.tolist(), detail)
