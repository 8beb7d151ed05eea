#!/usr/bin/env python3
"""An MCP server that breaks rules on request, for tests of a proxy. Needs only Python.

    upstream.py                  standard input and output
    upstream.py --http PORT      streamable HTTP at /mcp (0 chooses a port); prints `listening on URL` first

Each fault is a tool, whose arguments control it: `tools/list` describes all of them. The server prints `pid N` to standard
error when it starts, and speaks both eras of the protocol.

The argument `via` of any tool, or the option `--via` for all of them, is a JSON object that changes how a response is sent:

  both        chunk: bytes for each write; pause_ms: time between writes; cut: end the connection (HTTP) or the process
              (stdio) after that many bytes; line_end: lf, crlf or cr, of lines or of the event stream
  HTTP        framing: json or sse; status, body, headers, media_type: of the response; delay_ms: before it; gzip: true
  events      prime: an event with an id and empty data first; retry: milliseconds; ids: number the events; comment, bom,
              no_space, split_data, unknown_field, no_final_blank: true; event: its name; resume: true closes the stream after
              the priming event, so that the client has to fetch the response by GET with Last-Event-ID

Over stdio only `--via` has an effect, because all responses share one stream.
"""

import argparse
import json
import os
import signal
import subprocess
import sys

import over_http
import over_stdio
from core import Server


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--tls", metavar="FILE", help="a certificate and its key: HTTPS")
    parser.add_argument("--via", type=json.loads, default={}, metavar="JSON")
    parser.add_argument("--order", default="jsonrpc,id,result", help="order of the members of responses")
    parser.add_argument("--name", default="misbehaving", help="serverInfo.name")
    parser.add_argument("--page-size", type=int, default=0, help="tools in a page of the list")
    parser.add_argument("--empty-cursor", action="store_true", help="the cursor of the second page is empty")
    parser.add_argument("--retrieve-tool", action="store_true", help="list a tool named tamis_retrieve")
    parser.add_argument("--no-tools", action="store_true", help="do not declare the tools capability")
    parser.add_argument("--ignore-sigterm", action="store_true", help="ignore SIGTERM")
    parser.add_argument("--ignore-end", action="store_true", help="keep running after the input ended")
    parser.add_argument("--grandchild", action="store_true", help="start a process that sleeps, and print `grandchild N`")
    parser.add_argument("--pid-file", help="file for the process id")
    parser.add_argument("--noise", type=int, default=0, help="lines of log output on standard output at the start")
    parser.add_argument("--exit-at-start", type=int, metavar="STATUS", help="end at once")
    options = parser.parse_args()
    options.order = options.order.split(",")
    print(f"pid {os.getpid()}", file=sys.stderr, flush=True)
    if options.pid_file:
        with open(options.pid_file, "w") as file:
            file.write(f"{os.getpid()}\n")
    if options.exit_at_start is not None:
        sys.exit(options.exit_at_start)
    if options.ignore_sigterm:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.grandchild:
        child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        print(f"grandchild {child.pid}", file=sys.stderr, flush=True)
    for number in range(options.noise):
        print(f"[info] loading plugin {number}", flush=True)
    server = Server(options)
    try:
        if options.http is None:
            over_stdio.serve(server, options.via)
        else:
            over_http.serve(server, options.via, options.http, options.tls)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)


if __name__ == "__main__":
    main()
