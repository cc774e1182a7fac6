"""The interop server with more tools: those of typescript-server.mjs."""

import sys
from pathlib import Path
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, Elicit, ListRoots, Resolve, Sample
from mcp_types import CreateMessageResult, ListRootsResult, SamplingMessage, TextContent, ToolAnnotations

sys.path.append(str(Path(__file__).parent.parent / "interop"))
from server import Choice, executions, main, mcp

READ_ONLY = ToolAnnotations(read_only_hint=True)


@mcp.tool(annotations=READ_ONLY)
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def tell(ctx: Context, lines: int, interval_ms: int, key: str) -> str:
    executions[key] += 1
    for line in range(1, lines + 1):
        await anyio.sleep(interval_ms / 1000)
        await ctx.report_progress(line, lines)
        await ctx.log("info", f"line {line}")
    return f"{lines} lines"


@mcp.tool()
async def narrate(ctx: Context, lines: int, key: str, interval_ms: int = 10) -> str:
    """Report progress and log a message per line."""
    return await tell(ctx, lines, interval_ms, key)


@mcp.tool(annotations=READ_ONLY)
async def recite(ctx: Context, lines: int, key: str, interval_ms: int = 10) -> str:
    """The same, and nothing comes of doing it twice."""
    return await tell(ctx, lines, interval_ms, key)


async def ask_for_choice(question: str) -> Elicit[Choice]:
    return Elicit(question, Choice)


@mcp.tool()
async def choose(question: str, key: str, choice: Annotated[Choice, Resolve(ask_for_choice)]) -> str:
    """Ask the user, and return the answer."""
    return choice.colour


async def ask_for_summary(text: str) -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text=text))], max_tokens=100)


@mcp.tool()
async def summarize(text: str, key: str, summary: Annotated[CreateMessageResult, Resolve(ask_for_summary)]) -> str:
    """Have the client's model summarize the text."""
    return summary.content.text


async def ask_for_roots() -> ListRoots:
    return ListRoots()


@mcp.tool()
async def show_roots(key: str, roots: Annotated[ListRootsResult, Resolve(ask_for_roots)]) -> str:
    """Return the client's roots."""
    return " ".join(str(root.uri) for root in roots.roots)


@mcp.tool()
async def grow(ctx: Context, name: str) -> str:
    """Bring a new tool, and tell everybody who listens."""
    mcp.add_tool(lambda: name, name=name, description="Return its name.")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return name


if __name__ == "__main__":
    main()
