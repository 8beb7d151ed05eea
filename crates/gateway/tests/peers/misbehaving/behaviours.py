"""The tools of the misbehaving upstream. Each one breaks a rule of the protocol, or uses a rule that few servers use.

A behaviour takes a `Call` and sends messages. Arguments of the call choose the details, so that a test needs no other means
to control the server. Every behaviour is listed by `tools/list`; its description says what it does.
"""

import base64
import itertools
import json
import os
import time

BEHAVIOURS = {}


class Behaviour:
    def __init__(self, function, blocking, extra):
        self.function = function
        # A blocking behaviour waits for something. Over stdio it runs in a thread of its own.
        self.blocking = blocking
        self.definition = {
            "name": function.__name__.rstrip("_"),
            "description": function.__doc__.strip(),
            "inputSchema": {"type": "object"},
            **extra,
        }


def behaviour(blocking=False, **extra):
    def register(function):
        entry = Behaviour(function, blocking, extra)
        BEHAVIOURS[entry.definition["name"]] = entry
        return function

    return register


def block(value):
    return {"type": "text", "text": value}


def with_result_type(pieces):
    """The pieces of a result object with `resultType`, which the modern era requires, as its first member."""
    first = True
    for piece in pieces:
        if first and piece:
            rest = piece[1:].lstrip()
            piece = '{"resultType": "complete"' + (rest if rest == "}" else ", " + rest)
            first = False
        yield piece


# -- Results of any size and shape ----------------------------------------------------------------------------------------

def item(number, canary):
    """One item of about 1,000 bytes. Integers beyond 2^53 and `1.10` show whether numbers survive a proxy."""
    return json.dumps({
        "id": number,
        "big": 9007199254740993 + number,
        "title": f"Item {number}",
        "secret": canary,
        "state": "open" if number % 3 else "closed",
        "empty": None,
        "labels": [],
        "body": f"The description of item {number}. ".ljust(850, "x"),
    })[:-1] + ', "price": 1.10}'


def document(size, canary):
    """The pieces of a JSON document of at least `size` bytes: `{"items": [...]}`."""
    yield '{"items": ['
    written = 0
    for number in itertools.count():
        piece = (", " if number else "") + item(number, canary)
        yield piece
        written += len(piece)
        if written >= size:
            break
    yield "]}"


def escaped(pieces):
    """Text as the inside of a JSON string."""
    return (json.dumps(piece)[1:-1] for piece in pieces)


def lines(size, canary):
    written = 0
    for number in itertools.count(1):
        line = f"line {number}: status={'failed' if number % 100 == 0 else 'ok'} {canary}\n"
        yield line
        written += len(line)
        if written >= size:
            break


def text_block(pieces):
    yield '{"type": "text", "text": "'
    yield from escaped(pieces)
    yield '"}'


def shape_structured(size, canary):
    yield '"content": [], "structuredContent": '
    yield from document(size, canary)


def shape_text(size, canary):
    yield '"content": ['
    yield from text_block(document(size, canary))
    yield "]"


def shape_both(size, canary):
    yield '"content": ['
    yield from text_block(document(size, canary))
    yield '], "structuredContent": '
    yield from document(size, canary)


def shape_lines(size, canary):
    yield '"content": ['
    yield from text_block(lines(size, canary))
    yield "]"


