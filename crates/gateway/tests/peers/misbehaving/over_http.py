"""Streamable HTTP for the misbehaving upstream.

Each POST gets an `Exchange`, which chooses between a JSON body and an event stream when its first message is written. The
details of both come from `via` (see upstream.py), which a call may override in its own arguments.
"""

import http.server
import json
import queue
import select
import socket
import ssl
import threading
import time
import uuid
import zlib

from core import gathered

LINE_ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}


class Body:
    """The body of a response in chunked coding, with the faults that `via` asks for."""

    def __init__(self, handler, via):
        self.handler = handler
        self.via = via
        self.written = 0
        self.packer = zlib.compressobj(wbits=31) if via.get("gzip") else None

    def start(self, media_type):
        time.sleep(self.via.get("delay_ms", 0) / 1000)
        self.handler.send_response(self.via.get("status", 200))
        self.handler.send_header("Content-Type", self.via.get("media_type", media_type))
        self.handler.send_header("Transfer-Encoding", "chunked")
        if self.packer:
            self.handler.send_header("Content-Encoding", "gzip")
        if self.handler.new_session:
            self.handler.send_header("Mcp-Session-Id", self.handler.new_session)
        for name, value in self.via.get("headers", {}).items():
            self.handler.send_header(name, value)
        self.handler.end_headers()

    def write(self, text):
        data = text.encode(errors="replace")
        cut = self.via.get("cut")
        if cut is not None and self.written + len(data) >= cut:
            self.emit(data[: cut - self.written])
            raise ConnectionAbortedError
        self.written += len(data)
        if self.packer:
            data = self.packer.compress(data)
        self.emit(data)

    def emit(self, data):
        chunk = self.via.get("chunk") or max(1, len(data))
        for start in range(0, len(data), chunk):
            part = data[start:start + chunk]
            self.handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            if "chunk" in self.via:
                self.handler.wfile.flush()
                time.sleep(self.via.get("pause_ms", 0) / 1000)
        self.handler.wfile.flush()

    def end(self):
        if self.packer:
            self.emit(self.packer.flush())
        self.handler.wfile.write(b"0\r\n\r\n")
        self.handler.wfile.flush()


class Events:
    """An event stream with the spelling that `via` asks for."""

    def __init__(self, body, via, stream):
        self.body = body
        self.via = via
        self.stream = stream
        self.end = LINE_ENDS[via.get("line_end", "lf")]
        self.number = 0
        body.start("text/event-stream")
        if via.get("bom"):
            body.write("\ufeff")
        if via.get("comment"):
            body.write(": a comment" + self.end)
        if "retry" in via:
            body.write(f"retry: {via['retry']}" + self.end)
        if via.get("prime") or via.get("resume"):
            body.write(f"id: {self.next_id()}{self.end}data: {self.end}{self.end}")
        elif via.get("comment") or "retry" in via:
            body.write(self.end)

    def next_id(self):
        self.number += 1
        return f"{self.stream}/{self.number}"

    def write(self, pieces):
        end = self.end
        if "event" in self.via:
            self.body.write(f"event: {self.via['event']}{end}")
        if self.via.get("ids"):
            self.body.write(f"id: {self.next_id()}{end}")
        if self.via.get("unknown_field"):
            self.body.write(f"x-unknown: value{end}")
        self.body.write("data:" if self.via.get("no_space") else "data: ")
        first = True
        for piece in gathered(pieces):
            if first and self.via.get("split_data"):
                # A line break after the first brace: the two lines join to the same JSON text.
                piece = piece[:1] + f"{end}data: " + piece[1:]
            self.body.write(piece)
            first = False
        self.body.write(end if self.via.get("no_final_blank") else end + end)


class Exchange:
    """The channel of one POST. The first message is kept until it is clear whether a second one follows."""

    def __init__(self, handler, via):
        self.body = Body(handler, via)
        self.via = via
        self.pending = None
        self.events = None
        self.finished = False
        self.stream = uuid.uuid4().hex[:8]
        if via.get("framing") == "sse":
            self.start_events()

    def start_events(self):
        if self.events is None:
            self.events = Events(self.body, self.via, self.stream)

    def write(self, pieces, interim):
        if self.via.get("framing") == "json" and (interim or self.pending is not None):
            return
        if self.events is None and not interim and self.pending is None:
            self.pending = pieces
            return
        self.start_events()
        if self.pending is not None:
            self.events.write(self.pending)
            self.pending = None
        self.events.write(pieces)

    def write_partial(self, text):
        self.write([text], False)

    def finish(self):
        self.finished = True
        if self.events is not None:
            if self.pending is not None:
                self.events.write(self.pending)
            self.body.end()
        elif self.pending is not None:
            self.body.start("application/json")
            for piece in gathered(self.pending):
                self.body.write(piece)
            self.body.end()
        else:
            self.body.start("application/json")
            self.body.end()


