"""The interface: inputs, errors, streams, files, threads, memory and types."""

import doctest
import functools
import inspect
import io
import json
import operator
import pickle
import pydoc
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import soak
import tamis
from tamis import _reports, _types

ITEMS = json.dumps([{"id": n, "name": f"n{n}", "body": "x" * 200} for n in range(500)]).encode()
SELECT = tamis.Program(select=["id"])
WANTED = json.dumps([{"id": n} for n in range(500)], separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "data",
    [
        ITEMS,
        ITEMS.decode(),
        bytearray(ITEMS),
        memoryview(ITEMS),
        memoryview(b"##" + ITEMS + b"#")[2:-1],
        memoryview(bytearray(ITEMS)),
        memoryview(b"".join(bytes([byte, 0]) for byte in ITEMS))[::2],
    ],
    ids=["bytes", "str", "bytearray", "view", "part", "view of bytearray", "strided view"],
)
def test_inputs(data):
    assert SELECT.filter(data) == WANTED


@pytest.mark.parametrize("data", [None, 1, ["[]"], {}])
def test_inputs_that_are_refused(data):
    with pytest.raises(TypeError, match="expected bytes, bytearray, memoryview or str, found"):
        SELECT.filter(data)


def test_inputs_that_end_or_change():
    view = memoryview(ITEMS)
    view.release()
    with pytest.raises(ValueError, match="released memoryview"):
        SELECT.filter(view)
    with pytest.raises(UnicodeEncodeError):
        SELECT.filter("\ud800")

    # Another thread resizes the array meanwhile: no view of it is left, and every output is that of one of its states.
    data, stop, failures = bytearray(ITEMS), threading.Event(), []

    def change():
        try:
            while not stop.is_set():
                data[:] = b"[]"
                data[:] = ITEMS
        except BufferError as error:
            failures.append(error)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        outputs = {SELECT.filter(data) for _ in range(300)}
    finally:
        stop.set()
        thread.join()
    assert outputs <= {WANTED, b"[]"} and not failures


def test_text_that_is_not_ascii():
    assert SELECT.filter('[{"id": "\u00e4\U0001f600"}]').decode() == '[{"id":"\u00e4\U0001f600"}]'


def test_rules_as_arguments_and_as_a_dictionary():
    one = tamis.Program({"select": {"login": "owner.login"}, "max_items": 3}, drop_nulls=True)
    assert one.spec == {"select": {"login": "owner.login"}, "max_items": 3, "drop_nulls": True}
    assert one.filter('[{"owner": {"login": "mira"}}]') == b'[{"login":"mira"}]'
    assert tamis.Program().filter("[ 1.10 ]") == b"[1.10]"
    assert tamis.Program(exclude=["a"]).removes_for_safety
    assert not SELECT.removes_for_safety
    assert "select" in SELECT.explain()


def test_unknown_names_are_errors():
    for call in (
        lambda: tamis.Program(slect=["id"]),
        lambda: SELECT.filter("[]", bugdet={"bytes": 3}),
        lambda: SELECT.stream(dept=3),
        lambda: tamis.prune([], keep_turn=1),
        lambda: tamis.filter_output("ls", "", max_line=1),
    ):
        with pytest.raises(tamis.Error, match="unknown field") as caught:
            call()
        assert caught.value.kind == "spec"


def test_errors_have_kind_offset_and_path():
    with pytest.raises(tamis.Error, match="byte 19 at /1/id: expected a value") as caught:
        SELECT.filter('[{"id": 1}, {"id": oops}]')
    error = caught.value
    # A process of a pool returns it pickled.
    for error in (error, pickle.loads(pickle.dumps(error))):
        assert (error.kind, error.fault, error.offset, error.path) == ("syntax", "input", 19, "/1/id")
    assert error.report["error"]["kind"] == "syntax"
    with pytest.raises(tamis.Error) as caught:
        SELECT.filter("[[[]]]", depth=2)
    assert (caught.value.kind, caught.value.limit) == ("limit", "depth")


def test_options_of_a_call():
    assert SELECT.filter('{"id": 1, "x": 2}', raw=True) == b'{"id":1,"x":2}'
    output, report = SELECT.filter_with_report(ITEMS, budget={"bytes": 100})
    assert len(output) <= 100 and report["budget_applied"]


