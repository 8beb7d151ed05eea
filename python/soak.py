"""Calls the package for a long time and watches the memory of the process, which must not grow.

Usage: python soak.py [SECONDS] [PAUSE]. Build with `maturin develop` first. The default is an hour, with a pause of 0.2 seconds after each round, so that the run
leaves the processor to others. Prints the resident memory about sixty times. Exits with 1 if the memory at the end exceeds
the memory after the first tenth of the time by more than 3 MiB.
"""

import asyncio
import gc
import io
import json
import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import tamis

ITEMS = json.dumps([{"id": n, "name": f"n{n}", "body": "x" * 200} for n in range(500)]).encode()
LINES = b'{"id": 1, "body": "x"}\n' * 300
MANIFEST = "version: 1\nfilters:\n  crm.list: {select: [id]}\n  crm.*: {exclude: [ssn], redact: secrets}\n"
CHAT = [
    {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "read"}}]},
    {"role": "tool", "tool_call_id": "c", "content": "many lines\n" * 200},
    {"role": "user", "content": "go on"},
]
OUTPUT = "   Compiling ryu v1.0.18\n" * 300 + "error[E0425]: cannot find value `x`\n"
ALLOWED_KIB = 3 << 10


def resident_kib() -> int:
    """Return the resident memory of this process. Needs Linux."""
    gc.collect()
    found = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1])


def fails(call: Callable[[], object], kind: str) -> None:
    """Check that a call raises."""
    try:
        call()
    except tamis.Error as error:
        assert error.kind == kind, error
    else:
        raise AssertionError(f"no error of the kind {kind}")


def one_round(number: int) -> int:
    """Call every part of the package; return the number of calls."""
    program = tamis.Program(select=["id"], max_items=number % 500)
    for data in (ITEMS, ITEMS.decode(), bytearray(ITEMS), memoryview(ITEMS)[:]):
        assert program.filter(data).startswith(b"[")
    output, report = program.filter_with_report(ITEMS, budget={"bytes": 400})
    assert len(output) <= 400 and report["filter_applied"]
    fails(lambda: program.filter(b'[{"id": }]'), "syntax")
    fails(lambda: tamis.Program(slect=["id"]), "spec")
    fails(lambda: tamis.Manifest("version: 1\nfilters: {a: {slect: [id]}}\n"), "manifest")
    fails(lambda: program.filter_lines(LINES + b"oops\n"), "syntax")
    assert program.filter_lines(LINES).count(b"\n") == 300
    whole, abandoned = program.stream(), program.stream()
    for start in range(0, len(ITEMS), 4096):
        whole.write(ITEMS[start : start + 4096])
    whole.end()
    abandoned.write(ITEMS[:1000])
    program.filter_file(io.BytesIO(ITEMS), io.BytesIO())
    manifest = tamis.Manifest(MANIFEST)
    assert b"ssn" not in manifest.program("mcp__crm__get").filter('[{"ssn": 1, "id": 2}]')
    assert manifest.find("other") is None
    tamis.prune(CHAT, keep_turns=1)
    tamis.filter_output("cargo build", OUTPUT, 101)
    threads = [threading.Thread(target=program.filter, args=(ITEMS,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(asyncio.to_thread(program.filter, ITEMS))
    return 22


def soak(seconds: float, pause: float, show: Callable[[str], None]) -> int:
    """Call rounds for a time; return by how many KiB the memory grew after the first tenth of it."""
    calls = rounds = 0
    start = time.monotonic()
    shown, warm = 0.0, 0
    # The allocator reaches its size in the first rounds, however short the run is.
    for number in range(40):
        calls += one_round(number)
    while True:
        calls += one_round(rounds)
        rounds += 1
        elapsed = time.monotonic() - start
        if elapsed >= shown or elapsed >= seconds:
            memory = resident_kib()
            show(f"{elapsed:8.0f} s  {calls:9,} calls  {memory:8,} KiB")
            shown = elapsed + seconds / 60
            if elapsed <= seconds / 10 or warm == 0:
                warm = max(warm, memory)
        if elapsed >= seconds:
            return memory - warm
        time.sleep(pause)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3600.0
    pause = float(sys.argv[2]) if len(sys.argv) > 2 else 0.2
    grown = soak(seconds, pause, lambda line: print(line, flush=True))
    print(f"the memory changed by {grown:,} KiB after the first tenth of the time")
    sys.exit(grown > ALLOWED_KIB)


if __name__ == "__main__":
    main()
