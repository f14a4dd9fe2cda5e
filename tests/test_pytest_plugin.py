"""The pytest plugin, in runs of pytest of its own: what a test makes is captured, and shown where it fails.

nothing set up · a provider · one that the test makes global · none of the SDK's
a function · async · threads · a process of xdist each
"""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Final

import pytest

from pages import TEXTS, blocks
from test_house import modules_after

if TYPE_CHECKING:
    from pathlib import Path

pytest_plugins = ["pytester"]

_HEAD: Final = """
import asyncio, threading
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

tracer = trace.get_tracer("shop")


def serve(count=1):
    with tracer.start_as_current_span("GET /"):
        for _ in range(count):
            with tracer.start_as_current_span("SELECT"):
                pass
"""


@pytest.fixture
def run(pytester: pytest.Pytester) -> Any:
    """Return what runs a file of tests in a process of its own: the outcome, by its counts, and what was printed."""

    def run_file(code: str, *words: str, conftest: str = "", head: str = _HEAD) -> tuple[dict[str, int], str]:
        pytester.makepyfile(head + dedent(code))
        if conftest:
            pytester.makeconftest(head + dedent(conftest))
        result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--asyncio-mode=auto", *words)
        return result.parseoutcomes(), result.stdout.str()

    return run_file


def test_pytest_finds_it() -> None:
    """It is an entry point of the package, and light: every run of pytest imports it."""
    (found,) = [each for each in entry_points(group="pytest11") if each.name == "spanview"]
    assert found.value == "spanview.api.pytest_plugin"
    assert not modules_after(f"import {found.value}") & {"opentelemetry", "orjson", "numpy", "textual", "rich"}


def test_what_is_asserted(run: Any) -> None:
    """Spans of one test only are compared as text, counted, and their durations told; assertions hold and fail."""
    outcome, printed = run(
        """
        def test_first(spans):
            serve()
            assert len(spans) == 2
            assert spans.tree() == "GET /\\n└─ SELECT"
            assert spans.count("name=SELECT") == 1 and [span.name for span in spans.select("")] == ["GET /", "SELECT"]
            assert spans.durations_ns("name=SELECT")[0] <= spans.durations_ns('name="GET /"')[0]
            assert [trace.span_count for trace in spans.traces] == [2] and spans.store.summary().spans == 2
            spans.assert_some("name=SELECT")
            spans.assert_none("status=ERROR")
            assert spans.critical_path() == ["GET /", "SELECT", "GET /"]
            spans.clear()
            assert spans.tree() == ""
            serve(0), serve(0)
            assert spans.tree() == "GET /\\n\\nGET /"

        def test_none(spans):
            serve(12)
            spans.assert_none("name=SELECT")

        def test_some(spans):
            serve()
            spans.assert_some("nme=SELECT")

        def test_typo(spans):
            serve()
            spans.assert_none("exception.type=ValueError")
            spans.assert_none("statsu=ERROR")

        def test_no_path(spans):
            serve(), serve()
            spans.critical_path()

        def test_mistake(spans):
            spans.assert_none("duration>x")

        def test_key(spans):
            serve()
            spans.count("statsu=ERROR")

        def test_pattern(spans):
            spans.durations_ns("name~(")

        def test_attribute(spans):
            with tracer.start_as_current_span("GET /", attributes={"http.status": 200}):
                pass
            with pytest.warns(UserWarning, match="did you mean http.status") as warned:
                spans.durations_ns("http.staus=200")
            assert warned[0].filename == __file__
        """
    )
    assert outcome == {"passed": 2, "failed": 7}
    assert "AssertionError: nothing to test for statsu=ERROR; no span has statsu (did you mean status?)" in printed
    assert "AssertionError: captured 2 traces, expected one with a critical path" in printed
    assert "AssertionError: 12 spans matched name=SELECT, expected none: SELECT (" in printed
    (error,) = [line for line in printed.splitlines() if line.startswith("E ") and "12 spans" in line]
    assert error.count("SELECT (") == 10
    assert error.endswith(", …")
    assert "no span of 2 matched nme=SELECT; no span has nme (did you mean name?)" in printed
    assert printed.count("E       spanview.model.problems.QueryError: ") == 3
    # The lines of the tests, and nothing of spanview's.
    assert "spanview/" not in printed.replace("\\", "/").partition("= FAILURES =")[2]


def test_the_report_has_the_traces(run: Any) -> None:
    """With their times, whatever part of the test fails, also from a process of xdist; not of a test that passes."""
    code = """
        @pytest.fixture
        def late(spans):
            yield
            assert spans.count("name=SELECT") == 0, "late"

        def test_fails(spans):
            serve(300)
            tracer.start_span("runs")
            raise ValueError("broken")

        def test_fails_late(late):
            serve()

        def test_passes(spans):
            serve()

        def test_no_spans(spans):
            assert not spans.tree() == ""
        """
    for words in ((), ("-n", "2")):
        outcome, printed = run(code, *words)
        assert outcome == {"passed": 2, "failed": 2, "errors": 1}
        assert printed.count("- Captured spans -") == 3
        assert printed.count("· 301 spans · complete") == 1
        assert "└─ SELECT" in printed
        assert "… and 105 lines more" in printed
        assert "\nnone\n" in printed


