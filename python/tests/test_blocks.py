"""Content beside plain texts: blocks, structured content, messages in other forms. A filter for safety must not let it pass."""

import asyncio
import json
import warnings

import pytest
import tamis
from tamis.adapters import ToolFilters
from tamis.adapters._tools import Withheld

REMOVES = tamis.Program(exclude=["ssn"])
SAVES = tamis.Program(select=["id"])
REDACTS = tamis.Program(redact="secrets")
TEXT = '{"id":1,"ssn":"SECRET"}'
ADDRESS = "https://mira:tide@example.org/"
REDACTED = "https://mira:[redacted:url-password]@example.org/"
CALL = {"name": "t", "args": {}, "id": "c1", "type": "tool_call"}


# The filters of tools


def test_blocks_have_allowed_members_only():
    block = {"type": "text", "text": TEXT, "note": "SECRET", "annotations": {"priority": 1, "note": "SECRET"}}
    assert ToolFilters(SAVES).block("t", block) == {**block, "text": '{"id":1}'}
    assert ToolFilters(REMOVES).block("t", block) == {"type": "text", "text": '{"id":1}', "annotations": {"priority": 1}}
    link = {"type": "resource_link", "uri": ADDRESS, "name": ADDRESS, "description": ADDRESS, "_meta": {"note": ADDRESS}}
    assert ToolFilters(REDACTS).block("t", link) == {"type": "resource_link", "uri": REDACTED, "name": REDACTED, "_meta": {}}
    image = {"type": "image_url", "image_url": {"url": ADDRESS, "note": ADDRESS}}
    assert ToolFilters(REDACTS).block("t", image) == {"type": "image_url", "image_url": {"url": REDACTED}}
    # The spec has other rules for safety and a path, which do not apply to an address.
    rules = {"exclude": ["ssn"], "redact": {"secrets": True, "paths": ["name"]}}
    assert ToolFilters({"t": rules}).block("t", link)["uri"] == REDACTED


@pytest.mark.parametrize(
    "block",
    [
        {"type": "json", "json": {"ssn": ADDRESS}},
        {"type": "search_result", "content": [{"type": "text", "text": ADDRESS}]},
        {"type": "document", "source": {"type": "text", "data": ADDRESS}},
        {"type": "file", "text": ADDRESS},
        {"note": ADDRESS},
        [ADDRESS],
    ],
    ids=str,
)
def test_unknown_blocks(block):
    content = [{"type": "text", "text": "{}"}, block]
    assert ToolFilters(SAVES).content("t", content) == content
    assert "tide" not in str(ToolFilters(REDACTS).content("t", content))
    with pytest.raises(Withheld, match="withheld") as caught:
        ToolFilters(REMOVES).content("t", content)
    assert "tide" not in str(caught.value)


def test_a_manifest_that_keeps_text_keeps_no_unknown_blocks():
    manifest = tamis.Manifest("version: 1\nfilters: {t: {exclude: [ssn], redact: secrets, text_beside: keep}}\n")
    filters = ToolFilters(manifest)
    assert filters.content("t", ["no JSON"]) == ["no JSON"]
    with pytest.raises(Withheld):
        filters.content("t", [{"type": "json", "json": {"ssn": 1}}])


def test_lists_of_texts():
    assert ToolFilters(REMOVES).content("t", [TEXT, TEXT]) == ['{"id":1}'] * 2
    assert ToolFilters({"t": {"max_items": 1}}).content("t", ["a", "b"]) == ["a"]
    assert ToolFilters(REMOVES).content("t", [{"id": 1, "ssn": 2}]) == [{"id": 1}]


def test_values_that_are_nested_too_deeply():
    deep = {"id": 1}
    for _ in range(100_000):
        deep = {"a": deep}
    assert ToolFilters(SAVES).value("t", deep) is deep
    with pytest.raises(Withheld):
        ToolFilters(REMOVES).value("t", deep)


def test_ambiguous_and_unknown_names():
    text = "version: 1\nfilters:\n  'a*': {select: [id]}\n  '*b': {select: [id]}\n"
    saves = ToolFilters(tamis.Manifest(text))
    with pytest.warns(UserWarning, match="`ab` are not filtered"):
        assert saves.text("ab", TEXT) == TEXT
    assert saves.text("abc", TEXT) == '{"id":1}'
    removes = ToolFilters(tamis.Manifest(text + "  other: {exclude: [ssn]}\n"))
    with pytest.raises(Withheld, match="several filters match"):
        removes.text("ab", TEXT)
    with pytest.raises(Withheld, match="several filters match"):
        removes.message("ab", ValueError("SECRET"))
    with pytest.raises(Withheld, match="not known"):
        removes.text(None, TEXT)
    assert saves.text(None, TEXT) == TEXT
    assert ToolFilters(REMOVES).text(None, TEXT) == '{"id":1}'


