"""Two sides matched by call path, against drawings and against dictionaries of whole paths.

A            B            path  self of A  self of B
a 0-10       a 0-30       a ›b          4         20
  b 2-6        b 2-22     a             6         10
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given, settings

from builders import Builder, store_of
from slow_paths import changes_of, divisors_of
from span_graphs import forests
from spanview.analysis.diff import FIGURES, MAX_NAMES, Diff, Totals, diff, to_json, totals_to_json
from spanview.analysis.diff_groups import DiffBy, diff_groups, groups_of_side
from spanview.analysis.flame import flame
from spanview.formats.jsontext import dumps_strict
from spanview.index.tree import ROOT

if TYPE_CHECKING:
    from builders import Document
    from spanview.analysis.flame import Flame
    from spanview.index.store import Store


def diff_of(a: list[Document], b: list[Document]) -> Diff:
    """Return what differs between two sets of spans, each in a store of its own."""
    return diff(flame(store_of(*a)), flame(store_of(*b)))


def drawn(a: str, b: str) -> Diff:
    """Return what differs between two drawings."""
    return diff_of(Builder().draw(a), Builder().draw(b))


def test_a_drawing() -> None:
    """Paths are matched by their names, whatever their stores have as numbers."""
    merged = drawn("a 0-10\n  b 2-6", "z 0-1\na 0-30\n  b 2-22")
    assert [
        (path.name, path.change("self_ns"), path.ratio("self_ns"), path.only_in) for path in merged.by_change()
    ] == [
        ("b", 16_000, 5.0, None),
        ("a", 4_000, 10 / 6, None),
        ("z", 1_000, None, "b"),
    ]
    assert merged.a == Totals(1, 2, 0, 0, 10_000, 10_000, 10_000, 10_000)
    assert merged.b == Totals(1, 3, 0, 0, 30_000, 31_000, 30_000, 30_000)


def test_the_greatest_change_comes_first() -> None:
    """What became slower comes before what became as much quicker, and what hasn't changed comes last."""
    merged = drawn("same 0-5\nquicker 0-9\nslower 0-1\nmore 0-3", "same 0-5\nquicker 0-1\nslower 0-9\nmore 0-23")
    assert [path.name for path in merged.by_change()] == ["more", "slower", "quicker", "same"]


def test_of_like_self_times_the_totals_and_counts_decide() -> None:
    """Where self times haven't changed, the change of the total comes first, then that of the count."""
    build = Builder()
    a = [build.span("counted"), build.span("total", span=90, start=0, duration=5), build.span("same", duration=0)]
    b = [
        build.span("counted"),
        *[build.span("counted", duration=None) for _ in range(3)],
        build.span("total", span=90, start=0, duration=8),
        build.span("below", parent=90, start=0, duration=3),
        build.span("same", duration=0),
    ]
    assert [path.name for path in diff_of(a, b).by_change()] == ["below", "total", "counted", "same"]


def test_only_one_side() -> None:
    """A path that one side hasn't got counts there as nothing, and has no percentiles to compare."""
    merged = drawn("a 0-10", "b 0-10")
    a, b = merged.paths
    assert (a.only_in, a.b, b.only_in, b.a) == ("a", None, "b", None)
    assert {figure: a.change(figure) for figure in FIGURES} == {
        "count": -1,
        "errors": 0,
        "total_ns": -10_000,
        "self_ns": -10_000,
        "p50_ns": None,
        "p95_ns": None,
    }
    assert (a.ratio("self_ns"), b.ratio("self_ns"), b.ratio("p50_ns")) == (0.0, None, None)


def test_two_traces_are_matched_at_their_roots() -> None:
    """Roots that are called otherwise are one path, with what is below them; of several roots none is matched."""
    a, b = (flame(store_of(*Builder().draw(text))) for text in ("batch 0 0-9\n  put 1-3", "batch 1 0-9\n  put 1-7"))
    merged = diff(a, b, are_traces=True)
    assert [(path.name, path.only_in, path.change("total_ns")) for path in merged.paths] == [
        ("batch 0 → batch 1", None, 0),
        ("put", None, 4_000),
    ]
    assert {path.only_in for path in diff(a, b).paths} == {"a", "b"}
    several = flame(store_of(*Builder().draw("a 0-9\nb 0-9")))
    assert {path.only_in for path in diff(a, several, are_traces=True).paths} == {"a", "b"}


