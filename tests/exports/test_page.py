"""The page of `--format html` in a real browser: it shows what Python has found out, and does nothing else.

page                               held against
----                               ------------
of each recording                  `stats --json`, answers, the rows of the trees
of hostile strings in every field  no element, no dialog and no request that the page hasn't of itself
of many spans                      rows in the document at a time
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from browsers import NARROW, WIDE, Windows, chromium, shown
from builders import Builder, file_of, span_id, store_of, time_text, trace_id
from hostile import ALL, documents
from hostile import shown as made_visible
from programs import spanview
from seeds import sample
from spanview.analysis.answer import answer_of
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.functions import functions_of
from spanview.analysis.ray.names import short_names
from spanview.analysis.ray.unended import Fate, Unended
from spanview.display.answer_text import answer_texts
from spanview.display.call_text import waited_for_shares
from spanview.display.units import duration
from spanview.exports.html import html_chunks
from spanview.exports.losses import Losses
from spanview.exports.surroundings import Surroundings
from spanview.model.problems import ExportError
from spanview.reports.traces import traces_report
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from browsers import Shown
    from builders import Document

# One browser for all.
pytestmark = pytest.mark.xdist_group("browser")

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
RECORDINGS: Final = sorted(path.parent.name for path in FIXTURES.glob("*/spans"))
HEADS: Final = {head: f"{head.lower()}_ns" for head in ("TOTAL", "SELF", "MIN", "P50", "P95", "P99", "MAX")}
"""Heads of statistics, and what `stats --json` calls the figures."""
HOSTILE_HTML: Final = (
    "<script>document.title = 'acted'; alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>"
    "</script><!--<script>--><style>*{display:none}</style><iframe srcdoc=x></iframe>"
    '"\'><a href="javascript:alert(4)">{script}{style}{policy}<!-- data -->&lt;b&gt;${alert(5)}`'
)


@pytest.fixture(scope="module")
def windows() -> Iterator[Windows]:
    """Start one browser for all tests, and return its windows."""
    with chromium() as started:
        yield Windows(started)


def page_of(folder: Path, documents: Iterable[Document | bytes], *words: str) -> Path:
    """Write spans, export them, and return the page."""
    (folder / "spans").mkdir()
    (folder / "spans" / "1.json").write_bytes(file_of(documents))
    path = folder / "page.html"
    done = spanview("export", "--format", "html", *words, "-o", path, folder / "spans")
    assert done.status == 0, done.notices
    return path


def drawing() -> list[Document]:
    """Return two traces, the newer of which failed where its exception was raised."""
    build = Builder()
    exception = {
        "exception.type": "ValueError",
        "exception.stacktrace": 'Traceback (most recent call last):\n  File "/srv/app.py", line 31, in fail\n'
        '    raise ValueError("bad")\nValueError: bad',
    }
    return [
        *build.draw("early 0-100\n  read 10-40\n  write 50-90"),
        *build.draw(
            "run 1000-2000\n  load 1100-1300\n    read 1120-1200\n  work 1400-1900\n    step 1410-1500", trace=2
        ),
        build.span(
            "fail",
            trace=2,
            span=20,
            parent=4,
            start=1910,
            duration=40,
            status="ERROR",
            description="bad",
            service="other",
            events=[{"name": "exception", "timestamp": time_text(1940), "attributes": exception}],
            links=[{"context": {"trace_id": trace_id(1), "span_id": span_id(2), "trace_state": "[]"}}],
        ),
    ]


# -- what it shows -----------------------------------------------------------------------------------------------------


@pytest.mark.shortened
@pytest.mark.parametrize("name", sorted({*sample(RECORDINGS, 5), "pids-used-again"}))
def test_the_figures_are_those_of_the_commands(name: str, windows: Windows, tmp_path: Path) -> None:
    """The statistics, the traces, their answers and their rows are what Python says of a recording."""
    folder, path = FIXTURES / name / "spans", tmp_path / "page.html"
    assert spanview("export", "--format", "html", "-o", path, folder).status == 0
    groups = json.loads(spanview("stats", "--json", folder).output)["groups"]
    store = load_store([str(folder)])
    table = store.trace_table
    with shown(windows, path, "#stats") as look:
        heads = [text.split(" ")[0] for text in look.texts(".heads button")]
        assert {"COUNT", "TOTAL", "MAX"} <= {*heads}
        assert ("ERRORS" in heads) is any(group["errors"] for group in groups)
        shown_rows = [dict(zip(heads, row, strict=True)) for row in look.rows()]
        assert sorted([row["COUNT"], row.get("ERRORS", ""), *map(row.get, HEADS)] for row in shown_rows) == sorted(
            [f"{group['count']:,}", f"{group['errors'] or ''}", *(duration(group[figure]) for figure in HEADS.values())]
            for group in groups
        )
        look.press("t")
        look.until("!location.hash && document.querySelector('.plot')")
        traces = look.rows()
        assert sorted((row[2], row[3]) for row in traces) == sorted(
            (f"{table.span_count[trace]:,}", f"{table.error_count[trace] or ''}") for trace in range(len(table))
        )
        largest = max(range(len(table)), key=lambda trace: (table.span_count[trace], table.trace_id(trace)))
        look.page.evaluate("hash => { location.hash = hash }", f"{table.trace_id(largest):032x}")
        look.until("document.querySelector('.answer')")
        names = short_names(store.names.texts)
        (answer,) = look.texts(".answer")
        # A span without an end may have ended later than all others.
        said = answer.removeprefix("at least ")
        assert said == made_visible((answer_texts(answer_of(store, largest), names) or [""])[0])
        tree = store.tree(largest)
        if "calls as rows" in look.texts(".bar button"):
            look.press("a")
        assert len(look.rows()) == min(len(tree), 1000)


def test_reports_are_tables(windows: Windows, tmp_path: Path) -> None:
    """Calls, requests and workers have the rows of `stats`, and their keys; a click on a head sorts by it."""
    path = tmp_path / "page.html"
    folder = FIXTURES / "ray-events-hook"
    assert spanview("export", "--format", "html", "-o", path, folder).status == 0
    words = {"calls": "ray", "workers": "ray-worker"}
    counts = {
        view: len(json.loads(spanview("stats", "--by", by, "--json", folder).output)["rows"])
        for view, by in words.items()
    }
    with shown(windows, path) as look:
        for key, view in (("A", "calls"), ("L", "workers")):
            look.press(key)
            look.until(f"location.hash === '#{view}' && document.querySelector('.heads')")
            assert len(look.rows()) == counts[view]
        look.press("A")
        look.until("location.hash === '#calls'")
        calls = [row[1] for row in look.rows()]
        look.page.click(".heads >> text=CALLS")
        assert [int(row[1]) for row in look.rows()] == sorted(map(int, calls), reverse=True)
        look.press("H")
        assert look.page.evaluate("location.hash") == "#calls"


def test_the_traces_of_a_function_are_those_with_its_calls(windows: Windows, tmp_path: Path) -> None:
    """Another function whose name begins alike isn't among them."""
    path = tmp_path / "page.html"
    assert spanview("export", "--format", "html", "-o", path, FIXTURES / "ray-events-hook").status == 0
    with shown(windows, path, "#calls") as look:
        look.page.locator(".row > :first-child", has_text=re.compile("^dies$")).dblclick()
        look.until("document.querySelector('.plot')")
        look.until("document.querySelector('.count').textContent.startsWith('1 of ')")
        assert look.page.locator("input").input_value() == 'name="__main__.dies ray.remote"'


