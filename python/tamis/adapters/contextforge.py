"""ContextForge (`mcp-contextforge-gateway`): a plugin that filters the results of tools before the gateway sends them.

    plugins:
      - name: tamis
        kind: tamis.adapters.contextforge.FilterPlugin
        hooks: [tool_post_invoke]
        mode: sequential
        priority: 900
        config:
          manifest: /etc/tamis/tamis.yaml

In place of `manifest`, `rules` has rules by the names of tools. The names are those of the gateway, such as `github-list-repos`. A
tool without a filter is passed through. Results of resources and prompts come through other hooks and are not filtered.

The plugin belongs after those that change results, so give it the highest number as `priority`. Settings with which the gateway
would send the original in place of the filtered result are refused when the plugin is loaded.
"""

from typing import Any

from cpex.framework import Plugin, PluginConfig, PluginContext, ToolPostInvokePayload, ToolPostInvokeResult
from cpex.framework.models import OnError, PluginMode

from .. import Manifest
from ._results import filtered, withheld
from ._tools import ToolFilters, Withheld

HOOK = "tool_post_invoke"

MODES = (PluginMode.SEQUENTIAL, PluginMode.TRANSFORM)
"""The modes in which the gateway takes what a plugin changes."""


class FilterPlugin(Plugin):
    """Filters what a tool returned: the texts of the blocks and the structured content.

    A filter that only saves never breaks a call: if it fails, the original passes. If a filter that removes for safety cannot be
    applied, a result with a sentence and `isError` takes the place of the result.
    """

    def __init__(self, config: PluginConfig) -> None:
        super().__init__(config)
        self.filters = ToolFilters(_rules(config))
        if HOOK not in config.hooks:
            raise ValueError(f"plugin `{config.name}`: `hooks` lacks {HOOK}, so nothing would be filtered")
        if config.mode not in MODES:
            raise ValueError(f"plugin `{config.name}`: mode {config.mode} discards filtered results; expected sequential or transform")
        if config.on_error != OnError.FAIL and self.filters.removes_for_safety:
            raise ValueError(f"plugin `{config.name}`: a filter removes for safety, so `on_error` has to be fail")

    async def tool_post_invoke(self, payload: ToolPostInvokePayload, context: PluginContext) -> ToolPostInvokeResult:
        """Called by the gateway with each result of a tool."""
        try:
            result = filtered(self.filters, payload.name, payload.result)
        except Withheld as error:
            result = withheld(payload.result, str(error))
        if result is payload.result:
            return ToolPostInvokeResult()
        return ToolPostInvokeResult(modified_payload=payload.model_copy(update={"result": result}))


def _rules(config: PluginConfig) -> Any:
    """Return the manifest or the rules of a configuration."""
    match config.config or {}:
        case {"manifest": str(path), **others} if not others:
            return Manifest.load(path)
        case {"rules": dict(rules), **others} if not others:
            return rules
    raise ValueError(f"plugin `{config.name}`: expected `config` with `manifest`, a path, or `rules` by the names of tools")
