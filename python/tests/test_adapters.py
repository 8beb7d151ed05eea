"""Each adapter with the real package: results are filtered, failures pass or are withheld as the rules demand."""

import asyncio
import dataclasses
import gzip
import json
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
import tamis

from tamis.adapters import BodyFilter, ToolFilters

ISSUES = [{"id": n, "title": f"t{n}", "user": {"login": "mira", "url": "u"}, "node_id": "x"} for n in range(3)]
KEPT = [{"id": n, "title": f"t{n}"} for n in range(3)]
WITHOUT_USER = [{"id": n, "title": f"t{n}", "node_id": "x"} for n in range(3)]
SAVES = tamis.Program(select=["id", "title"])
REMOVES = tamis.Program(exclude=["user"], root="auto")
REDACTS = tamis.Program(redact="secrets")
SECRET = "s3cret"
TOKEN_TEXT = "see https://mira:tide@example.org/"
REDACTED_TEXT = "see https://mira:[redacted:url-password]@example.org/"


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def test_tool_filters():
    manifest = tamis.Manifest("version: 1\nfilters:\n  issues: {select: [id, title]}\n")
    for rules in (manifest, SAVES, {"issues": SAVES}, {"issues": {"select": ["id", "title"]}}):
        filters = ToolFilters(rules)
        assert filters.text("issues", json.dumps(ISSUES)) == compact(KEPT)
        assert ToolFilters(filters).value("issues", ISSUES) == KEPT
        assert filters.text("issues", "no issues") == "no issues"
    assert ToolFilters({"issues": SAVES}).value("other", ISSUES) is ISSUES
    redacts = ToolFilters(REDACTS)
    assert redacts.text("x", TOKEN_TEXT) == REDACTED_TEXT
    assert redacts.value("x", {"note": TOKEN_TEXT}) == {"note": REDACTED_TEXT}
    # A lone surrogate is not text that can be read.
    assert filters.text("issues", "\ud800") == "\ud800"
    with pytest.raises(Exception, match="withheld"):
        redacts.text("x", "\ud800")
    closed = ToolFilters(REMOVES)
    for call in (lambda: closed.text("x", SECRET), lambda: closed.value("x", {SECRET: object()})):
        with pytest.raises(Exception, match="withheld") as caught:
            call()
        assert SECRET not in str(caught.value)


# FastMCP


def mcp_server(rules):
    import fastmcp
    from fastmcp.tools import ToolResult
    from tamis.adapters.fastmcp import FilterMiddleware

    server = fastmcp.FastMCP("issues")

    @server.tool
    def listed() -> list[dict]:
        return ISSUES

    @server.tool
    def one() -> dict:
        return ISSUES[0]

    @server.tool
    def text() -> str:
        return SECRET

    @server.tool
    def broken() -> dict:
        raise ValueError(SECRET)

    @server.tool
    def token() -> str:
        return TOKEN_TEXT

    @server.tool
    def leaking() -> dict:
        raise ValueError(TOKEN_TEXT)

    @server.tool
    def both():
        return ToolResult(content=SECRET, structured_content=ISSUES[0])

    server.add_middleware(FilterMiddleware(rules))
    return fastmcp.Client(server)


def called(client, tool):
    async def call():
        async with client:
            tools = {one.name: one for one in await client.list_tools()}
            return tools[tool], await client.call_tool(tool, {}, raise_on_error=False)

    return asyncio.run(call())


def test_fastmcp():
    tool, result = called(mcp_server(SAVES), "listed")
    assert json.loads(result.content[0].text) == KEPT
    assert result.structured_content == {"result": KEPT}
    assert "node_id" not in str(result)
    assert "outputSchema" not in tool.model_dump(by_alias=True, exclude_none=True)
    _, result = called(mcp_server({"one": SAVES}), "one")
    assert result.structured_content == {"id": 0, "title": "t0"}
    _, result = called(mcp_server({"one": SAVES}), "listed")
    assert result.structured_content == {"result": ISSUES}
    _, result = called(mcp_server(SAVES), "text")
    assert result.content[0].text == SECRET
    _, result = called(mcp_server(SAVES), "broken")
    assert result.is_error and SECRET in str(result.content)


