"""What is odd about a folder of span files, counted from the raw files: obvious, slow, without a line of spanview."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from independent_reader import Record, key_of, of_one_span_each, read_folder, without_doubles
from slow_calls import are_executed, functions_of

if TYPE_CHECKING:
    from pathlib import Path

SKEW_NS = 2_000
SAME_START_NS = 1_000_000
PAUSE_NS = 60_000_000_000
HEALTH = ("check_health", "healthcheck", "health_check", "/-/healthz", "/healthz", "/livez", "/readyz", "grpc.health.")


def expected(folder: Path) -> dict[str, int]:
    """Return how often each kind of finding is there; kinds that aren't are left out.

    Torn and cut files are no business of this reader.
    """
    files = read_folder(folder)
    texts = {name: (folder / name).read_bytes().decode("utf-8", "replace") for name in files}
    spans = without_doubles([span for _, records in sorted(files.items()) for span in records])
    counts = Counter[str](ids_reused=len(reused := _with_ids_of_others(spans)))
    merged = {span["trace_id"] for span in reused}
    _of_calls(spans, {id(span): name for name, records in files.items() for span in records}, merged, counts)
    _of_serve(files, spans, counts)
    _of_files(files, texts, counts)
    _of_traces(spans, merged, counts)
    return {kind: count for kind, count in counts.items() if count}


def _by_id(spans: list[Record]) -> dict[tuple[Any, Any], Record]:
    by_id: dict[tuple[Any, Any], Record] = {}
    for span in spans:
        by_id.setdefault((span["trace_id"], span["span_id"]), span)
    return by_id


def _with_ids_of_others(spans: list[Record]) -> list[Record]:
    """Return the spans that share their ids and kind with others, and are more than a millisecond from one."""
    alike = defaultdict(list)
    for span in spans:
        if span["span_id"] and span["start_ns"] is not None:
            alike[span["trace_id"], span["span_id"], span["kind"]].append(span)
    reused = {}
    for group in alike.values():
        group.sort(key=lambda span: span["start_ns"])
        for one, next_one in pairwise(group):
            if next_one["start_ns"] - one["start_ns"] > SAME_START_NS:
                reused.update({id(one): one, id(next_one): next_one})
    return [*reused.values()]


def _of_calls(spans: list[Record], file_of: dict[int, str], merged: set[Any], counts: Counter[str]) -> None:
    spans = [span for span in spans if span["trace_id"] not in merged]
    for function in functions_of(spans, file_of):
        counts["no_attempt"] += function["no_attempt"]
        counts["untraced"] += function["untraced"]
        counts["generators"] += function["attempts"] if function["generator"] else 0
    attempts = defaultdict(list)
    for span in spans:
        if span["kind"] == "SpanKind.CONSUMER" and span["name"].endswith(" ray.remote_worker"):
            attempts[span["trace_id"], span["parent_id"]].append(span)
    by_id = _by_id(spans)
    for span in spans:
        if span["kind"] == "SpanKind.PRODUCER" and span["name"].endswith(" ray.remote"):
            if attempts[span["trace_id"], span["span_id"]]:
                continue
            if span["status"] == "ERROR" and "_ray_trace_ctx" in f"{span['description']}{span['events']}":
                counts["trace_ctx"] += 1
    for call, ran in attempts.items():
        if call in by_id and not are_executed(ran):
            earlier = sorted(ran, key=lambda span: span["start_ns"])[:-1]
            counts["unset_attempts"] += sum(
                span["status"] == "UNSET" and "__init__" not in span["name"] for span in earlier
            )


def _raised_below(
    spans: list[Record], failed: set[tuple[Any, Any]], known: set[tuple[Any, Any]]
) -> set[tuple[Any, Any]]:
    """Return the UNSET replicas that raised anything below failed requests, and the UNSET routings of them."""
    by_id = _by_id(spans)
    nested = set[tuple[Any, Any]]()
    for span in spans:
        key = span["trace_id"], span["span_id"]
        raised = any(event["name"] == "exception" for event in span["events"])
        if key in known or not (span["name"].startswith("replica_handle") and span["status"] == "UNSET" and raised):
            continue
        caller = span["trace_id"], span["parent_id"]
        above, steps = caller, 0
        while above in by_id and above not in failed and steps < len(spans):
            above, steps = (above[0], by_id[above]["parent_id"]), steps + 1
        if above in failed:
            nested.add(key)
            is_route = by_id[caller]["name"].startswith(("route_to_replica", "proxy_route_to_replica"))
            nested |= {caller} if is_route and by_id[caller]["status"] == "UNSET" else set()
    return nested


def _of_serve(files: dict[str, list[Record]], spans: list[Record], counts: Counter[str]) -> None:
    proxies = [name for name in files if re.search(r"(^|/)proxy_[^/]*_tracing\.json$", name)]
    replicas = [name for name in files if re.search(r"(^|/)replica_[^/]*_tracing\.json$", name)]
    requests = [span for span in spans if re.match("proxy_(http|grpc|websocket)_request", span["name"])]
    lone = [span for span in spans if span["name"].startswith("replica_handle_request") and not span["parent_id"]]
    if proxies and (len(requests) < 10 or len(lone) > len(requests)):
        counts["sampling"] = len(proxies) + len(replicas)
    if requests or proxies:
        counts["lone_replicas"] = len(lone)
    of_proxies = {name.rpartition("/")[0] for name in proxies}
    counts["no_proxy_file"] = sum(name.rpartition("/")[0] not in of_proxies for name in replicas)
    is_haproxy = any(span["name"].startswith("HAProxyManager.") for span in spans)
    starts = {
        span["span_id"] for span in spans if span["name"].endswith("initialize_and_get_metadata ray.remote_worker")
    }
    joined = [span for span in spans if span["name"].startswith("replica_handle") and span["parent_id"] in starts]
    if is_haproxy and (lone or joined) and not requests:
        counts["haproxy"], counts["no_proxy_file"] = len(lone) + len(joined), 0
    if not any(re.match("(proxy|replica|route)_", span["name"]) for span in spans):
        counts["serve_untraced"] = sum(
            bool(re.match(r"ServeReplica:.*handle_request.* ray\.remote$", span["name"])) for span in spans
        )
    failed = {(span["trace_id"], span["span_id"]) for span in requests if span["status"] == "ERROR"}
    routes: set[tuple[Any, Any]] = set()
    for start in ("route_to_replica", "proxy_route_to_replica", "replica_handle_request"):
        for span in spans:
            above = failed | (routes if start == "replica_handle_request" else set())
            is_unset = span["name"].startswith(start) and span["status"] == "UNSET"
            if is_unset and (span["trace_id"], span["parent_id"]) in above:
                counts["unset_requests"] += 1
                routes.add((span["trace_id"], span["span_id"]))
    by_id = _by_id(spans)
    counts["unset_requests"] += len(_raised_below(spans, failed, routes) - routes)
    for span in spans:
        parent = by_id.get((span["trace_id"], span["parent_id"]))
        grandparent = by_id.get((span["trace_id"], parent["parent_id"])) if parent else None
        has_proxy = any(other and other["name"].startswith("proxy_") for other in (parent, grandparent))
        is_outermost = span in requests or (span["name"].startswith("replica_handle_request") and not has_proxy)
        code = str(span["attributes"].get("http.status_code") or "")
        is_good = code.isdigit() and (int(code) < 400 or int(code) in (1000, 1001) or 600 <= int(code) < 1000)
        raised = any(event["name"] == "exception" for event in span["events"])
        counts["broken_streams"] += is_outermost and is_good and raised and span["status"] != "ERROR"
    health = sum(any(each in span["name"] for each in HEALTH) for span in spans)
    if health >= 20 and health * 5 >= len(spans):
        counts["health_checks"] = health


def _batched(files: dict[str, list[Record]], texts: dict[str, str]) -> int:
    spans = [(name, span) for name, records in files.items() for span in records]
    callers = [name for name, span in spans if span["name"].endswith(" ray.remote") and span["status"] != "ERROR"]
    folders = {name.rpartition("/")[0] for name in callers}
    if len(callers) < 3 or any(span["name"].endswith(" ray.remote_worker") for _, span in spans):
        return 0
    return sum(not text and name.rpartition("/")[0] in folders for name, text in texts.items())


def _of_files(files: dict[str, list[Record]], texts: dict[str, str], counts: Counter[str]) -> None:
    first: dict[str, str] = {}
    both = 0
    for name, records in sorted(files.items()):
        for span in records:
            other = first.setdefault(key_of(span), name)
            hooks = [each.rpartition("/")[2].endswith("_tracing.json") for each in (name, other)]
            both += hooks[0] != hooks[1]
    everything = [span for records in files.values() for span in records]
    counts["batched"] = _batched(files, texts)
    counts["doubled"] = len(everything) - len(first)
    said = r'"timeUnixNano":"(\d+)","severityNumber":13,.*?"(\d+) spans that ended before this could not be written'
    counts["not_written"] = sum(
        int(count) for _, count in {pair for text in texts.values() for pair in re.findall(said, text)}
    )
    of_process = {name: records for name, records in files.items() if re.search(r"(^|/)\d+\.(txt|json)$", name)}
    counts["pids_used_again"] = _of_emptied_files(files, first)
    counts["shared_file"] = sum(
        len({span["resource"].get("service.instance.id") for span in records} - {None}) > 1
        for records in of_process.values()
    )
    written = {name for name, records in of_process.items() if records}
    folders = {name.rpartition("/")[0] for name in written if name.endswith(".txt")}
    folders &= {name.rpartition("/")[0] for name in written if name.endswith(".json")}
    counts["both_hooks"] = both or sum(name.rpartition("/")[0] in folders for name in written)
    for name, text in texts.items():
        marks = len(re.findall(r"\[repeated \d+x across cluster\]", text))
        begins = re.findall(r'"trace_id": "0x[^"]*"(?:.*\[repeated (\d+)x)?', text)
        is_log = bool(re.search(r"pid=\d+\)|^\S+ stdout F ", text, re.MULTILINE))
        begun = sum(int(times or 1) for times in begins) - len(files[name]) if is_log else 0
        if begun:
            counts["deduplicated" if marks else "prefixed"] += marks or begun
        printed = max(text.count("instrumentationScope: {"), text.count("\n  traceId: '"))
        counts["javascript"] += printed
        counts["foreign"] += bool(text and not files[name] and not begun and not printed)
    counts["all_empty"] = len(files) if files and not any(texts.values()) else 0


def _of_emptied_files(files: dict[str, list[Record]], first: dict[str, str]) -> int:
    """Count tasks without a call that ran before any driver in their folder, of the hook that empties files."""
    ids = {(span["trace_id"], span["span_id"]) for spans in files.values() for span in spans}
    drivers = defaultdict(list)
    for name, spans in files.items():
        calls = [span for span in spans if span["kind"] == "SpanKind.PRODUCER"]
        workers = [str(call["attributes"].get("ray.worker_id")) for call in calls]
        if any(worker.endswith("f" * 48) for worker in workers):
            drivers[name.rpartition("/")[0]].append(min(span["start_ns"] for span in spans))
    count = 0
    for name, spans in files.items():
        began = drivers[name.rpartition("/")[0]]
        for span in spans if re.search(r"(^|/)\d+\.txt$", name) and began else ():
            is_task = span["kind"] == "SpanKind.CONSUMER" and span["name"].endswith(" ray.remote_worker")
            is_alone = span["parent_id"] and (span["trace_id"], span["parent_id"]) not in ids
            count += bool(is_task and is_alone and span["start_ns"] < min(began) and first[key_of(span)] == name)
    return count


def _of_traces(spans: list[Record], merged: set[Any], counts: Counter[str]) -> None:
    by_id, traces = _by_id(spans), {span["trace_id"] for span in spans} - {None}
    counts["missing_roots"] = len(traces - {span["trace_id"] for span in spans if not span["parent_id"]})
    wanted = {(span["trace_id"], span["parent_id"]) for span in spans if span["parent_id"]}
    counts["missing_parents"] = len(wanted - by_id.keys())
    counts["no_end"] = sum(span["end_ns"] is None for span in of_one_span_each(spans))
    counts["bad_id"] = sum(span["trace_id"] is None or span["span_id"] is None for span in spans)
    counts["odd_value"] = sum(not str(span["kind"]).startswith("SpanKind.") for span in spans)
    counts["capped_events"] = sum(len(span["events"]) == 128 for span in spans)
    for span in spans:
        parent = by_id.get((span["trace_id"], span["parent_id"])) if span["parent_id"] else None
        if span["trace_id"] in merged:
            continue
        if parent is not None and None not in (span["start_ns"], parent["start_ns"]) and not _is_in_circle(span, by_id):
            counts["clock_skew"] += span["start_ns"] < parent["start_ns"] - SKEW_NS
    timed = sorted((span for span in spans if span["start_ns"] is not None), key=lambda span: span["start_ns"])
    runs, until = 1, None
    for span in timed:
        runs += until is not None and span["start_ns"] - until >= PAUSE_NS
        until = max(each for each in (until, span["start_ns"], span["end_ns"]) if each is not None)
    counts["several_runs"] = runs if runs > 1 else 0


def _is_in_circle(span: Record, by_id: dict[tuple[Any, Any], Record]) -> bool:
    seen, at = set(), span
    while at["parent_id"] and (at["trace_id"], at["parent_id"]) in by_id:
        at = by_id[at["trace_id"], at["parent_id"]]
        if at is span or id(at) in seen:
            return at is span
        seen.add(id(at))
    return False
