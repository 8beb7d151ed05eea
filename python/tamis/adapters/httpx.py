"""httpx: transports that filter JSON responses before the client reads them.

    client = httpx.Client(transport=FilterTransport({"https://api.example.com/*": program}))

Responses with a status from 400 on are filtered as responses of failed calls. If a filter that removes for safety fails,
reading the body raises `tamis.Error`.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from ._body import BUFFERED, BodyFilter, Choice, is_json, program_for


class _Rules:
    def __init__(self, rules: Choice, buffered: int) -> None:
        self.rules, self.buffered = rules, buffered

    def body(self, request: httpx.Request, response: httpx.Response) -> BodyFilter | None:
        """Return the filter of a response."""
        if request.method == "HEAD" or not is_json(response.headers.get("content-type", "")):
            return None
        address = str(request.url.copy_with(query=None, fragment=None))
        program = program_for(self.rules, address, request)
        if program is None:
            return None
        return BodyFilter(program, self.buffered, is_error=response.status_code >= 400)


def _replaced(response: httpx.Response, stream: Any) -> httpx.Response:
    """Return the response with another body, without the headers that describe the old one."""
    dropped = {b"content-length", b"content-encoding", b"transfer-encoding", b"etag", b"content-md5", b"digest"}
    headers = [(name, value) for name, value in response.headers.raw if name.lower() not in dropped]
    return httpx.Response(
        response.status_code, headers=headers, stream=stream, extensions=response.extensions
    )


class _Stream(httpx.SyncByteStream):
    def __init__(self, response: httpx.Response, body: BodyFilter) -> None:
        self.response, self.body = response, body

    def __iter__(self) -> Iterator[bytes]:
        # `iter_bytes` decodes gzip and the other codings.
        for chunk in self.response.iter_bytes():
            if output := self.body.write(chunk):
                yield output
        if output := self.body.end():
            yield output

    def close(self) -> None:
        self.response.close()


class _AsyncStream(httpx.AsyncByteStream):
    def __init__(self, response: httpx.Response, body: BodyFilter) -> None:
        self.response, self.body = response, body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self.response.aiter_bytes():
            if output := self.body.write(chunk):
                yield output
        if output := self.body.end():
            yield output

    async def aclose(self) -> None:
        await self.response.aclose()


class FilterTransport(httpx.BaseTransport):
    """Filters the responses of another transport, by default one that connects to servers."""

    def __init__(
        self, rules: Choice, transport: httpx.BaseTransport | None = None, buffered: int = BUFFERED
    ) -> None:
        self._rules = _Rules(rules, buffered)
        self._inner = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._inner.handle_request(request)
        body = self._rules.body(request, response)
        return response if body is None else _replaced(response, _Stream(response, body))

    def close(self) -> None:
        self._inner.close()


class AsyncFilterTransport(httpx.AsyncBaseTransport):
    """As `FilterTransport`, for `httpx.AsyncClient`."""

    def __init__(
        self, rules: Choice, transport: httpx.AsyncBaseTransport | None = None, buffered: int = BUFFERED
    ) -> None:
        self._rules = _Rules(rules, buffered)
        self._inner = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        body = self._rules.body(request, response)
        return response if body is None else _replaced(response, _AsyncStream(response, body))

    async def aclose(self) -> None:
        await self._inner.aclose()
