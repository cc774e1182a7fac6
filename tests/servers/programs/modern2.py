"""The Python SDK 2 at 2026-07-28 alone: it has no switch for that, so what is of another era is refused in front of it."""

import asyncio
import json
import warnings
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import ToolAnnotations
from pydantic import BaseModel
from tools import add_tools, note, serve

MODERN = b"2026-07-28"

warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
mcp = MCPServer("servers", log_level="WARNING")
add_tools(mcp, Context, ToolAnnotations(read_only_hint=True))


class Choice(BaseModel):
    colour: str


async def which() -> Elicit[Choice]:
    return Elicit("Which colour?", Choice)


@mcp.tool()
async def choose(key: str, choice: Annotated[Choice, Resolve(which)]) -> str:
    """Give the colour that the user chose."""
    note("ran", key)
    return choice.colour


class ModernOnly:
    """As the specification has it for a server that serves this revision alone."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = dict(scope["headers"])
        if scope["method"] != "POST":
            return await answer(send, 405, {"code": -32000, "message": "Method Not Allowed"})
        if headers.get(b"mcp-protocol-version") == MODERN or b"mcp-method" in headers:
            return await self.app(scope, receive, send)
        data = {"supported": [MODERN.decode()]}
        await answer(send, 400, {"code": -32022, "message": "Unsupported protocol version", "data": data})


async def answer(send, status, error):
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body})


asyncio.run(serve(ModernOnly(mcp.streamable_http_app())))
