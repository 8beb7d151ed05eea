"""An MCP server on standard input and output that does what the tests of the proxy need. Standard library only.

    server.py [--ignore-term] [--ignore-end]

Methods: `echo` returns its parameters, `big` a text of a given size, `pids` the ids of its process, `child` starts a
process that keeps standard output open, `noise` prints lines that are not messages, `exit` and `kill` end the process, `never`
returns nothing, `raw` writes a text to standard output.
"""

import json
import os
import signal
import subprocess
import sys
import threading

if "--ignore-term" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

out = sys.stdout.buffer


def send(message):
    out.write(json.dumps(message).encode() + b"\n")
    out.flush()


def respond(request):
    method, params = request.get("method"), request.get("params")
    if method == "echo":
        result = params
    elif method == "big":
        result = {"text": "x" * params["bytes"]}
    elif method == "pids":
        result = {"pid": os.getpid(), "parent": os.getppid(), "group": os.getpgid(0)}
    elif method == "child":
        result = {"pid": subprocess.Popen(["sleep", "1000"]).pid}
    elif method == "tools/call":
        result = params["arguments"]["result"]
    elif method == "tools/list":
        result = {"tools": [{"name": "search", "inputSchema": {"type": "object"}}]}
    elif method == "noise":
        out.write(b"Server started on \x1b[1mport\x1b[0m 1\n\n{\"half\": \n")
        result = {}
    elif method == "exit":
        os._exit(params["code"])
    elif method == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif method == "raw":
        out.write(params["text"].encode())
        out.flush()
        return
    else:
        return
    if "id" in request:
        send({"jsonrpc": "2.0", "id": request["id"], "result": result})


for line in sys.stdin.buffer:
    try:
        request = json.loads(line)
    except ValueError:
        send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": f"{len(line)} bytes"}})
        continue
    respond(request)

if "--ignore-end" in sys.argv:
    threading.Event().wait()
