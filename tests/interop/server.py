"""A server on the official Python SDK whose streams can be resumed.

    python server.py [--port N] [--retry-ms N] [--until-stdin-ends]

Prints {"url": "..."} as its first line. GET /control/executions?key=K tells how often tools ran, and were
cancelled, for the key that the call gave.
"""

import argparse
import asyncio
import json
import socket
import sys
import warnings
from collections import Counter

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPDeprecationWarning
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse

from event_store import HoldEventsWhileResuming, MemoryEventStore

# Log messages are how this protocol era tells a user what a tool does; the SDK warns that a later one drops them.
warnings.filterwarnings("ignore", category=MCPDeprecationWarning)

mcp = MCPServer("landfall-interop", log_level="WARNING")
executions: Counter[str] = Counter()
cancellations: Counter[str] = Counter()


@mcp.custom_route("/control/executions", methods=["GET"])
async def count(request: Request) -> JSONResponse:
    key = request.query_params["key"]
    return JSONResponse({"executions": executions[key], "cancelled": cancellations[key]})


@mcp.tool()
async def process_batch(
    ctx: Context, items: int = 10, checkpoint_every: int = 3, interval_ms: int = 50, key: str = "process_batch"
) -> str:
    """Process items one by one; the stream is closed at each checkpoint, and the client comes back for the rest."""
    executions[key] += 1
    for item in range(1, items + 1):
        await anyio.sleep(interval_ms / 1000)
        await ctx.log("info", f"[{item}/{items}] item {item}")
        if item % checkpoint_every == 0 and item < items:
            await ctx.log("info", f"checkpoint at item {item}")
            await ctx.close_sse_stream()
    return f"{items} items processed"


@mcp.tool()
async def count_up(ctx: Context, to: int, interval_ms: int = 10) -> int:
    """Report each number as progress and return the last."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to)
        await anyio.sleep(interval_ms / 1000)
    return to


@mcp.tool()
async def slow(ctx: Context, key: str, seconds: float = 60) -> str:
    """Say that it has begun, and take its time."""
    executions[key] += 1
    await ctx.log("info", "begun")
    try:
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        cancellations[key] += 1
        raise
    return "rested"


class Choice(BaseModel):
    colour: str


@mcp.tool()
async def ask(ctx: Context, question: str) -> str:
    """Ask the user, and return the answer."""
    answer = await ctx.elicit(question, Choice)
    return answer.data.colour if answer.action == "accept" else answer.action


async def serve(port: int, retry_ms: int, until_stdin_ends: bool) -> None:
    store = MemoryEventStore()
    app = mcp.streamable_http_app(event_store=store, retry_interval=retry_ms)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    server = uvicorn.Server(
        uvicorn.Config(
            HoldEventsWhileResuming(app),
            log_level="warning",
            timeout_graceful_shutdown=1,
            # The default of 5 s makes a client that comes back just then meet a dying socket.
            timeout_keep_alive=65,
        )
    )
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"}), flush=True)
    watch = asyncio.create_task(stop_when_stdin_ends(server)) if until_stdin_ends else None
    await server.serve(sockets=[listener])
    if watch:
        watch.cancel()


async def stop_when_stdin_ends(server: uvicorn.Server) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()
    server.should_exit = True


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--retry-ms", type=int, default=50)
    parser.add_argument("--until-stdin-ends", action="store_true")
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.retry_ms, options.until_stdin_ends))


if __name__ == "__main__":
    main()