@pytest.mark.parametrize("tool", ["text", "broken"])
def test_fastmcp_fails_closed(tool):
    _, result = called(mcp_server(REMOVES), tool)
    assert result.is_error and "withheld" in result.content[0].text
    assert SECRET not in str(result)


def test_fastmcp_redacts():
    _, result = called(mcp_server(REDACTS), "token")
    assert result.content[0].text == REDACTED_TEXT
    assert result.structured_content == {"result": REDACTED_TEXT}
    _, result = called(mcp_server(REDACTS), "leaking")
    assert result.is_error and REDACTED_TEXT in result.content[0].text and "tide" not in str(result)
    _, result = called(mcp_server(REDACTS), "broken")
    assert result.is_error and SECRET in result.content[0].text


def test_fastmcp_drops_a_text_next_to_structured_content():
    _, result = called(mcp_server(tamis.Program(exclude=["user"], root="object")), "both")
    assert not result.is_error and result.content == []
    assert result.structured_content == {"id": 0, "title": "t0", "node_id": "x"}


# LangChain and LangGraph


def langchain_tools():
    from langchain_core.tools import tool

    @tool
    def issues(state: str) -> list:
        """List issues."""
        return [{**issue, "state": state} for issue in ISSUES]

    @tool
    def text() -> str:
        """Return text."""
        return SECRET

    @tool
    def broken() -> str:
        """Fail."""
        raise ValueError(SECRET)

    @tool
    def leaking() -> str:
        """Fail with a secret."""
        raise ValueError(TOKEN_TEXT)

    return {"issues": issues, "text": text, "broken": broken, "leaking": leaking}


def test_langchain_redacts():
    from langchain_core.tools import ToolException, tool
    from tamis.adapters.langchain import filter_tool

    @tool
    def token() -> str:
        """Return text."""
        return TOKEN_TEXT

    assert filter_tool(token, REDACTS).invoke({}) == REDACTED_TEXT
    with pytest.raises(ToolException) as caught:
        filter_tool(langchain_tools()["leaking"], REDACTS).invoke({})
    assert str(caught.value) == REDACTED_TEXT
    with pytest.raises(ValueError, match=SECRET):
        filter_tool(langchain_tools()["broken"], REDACTS).invoke({})


def test_langchain_tool():
    from tamis.adapters.langchain import filter_tool

    tools = langchain_tools()
    issues = filter_tool(tools["issues"], SAVES)
    assert (issues.name, issues.args) == ("issues", tools["issues"].args)
    assert issues.invoke({"state": "open"}) == KEPT
    assert asyncio.run(issues.ainvoke({"state": "open"})) == KEPT
    call = {"name": "issues", "args": {"state": "open"}, "id": "c1", "type": "tool_call"}
    message = issues.invoke(call)
    assert (message.tool_call_id, json.loads(message.content)) == ("c1", KEPT)
    assert filter_tool(tools["text"], SAVES).invoke({}) == SECRET
    with pytest.raises(tamis.Error, match="did you mean `isues`"):
        filter_tool(tools["issues"], {"isues": REMOVES})


@pytest.mark.parametrize("name", ["text", "broken"])
def test_langchain_tool_fails_closed(name):
    from langchain_core.tools import ToolException
    from tamis.adapters.langchain import filter_tool

    with pytest.raises(ToolException, match="withheld") as caught:
        filter_tool(langchain_tools()[name], REMOVES).invoke({})
    assert SECRET not in str(caught.value)


class ToolCaller:
    """Make a model of langchain-core that calls a tool once and then ends."""

    def __new__(cls, tool, arguments):
        from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
        from langchain_core.messages import AIMessage

        class Model(GenericFakeChatModel):
            def bind_tools(self, tools, **kwargs):
                return self

        call = {"name": tool, "args": arguments, "id": "c1", "type": "tool_call"}
        return Model(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))


