"""The Python SDK 1, with the event store of the interop server."""

import asyncio
import sys
from pathlib import Path

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import ToolAnnotations
from tools import add_tools, serve

sys.path.append(str(Path(__file__).parents[2] / "interop"))
from event_store import HoldEventsWhileResuming, MemoryEventStore

mcp = FastMCP("servers", log_level="WARNING", event_store=MemoryEventStore())
add_tools(mcp, Context, ToolAnnotations(readOnlyHint=True))
asyncio.run(serve(HoldEventsWhileResuming(mcp.streamable_http_app())))
