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
    (tmp_path / "tamis.yaml").write_text("version: 1\nfilters: {crm.list: {select: [id]}}\n")
    (tmp_path / "items.json").write_text('[{"id": 1, "body": "x"}, {"id": 2, "body": "y"}]')
    lines, names = block.splitlines(), {"__name__": "example"}
    for statement in ast.parse(block).body:
        after = lines[statement.end_lineno] if statement.end_lineno < len(lines) else ""
        source = ast.unparse(statement)
        if isinstance(statement, ast.Expr) and after.startswith("# "):
            assert repr(eval(source, names)) == after[2:], source
        else:
            exec(source, names)
