"""httpx: transports that filter responses before the client reads them.

    client = httpx.Client(transport=FilterTransport({"https://api.example.com/*": program}))

`rules` is a program for all responses, a mapping from patterns of addresses to programs or rules, or a function that returns the
program for a request, or `None`. Addresses are compared without the user name, the password, the query and the fragment.

A filter that only saves filters JSON, and any other response passes. A filter that removes for safety filters every response with
a body. If it fails, or if the body is neither JSON nor text that can be searched for credentials, `tamis.Error` is raised.
Responses with a status from 400 on are filtered as responses of failed calls. A response to HEAD has the headers of that to GET.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
from httpx._decoders import SUPPORTED_DECODERS

from ._body import CHANGED_HEADERS, MAX_BUFFERED, BodyFilter, ProgramChoice, body_filter, checked_choice, program_for, refused

DROPPED_HEADERS = CHANGED_HEADERS | {b"content-encoding", b"transfer-encoding"}
"""The headers that do not describe a body that was decoded and filtered."""


class _ResponseFilters:
    """The filters of the responses of a transport."""

    def __init__(self, rules: ProgramChoice, buffered: int) -> None:
        self.rules, self.buffered = checked_choice(rules), buffered

    def body(self, request: httpx.Request, response: httpx.Response) -> BodyFilter | None:
        """Return the filter of a response."""
        if not _has_body(response):
            return None
        address = str(request.url.copy_with(userinfo=b"", query=None, fragment=None))
        program = program_for(self.rules, address, request)
        if program is None:
            return None
        body = body_filter(
            program, response.headers.get("content-type", ""), self.buffered, response.status_code >= 400
        )
        coding = _unknown_coding(response)
        if body is not None and coding is not None:
            if program.removes_for_safety:
                if request.method == "HEAD":
                    # There are no bytes that could pass.
                    return body
                raise refused("encoding", f"the content coding `{coding}` cannot be decoded")
            return None
        return body


def _has_body(response: httpx.Response) -> bool:
    """Return whether a response has a body, or would have one if the request were GET."""
    is_bodiless = response.status_code < 200 or response.status_code in (204, 304)
    return not is_bodiless and response.headers.get("content-length") != "0"


def _unknown_coding(response: httpx.Response) -> str | None:
    """Return a content coding that httpx leaves in the body."""
    codings = response.headers.get_list("content-encoding", split_commas=True)
    return next((one for one in codings if one and one.strip().lower() not in SUPPORTED_DECODERS), None)


def _replaced(response: httpx.Response, stream: Any) -> httpx.Response:
    """Return the response with another body, without the headers that describe the old one."""
    headers = [(name, value) for name, value in response.headers.raw if name.lower() not in DROPPED_HEADERS]
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
        self, rules: ProgramChoice, transport: httpx.BaseTransport | None = None, buffered: int = MAX_BUFFERED
    ) -> None:
        self._filters = _ResponseFilters(rules, buffered)
        self._inner = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._inner.handle_request(request)
        try:
            body = self._filters.body(request, response)
        except BaseException:
            response.close()
            raise
        if body is None:
            return response
        return _replaced(response, response.stream if request.method == "HEAD" else _Stream(response, body))

    def close(self) -> None:
        self._inner.close()


class AsyncFilterTransport(httpx.AsyncBaseTransport):
    """As `FilterTransport`, for `httpx.AsyncClient`."""

    def __init__(
        self, rules: ProgramChoice, transport: httpx.AsyncBaseTransport | None = None, buffered: int = MAX_BUFFERED
    ) -> None:
        self._filters = _ResponseFilters(rules, buffered)
        self._inner = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        try:
            body = self._filters.body(request, response)
        except BaseException:
            await response.aclose()
            raise
        if body is None:
            return response
        return _replaced(response, response.stream if request.method == "HEAD" else _AsyncStream(response, body))

    async def aclose(self) -> None:
        await self._inner.aclose()