def shape_blocks(size, canary):
    """One text block for each item, as some servers send lists."""
    yield '"content": ['
    for number in range(max(1, size // 1000)):
        yield ", " if number else ""
        yield from text_block([item(number, canary)])
    yield "]"


def shape_mixed(size, canary):
    """JSON in one text block, prose in another, and an image."""
    yield '"content": ['
    yield from text_block(document(size, canary))
    yield f', {{"type": "text", "text": "Prose with {canary}"}}'
    yield ', {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]'


def shape_resource(size, canary):
    yield '"content": [{"type": "resource", "resource": {"uri": "test://document", "mimeType": "application/json", "text": "'
    yield from escaped(document(size, canary))
    yield '"}}]'


def shape_image(size, canary):
    yield '"content": [{"type": "image", "mimeType": "image/png", "data": "'
    for _ in range(max(1, size // 65536)):
        yield base64.b64encode(os.urandom(49152)).decode()
    yield '"}]'


def shape_link(size, canary):
    yield '"content": [{"type": "resource_link", "uri": "test://linked", "name": "linked"}]'


def shape_surrogate(size, canary):
    """A text block that is not valid text: it has half of a surrogate pair."""
    yield '"content": [{"type": "text", "text": "{\\"a\\": \\"\\ud800 ' + canary + '\\"}"}]'


def shape_array(size, canary):
    """`structuredContent` with an array at its root, which only the modern era allows."""
    yield '"content": [], "structuredContent": ['
    yield item(0, canary)
    yield "]"


SHAPES = {name.removeprefix("shape_"): function for name, function in list(globals().items()) if name.startswith("shape_")}


def shaped(arguments):
    """The pieces of a result object, as the arguments `shape`, `bytes`, `canary`, `error` and `error_first` describe it."""
    failed = '"isError": true'
    yield "{"
    if arguments.get("error_first"):
        yield failed + ", "
    yield from SHAPES[arguments.get("shape", "both")](arguments.get("bytes", 20000), arguments.get("canary", "none"))
    if arguments.get("error"):
        yield ", " + failed
    yield "}"


@behaviour()
def result(call):
    """Returns a result. shape: structured, text, both, lines, blocks, mixed, resource, image, link, surrogate or array; bytes: its
    size; canary: a text inside; error: isError at the end; error_first: isError at the beginning."""
    call.respond_pieces(shaped(call.arguments))


@behaviour(outputSchema={"type": "object", "properties": {"items": {"type": "array"}}, "required": ["items"]})
def checked_result(call):
    """Returns a result as `result` does, and its listing has an outputSchema."""
    call.respond_pieces(shaped(call.arguments))


@behaviour()
def echo(call):
    """Returns its argument `text`."""
    call.respond({"content": [block(call.arguments.get("text", ""))]})


@behaviour()
def received(call):
    """Returns every message that this server has received, in order, as JSON text; over HTTP with the request headers, and with
    `{"disconnected": id}` for a client that went away before the response ended."""
    call.respond({"content": [block(json.dumps(call.server.received))]})


# -- Ids ------------------------------------------------------------------------------------------------------------------

@behaviour()
def respond_as(call):
    """Responds with another spelling of the id. id: the spelling, where `{id}` is the number, such as `{id}.0` or `"{id}"`."""
    spelling = call.arguments.get("id", "{id}.0").replace("{id}", call.id_text.strip('"'))
    call.respond_pieces(shaped(call.arguments), id_text=spelling)


@behaviour()
def stranger(call):
    """Sends a result for an id that is not open, then responds. id: that id, as JSON."""
    call.respond_pieces(shaped(call.arguments), id_text=call.arguments.get("id", "987654"))
    call.respond({"content": [block("own response")]})


@behaviour()
def twice(call):
    """Responds twice with the same id."""
    call.respond_pieces(shaped(call.arguments))
    call.respond_pieces(shaped(call.arguments))


@behaviour()
def error(call):
    """Responds with an error of the protocol. code, message, data: its members."""
    members = {"code": call.arguments.get("code", -32050), "message": call.arguments.get("message", "failed")}
    if "data" in call.arguments:
        members["data"] = call.arguments["data"]
    call.send_text(f'{{"jsonrpc": "2.0", "id": {call.id_text}, "error": {json.dumps(members)}}}')


@behaviour()
def error_without_id(call):
    """Sends an error without an id, then responds."""
    call.send_text('{"jsonrpc": "2.0", "error": {"code": -32700, "message": "unreadable"}}')
    call.respond({"content": [block("own response")]})


# -- Time -----------------------------------------------------------------------------------------------------------------

@behaviour(blocking=True)
def late(call):
    """Responds after `ms` milliseconds, even if the call was cancelled."""
    time.sleep(call.arguments.get("ms", 500) / 1000)
    call.respond_pieces(shaped(call.arguments))


@behaviour(blocking=True)
def after_cancel(call):
    """Waits until the call is cancelled, for at most 30 seconds, then responds all the same."""
    call.server.wait_for_cancel(call.id_text, 30)
    call.respond_pieces(shaped(call.arguments))


@behaviour(blocking=True)
def hold(call):
    """Does not respond for `seconds`, 3,600 by default, and then not either."""
    time.sleep(call.arguments.get("seconds", 3600))


@behaviour(blocking=True)
def reverse(call):
    """Waits until `count` calls of this tool are open, then responds to them in reverse order."""
    call.server.in_reverse(call, call.arguments.get("count", 2))


@behaviour(blocking=True)
def progress(call):
    """Reports its progress `count` times, `ms` milliseconds apart, then responds."""
    count = call.arguments.get("count", 3)
    for step in range(count):
        if call.progress_token is not None:
            params = {"progressToken": call.progress_token, "progress": step, "total": count}
            call.send({"method": "notifications/progress", "params": params})
        time.sleep(call.arguments.get("ms", 10) / 1000)
    call.respond({"content": [block("finished")]})


# -- Messages that are not well formed ------------------------------------------------------------------------------------

@behaviour()
def raw(call):
    """Writes the strings in `before` and `after` around its response, each as one line or body, with `{id}` replaced."""
    for text in call.arguments.get("before", []):
        call.send_text(text.replace("{id}", call.id_text))
    if not call.arguments.get("silent"):
        call.respond({"content": [block("own response")]})
    for text in call.arguments.get("after", []):
        call.send_text(text.replace("{id}", call.id_text))


@behaviour()
def noise(call):
    """Writes `count` lines of log output to standard output, then responds."""
    for number in range(call.arguments.get("count", 3)):
        call.send_text(f"[info] starting worker {number} {{not json")
    call.respond({"content": [block("own response")]})


@behaviour()
def oversized(call):
    """Writes a line of `bytes` bytes, then responds. json: whether the line is a valid notification."""
    size = call.arguments.get("bytes", 1 << 20)
    filling = itertools.repeat("x" * 65536, size // 65536 + 1)
    if call.arguments.get("json"):
        opening = '{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "'
        call.send_pieces(itertools.chain([opening], filling, ['"}}']))
    else:
        call.send_pieces(filling)
    call.respond({"content": [block("own response")]})


@behaviour()
def batch(call):
    """Sends its response in an array, together with a notification and, if `stranger` is given, a result for that id."""
    parts = [
        '{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "in a batch"}}',
        "".join(call.response_pieces(shaped(call.arguments))),
    ]
    if "stranger" in call.arguments:
        parts.append("".join(call.response_pieces(shaped(call.arguments), id_text=call.arguments["stranger"])))
    call.send_text("[" + ", ".join(parts) + "]")


@behaviour()
def result_type(call):
    """Responds with the `resultType` in `value`."""
    pieces = "".join(shaped(call.arguments))
    extra = {"resultType": call.arguments.get("value", "unheard-of")}
    call.respond_pieces([json.dumps(extra)[:-1], ", ", pieces[1:]], modern=False)


@behaviour()
def duplicate(call):
    """Repeats a member. member: id, result, content, structuredContent or isError. The second one has the canary."""
    member = call.arguments.get("member", "result")
    second = "".join(shaped(call.arguments))
    harmless = '{"content": [{"type": "text", "text": "harmless"}]}'
    if member == "id":
        text = f'{{"jsonrpc": "2.0", "id": 987654, "result": {second}, "id": {call.id_text}}}'
    elif member == "result":
        text = f'{{"jsonrpc": "2.0", "id": {call.id_text}, "result": {harmless}, "result": {second}}}'
    else:
        values = json.loads(second)
        value = json.dumps(values.get(member, False))
        first = {"content": '[{"type": "text", "text": "harmless"}]', "structuredContent": "{}", "isError": "true"}[member]
        rest = "" if member == "content" else ', "content": []'
        text = f'{{"jsonrpc": "2.0", "id": {call.id_text}, "result": {{"{member}": {first}{rest}, "{member}": {value}}}}}'
    call.send_text(text)


@behaviour()
def escaped_names(call):
    """Writes names of members with escapes, such as `re\\u0073ult`."""
    body = "".join(with_result_type(shaped(call.arguments)) if call.modern else shaped(call.arguments))
    body = body.replace('"content"', '"\\u0063ontent"').replace('"structuredContent"', '"structured\\u0043ontent"')
    call.send_text(f'{{"jsonrpc": "2.0", "\\u0069d": {call.id_text}, "re\\u0073ult": {body}}}')


@behaviour()
def extra_members(call):
    """Responds with members and numbers that types of SDKs drop: `1.10`, big integers, unknown members at each level. top: also
    at the top level, which some SDKs refuse."""
    top = '"x-top": 1.10, ' if call.arguments.get("top") else ""
    kind = '"resultType": "complete", ' if call.modern else ""
    call.send_text(
        f'{{{top}"jsonrpc": "2.0", "id": {call.id_text}, "result": {{{kind}"x-result": 12345678901234567890, '
        '"content": [{"type": "text", "text": "small", "x-block": [1.0, 1e2]}], "_meta": {"x/y": {"deep": [[]]}}}}'
    )


@behaviour()
def exit_(call):
    """Ends the process with the status in `code`. partial: how many bytes of the response are written before that."""
    partial = call.arguments.get("partial", 0)
    if partial:
        call.send_partial("".join(call.response_pieces(shaped(call.arguments)))[:partial])
    os._exit(call.arguments.get("code", 3))


@behaviour()
def close_output(call):
    """Closes standard output without a response and keeps running."""
    call.server.close_output()


# -- Requests to the client -----------------------------------------------------------------------------------------------

@behaviour(blocking=True)
def ask(call):
    """Sends the request `method` with `params` to the client, with the id of this call, and returns the client's response."""
    response = call.server.ask(call, call.arguments.get("method", "roots/list"), call.arguments.get("params", {}))
    call.respond({"content": [block(json.dumps(response))]})


@behaviour()
def input_required(call):
    """Returns `input_required` until the client retries with `inputResponses`, which it then returns."""
    if call.params.get("inputResponses"):
        call.respond({"content": [block(json.dumps({"state": call.params.get("requestState"), "responses": call.params["inputResponses"]}))]})
        return
    requests = {"roots": {"method": "roots/list", "params": {}}}
    members = {"resultType": "input_required", "inputRequests": requests, "requestState": "state \u2028 \u0085 / \" kept"}
    call.respond_pieces([json.dumps(members, ensure_ascii=False)], modern=False)


# -- Tasks: the four places in which the result of a tool arrives ---------------------------------------------------------

@behaviour(execution={"taskSupport": "optional"})
def task(call):
    """Starts a task, if the client asked for one (legacy) or in any case (modern). push: also send notifications/tasks. The
    result is then at tasks/result (legacy) and tasks/get (modern)."""
    if call.modern or "task" in call.params:
        call.server.start_task(call, "".join(shaped(call.arguments)), push=call.arguments.get("push", False))
    else:
        call.respond_pieces(shaped(call.arguments))
