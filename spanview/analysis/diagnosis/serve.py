"""Ray Serve: what was sampled away, what the proxy doesn't write, what looks better than it is, and what floods."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.diagnosis.facts import Name
from spanview.analysis.diagnosis.finding import Finding, Kind, Place, found, number
from spanview.analysis.query_values import text_of
from spanview.analysis.serve import HTTP_STATUS, failure_of_http
from spanview.model.codes import ERROR
from spanview.model.problems import Severity

if TYPE_CHECKING:
    from spanview.analysis.diagnosis.facts import Facts

SERVE_FILE: Final = re.compile(r"(proxy|replica)_.*_tracing\.json")
_FEW: Final = 10
"""So many requests in all files are few."""
_SHARE: Final = 0.2
"""Health checks are worth a word from this share of all spans on."""
_LEAST: Final = 20
"""And from so many on."""
_UNSET: Final = 0


def _files_of(facts: Facts) -> dict[str, list[str]]:
    """Return the paths of Serve's files, by what wrote them."""
    files: dict[str, list[str]] = {"proxy": [], "replica": []}
    for path, _ in facts.files:
        if match := SERVE_FILE.fullmatch(path.rpartition("/")[2]):
            files[match[1]].append(path)
    return files


def _lone(facts: Facts) -> list[int]:
    rows: list[int] = np.flatnonzero(facts.says(Name.REPLICA) & facts.are_roots).tolist()
    return rows


def sampling(facts: Facts) -> Finding | None:
    """Find Serve's files with few requests, or with fewer than replicas without one."""
    files = _files_of(facts)
    count = len(files["proxy"]) + len(files["replica"])
    if not files["proxy"]:
        return None
    requests, lone = np.flatnonzero(facts.says(Name.PROXY)), _lone(facts)
    words = number(len(requests), "traced request", "traced requests")
    of_files = f"{number(count, 'file', 'files')} of Ray Serve with {words}"
    if len(lone) > len(requests):
        detail = f"{of_files}, and {len(lone):,} spans of replicas whose requests were left out."
        return found(Kind.SAMPLING, count, detail, facts.places(lone))
    if len(requests) >= _FEW:
        return None
    detail = f"{of_files}: there were few, or they were sampled; one in a hundred is kept unless that is set."
    places = [Place(path) for path in files["proxy"]]
    return found(Kind.SAMPLING, count, detail, places, severity=Severity.INFO)


def lone_replicas(facts: Facts) -> Finding | None:
    """Find spans of replicas without anything above them, where there are spans or files of a proxy."""
    rows = _lone(facts)
    if not rows or not (facts.says(Name.PROXY).any() or _files_of(facts)["proxy"]):
        return None
    spans = number(len(rows), "span of a replica has", "spans of replicas have")
    detail = f"{spans} no proxy: the requests were not sampled, or came by a handle."
    return facts.of_spans(Kind.LONE_REPLICAS, rows, detail)


def no_proxy_file(facts: Facts) -> Finding:
    """Find files of replicas in folders without a file of a proxy."""
    files = _files_of(facts)
    folders = {path.rpartition("/")[0] for path in files["proxy"]}
    alone = [path for path in files["replica"] if path.rpartition("/")[0] not in folders]
    stand = number(len(alone), "file of a replica stands", "files of replicas stand")
    detail = f"{stand} in a folder without a file of a proxy: requests begin at the replicas, and have no root."
    return found(Kind.NO_PROXY_FILE, len(alone), detail, [Place(path) for path in alone])


def unset_requests(facts: Facts) -> Finding:
    """Find spans with the status UNSET of requests that their proxy says have failed."""
    above = np.maximum(facts.parents, 0)
    failed = facts.says(Name.PROXY) & (facts.statuses == ERROR)
    unset = (facts.statuses == _UNSET) & (facts.parents >= 0)
    routes = unset & facts.says(Name.ROUTE)
    routes[routes] = failed[above[routes]]
    replicas = unset & facts.says(Name.REPLICA)
    replicas[replicas] = (routes | failed)[above[replicas]]
    rows = np.flatnonzero(routes | replicas)
    requests = number(int(failed.sum()), "request that", "requests that")
    detail = f"{len(rows):,} spans of routes and replicas are UNSET below {requests} failed."
    return facts.of_spans(Kind.UNSET_REQUESTS, rows.tolist(), detail)


def broken_streams(facts: Facts) -> Finding:
    """Find requests with a code that says success, and an exception, by the outermost span that has a code."""
    proxies = facts.says(Name.PROXY) & (facts.statuses != ERROR)
    parents = facts.parents
    above = np.maximum(parents, 0)
    below_proxy = (parents >= 0) & facts.says(Name.PROXY)[above]
    below_proxy |= (parents >= 0) & facts.says(Name.ROUTE)[above] & below_proxy[above]
    replicas = facts.says(Name.REPLICA) & (facts.statuses != ERROR) & ~below_proxy
    rows, least = facts.read_again(np.flatnonzero(proxies | replicas).tolist(), _broke_off)
    responses = number(len(rows), "response", "responses")
    detail = f"{least}{responses} broke off with an exception after a status code that says success."
    return facts.of_spans(Kind.BROKEN_STREAMS, rows, detail)


def _broke_off(facts: Facts, row: int) -> bool:
    # Of most records the bytes tell that they have no exception.
    if b'"exception"' not in (facts.store.record(row) or b""):
        return False
    span = facts.store.span(row)
    code = span.attributes.get(HTTP_STATUS)
    is_success = code not in (None, "") and failure_of_http(text_of(code)) is None
    return is_success and any(event.is_exception for event in span.events)


def health_checks(facts: Facts) -> Finding | None:
    """Find health checks that are a large share of all spans."""
    rows = np.flatnonzero(facts.says(Name.HEALTH))
    if len(rows) < max(_LEAST, _SHARE * facts.size):
        return None
    detail = f"{len(rows):,} of {facts.size:,} spans, {len(rows) / facts.size:.0%}, are health checks."
    return facts.of_spans(Kind.HEALTH_CHECKS, rows.tolist(), detail)
