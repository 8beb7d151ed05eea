"""Runs the Python code of the README and of the guide, and compares the outputs that they show."""

import ast
import re

import cases
import pytest


def blocks(path, language):
    text = (cases.ROOT / path).read_text()
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [pytest.param(block, id=f"{path}: {number}") for number, block in enumerate(found)]


PAGES = [*blocks("python/README.md", "python"), *blocks("docs/src/python-and-node.md", "python")]


def test_there_are_examples():
    assert len(PAGES) >= 5


@pytest.mark.parametrize("block", PAGES)
def test_example(block, tmp_path, monkeypatch):
    """Run a block. The value of a line before a comment `# …` is what the comment says."""
    monkeypatch.chdir(tmp_path)
    for name, language in (("tamis.yaml", "yaml"), ("items.json", "json")):
        (shown,) = blocks("docs/src/python-and-node.md", language)
        (tmp_path / name).write_text(shown.values[0])
    lines, names = block.splitlines(), {"__name__": "example"}
    for statement in ast.parse(block).body:
        after = lines[statement.end_lineno] if statement.end_lineno < len(lines) else ""
        source = ast.unparse(statement)
        if isinstance(statement, ast.Expr) and after.startswith("# "):
            assert repr(eval(source, names)) == after[2:], source
        else:
            exec(source, names)


def test_the_licences_are_those_of_the_repository():
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert (cases.ROOT / "python/licenses" / name).read_bytes() == (cases.ROOT / name).read_bytes()
