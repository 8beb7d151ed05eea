"""Standard input and output for the misbehaving upstream."""

import os
import sys
import threading
import time

from core import gathered

LINE_ENDS = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r"}


class Lines:
    """Writes messages as lines. `via` has the details: line_end, chunk, pause_ms and cut (see upstream.py)."""

    def __init__(self, via):
        self.via = via
        self.lock = threading.Lock()

    def write(self, pieces, interim):
        with self.lock:
            cut = self.via.get("cut")
            written = 0
            for piece in gathered(pieces):
                data = piece.encode(errors="replace")
                if cut is not None and not interim and written + len(data) >= cut:
                    self.emit(data[: cut - written])
                    os._exit(4)
                self.emit(data)
                written += len(data)
            self.emit(LINE_ENDS[self.via.get("line_end", "lf")])

    def write_partial(self, text):
        with self.lock:
            self.emit(text.encode())

    def emit(self, data):
        chunk = self.via.get("chunk") or max(1, len(data))
        for start in range(0, len(data), chunk):
            sys.stdout.buffer.write(data[start:start + chunk])
            if "chunk" in self.via:
                sys.stdout.buffer.flush()
                time.sleep(self.via.get("pause_ms", 0) / 1000)
        sys.stdout.buffer.flush()


def serve(server, via):
    channel = Lines(via)
    server.close_output = lambda: os.close(1)
    run = lambda job: threading.Thread(target=job, daemon=True).start()
    for line in sys.stdin.buffer:
        if line.strip():
            server.handle(line, channel, run=run)
    # The end of the input: a good child ends. One that was asked to stay ignores it.
    if server.options.ignore_end:
        while True:
            time.sleep(3600)
