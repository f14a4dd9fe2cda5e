"""Reports as flat columns, for data frames: a column has one name and one type, and no column is nested.

JSON                             frame
----                             -----
key, count                       key, count
duration_ns: {"p95": 7}          p95_ns           what isn't said to be of something is of durations
wait_ns: {"p95": 7}              wait_p95_ns
wait_parts_ns: {"arguments": 7}  wait_arguments_ns
count: {"a": 1, "ratio": 2}      count_a, count_ratio
evidence: [{…}]                  text, the JSON of it
"""

from __future__ import annotations

from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from spanview.formats.jsontext import dumps_strict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from spanview.reports.report import AnyReport, Report
    from spanview.reports.table import TableColumn

Row = TypeVar("Row")
_NS: Final = "_ns"
_RATIO: Final = "ratio"
_OF_DURATIONS, _PARTS = "duration", "_parts"


class FrameType(Enum):
    """What is in a column; anything may be missing."""

    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TEXT = "string"
    INTEGERS = "integers"
    TEXTS = "strings"


class FrameColumn(NamedTuple):
    """One column of a report."""

    name: str
    type: FrameType
    values: Sequence[Any]


def flat_name(name: str) -> str:
    """Return what a column is called in frames, and as an attribute of rows, by its name in JSON."""
    first, *rest = name.split(".")
    if not rest:
        return name
    stem = first.removesuffix(_NS).removesuffix(_PARTS)
    is_time = first.endswith(_NS) and rest[-1] != _RATIO
    return "_".join([*[stem] * (stem != _OF_DURATIONS), *rest]) + _NS * is_time


def frame_columns(report: AnyReport) -> Iterator[FrameColumn]:
    """Yield the columns of a report."""
    for column in report.table.columns:
        if column.name:
            for name, schema, values in _parts_of(column, report.rows):
                type_ = _type_of(schema)
                is_json = type_ is FrameType.TEXT and _kinds_of(schema) != {"string"}
                yield FrameColumn(name, type_, [_plain(value, is_json=is_json) for value in values])


def arrow_table(report: AnyReport, pa: Any) -> Any:
    """Return a report as a table of Arrow; `pa` is the package."""
    types = {
        FrameType.INTEGER: pa.int64(),
        FrameType.NUMBER: pa.float64(),
        FrameType.BOOLEAN: pa.bool_(),
        FrameType.TEXT: pa.string(),
        FrameType.INTEGERS: pa.list_(pa.int64()),
        FrameType.TEXTS: pa.list_(pa.string()),
    }
    columns = [*frame_columns(report)]
    arrays = [pa.array(column.values, types[column.type]) for column in columns]
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


def parquet_of(report: AnyReport, pa: Any) -> bytes:
    """Return a report as a file of Parquet; `pa` is the package."""
    sink = pa.BufferOutputStream()
    import_module("pyarrow.parquet").write_table(arrow_table(report, pa), sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def made_of(kind: type[Row], report: Report[Any]) -> list[Row]:
    """Return the rows of a report as objects of a class whose fields are some of its columns, by their flat names."""
    wanted = kind.__annotations__
    values = {flat_name(column.name): column.json_value for column in report.table.columns if column.name}
    # Calls are also counted by actor, node or job, and rows have these where functions are.
    values.setdefault("function", values.get(report.head.get("by", ""), _nothing))
    getters: list[Callable[[Any], Any]] = [values.get(name, _nothing) for name in wanted]
    return [kind(*[_plain(get(row)) for get in getters]) for row in report.rows]


def _nothing(_row: Any) -> None:
    return None


def _parts_of(column: TableColumn[Row], rows: Sequence[Row]) -> Iterator[tuple[str, Mapping[str, Any], Sequence[Any]]]:
    """Yield the name, the schema and the values of each column that one becomes: an object of known keys several."""
    schema, values = column.schema or {"type": "string"}, [*map(column.json_value, rows)]
    if "properties" not in schema:
        yield flat_name(column.name), schema, values
        return
    for key, of_key in schema["properties"].items():
        yield flat_name(f"{column.name}.{key}"), of_key, [value.get(key) for value in values]


def _kinds_of(schema: Mapping[str, Any]) -> set[Any]:
    """Return the types of JSON that a value may have besides null."""
    if "enum" in schema:
        return {{bool: "boolean", type(None): "null"}.get(type(value), "string") for value in schema["enum"]} - {"null"}
    kinds = schema.get("type", "object")
    return {*([kinds] if isinstance(kinds, str) else kinds)} - {"null"}


def _type_of(schema: Mapping[str, Any]) -> FrameType:
    kinds = _kinds_of(schema)
    if kinds == {"array"}:
        (items,) = _kinds_of(schema["items"])
        return FrameType(f"{items}s") if items in {"integer", "string"} else FrameType.TEXT
    (kind, *others) = kinds
    return FrameType(kind) if not others and kind in {"integer", "number", "boolean"} else FrameType.TEXT


def _plain(value: Any, *, is_json: bool = False) -> Any:
    if is_json:
        return None if value is None else dumps_strict(value).decode()
    return str(value) if isinstance(value, Enum) else value
