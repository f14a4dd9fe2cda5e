"""Both sides as tables: figures to the right, paths behind them, in the width that there is.

SELF A  CHANGE           SELF B  COUNT  PATH
  4 µs  +16 µs  +400 %    20 µs      1  a › b
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from builders import Builder, store_of
from hostile import TEXTS, shown
from spanview.analysis.diff import diff
from spanview.analysis.diff_groups import DiffBy
from spanview.analysis.flame import flame
from spanview.display.diff_text import figures_line, side_lines
from spanview.reports.comparison import comparison_report, sums_in
from spanview.reports.lines import table_lines

if TYPE_CHECKING:
    from builders import Document
    from spanview.analysis.diff import Diff


def diff_of(a: list[Document], b: list[Document]) -> Diff:
    """Return what differs between two sets of spans."""
    return diff(flame(store_of(*a)), flame(store_of(*b)))


def path_lines(merged: Diff, width: int | None = None) -> list[str]:
    """Return the table of the paths, the greatest change first."""
    report = comparison_report(merged, merged.by_change(), DiffBy.PATH, {})
    return [*table_lines(report.table, report.rows, width=width)]


def drawn(a: str, b: str) -> Diff:
    """Return what differs between two drawings."""
    return diff_of(Builder().draw(a), Builder().draw(b))


def test_two_traces() -> None:
    """Each side of one trace has its duration, and the last line has what changed."""
    merged = drawn("a 0-10\n  b 2-6", "a 0-30\n  b 2-22")
    assert [*side_lines(merged, ["trace 1", "trace 2"])] == [
        "   TRACES  SPANS  ERRORS    SELF  DURATION",
        "A       1      2       0   10 µs     10 µs  trace 1",
        "B       1      2       0   30 µs     30 µs  trace 2",
        "                          +20 µs    +20 µs  change",
    ]
    rows = [" ".join(line.split()) for line in path_lines(merged)]
    assert rows == [
        "SELF A CHANGE SELF B COUNT TOTAL A CHANGE TOTAL B P50 A CHANGE P50 B P95 A CHANGE P95 B PATH",
        "4 µs +16 µs +400 % 20 µs 1 4 µs +16 µs 20 µs 4 µs +16 µs 20 µs 4 µs +16 µs 20 µs a › b",
        "6 µs +4 µs +67 % 10 µs 1 10 µs +20 µs 30 µs 10 µs +20 µs 30 µs 10 µs +20 µs 30 µs a",
    ]


def test_what_has_no_end() -> None:
    """What was lost on one side has no times there, so that nothing can be said of a change."""
    merged = drawn("a 0-10\n  b 2-?", "a 0-10\n  b 2-8")
    (line,) = (line for line in path_lines(merged) if line.endswith("a › b"))
    assert "no end" in line
    assert "+6 µs" not in line


def test_many_traces() -> None:
    """Sides of several traces have percentiles, and so have the paths of several spans."""
    build = Builder()
    a = [build.span("a", trace=number, duration=number) for number in range(1, 21)]
    b = [*a[:10], build.span("b", trace=99, status="ERROR", duration=1_000)]
    merged = diff_of(a, b)
    assert [*side_lines(merged, ["query a", "query b"])] == [
        "   TRACES  SPANS  ERRORS     SELF    P50      P95",
        "A      20     20       0   210 µs  10 µs    19 µs  query a",
        "B      11     11       1  1.05 ms   6 µs     1 ms  query b",
        "       -9     +1      +1  +995 µs  -4 µs  +981 µs  change per trace",
    ]
    lines = path_lines(merged)
    assert sums_in(lines[0]) == ["SELF", "COUNT", "ERRORS", "TOTAL"]
    assert lines[1].endswith("  b")
    assert "only B" in lines[1]
    assert "  – → 1   0 → 1  " in lines[1]
    assert "10.5 µs   -5 µs  5.50 µs  10 µs   -5 µs   5 µs" in lines[2]


def test_as_many_traces_are_compared_by_sums() -> None:
    """Where both sides have as many traces, nothing is per trace."""
    build = Builder()
    a, b = ([build.span("a", trace=trace, duration=each) for trace in (1, 2)] for each in (10, 15))
    merged = diff_of(a, b)
    assert " ".join([*side_lines(merged, ["", ""])][3].split()) == "+10 µs +5 µs +5 µs change"
    heads, line = path_lines(merged)
    assert heads.startswith("SELF A  CHANGE")
    assert " ".join(line.split()) == (
        "20 µs +10 µs +50 % 30 µs 2 20 µs +10 µs 30 µs 10 µs +5 µs 15 µs 10 µs +5 µs 15 µs a"
    )
    assert figures_line(merged.paths[0]).startswith("self 20 µs → 30 µs (+10 µs, +50 %), count 2, total")


def test_the_line_of_a_path_per_trace() -> None:
    """Each figure that is per trace says so, and what isn't does not."""
    build = Builder()
    a = [build.span("a", trace=number, duration=10, status="ERROR") for number in (1, 2, 3, 4)]
    merged = diff_of(a, [build.span("a", trace=9, duration=20), build.span("a", trace=9, duration=None)])
    assert figures_line(merged.paths[0]) == (
        "self per trace 10 µs → 20 µs (+10 µs, +100 %), count per trace 1 → 2, errors per trace 1 → 0, "
        "total per trace 10 µs → 20 µs, p50 10 µs → 20 µs, p95 10 µs → 20 µs"
    )


