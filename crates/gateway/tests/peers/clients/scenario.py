"""The scenario that both Python clients play. It prints one JSON object a line for each step, with what the client saw.

An adapter hides the differences of the two lines of the package:

    connect()                                       async context manager; sets what the other methods use
    about()                                         server, capabilities, instructions and protocol version
    list(kind, cursor)                              one page of tools, resources, templates or prompts
    call(name, arguments, progress)                 tools/call
    cancelled_call(name, arguments, seconds)        tools/call that is cancelled after some time
    task(name, arguments)                           tools/call as a task and its result
    read(uri), prompt(name, arguments), complete(ref, argument)
    watch(uri)                                      async context manager; asks for changes of a resource
    updates                                         list of URIs of resources that changed
"""

import asyncio
import hashlib
import json
import os
import re
import sys
import time

HANDLE = re.compile(r"tm_[a-z2-7]{26}")
MEMBERS = {"tools": "tools", "resources": "resources", "templates": "resourceTemplates", "prompts": "prompts"}


LARGE = 200_000


def emit(step):
    """Prints a step. A large result is replaced by its size and its hash."""
    text = json.dumps(step.get("result"), ensure_ascii=False, sort_keys=True)
    if len(text) > LARGE:
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        step = {**step, "result": {"bytes": len(text), "digest": digest, "isError": step["result"].get("isError", False)}}
    print(json.dumps(step, ensure_ascii=False), flush=True)


def plain(value):
    """A model of the package as the dictionary that was on the wire."""
    return value.model_dump(by_alias=True, mode="json", exclude_none=True) if hasattr(value, "model_dump") else value


SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "a sampled text"}, "model": "test-model"}
ROOTS = {"roots": [{"uri": "file://" + os.environ.get("TAMIS_ROOT", "/tmp"), "name": "scratch"}]}


def fill_in(params):
    """An accepted form with the defaults, and with a value for each other property that is required."""
    schema = plain(params).get("requestedSchema", {})
    content = {}
    for name, rules in schema.get("properties", {}).items():
        if "default" in rules:
            content[name] = rules["default"]
        elif name in schema.get("required", []):
            values = {"boolean": True, "integer": 7, "number": 7}
            content[name] = rules["enum"][0] if "enum" in rules else values.get(rules.get("type"), "Ada")
    return {"action": "accept", "content": content}


def failure(error):
    """The innermost error of a group, with its code if it has one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    data = getattr(error, "error", None)
    return {"error": {"code": getattr(data, "code", None), "message": str(error)[:500]}}


async def attempt(step, action):
    try:
        result = await asyncio.wait_for(action, 25)
        emit({**step, "result": result})
        return result
    except Exception as error:  # The scenario goes on: each step is reported by itself.
        emit({**step, **failure(error)})
        return None


async def pages(adapter, kind):
    entries, cursor, count = [], None, 0
    while True:
        result = plain(await adapter.list(kind, cursor))
        entries += result[MEMBERS[kind]]
        cursor = result.get("nextCursor")
        count += 1
        if cursor is None or count == 100:
            return {"pages": count, "entries": entries}


async def calls(adapter, plan, names):
    handles = []
    for call in plan.get("calls", []):
        tool, given = call["tool"], call["arguments"]
        if tool not in names and not tool.startswith("no-such"):
            continue
        progress = []

        async def on_progress(done, total, message=None):
            progress.append([done, total])

        async def run():
            result = plain(await adapter.call(tool, given, on_progress))
            if found := HANDLE.search(json.dumps(result)):
                handles.append((tool, json.dumps(given), found.group()))
            return result

        step = {"step": "call", "tool": tool, "arguments": given, "progress": progress}
        await attempt({**step, **({"varies": True} if call.get("varies") else {})}, run())
    return handles


async def retrieve(adapter, plan, handles):
    for case in plan.get("retrieve", []):
        step = {"step": "retrieve", "tool": case["tool"], "match": case["match"], "arguments": case["arguments"]}
        handle = next((handle for tool, text, handle in handles if tool == case["tool"] and case["match"] in text), None)
        step["handle"] = handle is not None
        if handle is None:
            emit({**step, "ok": False})
            continue
        try:
            result = plain(await adapter.call("tamis_retrieve", {"handle": handle, **case["arguments"]}, None))
            ok = not result.get("isError") and case["expect"] in json.dumps(result)
            emit({**step, "ok": ok, **({} if ok else {"result": result})})
        except Exception as error:
            emit({**step, "ok": False, **failure(error)})


async def cancel(adapter, case):
    started = time.monotonic()
    outcome = "a result"
    try:
        await adapter.cancelled_call(case["tool"], case["arguments"], case["after_ms"] / 1000)
    except Exception:
        outcome = "an error"
    emit({"step": "cancel", "tool": case["tool"], "outcome": outcome, "quick": time.monotonic() - started < 5})


async def subscribe(adapter, case):
    async def run():
        async with adapter.watch(case["uri"]):
            await adapter.call(case["trigger"], {}, None)
            for _ in range(30):
                if adapter.updates:
                    return {"updated": adapter.updates[0]}
                await asyncio.sleep(0.1)
        return {"updated": None}

    await attempt({"step": "subscribe", "uri": case["uri"]}, run())


async def dumped(awaitable):
    return plain(await awaitable)


async def steps(adapter, plan):
    emit({"step": "connect", **adapter.about()})
    listing = await attempt({"step": "tools"}, pages(adapter, "tools"))
    names = {tool["name"] for tool in listing["entries"]} if listing else set()
    handles = await calls(adapter, plan, names)
    if "tamis_retrieve" in names:
        await retrieve(adapter, plan, handles)
    for case in plan.get("tasks", []):
        if case["tool"] in names:
            await attempt({"step": "task", "tool": case["tool"]}, adapter.task(case["tool"], case["arguments"]))
    if "cancel" in plan:
        await cancel(adapter, plan["cancel"])
    if "subscribe" in plan:
        await subscribe(adapter, plan["subscribe"])
    if "resources" in plan:
        listing = await attempt({"step": "resources"}, pages(adapter, "resources"))
        uris = [entry["uri"] for entry in listing["entries"]][: plan["resources"]] if listing else []
        await attempt({"step": "templates"}, pages(adapter, "templates"))
        for uri in uris + plan.get("read", []):
            await attempt({"step": "read", "uri": uri}, dumped(adapter.read(uri)))
    if "prompts" in plan:
        await attempt({"step": "prompts"}, pages(adapter, "prompts"))
        for prompt in plan["prompts"]:
            await attempt({"step": "prompt", "name": prompt["name"]}, dumped(adapter.prompt(prompt["name"], prompt.get("arguments"))))
    if "complete" in plan:
        case = plan["complete"]
        await attempt({"step": "complete"}, dumped(adapter.complete(case["ref"], case["argument"])))


async def play(make_adapter):
    plan_file, server, mode, *target = sys.argv[1:]
    with open(plan_file) as file:
        plan = json.load(file)[server]
    adapter = make_adapter(mode, target)
    async with asyncio.timeout(120), adapter.connect():
        await steps(adapter, plan)
    emit({"step": "closed"})


def main(make_adapter):
    try:
        asyncio.run(play(make_adapter))
    except TimeoutError:
        emit({"step": "timeout"})
        sys.exit(3)
