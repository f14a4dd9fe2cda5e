"""No circle of imports, lazy ones and those for types included, but for those that the map of the program argues.

a ──▶ b ──▶ c          a circle is {a, b}: each of both can be reached from the other
▲     │
└─────┘
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
LISTED: Final = re.compile(r"`((?:\w+/)*\w+)\.py`")
"""`index/store.py`, as the map names a module."""


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


def test_circles_are_those_that_the_map_argues() -> None:
    """Each circle has a point in the list of the map, and each point of the list is a circle."""
    modules = modules_in(ROOT)
    graph = {name: imports_of(path.read_text(encoding="utf-8"), {*modules}) - {name} for name, path in modules.items()}
    text = (ROOT / "spanview/docs/architecture.md").read_text(encoding="utf-8")
    section = text.partition("\n## Import circles\n")[2].partition("\n## ")[0]
    argued = {
        frozenset("spanview." + path.replace("/", ".") for path in LISTED.findall(point))
        for point in section.split("\n- ")[1:]
    }
    assert circles_in(graph) == argued


def test_only_the_app_knows_all_screens() -> None:
    """A feature opens the others by the viewer: what is common to all screens imports none of them."""
    modules = modules_in(ROOT)
    common = [name for name in modules if name.startswith("spanview.tui.widgets.") or name == "spanview.tui.viewer"]
    for name in common:
        imported = imports_of(modules[name].read_text(encoding="utf-8"), {*modules})
        assert not [
            other for other in imported if other.endswith("_screen") and other != "spanview.tui.widgets.base_screen"
        ]
