#!/usr/bin/env python3
"""Writes the sessions of this folder again: the same made-up work, as each agent records it.

    crates/replay/tests/sessions/make.py

The shapes are those that the agents wrote against a scripted model; the first lines of crates/replay/src/transcript/*.rs name the
versions. The content is invented. Members that the reader does not use are left out, but for a few.
"""

import json
import pathlib
import sqlite3

HERE = pathlib.Path(__file__).resolve().parent

TEST = (
    "   Compiling berths v0.3.1 (/srv/berths)\n"
    "    Finished `test` profile [unoptimized + debuginfo] target(s) in 1.42s\n"
    "     Running unittests src/lib.rs (target/debug/deps/berths-5d1f0c2a9b7e4413)\n\nrunning 42 tests\n"
    + "".join(f"test plan::case_{n:02} ... ok\n" for n in range(41))
    + "test plan::width_of_berth ... FAILED\n\nfailures:\n\n---- plan::width_of_berth stdout ----\n\n"
    "thread 'plan::width_of_berth' panicked at src/plan.rs:38:9:\nassertion `left == right` failed\n  left: 1840\n right: 1860\n"
    "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\nfailures:\n    plan::width_of_berth\n\n"
    "test result: FAILED. 41 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s\n\n"
    "error: test failed, to rerun pass `--lib`\n"
)
SOURCE = [
    "pub fn width_of_berth(ships: &[Ship]) -> u32 {",
    "    let reserve = FENDER_WIDTH * 2;",
    "    ships.iter().map(|ship| ship.beam_mm).sum::<u32>() + reserve",
    "}",
]
OLD, NEW = SOURCE[1].strip(), "let reserve = FENDER_WIDTH * 4;"
LOG = "".join(f"2026-03-0{1 + n % 9} 10:{n % 60:02} INFO  berth {n} is free, checked by port-agent\n" for n in range(60))
LOG += "2026-03-09 11:02 WARN  gauge 7 reports 2.14.7, expected 2.15.0; see https://harbour.example/gauges/7\n"
ISSUES = {
    "items": [
        {"id": 90210 + n, "node_id": f"N_{n:08}", "title": f"Berth {n} is too narrow", "assignee": None, "labels": []}
        for n in range(12)
    ],
    "total": 12,
}
ANSWER = "The gauge in 2.14.7 is wrong. I have changed src/plan.rs; issue 90214 can be closed."

# (agent's tool, arguments, output, exit code) of each step, and what the model says before it.
STEPS = [
    ("Running the tests.", "shell", "cargo test", TEST, 101),
    ("The test width_of_berth fails in src/plan.rs: 1840 instead of 1860.", "read", "src/plan.rs", SOURCE, 0),
    ("", "edit", (OLD, NEW), "The file src/plan.rs has been updated.", 0),
    ("", "shell", "cat port.log", LOG, 0),
    ("", "mcp", "list", json.dumps(ISSUES), 0),
]
# The tokens of each request: input, written to the cache, read from it, output.
USAGE = [(12, 9000, 0, 80), (8, 1400, 9000, 120), (8, 300, 10400, 90), (8, 200, 10700, 60), (8, 2100, 10900, 50), (8, 600, 13000, 150)]


def write(name, lines):
    path = HERE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def claude():
    lines, number = [{"type": "queue-operation", "operation": "enqueue", "sessionId": "s1", "content": "Fix the test."}], 0

    def line(kind, message, **more):
        nonlocal number
        number += 1
        lines.append({"type": kind, "message": message, "uuid": f"u{number}", "sessionId": "s1", "version": "2.1.332", **more})

    def assistant(step, block):
        i, w, r, o = USAGE[step]
        usage = {"input_tokens": i, "cache_creation_input_tokens": w, "cache_read_input_tokens": r, "output_tokens": o}
        message = {"id": f"msg_{step}", "role": "assistant", "model": "claude-opus-5", "content": [block], "usage": usage}
        line("assistant", message)

    line("user", {"role": "user", "content": "Fix the test."})
    for step, (says, tool, what, output, code) in enumerate(STEPS):
        if says:
            assistant(step, {"type": "text", "text": says})
        name, arguments = {
            "shell": ("Bash", {"command": what, "description": "Runs it"}),
            "read": ("Read", {"file_path": "/srv/berths/src/plan.rs"}),
            "edit": ("Edit", {"file_path": "/srv/berths/src/plan.rs", "old_string": OLD, "new_string": NEW}),
            "mcp": ("mcp__tracker__list", {"state": "open"}),
        }[tool]
        assistant(step, {"type": "tool_use", "id": f"toolu_{step}", "name": name, "input": arguments})
        text = "".join(f"{n}\t{row}\n" for n, row in enumerate(output, 1)) if tool == "read" else output
        if tool == "shell":
            text = (f"Exit code {code}\n" if code else "") + text.rstrip("\n")
        block = {"tool_use_id": f"toolu_{step}", "type": "tool_result", "content": text, "is_error": code != 0}
        line("user", {"role": "user", "content": [block]})
    assistant(len(STEPS), {"type": "text", "text": ANSWER})
    write("claude-code/-srv-berths/s1.jsonl", lines)
    # A line that is not valid, as a process that was killed leaves it.
    with open(HERE / "claude-code/-srv-berths/s1.jsonl", "a") as file:
        file.write('{"type":"assistant","message":{"id":"msg_9"')


