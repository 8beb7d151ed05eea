"""A scripted stand-in for a language model on the loopback interface.

It speaks the Anthropic Messages API, the OpenAI Responses and Chat Completions APIs and Gemini's generateContent, each with and
without streaming. An agent that asks it gets the tool calls of a script, one step a turn, and then the text "done". The model
keeps every result that the agent sends back, which is what a real model would have read.
"""

import contextlib
import gzip
import itertools
import json
import pathlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# A conversation follows the script if a message of the user holds this word. Requests for titles and summaries have no tools.
PROMPT = "Run the scripted jobs."

CALL_ID = re.compile(r"call_(\d+)_(\d+)")


class Result:
    """What the model received for one tool call."""

    def __init__(self, raw, text, error=None):
        self.raw = raw
        self.text = text
        self.error = error


class Model:
    """The model: a script and what came back.

    `steps` is a list of steps. A step is a list of calls that are made at once. A call is a dictionary with `name` and `input`, or
    a function that takes the results so far, by (step, index), and returns one.
    """

    def __init__(self, steps, log=None):
        self.steps = steps
        self.results = {}
        self.requests = 0
        self.tools = {}
        self.log = pathlib.Path(log) if log else None
        self._calls = {}
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        if self.log:
            self.log.mkdir(parents=True, exist_ok=True)

    def note(self, path, body):
        """Keeps a request: the results in it, the tools on offer, and the whole of it if there is a log folder."""
        with self._lock:
            self.requests += 1
            if self.log:
                (self.log / f"{self.requests:03}.json").write_text(json.dumps({"path": path, "body": body}, indent=1))
            for key, result in results(body):
                # The first copy is the one that counts: agents shorten older results later on.
                self.results.setdefault(key, result)
            for tool in body.get("tools") or []:
                if isinstance(tool, dict):
                    for one in tool.get("functionDeclarations") or tool.get("tools") or [tool.get("function") or tool]:
                        self.tools[one.get("name")] = one

    def turn(self, body):
        """The calls of this turn and the number of its step; no calls if the script is over or not asked for."""
        turns = body.get("messages") or body.get("input") or body.get("contents") or []
        text = json.dumps(turns)
        offered = body.get("tools") or '"additional_tools"' in text
        if not offered or PROMPT not in text:
            return [], "ok", 0
        step = max((int(found[0]) + 1 for found in CALL_ID.findall(text)), default=0)
        if step >= len(self.steps):
            return [], "done", step
        with self._lock:
            # A repeated request for the same step gets the same calls.
            if step not in self._calls:
                calls = self.steps[step]
                self._calls[step] = [call(self.results) if callable(call) else call for call in calls]
            return self._calls[step], "", step

    def number(self):
        return next(self._ids)

    @contextlib.contextmanager
    def serving(self, port=0):
        """Serves until the block ends, on a port or on any free one. Gives the address."""
        model = self

        class Handler(_Handler):
            pass

        Handler.model = model
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()


