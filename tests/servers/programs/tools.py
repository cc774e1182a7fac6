"""The tools of the Python servers, and how each of these is served: PROGRAM PORT."""

import asyncio
import json
import os
import socket
import sys

import anyio
import uvicorn


def note(what: str, key: str) -> None:
    with open(os.environ["SERVERS_JOURNAL"], "a") as journal:
        journal.write(json.dumps({"what": what, "key": key}) + "\n")


async def count(ctx, steps: int, interval_ms: float, key: str) -> str:
    note("ran", key)
    for step in range(1, steps + 1):
        await anyio.sleep(interval_ms / 1000)
        await ctx.report_progress(step, steps)
        await ctx.info(f"{key}: step {step}")
    return f"{steps} steps"


async def rest(ctx, key: str) -> str:
    note("ran", key)
    await ctx.report_progress(1)
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        note("cancelled", key)
        raise
    return "rested"


def add_tools(mcp, context, read_only) -> None:
    """`mcp` adds functions by `tool`; `context` is the type that asks for its context."""

    async def count_(ctx: context, steps: int, interval_ms: float, key: str) -> str:
        return await count(ctx, steps, interval_ms, key)

    async def rest_(ctx: context, key: str) -> str:
        return await rest(ctx, key)

    async def grow(ctx: context, name: str) -> str:
        async def leaf() -> str:
            return name

        mcp.tool(name=name, description=name)(leaf)
        # Who has a session hears of it there, who has none by a subscription.
        await ctx.session.send_tool_list_changed()
        if hasattr(ctx, "notify_tools_changed"):
            await ctx.notify_tools_changed()
        return name

    mcp.tool(name="count", description="counts")(count_)
    mcp.tool(name="recite", description="counts, and does nothing", annotations=read_only)(count_)
    mcp.tool(name="rest", description="takes a minute")(rest_)
    mcp.tool(name="grow", description="brings a new tool")(grow)


async def serve(app) -> None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(sys.argv[1])))
    listener.listen(128)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, timeout_keep_alive=65)
    )
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    watch = asyncio.create_task(stop_when_stdin_ends(server))
    await server.serve(sockets=[listener])
    watch.cancel()


async def stop_when_stdin_ends(server: uvicorn.Server) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()
    server.should_exit = True
