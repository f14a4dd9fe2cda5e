"""README and pages as the tests read them; `python tests/pages.py` writes the tables that are made from the program.

<!-- recipe: my_tracing.py -->                    the block below is run as it is, by test_recipes.py
<!-- prints: spanview stats /tmp/spans --json -->  the block below has the names that this command prints
<!-- pytest: test_shop.py -->                     the block below is a file of tests, which pass
<!-- keys --> … <!-- /keys -->                     a table, made here
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from builders import store_of
from report_kinds import COMMANDS, empty_reports
from spanview import cli
from spanview.analysis.diagnosis.finding import Kind
from spanview.commands.agents.tools import TOOLS
from spanview.commands.completion import Option, options_of
from spanview.docs import PAGES
from spanview.reports.table import TEXT
from spanview.tui.keys import KEYS, On, screen_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.reports.report import AnyReport

ROOT: Final = Path(__file__).parent.parent
README: Final = ROOT / "README.md"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
DOCS: Final = ROOT / "spanview" / "docs"
FILES: Final = (README, *(DOCS / f"{page}.md" for page in (*PAGES, "skill")))
"""Every document that says how to use the program, in the order of reading; the last one is for agents."""
TEXTS: Final = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
_BLOCK: Final = re.compile(
    r"(?:^<!-- (?P<mark>\w+): (?P<given>.+?) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
"""A fenced block, and the mark on the line above it."""
RECIPES: Final = {
    block["given"]: block["code"]
    for text in TEXTS.values()
    for block in _BLOCK.finditer(text)
    if block["mark"] == "recipe"
}
"""The text of each recipe by its name."""


def blocks(text: str) -> list[re.Match[str]]:
    """Return the fenced blocks of a document, with groups `mark`, `given`, `language` and `code`."""
    return [*_BLOCK.finditer(text)]


def prose(text: str) -> str:
    """Return a document without its fenced blocks."""
    return _BLOCK.sub("", text)


def between(text: str, name: str) -> str:
    """Return what stands between `<!-- name -->` and `<!-- /name -->`."""
    return text.split(f"<!-- {name} -->\n", 1)[1].split(f"<!-- /{name} -->", 1)[0].rstrip("\n")


def rows(table: str) -> list[list[str]]:
    """Return the cells of a Markdown table without its head."""
    lines = [re.split(r"(?<!\\)\|", line.strip())[1:-1] for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("\\|", "|") for cell in line] for line in lines[2:]]


def _table(head: str, lines: Sequence[tuple[str, ...]]) -> str:
    escaped = (" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines)
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *(f"| {line} |" for line in escaped)])


def _code(words: Sequence[str]) -> str:
    return " ".join(f"`{word}`" for word in words)


def keys_table() -> str:
    """Return all keys, what they do, and on which screens."""
    lines = []
    for key in KEYS:
        where = "" if key.on == On.EVERYWHERE else screen_names(key.on)
        lines.append((_code(key.shown.split()), key.text, where))
    return _table("| keys | | where |", lines)


def findings_table() -> str:
    """Return all findings of `check`."""
    lines = [(f"`{kind}`", str(kind.rule.severity), kind.rule.meaning, kind.rule.advice) for kind in Kind]
    return _table("| kind | severity | what it means | what to do |", lines)


def options() -> dict[Option, list[str]]:
    """Return every option, and the commands that take it; those of no command have none."""
    taken: dict[Option, list[str]] = {}
    for command in cli.COMMANDS:
        for option in options_of(cli._parser(command), cli._WORDS):
            taken.setdefault(option, []).append(command)
    return taken


def options_table() -> str:
    """Return all options, what they do, and which commands take them."""
    lines = []
    for option, commands in options().items():
        *short, last = option.flags
        flags = _code((*short, f"{last} {option.takes}".strip()))
        everywhere = len(commands) >= len(cli.COMMANDS) - 1
        lines.append((flags, option.text, "" if everywhere else ", ".join(commands)))
    lines += [
        ("`--completion SHELL`", "print the completion script for bash, zsh or fish", "no command"),
        ("`--version`", "print the version; with `--verbose` also those of Python and libraries", "no command"),
    ]
    return _table("| option | | commands |", lines)


def commands_table() -> str:
    """Return all commands."""
    return _table("| command | what it does |", [(f"`spanview {name}`", text) for name, text in cli.COMMANDS.items()])


def tools_table() -> str:
    """Return the tools for agents, and what each takes."""
    lines = [(f"`{tool.name}`", tool.text, _code([*tool.properties])) for tool in TOOLS.values()]
    return _table("| tool | what it does | takes |", lines)


REPORTS: Final = empty_reports(store_of())
"""A report of each kind, without rows."""


def reports_tables() -> str:
    """Return the columns of all reports, and which names in JSON have changed."""
    parts = []
    for report in REPORTS:
        lines = [
            (f"{column.family} {column.head}".strip() if column.is_shown else "", f"`{column.name}`", column.meaning)
            for column in report.table.columns
            if column.name
        ]
        table = _table("| column | in JSON | what it says |", lines)
        parts += [f"## {report.kind}", f"`{COMMANDS[report.kind]}` prints it as `{report.schema_name}`.", table]
        if report.renamed:
            renamed = ", ".join(f"`{old}` (now `{new}`)" for old, new in report.renamed.items())
            parts.append(f"The names of the version before are still there, and go with the next one: {renamed}.")
    return "\n\n".join(parts)


def schema_of(report: AnyReport) -> dict[str, Any]:
    """Return the JSON Schema of a report's documents.

    Source: JSON Schema, draft 2020-12.
    """
    row: dict[str, Any] = _object()
    for column in report.table.columns:
        if column.name:
            *path, last = column.name.split(".")
            place = row
            for name in path:
                place["required"] = [*dict.fromkeys([*place["required"], name])]
                place = place["properties"].setdefault(name, _object())
            place["properties"][last] = {"description": column.meaning} | dict(column.schema or TEXT)
            place["required"].append(last)
    document = _object()
    document["properties"] = {
        "schema": {"const": report.schema_name},
        **{name: {} for name in report.head},
        "rows": {"type": "array", "items": row},
    }
    document["required"] = [*document["properties"]]
    return {"$schema": _DIALECT, "$id": report.schema_name} | document


def _object() -> dict[str, Any]:
    return {"type": "object", "properties": {}, "required": []}


def schemas() -> dict[Path, str]:
    """Return the JSON Schema of each report, by its file."""
    return {
        DOCS / "schemas" / f"{report.kind}.json": json.dumps(schema_of(report), indent=1) + "\n" for report in REPORTS
    }


TABLES: Final[dict[str, tuple[Path, Callable[[], str]]]] = {
    "keys": (DOCS / "viewer.md", keys_table),
    "findings": (DOCS / "check.md", findings_table),
    "options": (DOCS / "commands.md", options_table),
    "reports": (DOCS / "tables.md", reports_tables),
    "commands": (DOCS / "skill.md", commands_table),
    "tools": (DOCS / "explain.md", tools_table),
}
"""What is made from the program, and where it stands."""


def main() -> None:
    """Write the tables and the schemas as they are now."""
    for path, text in schemas().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name, (path, table) in TABLES.items():
        text = path.read_text(encoding="utf-8")
        before, rest = text.split(f"<!-- {name} -->", 1)
        _, after = rest.split(f"<!-- /{name} -->", 1)
        path.write_text(f"{before}<!-- {name} -->\n{table()}\n<!-- /{name} -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
