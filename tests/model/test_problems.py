"""Warnings and problems: their names in JSON and their severities are a contract."""

from __future__ import annotations

import pytest

from spanview.model.problems import Problem, ProblemKind, Severity, Summary, Warnings


def test_warning_names() -> None:
    """The names are those of the documented format, each a bit of its own that fits the column."""
    everything = Warnings(0)
    for warning in Warnings:
        everything |= warning
    assert everything.names() == [
        "duplicate_id",
        "cycle",
        "no_end",
        "negative_duration",
        "bad_id",
        "clock_skew",
        "detail_lost",
        "odd_value",
    ]
    assert Warnings(0).names() == []
    assert (Warnings.ODD_VALUE | Warnings.CYCLE).names() == ["cycle", "odd_value"]
    assert everything < 2**16


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("torn", "warning"),
        ("partial", "warning"),
        ("skipped", "info"),
        ("no_spans", "info"),
        ("too_large", "warning"),
        ("unreadable", "error"),
        ("refused", "warning"),
        ("truncated", "warning"),
        ("watcher", "warning"),
    ],
)
def test_severities(name: str, severity: str) -> None:
    """Only what is merely foreign is an info; each kind has a severity."""
    problem = Problem(ProblemKind(name), "f", 0, 0, "")
    assert problem.severity is Severity(severity)
    assert len(ProblemKind) == 9


def test_problem_as_json() -> None:
    """A problem in JSON has the fields of the documented format."""
    problem = Problem(ProblemKind.TORN, "spans/1.json", 5, 7, "it breaks off")
    assert problem.to_json() == {
        "file": "spans/1.json",
        "offset": 5,
        "length": 7,
        "kind": "torn",
        "severity": "warning",
        "detail": "it breaks off",
    }


def test_summary_fields() -> None:
    """The summary has the documented counts, in their order."""
    assert list(Summary.__slots__) == [
        "files",
        "bytes",
        "spans",
        "traces",
        "roots",
        "missing_parents",
        "duplicates",
        "torn",
        "skipped",
    ]
