"""Zipkin's servers that share the id of their client's span, separated.

record                      span
------                      ----
1 CLIENT a                  1 a
1 SERVER b, shared            x b, under 1
2 of a, parent 1              2 of a, under 1
3 of b, parent 1                3 of b, under x

1. Of the records with one trace and one id that have a kind or a start, those share it that say `shared`, and those of
   kind SERVER beside a CLIENT; never a CLIENT. The first that doesn't share it keeps it, or else the first of all.
2. A record that shares its id gets one of its own, a digest of trace, id and local endpoint. It is put under the
   record that keeps the id; if that one shares it too, because the client isn't there, beside it.
3. A record whose parent's id is shared goes under the server that has the same local endpoint; else under the client,
   if that has it; else, if the client is of another service, under the first server of the record's own service; else
   under the client. A record that shares its own id stays under its client.
4. A record without kind and start, beside others of its id, is a late part of one of them. It gets an id of its own,
   a digest of all of it, and is put, by the third rule, under the one that it belongs to.

Source: the rules of `span-node.js` of openzipkin/zipkin, which has no third step by services.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from spanview.formats.jsontext import dumps_sorted
from spanview.formats.zipkin.write import clean_endpoint
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, UNUSABLE, format_span_id, format_trace_id, parse_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ID_SIZE: Final = SPAN_ID_DIGITS // 2
_Record: TypeAlias = "Mapping[str, Any]"


class SpanIds(NamedTuple):
    """Ids of a span; `UNUSABLE` where there is none."""

    trace_id: int
    span_id: int
    parent_id: int


class _Holders(NamedTuple):
    """The records that have one id, by their indexes."""

    keeper: int
    """The span that keeps the id."""
    servers: tuple[int, ...]
    """The spans that get another id."""
    keeper_shares: bool
    parts: tuple[int, ...]
    """Late parts of any of them."""


class _Named(NamedTuple):
    """The indexes of records that have one id, by local endpoint and service; the first of several."""

    keeper: int
    service: str | None
    """Of the one that keeps the id."""
    by_endpoint: dict[bytes, int]
    by_service: dict[Any, int]


def keys_of(records: Sequence[_Record]) -> list[SpanIds]:
    """Return the ids of each record, with ids of their own for servers that share their client's."""
    plain = [*map(_plain_key, records)]
    indexes: dict[tuple[int, int], list[int]] = {}
    for index, key in enumerate(plain):
        if UNUSABLE not in key[:2]:
            indexes.setdefault(key[:2], []).append(index)
    shared = {
        ids: holders_of_id
        for ids, sharers in indexes.items()
        if len(sharers) > 1 and (holders_of_id := _holders(records, sharers))
    }
    keys = [*plain]
    for ids, holders in shared.items():
        parent_id = plain[holders.keeper].parent_id if holders.keeper_shares else ids[1]
        for index in holders.servers:
            keys[index] = SpanIds(ids[0], _own_id(ids, clean_endpoint(records[index].get("localEndpoint"))), parent_id)
    named = {ids: _named(records, holders) for ids, holders in shared.items()}
    for ids, holders in shared.items():
        for index in holders.parts:
            keys[index] = SpanIds(
                ids[0], _own_id(ids, records[index]), keys[_parent_of(records[index], named[ids])].span_id
            )
    sharing = {index for holders in shared.values() for index in (*holders.servers, *holders.parts)}
    for index, key in enumerate(plain):
        parents = named.get((key.trace_id, key.parent_id))
        if parents is not None and index not in sharing:
            keys[index] = key._replace(parent_id=keys[_parent_of(records[index], parents)].span_id)
    return keys


def _plain_key(record: _Record) -> SpanIds:
    trace_id = parse_id(record.get("traceId"), TRACE_ID_DIGITS)
    span_id, parent_id = (parse_id(record.get(key), SPAN_ID_DIGITS) for key in ("id", "parentId"))
    # A span that is its own parent is what some programs write for a root.
    return SpanIds(trace_id, span_id, UNUSABLE if parent_id == span_id else parent_id)


def _holders(records: Sequence[_Record], indexes: Sequence[int]) -> _Holders | None:
    """Return which records keep and share an id; None if none shares it."""
    kinds = {
        index: records[index].get("kind")
        for index in indexes
        if records[index].get("kind") or records[index].get("timestamp")
    }
    parts = tuple(index for index in indexes if index not in kinds)
    if not kinds:
        return None
    has_client = "CLIENT" in kinds.values()
    shared = [
        index
        for index in kinds
        if kinds[index] != "CLIENT"
        and (records[index].get("shared") is True or (has_client and kinds[index] == "SERVER"))
    ]
    sharing = {*shared}
    keeper = next((index for index in kinds if index not in sharing), None)
    if keeper is None:
        return _Holders(shared[0], tuple(shared[1:]), keeper_shares=True, parts=parts)
    return _Holders(keeper, tuple(shared), keeper_shares=False, parts=parts) if shared or parts else None


def _own_id(ids: tuple[int, int], distinction: _Record) -> int:
    identity = [format_trace_id(ids[0]), format_span_id(ids[1]), distinction]
    return int.from_bytes(blake2b(dumps_sorted(identity), digest_size=_ID_SIZE).digest(), "big") or 1


def _named(records: Sequence[_Record], holders: _Holders) -> _Named:
    """Return where the holders of an id are found, so that each of their children looks there once."""
    servers = (holders.keeper, *holders.servers) if holders.keeper_shares else holders.servers
    by_endpoint: dict[bytes, int] = {}
    by_service: dict[Any, int] = {}
    for index in (*servers, holders.keeper):
        endpoint = clean_endpoint(records[index].get("localEndpoint"))
        by_endpoint.setdefault(dumps_sorted(endpoint), index)
        by_service.setdefault(endpoint.get("serviceName"), index)
    service = clean_endpoint(records[holders.keeper].get("localEndpoint")).get("serviceName")
    return _Named(holders.keeper, service, by_endpoint, by_service)


def _parent_of(record: _Record, parents: _Named) -> int:
    """Return which of the records that have one id is the parent of another one."""
    own = clean_endpoint(record.get("localEndpoint"))
    if not own:
        return parents.keeper
    server = parents.by_endpoint.get(dumps_sorted(own))
    if server is not None:
        return server
    service = own.get("serviceName")
    return parents.keeper if service in (None, parents.service) else parents.by_service.get(service, parents.keeper)
