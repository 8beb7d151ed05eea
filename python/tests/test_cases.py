"""The cases of `tests/cases`: the outputs, errors and reports are those of the library and the command.

Every theme runs whose part the package has. The others need parts that only the command has (`audit`, the templates of
`corpus/`). Keys of a manifest for gateways (`settings`, `delivery`, `reserved`) are not part of the package either.
"""

import json
import tomllib

import cases
import pytest
import tamis
from tamis import _reports


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
        result = output, None, report
    except tamis.Error as error:
        result = b"", error, error.report
    if not options:
        # Small documents take turns with one run, also after a document that fails.
        for other in (document, b"[oops]", document, document[: len(document) // 2], document):
            found = plain_result(program, other)
            assert other != document or found == (result[0], result[1] and str(result[1]))
    return result


def plain_result(program, document):
    """Return the output of a call without options, or the message of the error."""
    try:
        return program.filter(document), None
    except tamis.Error as error:
        return b"", str(error)


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
    judge_keys(_reports.Report, report)
    for key, value in case.get("report", {}).items():
        assert report[key] == value, key
    for key in case.get("needs", []):
        assert key in report
    for key in case.get("absent", []):
        assert key not in report


def judge_keys(type_, report):
    """Check that the type of a report names all of its keys."""
    assert set(report) <= set(type_.__annotations__)
    for inner in report.get("inner", []):
        judge_keys(_reports.InnerReport, inner)
    assert set(report.get("error", {})) <= set(_reports.FailureReport.__annotations__)
    for tool in report.get("tools", {}).values():
        assert set(tool) == set(_reports.PrunedTool.__annotations__)


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
    plan = "\n".join(program.stream().report["plan"])
    assert all(text in plan for text in case.get("plan", []))
    assert not any(text in plan for text in case.get("plan_without", []))
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
    judge_keys(_reports.PruneReport, report)
    for key, value in case.get("report", {}).items():
        assert report.get(key) == value


def read_manifest(case):
    all_ = [tamis.Manifest.parse(case["manifest"], case.get("file", "tools.yaml"))]
    # In the order of their names, as the library's test merges them.
    all_ += [tamis.Manifest.parse(text, file) for file, text in sorted(case.get("with", {}).items())]
    return tamis.Manifest.merge(*all_)


@pytest.mark.parametrize("case", cases.of_theme("manifests"))
def test_manifest(case):
    if "error" in case:
        with pytest.raises(tamis.Error) as caught:
            read_manifest(case)
        assert (caught.value.kind, str(caught.value)) == ("manifest", case["error"].rstrip())
        return
    manifest = read_manifest(case)
    assert manifest.names == case.get("names", manifest.names)
    assert manifest.warnings == [text.rstrip() for text in case.get("warnings", [])]
    for tool in case.get("tool", []):
        if "error" in tool:
            with pytest.raises(tamis.Error) as caught:
                manifest.program(tool["name"])
            assert caught.value.kind in ("unknown_tool", "ambiguous")
            assert str(caught.value) == tool["error"].rstrip()
            continue
        program = manifest.program(tool["name"])
        assert program.summary == tool.get("summary", program.summary)
        for key in ("spec", "declares"):
            if key in tool:
                assert program.spec == tamis.Program(tool[key]).spec
        if "input" not in tool:
            continue
        options = {key: tool[key] for key in ("raw", "is_error") if key in tool}
        if "fails" in tool:
            with pytest.raises(tamis.Error) as caught:
                program.filter(tool["input"], **options)
            assert str(caught.value) == tool["fails"]
            continue
        output, report = program.filter_with_report(tool["input"], **options)
        assert output.decode() == tool["output"]
        assert report.get("filter_skipped") == tool.get("skipped")
        if "root" in tool:
            assert report["root"] == tool["root"]
            assert ("filter_error" in report) == tool.get("missed", False)


@pytest.mark.parametrize("case", cases.of_theme("content"))
def test_content(case):
    program = tamis.Program(content=case.get("content", {}))
    assert program.filter(case["input"]).decode() == case["output"]


def in_order(text, phrases):
    at = 0
    for phrase in phrases:
        at = text.index(phrase, at) + len(phrase)


@pytest.mark.parametrize("page", cases.of_theme("pages", "page"))
def test_page(page):
    document = (cases.ROOT / "corpus/pages" / page["file"]).read_bytes()
    for form, phrases in (("text", page["keeps"]), ("markdown", page.get("markdown", []))):
        output, report = tamis.Program(content={"format": form}).filter_with_report(document)
        assert report["content_from"] == page["from"]
        in_order(output.decode(), phrases)
        assert not any(phrase in output.decode() for phrase in page["drops"])


@pytest.mark.parametrize("case", cases.of_theme("explain"))
def test_explain(case):
    program, options = tamis.Program(case.get("spec", {})), case.get("options", {})
    assert program.explain(**options) == case["text"]
    contains(program.plan(**options), case.get("json", {}))


def contains(found, wanted):
    if isinstance(wanted, dict):
        for key, value in wanted.items():
            contains(found[key], value)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, value in zip(found, wanted):
            contains(one, value)
    else:
        assert found == wanted


@pytest.mark.parametrize("case", cases.of_theme("catalog", "answer"))
def test_catalog(case):
    document = (cases.ROOT / "corpus" / case["file"]).read_bytes()
    output, report = tamis.Manifest.catalog().program(case["tool"]).filter_with_report(document)
    assert report["filter_applied"]
    items = json.loads(output)
    siblings = []
    for name in case["items"].split("/")[1:]:
        siblings, items = [other for other in items if other != name], items[name]
    assert siblings == case.get("siblings", [])
    if isinstance(items, list):
        assert len(items) == case["count"]
        items = items[0]
    assert list(items) == case["first"]
    assert 100 * (1 - len(output) / len(document)) >= case["least"]
    assert all(text in output.decode() for text in case["says"])
    assert not any(text in output.decode() for text in case["never"])


@pytest.mark.parametrize("case", cases.of_theme("catalog", "error"))
def test_catalog_error(case):
    catalog = tamis.Manifest.catalog()
    tools = [name for name in catalog.names if name.startswith(case["tools"].rstrip("*"))]
    assert tools
    for tool in tools:
        output, report = catalog.program(tool).filter_with_report(case["document"])
        assert output.decode() == case["document"]
        is_other_shape = report.get("filter_skipped") == "shape"
        missed = not report["filter_applied"] and ("filter_error" in report or is_other_shape)
        assert missed or not case.get("reported", True)


@pytest.mark.parametrize("case", cases.of_theme("text"))
def test_text(case):
    if "error" in case:
        with pytest.raises(tamis.Error) as caught:
            tamis.TextProgram(case["filter"])
        assert (caught.value.kind, str(caught.value)) == ("spec", case["error"])
        return
    program = tamis.TextProgram(case.get("filter", {}))
    options = {"line": case["line"]} if "line" in case else {}
    if "string" in case:
        # The inside of a JSON string: a rule of a document filters it.
        document = f'{{"raw":"{case["string"]}"}}'
        filtered = tamis.Program(text_filter=case.get("filter", {}), root="object").filter(document, **options)
        assert filtered.decode() == f'{{"raw":"{case["spelled"]}","_text_filtered":true}}'
        return
    if "bytes" in case:
        text, wanted = bytes(case["bytes"]), bytes(case["output_bytes"])
    else:
        text = (case["input"] * case.get("times", 1)).encode()
        wanted = text if case.get("unchanged") else case["output"].encode()
    output, report = program.filter_with_report(text, **options)
    stream = program.stream(**options)
    size = 1 if len(text) < 5_000 else 1000
    chunks = (text[start : start + size] for start in range(0, len(text), size))
    assert output == wanted == b"".join(chunk for chunk in map(stream.write, chunks)) + stream.end()
    assert stream.report == report
    judge_keys(_reports.TextReport, report)
    for key, value in case.get("report", {}).items():
        assert report[key] == value, key


def placed(problems):
    return [f"{one['line']}:{one['column']}: {one['message']}" for one in problems]


@pytest.mark.parametrize("case", cases.of_theme("commands"))
def test_commands(case):
    if case.get("errors"):
        with pytest.raises(tamis.Error) as caught:
            tamis.OutputFilters(case["rules"] + "\n")
        assert (caught.value.kind, placed(caught.value.problems)) == ("manifest", case["errors"])
        return
    filters = tamis.OutputFilters(case["rules"] + "\n")
    assert placed(filters.warnings) == case.get("warnings", [])
    assert placed(filters.run_examples()) == case.get("wrong", [])
    if "command" not in case:
        return
    raw = case.get("input", "") * case.get("times", 1)
    options = {key: case[key] for key in ("max_lines", "max_tokens", "held") if key in case}
    output, report = filters.filter_with_report(
        case["command"], raw, case.get("exit_code"), notice=False, full_output="full.log", **options
    )
    assert output.decode() == case.get("output", raw)
    assert report.get("filter") == case.get("filter")
    judge_keys(_reports.OutputReport, report)


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
    judge_keys(_reports.OutputReport, report)
    stream = tamis.OutputFilters().stream(entry["command"], full_output="full.log")
    chunks = [stream.write(raw[start : start + 1000]) for start in range(0, len(raw), 1000)]
    assert b"".join(chunks) + stream.end(entry["exit_code"]) == wanted
