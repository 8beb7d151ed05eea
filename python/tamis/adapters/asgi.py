"""ASGI (Starlette, FastAPI, Litestar): a middleware that filters JSON responses.

    app = Starlette(routes=…, middleware=[Middleware(FilterMiddleware, rules={"/api/*": program})])

Responses with a status from 400 on are filtered as responses of failed calls. If a filter that removes for safety fails
before anything was sent, the response is 502; later the connection is broken off.
"""

from typing import Any

from .. import Error
from ._body import BUFFERED, BodyFilter, Choice, is_json, program_for

FILE_EXTENSIONS = ("http.response.pathsend", "http.response.zerocopysend")
"""Extensions by which the server reads the body from a file, where no filter sees it."""

SENTENCE = b'{"error":"the response is withheld, because its filter could not be applied"}'


class FilterMiddleware:
    """Filters the bodies of JSON responses as they are sent."""

    def __init__(self, app: Any, rules: Choice, buffered: int = BUFFERED) -> None:
        self.app, self.rules, self.buffered = app, rules, buffered

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        program = None
        if scope["type"] == "http" and scope["method"] != "HEAD":
            program = program_for(self.rules, scope["path"], scope)
        if program is None:
            await self.app(scope, receive, send)
            return
        extensions = {
            name: value
            for name, value in (scope.get("extensions") or {}).items()
            if name not in FILE_EXTENSIONS
        }
        response = _Response(program, self.buffered, send)
        await self.app({**scope, "extensions": extensions}, receive, response.send)


class _Response:
    """One response: its start waits for the first bytes of the body."""

    def __init__(self, program: Any, buffered: int, send: Any) -> None:
        self.program, self.buffered, self.to_server = program, buffered, send
        self.start: Any = None
        self.body: BodyFilter | None = None
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
        else:
            await self.to_server(message)

    async def _started(self, message: Any) -> None:
        headers = {name.lower(): value for name, value in message.get("headers", [])}
        has_body = message["status"] >= 200 and message["status"] not in (204, 304)
        if not has_body or not is_json(headers.get(b"content-type", b"").decode("latin-1")):
            await self.to_server(message)
            return
        is_coded = headers.get(b"content-encoding", b"identity").lower() != b"identity"
        if is_coded and not self.program.removes_for_safety:
            await self.to_server(message)
            return
        dropped = {b"content-length", b"etag", b"content-md5", b"digest"}
        kept = [pair for pair in message.get("headers", []) if pair[0].lower() not in dropped]
        self.start = {**message, "headers": kept}
        if is_coded:
            # The body cannot be read here, and must not pass.
            self.done = True
            await self._withheld()
            return
        self.body = BodyFilter(self.program, self.buffered, is_error=message["status"] >= 400)

    async def _continued(self, body: BodyFilter, message: Any) -> None:
        more = message.get("more_body", False)
        output = body.write(message.get("body", b""))
        if not more:
            output += body.end()
        if self.start is not None and (output or not more):
            start, self.start = self.start, None
            await self.to_server(start)
        if output or not more:
            await self.to_server({"type": "http.response.body", "body": output, "more_body": more})

    async def _withheld(self) -> None:
        length = str(len(SENTENCE)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await self.to_server({"type": "http.response.start", "status": 502, "headers": headers})
        await self.to_server({"type": "http.response.body", "body": SENTENCE})
