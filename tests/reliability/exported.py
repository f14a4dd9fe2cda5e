"""All that spanview makes of a store but the screen, and whether what goes out is strict JSON and says the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NoReturn

from spanview.analysis.grouping import GROUPINGS
from spanview.display.span_in_tree import SpanInTree
from spanview.display.span_text import SECTIONS, detail_lines, section_titles
from spanview.display.tree_text import trace_title, tree_lines
from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.trace_tree import trace_tree_chunks
from spanview.index.summary import summary_of
from spanview.reports.statistics import statistics_report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.index.store import Store

_WIDTH: Final = 80
_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def strictly(text: bytes) -> Any:
    """Return what strict JSON in UTF-8 says: no NaN, no lone surrogate, no key twice."""
    value = json.loads(text.decode(), parse_constant=_refuse, object_pairs_hook=_each_once)
    json.dumps(value, ensure_ascii=False).encode()
    return value


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), f"a key comes twice: {pairs}"
    return dict(pairs)


def _refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")


def exported_spans(store: Store) -> list[dict[str, Any]]:
    """Return the spans as the flat export has them, after all else that can be made of the store was made of it."""
    everything = [*store.traces_in_order()]
    chunks = trace_tree_chunks(store, everything, summary=summary_of(store), problems=store.problems())
    tree = strictly(b"".join(chunks))
    lines = b"".join(jsonl_chunks(store, store.rows_in_order())).splitlines()
    spans: list[dict[str, Any]] = [strictly(line) for line in lines]
    in_trees = [span for trace in tree["traces"] for span in nodes_of(trace["roots"])]
    assert len(in_trees) == len(spans) == tree["summary"]["spans"]
    for by in GROUPINGS:
        groups = strictly(b"".join(statistics_report(store, by).json_chunks()))["rows"]
        assert sum(group["count"] for group in groups) == len(spans)
    for number in store.traces_in_order():
        drawn = store.tree(number)
        assert trace_title(store, number, drawn).isprintable()
        assert all(line.isprintable() for line in tree_lines(store, number, drawn))
        for node, row in enumerate(drawn.rows):
            subject = SpanInTree(store.span(row), store, number, drawn, node)
            assert len(section_titles(subject.span)) == len(SECTIONS)
            assert all(line.text.isprintable() for name in SECTIONS for line in detail_lines(subject, name, _WIDTH))
    return spans


def nodes_of(roots: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the spans of a trace as the export of trees has them."""
    pending = [*roots]
    while pending:
        node = pending.pop()
        pending += node["children"]
        if not node.get("missing"):
            yield node


def says_the_same(value: Any, exported: Any) -> bool:
    """Tell whether an export has a value as the format promises it: exact, but for what strict JSON doesn't have."""
    if isinstance(value, dict):
        return (
            isinstance(exported, dict)
            and len(value) == len(exported)
            and all(
                _is_key(key, as_exported, [*value]) and says_the_same(value[key], exported[as_exported])
                for key, as_exported in zip(value, exported, strict=True)
            )
        )
    if isinstance(value, list):
        return isinstance(exported, list) and len(value) == len(exported) and all(map(says_the_same, value, exported))
    if isinstance(value, float):
        return repr(exported) == repr(_NOT_FINITE.get(repr(value), value))
    if isinstance(value, str):
        return bool(exported == _valid(value))
    return type(value) is type(exported) and bool(value == exported)


def _is_key(key: str, exported: str, all_keys: list[str]) -> bool:
    """Tell whether a key is exported as it is, or numbered where others that aren't valid come to the same."""
    valid = _valid(key)
    others = [other for other in all_keys if other != key and _valid(other) == valid]
    return exported == valid or (bool(others) and key != valid and exported.startswith(f"{valid} ("))


def _valid(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