def codex():
    def line(kind, payload):
        lines.append({"timestamp": "2026-03-09T10:00:00Z", "type": kind, "payload": payload})

    lines = []
    line("session_meta", {"id": "s2", "cli_version": "0.171.0", "base_instructions": {"text": "You are a coding agent."}})
    line("turn_context", {"model": "gpt-6", "cwd": "/srv/berths"})
    user = [{"type": "input_text", "text": "Fix the test."}]
    line("response_item", {"type": "message", "role": "user", "content": user})
    for step, (says, tool, what, output, code) in enumerate(STEPS):
        call = f"call_{step}"
        if says:
            content = [{"type": "output_text", "text": says}]
            line("response_item", {"type": "message", "role": "assistant", "content": content})
        if tool == "edit":
            patch = f"*** Begin Patch\n*** Update File: src/plan.rs\n@@\n-    {OLD}\n+    {NEW}\n*** End Patch\n"
            line("response_item", {"type": "custom_tool_call", "call_id": call, "name": "apply_patch", "input": patch})
        elif tool == "mcp":
            payload = {"type": "function_call", "call_id": call, "name": "list", "namespace": "mcp__tracker", "arguments": '{"state": "open"}'}
            line("response_item", payload)
        else:
            command = what if tool == "shell" else "cat src/plan.rs"
            arguments = json.dumps({"cmd": command, "yield_time_ms": 30000})
            line("response_item", {"type": "function_call", "call_id": call, "name": "exec_command", "arguments": arguments})
        i, w, r, o = USAGE[step]
        usage = {"input_tokens": i + w + r, "cached_input_tokens": r, "cache_write_input_tokens": w, "output_tokens": o, "reasoning_output_tokens": 0}
        line("token_usage_record", {"response_id": f"resp_{step}", "usage": usage})
        line("event_msg", {"type": "token_count", "info": {"total_token_usage": usage, "last_token_usage": usage}})
        text = "".join(row + "\n" for row in output) if tool == "read" else output
        if tool in ("shell", "read"):
            item = {"type": "CommandExecution", "id": call, "aggregated_output": text, "exit_code": code}
            line("event_msg", {"type": "item_completed", "item": item})
            text = f"Chunk ID: 0{step}\nWall time: 0.1 seconds\nProcess exited with code {code}\nOriginal token count: 9\nOutput:\n{text}"
        elif tool == "mcp":
            text = [{"type": "input_text", "text": "Wall time: 0.1 seconds\nOutput:"}, {"type": "input_text", "text": text}]
        kind = "custom_tool_call_output" if tool == "edit" else "function_call_output"
        line("response_item", {"type": kind, "call_id": call, "output": text})
    content = [{"type": "output_text", "text": ANSWER}]
    line("response_item", {"type": "message", "role": "assistant", "content": content})
    i, w, r, o = USAGE[-1]
    usage = {"input_tokens": i + w + r, "cached_input_tokens": r, "cache_write_input_tokens": w, "output_tokens": o, "reasoning_output_tokens": 0}
    line("token_usage_record", {"response_id": "resp_9", "usage": usage})
    write("codex/rollout-2026-03-09T10-00-00-s2.jsonl", lines)


