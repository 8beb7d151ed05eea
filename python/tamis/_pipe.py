"""Streams over iterables of chunks, sync and async."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, overload

from ._tamis import Stream

_Data = bytes | bytearray | memoryview | str


@overload
def pipe(stream: Stream, chunks: Iterable[_Data]) -> Iterator[bytes]: ...
@overload
def pipe(stream: Stream, chunks: AsyncIterable[_Data]) -> AsyncIterator[bytes]: ...
def pipe(stream: Stream, chunks: Any) -> Any:
    """Return the outputs of a stream for these chunks. Nothing is read before an output is asked for."""
    if hasattr(chunks, "__aiter__"):
        return _async_outputs(stream, chunks)
    if isinstance(chunks, str | bytes | bytearray | memoryview):
        raise TypeError(f"expected an iterable of chunks, found {type(chunks).__name__}")
    return _outputs(stream, iter(chunks))


def _outputs(stream: Stream, chunks: Iterator[_Data]) -> Iterator[bytes]:
    try:
        for chunk in chunks:
            if output := stream.write(chunk):
                yield output
            if stream.done:
                break
        if output := stream.end():
            yield output
    finally:
        stream.close()
        close = getattr(chunks, "close", None)
        if close is not None:
            close()


async def _async_outputs(stream: Stream, chunks: AsyncIterable[_Data]) -> AsyncIterator[bytes]:
    source = aiter(chunks)
    try:
        async for chunk in source:
            if output := stream.write(chunk):
                yield output
            if stream.done:
                break
        if output := stream.end():
            yield output
    finally:
        stream.close()
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()
