"""A proxy that changes nothing. It shows that the scripts of this folder work, and which differences the machine causes.

    python forward.py --listen 127.0.0.1:PORT --upstream http://127.0.0.1:PORT2/mcp     copies the bytes of connections
    python forward.py -- COMMAND ARG…                                                   becomes the command (stdio)

`--corrupt TEXT` is a deliberate fault in the first form: occurrences of the text in responses are overwritten. With it the
scripts have to report differences.
"""

import argparse
import asyncio
import contextlib
import os
import urllib.parse


async def copy(reader, writer, replaced=b""):
    with contextlib.suppress(ConnectionError, OSError):
        while data := await reader.read(65536):
            if replaced:
                data = data.replace(replaced, b"x" * len(replaced))
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(ConnectionError, OSError):
        writer.close()


async def serve(host, port, upstream, replaced):
    async def accept(reader, writer):
        try:
            up_reader, up_writer = await asyncio.open_connection(upstream.hostname, upstream.port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(copy(reader, up_writer), copy(up_reader, writer, replaced))

    server = await asyncio.start_server(accept, host, port)
    async with server:
        await server.serve_forever()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", default="127.0.0.1:0")
    parser.add_argument("--upstream")
    parser.add_argument("--corrupt", default="")
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    if options.command:
        os.execvp(options.command[0], options.command)
    host, port = options.listen.rsplit(":", 1)
    asyncio.run(serve(host, int(port), urllib.parse.urlsplit(options.upstream), options.corrupt.encode()))


if __name__ == "__main__":
    main()
