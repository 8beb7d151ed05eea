"""A LangChain tool with the wrapper; prints what a model would get before and after.

    python langchain_tool.py
"""

import json
from pathlib import Path

import tamis
from langchain_core.tools import tool
from tamis.adapters.langchain import filter_tool

ISSUES = json.loads((Path(__file__).parents[2] / "corpus/github-search-issues.json").read_text())


@tool
def search_issues(query: str) -> dict:
    """Search issues."""
    return ISSUES


FILTER = tamis.Program(
    select={"number": "number", "title": "title", "state": "state", "login": "user.login", "labels": "labels[].name"},
    max_items=3,
    budget={"tokens": 300},
)


def main() -> None:
    call = {"name": "search_issues", "args": {"query": "order"}, "id": "c1", "type": "tool_call"}
    for name, used in (("before", search_issues), ("after", filter_tool(search_issues, FILTER))):
        text = used.invoke(call).content
        print(f"{name}: {len(text):,} characters\n{text[:400]}\n")


if __name__ == "__main__":
    main()
