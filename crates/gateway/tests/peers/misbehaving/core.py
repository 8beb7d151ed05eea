"""The protocol side of the misbehaving upstream: routing of messages, calls, cancellation and tasks. Knows no transport.

A transport gives each message to `Server.handle` along with a channel. A channel has one method:

    write(pieces, interim)      sends one message, given as pieces of text; `interim` if it is not the response

"""

import json
import threading
import uuid

from behaviours import BEHAVIOURS, with_result_type

SUPPORTED = ("2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
RELATED_KEY = "io.modelcontextprotocol/related-task"


def dump(value):
    """JSON with characters as they are, so that U+0085 and U+2028 go over the wire."""
    return json.dumps(value, ensure_ascii=False)


def gathered(pieces, size=65536):
    """The same text in larger pieces. Clients that join what they read are slow with many small ones."""
    parts, length = [], 0
    for piece in pieces:
        parts.append(piece)
        length += len(piece)
        if length >= size:
            yield "".join(parts)
            parts, length = [], 0
    yield "".join(parts)


class Call:
    """One request for a tool, as a behaviour sees it."""

    def __init__(self, server, message, channel):
        self.server = server
        self.channel = channel
        self.params = message.get("params") or {}
        self.arguments = self.params.get("arguments") or {}
        self.id_text = json.dumps(message["id"])
        meta = self.params.get("_meta") or {}
        self.modern = VERSION_KEY in meta
        self.progress_token = meta.get("progressToken")

    def response_pieces(self, result, id_text=None, modern=None):
        """The pieces of a response with the given pieces of a result object, in the order of members that was asked for."""
        if modern is None:
            modern = self.modern
        order = self.arguments.get("order") or self.server.options.order
        for number, member in enumerate(order):
            yield ", " if number else "{"
            if member == "jsonrpc":
                yield '"jsonrpc": "2.0"'
            elif member == "id":
                yield '"id": ' + (id_text or self.id_text)
            else:
                yield '"result": '
                yield from with_result_type(result) if modern else result
        yield "}"

    def respond_pieces(self, result, id_text=None, modern=None):
        self.send_pieces(self.response_pieces(result, id_text, modern))

    def respond(self, result):
        self.respond_pieces([dump(result)])

    def send(self, message):
        """Sends a notification or a request."""
        self.channel.write([dump({"jsonrpc": "2.0", **message})], True)

    def send_text(self, text):
        self.channel.write([text], False)

    def send_pieces(self, pieces):
        self.channel.write(pieces, False)

    def send_partial(self, text):
        """Sends the beginning of a message. The process ends afterwards."""
        self.channel.write_partial(text)


class Server:
    def __init__(self, options):
        self.options = options
        self.received = []
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.cancelled = set()
        self.responses = {}
        self.waiting = []
        self.tasks = {}
        self.canary = "none"
        self.close_output = lambda: None

    # -- Routing ----------------------------------------------------------------------------------------------------------

    def handle(self, text, channel, headers=None, run=None):
        """Handles one message or one batch. `run` starts a blocking behaviour; without it the behaviour runs here."""
        try:
            message = json.loads(text)
        except ValueError:
            channel.write([dump({"jsonrpc": "2.0", "error": {"code": -32700, "message": "not JSON"}, "id": None})], False)
            return
        for part in message if isinstance(message, list) else [message]:
            self.handle_one(part, channel, headers, run)

    def handle_one(self, message, channel, headers, run):
        with self.changed:
            self.received.append({"message": message, **({"headers": headers} if headers else {})})
            method = message.get("method")
            if method is None:
                self.responses[json.dumps(message.get("id"))] = message
            elif method == "notifications/cancelled":
                self.cancelled.add(json.dumps(message["params"].get("requestId")))
            self.changed.notify_all()
        if method is None or "id" not in message:
            return
        call = Call(self, message, channel)
        if method == "tools/call":
            self.call_tool(call, run)
            return
        handler = METHODS.get(method)
        if handler is None:
            fail(call, -32601, f"unknown method {method}")
            return
        handler(self, call)

    def call_tool(self, call, run):
        entry = BEHAVIOURS.get(call.params.get("name"))
        if entry is None:
            fail(call, -32602, f"unknown tool {call.params.get('name')}")
            return
        self.canary = call.arguments.get("canary", self.canary)
        if entry.blocking and run:
            run(lambda: entry.function(call))
        else:
            entry.function(call)

    # -- Waiting ----------------------------------------------------------------------------------------------------------

    def wait_for_cancel(self, id_text, seconds):
        with self.changed:
            self.changed.wait_for(lambda: id_text in self.cancelled, seconds)

    def ask(self, call, method, params):
        """Sends a request whose id is the id of the client's own open call: the two directions are separate."""
        call.channel.write([dump({"jsonrpc": "2.0", "id": json.loads(call.id_text), "method": method, "params": params})], True)
        with self.changed:
            self.changed.wait_for(lambda: call.id_text in self.responses, 30)
            return self.responses.pop(call.id_text, None)

    def in_reverse(self, call, count):
        """Keeps a call open until `count` calls are open. The last one responds to all of them."""
        with self.changed:
            self.waiting.append(call)
            ready = len(self.waiting) >= count
            batch, self.waiting = (self.waiting, []) if ready else ([], self.waiting)
        for open_call in reversed(batch):
            open_call.respond({"content": [{"type": "text", "text": f"call {open_call.arguments.get('name', '')}"}]})
            with self.changed:
                open_call.finished = True
                self.changed.notify_all()
        with self.changed:
            self.changed.wait_for(lambda: getattr(call, "finished", False), 30)

    # -- Tasks ------------------------------------------------------------------------------------------------------------

    def start_task(self, call, result, push):
        name = str(uuid.uuid4())
        self.tasks[name] = result
        times = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"}
        if call.modern:
            start = {"resultType": "task", "taskId": name, "status": "working", **times, "ttlMs": 60000, "pollIntervalMs": 10}
        else:
            start = {"task": {"taskId": name, "status": "working", **times, "ttl": 60000, "pollInterval": 10}}
        call.respond_pieces([dump(start)], modern=False)
        if push:
            body = f'{{"taskId": "{name}", "status": "completed", "ttlMs": 60000, "result": {result}}}'
            call.channel.write([f'{{"jsonrpc": "2.0", "method": "notifications/tasks", "params": {body}}}'], True)

    def task_result(self, call):
        """tasks/result: the response is the result of the tool itself."""
        result = self.tasks.get(call.params.get("taskId"))
        if result is None:
            fail(call, -32602, "unknown task")
            return
        meta = json.dumps({RELATED_KEY: {"taskId": call.params["taskId"]}})
        call.respond_pieces([result[:-1], f', "_meta": {meta}}}'], modern=False)

    def task_get(self, call):
        """tasks/get: in the modern era the result of the tool is inside."""
        name = call.params.get("taskId")
        if name not in self.tasks:
            fail(call, -32602, "unknown task")
            return
        state = {"taskId": name, "status": "completed", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:01Z"}
        if call.modern:
            members = dump({"resultType": "complete", **state, "ttlMs": 60000})
            call.respond_pieces([members[:-1], f', "result": {self.tasks[name]}}}'], modern=False)
        else:
            call.respond_pieces([dump({**state, "ttl": 60000})], modern=False)

    def task_cancel(self, call):
        call.respond({})

    # -- Lists and the handshake ------------------------------------------------------------------------------------------

    def capabilities(self):
        known = {"resources": {}, "tasks": {"requests": {"tools": {"call": {}}}}}
        if not self.options.no_tools:
            known["tools"] = {"listChanged": True}
        return known

    def initialize(self, call):
        asked = call.params.get("protocolVersion")
        version = asked if asked in SUPPORTED else SUPPORTED[-1]
        info = {"name": self.options.name, "version": "1.0"}
        call.respond({"protocolVersion": version, "capabilities": self.capabilities(), "serverInfo": info})

    def discover(self, call):
        info = {"name": self.options.name, "version": "1.0"}
        extensions = {"io.modelcontextprotocol/tasks": {}}
        call.respond({
            "supportedVersions": [MODERN],
            "capabilities": {**self.capabilities(), "extensions": extensions},
            "_meta": {"io.modelcontextprotocol/serverInfo": info},
            "ttlMs": 1000,
            "cacheScope": "public",
        })

    def ping(self, call):
        call.respond({})

    def list_tools(self, call):
        definitions = [entry.definition for entry in BEHAVIOURS.values()]
        if self.options.retrieve_tool:
            definitions.append({"name": "tamis_retrieve", "description": "The upstream's own", "inputSchema": {"type": "object"}})
        result = {"ttlMs": 1000, "cacheScope": "public"} if call.modern else {}
        size = self.options.page_size or len(definitions)
        # With --empty-cursor the cursor of the second page is the empty string, which is a valid cursor.
        second = "" if self.options.empty_cursor else str(size)
        cursor = call.params.get("cursor")
        start = 0 if cursor is None else size if cursor == second else int(cursor)
        result["tools"] = definitions[start:start + size]
        if start + size < len(definitions):
            result["nextCursor"] = second if start == 0 else str(start + size)
        call.respond(result)

    def list_resources(self, call):
        names = ("test://document", "test://linked")
        call.respond({"resources": [{"uri": name, "name": name} for name in names]})

    def read_resource(self, call):
        """A document with the canary of the last call, as a client would read it after a result that named it."""
        text = json.dumps({"secret": self.canary, "items": [{"id": 1, "secret": self.canary}]})
        contents = [{"uri": call.params.get("uri"), "mimeType": "application/json", "text": text}]
        call.respond({"contents": contents})


def fail(call, code, message):
    call.send_text(f'{{"jsonrpc": "2.0", "id": {call.id_text}, "error": {dump({"code": code, "message": message})}}}')


METHODS = {
    "initialize": Server.initialize,
    "server/discover": Server.discover,
    "ping": Server.ping,
    "tools/list": Server.list_tools,
    "resources/list": Server.list_resources,
    "resources/read": Server.read_resource,
    "tasks/result": Server.task_result,
    "tasks/get": Server.task_get,
    "tasks/cancel": Server.task_cancel,
}
