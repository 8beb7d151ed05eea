#!/usr/bin/env python3
"""A small MCP server on standard input and output, with a tool for each shape of result that agents treat differently.

    mcp_server.py LOG        appends every message that it receives to LOG, one JSON document a line
"""

import json
import sys

TEXT = {"type": "object", "properties": {}}


def rows(count):
    """Records of the kind that services return: links, nulls and identifiers around the few members that matter."""
    return [
        {
            "id": 1000 + i,
            "node_id": f"N_{i:016x}",
            "url": f"https://api.example.com/rows/{1000 + i}",
            "html_url": f"https://example.com/rows/{1000 + i}",
            "title": f"row {i} of the list",
            "state": "open" if i % 3 else "closed",
            "assignee": None,
            "labels": [],
        }
        for i in range(count)
    ]


def large():
    """About 100 KB of JSON as text."""
    value = rows(430)
    return {"content": [{"type": "text", "text": json.dumps({"items": value}, indent=1)}]}


def structured():
    """Content and structuredContent with different texts, so that the reader of each can be told."""
    return {
        "content": [{"type": "text", "text": "seen in content"}],
        "structuredContent": {"mark": "seen in structuredContent", "rows": rows(20)},
    }


def copied():
    """structuredContent of 100 KB and its copy in content, as the SDKs send it."""
    value = {"items": rows(430)}
    return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}


def echo():
    return {"content": [{"type": "text", "text": "hello from the server"}]}


def failing():
    return {"content": [{"type": "text", "text": "the server refused: no such row"}], "isError": True}


TOOLS = {"large": large, "structured": structured, "copied": copied, "echo": echo, "failing": failing}
WITH_SCHEMA = ("structured", "copied")


def describe(name):
    tool = {"name": name, "description": f"Returns {name} data.", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}}
    if name in WITH_SCHEMA:
        tool["outputSchema"] = {"type": "object"}
    return tool


def respond(message):
    method = message.get("method")
    if method == "initialize":
        return {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "mini", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": [describe(name) for name in TOOLS]}
    if method == "tools/call":
        return TOOLS[message["params"]["name"]]()
    return {}


def main():
    with open(sys.argv[1], "a") as log:
        for line in sys.stdin:
            message = json.loads(line)
            log.write(line)
            log.flush()
            if "id" in message and "method" in message:
                known = message["method"] in ("initialize", "tools/list", "tools/call", "ping")
                body = {"result": respond(message)} if known else {"error": {"code": -32601, "message": "unknown method"}}
                print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)


if __name__ == "__main__":
    main()
