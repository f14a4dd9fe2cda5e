"""A report: a table with its rows, and what programs read of it: JSON and csv.

{"schema": "spanview/statistics/v1", "by": "name", "rows": [{"key": "pipeline", "count": 3, "duration_ns": {"p50": …}}]}
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from io import StringIO
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from spanview.formats.jsontext import dumps_strict
from spanview.model.problems import QueryError
from spanview.reports.table import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from spanview.reports.table import Table, TableColumn

    AnyReport: TypeAlias = "Report[Any]"

Row = TypeVar("Row")
_NESTED: Final = {"properties", "additionalProperties"}
"""What a schema of objects has."""


@dataclass(frozen=True, slots=True)
class Report(Generic[Row]):
    """The answer to one question about many spans."""

    kind: str
    """What it is called in `schema`."""
    table: Table[Row]
    rows: Sequence[Row]
    """In the order of the table."""
    head: Mapping[str, Any] = field(default_factory=dict)
    """What its document says beside the rows."""
    rows_were: str = ""
    """What JSON called the rows in the version before, which it still does."""
    nothing: str = ""
    """What is said where there are no rows."""
    row_was: Callable[[Row], dict[str, Any]] | None = None
    """What the version before wrote of a row; None where these are the rows under another name."""
    head_was: Mapping[str, str] = field(default_factory=dict)
    """What JSON called figures of the head in the version before, and calls them now; both are there."""

    @property
    def schema_name(self) -> str:
        """What names the kind and the version of its documents."""
        return f"spanview/{self.kind}/v1"

    def document(self) -> dict[str, Any]:
        """Return the report as `--json` prints it."""
        document: dict[str, Any] = json.loads(b"".join(self.json_chunks()))
        return document

    def json_chunks(self) -> Iterator[bytes]:
        """Yield the document as one line of strict JSON, a row at a time: there may be as many as spans."""
        write = _writer(self.table.columns)
        yield dumps_strict({"schema": self.schema_name, **self.head}).removesuffix(b"}")
        for name, written in (("rows", write), (self.rows_were, self.row_was or write)):
            if name:
                yield f',"{name}":['.encode()
                for number, row in enumerate(self.rows):
                    yield b"," * bool(number) + dumps_strict(written(row), has_non_finite=False)
                yield b"]"
        yield b"}\n"

    def csv_text(self) -> str:
        """Return the rows with their values, in nanoseconds where these are times; names as in JSON are the heads."""
        columns = [column for column in self.table.columns if column.name and not _is_nested(column.schema or TEXT)]
        text = StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow([column.name for column in columns])
        values = [column.json_value for column in columns]
        lines.writerows([_csv_value(value(row)) for value in values] for row in self.rows)
        return text.getvalue()

    def sorted_by(self, by: str) -> Report[Row]:
        """Return the report in the order of a column, what isn't known last.

        Args:
            by: Its name in JSON or the end of that; with - before it, the order is reversed. Names begin with A,
                and all else with the greatest.

        Raises:
            QueryError: There is no such column.
        """
        wanted = by.removeprefix("-")
        columns = [column for column in self.table.columns if _is_sortable(column)]
        found = [column for tier in range(3) for column in columns if wanted.lower() in _labels(column)[tier]]
        if not found:
            names = [column.name or column.key for column in columns]
            near = get_close_matches(wanted, names, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise QueryError(f"--sort {by}: there is no such column; there are {', '.join(names)}{hint}")
        value = found[0].value or found[0].json_value
        ranks = [(rank, row) for row in self.rows if (rank := value(row)) is not None]
        is_text = any(isinstance(rank, str) for rank, _ in ranks)
        ordered = sorted(ranks, key=lambda each: each[0], reverse=is_text == by.startswith("-"))
        unknown = [row for row in self.rows if value(row) is None]
        return replace(self, rows=[*(row for _, row in ordered), *unknown])

    @property
    def renamed(self) -> dict[str, str]:
        """The names in JSON that have changed since the version before: what was called so, and is now."""
        columns = {column.was: column.name for column in self.table.columns if column.was}
        return {**({self.rows_were: "rows"} if self.rows_were else {}), **self.head_was, **columns}


def _writer(columns: Sequence[TableColumn[Row]]) -> Callable[[Row], dict[str, Any]]:
    """Return what makes JSON of a row."""
    ways = [(name.split("."), column.json_value) for column in columns for name in (column.name, column.was) if name]

    def write(row: Row) -> dict[str, Any]:
        document: dict[str, Any] = {}
        for (*path, last), value in ways:
            place = document
            for name in path:
                place = place.setdefault(name, {})
            place[last] = value(row)
        return document

    return write


def _is_sortable(column: TableColumn[Any]) -> bool:
    schema = column.schema or TEXT
    return bool(column.name or column.value) and not _is_nested(schema) and schema.get("type") != "array"


def _labels(column: TableColumn[Any]) -> tuple[set[str], set[str], set[str]]:
    """Return what a column may be called: as a whole, by the end of its name, or by what a screen sorts by.

    `duration_ns.p95.change` is the column of a comparison that `p95` means.
    """
    parts = [part.removesuffix("_ns") for part in column.name.removesuffix(".change").split(".")]
    ends = {".".join(parts[first:]) for first in range(len(parts))}
    is_main = not column.name.endswith((".a", ".b", ".ratio"))
    return {column.name}, ends if is_main else set(), {column.key, column.key.replace(" ", ".")}


def _is_nested(schema: Mapping[str, Any]) -> bool:
    """Tell whether values are objects, or lists of these."""
    return bool(schema.keys() & _NESTED) or ("items" in schema and _is_nested(schema["items"]))


def _csv_value(value: object) -> object:
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
