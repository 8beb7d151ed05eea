"""OpenAI Agents: a wrapper for function tools.

    agent = Agent(name="a", tools=[filter_tool(search, tamis.Program(select=["id", "title"]))])
"""

import dataclasses
import json
from typing import Any

from agents import FunctionTool, ToolOutputFileContent, ToolOutputImage

from ._blocks import SEARCHED
from ._results import plain_of
from ._tools import ToolFilters, ToolRules, Withheld


def filter_tool(tool: FunctionTool, rules: ToolRules | ToolFilters) -> FunctionTool:
    """Return the tool with filtered results. Objects and lists become JSON, as the model reads them. Raise `tamis.Error` if there is
    no filter for its name."""
    filters = ToolFilters(rules)
    filters.require(tool.name)

    async def invoke(context: Any, arguments: str) -> Any:
        try:
            try:
                result = await tool.on_invoke_tool(context, arguments)
            except Exception as error:
                filters.message(tool.name, error)
                raise
            return _filtered(filters, tool.name, result)
        except Withheld as withheld:
            return str(withheld)

    return dataclasses.replace(tool, on_invoke_tool=invoke)


def _filtered(filters: ToolFilters, tool: str, result: Any) -> Any:
    if result is None or isinstance(result, bool | int | float) or filters.program(tool) is None:
        return result
    if _is_file(result):
        return _searched(filters, tool, result)
    if isinstance(result, str):
        return filters.text(tool, result)
    if isinstance(result, list | tuple) and result and all(_text(one) is not None or _is_file(one) for one in result):
        return [_filtered(filters, tool, block) for block in result]
    text = _text(result)
    if text is not None:
        text = filters.text(tool, text)
        if isinstance(result, dict):
            return {**result, "text": text}
        return result.model_copy(update={"text": text})
    result = plain_of(result)
    if isinstance(result, dict | list):
        value = filters.value(tool, result)
        if value is result:
            # The original, because a filter that only saves failed.
            return result
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # The SDK writes any other object as `str` does.
    text = str(result)
    filtered = filters.text(tool, text)
    return result if filtered == text else filtered


FILE_MEMBERS = {
    "image": {"type", "image_url", "file_id", "detail"},
    "file": {"type", "file_data", "file_url", "file_id", "filename"},
}


def _is_file(result: Any) -> bool:
    """Return whether a result is the SDK's output of an image or a file, which no rule can read."""
    if isinstance(result, dict):
        return result.keys() <= FILE_MEMBERS.get(str(result.get("type")), set())
    return isinstance(result, ToolOutputImage | ToolOutputFileContent)


def _searched(filters: ToolFilters, tool: str, file: Any) -> Any:
    """Return an image or a file without credentials in its name and addresses."""
    members = file if isinstance(file, dict) else vars(file)
    names = {name: members.get(name) for name in ("image_url", "file_url", "filename")}
    found = {name: filters.allowed(tool, text, SEARCHED) for name, text in names.items() if isinstance(text, str)}
    if all(found[name] == names[name] for name in found):
        return file
    return {**file, **found} if isinstance(file, dict) else file.model_copy(update=found)


def _text(block: Any) -> str | None:
    """Return the text of the SDK's text output."""
    if isinstance(block, dict):
        found = block.get("text") if block.get("type") == "text" else None
    else:
        found = getattr(block, "text", None) if getattr(block, "type", None) == "text" else None
    return found if isinstance(found, str) else None