def test_lines():
    events = 'id: 7\ndata: {"id": 1, "x": 2}\n\ndata: [DONE]\n\n'
    assert SELECT.filter_events(events) == b'id: 7\ndata: {"id":1}\n\ndata: [DONE]\n\n'
    with pytest.raises(tamis.Error) as failure:
        SELECT.filter_events('data: {"id": 1}\n\ndata: oops\n\n')
    assert failure.value.output == b'data: {"id":1}\n\n'
    assert SELECT.filter_lines('{"id": 1, "x": 2}\n{"id": 2}\n') == b'{"id":1}\n{"id":2}\n'
    with pytest.raises(tamis.Error) as caught:
        SELECT.filter_lines('{"id": 1}\noops\n{"id": 2}')
    assert caught.value.output == b'{"id":1}\n{"id":2}\n'


def test_a_stream_returns_output_before_the_end():
    stream = tamis.Program(select=["id"], root="items").stream()
    first = stream.write('{"items": [{"id": 1}, {"id"')
    assert first.startswith(b'{"items":[{"id":1}')
    assert first + stream.write(b": 2}]}") + stream.end() == b'{"items":[{"id":1},{"id":2}]}'
    assert stream.report["items_kept"] == 2
    with pytest.raises(tamis.Error) as caught:
        stream.end()
    assert caught.value.kind == "failed"


def test_a_stream_that_is_done():
    stream = tamis.Program(max_items=1, stop_early=True).stream()
    stream.write("[1, 2")
    assert stream.done


class Broken:
    def __init__(self, exception):
        self.exception = exception

    def read(self, size):
        raise self.exception

    write = read


def test_files(tmp_path):
    path = tmp_path / "items.json"
    path.write_bytes(ITEMS)
    for reader in (path, str(path), io.BytesIO(ITEMS), io.StringIO(ITEMS.decode())):
        writer = io.BytesIO()
        assert SELECT.filter_file(reader, writer)["items_kept"] == 500
        assert writer.getvalue() == WANTED
    with path.open("rb", buffering=0) as reader, (tmp_path / "out").open("wb", buffering=0) as raw:
        SELECT.filter_file(reader, raw)
    assert (tmp_path / "out").read_bytes() == WANTED


@pytest.mark.parametrize(
    "reader, writer, kind",
    [
        ("/no/such/file", io.BytesIO(), "read"),
        (Broken(OSError("gone")), io.BytesIO(), "read"),
        (io.BytesIO(ITEMS), Broken(OSError("full")), "write"),
    ],
)
def test_files_that_fail(reader, writer, kind):
    with pytest.raises(tamis.Error) as caught:
        SELECT.filter_file(reader, writer)
    assert caught.value.kind == kind
    if isinstance(reader, Broken):
        assert isinstance(caught.value.__cause__, OSError)


