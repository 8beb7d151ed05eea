"""The plugin for ContextForge, in an environment of its own, through the plugin manager of the gateway and its policies."""

import asyncio
import json

import pytest
import tamis

from cpex.framework import GlobalContext, PluginConfig, ToolPostInvokePayload, manager
from mcpgateway.common.models import TextContent, ToolResult
from mcpgateway.plugins.policy import HOOK_PAYLOAD_POLICIES
from tamis.adapters.contextforge import FilterPlugin

SECRET = "078-05-1120"
ISSUE = {"id": 1, "title": "a", "ssn": SECRET}
SAFE = {"exclude": ["ssn"], "root": "object"}


def configured(**members):
    kind = f"{FilterPlugin.__module__}.FilterPlugin"
    return {"name": "tamis", "kind": kind, "hooks": ["tool_post_invoke"], "mode": "sequential", **members}


def sent(folder, config, results):
    """Return what the gateway would send of the results of tools, by their names."""
    path = folder / "plugins.yaml"
    path.write_text(json.dumps({"plugins": [configured(config=config)], "plugin_dirs": []}))

    async def run():
        manager.PluginManager.reset()
        plugins = manager.PluginManager(str(path), hook_policies=HOOK_PAYLOAD_POLICIES)
        await plugins.initialize()
        found = {}
        for name, result in results.items():
            payload = ToolPostInvokePayload(name=name, result=result)
            done, _ = await plugins.invoke_hook("tool_post_invoke", payload, global_context=GlobalContext(request_id="1"))
            found[name] = done.modified_payload.result if done.modified_payload else result
        await plugins.shutdown()
        return found

    return asyncio.run(run())


def result_of(text, structured=None, is_error=False):
    """Return a result as the gateway hands it to plugins."""
    content = [TextContent(type="text", text=text)]
    return ToolResult(content=content, structured_content=structured, is_error=is_error).model_dump(by_alias=True)


def test_texts_and_structured_content_are_filtered(tmp_path):
    results = {"github-list": result_of(json.dumps(ISSUE), ISSUE), "other": result_of(json.dumps(ISSUE))}
    (tmp_path / "tamis.yaml").write_text("version: 1\nfilters:\n  github-list: {exclude: [ssn], root: object}\n")
    for config in ({"rules": {"github-list": SAFE}}, {"manifest": str(tmp_path / "tamis.yaml")}):
        found = sent(tmp_path, config, results)
        assert SECRET not in json.dumps(found["github-list"])
        # The gateway makes a result of it again.
        made = ToolResult.model_validate(found["github-list"])
        assert json.loads(made.content[0].text) == {"id": 1, "title": "a"}
        assert made.structured_content == {"id": 1, "title": "a"}
        assert found["other"] == results["other"]


def test_what_cannot_be_filtered_is_withheld(tmp_path):
    results = {"text": result_of(f"ssn {SECRET}"), "failed": result_of(f"no {SECRET}", is_error=True), "value": f"ssn {SECRET}"}
    found = sent(tmp_path, {"rules": {name: SAFE for name in results}}, results)
    assert SECRET not in json.dumps(found) and json.dumps(found).count("withheld") == 3
    assert found["text"]["isError"] is True
    # A filter that only saves passes the original.
    saves = {"rules": {name: {"select": ["id"]} for name in results}}
    assert sent(tmp_path, saves, results) == results


def test_settings_that_would_send_the_original_are_refused():
    for members in ({"mode": "audit"}, {"mode": "concurrent"}, {"hooks": ["tool_pre_invoke"]}, {"on_error": "ignore"}):
        with pytest.raises(ValueError, match="plugin `tamis`"):
            FilterPlugin(PluginConfig(**configured(config={"rules": {"a": SAFE}}, **members)))
    for config in (None, {}, {"manifset": "x"}, {"rules": {}, "manifest": "x"}):
        with pytest.raises(ValueError, match="expected `config` with `manifest`"):
            FilterPlugin(PluginConfig(**configured(config=config)))
    with pytest.raises(tamis.Error):
        FilterPlugin(PluginConfig(**configured(config={"rules": {"a": {"slect": ["id"]}}})))
