"""LiteLLM: a callback that filters the results of tools in requests, and prunes old ones.

    litellm.callbacks = [FilterCallback({"search": {"select": ["id", "title"]}}, prune={"keep_turns": 2})]

LiteLLM calls it for `acompletion` and in its proxy. For `completion`, pass `callback.messages(messages)`.
"""

from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from .. import PruneRules, prune
from ._tools import ToolFilters, Withheld, _Rules


class FilterCallback(CustomLogger):
    """Filters messages of the role `tool`. The caller's own list is not changed."""

    def __init__(
        self, rules: _Rules | ToolFilters | None = None, *, prune: PruneRules | None = None
    ) -> None:
        super().__init__()
        self.filters = ToolFilters({} if rules is None else rules)
        self.prune = prune

    def messages(self, messages: list[Any]) -> list[Any]:
        """Return the messages with filtered and pruned results of tools."""
        names: dict[Any, str] = {}
        filtered = []
        for message in messages:
            is_plain = isinstance(message, dict)
            calls = (message.get("tool_calls") if is_plain else getattr(message, "tool_calls", None)) or []
            for call in calls:
                call = call if isinstance(call, dict) else call.model_dump()
                names[call.get("id")] = (call.get("function") or {}).get("name") or ""
            if is_plain and message.get("role") == "tool":
                name = names.get(message.get("tool_call_id")) or message.get("name") or ""
                message = {**message, "content": self._content(name, message.get("content"))}
            filtered.append(message)
        if self.prune is None:
            return filtered
        plain = [one if isinstance(one, dict) else one.model_dump(exclude_none=True) for one in filtered]
        return prune(plain, **self.prune)

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