def test_names_in_other_places_and_services_are_other_paths() -> None:
    """Only what has the same names and services above it is the same."""
    merged = diff_of(
        Builder().draw("a 0-9\n  b 0-9", service="cart"), [*Builder().draw("b 0-9"), *Builder().draw("a 0-9", trace=2)]
    )
    assert sorted((path.name or "", path.service, path.only_in or "") for path in merged.paths) == [
        ("a", "", "b"),
        ("a", "cart", "a"),
        ("b", "", "b"),
        ("b", "cart", "a"),
    ]


def test_versions_of_a_program_are_one_service_without_a_name() -> None:
    """Each SDK's default name says which program runs, some with its version; within a side, too."""
    sides = [["unknown_service:python", "unknown_service:python3.11", "cart2"], ["unknown_service:python3.12", "cart"]]
    a, b = (
        flame(store_of(*(Builder().span("a", span=number, service=name) for number, name in enumerate(names, 1))))
        for names in sides
    )
    merged = diff(a, b)
    assert {(path.service, path.sides("count")) for path in merged.paths} == {
        ("unknown_service:python", (2, 1)),
        ("cart2", (1, 0)),
        ("cart", (0, 1)),
    }


def test_missing_parents_meet_each_other() -> None:
    """Parents that no file holds are one path on both sides, and no spans."""
    merged = diff_of([Builder().span("a", parent=70)], [Builder().span("a", parent=71)])
    assert [(path.name, path.only_in) for path in merged.paths] == [(None, None), ("a", None)]
    assert (merged.a.spans, merged.a.missing_parents) == (1, 1)


def test_nothing() -> None:
    """Two empty sides have no paths."""
    merged = diff_of([], [])
    assert merged.by_change() == []
    assert merged.a == merged.b == Totals(0, 0, 0, 0, 0, 0, None, None)


def test_sides_of_unequal_size() -> None:
    """Six traces against two that take twice as long: by sums all were better, per trace it is as much worse."""
    build = Builder()
    a = [span for trace in range(1, 7) for span in build.draw("a 0-10\n  b 2-6", trace=trace)]
    b = [span for trace in range(1, 3) for span in build.draw("a 0-20\n  b 4-12", trace=trace)]
    merged = diff_of(a, b)
    assert [
        (path.name, path.compared("self_ns"), path.change("self_ns"), path.ratio("self_ns"), path.change("count"))
        for path in merged.by_change()
    ] == [("a", (6_000, 12_000), 6_000, 2.0, 0), ("b", (4_000, 8_000), 4_000, 2.0, 0)]
    assert merged.is_per_trace
    assert (merged.change("traces"), merged.change("spans"), merged.change("self_ns")) == (-4, 0, 10_000)
    assert [path.change("p50_ns") for path in merged.paths] == [10_000, 4_000]
    value = to_json(merged, merged.paths[0])
    assert (value["delta"]["self_ns"], value["ratio"]["self_ns"]) == (-12_000, 2 / 3)
    assert value["per_trace"]["delta"] == {"count": 0, "errors": 0, "total_ns": 10_000, "self_ns": 6_000}


def _runs(*drawings: str) -> list[Document]:
    """Return traces, one a drawing."""
    return [span for trace, text in enumerate(drawings, 1) for span in Builder().draw(text, trace=trace)]


def _with_groups(store: Store, by: DiffBy) -> tuple[Flame, Flame]:
    merged = flame(store)
    return merged, groups_of_side(store, by, merged, None).flame


_FAN, _PUT = "fan 0-10\n  leaf 1-4\n  leaf 2-9", "put 0-7\n  store 1-6"
_NEW: Final = "health 0-90\n  ping 0-40\n  ping 50-90"


@pytest.mark.parametrize("b", [[_FAN, _FAN, _PUT], [_FAN, _FAN, _FAN, _PUT]], ids=["alike", "more traces"])
def test_a_new_root_changes_nothing_for_others(b: list[str]) -> None:
    """What a side has of one more root is compared with nothing; the shares of all others stay what they were."""
    before, after = (diff_of(_runs(_FAN, _FAN, _PUT), _runs(*b, *more)) for more in ((), (_NEW,)))
    assert before.is_per_trace == after.is_per_trace
    others = [path for path in after.paths if path.name not in {"health", "ping"}]
    assert len(others) == len(before.paths) == 4
    for path, same in zip(others, before.paths, strict=True):
        assert path.name == same.name
        assert [path.compared(figure) for figure in FIGURES] == [same.compared(figure) for figure in FIGURES]
        assert [path.change(figure) for figure in FIGURES] == [0] * len(FIGURES) or not before.is_per_trace
    for figure in ("self_ns", "total_ns"):
        assert after.change(figure) == (before.change(figure) or 0) + 90_000


