"""The results of tools: which kinds there are, and how each is filtered. The adapters are made of this."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ._blocks import META, kind_of
from ._tools import WITHHELD, ToolFilters, Withheld, WithheldText

SCALARS = (bool, int, float, type(None))


def filtered(filters: ToolFilters, tool: str, result: Any) -> Any:
    """Return the filtered result of a tool. Raise `Withheld` if it must not pass."""
    if filters.program(tool) is None or isinstance(result, SCALARS):
        return result
    if isinstance(result, str):
        return filters.text(tool, result)
    if isinstance(result, bytes | bytearray | memoryview):
        return _filtered_bytes(filters, tool, bytes(result))
    if is_envelope(result):
        return _filtered_envelope(filters, tool, result)
    if isinstance(result, tuple):
        result = list(result)
    plain = plain_of(result)
    if is_envelope(plain):
        # An object of the SDK of MCP. The server that sends it needs that type.
        return _of_type(result, _filtered_envelope(filters, tool, plain))
    return filters.content(tool, plain)


def withheld(result: Any, sentence: str) -> Any:
    """Return the sentence that takes the place of a result, in the form of the result."""
    if is_envelope(result) or is_envelope(plain_of(result)):
        envelope = {"content": [{"type": "text", "text": sentence}], "isError": True}
        return envelope if isinstance(result, Mapping) else _of_type(result, envelope)
    if isinstance(result, bytes | bytearray | memoryview):
        return sentence.encode()
    return sentence


def is_envelope(result: Any) -> bool:
    """Return whether a result is one of `tools/call` of MCP: it has a known kind of block, or structured content."""
    if not isinstance(result, Mapping) or not isinstance(result.get("content"), list):
        return False
    return "structuredContent" in result or any(kind_of(block) is not None for block in result["content"])


def plain_of(result: Any) -> Any:
    """Return a dataclass or a model of pydantic as a dictionary, and any other value unchanged."""
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    dump = getattr(result, "model_dump", None)
    if callable(dump) and not isinstance(result, type):
        return dump(mode="json", by_alias=True, exclude_none=False)
    return result


def _filtered_bytes(filters: ToolFilters, tool: str, result: bytes) -> bytes:
    try:
        return filters.text(tool, result.decode()).encode()
    except UnicodeDecodeError as error:
        program = filters.program(tool)
        if program is not None and program.removes_for_safety:
            raise Withheld(WITHHELD) from error
        return result


def _filtered_envelope(filters: ToolFilters, tool: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result of MCP with its texts and its structured content filtered."""
    program = filters.program(tool)
    is_error = result.get("isError") is True or result.get("is_error") is True
    parts = dict(result)
    if program is not None and program.removes_for_safety:
        names = ("content", "structuredContent", "isError", "is_error", "_meta")
        parts = {name: result[name] for name in names if name in result}
        if "_meta" in parts:
            parts["_meta"] = filters.allowed(tool, parts["_meta"], META) or None
    structured = parts.get("structuredContent")
    if structured is not None:
        parts["structuredContent"] = filters.value(tool, structured, is_error=is_error)
    content = []
    for block in result["content"]:
        try:
            content.append(filters.block(tool, block, is_error=is_error))
        except WithheldText:
            # Structured content has the values of a text next to it.
            if structured is None:
                raise
    parts["content"] = content
    return parts


def _of_type(original: Any, members: dict[str, Any]) -> Any:
    """Return the members as an object of the type of the original, if it can be made of them."""
    validate = getattr(type(original), "model_validate", None)
    if callable(validate):
        try:
            return validate(members)
        except ValueError:
            return members
    return members
