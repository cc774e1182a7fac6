"""HTTP+SSE of 2024-11-05 by the Python SDK 1."""

import asyncio

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import ToolAnnotations
from tools import add_tools, serve

mcp = FastMCP("servers", log_level="WARNING")
add_tools(mcp, Context, ToolAnnotations(readOnlyHint=True))
asyncio.run(serve(mcp.sse_app()))
