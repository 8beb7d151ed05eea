"""Streams: iterators, backpressure, memory with a slow consumer, closing, and streams of text and of commands."""

import asyncio
import copy
import pickle
import re
from pathlib import Path

import pytest
import tamis

SELECT = tamis.Program(select=["id"], root="items")
ITEM = b'{"id": 1, "body": "' + b"x" * 1000 + b'"}'


def document(count):
    """Yield a document of about a kilobyte for each item."""
    yield b'{"items": ['
    for number in range(count):
        yield ITEM + (b"," if number + 1 < count else b"")
    yield b"]}"


def wanted(count):
    return b'{"items":[' + b",".join([b'{"id":1}'] * count) + b"]}"


class Source:
    """An iterator of chunks that counts how many were read, and knows whether it was closed."""

    def __init__(self, count):
        self.chunks, self.read, self.closed = document(count), 0, False

    def __iter__(self):
        return self

    def __next__(self):
        self.read += 1
        return next(self.chunks)

    def close(self):
        self.closed = True


class AsyncSource:
    def __init__(self, count):
        self.inner = Source(count)

    def __aiter__(self):
        return self

    async def __anext__(self):
        await asyncio.sleep(0)
        try:
            return next(self.inner)
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self):
        self.inner.close()


def test_an_iterator():
    stream, source = SELECT.stream(), Source(50)
    outputs = stream.pipe(source)
    assert source.read == 0
    assert b"".join(outputs) == wanted(50)
    assert source.closed
    assert b"".join(SELECT.stream().pipe(document(3))) == wanted(3)
    with pytest.raises(TypeError, match="expected an iterable of chunks, found bytes"):
        SELECT.stream().pipe(b"[]")
    with pytest.raises(TypeError):
        SELECT.stream().pipe(3)


def test_an_async_iterator():
    async def run():
        source = AsyncSource(50)
        output = b"".join([chunk async for chunk in SELECT.stream().pipe(source)])
        assert source.inner.closed
        return output

    assert asyncio.run(run()) == wanted(50)


def test_a_reader_that_waits_holds_the_source_back():
    source = Source(1000)
    outputs = SELECT.stream().pipe(source)
    for number in range(1, 20):
        next(outputs)
        assert source.read <= number + 2
    outputs.close()
    assert source.closed and source.read < 30

    async def run():
        source = AsyncSource(1000)
        outputs = SELECT.stream().pipe(source)
        for number in range(1, 20):
            await anext(outputs)
            await asyncio.sleep(0.001)
            assert source.inner.read <= number + 2
        await outputs.aclose()
        return source.inner

    source = asyncio.run(run())
    assert source.closed and source.read < 30


def test_the_source_ends_when_the_output_is_complete():
    first = tamis.Program(max_items=2, stop_early=True, root="items")
    source = Source(1000)
    output = b"".join(first.stream().pipe(source))
    assert output.count(b'"id"') == 2
    assert source.closed and source.read < 10


def test_a_failure_in_an_iterator():
    source = iter([b'{"items": [{"id": 1}, ', b"{oops", b"never"])
    outputs = SELECT.stream().pipe(source)
    assert next(outputs) == b'{"items":[{"id":1}'
    with pytest.raises(tamis.Error) as caught:
        list(outputs)
    assert (caught.value.kind, caught.value.offset) == ("syntax", 23)
    assert next(source) == b"never"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_a_slow_consumer_of_a_long_document_needs_no_memory():
    def resident_kib():
        return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[1])

    async def run(count):
        size, most = 0, 0
        async for output in SELECT.stream().pipe(AsyncSource(count)):
            size += len(output)
            await asyncio.sleep(0)
            if size % 1000 < 10:
                most = max(most, resident_kib())
        return size, most

    asyncio.run(run(6_000))
    before = resident_kib()
    size, most = asyncio.run(run(60_000))
    assert size == len(wanted(60_000))
    # The document has 60 MB. The allocator and the interpreter may take a few more pages.
    assert most < before + 16_000


def test_a_context_manager_frees_the_run():
    with SELECT.stream() as stream:
        output = stream.write(b"".join(document(2))) + stream.end()
        assert stream.report["items_kept"] == 2
    assert output == wanted(2)
    for call in (lambda: stream.write(b"1"), stream.end, stream.release, lambda: stream.report):
        with pytest.raises(ValueError, match="the stream is closed"):
            call()
    stream.close()


def test_programs_can_be_copied_and_pickled():
    program = tamis.Program(select={"login": "owner.login"}, max_items=3)
    assert copy.deepcopy(program) is program and copy.copy(program) is program
    assert pickle.loads(pickle.dumps(program)).spec == program.spec
    text = tamis.TextProgram(dedup=True)
    assert pickle.loads(pickle.dumps(text)).spec == {"dedup": True}
    with pytest.raises(TypeError, match="a filter of a manifest cannot be pickled"):
        pickle.dumps(tamis.Manifest.catalog().program("github.list-issues"))


def test_the_output_of_a_command_while_it_runs():
    with tamis.OutputFilters().stream("cargo build") as stream:
        output = stream.write("   Compiling ryu v1.0.18\n" * 30)
        output += stream.write("error[E0425]: cannot find value `x`\n")
        output += stream.end(exit_code=101)
        assert output.startswith(b"error[E0425]")
        assert (stream.report["exit_code"], stream.report["filter"]) == (101, "cargo-build")


def test_lines_that_a_reader_should_see_now():
    stream = tamis.TextProgram(dedup=True).stream()
    output = stream.write("retrying\nretrying\nContinue? ") + stream.release()
    assert output == b"retrying (x2)\nContinue? "
    assert output + stream.write("y\n") + stream.end() == b"retrying (x2)\nContinue? y\n"
    assert SELECT.stream().release() == b""
