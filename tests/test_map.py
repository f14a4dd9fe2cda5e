"""The map of the program and the tree of its files say the same.

spanview/docs/architecture.md    names each folder; each path and each name behind one is there
the `__init__` of a folder       names each module and folder in it, one line each
spanview/docs/glossary.md        is in the order of the alphabet, one line a word
"""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from pages import ROOT, TEXTS, between, rows

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE: Final = ROOT / "spanview"
MAP: Final = TEXTS["spanview/docs/architecture.md"]
FOLDERS: Final = sorted({path.parent for path in PACKAGE.rglob("__init__.py")} - {PACKAGE, PACKAGE / "docs"})
"""Those of modules; what the package itself and its pages say of themselves is for those who use the program."""
PATH: Final = re.compile(r"`((?:\w+/)*\w+\.(?:py|md|tcss|toml)|(?:\w+/)+)(?:: ?(\w+(?:\.\w+)*))?`")
"""`index/intake.py: Intake.add`, `tests/builders.py`, `formats/`: a path below spanview/, or from the root."""
LISTED: Final = re.compile(r"^(\w+)/? {2,}\S", re.MULTILINE)
"""`framing    bytes in pieces of any size become documents`."""


@cache
def names_in(path: Path) -> set[str]:
    """Return what a module defines: functions, classes with their methods, constants."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names.add(node.name)
            names |= {
                f"{node.name}.{each.name}"
                for each in node.body
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            }
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def test_what_the_map_names_is_there() -> None:
    """Each path of the map exists, and so does the function or class that is named behind it."""
    named = PATH.findall(MAP)
    assert named
    wrong = []
    for path, name in named:
        there = next((base / path for base in (PACKAGE, ROOT) if (base / path).exists()), None)
        if there is None or (name and name not in names_in(there)):
            wrong.append(f"{path}: {name}")
    assert wrong == []


def test_the_map_names_each_folder() -> None:
    """Nobody has to guess what a folder is for."""
    named = {path for path, _ in PATH.findall(MAP)}
    assert {f"{folder.relative_to(PACKAGE).as_posix()}/" for folder in FOLDERS} - named == set()


def test_each_folder_names_its_modules() -> None:
    """The docstring of a folder has a line for each of its modules and folders, and for nothing else."""
    wrong = {}
    for folder in FOLDERS:
        docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
        modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
        there = modules | {path.parent.name for path in folder.glob("*/__init__.py")}
        if difference := there ^ {*LISTED.findall(docstring)}:
            wrong[folder.relative_to(ROOT).as_posix()] = sorted(difference)
    assert wrong == {}


def test_the_glossary_is_in_order() -> None:
    """Each word has one line, where it is looked for."""
    words = [word.casefold() for word, _ in rows(between(TEXTS["spanview/docs/glossary.md"], "words"))]
    assert words == sorted({*words})