@pytest.mark.parametrize("rules", [None, "tamis.yaml", [SAVES], {"t": "tamis.yaml"}], ids=str)
def test_rules_of_another_type(rules):
    with pytest.raises(TypeError, match="^expected .*, found"):
        ToolFilters(rules)


# FastMCP


def fastmcp_call(result, rules, name="t"):
    """Return what a client gets from a tool with this result, and the names of the tools."""
    import fastmcp
    from tamis.adapters.fastmcp import FilterMiddleware

    async def call():
        server = fastmcp.FastMCP("x")
        server.tool(lambda: result, name=name)
        server.add_middleware(FilterMiddleware(rules))
        async with fastmcp.Client(server) as client:
            tools = await client.list_tools()
            return [tool.name for tool in tools], await client.call_tool(name, {}, raise_on_error=False)

    return asyncio.run(call())


def test_fastmcp_structured_content_that_repeats_a_text():
    import mcp.types
    from fastmcp.tools import ToolResult

    text = mcp.types.TextContent(type="text", text="ssn 123-SECRET")
    _, result = fastmcp_call(ToolResult(content=[text], structured_content={"result": text.text}), REMOVES)
    assert result.is_error and "SECRET" not in str(result)
    _, result = fastmcp_call(ToolResult(content=[text], structured_content={"id": 1, "ssn": 2}), REMOVES)
    assert (result.content, result.structured_content) == ([], {"id": 1})


def test_fastmcp_members_next_to_the_payload():
    import mcp.types
    from fastmcp.tools import ToolResult

    def result(*blocks):
        return ToolResult(content=list(blocks), meta={"note": "SECRET"})

    text = mcp.types.TextContent(type="text", text=TEXT, note="SECRET", _meta={"note": "SECRET"})
    resource = mcp.types.TextResourceContents(uri=ADDRESS, text=TEXT)
    link = mcp.types.ResourceLink(type="resource_link", uri=ADDRESS, name="n", description="SECRET")
    embedded = mcp.types.EmbeddedResource(type="resource", resource=resource)
    _, found = fastmcp_call(result(text, link, embedded), REMOVES)
    assert not found.is_error and "SECRET" not in str(found)
    assert [found.content[0].text, found.content[2].resource.text] == ['{"id":1}'] * 2
    _, found = fastmcp_call(result(link, embedded), REDACTS)
    assert "tide" not in str(found) and str(found.content[0].uri) == REDACTED
    _, found = fastmcp_call(result(text, link), SAVES)
    assert found.content[1].description == "SECRET" and found.meta["note"] == "SECRET"


def test_fastmcp_results_of_other_types():
    from fastmcp.server.middleware import Middleware
    from fastmcp.tools import ToolResult
    from tamis.adapters.fastmcp import FilterMiddleware

    import fastmcp
    import mcp.types

    class Started(mcp.types.Result):
        """As an extension returns it."""

        task_id: str = "T1"
        content: list = []

    class Inner(Middleware):
        def __init__(self, result):
            self.result = result

        async def on_call_tool(self, context, call_next):
            return self.result

    def run(result, rules):
        server = fastmcp.FastMCP("x")
        server.tool(lambda: 1, name="t")
        server.add_middleware(FilterMiddleware(rules))
        server.add_middleware(Inner(result))
        return asyncio.run(server.call_tool("t", {}))

    started = Started()
    assert run(started, SAVES) is started and run(started, REMOVES) is started
    with pytest.raises(Exception, match="withheld"):
        run(Started(content=["SECRET"]), REMOVES)
    # The result of a server behind a proxy keeps its class, but not the members that FastMCP sends besides.
    raw = mcp.types.CallToolResult(content=[mcp.types.TextContent(type="text", text=TEXT)], note="SECRET")
    found = run(ToolResult.from_mcp_result(raw), REMOVES)
    assert "SECRET" not in str(found.to_mcp_result()) and found.content[0].text == '{"id":1}'


def test_fastmcp_requests_for_input():
    import fastmcp
    from tamis.adapters.fastmcp import FilterMiddleware

    types = pytest.importorskip("mcp_types")

    async def call(rules):
        server = fastmcp.FastMCP("x")

        @server.tool
        async def guarded(context: fastmcp.Context):
            if context.input_responses:
                return {"id": 1, "ssn": 2}
            schema = {"type": "object", "properties": {}}
            params = types.ElicitRequestFormParams(message="ok?", requested_schema=schema)
            requests = {"q": types.ElicitRequest(params=params)}
            return types.InputRequiredResult(input_requests=requests, request_state="s")

        async def accept(*arguments, **more):
            return {}

        server.add_middleware(FilterMiddleware(rules))
        async with fastmcp.Client(server, elicitation_handler=accept) as client:
            return (await client.call_tool("guarded", {})).content[0].text

    for rules in (SAVES, REMOVES):
        assert asyncio.run(call(rules)) == '{"id":1}'


