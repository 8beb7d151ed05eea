"""The adapter for LiteLLM, in an environment of its own: it needs another version of `openai` than OpenAI Agents."""

import asyncio
import json
import os

import pytest
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


def test_a_synchronous_call_is_not_silent(recwarn):
    def warned(rules, messages, is_async=False):
        recwarn.clear()
        callback = FilterCallback(rules)
        litellm.callbacks = [callback]
        call = {"model": "openai/m", "api_key": "k", "api_base": "http://127.0.0.1:9/v1", "max_retries": 0}
        try:
            # Nobody listens there.
            with pytest.raises((litellm.exceptions.InternalServerError, litellm.exceptions.APIConnectionError)):
                if is_async:
                    asyncio.run(litellm.acompletion(**call, messages=messages(callback)))
                else:
                    litellm.completion(**call, messages=messages(callback))
        finally:
            litellm.callbacks = []
            litellm.input_callback = []
        return [str(one.message) for one in recwarn if one.category is RuntimeWarning]

    assert "callback.messages(messages)" in warned({"issues": REMOVES}, lambda callback: CHAT)[0]
    assert warned({"issues": REMOVES}, lambda callback: callback.messages(CHAT)) == []
    assert warned({"issues": SAVES}, lambda callback: CHAT) == []
    assert warned({"other": REMOVES}, lambda callback: CHAT) == []
    assert warned({"issues": REMOVES}, lambda callback: CHAT, is_async=True) == []


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


# Results of tools in other forms of requests


REMOVES_SSN = {"t": {"exclude": ["ssn"]}}
TEXT = '{"id":1,"ssn":"SECRET"}'


def requested(callback, **request):
    return asyncio.run(callback.async_pre_call_hook(None, None, request, "completion"))


def test_messages_of_anthropic():
    callback = FilterCallback(REMOVES_SSN)
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "t", "input": {}}]}
    for content in (TEXT, [{"type": "text", "text": TEXT}]):
        result = {"type": "tool_result", "tool_use_id": "c", "content": content}
        messages = [call, {"role": "user", "content": [result, {"type": "text", "text": "SECRET question"}]}]
        found = requested(callback, messages=messages)["messages"]
        filtered = found[1]["content"][0]["content"]
        assert (filtered if content is TEXT else filtered[0]["text"]) == '{"id":1}'
        assert found[0] is call and found[1]["content"][1]["text"] == "SECRET question"
        # The call of the result was removed from the request.
        assert "SECRET" not in str(requested(callback, messages=[{"role": "user", "content": [result]}]))


def test_items_of_the_responses_api():
    callback = FilterCallback(REMOVES_SSN)
    call = {"type": "function_call", "call_id": "c", "name": "t", "arguments": "{}"}
    for output in (TEXT, [{"type": "input_text", "text": TEXT}]):
        result = {"type": "function_call_output", "call_id": "c", "output": output}
        found = requested(callback, input=[call, result])["input"][1]["output"]
        assert (found if output is TEXT else found[0]["text"]) == '{"id":1}'
        assert "SECRET" not in str(requested(callback, input=[result]))
    assert requested(callback, input=[{"type": "mcp_call", "name": "t", "output": TEXT}])["input"][0]["output"] == '{"id":1}'
    for texts in ("SECRET", ["SECRET"], [[1, 2]]):
        assert requested(callback, input=texts) == {"input": texts}
    # LiteLLM calls the hook.
    sent = []

    class Seen(FilterCallback):
        async def async_pre_call_deployment_hook(self, kwargs, call_type):
            request = await super().async_pre_call_deployment_hook(kwargs, call_type)
            sent.append(request["input"])
            return request

    litellm.callbacks = [Seen(REMOVES_SSN)]
    try:
        items = [call, {"type": "function_call_output", "call_id": "c", "output": TEXT}]
        asyncio.run(litellm.aresponses(model="gpt-4o", input=items, mock_response="done", api_key="x"))
    finally:
        litellm.callbacks = []
    assert sent and "SECRET" not in str(sent)


def test_results_without_a_known_tool():
    result = {"role": "tool", "tool_call_id": "c9", "content": TEXT}
    assert "withheld" in FilterCallback(REMOVES_SSN).messages([result])[0]["content"]
    assert FilterCallback({"t": {"select": ["id"]}}).messages([result]) == [result]
    assert FilterCallback(tamis.Program(exclude=["ssn"])).messages([result])[0]["content"] == '{"id":1}'


def test_content_of_other_types():
    callback = FilterCallback(REMOVES_SSN)
    for content, filtered in (({"id": 1, "ssn": 2}, {"id": 1}), ([{"id": 1, "ssn": 2}], [{"id": 1}]), (None, None)):
        assert callback.messages([{"role": "tool", "name": "t", "content": content}])[0]["content"] == filtered
    unknown = [{"type": "document", "source": {"data": TEXT}}]
    assert "withheld" in callback.messages([{"role": "tool", "name": "t", "content": unknown}])[0]["content"]


def test_messages_that_cannot_be_pruned():
    callback = FilterCallback(prune={"keep_turns": 1})
    for content in ("\ud83d", b"x"):
        messages = [*CHAT, {"role": "user", "content": content}]
        assert callback.messages(messages) == messages
    with pytest.raises(Exception, match="keep_turn"):
        FilterCallback(prune={"keep_turn": 1})
    items = [
        {"type": "function_call", "call_id": "c", "name": "t", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "long " * 100},
        *({"role": "user", "content": "more"} for _ in range(3)),
    ]
    assert len(requested(callback, input=items)["input"][1]["output"]) < 100
