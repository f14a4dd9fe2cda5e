"""What CI systems read: GitHub's workflow commands, and JUnit's XML as both common schemas take it.

schema      testsuite has                                  testcase has
------      -------------                                  ------------
Ant's       name, timestamp, hostname, tests, failures,    name, classname, time; in it at most one failure
            errors, time; properties first, then cases,    with type and message
            then system-out and system-err
Jenkins's   name, tests, failures, errors                  name
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from spanview.reports.ci import Case, Level, github_lines, junit_lines

CASES = (
    Case("finding", "clock_skew"),
    Case("finding", "no_end", "1 span: 5%", Level.NOTICE),
    Case("gate", "max(wait)>1s", "3 ms, 2 spans"),
    Case("gate", 'p95(name="GET /")>1s', "1.2 s\nof <3> & more\x1b", Level.ERROR, fails=True),
    Case("problem", "torn a,b:c.txt @ 5", "a torn record", Level.WARNING, fails=True, file="a,b:c.txt"),
)


def test_github() -> None:
    """What fails comes first; what would end a property or a line is escaped; what is well says nothing."""
    assert [*github_lines(CASES)] == [
        '::error title=spanview%3A p95(name="GET /")>1s::1.2 s␊of <3> & more␛',
        "::warning file=a%2Cb%3Ac.txt,title=spanview%3A torn a%2Cb%3Ac.txt @ 5::a torn record",
        "::notice title=spanview%3A no_end::1 span: 5%25",
    ]


def test_junit() -> None:
    """It is XML in which everything that was checked is a test case, with what the schemas ask for."""
    text = "\n".join(junit_lines("spanview check", CASES, 1_700_000_000_999_999_999))
    root = ET.fromstring(text)  # noqa: S314 - it was made here
    (suite,) = root
    assert (root.tag, root.attrib, suite.tag) == ("testsuites", {}, "testsuite")
    counts = {"tests": "5", "failures": "2", "errors": "0", "time": "0"}
    assert suite.attrib == {
        "name": "spanview check",
        "id": "0",
        "package": "spanview check",
        "timestamp": "2023-11-14T22:13:20",
        "hostname": "localhost",
        **counts,
    }
    assert [part.tag for part in suite] == ["properties", *["testcase"] * 5, "system-out", "system-err"]
    for case, part in zip(CASES, suite.iter("testcase"), strict=True):
        assert {*part.attrib} == {"classname", "name", "time"}
        assert part.get("name") == case.name
        assert re.fullmatch(r"spanview check\.(gate|finding|problem)", part.get("classname", ""))
        failures = [*part]
        assert [failure.tag for failure in failures] == ["failure"] * case.fails
        for failure in failures:
            assert failure.get("type") == case.level
            assert failure.get("message") == case.text.replace("\n", "␊").replace("\x1b", "␛")
    assert suite.findtext("system-out") == "notice: no_end: 1 span: 5%\npassed: max(wait)>1s: 3 ms, 2 spans"


def test_junit_of_nothing() -> None:
    """Without a span there is a time all the same."""
    text = "\n".join(junit_lines("spanview diff", (), 0))
    assert 'timestamp="1970-01-01T00:00:00"' in text
    assert 'tests="0"' in text