@pytest.mark.parametrize("wrapped", [True, False], ids=["tool", "middleware"])
@pytest.mark.parametrize("name, arguments", [("issues", {"state": "open"}), ("text", {})])
def test_langgraph_agent(wrapped, name, arguments):
    tool = langchain_tools()[name]
    from langchain.agents import create_agent
    from tamis.adapters.langchain import FilterMiddleware, filter_tool

    for rules, is_closed in ((SAVES, False), (REMOVES, True)):
        tools = [filter_tool(tool, rules)] if wrapped else [tool]
        middleware = [] if wrapped else [FilterMiddleware(rules)]
        agent = create_agent(ToolCaller(name, arguments), tools, middleware=middleware)

        content = agent.invoke({"messages": [("user", "go")]})["messages"][2].content
        if name == "text":
            assert ("withheld" in content) if is_closed else (content == SECRET)
        else:
            assert "node_id" not in content if rules is SAVES else "mira" not in content


def test_the_middleware_withholds_messages_of_failures():
    tool = langchain_tools()["broken"]
    from langchain.agents import create_agent
    from langchain_core.tools import ToolException
    from tamis.adapters.langchain import FilterMiddleware

    for rules, kind, message in ((SAVES, ValueError, SECRET), (REMOVES, ToolException, "withheld")):
        agent = create_agent(ToolCaller("broken", {}), [tool], middleware=[FilterMiddleware(rules)])
        with pytest.raises(kind, match=message):
            agent.invoke({"messages": [("user", "go")]})


def command_tools():
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import InjectedToolCallId, tool
    from langgraph.types import Command

    @tool
    def updates(id: Annotated[str, InjectedToolCallId]) -> Command:
        """Update the state."""
        return Command(update={"messages": [ToolMessage(json.dumps(ISSUES), tool_call_id=id)]})

    @tool
    def several(id: Annotated[str, InjectedToolCallId]) -> list:
        """Update the state in several ways, and return a message."""
        message = ToolMessage(json.dumps(ISSUES), tool_call_id=id)
        updates = ({"note": "kept"}, [message], [("messages", [message])])
        return [*(Command(update=update) for update in updates), message]

    return {"updates": updates, "several": several}


@pytest.mark.parametrize("wrapped", [True, False], ids=["tool", "middleware"])
def test_langgraph_commands(wrapped):
    name = "updates"
    tool = command_tools()[name]
    from langchain.agents import create_agent
    from tamis.adapters.langchain import FilterMiddleware, filter_tool

    for rules in (SAVES, REMOVES):
        tools = [filter_tool(tool, rules)] if wrapped else [tool]
        middleware = [] if wrapped else [FilterMiddleware(rules)]
        agent = create_agent(ToolCaller(name, {}), tools, middleware=middleware)
        content = agent.invoke({"messages": [("user", "go")]})["messages"][2].content
        assert json.loads(content) == (KEPT if rules is SAVES else WITHOUT_USER)


def test_langchain_lists_of_commands():
    from tamis.adapters.langchain import filter_tool

    call = {"name": "several", "args": {}, "id": "c1", "type": "tool_call"}
    state, messages, pairs, message = filter_tool(command_tools()["several"], REMOVES).invoke(call)
    assert state.update == {"note": "kept"}
    for found in (messages.update[0], pairs.update[0][1][0], message):
        assert json.loads(found.content) == WITHOUT_USER


def test_langchain_run():
    from langchain_core.tools import tool
    from tamis.adapters.langchain import filter_tool

    @tool(response_format="content_and_artifact")
    def issues() -> tuple:
        """List issues, with an artifact."""
        return json.dumps(ISSUES), {"rows": 3}

    filtered = filter_tool(issues, SAVES)
    assert json.loads(filtered.run({})) == KEPT
    assert json.loads(asyncio.run(filtered.arun({}))) == KEPT
    call = {"name": "issues", "args": {}, "id": "c1", "type": "tool_call"}
    message = filtered.invoke(call)
    assert (json.loads(message.content), message.artifact) == (KEPT, {"rows": 3})


# OpenAI Agents


@dataclasses.dataclass
class Issue:
    user: str = SECRET


