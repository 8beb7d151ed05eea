"""The adapter for LiteLLM, in an environment of its own: it needs another version of `openai` than OpenAI Agents."""

import asyncio
import json
import os

import tamis

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm
from tamis.adapters.litellm import FilterCallback

ISSUES = [{"id": n, "title": f"t{n}", "user": {"login": "mira", "url": "u"}, "node_id": "x"} for n in range(3)]
KEPT = [{"id": n, "title": f"t{n}"} for n in range(3)]
SAVES = tamis.Program(select=["id", "title"])
REMOVES = tamis.Program(exclude=["user"], root="auto")
SECRET = "s3cret"


def compact(value):
    return json.dumps(value, separators=(",", ":"))


CHAT = [
    {"role": "user", "content": "list"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "issues", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": json.dumps(ISSUES)},
    {"role": "user", "content": "more"},
]


def litellm_with(callback):
    sent = []

    class Model(litellm.CustomLLM):
        async def acompletion(self, *args, **kwargs):
            sent.extend(kwargs["messages"])
            return litellm.completion(model="gpt-4o", messages=[], mock_response="done")

    litellm.custom_provider_map = [{"provider": "fake", "custom_handler": Model()}]
    litellm.callbacks = [callback]
    try:
        asyncio.run(litellm.acompletion(model="fake/one", messages=CHAT))
    finally:
        litellm.callbacks = []
    return sent


def test_litellm():
    before = json.dumps(CHAT)
    sent = litellm_with(FilterCallback({"issues": SAVES}))
    assert [one["role"] for one in sent] == ["user", "assistant", "tool", "user"]
    assert sent[2]["content"] == compact(KEPT)
    assert json.dumps(CHAT) == before
    sent = litellm_with(FilterCallback(prune={"keep_turns": 1, "placeholder": "[{tool}]  left out"}))
    assert sent[2]["content"] == "[issues]  left out"
    data = {"model": "m", "messages": [*CHAT[:2], {**CHAT[2], "content": SECRET}]}
    callback = FilterCallback({"issues": REMOVES})
    data = asyncio.run(callback.async_pre_call_hook(None, None, data, "completion"))
    assert "withheld" in data["messages"][2]["content"]
    assert callback.messages(CHAT) == [*CHAT[:2], {**CHAT[2], "content": callback.messages(CHAT)[2]["content"]}, CHAT[3]]


def test_secrets_are_redacted():
    text = "see https://mira:tide@example.org/"
    messages = [*CHAT[:2], {**CHAT[2], "content": text}]
    callback = FilterCallback({"issues": {"redact": "secrets"}})
    assert callback.messages(messages)[2]["content"] == "see https://mira:[redacted:url-password]@example.org/"


def test_messages_that_are_objects_and_of_the_older_role():
    content = json.dumps(ISSUES)
    older = {"role": "function", "name": "issues", "content": content}
    message = litellm.Message(role="tool", content=content)
    found = FilterCallback(REMOVES).messages([older, message])
    assert [one["role"] for one in found] == ["function", "tool"]
    assert all("mira" not in one["content"] and "t0" in one["content"] for one in found)
    assert "mira" not in FilterCallback({"issues": REMOVES}).messages([older])[0]["content"]
