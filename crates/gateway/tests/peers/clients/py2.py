"""The client of the `mcp` package 2.x.   py2.py PLAN SERVER stdio COMMAND ARG…   or   py2.py PLAN SERVER http URL

TAMIS_ERA chooses the era: legacy, auto (the default: modern if the server has it) or a version.
"""

import asyncio
import contextlib
import logging
import os
import warnings

import mcp_types as types
import scenario
from mcp import Client, StdioServerParameters

warnings.simplefilter("ignore")
logging.disable(logging.INFO)


class Adapter:
    def __init__(self, mode, target):
        self.server = target[0]
        if mode == "stdio":
            self.server = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
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
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updates.append(str(message.params.uri))

    @contextlib.asynccontextmanager
    async def connect(self):
        async with Client(
            self.server,
            mode=os.environ.get("TAMIS_ERA", "auto"),
            log_level="info",
            cache=None,
            sampling_callback=self.on_sampling,
            elicitation_callback=self.on_elicitation,
            list_roots_callback=self.on_roots,
            logging_callback=self.on_log,
            message_handler=self.on_message,
            client_info=types.Implementation(name="tamis-test-py2", version="1.0.0"),
        ) as self.client:
            yield

    def about(self):
        return {
            "server": scenario.plain(self.client.server_info),
            "capabilities": scenario.plain(self.client.server_capabilities),
            "instructions": self.client.instructions,
            "protocol": self.client.protocol_version,
        }

    async def list(self, kind, cursor):
        method = {
            "tools": self.client.list_tools,
            "resources": self.client.list_resources,
            "templates": self.client.list_resource_templates,
            "prompts": self.client.list_prompts,
        }[kind]
        return await method(cursor=cursor)

    async def call(self, name, arguments, progress):
        return await self.client.call_tool(name, arguments, progress_callback=progress)

    async def cancelled_call(self, name, arguments, seconds):
        await asyncio.wait_for(self.client.call_tool(name, arguments), seconds)

    async def task(self, name, arguments):
        return None

    async def read(self, uri):
        return await self.client.read_resource(uri)

    async def prompt(self, name, arguments):
        return await self.client.get_prompt(name, arguments)

    async def complete(self, ref, argument):
        return await self.client.complete(types.PromptReference.model_validate(ref), argument)

    @contextlib.asynccontextmanager
    async def watch(self, uri):
        if self.client.protocol_version < "2026":
            await self.client.subscribe_resource(uri)
            yield
            return
        async with self.client.listen(resource_subscriptions=[uri]) as subscription:
            async def collect():
                async for event in subscription:
                    self.updates.append(getattr(event, "uri", None))

            task = asyncio.create_task(collect())
            try:
                yield
            finally:
                task.cancel()


scenario.main(Adapter)