def test_openai_agents_results_of_other_types():
    import agents
    from agents.tool_context import ToolContext
    from tamis.adapters.openai_agents import filter_tool

    def call(result, rules):
        @agents.function_tool
        def one() -> Any:
            """Return a result."""
            return result

        context = ToolContext(context=None, tool_name="one", tool_call_id="c1", tool_arguments="{}")
        return asyncio.run(filter_tool(one, rules).on_invoke_tool(context, "{}"))

    class Odd:
        def __str__(self) -> str:
            return SECRET

    # The SDK writes an object as `str` does, which no rule can read.
    for result in (Odd(), (1, SECRET), {"x": Odd()}):
        assert "withheld" in call(result, REMOVES)
        assert call(result, SAVES) == result
    # A dataclass has a form in JSON.
    assert call(Issue(), REMOVES) == "{}"
    assert [call(result, REMOVES) for result in (None, True, 3, 1.5)] == [None, True, 3, 1.5]
    image = agents.ToolOutputImage(image_url="data:image/png;base64,AA==")
    file = agents.ToolOutputFileContent(file_id="f1")
    text = agents.ToolOutputText(text=json.dumps(ISSUES))
    assert call(image, REMOVES) is image and call(file, REMOVES) is file
    found = call([image, text], REMOVES)
    assert found[0] is image and json.loads(found[1].text) == WITHOUT_USER
    assert call({"type": "image", "image_url": "u", "user": SECRET}, REMOVES) == compact({"type": "image", "image_url": "u"})
    image_members = {"type": "image", "image_url": "u", "detail": "low"}
    assert call(image_members, REMOVES) == image_members


def test_openai_agents():
    import agents
    from tamis.adapters.openai_agents import filter_tool

    @agents.function_tool
    def issues() -> list:
        """List issues."""
        return ISSUES

    @agents.function_tool
    def text() -> str:
        """Return text."""
        return SECRET

    @agents.function_tool
    def blocks() -> agents.ToolOutputText:
        """Return a block."""
        return agents.ToolOutputText(text=json.dumps(ISSUES))

    @agents.function_tool(failure_error_function=None)
    def broken() -> str:
        """Fail."""
        raise ValueError(SECRET)

    def call(tool, rules):
        from agents.tool_context import ToolContext

        context = ToolContext(context=None, tool_name=tool.name, tool_call_id="c1", tool_arguments="{}")
        return asyncio.run(filter_tool(tool, rules).on_invoke_tool(context, "{}"))

    assert call(issues, SAVES) == compact(KEPT)
    assert call(text, SAVES) == SECRET
    assert call(blocks, SAVES).text == compact(KEPT)
    assert "mira" not in call(issues, REMOVES)
    with pytest.raises(ValueError, match=SECRET):
        call(broken, SAVES)
    for tool in (text, broken):
        assert "withheld" in call(tool, REMOVES)
    assert filter_tool(issues, SAVES).params_json_schema == issues.params_json_schema
    with pytest.raises(tamis.Error, match="did you mean `isues`"):
        filter_tool(issues, {"isues": REMOVES})


def outputs_of_mcp(rules, contents):
    """Return what the model gets of the results of tools of an MCP server, by their names."""
    import agents
    import mcp.types
    from agents.mcp import MCPServer
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage
    from tamis.adapters.openai_agents import output_guardrail

    class Server(MCPServer):
        name = "server"

        async def connect(self):
            pass

        async def cleanup(self):
            pass

        async def list_tools(self, run_context=None, agent=None):
            return [mcp.types.Tool(name=name, inputSchema={"type": "object", "properties": {}}) for name in contents]

        async def call_tool(self, tool_name, arguments, meta=None):
            return mcp.types.CallToolResult(content=contents[tool_name])

        async def list_prompts(self):
            raise NotImplementedError

        async def get_prompt(self, name, arguments=None):
            raise NotImplementedError

    class Model(agents.Model):
        inputs = None

        async def get_response(self, system_instructions, input, *args, **kwargs):
            type(self).inputs = input
            done = isinstance(input, list) and len(input) > 1
            calls = [
                ResponseFunctionToolCall(type="function_call", call_id=name, name=name, arguments="{}") for name in contents
            ]
            text = {"type": "output_text", "text": "done", "annotations": []}
            message = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
            output = [ResponseOutputMessage.model_validate(message)] if done else calls
            return agents.ModelResponse(output=output, usage=agents.Usage(), response_id=None)

        def stream_response(self, *args, **kwargs):
            raise NotImplementedError

    agents.set_tracing_disabled(True)
    server = Server(tool_output_guardrails=[output_guardrail(rules)])
    agent = agents.Agent(name="a", model=Model(), mcp_servers=[server])
    asyncio.run(agents.Runner.run(agent, "go"))
    found = [item for item in Model.inputs if item.get("type") == "function_call_output"]
    return {item["call_id"]: item["output"] for item in found}


