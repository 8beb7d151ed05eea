"""LangChain and LangGraph: a wrapper for tools, and a middleware for agents.

    tools = [filter_tool(search, tamis.Program(select=["id", "title"]))]
    agent = create_agent(model, tools, middleware=[FilterMiddleware({"search": {"select": ["id", "title"]}})])
"""

import dataclasses
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.messages import ToolMessage, convert_to_messages
from langchain_core.tools import BaseTool, ToolException
from langchain_core.tools.base import TOOL_MESSAGE_BLOCK_TYPES

from ._results import filtered
from ._tools import ToolFilters, ToolRules, Withheld, is_control


def _filtered(filters: ToolFilters, tool: str, result: Any) -> Any:
    """Return a result with its content filtered: a message, a command, a text, blocks, or a value."""
    if isinstance(result, list) and any(isinstance(one, ToolMessage) or _is_command(one) for one in result):
        return [_filtered(filters, tool, one) for one in result]
    if _is_command(result):
        return dataclasses.replace(result, update=_update(filters, tool, result.update))
    if isinstance(result, ToolMessage):
        is_error = result.status == "error"
        try:
            content = filters.content(tool, result.content, is_error=is_error)
        except Withheld as withheld:
            return result.model_copy(
                update={"content": str(withheld), "artifact": None, "status": "error"}
            )
        return result.model_copy(update={"content": content})
    if _is_content(result):
        return filters.content(tool, result if isinstance(result, str) else list(result))
    return filtered(filters, tool, result)


def _is_command(result: Any) -> bool:
    """Return whether a result is a `Command` of LangGraph, which is not imported if there is none."""
    langgraph = sys.modules.get("langgraph.types")
    return langgraph is not None and isinstance(result, langgraph.Command)


def _is_content(result: Any) -> bool:
    """Return whether LangChain makes a result the content of a message. It writes any other result as JSON."""
    if isinstance(result, str):
        return True
    return isinstance(result, list | tuple) and all(
        isinstance(one, str) or (isinstance(one, dict) and one.get("type") in TOOL_MESSAGE_BLOCK_TYPES) for one in result
    )


def _update(filters: ToolFilters, tool: str, update: Any) -> Any:
    """Return an update of the state with its tool messages filtered. Other messages and values are kept."""

    def messages(value: Any) -> Any:
        if isinstance(value, list):
            return [message(one) for one in value]
        return message(value)

    def message(value: Any) -> Any:
        found = _tool_message(value)
        return value if found is None else _filtered(filters, tool, found)

    if isinstance(update, dict) and _tool_message(update) is None:
        return {key: messages(value) for key, value in update.items()}
    if isinstance(update, list | tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in update):
        return [(key, messages(value)) for key, value in update]
    return messages(update)


def _tool_message(value: Any) -> ToolMessage | None:
    """Return the message of a tool, which may be written as a dictionary or a tuple."""
    if isinstance(value, dict | tuple):
        try:
            value = convert_to_messages([value])[0]
        except Exception:  # Not a message: the types of the errors depend on the value.
            return None
    return value if isinstance(value, ToolMessage) else None


class FilteredTool(BaseTool):
    """A tool whose results are filtered. Artifacts, which the model does not see, are kept, unless the result is withheld."""

    inner: BaseTool
    filters: Any

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        with _Failures(self.filters, self.name):
            return _filtered(self.filters, self.name, self.inner.invoke(input, config, **kwargs))

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        with _Failures(self.filters, self.name):
            result = await self.inner.ainvoke(input, config, **kwargs)
            return _filtered(self.filters, self.name, result)

    def run(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        with _Failures(self.filters, self.name):
            return _filtered(self.filters, self.name, self.inner.run(tool_input, *args, **kwargs))

    async def arun(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        with _Failures(self.filters, self.name):
            result = await self.inner.arun(tool_input, *args, **kwargs)
            return _filtered(self.filters, self.name, result)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("call `invoke` or `run`")


class _Failures:
    """Replaces what must not pass by an error of the tool."""

    def __init__(self, filters: ToolFilters, tool: str) -> None:
        self.filters, self.tool = filters, tool

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Withheld):
            raise ToolException(str(error)) from None
        if isinstance(error, Exception) and not is_control(error):
            try:
                self.filters.message(self.tool, error)
            except Withheld as withheld:
                raise ToolException(str(withheld)) from None


COPIED_FIELDS = ("name", "description", "args_schema", "return_direct", "tags", "metadata", "extras")
"""The fields of a tool that describe it to models and tracers."""


def filter_tool(tool: BaseTool, rules: ToolRules | ToolFilters) -> FilteredTool:
    """Wrap a tool. It keeps its name, description and arguments. Raise `tamis.Error` if there is no filter for its name."""
    filters = ToolFilters(rules)
    filters.require(tool.name)
    fields: dict[str, Any] = {name: getattr(tool, name) for name in COPIED_FIELDS if name in BaseTool.model_fields}
    return FilteredTool(**fields, inner=tool, filters=filters)


def __getattr__(name: str) -> Any:
    """Make the middleware when it is asked for: the wrapper needs `langchain-core` only."""
    if name != "FilterMiddleware":
        raise AttributeError(name)
    from langchain.agents.middleware import AgentMiddleware

    class FilterMiddleware(AgentMiddleware):
        """Filters the results of an agent's tools, also of those that come from MCP servers."""

        def __init__(self, rules: ToolRules | ToolFilters) -> None:
            super().__init__()
            self.filters = ToolFilters(rules)

        def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            name = request.tool_call["name"]
            with _Failures(self.filters, name):
                result = handler(request)
            return _filtered(self.filters, name, result)

        async def awrap_tool_call(
            self, request: Any, handler: Callable[[Any], Awaitable[Any]]
        ) -> Any:
            name = request.tool_call["name"]
            with _Failures(self.filters, name):
                result = await handler(request)
            return _filtered(self.filters, name, result)

    globals()[name] = FilterMiddleware
    return FilterMiddleware
