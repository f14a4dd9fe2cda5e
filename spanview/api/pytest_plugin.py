"""The pytest plugin: a fixture with the spans that a test makes, and their traces in the report of one that fails.

Every run of pytest loads it where spanview is installed: what it needs is imported for the first test that asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from spanview.api.captured import CapturedSpans

_CAPTURED: Final = pytest.StashKey["CapturedSpans"]()
_MAX_LINES: Final = 200
"""Lines of traces in a report."""


@pytest.fixture
def spans(request: pytest.FixtureRequest) -> Iterator[CapturedSpans]:
    """Spans that the test makes through OpenTelemetry: `tree()`, `assert_none(query)`, `assert_some(query)`."""
    try:
        from spanview.api.capturing import capturing
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry.sdk"):
            raise
        pytest.fail("spans needs OpenTelemetry's SDK: pip install 'spanview[pytest]'", pytrace=False)
    with capturing() as captured:
        request.node.stash[_CAPTURED] = captured
        yield captured


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, pytest.TestReport]:
    """Add the traces to the report of a test that failed."""
    report: pytest.TestReport = yield
    captured = item.stash.get(_CAPTURED, None)
    if captured is not None and report.failed:
        lines = captured.tree(times=True).splitlines()
        more = [f"… and {len(lines) - _MAX_LINES:,} lines more"] if len(lines) > _MAX_LINES else []
        report.sections.append(("Captured spans", "\n".join([*lines[:_MAX_LINES], *more]) or "none"))
    return report
