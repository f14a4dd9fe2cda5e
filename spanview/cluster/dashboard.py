"""What a cluster's dashboard hands over of its nodes' logs: for where Ray's own port can't be reached.

It has only what lies below `<session>/logs/`, so nothing of `/tmp/spans`. It knows no offsets: a file comes whole each
time, and what is new of it is kept. It needs no Ray here, and no task on a node.
"""

from __future__ import annotations

import json
import os
from hashlib import blake2b
from http.client import HTTPException
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

from spanview.cluster.collection import ClusterNode, NodeProgress, NodeState
from spanview.model.problems import CollectError

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Mapping

    from spanview.cluster.collection import Collection
    from spanview.cluster.node_files import Known

_EVENTS: Final = "export_events/"
_GLOBS: Final = ("spans/**/*", "serve/spans/**/*", f"{_EVENTS}*")
"""Below a session's logs."""
_BLOCK_BYTES: Final = 1024 * 1024
_TIMEOUT_S: Final = 60
_FILE_TIMEOUT_S: Final = 3600
"""How long the dashboard may take to hand over a file."""
_NO_DASHBOARD: Final = "no Ray dashboard answers there, or it is too old"
_REFUSED: Final = (401, 403)
_TOKEN_FILE: Final = os.path.join("~", ".ray", "auth_token")


def collect_logs(collection: Collection, dashboard: Dashboard, stop: threading.Event) -> Iterator[list[NodeProgress]]:
    """Collect from the logs of all nodes; yield, again and again, how far it is.

    Raises:
        CollectError: What was collected can't be written.
    """
    nodes = dashboard.nodes
    yield nodes
    for progress in nodes:
        progress.turn(NodeState.READING)
        # The latest generation of a path comes last.
        known = {path: one for one in sorted(collection.known(progress.node)) for path in one[:1]}
        try:
            for name in dashboard.files(progress.node):
                path = f"/{dashboard.session}/logs/{name}"
                for generation, offset, block in dashboard.new_blocks(progress.node, name, known.get(path)):
                    collection.add(progress.node, [(path, generation, 0, 0, offset, len(block))], block)
                    progress.bytes += len(block)
                    progress.sent = dashboard.received
                    yield nodes
                    if stop.is_set():
                        return
            progress.turn(NodeState.DONE)
        except _LogError as error:
            progress.problems.append(str(error))
            progress.turn(NodeState.LOST)
        yield nodes


class _LogError(Exception):
    """A node's logs can't be had; the text says why."""


class Dashboard:
    """A dashboard that answers.

    Raises:
        CollectError: It doesn't answer, or is none.
    """

    def __init__(self, url: str, environment: Mapping[str, str]) -> None:
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
            raise CollectError(f"{url}: expected the URL of a dashboard, such as http://head:8265")
        self._url = url.rstrip("/")
        self._token = _token(environment)
        self.received = 0
        """Bytes of files that came."""
        listed = self._ask("/nodes", view="summary")
        try:
            self.nodes = [
                NodeProgress(ClusterNode(entry["raylet"]["nodeId"], entry["hostname"]))
                for entry in listed["data"]["summary"]
                if entry["raylet"].get("state") == "ALIVE"
            ]
        except (KeyError, TypeError):
            raise CollectError(f"{self._url}: {_NO_DASHBOARD}") from None
        self.session = str(self._ask("/api/version").get("session_name") or "session_latest")
        """The name of the cluster's session."""

    def files(self, node: ClusterNode) -> list[str]:
        """Return the files of spans and events of a node's session, below its logs.

        Raises:
            _LogError: The node doesn't answer.
        """
        names: list[str] = []
        for glob in _GLOBS:
            try:
                answer = self._ask("/api/v0/logs", node_id=node.id, glob=glob, timeout=str(_TIMEOUT_S))
            except CollectError as error:
                raise _LogError(str(error)) from None
            result = (answer.get("data") or {}).get("result") or {}
            names += [name for listed in result.values() for name in listed]
        return sorted(name for name in names if not name.endswith("/") and "/." not in f"/{name}")

    def new_blocks(self, node: ClusterNode, name: str, known: Known | None) -> Iterator[tuple[int, int, bytes]]:
        """Yield what is new in a file: its generation, where the bytes begin, and the bytes.

        Raises:
            _LogError: The file can't be had.
        """
        generation, length, digest = (1, 0, b"") if known is None else (known[1], known[4], known[5])
        if length:
            checksum, offset = blake2b(digest_size=16), 0
            is_known = False
            for block in self._blocks(node, name):
                checksum.update(block[: max(0, length - offset)])
                is_known = is_known or (offset + len(block) >= length and checksum.digest() == digest)
                if offset + len(block) > length:
                    if not is_known:
                        break
                    yield generation, max(offset, length), block[max(0, length - offset) :]
                offset += len(block)
            if is_known:
                return
            generation += 1
        offset = 0
        for block in self._blocks(node, name):
            yield generation, offset, block
            offset += len(block)
        # Each process of Ray makes a file for events, whether there are any or not.
        if not offset and generation > (known[1] if known else 0) and not name.startswith(_EVENTS):
            yield generation, 0, b""

    def _blocks(self, node: ClusterNode, name: str) -> Iterator[bytes]:
        query = {"node_id": node.id, "filename": name, "lines": "-1", "timeout": str(_FILE_TIMEOUT_S)}
        try:
            with self._open("/api/v0/logs/file", query) as answer:
                while block := answer.read(_BLOCK_BYTES):
                    self.received += len(block)
                    yield block
        except (OSError, HTTPException, CollectError) as error:
            raise _LogError(f"{name}: {error}") from None

    def _ask(self, path: str, **query: str) -> dict[str, Any]:
        try:
            with self._open(path, query) as answer:
                value = json.load(answer)
        except (ValueError, HTTPException):
            raise CollectError(f"{self._url}: {_NO_DASHBOARD}") from None
        if not isinstance(value, dict):
            raise CollectError(f"{self._url}: {_NO_DASHBOARD}")
        return value

    def _open(self, path: str, query: Mapping[str, str]) -> IO[bytes]:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        request = Request(f"{self._url}{path}?{urlencode(query)}", headers=headers)  # noqa: S310 - checked above
        try:
            answer: IO[bytes] = urlopen(request, timeout=_TIMEOUT_S)  # noqa: S310
        except HTTPError as error:
            if error.code in _REFUSED:
                raise CollectError(
                    f"{self._url} requires a token, or refuses this one: set RAY_AUTH_TOKEN as for `ray status`"
                ) from None
            raise CollectError(f"{self._url}{path}: HTTP status {error.code}; Ray's agent there may be gone") from None
        except (OSError, HTTPException) as error:
            raise CollectError(f"{self._url}: {getattr(error, 'reason', None) or error}") from None
        return answer


def _token(environment: Mapping[str, str]) -> str:
    """Return the token that Ray's own commands would send; empty without one."""
    if token := environment.get("RAY_AUTH_TOKEN", "").strip():
        return token
    path = environment.get("RAY_AUTH_TOKEN_PATH") or os.path.expanduser(_TOKEN_FILE)
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""