class Resumable:
    """The channel of a POST whose stream was closed. Its messages wait for the GET that resumes the stream."""

    def __init__(self):
        self.messages = queue.Queue()

    def write(self, pieces, interim):
        self.messages.put(pieces)

    def write_partial(self, text):
        self.messages.put([text])

    def finish(self):
        self.messages.put(None)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without it, events wait for the acknowledgement of the one before, and arrive together.
    disable_nagle_algorithm = True
    new_session = None
    upstream = None
    via = {}
    sessions = set()
    resumable = {}

    def log_message(self, format, *arguments):
        pass

    def empty(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def session_is_gone(self):
        given = self.headers.get("Mcp-Session-Id")
        return given is not None and given not in self.sessions

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            text = self.read_chunks()
        if self.session_is_gone():
            self.empty(404)
            return
        try:
            message = json.loads(text)
        except ValueError:
            message = {}
        first = message[0] if isinstance(message, list) and message else message
        self.new_session = None
        if first.get("method") == "initialize":
            self.new_session = uuid.uuid4().hex
            self.sessions.add(self.new_session)
        requests = [part for part in (message if isinstance(message, list) else [message]) if "id" in part and "method" in part]
        if message and not requests:
            self.upstream.handle(text, None, dict(self.headers))
            self.empty(202)
            return
        arguments = (first.get("params") or {}).get("arguments") or {}
        via = {**self.via, **arguments.get("via", {})} if first.get("method") == "tools/call" else {}
        self.exchange(text, via)

    def exchange(self, text, via):
        if via.get("status", 200) >= 300 and "body" in via:
            body = Body(self, via)
            body.start("application/json")
            body.write(via["body"])
            body.end()
            return
        try:
            if via.get("resume"):
                self.interrupted(text, via)
                return
            channel = Exchange(self, via)
            threading.Thread(target=self.watch, args=(channel, json.loads(text)), daemon=True).start()
            self.upstream.handle(text, channel, dict(self.headers))
            channel.finish()
        except (ConnectionError, TimeoutError):
            # Either `cut` has ended the body, or the client has gone away.
            self.close_connection = True
            self.connection.close()

    def watch(self, channel, message):
        """Notes when the client goes away before the response has ended, which cancels the call in the modern era."""
        while not channel.finished:
            try:
                readable, _, _ = select.select([self.connection], [], [], 0.1)
                if not readable or self.connection.recv(1, socket.MSG_PEEK):
                    time.sleep(0.05)
                    continue
            except (OSError, ValueError):
                pass
            if not channel.finished and isinstance(message, dict):
                with self.upstream.changed:
                    self.upstream.received.append({"disconnected": message.get("id")})
                    self.upstream.cancelled.add(json.dumps(message.get("id")))
                    self.upstream.changed.notify_all()
            return

    def interrupted(self, text, via):
        """Sends the priming event and ends the response. The result then waits for the GET."""
        channel = Resumable()
        stream = uuid.uuid4().hex[:8]
        self.resumable[f"{stream}/1"] = channel
        body = Body(self, via)
        Events(body, {"retry": 50, **via}, stream)
        body.end()
        self.connection.shutdown(socket.SHUT_WR)
        self.close_connection = True
        self.upstream.handle(text, channel, dict(self.headers))
        channel.finish()

    def do_GET(self):
        if self.session_is_gone():
            self.empty(404)
            return
        last = self.headers.get("Last-Event-ID")
        with self.upstream.changed:
            self.upstream.received.append({"get": self.path, "headers": dict(self.headers)})
        if last is None:
            self.standalone()
            return
        channel = self.resumable.pop(last, None)
        if channel is None:
            self.empty(400)
            return
        body = Body(self, {})
        events = Events(body, {"ids": True, "line_end": self.via.get("line_end", "lf")}, last.split("/")[0])
        while (pieces := channel.messages.get()) is not None:
            events.write(pieces)
        body.end()

    def standalone(self):
        """The stream for messages that belong to no request. It has none, and ends when the client goes away."""
        body = Body(self, {})
        body.start("text/event-stream")
        try:
            while True:
                body.write(": still here\n\n")
                time.sleep(5)
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def do_DELETE(self):
        self.sessions.discard(self.headers.get("Mcp-Session-Id"))
        self.empty(200)

    def read_chunks(self):
        """The body of a request in chunked coding."""
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


def serve(server, via, port, tls=None):
    Handler.upstream = server
    Handler.via = via
    listener = Listener(("127.0.0.1", port), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls)
        listener.socket = context.wrap_socket(listener.socket, server_side=True, do_handshake_on_connect=False)
    print(f"listening on http{'s' if tls else ''}://127.0.0.1:{listener.server_address[1]}/mcp", flush=True)
    listener.serve_forever()
