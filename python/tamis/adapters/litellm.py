"""LiteLLM: a callback that filters the results of tools in requests, and prunes old ones.

    litellm.callbacks = [FilterCallback({"search": {"select": ["id", "title"]}}, prune={"keep_turns": 2})]

LiteLLM calls it for `acompletion`, `aresponses` and `anthropic_messages`, and in its proxy. Synchronous functions such as
`completion` have no hook that may change a request: pass them `callback.messages(messages)`. A synchronous call that sends a result
which a filter would have changed is a `RuntimeWarning`.
"""

import json
import warnings
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from .. import Error, PruneRules
from .. import prune as _prune
from ._tools import ToolFilters, ToolRules, Withheld


REMEMBERED = 10_000
"""The most messages and calls that are remembered as filtered."""


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
        self._known: dict[Any, None] = {}
        if prune is not None:
            # Raises for rules that are not known.
            _prune([], **prune)

    def messages(self, messages: list[Any]) -> list[Any]:
        """Return the messages with filtered and pruned results of tools."""
        return self._list("messages", messages)

    def _list(self, member: str, messages: list[Any]) -> list[Any]:
        """Return a member of a request: `messages`, or the items of `input`."""
        filtered = self._unpruned(messages)
        if self.prune is not None:
            filtered = _pruned(member, filtered, self.prune)
        self._remember([_key(message) for message in filtered])
        return filtered

    def _unpruned(self, messages: list[Any]) -> list[Any]:
        names: dict[Any, str] = {}
        return [self._message(names, message) for message in messages]

    def _remember(self, keys: list[Any]) -> None:
        """Remember messages and calls that were filtered, so that they are not reported as unfiltered."""
        if self.filters.removes_for_safety:
            self._known.update((key, None) for key in keys)
            for key in list(self._known)[:-REMEMBERED]:
                self._known.pop(key, None)

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
        filtered = {name: self._list(name, messages) for name, messages in lists.items()}
        if call := request.get("litellm_call_id"):
            self._remember([call])
        return {**request, **filtered}

    def log_pre_api_call(self, model: Any, messages: Any, kwargs: Any) -> None:
        """Called before every request, synchronous ones too. Nothing can be changed here, so an unfiltered result is reported."""
        # The messages of an asynchronous call are those of before its hook.
        is_filtered = isinstance(kwargs, dict) and kwargs.get("litellm_call_id", "") in self._known
        if is_filtered or not self.filters.removes_for_safety or not _are_messages(messages):
            return
        pairs = zip(messages, self._unpruned(messages))
        if any(sent is not safe and sent != safe and _key(sent) not in self._known for sent, safe in pairs):
            warnings.warn(
                "a request has a tool's result that its filter did not see, although the filter removes for safety: "
                "LiteLLM's synchronous functions call no hook that changes a request; pass them `callback.messages(messages)`, "
                "or call `acompletion`",
                RuntimeWarning,
                stacklevel=2,
            )

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


def _key(message: Any) -> int:
    """Return a number by which a message is recognised."""
    try:
        return hash(json.dumps(_plain(message), sort_keys=True, default=repr))
    except (AttributeError, TypeError, ValueError, RecursionError):
        return hash(repr(message))


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
