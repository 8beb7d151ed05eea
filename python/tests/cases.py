"""The case files of the repository: the same data that the tests of the library run."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def of_theme(theme: str, key: str = "case") -> list[Any]:
    """Return the cases of all files of a theme, as parameters with readable ids."""
    import pytest

    found = []
    for path in sorted((ROOT / "tests/cases" / theme).glob("*.toml")):
        for case in tomllib.loads(path.read_text()).get(key, []):
            name = case.get("name") or case.get("file") or case.get("tools")
            found.append(pytest.param(case, id=f"{path.stem}: {name}"))
    assert found, f"no cases of {theme}"
    return found


def document(case: dict[str, Any]) -> bytes:
    """Return the document of a filter case."""
    if "input" in case:
        return case["input"].encode()
    if "input_file" in case:
        return (ROOT / "corpus" / case["input_file"]).read_bytes()
    if "input_hex" in case:
        return bytes.fromhex(case["input_hex"])
    repeat = case["repeat"]
    text = repeat.get("before", "") + repeat["text"] * repeat["count"] + repeat.get("after", "")
    return text.encode()
