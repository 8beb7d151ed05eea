"""An MCP server with pages: one tool reads a page of 300 KB, another one writes what it gets to a file."""

import json
import sys

LINES = [f"{number:05} The quick brown fox jumps over the lazy dog, and then it rests.\r\n" for number in range(4500)]
PAGE = "# Title é\n" + "".join(LINES) + "no line end"

TOOLS = [
    {"name": "read_page", "inputSchema": {"type": "object"}},
    {
        "name": "write_page",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
            "required": ["path", "text"],
        },
    },
    {"name": "delete_page", "inputSchema": {"type": "object"}},
]


def call(params):
    if params["name"] == "read_page":
        return PAGE
    arguments = params["arguments"]
    if params["name"] == "delete_page":
        return "deleted"
    with open(arguments["path"], "w", encoding="utf-8", newline="") as file:
        file.write(arguments["text"])
    return "written"


def respond(request):
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        server = {"name": "pages", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": call(params)}]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        message = {"jsonrpc": "2.0", "id": request["id"], "result": respond(request)}
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