def test_an_interrupt_is_not_hidden():
    with pytest.raises(KeyboardInterrupt):
        SELECT.filter_file(Broken(KeyboardInterrupt()), io.BytesIO())


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs the signals of Unix")
def test_a_signal_interrupts_a_file():
    class Interrupted(Exception):
        pass

    def handler(number, frame):
        raise Interrupted

    # Readers and writers that are written in C run no handlers.
    before = signal.signal(signal.SIGALRM, handler)
    try:
        # An endless input: `read(size)` returns that many spaces.
        spaces = SimpleNamespace(read=functools.partial(operator.mul, b" "))
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(tamis.Error, match="Interrupted") as caught:
            SELECT.filter_file(spaces, io.BytesIO())
        assert isinstance(caught.value.__cause__, Interrupted)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_reader_that_returns_everything_at_once():
    class Whole:
        def __init__(self, size):
            self.parts = [b"[" + b"1," * (size // 2) + b"1]", b""]

        def read(self, size):
            return self.parts.pop(0)

    def seconds(size):
        start = time.process_time()
        tamis.Program(max_items=1).filter_file(Whole(size), io.BytesIO())
        return time.process_time() - start

    # Sixteen times the bytes need about sixteen times the time.
    small = min(seconds(2_000_000) for _ in range(3))
    assert seconds(32_000_000) < 60 * small


@pytest.mark.parametrize("returned", [None, True, "all"])
def test_a_writer_that_returns_no_number(returned):
    class Writer(io.BytesIO):
        def write(self, data):
            super().write(data)
            return returned

    writer = Writer()
    SELECT.filter_file(io.BytesIO(ITEMS), writer)
    assert writer.getvalue() == WANTED


def test_a_large_file_in_little_memory():
    class Items:
        def __init__(self):
            self.left = 400

        def read(self, size):
            self.left -= 1
            if self.left == 399:
                return b"["
            return b'{"id": 1, "x": "' + b"y" * 60_000 + b'"},' if self.left > 1 else b'{"id":2}]' * (self.left == 1)

    writer = io.BytesIO()
    report = SELECT.filter_file(Items(), writer)
    assert report["filter_original_bytes"] > 20_000_000
    assert report["held_peak_bytes"] < 100_000
    assert writer.getvalue().endswith(b'{"id":1},{"id":2}]')


def test_manifests(tmp_path):
    text = "version: 1\nfilters:\n  crm.list: {select: [id]}\n  crm.*: {exclude: [ssn]}\n"
    path = tmp_path / "tamis.yaml"
    path.write_text(text)
    for manifest in (tamis.Manifest(text), tamis.Manifest(path), tamis.Manifest(str(path))):
        assert manifest.names == ["crm.list", "crm.*"]
        assert manifest.program("mcp__crm__list").filter('[{"id":1,"x":2}]') == b'[{"id":1}]'
        assert "crm.get" in manifest and "other" not in manifest
        assert manifest.find("other") is None
        assert manifest.program("crm.get").removes_for_safety
    assert not tamis.Manifest.catalog().program("github.list-issues").removes_for_safety
    with pytest.raises(tamis.Error) as caught:
        tamis.Manifest("version: 1\nfilters:\n  a: {slect: [id]}\n")
    (problem,) = caught.value.problems
    assert (caught.value.kind, problem["line"], problem["column"]) == ("manifest", 3, 7)


def test_prune():
    messages = [
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "read"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "many lines"},
        {"role": "user", "content": "go on"},
    ]
    pruned = tamis.prune(messages, keep_turns=1, placeholder="[{tool} was left out]")
    assert pruned[1]["content"] == "[read was left out]"
    assert messages[1]["content"] == "many lines"
    assert pruned[::2] == messages[::2]
    assert tamis.prune({"messages": messages}, keep_turns=1)["messages"][1] != messages[1]
    text = json.dumps(messages)
    assert json.loads(tamis.prune(text, keep_turns=1)) == json.loads(
        tamis.prune(text.encode(), keep_turns=1)
    )


def test_restore():
    items = [{"id": number, "state": "open", "url": f"/issues/{number}"} for number in range(9)]
    text = json.dumps(items)
    factored, report = tamis.Program(factor=True).filter_with_report(text)
    assert len(factored) < len(text) / 2
    assert report["factored"]["all"] == 1 and report["factored"]["made"] == 1
    assert json.loads(tamis.restore(factored)) == items
    assert json.loads(tamis.restore(factored.decode())) == items
    assert tamis.restore(memoryview(factored)) == tamis.restore(factored)
    assert tamis.restore('{"a": 1}') == '{"a": 1}'
    with pytest.raises(tamis.Error) as raised:
        tamis.restore(b'{"_factored":1,"a":{"$ref":"#/b"}}')
    assert raised.value.kind == "restore" and raised.value.path == "/a"


def test_filter_output():
    raw = "   Compiling ryu v1.0.18\n" * 30 + "error[E0425]: cannot find value `x`\n"
    text = tamis.filter_output("cargo build", raw, 101)
    assert text.startswith("error[E0425]") and len(text) < 150
    assert tamis.filter_output("cargo build", raw.encode(), 101) == text.encode()
    assert tamis.filter_output("unknown-program", "a\nb\n", 0) == "a\nb\n"
    assert "left out" in tamis.filter_output("seq 100", "1\n" * 100, 0, max_lines=5)


def test_threads_share_a_program():
    failures = []

    def work(number):
        data = json.dumps([{"id": number, "x": n} for n in range(200)])
        wanted = json.dumps([{"id": number}] * 200, separators=(",", ":")).encode()
        for _ in range(100):
            if SELECT.filter(data) != wanted:
                failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_the_gil_is_released():
    data = b"[" + b",".join([ITEMS[1:-1]] * 200) + b"]"
    counted, running = 0, True

    def count():
        nonlocal counted
        while running:
            counted += 1
            time.sleep(0)

    # With a long switch interval, the other thread runs only if this one gives the GIL away.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted
        for _ in range(5):
            SELECT.filter(data)
        assert counted > before
    finally:
        running = False
        sys.setswitchinterval(interval)
        thread.join()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux")
def test_threads_run_at_once():
    data = b"[" + b",".join([ITEMS[1:-1]] * 400) + b"]"

    def work(ids, stop):
        ids.append(threading.get_native_id())
        while not stop.is_set():
            SELECT.filter(data)

    def runs(thread):
        # The third field of the line is the state; a thread that waits for the GIL sleeps (S).
        return Path(f"/proc/self/task/{thread}/stat").read_text().rpartition(")")[2].split()[0] == "R"

    ids, stop = [], threading.Event()
    threads = [threading.Thread(target=work, args=(ids, stop)) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        # This thread holds the GIL while it looks, so threads that run meanwhile do not need it.
        end = time.monotonic() + 60
        while len(ids) < 3 or not all([runs(thread) for thread in ids]):
            assert time.monotonic() < end, "three threads never ran at once"
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_memory_does_not_grow():
    # `python soak.py` does the same for an hour.
    assert soak.soak(3, 0, print) < soak.ALLOWED_KIB


@pytest.mark.parametrize("name", tamis.__all__)
def test_help(name):
    item = getattr(tamis, name)
    assert (inspect.getdoc(item) or "").strip(), name
    if not inspect.isclass(item) or not item.__module__.startswith("tamis"):
        return
    for member in vars(item):
        value = getattr(item, member)
        if member.startswith("_") or name in vars(_reports) or name in vars(_types):
            continue
        if name == "Error":
            # The class has the defaults of attributes, which the stub describes.
            continue
        assert inspect.getdoc(value), f"{name}.{member}"
        if callable(value) and not isinstance(value, type):
            assert getattr(value, "__text_signature__", None), f"{name}.{member}"


def test_help_of_the_package():
    page = pydoc.plain(pydoc.render_doc(tamis))
    for text in ("filter(self, /, data, **options)", "end(self, /, exit_code=None)", "merge(*manifests)"):
        assert text in page, page
    examples = doctest.testmod(tamis, extraglobs={"tamis": tamis})
    assert (examples.failed, examples.attempted) == (0, 9)


def test_the_types_name_every_rule():
    for names, call in (
        (_types.Rules, lambda: tamis.Program(unknown=1)),
        (_types.CallOptions, lambda: SELECT.filter("[]", unknown=1)),
        (_types.PruneRules, lambda: tamis.prune([], unknown=1)),
        (_types.OutputOptions, lambda: tamis.filter_output("ls", "", unknown=1)),
        (_types.TextRules, lambda: tamis.TextProgram(unknown=1)),
        (_types.TextOptions, lambda: tamis.TextProgram().filter("", unknown=1)),
    ):
        with pytest.raises(tamis.Error) as caught:
            call()
        expected = set(re.findall("`([a-z0-9_]+)`", str(caught.value))[1:])
        # `test` is a member of branches only.
        assert set(names.__annotations__) == expected - {"test"}


def test_errors_that_a_program_makes():
    error = tamis.Error("x")
    assert (str(error), error.kind, error.fault) == ("x", "failed", "caller")
    assert (error.offset, error.path, error.limit, error.message) == (None, "", None, "")
    assert (error.output, error.report, error.problems) == (b"", None, [])


def mypy(*arguments, **options):
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_types_check(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import tamis\n"
        "from collections.abc import AsyncIterator, Iterator\n"
        "program = tamis.Program(select=['id'], max_items=3, redact={'paths': ['ssn'], 'secrets': True})\n"
        "output: bytes = program.filter(b'[]', budget={'bytes': 3})\n"
        "text: str = tamis.filter_output('ls', '')\n"
        "listing: bytes = tamis.filter_output('ls', bytearray(b''))\n"
        "kept: int = program.filter_with_report('[]')[1]['items_kept']\n"
        "with program.stream() as stream:\n"
        "    chunks: Iterator[bytes] = stream.pipe(['[', b']'])\n"
        "async def chunks_of(body: AsyncIterator[bytes]) -> None:\n"
        "    async for chunk in program.stream().pipe(body):\n"
        "        line: bytes = chunk\n"
        "merged: tamis.Manifest = tamis.Manifest.merge(tamis.Manifest('a'), tamis.Manifest.catalog())\n"
        "folded: int = tamis.TextProgram(dedup=True).filter_with_report('')[1]['lines_folded']\n"
        "try:\n"
        "    program.filter('[')\n"
        "except tamis.Error as error:\n"
        "    place: int | None = error.offset\n"
        "program.filter(3)\n"
        "tamis.Program(slect=['id'])\n"
        "program.filter_with_report('[]')[1]['itms_kept']\n"
    )
    ran = mypy("mypy", "--strict", "--no-error-summary", str(program), cwd=tmp_path)
    lines = [line.split(":")[1] for line in ran.stdout.splitlines() if ": error:" in line]
    assert lines == ["19", "20", "21"], ran.stdout


def test_the_stubs_are_those_of_the_module(tmp_path):
    ran = mypy("mypy.stubtest", "tamis._tamis", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout


def test_the_types_of_the_package_check(tmp_path):
    ran = mypy("mypy", "--strict", "--no-error-summary", "-p", "tamis", cwd=tmp_path)
    # LiteLLM and ContextForge are in other environments.
    others = ("litellm.py:", "contextforge.py:")
    errors = [line for line in ran.stdout.splitlines() if ": error:" in line and not any(one in line for one in others)]
    assert not ran.stderr and not errors, ran.stdout
