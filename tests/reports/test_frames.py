"""Reports as data frames: names without dots, a type for each column, and nothing rounded.

JSON                                     frame
wait_ns: {"p95": 7}                      wait_p95_ns   an integer
wait_parts_ns: {"arguments": 7}          wait_arguments_ns
"""

from __future__ import annotations

import csv
import re
import sys
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pytest

import spanview
from spanview.display.units import duration
from spanview.reports.frames import flat_name
from spanview.reports.serve import requests_report, serve_report
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from spanview.reports.report import AnyReport

ROOT: Final = Path(__file__).parent.parent.parent
WAITS: Final = [
    f"wait_{name}_ns"
    for name in ("retry", "arguments", "resources", "creation", "worker_start", "actor", "loading", "unknown")
]


@pytest.mark.parametrize(
    ("name", "flat"),
    [
        ("key", "key"),
        ("self_time_ns", "self_time_ns"),
        ("duration_ns.p95", "p95_ns"),
        ("wait_ns.p95", "wait_p95_ns"),
        ("wait_parts_ns.arguments", "wait_arguments_ns"),
        ("self_time_ns.a", "self_time_a_ns"),
        ("self_time_ns.ratio", "self_time_ratio"),
        ("duration_ns.total.change", "total_change_ns"),
        ("duration_ns.p50.ratio", "p50_ratio"),
        ("count.a", "count_a"),
    ],
)
def test_names(name: str, flat: str) -> None:
    """What isn't said to be of something is of durations; a ratio is no time."""
    assert flat_name(name) == flat


def reports() -> list[spanview.Report[Any]]:
    """Return reports of all kinds, with rows."""
    calls, served = (spanview.load(ROOT / "fixtures" / name) for name in ("ray-events-hook", "serve"))
    return [
        *(calls.calls(), calls.stats(), calls.stats(by="ray"), calls.stats(by="critical-path"), calls.check()),
        *(served.requests(), served.stats(by="serve"), spanview.diff(calls, served)),
    ]


def test_frames_hold_what_rows_hold() -> None:
    """Arrow, pandas and Polars have the same columns, with every value as it is, also where some are missing."""
    for report in reports():
        table, frame, polars = report.to_arrow(), report.to_pandas(), report.to_polars()
        assert table.column_names == [*frame.columns] == polars.columns
        assert table.num_rows == len(frame) == len(polars) == len(report) > 0
        assert table.to_pylist() == polars.to_dicts()
        for name in table.column_names:
            values = table.column(name).to_pylist()
            of_rows = [getattr(row, name, value) for row, value in zip(report, values, strict=True)]
            if name not in {"waited_for", "evidence", "generator"}:
                assert [None if value is None else value for value in of_rows] == values
            missing = frame[name].isna().tolist() if name not in {"histogram", "path"} else []
            assert missing in ([], [value is None for value in values])
        nanoseconds = [name for name in table.column_names if name.endswith("_ns") and report is not None]
        assert all(str(table.schema.field(name).type) in {"int64", "double", "string"} for name in nanoseconds)
        assert report.to_markdown().count("\n") == len(report) + 1


def test_rows_of_calls_and_statistics_have_each_column() -> None:
    """Those of Python, too, by its name in frames; histograms and parts of waits are nested there."""
    for report in reports():
        if type(report[0]).__name__ in {"Call", "CallGroup", "Group", "Finding"}:
            names = {name for name in report.to_arrow().column_names if not re.search("^wait_.*_ns$|histogram$", name)}
            assert [name for name in sorted(names) if not hasattr(report[0], name)] == []


def test_what_handling_goes_beyond_has_no_rest() -> None:
    """What is left of a total is no negative number: null in JSON, empty in csv, where a table has no figure."""
    store = load_store([str(ROOT / "fixtures" / "serve")])
    reports: tuple[AnyReport, ...] = requests_report(store), serve_report(store)
    for report in reports:
        document, table = report.document()["rows"], [*csv.DictReader(StringIO(report.csv_text()))]
        column = next(column for column in report.table.columns if column.name.startswith("other_ns"))
        shown = [column.text(row) for row in report.rows]
        others = [row["other_ns"] for row in document]
        figures = [other["p50"] if isinstance(other, dict) else other for other in others]
        assert [*map(duration, figures)] == shown
        assert "–" in shown
        assert [int(row[column.name]) if row[column.name] else None for row in table] == figures


def test_slow_calls_in_a_query() -> None:
    """What calls waited for is a column for each cause: DuckDB adds them up, and they are the wait."""
    calls = spanview.load(ROOT / "fixtures" / "ray-events-hook").calls().to_arrow()
    assert set(WAITS) < {*calls.column_names}
    total = " + ".join(f"coalesce({name}, 0)" for name in WAITS)
    query = f"SELECT wait_ns, {total} FROM calls WHERE waited_for IS NOT NULL"  # noqa: S608 - names of columns
    rows = duckdb.connect().execute(query).fetchall()
    assert len(rows) > 20
    assert all(wait == parts for wait, parts in rows)


@pytest.mark.parametrize(
    ("package", "ask", "said"),
    [
        ("pandas", lambda report: report.to_pandas(), "a data frame of pandas needs it: pip install pandas"),
        ("polars", lambda report: report.to_polars(), "a data frame of polars needs it: pip install polars"),
        ("pyarrow", lambda report: report.to_arrow(), r"needs pyarrow: pip install 'spanview\[parquet\]'"),
    ],
)
def test_what_has_to_be_installed_is_said(monkeypatch: pytest.MonkeyPatch, package: str, ask: Any, said: str) -> None:
    """Without the package there is a sentence, and everything else works."""
    monkeypatch.setitem(sys.modules, package, None)
    report = spanview.load(ROOT / "fixtures" / "serve").stats()
    assert len(report) > 1
    with pytest.raises(spanview.ExportError, match=said):
        ask(report)
