"""No circle of imports, lazy ones and those for types included, but for those that are argued here.

a ──▶ b ──▶ c          a circle is {a, b}: each of both can be reached from the other
▲     │
└─────┘
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
ALLOWED: Final = {
    "the store, and traces and trees as it offers them": {"index.forest", "index.store", "index.trace"},
    "questions ask each other": {
        *("analysis.calls", "analysis.diagnosis.calls", "analysis.diagnosis.facts", "analysis.diagnosis.files"),
        *("analysis.diagnosis.report", "analysis.diagnosis.serve", "analysis.diagnosis.traces", "analysis.grouping"),
        *("analysis.query_subject", "analysis.reasons", "analysis.stats", "analysis.waits"),
    },
    "a tail and what is held of it": {"sources.details", "sources.held", "sources.tail"},
    "what is compressed is read as what isn't": {"sources.packed", "sources.reading"},
    "the package offers its own functions": {"api", "sources.kept", "sources.loading", "sources.session", "spanview"},
    "a span's sections, one of which is its times": {"display.span_text", "display.timing_text"},
}
"""Why each circle is there, and the modules that may be in it."""


def modules_in(root: Path) -> dict[str, Path]:
    """Return the modules of the package by their names, packages by those of their folders."""
    modules = {}
    for path in (root / "spanview").rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def imports_of(source: str, modules: set[str]) -> set[str]:
    """Return those of some modules that a source imports anywhere: at its head, in a function, for types."""
    imported = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            imported |= (names & modules) or {str(node.module)}
    return imported & modules


def circles_in(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the strongly connected parts of a graph that have more than one node."""
    reached: dict[str, set[str]] = {}
    for start, next_nodes in graph.items():
        seen, waiting = set[str](), [*next_nodes]
        while waiting:
            if (node := waiting.pop()) not in seen:
                seen.add(node)
                waiting += graph[node]
        reached[start] = seen
    parts = (frozenset({start, *(node for node in seen if start in reached[node])}) for start, seen in reached.items())
    return {part for part in parts if len(part) > 1}


def test_circles_are_found() -> None:
    """Two that import each other, three in a row, and one that imports itself, which is none."""
    graph = {"a": {"b"}, "b": {"a", "c"}, "c": set[str](), "d": {"e"}, "e": {"f"}, "f": {"d", "a"}, "g": {"g"}}
    assert circles_in(graph) == {frozenset("ab"), frozenset("def")}


def test_imports_are_found_wherever_they_stand() -> None:
    """At the head, in a function, for types only, and of a package as a whole."""
    source = (
        "import p.a\nfrom p import b\nif TYPE_CHECKING:\n    from p.c import C\ndef f():\n    from p import version\n"
    )
    assert imports_of(source, {"p", "p.a", "p.b", "p.c", "p.d"}) == {"p", "p.a", "p.b", "p.c"}


def test_no_circle_but_those_that_are_argued() -> None:
    """Each circle lies within one that may be; the viewer has none."""
    modules = modules_in(ROOT)
    graph = {name: imports_of(path.read_text(encoding="utf-8"), {*modules}) - {name} for name, path in modules.items()}
    circles = [{name.removeprefix("spanview.") for name in circle} for circle in circles_in(graph)]
    unargued = [sorted(circle) for circle in circles if not any(circle <= allowed for allowed in ALLOWED.values())]
    assert unargued == []


def test_only_the_app_knows_all_screens() -> None:
    """A feature opens the others by the viewer: what is common to all screens imports none of them."""
    modules = modules_in(ROOT)
    common = [name for name in modules if name.startswith("spanview.tui.widgets.") or name == "spanview.tui.viewer"]
    for name in common:
        imported = imports_of(modules[name].read_text(encoding="utf-8"), {*modules})
        assert not [
            other for other in imported if other.endswith("_screen") and other != "spanview.tui.widgets.base_screen"
        ]
