"""An MCP server to try tamis with. It needs only Python.

Its tools return more than a model wants to read: `search_tickets` returns 200 tickets as JSON, and `read_log` returns a
log of 5,000 lines.
"""

import json
import sys


def ticket(number):
    return {
        "id": number,
        "title": f"Crane {number} does not stop",
        "state": "closed" if number % 3 == 0 else "open",
        "assignee": {"login": "mira", "avatar_url": "https://harbour.example/avatars/7.png"},
        "customer": {"name": "Quayside Ltd", "card": "4000 0000 0000 0002"},
        "milestone": None,
        "labels": [],
        "body": "The crane moves on after the lever is released. " * 5,
    }


def call(name):
    if name == "search_tickets":
        return json.dumps({"total": 200, "tickets": [ticket(number) for number in range(1, 201)]})
    lines = [f"{number // 60:02}:{number % 60:02} crane {number % 9} is idle" for number in range(5000)]
    lines[4321] = "72:01 crane 4 does not stop: brake pressure is 0.2 bar"
    return "\n".join(lines)


def respond(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "harbour", "version": "1.0.0"},
        }
    if method == "tools/list":
        names = {"search_tickets": "Finds tickets", "read_log": "Returns the log of the cranes"}
        schema = {"type": "object", "properties": {}}
        return {"tools": [{"name": name, "description": names[name], "inputSchema": schema} for name in names]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": call(params["name"])}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = respond(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
