"""ASGI (Starlette, FastAPI, Litestar): a middleware that filters responses.

    app = Starlette(routes=…, middleware=[Middleware(FilterMiddleware, rules={"/api/*": program})])

`rules` is a program for all responses, a mapping from patterns of paths to programs or rules, or a function that returns the
program for a scope, or `None`.

A filter that only saves filters JSON, and any other response passes. A filter that removes for safety filters every response with
a body. If it fails before anything was sent, or if the body is neither JSON nor text that can be searched for credentials, the
response is 502; later the connection is broken off. Responses with a status from 400 on are filtered as responses of failed
calls. A response to HEAD has the headers of that to GET, as far as they are known before the body.

A body that the application encodes with gzip, deflate, br (with the package `brotli`) or zstd (from Python 3.14, or with the package
`zstandard`) is decoded and sent unencoded. This costs time, so add the filter before the middleware that encodes: with
`add_middleware` of Starlette and FastAPI, what is added last is outermost.
"""

import warnings
from typing import Any

from .. import Error
from ._body import CHANGED_HEADERS, MAX_BUFFERED, BodyFilter, ProgramChoice, body_filter, checked_choice, program_for
from ._coding import Decoder, decoder

FILE_EXTENSIONS = ("http.response.pathsend", "http.response.zerocopysend")
"""Extensions by which the server reads the body from a file, where no filter sees it."""

SENTENCE = b'{"error":"the response is withheld, because its filter could not be applied"}'


class FilterMiddleware:
    """Filters the bodies of responses as they are sent."""

    def __init__(self, app: Any, rules: ProgramChoice, buffered: int = MAX_BUFFERED) -> None:
        self.app, self.rules, self.buffered = app, checked_choice(rules), buffered

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        program = None
        if scope["type"] == "http":
            program = program_for(self.rules, scope["path"], scope)
        if program is None:
            await self.app(scope, receive, send)
            return
        extensions = {
            name: value
            for name, value in (scope.get("extensions") or {}).items()
            if name not in FILE_EXTENSIONS
        }
        response = _Response(program, self.buffered, send, is_head=scope["method"] == "HEAD")
        await self.app({**scope, "extensions": extensions}, receive, response.send)


class _Response:
    """One response: its start waits for the first bytes of the body."""

    def __init__(self, program: Any, buffered: int, send: Any, *, is_head: bool) -> None:
        self.program, self.buffered, self.to_server, self.is_head = program, buffered, send, is_head
        self.start: Any = None
        self.body: BodyFilter | None = None
        self.decoder: Decoder | None = None
        self.done = False

    async def send(self, message: Any) -> None:
        if self.done:
            return
        if message["type"] == "http.response.start":
            await self._started(message)
        elif message["type"] == "http.response.body" and self.body is not None:
            try:
                await self._continued(self.body, message)
            except Error:
                self.done = True
                if self.start is None:
                    raise
                await self._withheld()
        elif message["type"] == "http.response.body" and self.is_head:
            # Servers drop the body of a response to HEAD. This one was not filtered.
            await self.to_server({**message, "body": b""})
        else:
            await self.to_server(message)

    async def _started(self, message: Any) -> None:
        headers = {name.lower(): value for name, value in message.get("headers", [])}
        status, body = message["status"], None
        if status >= 200 and status not in (204, 304):
            media_type = headers.get(b"content-type", b"").decode("latin-1")
            body = body_filter(self.program, media_type, self.buffered, status >= 400)
        coding = headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()
        is_coded = coding not in ("", "identity")
        self.decoder = decoder(coding) if is_coded and body is not None else None
        is_readable = self.decoder is not None or not is_coded
        if body is not None and not is_readable:
            _warn_of_order(coding)
        if body is None or not (is_readable or self.program.removes_for_safety):
            await self.to_server(message)
            return
        if not is_readable:
            # The body must not pass.
            self.done = True
            await self._withheld()
            return
        if self.is_head:
            # A length of 0 says that there is nothing to filter.
            is_empty = headers.get(b"content-length") == b"0"
            await self.to_server(message if is_empty else _without_changed(message, self.decoder))
            return
        self.start = message
        self.body = body

    async def _continued(self, body: BodyFilter, message: Any) -> None:
        more = message.get("more_body", False)
        chunk, output = message.get("body", b""), b""
        for piece in (chunk,) if self.decoder is None else self.decoder.decode(chunk):
            output += body.write(piece)
        if not more:
            if self.decoder is not None:
                self.decoder.end()
            output += body.end()
        if self.start is not None and (output or not more):
            start, self.start = self.start, None
            await self.to_server(start if body.is_empty else _without_changed(start, self.decoder))
        if output or not more:
            await self.to_server({"type": "http.response.body", "body": output, "more_body": more})

    async def _withheld(self) -> None:
        length = str(len(SENTENCE)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await self.to_server({"type": "http.response.start", "status": 502, "headers": headers})
        await self.to_server({"type": "http.response.body", "body": b"" if self.is_head else SENTENCE})


def _without_changed(start: Any, decoded_by: Decoder | None) -> Any:
    """Return the start of a response without the headers that do not describe the filtered body."""
    changed = CHANGED_HEADERS if decoded_by is None else CHANGED_HEADERS | {b"content-encoding"}
    headers = [pair for pair in start.get("headers", []) if pair[0].lower() not in changed]
    return {**start, "headers": headers}


def _warn_of_order(coding: str) -> None:
    """Warn that the filter cannot read a response."""
    warnings.warn(
        f"FilterMiddleware got a response with the content coding `{coding}`, which it cannot decode, so its filter has no effect: "
        "add it before the middleware that encodes (what `add_middleware` adds last is outermost), or install the package for the coding",
        RuntimeWarning,
        stacklevel=2,
    )
