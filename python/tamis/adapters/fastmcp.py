"""FastMCP: a middleware that filters the results of tools before they are sent.

    server.add_middleware(FilterMiddleware(tamis.Manifest("tamis.yaml")))
"""

from collections.abc import Sequence
from typing import Any

from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool

from ._tools import ToolFilters, Withheld, WithheldText, _Rules


def _is_wrapped(result: Any) -> bool:
    """FastMCP wraps what is not an object; rules are written for the tool's own result."""
    return ((result.meta or {}).get("fastmcp") or {}).get("wrap_result") is True


class FilterMiddleware(Middleware):
    """Filters texts and structured content of results, and removes the output schemas that they no longer fit."""

    def __init__(self, rules: _Rules | ToolFilters) -> None:
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
        if self.filters.program(name) is None:
            return result
        try:
            return self._filtered(name, result)
        except Withheld as withheld:
            raise ToolError(str(withheld)) from None

    def _filtered(self, name: str, result: Any) -> Any:
        is_error = result.is_error
        structured = self._structured(name, result)
        # Structured content has the values of a text next to it, unless it only repeats the text.
        has_values = structured is not None and not is_error and not _is_wrapped(result)
        content = []
        for block in result.content:
            try:
                content.append(self._block(name, block, is_error))
            except WithheldText:
                if not has_values:
                    raise
        return type(result)(
            content=content, structured_content=structured, meta=result.meta, is_error=is_error
        )

    def _block(self, name: str, block: Any, is_error: bool) -> Any:
        text = getattr(block, "text", None)
        resource = getattr(block, "resource", None)
        if isinstance(text, str):
            return block.model_copy(update={"text": self.filters.text(name, text, is_error=is_error)})
        if resource is not None and isinstance(getattr(resource, "text", None), str):
            text = self.filters.text(name, resource.text, is_error=is_error)
            return block.model_copy(update={"resource": resource.model_copy(update={"text": text})})
        return block

    def _structured(self, name: str, result: Any) -> dict[str, Any] | None:
        structured = result.structured_content
        if structured is None:
            return None
        wrapped = _is_wrapped(result)
        value = structured.get("result") if wrapped else structured
        value = self.filters.value(name, value, is_error=result.is_error)
        if wrapped:
            return {**structured, "result": value}
        # Text cannot be structured content; the content blocks have it.
        return value if isinstance(value, dict) else None

    async def on_list_tools(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Sequence[Tool]]
    ) -> Sequence[Tool]:
        tools = await call_next(context)
        return [
            tool if self.filters.program(tool.name) is None else tool.model_copy(update={"output_schema": None})
            for tool in tools
        ]