def test_async_tests_and_threads(run: Any) -> None:
    """Whatever task or thread a span starts in, it is captured, and those of tests beside it aren't."""
    outcome, _ = run(
        """
        async def one(name):
            with tracer.start_as_current_span(name):
                await asyncio.sleep(0)

        @pytest.mark.parametrize("number", range(4))
        async def test_tasks(spans, number):
            with tracer.start_as_current_span("all"):
                await asyncio.gather(*(one(f"{number}{part}") for part in "ab"))
            assert spans.tree() == f"all\\n├─ {number}a\\n└─ {number}b"

        def test_threads(spans):
            thread = threading.Thread(target=serve)
            thread.start(), thread.join()
            assert spans.tree() == "GET /\\n└─ SELECT"

        def test_a_span_that_runs(spans):
            span = tracer.start_span("runs")
            assert spans.count("name=runs") == 1 and spans.durations_ns("name=runs") == []
            span.end()
            assert spans.durations_ns("name=runs") != []
        """,
        "-n",
        "2",
    )
    assert outcome == {"passed": 6}


def test_nothing_was_set_up(run: Any) -> None:
    """Between tests no provider is set up, and one may be; what a module has as its tracer works in each test."""
    outcome, _ = run(
        """
        def global_kind():
            return type(trace.get_tracer_provider()).__name__

        def test_before(spans):
            serve()
            assert (len(spans), global_kind()) == (2, "TracerProvider")

        def test_between():
            assert global_kind() == "ProxyTracerProvider"
            serve()

        def test_again(spans):
            serve()
            assert len(spans) == 2

        def test_one_is_set_up_at_last(request):
            exporter, provider = InMemorySpanExporter(), TracerProvider()
            provider.add_span_processor(SimpleSpanProcessor(exporter))
            trace.set_tracer_provider(provider)
            assert trace.get_tracer_provider() is provider
            with trace.get_tracer("new").start_as_current_span("new"):
                pass
            spans = request.getfixturevalue("spans")
            serve(), trace.get_tracer("new").start_span("new").end()
            assert spans.tree() == "GET /\\n└─ SELECT\\n\\nnew"
            assert len(exporter.get_finished_spans()) == 2
        """
    )
    assert outcome == {"passed": 4}


def test_one_was_set_up(run: Any) -> None:
    """It stays the global one and exports as before; between tests nothing is captured, and a shutdown is survived."""
    outcome, _ = run(
        """
        from conftest import exporter, provider

        @pytest.mark.parametrize("number", range(3))
        def test_it(spans, number):
            before = len(exporter.get_finished_spans())
            serve()
            assert (len(spans), len(exporter.get_finished_spans())) == (2, before + 2)
            assert trace.get_tracer_provider() is provider

        def test_what_had_started_before(request):
            span = tracer.start_span("before")
            spans = request.getfixturevalue("spans")
            span.end()
            assert len(spans) == 0

        def test_another(spans):
            other = TracerProvider()
            other.get_tracer("x").start_span("x").end()
            spans.capture(other)
            other.get_tracer("x").start_span("x").end()
            assert spans.tree() == "x"

        def test_shutdown(spans):
            provider.shutdown()
            serve()
            assert len(spans) in (0, 2)

        def test_after_it(spans):
            serve()
            assert len(spans) in (0, 2)
        """,
        conftest="""
        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        """,
    )
    assert outcome == {"passed": 7}


def test_without_the_sdk(run: Any) -> None:
    """The fixture says what to install; tests without it don't notice."""
    outcome, printed = run(
        """
        def test_fixture(spans):
            pass

        def test_other():
            pass
        """,
        conftest="""
        import sys
        sys.modules["opentelemetry.sdk.trace"] = None
        """,
        head="",
    )
    assert outcome == {"passed": 1, "errors": 1}
    assert "pip install 'spanview[pytest]'" in printed


def test_the_example_on_the_page(pytester: pytest.Pytester, tmp_path: Path) -> None:
    """It passes as it is, and mypy agrees with it."""
    (block,) = [block for block in blocks(TEXTS["spanview/docs/python.md"]) if block["mark"] == "pytest"]
    pytester.makepyfile(**{block["given"].removesuffix(".py"): block["code"]})
    assert pytester.runpytest_subprocess("-p", "no:cacheprovider").parseoutcomes() == {"passed": 1}
    checked = pytester.run(sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", block["given"])
    assert checked.ret == 0, checked.stdout.str()