def test_openai_agents_guardrail():
    import mcp.types

    text = mcp.types.TextContent(type="text", text=compact(ISSUES))
    image = mcp.types.ImageContent(type="image", data="AAAA", mimeType="image/png")
    uri = "https://example.org/issues.json"
    inner = mcp.types.TextResourceContents(uri=uri, mimeType="application/json", text=compact(ISSUES))
    resource = mcp.types.EmbeddedResource(type="resource", resource=inner)
    contents = {
        "one": [text],
        "two": [text, text],
        "image": [text, image],
        "resource": [resource],
        "plain": [mcp.types.TextContent(type="text", text=SECRET)],
    }
    found = outputs_of_mcp(SAVES, contents)
    assert found["one"] == compact(KEPT) and found["two"] == f"{compact(KEPT)}\n{compact(KEPT)}"
    assert "mira" in str(found["image"]) and SECRET in str(found["plain"])
    assert json.loads(json.loads(found["resource"])["resource"]["text"]) == KEPT
    found = outputs_of_mcp(REMOVES, contents)
    assert "mira" not in str(found) and SECRET not in str(found)
    assert found["image"] == f"{compact(WITHOUT_USER)}\n(left out: 1 without text)"
    assert "withheld" in found["plain"]
    # The SDK may have a form for an output that is not known yet.
    from agents import ToolOutputGuardrailData
    from agents.tool_context import ToolContext
    from tamis.adapters.openai_agents import output_guardrail

    context = ToolContext(context=None, tool_name="t", tool_call_id="1", tool_arguments="{}")
    output = [{"type": "text", "text": compact(ISSUES)}, {"type": "video", "data": "x"}]
    data = ToolOutputGuardrailData(context=context, agent=None, output=output)
    message = asyncio.run(output_guardrail(REMOVES).run(data)).behavior["message"]
    assert "mira" not in message and compact(WITHOUT_USER) in message
    # Only the tools of a mapping are filtered.
    found = outputs_of_mcp({"two": REMOVES}, contents)
    assert "mira" in str(found["one"]) and "mira" not in str(found["two"])


# Bodies


def test_a_body_that_cannot_be_filtered():
    wrong = [b'[{"id": 1, "x": 2}, ', b"oops]"]

    def run(body):
        output = b"".join(body.write(chunk) for chunk in wrong)
        return output + body.end()

    assert run(BodyFilter(SAVES)) == b"".join(wrong)
    for body in (BodyFilter(REMOVES), BodyFilter(SAVES, buffered=5)):
        with pytest.raises(tamis.Error):
            run(body)


# httpx


def httpx_responses(httpx):
    body = json.dumps(ISSUES).encode()

    def handle(request):
        path = request.url.path
        json_type = {"content-type": "application/json; charset=utf-8"}
        if path == "/gzip":
            return httpx.Response(200, headers=json_type | {"content-encoding": "gzip"}, content=gzip.compress(body))
        if path == "/text":
            return httpx.Response(200, headers={"content-type": "text/plain"}, content=body)
        if path == "/wrong":
            return httpx.Response(200, headers=json_type, content=SECRET)
        if path == "/failed":
            return httpx.Response(404, headers=json_type, content=b'{"error": "no", "user": 1}')
        return httpx.Response(200, headers=json_type, content=body)

    return httpx.MockTransport(handle)


