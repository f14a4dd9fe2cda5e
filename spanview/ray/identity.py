"""Who this process is, and where its spans are written.

SPANVIEW_DIR          <SPANVIEW_DIR>/<node>-<pid>-<start>.jsonl
in a session of Ray   <session>/logs/spans/<node>-<pid>-<start>.jsonl, which whatever collects Ray's logs takes along
elsewhere             /tmp/spans/<node>-<pid>-<start>.jsonl

node     the first 12 digits of the id of Ray's node, or the host's name
start    when the process began, in milliseconds since 1970: no PID that is used again meets the file of another process
"""

from __future__ import annotations

import os
import platform
import re
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from spanview.ray.runtime import script_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.ray.runtime import RayProcess

ELSEWHERE: Final = "/tmp/spans"  # noqa: S108 - where Ray's own hooks write, whatever TMPDIR says
_NODE_DIGITS: Final = 12
_UNKNOWN_SERVICE: Final = "unknown_service"
"""How the SDK's name for a service begins that nobody has named."""
_NOT_IN_NAMES: Final = re.compile(r"[^\w.-]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Identity:
    """A process, where it writes, and what its resource says of it."""

    stem: str
    """The path of its files without their suffixes."""
    attributes: Mapping[str, Any]
    service: str

    def resource(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes of a resource: the service first, then those of this process, then the others."""
        service = str(attributes.get("service.name") or _UNKNOWN_SERVICE)
        if service.startswith(_UNKNOWN_SERVICE):
            service = self.service or service
        return {"service.name": service} | dict(self.attributes) | {**attributes, "service.name": service}


def identity_of(ray: RayProcess | None, folder: str) -> Identity:
    """Return who this process is.

    Args:
        folder: Where it is to write; empty for the default place.
    """
    pid, host = os.getpid(), platform.node()
    place = folder or (os.path.join(ray.logs, "spans") if ray and ray.logs else ELSEWHERE)
    node = (ray.node_id[:_NODE_DIGITS] if ray else "") or host
    name = f"{_NOT_IN_NAMES.sub('_', node)}-{pid}-{_start_ms(pid)}"
    attributes = {"host.name": host, "process.pid": pid} | dict(ray.attributes if ray else {})
    return Identity(os.path.join(place, name), attributes, (ray.service if ray else "") or script_name())


@cache
def _start_ms(pid: int) -> int:
    """Return when this process began, in milliseconds since 1970; elsewhere than on Linux, when it asked first."""
    now_ms = time.time_ns() // 1_000_000
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # `4242 (a name) S 1 …`: the 22nd field counts ticks since the system began.
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        age_ms = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000 - ticks * 1000 // os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return now_ms
    return now_ms - max(age_ms, 0)
