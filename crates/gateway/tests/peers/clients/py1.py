"""The client of the `mcp` package 1.x.   py1.py PLAN SERVER stdio COMMAND ARG…   or   py1.py PLAN SERVER http URL"""

import contextlib
import os

import anyio
import mcp.types as types
import scenario
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


class Adapter:
    def __init__(self, mode, target):
        self.mode = mode
        self.target = target
        self.updates = []

    async def on_sampling(self, context, params):
        return types.CreateMessageResult.model_validate(scenario.SAMPLED)

    async def on_elicitation(self, context, params):
        return types.ElicitResult.model_validate(scenario.fill_in(params))

    async def on_roots(self, context):
        return types.ListRootsResult.model_validate(scenario.ROOTS)

    async def on_log(self, params):
        scenario.emit({"step": "log", "data": params.data})

    async def on_message(self, message):
        if isinstance(message, types.ServerNotification) and isinstance(message.root, types.ResourceUpdatedNotification):
            self.updates.append(str(message.root.params.uri))

    @contextlib.asynccontextmanager
    async def connect(self):
        if self.mode == "stdio":
            parameters = StdioServerParameters(command=self.target[0], args=self.target[1:], env=dict(os.environ))
            transport = stdio_client(parameters)
        else:
            transport = streamable_http_client(self.target[0])
        async with transport as streams, ClientSession(
            streams[0], streams[1],
            sampling_callback=self.on_sampling,
            elicitation_callback=self.on_elicitation,
            list_roots_callback=self.on_roots,
            logging_callback=self.on_log,
            message_handler=self.on_message,
            client_info=types.Implementation(name="tamis-test-py1", version="1.0.0"),
        ) as self.session:
            self.started = scenario.plain(await self.session.initialize())
            yield

    def about(self):
        return {
            "server": self.started["serverInfo"],
            "capabilities": self.started["capabilities"],
            "instructions": self.started.get("instructions"),
            "protocol": self.started["protocolVersion"],
        }

    async def list(self, kind, cursor):
        method = {
            "tools": self.session.list_tools,
            "resources": self.session.list_resources,
            "templates": self.session.list_resource_templates,
            "prompts": self.session.list_prompts,
        }[kind]
        return await method(params=types.PaginatedRequestParams(cursor=cursor)) if cursor is not None else await method()

    async def call(self, name, arguments, progress):
        return await self.session.call_tool(name, arguments, progress_callback=progress)

    async def cancelled_call(self, name, arguments, seconds):
        # This line of the package cancels nothing by itself: the notification is sent here.
        number = self.session._request_id
        with anyio.fail_after(seconds):
            try:
                await self.session.call_tool(name, arguments)
            except anyio.get_cancelled_exc_class():
                with anyio.CancelScope(shield=True):
                    params = types.CancelledNotificationParams(requestId=number, reason="test")
                    note = types.CancelledNotification(method="notifications/cancelled", params=params)
                    await self.session.send_notification(types.ClientNotification(note))
                raise

    async def task(self, name, arguments):
        started = await self.session.experimental.call_tool_as_task(name, arguments, ttl=60000)
        task_id = started.task.taskId
        async for state in self.session.experimental.poll_task(task_id):
            if state.status in ("completed", "failed", "cancelled"):
                break
        result = await self.session.experimental.get_task_result(task_id, types.CallToolResult)
        return {"result": scenario.plain(result), "status": state.status}

    async def read(self, uri):
        return await self.session.read_resource(uri)

    async def prompt(self, name, arguments):
        return await self.session.get_prompt(name, arguments)

    async def complete(self, ref, argument):
        return await self.session.complete(types.PromptReference.model_validate(ref), argument)

    @contextlib.asynccontextmanager
    async def watch(self, uri):
        await self.session.subscribe_resource(uri)
        yield


scenario.main(Adapter)
