"""The cases of `tests/cases`: the outputs, errors and reports are those of the library and the command."""

import tomllib

import cases
import pytest
import tamis


def run_stream(program, options, document, size):
    """Push chunks of a size; return the output, and the error if there was one."""
    stream, output = program.stream(**options), b""
    try:
        for start in range(0, len(document), size):
            output += stream.write(document[start : start + size])
        output += stream.end()
    except tamis.Error as error:
        return output + error.output, error, error.report
    return output, None, stream.report


def run_filter(program, options, document):
    try:
        output, report = program.filter_with_report(document, **options)
    except tamis.Error as error:
        return b"", error, error.report
    return output, None, report


NOW = 1_700_000_000_000
"""The time in the expected histories."""


def judge(case, output, error, report):
    wanted = case.get("error")
    if wanted is None:
        assert error is None
    else:
        assert error is not None, output
        assert error.kind == wanted["kind"]
        for key in ("offset", "path"):
            assert getattr(error, key) == wanted.get(key, getattr(error, key))
        assert wanted.get("message", "") in str(error)
    for key, value in case.get("report", {}).items():
        assert report[key] == value, key
    for key in case.get("needs", []):
        assert key in report
    for key in case.get("absent", []):
        assert key not in report


def judge_output(case, output):
    if "output" in case:
        assert output.decode() == case["output"]
    if "output_hex" in case:
        assert output == bytes.fromhex(case["output_hex"])
    if "output_bytes" in case:
        assert len(output) == case["output_bytes"]
    if "prefix_of" in case:
        assert case["prefix_of"].encode().startswith(output)


@pytest.mark.parametrize("case", cases.of_theme("filter"))
def test_filter(case):
    spec, options = case.get("spec", {}), case.get("options", {})
    refused = case.get("spec_error") or case.get("compile_error")
    if refused:
        with pytest.raises(tamis.Error) as caught:
            tamis.Program(spec)
        assert caught.value.kind == "spec"
        assert refused in str(caught.value)
        return
    program, document = tamis.Program(spec), cases.document(case)
    for size in (max(len(document), 1), 1) if len(document) < 100_000 else (1 << 16,):
        output, error, report = run_stream(program, options, document, size)
        judge(case, output, error, report)
        judge_output(case, output)
    output, error, report = run_filter(program, options, document)
    # A document in memory is not held, so limits on held bytes do not apply.
    if case.get("error", {}).get("kind") != "limit":
        judge(case, output, error, report)
        if error is None:
            judge_output(case, output)


@pytest.mark.parametrize("case", cases.of_theme("history"))
def test_prune(case):
    rules, wanted = {"now": NOW} | case.get("prune", {}), case.get("output", case["input"])
    pruned, report = tamis.prune_with_report(case["input"], **rules)
    assert pruned.decode() == wanted
    for key, value in case.get("report", {}).items():
        assert report.get(key) == value


@pytest.mark.parametrize("case", cases.of_theme("manifests"))
def test_manifest(case):
    if "with" in case:
        pytest.skip("manifests are not merged")
    name = case.get("file", "tools.yaml")
    if "error" in case:
        with pytest.raises(tamis.Error) as caught:
            tamis.Manifest.parse(case["manifest"], name)
        assert str(caught.value) == case["error"].rstrip()
        return
    manifest = tamis.Manifest.parse(case["manifest"], name)
    assert manifest.names == case.get("names", manifest.names)
    assert manifest.warnings == [text.rstrip() for text in case.get("warnings", [])]
    for tool in case.get("tool", []):
        if "error" in tool:
            with pytest.raises(tamis.Error) as caught:
                manifest.program(tool["name"])
            assert caught.value.kind in ("unknown_tool", "ambiguous")
            continue
        program = manifest.program(tool["name"])
        if "input" not in tool:
            continue
        options = {key: tool[key] for key in ("raw", "is_error") if key in tool}
        if "fails" in tool:
            with pytest.raises(tamis.Error):
                program.filter(tool["input"], **options)
        else:
            assert program.filter(tool["input"], **options).decode() == tool["output"]


@pytest.mark.parametrize("case", cases.of_theme("content"))
def test_content(case):
    program = tamis.Program(content=case.get("content", {}))
    assert program.filter(case["input"]).decode() == case["output"]


def transcripts():
    path = cases.ROOT / "tests/cases/transcripts/transcripts.toml"
    entries = tomllib.loads(path.read_text())["transcript"]
    return [pytest.param(entry, id=entry["name"]) for entry in entries]


@pytest.mark.parametrize("entry", transcripts())
def test_filter_output(entry):
    name = entry["name"]
    raw = (cases.ROOT / f"corpus/commands/{name}.txt").read_bytes()
    wanted = (cases.ROOT / f"tests/cases/transcripts/expected/{name}.txt").read_bytes()
    output, report = tamis.filter_output_with_report(
        entry["command"], raw, entry["exit_code"], full_output="full.log"
    )
    assert output == wanted
    assert report.get("filter") == entry.get("filter")