@pytest.mark.parametrize("selecting", [(), ("-q", "trace.spans>1")])
def test_requests_routes_and_workers_open_what_they_are_of(
    selecting: tuple[str, ...], windows: Windows, tmp_path: Path
) -> None:
    """A request opens its trace at its span, a route and a worker list their traces; Escape lists all."""
    path, folder = tmp_path / "page.html", FIXTURES / "serve"
    assert spanview("export", "--format", "html", "-o", path, *selecting, folder).status == 0

    def report(by: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(spanview("stats", "--by", by, "--json", *selecting, folder).output)[
            "rows"
        ]
        return rows

    def listed(look: Shown) -> list[str]:
        look.until("document.querySelector('.plot')")
        assert "(Esc: all)" in look.texts(".count")[0]
        return [row[-1] for row in look.rows()]

    route = max((row for row in report("serve") if row["status"]), key=lambda row: row["count"])
    worker = max(report("ray-worker"), key=lambda row: row["span_count"])
    request, *_ = report("serve-request")
    with shown(windows, path, "#requests") as look:
        everything = look.texts("#totals")[0]
        called = f"{route['deployment']} {route['method']} {route['route']}"
        look.page.locator(".row", has_text=called).filter(has_text=route["status"]).dblclick()
        assert len(listed(look)) == route["count"]
        assert f"only {called} {route['status']}" in look.texts(".count")[0]
        look.press("Escape")
        assert everything.startswith(look.texts(".count")[0])
        look.press("L")
        look.page.locator(".row", has_text=worker["name"]).first.dblclick()
        assert 0 < len(listed(look)) <= worker["span_count"]
        look.press("H", "b", "Enter")
        look.until("document.querySelector('.details')")
        assert look.hash == f"#{request['trace_id']}/{request['span_id']}"


def test_what_is_known_at_least_or_at_most_says_so(windows: Windows, tmp_path: Path) -> None:
    """A page's workers were busy at least, and idle at most, for as long as `stats` says."""
    path, folder = tmp_path / "page.html", FIXTURES / "session-in-order"
    assert spanview("export", "--format", "html", "-o", path, folder).status == 0
    table = spanview("stats", "--by", "ray-worker", "--format", "markdown", folder).output
    said = re.findall("[≥≤] [^|]*[^ |]", table.decode())
    assert {text[0] for text in said} == {"≥", "≤"}
    with shown(windows, path) as look:
        look.press("L")
        look.until("location.hash === '#workers' && document.querySelector('.heads')")
        assert sorted(cell for row in look.rows() for cell in row if cell[0] in "≥≤") == sorted(said)


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_no_figure_is_cut(size: tuple[int, int], windows: Windows, tmp_path: Path) -> None:
    """However narrow the window: what has no room is scrolled, under heads that stand above it, and no window is."""
    path = tmp_path / "page.html"
    assert spanview("export", "--format", "html", "-o", path, FIXTURES / "ray-events-hook").status == 0
    cut = (
        "[...document.querySelectorAll('.row:not([hidden]) > :not(:first-child):not(:last-child), .row .number')]"
        ".filter(cell => !cell.querySelector('.name') && cell.scrollWidth > cell.clientWidth)"
        ".map(cell => cell.textContent)"
    )
    below = (
        "[...document.querySelectorAll('.heads > *')].map(head => head.getBoundingClientRect().left).join() =="
        "[...document.querySelector('.row').children].map(cell => cell.getBoundingClientRect().left).join()"
    )
    with shown(windows, path, size=size) as look:
        for view in ("", "stats", "calls", "workers"):
            look.page.evaluate("hash => { location.hash = hash }", view)
            look.until(
                "view => document.querySelector('#views [aria-current]').hash === view", f"#{view}" if view else ""
            )
            assert look.page.evaluate(cut) == [], view
            assert look.page.evaluate(below), view
            assert look.page.evaluate("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("name", ["ray-events-hook/spans", "serve/spans", "otlp-json"])
def test_the_table_of_traces_is_the_report_of_the_viewer(name: str, windows: Windows, tmp_path: Path) -> None:
    """Its heads, its order and its figures are those of the report of traces."""
    path, store = tmp_path / "page.html", load_store([str(FIXTURES / name)])
    assert spanview("export", "--format", "html", "-o", path, FIXTURES / name).status == 0
    report = traces_report(store)
    columns = [column for column in report.table.columns if column.is_shown]
    with shown(windows, path, "#", size=(1600, 800)) as look:
        assert [text.removesuffix(" ▾") for text in look.texts(".heads button")] == [
            column.head.strip() for column in columns
        ]
        written = [[column.text(trace) for column in columns if column.parts is None] for trace in report.rows]
        rows = [row[:-1] for row in look.rows()]
    # One has the date only where there are several.
    assert [[cell if place else cell[-12:] for place, cell in enumerate(row)] for row in rows] == [
        [cell if place else cell[-12:] for place, cell in enumerate(row)] for row in written
    ]


def test_what_calls_waited_for(windows: Windows, tmp_path: Path) -> None:
    """Calls have the column of the viewer, in its words."""
    folder, path = FIXTURES / "ray-events-hook", tmp_path / "page.html"
    assert spanview("export", "--format", "html", "-o", path, folder).status == 0
    store = load_store([str(folder)])
    waited_for = [waited_for_shares(function) for function in functions_of(store, calls_of(store))]
    with shown(windows, path, "#calls") as look:
        place = look.texts(".heads button").index("WAITED FOR")
        assert sorted(row[place] for row in look.rows()) == sorted(waited_for)
        assert any(waited_for)


def test_times_have_one_zone(windows: Windows, tmp_path: Path) -> None:
    """The page names the zone of its times, `U` changes it everywhere, and where it was written makes no difference."""
    (tmp_path / "spans").mkdir()
    (tmp_path / "spans" / "1.json").write_bytes(file_of(drawing()))
    pages = [tmp_path / f"{zone.replace('/', '')}.html" for zone in ("UTC", "Asia/Tokyo")]
    for zone, path in zip(("UTC", "Asia/Tokyo"), pages, strict=True):
        done = spanview("export", "--format", "html", "-o", path, tmp_path / "spans", environment={"TZ": zone})
        assert done.status == 0
    assert pages[0].read_bytes() == pages[1].read_bytes()
    context = windows.browser.new_context(timezone_id="Asia/Tokyo")
    with shown(Windows(windows.browser, {(WIDE, False): context.new_page()}), pages[1]) as look:
        for zone, hour in (("UTC+09:00", "07"), ("UTC", "22")):
            assert look.texts("#zone") == [f"times in {zone}"]
            look.page.evaluate("document.querySelector('.explanation').open = true")
            assert (
                f"from 2023-11-1{5 if hour == '07' else 4} {hour}:13:20.000000 {zone}; "
                in look.texts(".explanation p")[0]
            )
            assert {row[0][:2] for row in look.rows()} == {hour}
            assert {text[:2] for text in look.texts(".plot text")[-2:]} == {hour}
            look.press("Enter")
            look.until("document.querySelector('.details td')")
            assert f"{hour}:13:20.001000 {zone}" in look.texts(".head p")[0]
            assert any(f"{hour}:13:20.001000 {zone}" in text for text in look.texts(".details td"))
            look.press("q", "U")
    context.close()


def test_the_page_begins_with_what_took_the_time(windows: Windows, tmp_path: Path) -> None:
    """The sentences of `explain` stand above the traces, folded but for the first; each leads to its span."""
    with shown(windows, page_of(tmp_path, drawing())) as look:
        said = json.loads(spanview("explain", "--json", tmp_path / "spans").output)["rows"]
        assert look.texts(".explanation summary") == [said[1]["text"]]
        assert not look.page.locator(".explanation p").first.is_visible()
        look.press("x")
        for row in said:
            assert any(row["text"] in text for text in look.texts(".explanation p")), row
        look.page.click(".explanation a >> nth=-1")
        look.until("document.querySelector('.ruler')")


def test_durations_are_rounded_alike(windows: Windows, tmp_path: Path) -> None:
    """Each duration is written as Python writes it, ties included."""
    lengths_us = [0, 1, 999, 1000, 9_995, 9_994.9, 12_345, 100_500, 101_500, 99_950, 2_125, 2_135, 1_005, 59_999_000]
    lengths_us += [60_000_000, 3_599_600_000, 7_384_000_000, 200_000_000_000, 9_000_000_000_000, 33_333, 4_450, 4_350]
    build = Builder()
    spans = [build.span(f"s{number}", trace=number + 1, duration=us) for number, us in enumerate(lengths_us)]
    with shown(windows, page_of(tmp_path, spans), "#stats") as look:
        by_name = {row[0]: row[2] for row in look.rows()}
    assert by_name == {f"s{number}": duration(round(us * 1000)) for number, us in enumerate(lengths_us)}


def test_a_trace(windows: Windows, tmp_path: Path) -> None:
    """A trace is its rows with their bars; details have attributes, exceptions with their stack, links that lead on."""
    with shown(windows, page_of(tmp_path, drawing())) as look:
        assert [row[-1] for row in look.rows()] == ["✖ run", "early"]
        look.press("Enter")
        look.until("document.querySelector('.ruler')")
        assert look.page.title() == "run · spanview"
        names = ["run", "load", "read", "work", "step", "fail"]
        assert look.names == names
        assert [row[1] for row in look.rows()] == ["1 ms", "200 µs", "80 µs", "500 µs", "90 µs", "40 µs"]
        bars = look.page.locator(".row .self").evaluate_all("bars => bars.map(bar => bar.getBBox().x)")
        wide = look.page.locator(".ruler").evaluate("ruler => ruler.clientWidth")
        starts = [round(1000 * bar / wide) for bar in bars]
        assert [
            abs(start - expected) <= 2 for start, expected in zip(starts, (0, 100, 120, 400, 410, 910), strict=True)
        ]
        look.press("e")
        assert look.selected == "fail"
        look.until("document.querySelector('.details pre')")
        assert look.texts(".details pre .own") == ['  File "/srv/app.py", line 31, in fail']
        assert "+30 µs" in look.texts(".details h3")[0]
        look.until("document.querySelector('.cross[d^=M]') && document.querySelector('.event[d^=M]')")
        look.page.click(".details a.mono")
        look.until("document.title === 'early · spanview'")
        assert look.selected == "read"


def test_calls_are_rows(windows: Windows, tmp_path: Path) -> None:
    """A Ray call is one row with its wait and its run, `a` shows its two spans, and `c` lights the critical path."""
    build = Builder()
    spans = [
        build.span("driver", span=1, start=0, duration=1000),
        build.span("__main__.f ray.remote", span=2, parent=1, start=10, duration=10, kind="PRODUCER"),
        build.span("__main__.f ray.remote_worker", span=3, parent=2, start=520, duration=300, kind="CONSUMER"),
        build.span("work", span=4, parent=3, start=600, duration=100),
        build.span("__main__.g ray.remote", span=5, parent=1, start=30, duration=10, kind="PRODUCER"),
    ]
    with shown(windows, page_of(tmp_path, spans)) as look:
        assert look.hash == f"#{1:032x}"
        assert [row[:3] for row in look.rows()] == [
            ["▾driver", "", "1 ms"],
            ["▾f", "500 µs", "300 µs"],
            ["work", "", "100 µs"],
            ["g! no attempt seen", "", ""],
        ]
        look.press("a")
        assert [row[0] for row in look.rows()][1:3] == ["▾__main__.f ray.remote", "▾__main__.f ray.remote_worker"]
        look.press("a", "c")
        answer, path = look.texts(".head .answer, .head .answer + p")
        assert answer.startswith(
            "1 ms = 500 µs waiting before f ran + 490 µs running (200 µs in f) + 10 µs submitting f   not sure: g left"
        )
        assert path.startswith("critical path: 4 spans")
        assert look.page.locator(".row .path[d^=M]").count() == 3


def test_what_is_missing_is_said(windows: Windows, tmp_path: Path) -> None:
    """Missing parents, spans without an end and circles stand in their places, in words and in marks."""
    build = Builder()
    spans = [
        build.span("orphan", trace=1, span=1, parent=99),
        build.span("open", trace=2, span=2, duration=None),
        build.span("one", trace=3, span=3, parent=4),
        build.span("two", trace=3, span=4, parent=3),
    ]
    with shown(windows, page_of(tmp_path, spans)) as look:
        assert [row[-1] for row in look.rows()] == [
            "↻ one  incomplete",
            "open  ◌ 1 span without an end",
            "? parent not seen  ? 1 missing parent",
        ]
        for trace, expected in ((1, f"? parent not seen {99:016x}"[:26]), (2, "open"), (3, "one↻ cycle")):
            look.page.evaluate("hash => { location.hash = hash }", f"{trace:032x}")
            look.until("hash => document.querySelector('.head .mono')?.textContent === hash", f"{trace:032x}")
            assert look.rows()[0][0].removeprefix("▾") == expected
        look.press("!")
        assert any("missing_parents" in text for text in look.texts(".findings article"))


def test_what_has_become_of_spans_without_an_end(windows: Windows, tmp_path: Path) -> None:
    """A page says of a span without an end what was known when it was written: it runs, or is lost, and why."""
    build = Builder()
    store = store_of(*build.draw("run 0-?\n  read 10-?\n  write 20-?\n  sum 30-40"))
    fates = {
        0: Unended(Fate.RUNS, "its process (pid 7) is running"),
        1: Unended(Fate.LOST, "its process (pid 8) has ended", is_likely=True),
    }
    path = tmp_path / "page.html"
    path.write_bytes(
        b"".join(html_chunks(store, store.traces_in_order(), Losses("html"), Surroundings(lambda _: fates)))
    )
    with shown(windows, path) as look:
        assert [row[1] for row in look.rows()] == ["running", "lost", "no end", "10 µs"]
        assert look.page.locator(".row .open[d^=M]").count() == 3
        look.press("j")
        assert "lost, likely: its process (pid 8) has ended" in look.texts(".details td")
        look.press("Escape")
        assert look.rows()[0][-1] == "! run  1 lost  ◌ 2 spans without an end"


def test_what_ray_says_of_a_wait(windows: Windows, tmp_path: Path) -> None:
    """Letters begin the time of each cause where Ray's own events are beside the spans, as in the viewer."""
    folder, path = Path(__file__).parents[2] / "fixtures" / "ray-events-hook", tmp_path / "page.html"
    for store, letters in ((load_store(folder), ["a", "r"]), (load_store(folder / "spans"), [])):
        (row, *_) = (
            row
            for row, name in enumerate(store.spans.name)
            if store.names.texts[name] == "__main__.after ray.remote_worker"
        )
        chunks = html_chunks(store, [store.spans.trace[row]], Losses("html"), Surroundings(lambda _: {}))
        path.write_bytes(b"".join(chunks))
        with shown(windows, path) as look:
            assert look.page.locator(".row .waited[d^=M]").count() == 1
            assert look.texts(".row .causes text") == letters
            assert any("a arguments " in text for text in look.texts(".details td")) is bool(letters)
            # A row that is drawn anew has no letters of the one that it showed before.
            look.press("a")
            assert len(look.texts(".row .causes text")) <= len(letters)


# -- finding one's way -------------------------------------------------------------------------------------------------


def test_keys(windows: Windows, tmp_path: Path) -> None:
    """The keys of the viewer do here what they do there."""
    with shown(windows, page_of(tmp_path, drawing())) as look:
        look.press("j")
        assert look.selected == "early"
        look.press("g", "e")
        look.until("document.querySelector('.ruler')")
        assert look.selected == "fail"
        for key, name in (("g", "run"), ("j", "load"), ("l", "read"), ("p", "load"), ("G", "fail"), ("k", "step")):
            look.press(key)
            assert look.selected == name, key
        look.press("g", "h")
        assert look.names == ["run"]
        look.press("l", "l", "h")
        assert look.names == ["run", "load", "work", "step", "fail"]
        look.press("]", "f")
        spanned = look.texts(".ruler text")
        look.press("0", "+", "+", ">")
        assert look.texts(".ruler text") not in (spanned, [])
        look.press("0", "C", "y")
        look.until("document.querySelector('#said').textContent === 'copied the span id'")
        look.press("?")
        assert "critical path" in look.texts("#help")[0]
        look.press("Escape", "Escape")
        look.until("!location.hash")
        assert look.selected == "run"
        look.press("s", "s")
        assert look.texts("[aria-sort]") == ["SPANS ▾"]
        look.press("S")
        assert [row[2] for row in look.rows()] == ["3", "6"]


def test_failures_one_after_the_other(windows: Windows, tmp_path: Path) -> None:
    """Behind the last failure of a trace comes the next trace that failed, and behind the last trace the first one."""
    build = Builder()
    spans = [*build.draw("whole 0-100"), *drawing()[-6:]]
    spans += [
        build.span(name, trace=3, span=number, start=start, duration=5, status="ERROR", parent=parent)
        for name, number, parent, start in (("first", 31, None, 3000), ("second", 32, 31, 3001))
    ]
    with shown(windows, page_of(tmp_path, spans)) as look:
        look.press("e")
        look.until("document.querySelector('.ruler')")
        for key, name in (("e", "second"), ("e", "fail"), ("e", "first"), ("E", "fail")):
            look.press(key)
            look.until(f"document.querySelector('[aria-selected=true]').innerText.includes('{name}')")


def test_the_next_failure_of_a_page_opened_at_a_trace(windows: Windows, tmp_path: Path) -> None:
    """The list has its order, though nobody has seen it yet."""
    build = Builder()
    spans = [build.span(f"t{trace}", trace=trace, start=trace * 100, duration=5, status="ERROR") for trace in (1, 2, 3)]
    with shown(windows, page_of(tmp_path, spans), f"#{3:032x}") as look:
        for key, name in (("e", "t2"), ("e", "t1"), ("e", "t3"), ("E", "t1")):
            look.press(key)
            look.until(f"document.querySelector('[aria-selected=true]').innerText.includes('{name}')")


@pytest.mark.shortened(8)
@pytest.mark.parametrize(
    ("text", "names", "said"),
    [
        ("early", ["early"], ""),
        ("STEP", ["run"], ""),
        ("service=other", ["run"], ""),
        ("-service=other", ["run", "early"], ""),
        ("status=ERROR", ["run"], ""),
        ("duration>500us", ["run"], ""),
        ("trace.duration<=0.1ms read", ["early"], ""),
        ("run > work > step", ["run"], ""),
        ("exception.type~^Value", ["run"], ""),
        ("31", [], 'no span has "31" in its name · any~31 looks in ids, services, attributes and events, too'),
        ("servce=other", [], "no span has servce (did you mean service?)"),
        ("any~31", ["run"], ""),
        (
            "name:step",
            [],
            'no span has "name:step" in its name · any~name:step looks in ids, services, attributes and events, too',
        ),
        (
            ">500us",
            ["run", "early"],
            'character 1: expected a key before >, as in name>x; to search for the text, quote it: "…"',
        ),
        (
            "duration>5parsecs",
            ["run", "early"],
            "character 10: expected a duration such as 7ns, 5us, 3ms, 1.5s, 2m, 1h or 1d",
        ),
        ("read (", ["run", "early"], "character 6: expected a ) to close this parenthesis"),
        (r"name~\Qa", ["run", "early"], r"a page doesn't search with \Q in a regular expression; ask spanview itself"),
    ],
)
def test_the_filter_takes_queries(text: str, names: list[str], said: str, windows: Windows, tmp_path: Path) -> None:
    """Traces are listed in which a span matches; of a mistake, and of what the page can't tell, that is said."""
    with shown(windows, page_of(tmp_path, drawing())) as look:
        look.page.fill("input", text)
        listed = (
            "[...document.querySelectorAll('.row:not([hidden])')].sort((a, b) => a.dataset.index - b.dataset.index)"
            ".map(row => row.querySelector('.name').textContent).join()"
        )
        look.until(
            f"wanted => {listed} === wanted[0] && document.querySelector('.query').textContent === wanted[1]",
            [",".join(names), said],
        )
        assert (look.page.locator("input").get_attribute("aria-invalid") == "true") is (len(names) == 2 and bool(said))
        look.press("Escape")
        look.until(f"{listed} === 'run,early'")


def test_what_is_cut_is_not_guessed(windows: Windows, tmp_path: Path) -> None:
    """Where a page has only the beginning of a text it says so, unless that is enough."""
    build, long = Builder(), "x" * 2_000
    spans = [build.span(f"{long}y"), build.span("short", trace=2)]
    with shown(windows, page_of(tmp_path, spans)) as look:
        unsure = (
            "of 1 span this page can't tell: their texts or lists are shortened here, or a circle of parents was cut"
        )
        for text, listed, said in (("xy", 0, unsure), ("name~y$", 0, unsure), ("name~xx", 1, ""), ("short", 1, unsure)):
            look.page.fill("input", text)
            look.until("said => document.querySelector('.query').textContent === said", said)
            assert len(look.rows()) == listed, text


def test_the_times_of_the_plot(windows: Windows, tmp_path: Path) -> None:
    """Its ends are the first and the last start, to the millisecond that the list has."""
    build = Builder()
    spans = [build.span(f"t{number}", trace=number, start=number * 1000.0, duration=5) for number in (123, 200, 457)]
    with shown(windows, page_of(tmp_path, spans)) as look:
        starts = sorted(row[0] for row in look.rows())
        assert look.texts(".plot text")[-2:] == [starts[0], starts[-1]]


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_failure_is_seen_behind_a_long_name(size: tuple[int, int], windows: Windows, tmp_path: Path) -> None:
    """However long the name is, and however narrow the window."""
    build = Builder()
    path = page_of(tmp_path, [build.span("long " * 80, status="ERROR"), build.span("other", trace=2, start=9)])
    with shown(windows, path, size=size) as look:
        for keys, of_name, of_mark in (
            ((), ".row:not([hidden]) > :last-child", ".row:not([hidden]) .mark.error"),
            (("j", "Enter"), ".row:not([hidden]) .tree", ".row:not([hidden]) .tree .mark.error"),
        ):
            look.press(*keys)
            look.until(f"document.querySelector('{of_mark}')")
            bounds = (
                "selector => { const bounds = document.querySelector(selector).getBoundingClientRect();"
                " return [bounds.left, bounds.right]; }"
            )
            cell, mark = (look.page.evaluate(bounds, selector) for selector in (of_name, of_mark))
            assert cell[0] <= mark[0] < mark[1] <= cell[1] + 1
            assert mark[1] - mark[0] >= 10
            assert (
                look.page.evaluate("mark => document.querySelector(mark).scrollWidth", of_mark) <= mark[1] - mark[0] + 1
            )


def test_a_narrow_list(windows: Windows, tmp_path: Path) -> None:
    """Start, duration, spans and name of a trace have room side by side, dates too; the rest goes in its turn."""
    build = Builder()
    spans = [*drawing(), build.span("a later day", trace=9, span=90, start=2 * 86_400e6, duration=5)]
    with shown(windows, page_of(tmp_path, spans), size=NARROW) as look:
        assert look.texts(".heads > *") == ["START ▾", "DURATION", "SPANS", "TRACE"]
        starts = "[...document.querySelectorAll('.row:not([hidden]) > .mono')]"
        assert look.page.evaluate(f"{starts}.every(start => start.scrollWidth <= start.clientWidth)")
        assert all(re.fullmatch(r"\d\d-\d\d \d\d:\d\d:\d\d", row[0]) for row in look.rows())
        assert look.page.evaluate("document.querySelector('.row .name').parentNode.clientWidth") >= 140


def test_search(windows: Windows, tmp_path: Path) -> None:
    """`/` and Ctrl+F filter the list by a query; in a trace they find the spans that match one."""
    with shown(windows, page_of(tmp_path, drawing())) as look:
        look.press("Control+f")
        look.page.keyboard.type("STEP")
        look.until("document.querySelector('.count').textContent === '1 of 2 traces'")
        assert [row[-1] for row in look.rows()] == ["✖ run"]
        look.press("Escape")
        look.until("document.querySelector('.count').textContent === '2 traces'")
        look.press("g", "Enter")
        look.until("document.querySelector('.ruler')")
        look.press("/")
        look.page.keyboard.type('any~"ValueError..bad"')
        look.until("document.querySelector('.count').textContent === '1 match'")
        assert look.selected == "fail"
        look.page.fill("input", "e")
        look.until("/^[0-9]+ matches$/.test(document.querySelector('.count').textContent)")
        look.press("Enter", "n")
        assert look.page.locator(".row.found").count() > 1


def test_links_to_spans(windows: Windows, tmp_path: Path) -> None:
    """An address with a trace and a span opens there, and follows the cursor; back leads to the list."""
    path = page_of(tmp_path, drawing())
    with shown(windows, path, f"#{2:032x}/{7:016x}") as look:
        assert look.selected == "work"
        look.press("j")
        assert (look.selected, look.hash) == ("step", f"#{2:032x}/{8:016x}")
        look.press("Escape", "Enter")
        look.until("document.querySelector('.ruler')")
        look.page.go_back()
        look.until("document.querySelector('.plot')")
    with shown(windows, path, "#%E0%A4%A/<img src=x>") as look:
        assert look.texts("#said") == ["this page has no such trace"]
        assert len(look.rows()) == 2


def test_mouse(windows: Windows, tmp_path: Path) -> None:
    """A click opens a trace and selects a span, a drag on the ruler zooms, and a double click shows all again."""
    with shown(windows, page_of(tmp_path, drawing())) as look:
        look.page.click(".row >> text=run")
        look.until("document.querySelector('.ruler')")
        look.page.locator(".row", has_text="work").click()
        assert look.selected == "work"
        look.page.locator(".row .arrow").first.click()
        assert look.names == ["run"]
        box = look.page.locator(".ruler").bounding_box()
        assert box is not None
        before = look.texts(".ruler text")
        x, y = box["x"], box["y"] + 35
        look.page.mouse.move(x + box["width"] * 0.4, y)
        look.page.mouse.down()
        look.page.mouse.move(x + box["width"] * 0.6, y)
        look.page.mouse.up()
        zoomed = look.texts(".ruler text")
        assert zoomed
        assert all(re.fullmatch(r"[45]\d\d µs", text) for text in zoomed)
        look.page.mouse.dblclick(x + 50, y)
        assert look.texts(".ruler text") == before


# -- what it must not do -----------------------------------------------------------------------------------------------


def test_hostile_strings_are_texts(windows: Windows, tmp_path: Path) -> None:
    """Whatever a field holds, the page has no element of it, does nothing of it, and shows it."""
    path = page_of(tmp_path, documents(ALL + HOSTILE_HTML))
    text = path.read_text()
    assert "alert(" not in text
    with shown(windows, path) as look:
        look.press("Escape")
        look.until("document.querySelector('.plot, .list')")
        foreign = "main :is(script, img, style, iframe, object, embed, link, meta, a[href]:not([href^='#']))"
        unsafe = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")

        def is_harmless() -> None:
            assert look.page.locator(foreign).count() == 0
            assert look.page.evaluate("document.querySelectorAll('[onload], [onerror], [onclick]').length") == 0
            body: str = look.page.evaluate("document.body.querySelector('main').textContent + document.title")
            assert unsafe.search(body) is None

        is_harmless()
        look.press("Enter")
        look.until("document.querySelector('.ruler')")
        look.press("/")
        look.page.keyboard.type("onerror=alert")
        look.press("Enter", "]")
        for _ in range(6):
            look.press("j")
            look.until("document.querySelector('.details table')")
            look.page.evaluate("document.querySelectorAll('.details details').forEach(one => { one.open = true })")
            is_harmless()
        details = look.texts(".details")[0]
        for tag in ("ak", "av", "ek", "ev", "lk", "lv", "rk", "rv", "sd", "en", "em"):
            # Surrogates are no Unicode, and lines and tabs are kept in values.
            assert f"{tag}␛[2J" in details, tag
        assert "<img src=x onerror=alert(2)>" in details
        for view in ("t", "b", "b", "!"):
            look.press(view)
            is_harmless()
        assert look.page.title().startswith("Check")


def test_nothing_is_too_long(windows: Windows, tmp_path: Path) -> None:
    """Names and values of ten million characters are cut, and that is said."""
    build, long = Builder(), "x" * 10_000_000
    spans = [build.span(long), build.span("b", parent=1, attributes={"k": long, "l" + long[:99_999]: 1})]
    (tmp_path / "1.json").write_bytes(file_of(spans))
    path = tmp_path / "page.html"
    done = spanview("export", "--format", "html", "-o", path, tmp_path / "1.json", "--trace", f"{1:032x}")
    assert "html: shortened 2 texts of more than 32,768 characters" in done.notices
    assert "html: shortened 1 name of more than 1,000 characters" in done.notices
    assert path.stat().st_size < 400_000
    with shown(windows, path) as look:
        look.press("G")
        look.until("document.querySelector('.details summary')")
        assert "10,000,000 characters in all" in look.texts(".details")[0]


def test_too_many_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """More spans than a page has room for are an error that says what to do."""
    monkeypatch.setattr("spanview.exports.html.MAX_SPANS", 6)
    store = store_of(*drawing())
    with pytest.raises(ExportError, match=r"^9 spans, but a page has room for 6: select fewer with a filter"):
        html_chunks(store, store.traces_in_order(), Losses("html"))
    assert b"".join(html_chunks(store, [1], Losses("html"))).endswith(b"</html>\n")


# -- many spans, other windows, paper ----------------------------------------------------------------------------------


def test_many_spans(windows: Windows, tmp_path: Path) -> None:
    """Of 20,000 spans only the rows in sight are in the document, wherever one scrolls, and each draws what it is."""
    build = Builder()
    spans = [build.span("root", span=1, start=0, duration=20_000)]
    spans += [build.span(f"s{number}", span=number, parent=number // 2, start=number) for number in range(2, 20_001)]
    with shown(windows, page_of(tmp_path, spans)) as look:
        look.until("document.querySelector('.ruler')")
        drawn = look.page.evaluate(
            """async () => {
              const list = document.querySelector('.list'), most = [];
              for (let step = 0; step <= 40; step++) {
                list.scrollTop = list.scrollHeight * step / 40;
                await new Promise(requestAnimationFrame);
                await new Promise(requestAnimationFrame);
                const rows = [...document.querySelectorAll('.row')].filter(row => !row.hidden);
                most.push([document.querySelectorAll('.row').length, rows.length, rows.at(-1).textContent.length]);
              }
              return most;
            }"""
        )
        assert max(most for most, _, _ in drawn) < 100
        assert min(rows for _, rows, _ in drawn) >= 20
        assert min(length for _, _, length in drawn) > 2
        look.press("G")
        look.until("document.querySelector('.row[aria-selected=true] .name')?.textContent === 's16383'")


@pytest.mark.parametrize("size", [WIDE, NARROW])
@pytest.mark.parametrize("is_dark", [False, True])
def test_windows(size: tuple[int, int], windows: Windows, tmp_path: Path, *, is_dark: bool) -> None:
    """Nothing is wider than the window, wide or narrow, and the page is as light or dark as the browser."""
    with shown(windows, page_of(tmp_path, drawing()), size=size, is_dark=is_dark) as look:
        for keys in ((), ("Enter",), ("t",), ("!",), ("?",)):
            look.press(*keys)
            assert look.page.evaluate("document.documentElement.scrollWidth") <= size[0]
            assert look.page.evaluate("document.documentElement.scrollHeight") <= size[1]
        look.press("Escape")
        background = "getComputedStyle(document.body).backgroundColor"
        light, dark = "rgb(255, 255, 255)", "rgb(13, 17, 23)"
        assert look.page.evaluate(background) == (dark if is_dark else light)
        look.press("T")
        assert look.page.evaluate(background) == (light if is_dark else dark)


def test_paper(windows: Windows, tmp_path: Path) -> None:
    """All rows are printed, with the details of the selected span; afterwards only those in sight are left."""
    build = Builder()
    spans = [build.span("root", span=1, start=0, duration=2_000)]
    spans += [build.span(f"s{number}", span=number, parent=1, start=number) for number in range(2, 302)]
    with shown(windows, page_of(tmp_path, spans), is_dark=True) as look:
        look.until("document.querySelector('.details summary')")
        pages = len(re.findall(rb"/Type\s*/Page\b", look.page.pdf()))
        look.page.emulate_media(media="print")
        assert look.texts(".details .tools button") == []
        look.page.emulate_media(media="screen")
        assert pages >= 6
        look.until("[...document.querySelectorAll('.row')].filter(row => !row.hidden).length < 100")