def test_a_narrow_terminal_names_what_it_shows() -> None:
    """Columns that have no room aren't among those that are per trace."""
    build = Builder()
    merged = diff_of([build.span("a" * 90, trace=number) for number in (1, 2)], [build.span("a" * 90)])
    assert sums_in(path_lines(merged, width=70)[0]) == ["SELF", "COUNT"]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("a 0-10", "a 0-10", ""),
        ("a 0-10", "a 0-15", "+50 %"),
        ("a 0-10", "a 0-0", "-100 %"),
        ("a 0-0", "a 0-10", ""),
        ("a 0-10", "a 0-99", "+890 %"),
        ("a 0-10", "a 0-100", "×10"),
        ("a 0-10", "a 0-123456", "×12,346"),
        ("a 0-1000", "a 0-1003", "+0.3 %"),
        ("a 0-10", "b 0-1", "only A"),
    ],
)
def test_changes_in_words(a: str, b: str, expected: str) -> None:
    """Changes are per cent, those of ten times and more are written so, and what is on one side only says so."""
    line = path_lines(drawn(a, b))[1]
    assert (expected in line) if expected else not any(sign in line for sign in ("%", "×", "only"))


def test_a_narrow_terminal() -> None:
    """The last columns go first, then the beginning of the path, then the middle of the name."""
    drawing = "checkout 0-9\n  charge the card 0-8\n    POST https://payments.example/v1/charges/{id}/capture 0-7"
    merged = drawn(drawing, drawing)
    widths = {width: path_lines(merged, width=width) for width in (200, 120, 90, 70, 60)}
    for width, lines in widths.items():
        assert max(map(cell_len, lines)) <= width
    whole = "checkout › charge the card › POST https://payments.example/v1/charges/{id}/capture"
    assert widths[200][3].endswith(whole)
    assert widths[120][3].endswith("  … › POST https://payments.example/v1/charges/{id}/capture")
    assert widths[60][3].endswith("/{id}/capture")
    assert "… › POST htt…" in widths[60][3]
    assert "TOTAL" in widths[120][0]
    assert "TOTAL" not in widths[60][0]


def test_wide_characters_count_twice() -> None:
    """A path is as wide as the terminal shows it."""
    drawing = f"{'東' * 50} 0-9\n  {'京' * 50} 0-9"
    for width in range(60, 70):
        assert max(map(cell_len, path_lines(drawn(drawing, drawing), width=width))) <= width


def test_very_deep_paths_are_cut() -> None:
    """However deep, a line has a bounded length."""
    build = Builder()
    chain = [build.span("f", span=number, parent=number - 1 or None) for number in range(1, 2_001)]
    assert max(map(len, path_lines(diff_of(chain, chain)))) < 5_000


def test_services_where_names_say_the_same() -> None:
    """Only where two paths have the same names do the services stand behind them."""
    build = Builder()
    spans = [build.span("GET", service="cart"), build.span("GET"), build.span("POST", service="cart")]
    lines = path_lines(diff_of(spans, spans))[1:]
    assert sorted(line.split("  ")[-1] for line in lines) == ["GET (cart)", "GET (no service)", "POST"]


def test_what_has_no_name() -> None:
    """Missing parents and spans without a name say so."""
    spans = [Builder().span("", parent=7)]
    lines = path_lines(diff_of(spans, spans))[1:]
    assert sorted(line.split("  ")[-1] for line in lines) == ["? parent not seen", "? parent not seen › (no name)"]


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_names_are_shown_not_obeyed(text: str) -> None:
    """Whatever a name or a service is, one path is one line of safe text."""
    build = Builder()
    spans = [build.span(f"nm{text}", service=f"sv{text}"), build.span(f"nm{text}", service="other")]
    lines = path_lines(diff_of(spans, spans))
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)
    assert any(f"nm{shown(text)} (sv{shown(text)})" in line for line in lines)
