"""OpenAI Agents: a wrapper for function tools, and a guardrail for the tools of MCP servers.

    agent = Agent(name="a", tools=[filter_tool(search, tamis.Program(select=["id", "title"]))])
    server = MCPServerStdio(params, tool_output_guardrails=[output_guardrail(tamis.Manifest("tamis.yaml"))])
"""

import dataclasses
import json
from typing import Any

from agents import FunctionTool, ToolOutputFileContent, ToolOutputImage
from agents.tool_guardrails import ToolGuardrailFunctionOutput, ToolOutputGuardrail, ToolOutputGuardrailData

from ._blocks import SEARCHED, kind_of
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


def output_guardrail(rules: ToolRules | ToolFilters) -> ToolOutputGuardrail[Any]:
    """Return a guardrail that filters what tools return, for `tool_output_guardrails` of an MCP server.

    The name of a tool is the one that the model calls. A tool without a filter is passed through. A guardrail can only replace an
    output by a text: the texts of several blocks are joined. If there are images, a filter that only saves passes the original,
    and one that removes for safety leaves them out. The first guardrail that replaces an output is the last that the SDK runs.

    The SDK's traces have the output from before guardrails, unless `trace_include_sensitive_data` is false.
    """
    filters = ToolFilters(rules)

    def filter_output(data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        try:
            message = _replacement(filters, data.context.tool_name, data.output)
        except Withheld as withheld:
            message = str(withheld)
        allow, reject = ToolGuardrailFunctionOutput.allow, ToolGuardrailFunctionOutput.reject_content
        return allow() if message is None else reject(message)

    return ToolOutputGuardrail(guardrail_function=filter_output, name="tamis")


def _replacement(filters: ToolFilters, tool: str, output: Any) -> str | None:
    """Return the text that takes the place of an output, or `None` if the output passes."""
    program = filters.program(tool)
    if program is None:
        return None
    blocks = output if isinstance(output, list) and _are_blocks(output) else [output]
    found = [_filtered_block(filters, tool, block) for block in blocks]
    if found == blocks:
        return None
    texts = [one if isinstance(one, str) else _text(one) for one in found]
    images = texts.count(None)
    if images and not program.removes_for_safety:
        return None
    note = [f"(left out: {images} without text)"] if images else []
    return "\n".join([text for text in texts if text is not None] + note)


def _filtered_block(filters: ToolFilters, tool: str, block: Any) -> Any:
    """Return a filtered block. The SDK writes the blocks of MCP that it has no form for, such as resources, as JSON in a text."""
    text = _text(block)
    try:
        inner = json.loads(text) if text is not None and text.startswith("{") else None
    except (ValueError, RecursionError):
        inner = None
    if kind_of(inner) in ("resource", "resource_link", "audio"):
        found = filters.block(tool, inner)
        return block if found == inner else json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return _filtered(filters, tool, block)


def _filtered(filters: ToolFilters, tool: str, result: Any) -> Any:
    if result is None or isinstance(result, bool | int | float) or filters.program(tool) is None:
        return result
    if _is_file(result):
        return _searched(filters, tool, result)
    if isinstance(result, str):
        return filters.text(tool, result)
    if isinstance(result, list | tuple) and _are_blocks(result):
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


def _are_blocks(result: list[Any] | tuple[Any, ...]) -> bool:
    """Return whether a list has the SDK's outputs. A text may be next to something that is not known."""
    return any(_text(one) is not None for one in result) or (bool(result) and all(_is_file(one) for one in result))


def _text(block: Any) -> str | None:
    """Return the text of the SDK's text output."""
    if isinstance(block, dict):
        found = block.get("text") if block.get("type") == "text" else None
    else:
        found = getattr(block, "text", None) if getattr(block, "type", None) == "text" else None
    return found if isinstance(found, str) else None
