"""FastMCP: a middleware that filters the results of tools before they are sent.

    server.add_middleware(FilterMiddleware(tamis.Manifest("tamis.yaml")))
"""

from collections.abc import Sequence
from typing import Any

from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool, ToolResult

from ._blocks import META
from ._tools import WITHHELD, ToolFilters, ToolRules, Withheld, WithheldText


def _is_wrapped(result: Any) -> bool:
    """FastMCP wraps what is not an object; rules are written for the tool's own result."""
    return ((result.meta or {}).get("fastmcp") or {}).get("wrap_result") is True


def _has_values(structured: Any, blocks: list[Any]) -> bool:
    """Return whether structured content has values of its own, and does not only repeat the text of a block."""
    if not isinstance(structured, dict):
        return isinstance(structured, list)
    values = list(structured.values())
    return len(values) != 1 or values[0] not in [_text_of(block) for block in blocks]


def _text_of(block: Any) -> str | None:
    text: str | None = getattr(getattr(block, "resource", block), "text", None)
    return text


class FilterMiddleware(Middleware):
    """Filters texts and structured content of results, and removes the output schemas that they no longer fit."""

    def __init__(self, rules: ToolRules | ToolFilters) -> None:
        self.filters = ToolFilters(rules)

    async def on_call_tool(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]
    ) -> Any:
        name = context.message.name
        try:
            result = await call_next(context)
        except Exception as error:
            try:
                self.filters.message(name, error)
            except Withheld as withheld:
                raise ToolError(str(withheld)) from None
            raise
        try:
            return self._filtered(name, result)
        except Withheld as withheld:
            raise ToolError(str(withheld)) from None

    def _filtered(self, name: str, result: Any) -> Any:
        program = self.filters.program(name)
        if program is None:
            return result
        if not isinstance(result, ToolResult) or hasattr(result, "input_required"):
            # A request for input, or the start of a task. Their values are not those of the tool.
            if program.removes_for_safety and (getattr(result, "content", None) or _structured_of(result) is not None):
                raise Withheld(WITHHELD)
            return result
        is_error = result.is_error
        structured = self._structured(name, result)
        has_values = not is_error and not _is_wrapped(result) and _has_values(_structured_of(result), result.content)
        content = []
        for block in result.content:
            try:
                content.append(self._block(name, block, is_error))
            except WithheldText:
                # Structured content has the values of a text next to it, unless it only repeats the text.
                if not has_values:
                    raise
        meta = self.filters.allowed(name, result.meta, META) or None
        filtered = result.model_copy(update={"content": content, "structured_content": structured, "meta": meta})
        if program.removes_for_safety and hasattr(filtered, "_raw_mcp_result"):
            # The result of a server behind a proxy, whose further members FastMCP would send.
            filtered._raw_mcp_result = None
        return filtered

    def _block(self, name: str, block: Any, is_error: bool) -> Any:
        # The filter gets the members as they are sent.
        original = block.model_dump(mode="json", by_alias=True, exclude_none=True)
        filtered = self.filters.block(name, original, is_error=is_error)
        try:
            return block if filtered == original else type(block).model_validate(filtered)
        except ValueError as error:
            raise Withheld(WITHHELD) from error

    def _structured(self, name: str, result: Any) -> Any:
        structured = _structured_of(result)
        if structured is None:
            return None
        wrapped = _is_wrapped(result) and isinstance(structured, dict)
        value = structured.get("result") if wrapped else structured
        value = self.filters.value(name, value, is_error=result.is_error)
        if wrapped:
            return {"result": value}
        # Text cannot be structured content; the content blocks have it. A proxy may have results that are not objects.
        return value if isinstance(value, dict) or type(value) is type(structured) else None

    async def on_list_tools(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Sequence[Tool]]
    ) -> Sequence[Tool]:
        tools = await call_next(context)
        return [
            tool.model_copy(update={"output_schema": None}) if self._is_filtered(tool.name) else tool
            for tool in tools
        ]

    def _is_filtered(self, name: str) -> bool:
        try:
            return self.filters.program(name) is not None
        except Withheld:
            return True


def _structured_of(result: Any) -> Any:
    return getattr(result, "structured_content", None)
