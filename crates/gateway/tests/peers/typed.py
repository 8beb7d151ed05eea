"""Results with a type, read by the Python SDK, which refuses a result that does not fit the listed schema:
a server that only returns text gets the type of its filter, and `@modelcontextprotocol/server-filesystem` keeps its own.

    PYTHON-WITH-MCP typed.py GATEWAY [SERVER.js]
"""

import asyncio
import json
import pathlib
import sys
import tempfile

import kit
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

ROOT = pathlib.Path(__file__).resolve().parents[4]
MANIFEST = """version: 1
typed: true
filters:
  search_tickets:
    root: tickets
    select: {id: id, title: title, assignee: assignee.login}
    budget: {bytes: 2000}
    output_schema:
      type: object
      required: [total, tickets]
      properties:
        total: {type: integer}
        tickets:
          type: array
          items:
            type: object
            required: [id, title]
            properties: {id: {type: integer}, title: {type: string}, assignee: {type: string}}
  read_log:
    select: [time]
"""


def meta(result):
    """The notice of a result: versions of the SDK name `_meta` in two ways."""
    found = getattr(result, "meta", None) or getattr(result, "_meta", None) or {}
    return dict(found).get("tamis", {})


def structured(result):
    """The structured part of a result: versions of the SDK name it in two ways."""
    return getattr(result, "structuredContent", None) or getattr(result, "structured_content", None)


def schema(tool):
    """The type of a tool's results: versions of the SDK name it in two ways."""
    return getattr(tool, "outputSchema", None) or getattr(tool, "output_schema", None)


async def with_server(command, work):
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        return await work(session)


async def text_only(session):
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    # The second type is that of a result of another form.
    tickets = schema(tools["search_tickets"])["anyOf"][0]["properties"]["tickets"]
    assert tickets["items"]["properties"]["id"] == {"type": "integer"}, tickets
    # The SDK checks the result here.
    result = await session.call_tool("search_tickets", {})
    rows = structured(result)["tickets"]
    assert structured(result)["total"] == 200 and [row["id"] for row in rows] == list(range(1, len(rows) + 1))
    assert all(row["assignee"] == "mira" and row["title"].endswith("does not stop") for row in rows)
    notice = meta(result)
    assert notice["shown"] == len(rows) and notice["of"] == 200, notice
    rest = await session.call_tool(
        "tamis_retrieve", {"handle": notice["handle"], "items": f"{len(rows)}-{len(rows) + 1}", "select": ["id"]}
    )
    assert json.loads(rest.content[0].text) == [{"id": len(rows) + 1}, {"id": len(rows) + 2}], rest
    log = await session.call_tool("read_log", {})
    assert list(structured(log)) == ["text"] and "brake pressure" in structured(log)["text"], structured(log)
    return f"{len(rows)} of 200 rows"


async def own_types(session):
    tools = (await session.list_tools()).tools
    typed = [tool.name for tool in tools if schema(tool)]
    results = {}
    for name, arguments in (("list_directory", {"path": own_types.root}), ("directory_tree", {"path": own_types.root})):
        results[name] = structured(await session.call_tool(name, arguments))
    return sorted(typed), results


async def main():
    gateway = sys.argv[1]
    server = sys.argv[2] if len(sys.argv) > 2 else str(kit.PACKAGES / "server-filesystem" / "dist" / "index.js")
    node = str(kit.NODE) if kit.NODE.exists() else "node"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        (folder / "tamis.yaml").write_text(MANIFEST)
        proxy = [gateway, "mcp", "--manifest", str(folder / "tamis.yaml"), "--store", str(folder / "store")]
        example = [sys.executable, str(ROOT / "examples" / "mcp" / "server.py")]
        print("the type of a filter:", await with_server([*proxy, "--", *example], text_only))

        files = folder / "files"
        files.mkdir()
        for number in range(400):
            (files / f"crane-{number:03}.txt").write_text("idle")
        own_types.root = str(files)
        direct = await with_server([node, server, str(files)], own_types)
        through = await with_server([*proxy, "--", node, server, str(files)], own_types)
        assert direct[0] and set(direct[0]) <= set(through[0]), (direct[0], through[0])
        equal = direct[1] == through[1] or all(
            # JSON in a text may lose white space.
            json.loads(direct[1][name]["content"]) == json.loads(through[1][name]["content"])
            for name in direct[1]
            if direct[1][name] != through[1][name]
        )
        assert equal, (direct[1], through[1])
        print("the types of server-filesystem:", len(direct[0]), "tools, results as they were")


asyncio.run(main())
