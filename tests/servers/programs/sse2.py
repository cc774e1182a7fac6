"""HTTP+SSE of 2024-11-05 by the Python SDK 2."""

import asyncio
import warnings

from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import ToolAnnotations
from tools import add_tools, serve

warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
mcp = MCPServer("servers", log_level="WARNING")
add_tools(mcp, Context, ToolAnnotations(read_only_hint=True))
asyncio.run(serve(mcp.sse_app()))