@pytest.mark.parametrize("by", [DiffBy.NAME, DiffBy.RAY])
def test_a_new_root_changes_no_other_group(by: DiffBy) -> None:
    """Of names and functions, too: only what the new root itself calls is more."""

    def call(name: str, trace: int, parent: int) -> list[Document]:
        number = 100 * trace + parent
        fields: dict[str, Any] = {"trace": trace, "start": 1}
        return [
            build.span(f"{name} ray.remote", span=number, parent=parent, kind="PRODUCER", duration=1, **fields),
            build.span(f"{name} ray.remote_worker", parent=number, kind="CONSUMER", duration=5 + trace, **fields),
        ]

    build = Builder()
    runs = [[build.span("run", trace=trace, span=9, duration=20), *call("leaf", trace, 9)] for trace in (1, 2, 3)]
    new = [build.span("health", trace=4, span=8), *call("ping", 4, 8), *call("ping", 4, 8)]
    sides = ([*runs], [*runs, new], [*runs[:2], new])
    a, *others = (_with_groups(store_of(*chain.from_iterable(side)), by) for side in sides)
    for b, is_per_trace in zip(others, (False, True), strict=True):
        merged = diff_groups(a, b)
        assert merged.is_per_trace == is_per_trace
        changes = {path.name: path.change("count") for path in merged.paths if path.parent == ROOT}
        assert {name for name, change in changes.items() if change} == {
            *(("ping",) if by is DiffBy.RAY else ("ping ray.remote", "ping ray.remote_worker", "health"))
        }


def test_what_several_roots_call_is_divided_by_all_their_traces() -> None:
    """A name below roots that the other side hasn't got is compared per trace, too."""
    runs = (["a 0-9\n  db 0-2"] * 4, ["b 0-9\n  db 0-2", "c 0-9\n  db 0-2"])
    a, b = (_with_groups(store_of(*_runs(*side)), DiffBy.NAME) for side in runs)
    merged = diff_groups(a, b)
    (db,) = (path for path in merged.paths if path.name == "db")
    assert (db.parts, db.compared("count"), db.change("total_ns")) == ((4, 2), (1, 1), 0)


def test_spans_without_a_trace() -> None:
    """Spans without a usable trace id are no trace: a side of nothing else has none that sums could be divided by."""
    build = Builder()
    merged = diff_of([build.span(trace=0, duration=3)], [build.span(trace=number, duration=6) for number in (1, 2)])
    assert (merged.a.traces, merged.b.traces, merged.is_per_trace) == (0, 2, False)
    assert [path.change("self_ns") for path in merged.paths] == [9_000]


def test_json_of_a_path() -> None:
    """The object has the keys of the format, in its order."""
    merged = drawn("a 0-10\n  b 2-6", "a 0-30")
    value = to_json(merged, merged.paths[1])
    assert " ".join(value) == "number parent depth name service missing path only_in a b delta ratio per_trace"
    assert value == {
        "number": 1,
        "parent": 0,
        "depth": 1,
        "name": "b",
        "service": "",
        "missing": False,
        "path": ["a", "b"],
        "only_in": "a",
        "a": {"count": 1, "errors": 0, "total_ns": 4_000, "self_ns": 4_000, "p50_ns": 4_000, "p95_ns": 4_000},
        "b": None,
        "delta": {"count": -1, "errors": 0, "total_ns": -4_000, "self_ns": -4_000, "p50_ns": None, "p95_ns": None},
        "ratio": {"count": 0.0, "errors": None, "total_ns": 0.0, "self_ns": 0.0, "p50_ns": None, "p95_ns": None},
        "per_trace": None,
    }