def test_httpx():
    import httpx
    from tamis.adapters.httpx import AsyncFilterTransport, FilterTransport

    base = "https://api.test"

    def get(path, rules):
        with httpx.Client(transport=FilterTransport(rules, httpx_responses(httpx))) as client:
            return client.get(base + path)

    async def fetch(path, rules):
        transport = AsyncFilterTransport(rules, httpx_responses(httpx))
        async with httpx.AsyncClient(transport=transport) as client:
            return await client.get(base + path)

    for ask in (get, lambda path, rules: asyncio.run(fetch(path, rules))):
        for path in ("/issues?page=1", "/gzip"):
            response = ask(path, SAVES)
            assert response.json() == KEPT
            assert "content-encoding" not in response.headers
        assert ask("/text", SAVES).json() == ISSUES
        assert ask("/wrong", SAVES).text == SECRET
        assert ask("/failed", SAVES).json() == {"error": "no", "user": 1}
        assert ask("/failed", REMOVES).json() == {"error": "no"}
        assert ask("/issues?page=1", {f"{base}/issues": SAVES}).json() == KEPT
        assert ask("/other", {f"{base}/issues*": SAVES}).json() == ISSUES
        assert ask("/issues", lambda request: SAVES if request.method == "GET" else None).json() == KEPT
        with pytest.raises(tamis.Error):
            ask("/wrong", REMOVES)


# ASGI


def test_asgi(tmp_path):
    import httpx
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
    from starlette.routing import Route
    from tamis.adapters.asgi import FilterMiddleware

    async def issues(request):
        return JSONResponse(ISSUES)

    async def streamed(request):
        async def chunks():
            for byte in json.dumps(ISSUES).encode():
                yield bytes([byte])

        return StreamingResponse(chunks(), media_type="application/json")

    async def wrong(request):
        return Response(SECRET, media_type="application/json")

    async def coded(request):
        return Response(SECRET, media_type="application/json", headers={"content-encoding": "br"})

    async def failed(request):
        return JSONResponse({"error": "no", "user": 1}, status_code=404)

    async def text(request):
        return PlainTextResponse("plain")

    async def empty(request):
        return Response(status_code=204)

    async def file(request):
        return FileResponse(stored, media_type="application/json")

    stored = tmp_path / "issues.json"
    stored.write_text(json.dumps(ISSUES))
    handlers = [issues, streamed, wrong, coded, failed, text, empty, file]

    def get(path, rules):
        routes = [Route(f"/{handler.__name__}", handler) for handler in handlers]
        app = Starlette(routes=routes, middleware=[Middleware(FilterMiddleware, rules=rules)])

        async def ask():
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                async with client.stream("GET", path) as response:
                    body = b"".join([chunk async for chunk in response.aiter_raw()])
                    return SimpleNamespace(status=response.status_code, headers=response.headers, body=body)

        return asyncio.run(ask())

    for path in ("/issues", "/streamed"):
        response = get(path, {"/[is]*": SAVES})
        assert (response.status, json.loads(response.body)) == (200, KEPT)
        assert "content-length" not in response.headers
        assert b"mira" not in get(path, REMOVES).body
    assert json.loads(get("/issues", {"/other": SAVES}).body) == ISSUES
    assert get("/text", SAVES).body == b"plain"
    assert get("/text", REMOVES).status == 502
    assert get("/empty", REMOVES).status == 204
    assert json.loads(get("/failed", REMOVES).body) == {"error": "no"}
    for path in ("/wrong", "/coded"):
        response = get(path, SAVES)
        assert (response.status, response.body) == (200, SECRET.encode())
        response = get(path, REMOVES)
        assert response.status == 502 and SECRET.encode() not in response.body
    # A server that sends files itself.
    extensions = {"http.response.pathsend": {}, "http.response.zerocopysend": {}, "http.response.debug": {}}
    assert json.loads(get("/file", SAVES).body) == KEPT
    sent = asyncio.run(asgi_messages(FilterMiddleware(FileResponse(stored, media_type="application/json"), REMOVES), extensions))
    assert [message["type"] for message in sent][:2] == ["http.response.start", "http.response.body"]
    assert json.loads(b"".join(message.get("body", b"") for message in sent)) == WITHOUT_USER
    plain = asyncio.run(asgi_messages(FilterMiddleware(FileResponse(stored), {}), extensions))
    assert plain[1]["type"] == "http.response.pathsend"


async def asgi_messages(app, extensions):
    """Return what an application sends to a server with these extensions."""
    sent = []
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b"", "extensions": extensions}

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent
