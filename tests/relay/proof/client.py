"""The official Python client, unchanged: URL MODE. It lists, calls with progress, is asked, and is cut in mid-call.

Each step is a line of JSON, `[what, value]`.
"""

import asyncio
import json
import sys

from mcp import Client
from mcp.types import ElicitResult


def tell(what, value):
    print(json.dumps([what, value]), flush=True)


async def accept(_context, _params):
    return ElicitResult(action="accept", content={"name": "Ann"})


async def main(url, mode):
    async with Client(url, mode=mode, elicitation_callback=accept) as client:
        tell("tools", sorted(tool.name for tool in (await client.list_tools()).tools))
        heard = []

        async def progress(step, _total, _message):
            heard.append(step)

        async def call(name, progress_callback=None, **arguments):
            result = await client.call_tool(name, arguments, progress_callback=progress_callback)
            return result.content[0].text

        tell("call", await call("count", key="python"))
        tell("held", await call("hold", key="steps", steps=3, progress_callback=progress))
        tell("progress", heard)
        tell("asked", json.loads(await call("ask", key="asked"))["content"])
        tell("cut", await call("hold", key="cut"))
        tell("after", await call("count", key="after"))


asyncio.run(main(*sys.argv[1:]))
