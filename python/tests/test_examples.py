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