def texts(value):
    """The text of a result: its strings, or the `text` members of its blocks."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(texts(item) for item in value)
    if isinstance(value, dict):
        for key in ("text", "content", "output", "error"):
            if key in value:
                return texts(value[key])
        return json.dumps(value)
    return "" if value is None else json.dumps(value)


def results(body):
    """Every tool result in a request, as ((step, index), Result)."""
    for turn in body.get("messages") or []:
        if turn.get("role") == "tool":
            yield from _found(turn.get("tool_call_id"), turn, texts(turn.get("content")))
        if isinstance(turn.get("content"), list):
            for block in turn["content"]:
                if block.get("type") == "tool_result":
                    error = bool(block.get("is_error"))
                    yield from _found(block.get("tool_use_id"), block, texts(block.get("content")), error)
    for item in body.get("input") or []:
        if isinstance(item, dict) and item.get("type") in ("function_call_output", "custom_tool_call_output"):
            yield from _found(item.get("call_id"), item, texts(item.get("output")))
    for turn in body.get("contents") or []:
        for part in turn.get("parts") or []:
            response = part.get("functionResponse")
            if response:
                value = response.get("response") or {}
                yield from _found(response.get("id"), response, texts(value), "error" in value)


def _found(call, raw, text, error=None):
    found = CALL_ID.search(call or "")
    if found:
        yield (int(found[1]), int(found[2])), Result(raw, text, error)


# Each of the four gives (the whole response, [(event name or None, data)]).


def _anthropic(model, body):
    calls, text, step = model.turn(body)
    blocks = [
        {"type": "tool_use", "id": f"toolu_call_{step}_{i}", "name": call["name"], "input": call["input"]}
        for i, call in enumerate(calls)
    ] or [{"type": "text", "text": text}]
    stop = "tool_use" if calls else "end_turn"
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    whole = {
        "id": f"msg_{model.number()}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }
    events = [("message_start", {"message": {**whole, "content": [], "stop_reason": None}})]
    for i, block in enumerate(blocks):
        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            ("content_block_start", {"index": i, "content_block": start}),
            ("content_block_delta", {"index": i, "delta": delta}),
            ("content_block_stop", {"index": i}),
        ]
    delta = {"stop_reason": stop, "stop_sequence": None}
    events += [("message_delta", {"delta": delta, "usage": {"output_tokens": 5}}), ("message_stop", {})]
    return whole, [(name, {"type": name, **data}) for name, data in events]


def _responses(model, body):
    calls, text, step = model.turn(body)
    items = []
    for i, call in enumerate(calls):
        # A string is the input of a free-form tool: Codex' script tool takes one.
        free = isinstance(call["input"], str)
        item = {
            "type": "custom_tool_call" if free else "function_call",
            "id": f"fc_{step}_{i}",
            "call_id": f"call_{step}_{i}",
            "name": call["name"],
            "input" if free else "arguments": call["input"] if free else json.dumps(call["input"]),
        }
        if call.get("namespace"):
            item["namespace"] = call["namespace"]
        items.append(item)
    part = {"type": "output_text", "text": text, "annotations": []}
    items = items or [{"type": "message", "id": f"m_{step}", "role": "assistant", "content": [part]}]
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    }
    whole = {
        "id": f"resp_{model.number()}",
        "object": "response",
        "status": "completed",
        "model": body.get("model", "scripted"),
        "output": items,
        "usage": usage,
    }
    events = [("response.created", {"response": {**whole, "status": "in_progress", "output": []}})]
    for i, item in enumerate(items):
        events += [
            ("response.output_item.added", {"output_index": i, "item": item}),
            ("response.output_item.done", {"output_index": i, "item": item}),
        ]
    events.append(("response.completed", {"response": whole}))
    return whole, [(name, {"type": name, **data}) for name, data in events]


def _chat(model, body):
    calls, text, step = model.turn(body)
    tools = [
        {
            "index": i,
            "id": f"call_{step}_{i}",
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["input"])},
        }
        for i, call in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": tools} if tools else {})}
    stop = "tool_calls" if calls else "stop"
    head = {"id": f"chat_{model.number()}", "created": 0, "model": body.get("model", "scripted")}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    choice = {"index": 0, "message": message, "finish_reason": stop}
    whole = {**head, "object": "chat.completion", "usage": usage, "choices": [choice]}
    chunk = {**head, "object": "chat.completion.chunk"}
    return whole, [
        (None, {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
        (None, {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}], "usage": usage}),
        (None, "[DONE]"),
    ]


def _gemini(model, body):
    calls, text, step = model.turn(body)
    if not calls and (body.get("generationConfig") or {}).get("responseMimeType") == "application/json":
        text = json.dumps({"reasoning": "-", "model_choice": "flash", "complexity_score": 1, "next_speaker": "user"})
    parts = [
        {"functionCall": {"id": f"call_{step}_{i}", "name": call["name"], "args": call["input"]}}
        for i, call in enumerate(calls)
    ]
    content = {"role": "model", "parts": parts or [{"text": text}]}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    whole = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
    return whole, [(None, whole)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *_):
        pass

    def respond(self, data, kind="application/json"):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(data)

    def do_HEAD(self):
        self.respond(b"")

    def do_GET(self):
        self.respond(json.dumps({"object": "list", "data": [], "models": []}).encode())

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        try:
            body = json.loads(data or b"{}")
        except ValueError:
            body = {}
        path = self.path.split("?")[0]
        if path.endswith(("/count_tokens", ":countTokens")):
            return self.respond(b'{"input_tokens": 10, "totalTokens": 10}')
        self.model.note(self.path, body)
        stream = bool(body.get("stream"))
        if path.endswith("/messages"):
            whole, events = _anthropic(self.model, body)
        elif path.endswith("/responses"):
            whole, events = _responses(self.model, body)
        elif path.endswith("/chat/completions"):
            whole, events = _chat(self.model, body)
        elif "enerateContent" in path:
            whole, events = _gemini(self.model, body)
            stream = ":stream" in path
        else:
            return self.respond(b"{}")
        if not stream:
            return self.respond(json.dumps(whole).encode())
        lines = []
        for event, value in events:
            text = value if isinstance(value, str) else json.dumps(value)
            lines.append((f"event: {event}\n" if event else "") + f"data: {text}\n\n")
        return self.respond("".join(lines).encode(), "text/event-stream")