def test_json_of_totals() -> None:
    """What can't be compared is null; sums per trace are rounded once."""
    build = Builder()
    value = totals_to_json(diff_of([build.span(trace=0, duration=3)], build.draw("a 0-6")))
    assert (value["delta"]["p50_ns"], value["delta"]["self_ns"], value["per_trace"]) == (None, 3_000, None)
    assert (value["ratio"]["traces"], value["ratio"]["self_ns"]) == (None, 2.0)
    a, b = ([build.span("a", trace=trace, duration=10) for trace in range(1, 1 + number)] for number in (4, 3))
    b[0] = build.span("a", trace=1, duration=None)
    assert totals_to_json(diff_of(a, b))["per_trace"] == {
        "delta": {"spans": 0, "errors": 0, "missing_parents": 0, "total_ns": -3_333, "self_ns": -3_333},
        "ratio": {"spans": 1, "errors": None, "missing_parents": None, "total_ns": 2 / 3, "self_ns": 2 / 3},
    }


def test_json_grows_no_faster_than_the_paths() -> None:
    """Of what is very deep or has very long names, each path has the last names only, and says how deep it is."""
    build = Builder()
    chain = [build.span("f", span=number, parent=number - 1 or None) for number in range(1, 3_001)]
    merged = diff_of(chain, chain)
    deepest = to_json(merged, merged.paths[-1])
    assert (deepest["depth"], deepest["path"]) == (2_999, ["f"] * MAX_NAMES)
    long = [build.span("x" * 4_000, span=1), build.span("y" * 97, parent=1, span=2), build.span("z" * 5_000, parent=2)]
    merged = diff_of(long, long)
    names = [[name and name[0] for name in to_json(merged, path)["path"]] for path in merged.paths]
    assert names == [["x"], ["y"], ["z"]]
    assert [path.name and path.name[0] for path in merged.paths] == ["x", "y", "z"]


@settings(max_examples=150, deadline=None)
@given(forests(), forests())
def test_is_what_comparing_slowly_comes_to(a: list[Document], b: list[Document]) -> None:
    """Every figure of every path is that of dictionaries of whole paths, and numbers lead upwards."""
    merged = diff_of(a, b)
    values = [to_json(merged, path) for path in merged.paths]
    by_path: dict[Any, dict[str, Any]] = {}
    keys: list[Any] = []
    for number, value in enumerate(values):
        assert value.pop("number") == number
        parent = value.pop("parent")
        keys.append((*(() if parent is None else keys[parent]), (value["name"], value["service"])))
        by_path[keys[-1]] = value
    assert by_path == changes_of(a, b)
    divisors, order = divisors_of(a, b), []
    for path in merged.by_change():
        shares = (1, 1) if divisors is None else divisors[keys[path.number]]
        of_a, of_b = (0 if side is None else side.self_ns for side in (path.a, path.b))
        order.append(abs(Fraction(of_b, shares[1]) - Fraction(of_a, shares[0])))
    assert order == sorted(order, reverse=True)
    spans = [path for path in merged.paths if path.name is not None]
    assert merged.change("spans") == pytest.approx(sum(path.change("count") or 0 for path in spans), abs=1e-9)
    rows_ns = sum(path.change("self_ns") or 0 for path in spans)
    # Each row is rounded.
    assert abs((merged.change("self_ns") or 0) - rows_ns) <= len(spans) / 2
    assert b"NaN" not in dumps_strict(values)


@settings(max_examples=100, deadline=None)
@given(forests(), forests())
def test_swapping_the_sides_turns_the_signs(a: list[Document], b: list[Document]) -> None:
    """What is compared of each side is what it was, and every change is the other way round."""
    there, back = (
        {tuple((each.name, each.service) for each in merged.line(path)): path for path in merged.paths}
        for merged in (diff_of(a, b), diff_of(b, a))
    )
    assert there.keys() == back.keys()
    for line, path in there.items():
        for figure in FIGURES:
            assert path.compared(figure) == back[line].compared(figure)[::-1]
            change, other = path.change(figure), back[line].change(figure)
            assert change == (None if other is None else -other)


@settings(max_examples=50, deadline=None)
@given(forests())
def test_a_side_against_itself_has_no_change(documents: list[Document]) -> None:
    """Every change is nothing, and no path is on one side only."""
    merged = diff_of(documents, documents[::-1])
    assert merged.a == merged.b
    assert all(not path.change(figure) and path.only_in is None for path in merged.paths for figure in FIGURES)
