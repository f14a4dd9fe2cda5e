"""What checked something as a CI system reads it: GitHub's workflow commands, and JUnit's XML.

::error title=spanview p95(name="GET /")>200ms::312 ms of 40 spans        marked in the run, and in the changed files

Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
Source: https://github.com/windyroad/JUnit-Schema, https://github.com/jenkinsci/xunit-plugin (junit-10.xsd)
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.display.sanitise import sanitise
from spanview.model.times import NS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class Level(StrEnum):
    """How bad it is, by GitHub's names."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


class Case(NamedTuple):
    """Something that was checked."""

    group: str
    """What kind of thing it is: `gate`, `finding`."""
    name: str
    text: str = ""
    """What was found, in words; empty where there is nothing to say."""
    level: Level | None = None
    """How bad that is; None where it is well."""
    fails: bool = False
    """Whether it makes the whole fail."""
    file: str = ""


_IN_TEXT: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTIES: Final = _IN_TEXT | str.maketrans({":": "%3A", ",": "%2C"})


def github_lines(cases: Iterable[Case]) -> Iterator[str]:
    """Yield a workflow command for each case that isn't well; those that fail come first, as GitHub shows ten."""
    for case in sorted((case for case in cases if case.level is not None), key=lambda case: not case.fails):
        properties = {"file": case.file, "title": f"spanview: {case.name}"}
        parts = (f"{key}={sanitise(text).translate(_IN_PROPERTIES)}" for key, text in properties.items() if text)
        yield f"::{case.level} {','.join(parts)}::{sanitise(case.text).translate(_IN_TEXT)}"


def junit_lines(suite: str, cases: Sequence[Case], end_ns: int) -> Iterator[str]:
    """Yield JUnit's XML: a test case for everything that was checked.

    Args:
        suite: What checked it.
        end_ns: When the last span ended, in nanoseconds since 1970: the same spans give the same bytes.
    """
    # It imports what opens URLs, which costs more than all other modules of a report.
    from xml.sax.saxutils import escape, quoteattr

    counts = f'tests="{len(cases)}" failures="{sum(case.fails for case in cases)}" errors="0"'
    then = datetime.fromtimestamp(end_ns // NS_PER_SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield "<testsuites>"
    yield (
        f'<testsuite name={quoteattr(suite)} id="0" package={quoteattr(suite)} timestamp="{then}" '
        f'hostname="localhost" {counts} time="0">'
    )
    yield "<properties/>"
    for case in cases:
        name, text = quoteattr(sanitise(case.name)), sanitise(case.text)
        start = f'<testcase classname={quoteattr(f"{suite}.{case.group}")} name={name} time="0"'
        if case.fails:
            yield f"{start}><failure type={quoteattr(str(case.level))} message={quoteattr(text)}/></testcase>"
        else:
            yield f"{start}/>"
    notes = [f"{case.level or 'passed'}: {case.name}: {case.text}" for case in cases if case.text and not case.fails]
    yield f"<system-out>{escape(chr(10).join(map(sanitise, notes)))}</system-out>"
    yield "<system-err/>"
    yield "</testsuite>"
    yield "</testsuites>"
