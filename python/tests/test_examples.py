"""The examples print what a model would get before and after."""

import subprocess
import sys

import cases
import pytest


@pytest.mark.parametrize("name", ["fastmcp_server", "langchain_tool"])
def test_example(name):
    folder = cases.ROOT / "python/examples"
    ran = subprocess.run([sys.executable, str(folder / f"{name}.py")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == (folder / f"{name}.txt").read_text()


def test_the_guide_shows_the_output():
    printed = (cases.ROOT / "python/examples/fastmcp_server.txt").read_text().splitlines()
    shown = "\n".join(line if len(line) <= 160 else line[:160] + "\u2026" for line in printed if line)
    assert f"```text\n{shown}\n```" in (cases.ROOT / "docs/src/python-and-node.md").read_text()
