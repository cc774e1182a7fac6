"""The Python SDK 2, with the event store of the interop server."""

import asyncio
import sys
import warnings
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import ToolAnnotations
from tools import add_tools, serve

sys.path.append(str(Path(__file__).parents[2] / "interop"))
from event_store import HoldEventsWhileResuming, MemoryEventStore

warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
mcp = MCPServer("servers", log_level="WARNING")
add_tools(mcp, Context, ToolAnnotations(read_only_hint=True))
asyncio.run(serve(HoldEventsWhileResuming(mcp.streamable_http_app(event_store=MemoryEventStore()))))