def test_fastmcp_ambiguous_names():
    text = "version: 1\nfilters:\n  'a*': {select: [id]}\n  '*b': {select: [id]}\n"
    with warnings.catch_warnings(record=True):
        names, result = fastmcp_call({"id": 1, "ssn": 2}, tamis.Manifest(text), "ab")
    assert names == ["ab"] and result.structured_content == {"id": 1, "ssn": 2}
    closed = tamis.Manifest(text + "  other: {exclude: [ssn]}\n")
    names, result = fastmcp_call({"id": 1, "ssn": "SECRET"}, closed, "ab")
    assert names == ["ab"] and result.is_error and "SECRET" not in str(result)
    assert fastmcp_call({"id": 1, "ssn": 2}, closed, "other")[1].structured_content == {"id": 1}


# LangChain and LangGraph


def langchain_tool(result):
    from langchain_core.tools import tool

    @tool("t")
    def returns() -> object:
        """Return a result."""
        return result() if callable(result) else result

    return returns


@pytest.mark.parametrize("form", ["dictionary", "tuples", "single"])
def test_messages_in_commands(form):
    from langgraph.types import Command
    from tamis.adapters.langchain import filter_tool

    message = {"role": "tool", "content": TEXT, "tool_call_id": "c1"}
    person = ("user", "SECRET question")
    update = {
        "dictionary": {"messages": [message, person], "note": "kept"},
        "tuples": [("messages", [message, person]), ("note", "kept")],
        "single": {"messages": message, "note": "kept"},
    }[form]
    found = dict(filter_tool(langchain_tool(Command(update=update)), REMOVES).invoke(CALL).update)
    assert found["note"] == "kept"
    messages = found["messages"] if form != "single" else [found["messages"], person]
    assert (messages[0].content, messages[0].tool_call_id, messages[1]) == ('{"id":1}', "c1", person)


def test_content_that_is_not_only_text():
    from tamis.adapters.langchain import filter_tool

    search = {"type": "search_result", "source": "s", "content": [{"type": "text", "text": f'{{"ssn":"{ADDRESS}"}}'}]}
    mixed = [{"type": "text", "text": "{}"}, search]
    for result in (mixed, [search], [{"type": "json", "json": {"ssn": ADDRESS}}]):
        message = filter_tool(langchain_tool(result), REMOVES).invoke(CALL)
        assert message.status == "error" and "withheld" in message.content
        assert "tide" not in str(filter_tool(langchain_tool(result), REDACTS).invoke(CALL))
        assert filter_tool(langchain_tool(result), SAVES).invoke(CALL).content == result
    assert filter_tool(langchain_tool([TEXT]), REMOVES).invoke(CALL).content == ['{"id":1}']
    assert filter_tool(langchain_tool((TEXT,)), REMOVES).invoke({}) == ['{"id":1}']


@pytest.mark.parametrize("wrapped", [True, False], ids=["tool", "middleware"])
def test_interrupts_pass(wrapped):
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command, interrupt
    from tamis.adapters.langchain import FilterMiddleware, filter_tool

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools, **kwargs):
            return self

    tool = langchain_tool(lambda: json.dumps({"id": interrupt("sure?"), "ssn": "SECRET"}))
    tools = [filter_tool(tool, REMOVES)] if wrapped else [tool]
    middleware = [] if wrapped else [FilterMiddleware(REMOVES)]
    model = Model(messages=iter([AIMessage("", tool_calls=[CALL]), AIMessage("done")]))
    agent = create_agent(model, tools, middleware=middleware, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    assert agent.invoke({"messages": [("user", "go")]}, config)["__interrupt__"][0].value == "sure?"
    assert agent.invoke(Command(resume=7), config)["messages"][2].content == '{"id":7}'


def test_a_wrapped_tool_keeps_its_extras():
    from tamis.adapters.langchain import filter_tool

    tool = langchain_tool(1).model_copy(update={"extras": {"defer_loading": True}})
    assert filter_tool(tool, SAVES).extras == {"defer_loading": True}


# OpenAI Agents


def test_openai_agents_addresses_of_files():
    import agents
    from agents.tool_context import ToolContext
    from tamis.adapters.openai_agents import filter_tool

    def call(result):
        @agents.function_tool
        def one() -> object:
            """Return a result."""
            return result

        context = ToolContext(context=None, tool_name="one", tool_call_id="c1", tool_arguments="{}")
        return asyncio.run(filter_tool(one, REDACTS).on_invoke_tool(context, "{}"))

    assert call({"type": "image", "image_url": ADDRESS}) == {"type": "image", "image_url": REDACTED}
    assert call(agents.ToolOutputFileContent(file_url=ADDRESS)).file_url == REDACTED
