"""What a writer says of spans that it could not write: a log record of `spanview.ray`, in a line between its spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanview.formats.otlp.values import INT64, Reader
from spanview.formats.rows import Unwritten
from spanview.ray.lines import NOT_WRITTEN, REASON, SCOPE

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_REASON: Final = 200
"""Characters of a reason that are kept."""


def unwritten_in(document: dict[str, Any], offset: int) -> Iterator[Unwritten]:
    """Yield what a document says of spans that could not be written; for most there is nothing."""
    read = Reader()
    for of_resource in read.objects(document.get("resourceLogs")):
        for of_scope in read.objects(of_resource.get("scopeLogs")):
            if read.object(of_scope.get("scope")).get("name") != SCOPE:
                continue
            for record in read.objects(of_scope.get("logRecords")):
                attributes = read.attributes(record.get("attributes"))
                count, time_ns = attributes.get(NOT_WRITTEN), read.number_in(record.get("timeUnixNano"), INT64)
                if type(count) is int and count in INT64 and count > 0:
                    yield Unwritten(offset, time_ns, count, read.text(attributes.get(REASON))[:_MAX_REASON])
