"""`spanview mcp`: the questions of the other commands as tools for agents, over standard input and output.

Source: the Model Context Protocol, by its official SDK.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from spanview.commands.agents.questions import Recordings
from spanview.commands.standard_error import say
from spanview.model.problems import NoSuchPathError, SpanviewError
from spanview.sources.discover import STANDARD_INPUT
from spanview.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.commands.options import Options


def run(options: Options) -> int:
    """Answer one call after the other until standard input ends.

    Raises:
        SpanviewError: The SDK isn't installed, or standard input is to be read for spans as well.
    """
    if STANDARD_INPUT in options.paths:
        raise NoSuchPathError(f"{STANDARD_INPUT}: standard input is the agent's: give a file or a folder")
    try:
        import mcp_types as types
        from mcp.server import Server
        from mcp.server.stdio import stdio_server
    except ImportError:
        raise SpanviewError("answering agents needs another package: pip install 'spanview[mcp]'") from None
    from spanview.commands.agents.tools import INSTRUCTIONS, TOOLS, answer

    recordings, one_at_a_time = Recordings(options), asyncio.Lock()
    harmless = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    tools: Sequence[types.Tool] = [
        types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema, annotations=harmless)
        for tool in TOOLS.values()
    ]

    async def list_tools(_context: Any, _parameters: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[*tools])

    async def call_tool(_context: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
        async with one_at_a_time:
            given = await asyncio.to_thread(answer, recordings, asked.name, asked.arguments or {})
        return types.CallToolResult(content=[types.TextContent(text=given.text)], is_error=given.is_error)

    server: Server[Any] = Server(
        "spanview", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )

    async def serve() -> None:
        async with stdio_server() as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())

    if sys.stdin.isatty():
        say("waiting for an agent on standard input; spanview help explain says how to give one this command")
    asyncio.run(serve())
    return 0
