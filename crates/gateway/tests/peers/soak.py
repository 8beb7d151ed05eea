"""Loads and kills a proxy and checks what is left.

    soak.py --stdio 'tamis-gateway mcp --' --http 'tamis-gateway mcp --upstream {upstream} --listen 127.0.0.1:{port}' [TEST]…

The tests, all by default:

    calls      10,000 calls over standard input and output, of which a fifth is cancelled: every other call gets one response
    kills      kill -9 of the child, of the proxy, and the end of the client, at random times: nothing hangs, no child is left,
               and every complete line is a message
    sessions   1,000 sessions over HTTP with a call each: memory of the proxy
    large      a result of 200 MB over HTTP: memory of the proxy while the client reads it slowly

The upstream is misbehaving/upstream.py. Loops are bounded, all traffic is on the loopback interface. The exit code is 1 if a
test fails.
"""

import argparse
import collections
import contextlib
import http.client
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import kit

UPSTREAM = [sys.executable, str(kit.HERE / "misbehaving" / "upstream.py")]
INITIALIZE = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(number, tool, **arguments):
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def is_running(pid):
    """Whether a process exists and is not a zombie."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def memory(pid):
    """The resident memory of a process in MiB."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0.0


class Session:
    """A stdio session with the upstream behind a proxy. Responses are collected by a thread."""

    def __init__(self, proxy, *options):
        self.process = subprocess.Popen(
            [*kit.fill(proxy), *UPSTREAM, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        self.responses = collections.Counter()
        self.broken = []
        self.arrived = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.send(INITIALIZE)
        self.send(INITIALIZED)

    def send(self, message):
        with contextlib.suppress(BrokenPipeError, ValueError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def read(self):
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                # The last line may be cut off when a process was killed, but then it must not end in a line break.
                if line.endswith(b"\n"):
                    self.broken.append(line[:200])
                continue
            if not line.endswith(b"\n"):
                self.broken.append(b"an incomplete line that parses: " + line[:200])
            with self.arrived:
                self.responses[message.get("id")] += 1
                self.arrived.notify_all()

    def wait_for(self, condition, seconds):
        with self.arrived:
            return self.arrived.wait_for(condition, seconds)

    def end(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        kit.stop(self.process)


def calls(options):
    """Many calls, with a window of open ones, and random cancellation."""
    session = Session(options.stdio)
    cancelled = set()
    started = time.monotonic()
    for number in range(1, options.count + 1):
        session.send(request(number, "late", ms=random.randrange(20), bytes=2000) if number % 4 == 0 else request(number, "echo", text="x"))
        if random.random() < 0.2:
            cancelled.add(number)
            session.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        if not session.wait_for(lambda: number - len(session.responses) - len(cancelled) < 50, 30):
            break
    wanted = set(range(1, options.count + 1)) - cancelled
    session.wait_for(lambda: wanted <= set(session.responses), 30)
    missing = len(wanted - set(session.responses))
    double = sum(count > 1 for count in session.responses.values())
    seconds = time.monotonic() - started
    session.end()
    print(f"  {options.count} calls, {len(cancelled)} cancelled, {seconds:.1f} s: {missing} without response, {double} with two, {len(session.broken)} broken lines")
    return not missing and not double and not session.broken


def kills(options):
    """Ends one of the three programs at a random time and checks the other two."""
    problems = []
    for round_number in range(options.rounds):
        victim = ("child", "proxy", "client")[round_number % 3]
        with tempfile.TemporaryDirectory() as folder:
            pid_file = pathlib.Path(folder) / "pid"
            session = Session(options.stdio, "--pid-file", str(pid_file))
            session.wait_for(lambda: 0 in session.responses, 10)
            child = int(pid_file.read_text())
            for number in range(1, 20):
                session.send(request(number, "result", bytes=300_000))
            session.send(request(99, "hold"))
            time.sleep(random.random() * 0.4)
            if victim == "client":
                with contextlib.suppress(OSError):
                    session.process.stdin.close()
            else:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child if victim == "child" else session.process.pid, signal.SIGKILL)
            try:
                session.process.wait(10)
            except subprocess.TimeoutExpired:
                problems.append(f"{victim}: the proxy did not end")
            deadline = time.monotonic() + 5
            while is_running(child) and time.monotonic() < deadline:
                time.sleep(0.05)
            if is_running(child):
                problems.append(f"{victim}: the child is still running")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            session.reader.join(5)
            if victim == "child" and not session.responses[99]:
                problems.append("child: the open call got no response")
            problems += [f"{victim}: {line!r}" for line in session.broken]
            session.end()
    for problem, count in collections.Counter(problems).items():
        print(f"  {count} times: {problem}")
    print(f"  {options.rounds} rounds, {len(problems)} problems")
    return not problems


@contextlib.contextmanager
def http_proxy(options, *upstream_options):
    """An upstream over HTTP and a proxy in front of it: the proxy's process and port."""
    port, front = kit.free_port(), kit.free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    with kit.running([*UPSTREAM, "--http", str(port), *upstream_options], port):
        with kit.running(kit.fill(options.http, upstream=url, port=front), front) as process:
            yield process, front


def post(connection, message, session=None):
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if session:
        headers["Mcp-Session-Id"] = session
    connection.request("POST", "/mcp", json.dumps(message), headers)
    return connection.getresponse()


def sessions(options):
    """Sessions that all stay open."""
    with http_proxy(options) as (process, port):
        before, failures, names = memory(process.pid), 0, []
        for number in range(options.sessions):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            response = post(connection, INITIALIZE)
            response.read()
            names.append(response.getheader("Mcp-Session-Id"))
            result = post(connection, request(number + 1, "result", bytes=3000), names[-1]).read()
            failures += b"result" not in result
            connection.close()
        after = memory(process.pid)
    distinct = len(set(names))
    print(f"  {distinct} sessions, {failures} failures, memory {before:.1f} -> {after:.1f} MiB")
    return not failures and distinct == options.sessions


def large(options):
    """A large result that the client reads slowly at first."""
    with http_proxy(options) as (process, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        started, before, peak, total = time.monotonic(), memory(process.pid), 0.0, 0
        response = post(connection, request(1, "result", shape=options.shape, bytes=options.bytes))
        while data := response.read(1 << 16):
            total += len(data)
            if total < 20 << 16:
                time.sleep(0.02)
            peak = max(peak, memory(process.pid))
        connection.close()
    seconds = time.monotonic() - started
    print(f"  {options.bytes / 1e6:.0f} MB at the upstream, {total / 1e6:.1f} MB at the client, {seconds:.1f} s, memory {before:.1f} -> {peak:.1f} MiB at most")
    return total > 0 and peak - before < 64


TESTS = {"calls": (calls, "stdio"), "kills": (kills, "stdio"), "sessions": (sessions, "http"), "large": (large, "http")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stdio", metavar="COMMAND")
    parser.add_argument("--http", metavar="COMMAND")
    parser.add_argument("--count", type=int, default=10_000, help="calls")
    parser.add_argument("--rounds", type=int, default=30, help="kills")
    parser.add_argument("--sessions", type=int, default=1_000, help="sessions")
    parser.add_argument("--bytes", type=int, default=200_000_000, help="size of the large result")
    parser.add_argument("--shape", default="structured", help="shape of the large result")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("tests", nargs="*", metavar="TEST")
    options = parser.parse_args()
    random.seed(options.seed)
    failed = 0
    for name in options.tests or TESTS:
        function, form = TESTS[name]
        if getattr(options, form) is None:
            print(f"{name}: needs --{form}")
            continue
        print(f"{name}:", flush=True)
        failed += not function(options)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