def gemini():
    lines = [{"sessionId": "s3", "projectHash": "p", "startTime": "2026-03-09T10:00:00Z", "kind": "main"}]
    lines.append({"$set": {"messages": [{"id": "m0", "type": "user", "content": [{"text": "This is the Gemini CLI."}]}]}})
    lines.append({"id": "m1", "type": "user", "content": [{"text": "Fix the test."}]})
    for step, (says, tool, what, output, code) in enumerate(STEPS):
        i, w, r, o = USAGE[step]
        tokens = {"input": i + w + r, "output": o, "cached": r, "thoughts": 0, "tool": 0, "total": i + w + r + o}
        message = {"id": f"g{step}", "type": "gemini", "content": says, "thoughts": [], "tokens": tokens, "model": "gemini-3-pro"}
        lines.append(message)
        name, arguments = {
            "shell": ("run_shell_command", {"command": what}),
            "read": ("read_file", {"file_path": "/srv/berths/src/plan.rs"}),
            "edit": ("replace", {"file_path": "/srv/berths/src/plan.rs", "old_string": OLD, "new_string": NEW}),
            "mcp": ("mcp_tracker_list", {"state": "open"}),
        }[tool]
        text = "".join(row + "\n" for row in output) if tool == "read" else output
        if tool == "shell":
            end = f"\nExit Code: {code}" if code else ""
            plain = text.rstrip("\n")
            text = f"<untrusted_context>\nOutput: {plain}{end}\nProcess Group PGID: 7\n</untrusted_context>"
        elif tool == "mcp":
            text = f"<untrusted_context>\n{text}\n</untrusted_context>"
        response = {"functionResponse": {"id": f"c{step}", "name": name, "response": {"output": text}}}
        call = {"id": f"c{step}", "name": name, "args": arguments, "result": [response], "status": "success"}
        lines.append({**message, "toolCalls": [call]})
        lines.append({"id": f"r{step}", "type": "user", "content": [response]})
        lines.append({"$set": {"lastUpdated": "2026-03-09T10:00:01Z"}})
    i, w, r, o = USAGE[-1]
    tokens = {"input": i + w + r, "output": o, "cached": r, "thoughts": 0, "tool": 0, "total": i + w + r + o}
    lines.append({"id": "g9", "type": "gemini", "content": ANSWER, "tokens": tokens, "model": "gemini-3-pro"})
    write("gemini/berths/chats/session-2026-03-09T10-00-s3.jsonl", lines)


def opencode():
    messages = [({"role": "user"}, [{"type": "text", "text": "Fix the test."}])]
    for step, (says, tool, what, output, code) in enumerate(STEPS):
        parts = [{"type": "step-start"}]
        if says:
            parts.append({"type": "text", "text": says})
        name, arguments = {
            "shell": ("bash", {"command": what, "description": "Runs it"}),
            "read": ("read", {"filePath": "/srv/berths/src/plan.rs"}),
            "edit": ("edit", {"filePath": "/srv/berths/src/plan.rs", "oldString": OLD, "newString": NEW}),
            "mcp": ("tracker_list", {"state": "open"}),
        }[tool]
        text = "".join(f"{n}: {row}\n" for n, row in enumerate(output, 1)) if tool == "read" else output
        metadata = {"output": text, "exit": code, "truncated": False} if tool == "shell" else {}
        state = {"status": "completed", "input": arguments, "output": text, "metadata": metadata}
        parts.append({"type": "tool", "tool": name, "callID": f"call_{step}", "state": state})
        i, w, r, o = USAGE[step]
        parts.append({"type": "step-finish", "tokens": {"input": i, "output": o, "reasoning": 0, "cache": {"write": w, "read": r}}})
        messages.append(({"role": "assistant", "modelID": "gpt-6"}, parts))
    i, w, r, o = USAGE[-1]
    last = {"type": "step-finish", "tokens": {"input": i, "output": o, "reasoning": 0, "cache": {"write": w, "read": r}}}
    messages.append(({"role": "assistant", "modelID": "gpt-6"}, [{"type": "text", "text": ANSWER}, last]))
    exported = [{"info": {"id": f"msg_{n:02}", **info}, "parts": parts} for n, (info, parts) in enumerate(messages)]
    folder = HERE / "opencode"
    folder.mkdir(exist_ok=True)
    document = {"info": {"id": "ses_1", "version": "1.18.33"}, "messages": exported}
    (folder / "export.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "opencode.db").unlink(missing_ok=True)
    base = sqlite3.connect(folder / "opencode.db")
    base.execute("pragma page_size=1024")
    columns = "`session_id` text NOT NULL, `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL"
    key = "CONSTRAINT `fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE"
    base.execute("CREATE TABLE `session` (`id` text PRIMARY KEY, `version` text NOT NULL)")
    base.execute(f"CREATE TABLE `message` (\n `id` text PRIMARY KEY,\n {columns},\n {key}\n)")
    base.execute(f"CREATE TABLE `part` (\n `id` text PRIMARY KEY,\n `message_id` text NOT NULL,\n {columns},\n {key}\n)")
    base.execute("INSERT INTO session VALUES ('ses_1', '1.18.33')")
    number = 0
    for message in exported:
        info = dict(message["info"])
        name = info.pop("id")
        base.execute("INSERT INTO message VALUES (?,'ses_1',1,2,?)", (name, json.dumps(info)))
        for part in message["parts"]:
            number += 1
            base.execute("INSERT INTO part VALUES (?,?,'ses_1',1,2,?)", (f"prt_{number:03}", name, json.dumps(part)))
    base.commit()
    base.close()


claude()
codex()
gemini()
opencode()
