#!/usr/bin/env python3
"""A proxy made with FastMCP whose middleware selects members of each item, for comparisons of speed.

    fastmcp_select.py http URL              listens at a free port, which is printed
    fastmcp_select.py stdio COMMAND ARG...  on standard input and output

It does the same as the variant `select` of the bench `latency`, without storing what it drops: parse the text of each block, keep
11 of 80 members of each repository, write it as JSON again. One session with the server is shared by all calls.
"""

import asyncio
import json
import os
import socket
import sys

# Read when fastmcp is imported.
os.environ.setdefault("FASTMCP_LOG_LEVEL", "ERROR")

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy
from fastmcp.server.middleware import Middleware

MEMBERS = (
    "name", "full_name", "private", "owner_login", "html_url", "description", "updated_at", "stargazers_count", "language",
    "open_issues_count", "default_branch",
)


def selected(item):
    """The members of a repository that are kept, in the order of MEMBERS."""
    kept = {}
    for name in MEMBERS:
        if name == "owner_login":
            kept[name] = item["owner"]["login"]
        elif name in item:
            kept[name] = item[name]
    return kept


class Select(Middleware):
    async def on_call_tool(self, context, call_next):
        result = await call_next(context)
        if context.message.name == "repositories":
            for block in result.content:
                if block.type == "text":
                    items = [selected(item) for item in json.loads(block.text)]
                    block.text = json.dumps(items, separators=(",", ":"), ensure_ascii=False)
        return result


async def main():
    transport, *upstream = sys.argv[1:]
    target = StdioTransport(upstream[0], upstream[1:]) if transport == "stdio" else upstream[0]
    async with Client(target) as client:
        server = create_proxy(client, name="select")
        server.add_middleware(Select())
        if transport == "stdio":
            await server.run_stdio_async(show_banner=False, log_level="ERROR")
            return
        listening = socket.create_server(("127.0.0.1", 0))
        # Accepted connections inherit it. Without it, a response in two writes may wait 40 ms for an acknowledgement.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        print(f"listening at http://127.0.0.1:{listening.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
        await server.run_http_async(show_banner=False, log_level="ERROR", sockets=[listening], json_response=True)


if __name__ == "__main__":
    asyncio.run(main())
