"""Helpers that the scripts of this folder share: where the peers are, and how servers and proxies are started and stopped."""

import contextlib
import os
import pathlib
import shlex
import signal
import socket
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("TAMIS_PEERS") or HERE.parents[3] / "target" / "peers")
NODE = CACHE / "bin" / "node"
PACKAGES = CACHE / "node" / "node_modules" / "@modelcontextprotocol"
CONFORMANCE = PACKAGES / "conformance" / "dist" / "index.js"
FIXTURE = [str(CACHE / "py2" / "bin" / "python"), str(HERE / "fixture" / "server.py")]

# How long a server may take until it accepts connections.
START_SECONDS = 20


def free_port():
    """A port of the loopback interface that is not in use at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fill(command, **values):
    """The words of a command line with `{port}`, `{upstream}` and the like replaced."""
    words = shlex.split(command) if isinstance(command, str) else list(command)
    for name, value in values.items():
        words = [word.replace("{" + name + "}", str(value)) for word in words]
    return words


def stop(process):
    """Ends a process and everything in its group: SIGTERM first, SIGKILL after three seconds."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            continue
        break
    # Children that outlived the process itself.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def running(words, port, log=None, env=None):
    """Runs a server until the block ends. Returns after the server accepts connections on the port."""
    with open(log or os.devnull, "ab") as output:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, env=env
        )
        try:
            deadline = time.monotonic() + START_SECONDS
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                    break
                if process.poll() is not None:
                    raise SystemExit(f"{words[0]} ended with status {process.returncode} before it listened (log: {log})")
                if time.monotonic() > deadline:
                    raise SystemExit(f"{words[0]} did not listen on port {port} (log: {log})")
                time.sleep(0.05)
            yield process
        finally:
            stop(process)
