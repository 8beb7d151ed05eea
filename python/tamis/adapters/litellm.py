"""LiteLLM: a callback that filters the results of tools in requests, and prunes old ones.

    litellm.callbacks = [FilterCallback({"search": {"select": ["id", "title"]}}, prune={"keep_turns": 2})]

LiteLLM calls it for `acompletion` and in its proxy. For `completion`, pass `callback.messages(messages)`.
"""

from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from .. import PruneRules, prune
from ._tools import ToolFilters, ToolRules, Withheld


class FilterCallback(CustomLogger):
    """Filters messages of the roles `tool` and `function`. The caller's own list is not changed."""

    def __init__(
        self, rules: ToolRules | ToolFilters | None = None, *, prune: PruneRules | None = None
    ) -> None:
        super().__init__()
        self.filters = ToolFilters({} if rules is None else rules)
        self.prune = prune

    def messages(self, messages: list[Any]) -> list[Any]:
        """Return the messages with filtered and pruned results of tools."""
        names: dict[Any, str] = {}
        filtered = []
        for message in messages:
            for call in _member(message, "tool_calls") or []:
                call = _plain(call)
                names[call.get("id")] = (call.get("function") or {}).get("name") or ""
            # `function` is the role of results in the older interface.
            if _member(message, "role") in ("tool", "function"):
                message = _plain(message)
                name = names.get(message.get("tool_call_id")) or message.get("name") or ""
                message = {**message, "content": self._content(name, message.get("content"))}
            filtered.append(message)
        if self.prune is None:
            return filtered
        return prune([_plain(one) for one in filtered], **self.prune)

    def _content(self, name: str, content: Any) -> Any:
        try:
            if isinstance(content, str):
                return self.filters.text(name, content)
            if isinstance(content, list):
                return self.filters.blocks(name, content)
        except Withheld as withheld:
            return str(withheld)
        return content

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        messages = request.get("messages")
        if not isinstance(messages, list):
            return request
        return {**request, "messages": self.messages(messages)}

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> Any:
        """Called by `acompletion` and the router."""
        return self._request(kwargs)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> Any:
        """Called by the proxy, which sends what this returns."""
        return self._request(data)


def _plain(message: Any) -> dict[str, Any]:
    """Return a message or a call as a dictionary."""
    plain: dict[str, Any] = message if isinstance(message, dict) else message.model_dump(exclude_none=True)
    return plain


def _member(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)
