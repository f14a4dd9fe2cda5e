"""A question's answer as typed rows, as a data frame, and as a table to read."""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from spanview.api.rows import Sentence
from spanview.model.problems import ExportError, QueryError
from spanview.reports.frames import FrameType, arrow_table, frame_columns, made_of
from spanview.sources.unended import unended_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from spanview.analysis.ray.known_calls import KnownCalls
    from spanview.index.store import Store
    from spanview.reports.report import AnyReport

Row = TypeVar("Row")
_PRINTED_ROWS: Final = 60
"""Rows of the text that stands for a report."""
_SUGGESTED: Final = 5
_PANDAS: Final = {FrameType.INTEGER: "Int64", FrameType.NUMBER: "Float64", FrameType.BOOLEAN: "boolean"}
"""Types in which values may be missing; else integers would become floats, which don't hold nanoseconds since 1970."""


class Report(Generic[Row]):
    """The rows that answer a question, in their order; also by their keys: `stats(by="name")["GET /"]`."""

    __slots__ = ("_key", "_made", "_report", "_row")

    def __init__(self, report: AnyReport, row: type[Row], key: str) -> None:
        self._report = report
        self._row = row
        self._key = key
        self._made: list[Row] | None = None

    @property
    def rows(self) -> Sequence[Row]:
        """The rows, in the order in which the command prints them."""
        if self._made is None:
            self._made = made_of(self._row, self._report)
        return self._made

    def __len__(self) -> int:
        return len(self._report.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, key: str | int | None) -> Row:
        """Return a row by its key or its position.

        Raises:
            KeyError: No row has the key; some that are there are named.
            IndexError: There are not so many rows.
        """
        if isinstance(key, int):
            return self.rows[key]
        for row in self.rows:
            if getattr(row, self._key) == key:
                return row
        keys = [repr(getattr(row, self._key)) for row in self.rows]
        more = f", and {len(keys) - _SUGGESTED:,} more" if len(keys) > _SUGGESTED else ""
        known = f"there are {', '.join(keys[:_SUGGESTED])}{more}" if keys else "there are no rows"
        raise KeyError(f"no row whose {self._key} is {key!r}; {known}")

    def to_json(self) -> dict[str, Any]:
        """Return the document that the command prints with `--json`."""
        return self._report.document()

    def to_arrow(self) -> pa.Table:
        """Return a table of Arrow, whose columns are called as the rows' fields.

        Raises:
            ExportError: pyarrow isn't installed.
        """
        from spanview.exports.arrow_spans import arrow

        return arrow_table(self._report, arrow())

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame of pandas; integers are `Int64`, so that nothing is rounded where some are missing.

        Raises:
            ExportError: pandas isn't installed.
        """
        pandas: Any = _package("pandas")
        columns = {
            name: pandas.Series(values, dtype=_PANDAS.get(type_, "object"))
            for name, type_, values in frame_columns(self._report)
        }
        frame: pd.DataFrame = pandas.DataFrame(columns)
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return a data frame of Polars.

        Raises:
            ExportError: Polars isn't installed.
        """
        polars: Any = _package("polars")
        types = {
            FrameType.INTEGER: polars.Int64,
            FrameType.NUMBER: polars.Float64,
            FrameType.BOOLEAN: polars.Boolean,
            FrameType.TEXT: polars.String,
            FrameType.INTEGERS: polars.List(polars.Int64),
            FrameType.TEXTS: polars.List(polars.String),
        }
        columns = [
            polars.Series(name, values, dtype=types[type_], strict=False)
            for name, type_, values in frame_columns(self._report)
        ]
        frame: pl.DataFrame = polars.DataFrame(columns)
        return frame

    def to_markdown(self) -> str:
        """Return the table in Markdown, as GitHub reads it, with units."""
        return "\n".join(self._markdown_lines())

    def _markdown_lines(self) -> Iterator[str]:
        from spanview.reports.lines import markdown_lines

        return markdown_lines(self._report)

    def _repr_html_(self) -> str:
        heads, lines, *rows = [_cells(line) for line in self._markdown_lines()]
        styles = [f' style="text-align:{"right" if line.endswith(":") else "left"}"' for line in lines]
        body = "".join(_html(row, styles, "td") for row in rows)
        return f"<table><thead>{_html(heads, styles, 'th')}</thead><tbody>{body}</tbody></table>"

    def __repr__(self) -> str:
        from spanview.reports.lines import table_lines

        shown = self._report.rows[:_PRINTED_ROWS]
        more = len(self) - len(shown)
        lines = [*table_lines(self._report.table, shown), *[f"… and {more:,} more"] * bool(more)]
        return "\n".join(lines if len(self) else [f"<Report {self._report.kind}: no rows>"])


class Explanation(Report[Sentence]):
    """What took the time, what failed and what is missing; as text, what `spanview explain` prints."""

    __slots__ = ("_text",)

    def __init__(self, store: Store, traces: Sequence[int] | None, known: KnownCalls, by: str, lines: int) -> None:
        from spanview.reports.explanation import NOTHING, AlreadyFound, explanation
        from spanview.reports.explanation_text import WIDTH, explanation_lines, shortened

        if by not in NOTHING:
            raise QueryError(f"by={by!r}: expected one of {', '.join(map(repr, NOTHING))}")
        report = explanation(store, traces, by, unended=unended_in(store), found=AlreadyFound(known=known))
        said = explanation_lines(
            store, report, WIDTH, lines, asking=lambda more: f"spanview {more}", asking_for=lambda most: f"lines={most}"
        )
        super().__init__(shortened(report, lines), Sentence, "topic")
        self._text = "\n".join(said) if report.rows else report.nothing

    def __repr__(self) -> str:
        return self._text


def _cells(line: str) -> list[str]:
    """Return the cells of a line of Markdown."""
    return [cell.replace("\\|", "|").replace("\\\\", "\\") for cell in line.removeprefix("| ")[:-2].split(" | ")]


def _html(cells: Sequence[str], styles: Sequence[str], tag: str) -> str:
    pairs = zip(cells, styles, strict=True)
    return f"<tr>{''.join(f'<{tag}{style}>{escape(cell)}</{tag}>' for cell, style in pairs)}</tr>"


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ExportError(f"a data frame of {name} needs it: pip install {name}") from None
