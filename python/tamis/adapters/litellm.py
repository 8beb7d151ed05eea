"""LiteLLM: a callback that filters the results of tools in requests, and prunes old ones.

    litellm.callbacks = [FilterCallback({"search": {"select": ["id", "title"]}}, prune={"keep_turns": 2})]

LiteLLM calls it for `acompletion`, `aresponses` and `anthropic_messages`, and in its proxy. For `completion`, pass
`callback.messages(messages)`.
"""

from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from .. import Error, PruneRules
from .. import prune as _prune
from ._tools import ToolFilters, ToolRules, Withheld


class FilterCallback(CustomLogger):
    """Filters results of tools: messages of the roles `tool` and `function`, blocks `tool_result` of Anthropic's messages, and
    items `function_call_output` of the Responses API. The caller's own list is not changed.

    If the call of a result is not in the request, the name of the tool is not known. The result is then withheld if any filter
    removes for safety.
    """

    def __init__(
        self, rules: ToolRules | ToolFilters | None = None, *, prune: PruneRules | None = None
    ) -> None:
        super().__init__()
        self.filters = ToolFilters({} if rules is None else rules)
        self.prune = prune
        if prune is not None:
            # Raises for rules that are not known.
            _prune([], **prune)

    def messages(self, messages: list[Any]) -> list[Any]:
        """Return the messages with filtered and pruned results of tools."""
        return self._list("messages", messages)

    def _list(self, member: str, messages: list[Any]) -> list[Any]:
        """Return a member of a request: `messages`, or the items of `input`."""
        names: dict[Any, str] = {}
        filtered = [self._message(names, message) for message in messages]
        return filtered if self.prune is None else _pruned(member, filtered, self.prune)

    def _message(self, names: dict[Any, str], message: Any) -> Any:
        """Return a message with its results filtered, and note the names of its calls."""
        kind, role, content = (_member(message, name) for name in ("type", "role", "content"))
        for call in _member(message, "tool_calls") or []:
            function = _member(call, "function")
            names[_member(call, "id")] = _member(function, "name") or ""
        # `function` is the role of results in the older interface.
        if role in ("tool", "function"):
            name = names.get(_member(message, "tool_call_id")) or _member(message, "name")
            return self._with_result(message, "content", name)
        if kind in ("function_call", "custom_tool_call"):
            names[_member(message, "call_id")] = _member(message, "name") or ""
        elif kind == "mcp_call":
            return self._with_result(message, "output", _member(message, "name"))
        elif isinstance(kind, str) and kind.endswith("_call_output"):
            return self._with_result(message, "output", names.get(_member(message, "call_id")))
        elif isinstance(content, list):
            blocks = [self._block(names, block) for block in content]
            if any(one is not other for one, other in zip(blocks, content)):
                return {**_plain(message), "content": blocks}
        return message

    def _block(self, names: dict[Any, str], block: Any) -> Any:
        """Return a block of one of Anthropic's messages with its result filtered, and note the name of its call."""
        kind = _member(block, "type")
        if kind in ("tool_use", "mcp_tool_use"):
            names[_member(block, "id")] = _member(block, "name") or ""
        if kind in ("tool_result", "mcp_tool_result"):
            return self._with_result(block, "content", names.get(_member(block, "tool_use_id")))
        return block

    def _with_result(self, message: Any, member: str, name: str | None) -> Any:
        message = _plain(message)
        content = message.get(member)
        if content is None:
            return message
        try:
            filtered = self.filters.content(name or None, content)
        except Withheld as withheld:
            filtered = str(withheld)
        return {**message, member: filtered}

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        lists = {name: request[name] for name in ("messages", "input") if _are_messages(request.get(name))}
        return {**request, **{name: self._list(name, messages) for name, messages in lists.items()}}

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> Any:
        """Called by `acompletion`, the other asynchronous functions, and the router."""
        return self._request(kwargs)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> Any:
        """Called by the proxy, which sends what this returns."""
        return self._request(data)


def _are_messages(value: Any) -> bool:
    """Return whether a member of a request is a list of messages. The `input` of other calls is a text, or a list of texts."""
    return isinstance(value, list) and not any(isinstance(one, str | int | list) for one in value)


def _pruned(member: str, messages: list[Any], rules: PruneRules) -> list[Any]:
    """Return the pruned messages. Those that JSON cannot hold, such as bytes, are not pruned."""
    try:
        pruned: list[Any] = _prune({member: [_plain(one) for one in messages]}, **rules)[member]
        return pruned
    except (Error, AttributeError, TypeError, ValueError, RecursionError):
        return messages


def _plain(message: Any) -> dict[str, Any]:
    """Return a message, a block or an item as a dictionary."""
    plain: dict[str, Any] = message if isinstance(message, dict) else message.model_dump(exclude_none=True)
    return plain


def _member(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)
