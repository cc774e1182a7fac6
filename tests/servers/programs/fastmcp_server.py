"""fastmcp of PyPI, with its own event store."""

import asyncio

from fastmcp import Context, FastMCP
from fastmcp.server.event_store import EventStore
from mcp_types import ToolAnnotations
from tools import add_tools, serve

mcp = FastMCP("servers")
add_tools(mcp, Context, ToolAnnotations(read_only_hint=True))
asyncio.run(serve(mcp.http_app(path="/mcp", event_store=EventStore())))
