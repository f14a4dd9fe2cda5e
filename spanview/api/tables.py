"""Spans, calls and requests as Parquet: a folder with a file a table, as DuckDB's `EXPORT DATABASE` writes it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from spanview.exports.files import check_target, write_atomically
from spanview.model.problems import ExportError
from spanview.reports.each_call import each_call_report
from spanview.reports.frames import parquet_of
from spanview.reports.serve import requests_report
from spanview.sources.unended import unended_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.index.store import Store

TABLES: Final = ("spans", "calls", "requests")


def is_folder(path: str) -> bool:
    """Tell whether a path means a folder: one that is there, or that ends in `/`."""
    return path.endswith("/") or os.path.isdir(path)


def check_folder(folder: str, *, force: bool) -> None:
    """Complain, before anything is read, about what can't be written.

    Raises:
        ExportError: A file of one of the tables exists, and `force` isn't given, or the folder can't be made.
    """
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise ExportError(f"can't write {folder}: {error.strerror or error}; give another folder") from error
    for name in TABLES:
        check_target(_path(folder, name), force=force)


def write_tables(store: Store, traces: Sequence[int], folder: str, lose: Callable[[str], None], *, force: bool) -> None:
    """Write `spans.parquet`, `calls.parquet` and `requests.parquet` of some traces, each completely or not at all.

    A table of which there is nothing has its columns, and no rows.

    Raises:
        ExportError: As `check_folder` does, or pyarrow isn't installed.
    """
    from spanview.exports.arrow_spans import arrow
    from spanview.exports.parquet import parquet_chunks

    check_folder(folder, force=force)
    pa, chosen = arrow(), traces if len(traces) < len(store.trace_table) else None
    tables = {
        "spans": parquet_chunks(store, traces, lose),
        "calls": [parquet_of(each_call_report(store, chosen, unended_in(store)), pa)],
        "requests": [parquet_of(requests_report(store, chosen), pa)],
    }
    for name, chunks in tables.items():
        write_atomically(_path(folder, name), chunks, force=force)


def _path(folder: str, name: str) -> str:
    return os.path.join(folder, f"{name}.parquet")
