"""A server over streamable HTTP that does what the tests of the proxy need. Standard library only, with sockets, so that
it can send anything. Prints its port and serves until its standard input ends.

The `method` of a POST chooses what happens, see `respond`. Requests at /control steer the server directly.
"""

import json
import os
import socket
import sys
import threading

state = threading.Condition()
counters = {"disconnected": 0, "steps": 0}
seen = []


def count(name, amount=1):
    with state:
        counters[name] += amount
        state.notify_all()


def wait_for(name, amount):
    with state:
        return state.wait_for(lambda: counters[name] >= amount, timeout=20)


class Closed(Exception):
    pass


class Connection:
    def __init__(self, sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        self.input = sock.makefile("rb")

    def request(self):
        line = self.input.readline()
        if not line:
            raise Closed
        method, path, _ = line.decode().split()
        headers = {}
        while (line := self.input.readline().strip()):
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        body = b""
        if "content-length" in headers:
            body = self.input.read(int(headers["content-length"]))
        elif headers.get("transfer-encoding") == "chunked":
            while (size := int(self.input.readline(), 16)):
                body += self.input.read(size)
                self.input.readline()
            self.input.readline()
        return method, path, headers, body

    def head(self, status=200, headers=()):
        lines = [f"HTTP/1.1 {status} Reason", *(f"{name}: {value}" for name, value in headers)]
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())

    def whole(self, status, headers, body):
        self.head(status, [*headers, ("Content-Length", len(body))])
        self.sock.sendall(body)

    def json(self, message, headers=()):
        self.whole(200, [("Content-Type", "application/json"), *headers], json.dumps(message).encode())

    def chunk(self, data):
        self.sock.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    def finish(self):
        self.sock.sendall(b"0\r\n\r\n")

    def events(self, headers=()):
        self.head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked"), *headers])

    def until_disconnected(self):
        """Waits until the other end closes the connection."""
        self.sock.settimeout(20)
        try:
            if self.sock.recv(1) == b"":
                count("disconnected")
        except OSError as error:
            if not isinstance(error, TimeoutError):
                count("disconnected")
        raise Closed


def respond(connection, path, headers, request):
    method, params, id = request.get("method"), request.get("params") or {}, request.get("id")
    result = {"jsonrpc": "2.0", "id": id, "result": params}
    session = headers.get("mcp-session-id")
    if method == "initialize":
        connection.json(result, [("Mcp-Session-Id", "session-%s" % params.get("name", 1))])
    elif method == "headers" or params.get("headers_please"):
        connection.json({**result, "result": {"path": path, "headers": headers}}, [("X-From-Server", "1")])
    elif method == "slash" and not path.partition("?")[0].endswith("/"):
        # As Starlette 1.x does for a mounted application.
        place, _, query = path.partition("?")
        location = f"http://{headers['host']}{place}/?{query}"
        connection.whole(307, [("Location", location)], b"CANARY")
    elif method == "slash":
        connection.json({**result, "result": {"path": path, "proxy": headers.get("proxy-authorization")}})
    elif method in ("big", "tools/call"):
        size = params.get("arguments", params)["bytes"]
        begin, end = b'{"jsonrpc":"2.0","id":%d,"result":{"text":"' % id, b'"}}'
        if method == "tools/call":
            begin, end = begin.replace(b'"text":"', b'"content":[{"type":"text","text":"'), b'"}]}}'
        connection.head(200, [("Content-Type", "application/json"), ("Content-Length", size + len(begin + end))])
        connection.sock.sendall(begin)
        piece = b"x" * 65536
        while size > 0:
            connection.sock.sendall(piece[:size])
            size -= len(piece)
        connection.sock.sendall(end)
    elif method == "status":
        connection.whole(params["status"], params.get("headers", {}).items(), params.get("body", "").encode())
    elif method == "events":
        # Each text is a chunk. Between them the server waits for a step, if `steps` is set.
        connection.events([("Mcp-Session-Id", session)] if session else ())
        for number, text in enumerate(params["texts"]):
            if params.get("steps"):
                assert wait_for("steps", number)
            connection.chunk(text.encode())
        if params.get("end") == "hold":
            connection.until_disconnected()
        if params.get("end") == "break":
            raise Closed
        connection.finish()
    elif method == "half":
        # A message whose end does not arrive.
        connection.head(200, [("Content-Type", "application/json"), ("Content-Length", 1000)])
        connection.sock.sendall(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % id)
        raise Closed
    elif method == "hang":
        connection.until_disconnected()
    elif id is None:
        connection.whole(202, (), b"")
    else:
        connection.json(result)


def control(connection, request):
    if "wait" in request:
        connection.json({"reached": wait_for(request["wait"], request["count"])})
    elif "step" in request:
        count("steps")
        connection.json({})
    else:
        connection.json(seen)


def serve(sock):
    connection = Connection(sock)
    try:
        while True:
            method, path, headers, body = connection.request()
            if path == "/control":
                control(connection, json.loads(body))
                continue
            seen.append([method, path])
            if method == "POST":
                respond(connection, path, headers, json.loads(body))
            elif method == "GET" and headers.get("last-event-id"):
                connection.events()
                connection.chunk(b'id: 9\ndata: {"jsonrpc":"2.0","id":1,"result":{"resumed":true}}\n\n')
                connection.finish()
            elif method == "GET":
                connection.whole(405, [("Allow", "POST")], b"")
            elif method == "DELETE":
                connection.whole(204, (), b"")
            else:
                connection.whole(200, [("Access-Control-Allow-Origin", "*")], b"")
    except (Closed, OSError):
        pass
    finally:
        sock.close()
        connection.input.close()


def accept(listener):
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=serve, args=(sock,), daemon=True).start()


listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
print(listener.getsockname()[1], flush=True)
threading.Thread(target=accept, args=(listener,), daemon=True).start()
sys.stdin.read()
os._exit(0)
