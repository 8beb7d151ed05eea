"""A FastMCP server whose results are filtered by a middleware; prints what a model would get before and after.

    python fastmcp_server.py
"""

import asyncio
import json
from pathlib import Path

import fastmcp
import tamis
from tamis.adapters.fastmcp import FilterMiddleware

ISSUES = json.loads((Path(__file__).parents[2] / "corpus/github-search-issues.json").read_text())

RULES = """
version: 1
filters:
  search_issues:
    select: {number: number, title: title, state: state, login: user.login, labels: "labels[].name"}
    max_items: 3
"""


def server(filtered: bool) -> fastmcp.FastMCP:
    """Return the server, with or without the middleware."""
    mcp = fastmcp.FastMCP("issues")

    @mcp.tool
    def search_issues(query: str) -> dict:
        """Search issues."""
        return ISSUES

    if filtered:
        mcp.add_middleware(FilterMiddleware(tamis.Manifest(RULES)))
    return mcp


async def main() -> None:
    for name, filtered in (("before", False), ("after", True)):
        async with fastmcp.Client(server(filtered)) as client:
            result = await client.call_tool("search_issues", {"query": "order"})
            text = result.content[0].text
            print(f"{name}: {len(text):,} characters\n{text[:400]}\n")


if __name__ == "__main__":
    asyncio.run(main())
