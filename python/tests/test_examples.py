"""The examples run, and print what a model would get before and after."""

import re
import subprocess
import sys

import cases
import pytest


@pytest.mark.parametrize("name, package", [("fastmcp_server", "fastmcp"), ("langchain_tool", "langchain_core")])
def test_example(name, package):
    pytest.importorskip(package)
    path = cases.ROOT / f"python/examples/{name}.py"
    ran = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    before, after = (int(size.replace(",", "")) for size in re.findall(r"([\d,]+) bytes", ran.stdout))
    assert before > 20_000 and after < 1_000
    assert '"labels":["bug"' in ran.stdout and "omitted" not in ran.stderr
