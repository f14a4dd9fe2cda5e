"""An agent: the SDK's own client of `spanview mcp`, and its answers, taken apart."""

from __future__ import annotations

import json
import re
import sys
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from programs import environment_with
from spanview.commands.agents.answers import MAX_BYTES
from spanview.commands.agents.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp import ClientSession

CALL: Final = re.compile(r"\b(\w+)\((\{.*?\})?\)")
"""`stats({"by": "name", "offset": 20})`, in what is said and in what is fenced."""
MOST_BYTES: Final = MAX_BYTES + 8_000
"""Of a whole answer: what is said above the fence is short."""


class Reply:
    """What a tool has answered, taken apart; an answer that isn't bounded and fenced fails."""

    def __init__(self, text: str, *, is_error: bool) -> None:
        self.text = text
        self.is_error = is_error
        assert len(text.encode()) <= MOST_BYTES
        assert all(line.isprintable() for line in text.split("\n")), "something in it would act"
        self.said, *rest = re.split(r"^<data-([0-9a-f]{16})>\n", text, maxsplit=1, flags=re.MULTILINE)
        self.data = ""
        if rest:
            digits, fenced = rest
            self.data, end = fenced.split(f"\n</data-{digits}>", 1)
            assert end == "", "something stands behind the fence"
            assert sha256(self.data.encode()).hexdigest().startswith(digits)
            assert digits not in self.data

    @property
    def lines(self) -> list[str]:
        """The lines of data."""
        return self.data.split("\n")

    @property
    def more(self) -> dict[str, Any] | None:
        """What to ask for the rows behind these; None where there are none."""
        found = re.search(r"; more by \w+\((.*?)\)$", self.said, re.MULTILINE)
        return json.loads(found[1]) if found else None

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls that are named."""
        return [(name, json.loads(given or "{}")) for name, given in CALL.findall(self.text) if name in TOOLS]


class Agent:
    """A client of one server."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def ask(self, tool: str, **arguments: Any) -> Reply:
        """Call a tool."""
        given = await self.session.call_tool(tool, arguments)
        (content,) = given.content
        assert content.type == "text"
        assert given.structured_content is None, "the same text would be there twice"
        return Reply(content.text, is_error=given.is_error)


@asynccontextmanager
async def agent_of(*words: str | Path, python: str | Path = sys.executable) -> AsyncIterator[Agent]:
    """Start `spanview mcp` by an interpreter, and a client, and end both."""
    # A second and more, which each process would take that looks for tests.
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    program = StdioServerParameters(
        command=str(python),
        args=["-m", "spanview", "mcp", *map(str, words)],
        env=environment_with({"PYTHONPATH": str(Path(__file__).parent.parent)}),
    )
    async with stdio_client(program) as (answers, requests), ClientSession(answers, requests) as session:
        await session.initialize()
        yield Agent(session)
