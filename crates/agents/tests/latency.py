#!/usr/bin/env python3
"""Measures what a hook adds to one call of an agent: the time of one process, in milliseconds.

    cargo build --release -p tamis-cli
    python3 crates/agents/tests/latency.py target/release/tamis [ROUNDS]

The minimum of 200 rounds is the guide: a busy machine only makes a call slower. The shell prefix is compared with the shell alone, the other hooks with nothing: an agent without hooks starts no process.
"""

import json
import os
import subprocess
import sys
import tempfile
import time


def main():
    program = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with tempfile.TemporaryDirectory() as home:
        measure(program, rounds, home)


def measure(program, rounds, home):
    folder = os.path.join(home, "bin")
    os.mkdir(folder)
    os.symlink(program, os.path.join(folder, "tamis"))
    with open(os.path.join(folder, "cargo"), "w") as cargo:
        os.fchmod(cargo.fileno(), 0o755)
    context = {"turn_id": "t", "approval_policy": "never", "sandbox_policy": {"type": "workspace-write"}}
    rollout = os.path.join(home, "rollout.jsonl")
    with open(rollout, "w") as file:
        file.write(json.dumps({"type": "turn_context", "payload": context}) + "\n")
    path = folder + ":" + os.environ["PATH"]
    env = {"HOME": home, "PATH": path, "SHELL": "/bin/bash", "TAMIS_STATE_DIR": os.path.join(home, "state")}

    def script(command):
        cwd = os.path.join(home, "cwd")
        return f"source /x/snapshot-bash-1-a.sh 2>/dev/null || true && eval '{command}' < /dev/null && pwd -P >| {cwd}"

    build = "   Compiling a v1.0.0\n" * 60 + "error: broken"
    output = f"<untrusted_context>\nOutput: {build}\nExit Code: 101\nProcess Group PGID: 3\n</untrusted_context>"
    items = json.dumps([{"id": number, "name": "x" * 20, "none": None} for number in range(1500)])
    events = {
        "codex, a known command": ("codex", {
            "turn_id": "t", "transcript_path": rollout, "cwd": home, "hook_event_name": "PreToolUse",
            "permission_mode": "bypassPermissions", "tool_name": "Bash", "tool_input": {"command": "cargo test"}}),
        "codex, another command": ("codex", {
            "turn_id": "t", "transcript_path": rollout, "cwd": home, "hook_event_name": "PreToolUse",
            "permission_mode": "bypassPermissions", "tool_name": "Bash", "tool_input": {"command": "ls -la"}}),
        "claude-code, 290 lines of Grep": ("claude-code", {
            "hook_event_name": "PostToolUse", "tool_name": "Grep", "permission_mode": "default",
            "tool_input": {"pattern": "x", "output_mode": "content"},
            "tool_response": {"mode": "content", "numFiles": 0, "filenames": [], "numLines": 290,
                              "content": "\n".join(f"src/a/long/folder/module{n // 9}.rs:{n}:let needle = {n};" for n in range(400))}}),
        "gemini, a failed build": ("gemini", {
            "hook_event_name": "AfterTool", "tool_name": "run_shell_command",
            "tool_input": {"command": "cargo build"}, "tool_response": {"llmContent": output}}),
        "opencode, a short output": ("opencode", {
            "tool": "bash", "args": {"command": "ls"}, "output": "a\nb\n", "metadata": {"exit": 0}}),
        "opencode, an MCP result of 100 KB": ("opencode", {
            "tool": "crm_list", "args": {}, "content": [{"type": "text", "text": items}]}),
        "cursor, a command": ("cursor", {
            "hook_event_name": "postToolUse", "tool_name": "Shell", "tool_output": "{}"}),
    }
    shell = ["/bin/bash", "-c"]
    hook = [program, "hook", "shell", "--config", "user"]
    jobs = {name: ([program, "hook", agent, "--config", "user"], json.dumps(event).encode())
            for name, (agent, event) in events.items()}
    for name, command in {"true": "true", "300 lines": "seq 300", "100,000 lines": "seq 100000"}.items():
        jobs[f"bash alone, {name}"] = (shell + [script(command)], None)
        jobs[f"shell prefix, {name}"] = (hook + [script(command)], None)
    jobs["sh alone, a hook"] = (["/bin/sh", "-c", "true"], None)
    jobs["shell prefix, a hook"] = (hook + ["true"], None)
    times = {name: [] for name in jobs}
    # In turns, so that a busy machine affects all alike.
    for _ in range(rounds):
        for name, (args, event) in jobs.items():
            with open(os.path.join(home, "out"), "wb") as out:
                begun = time.perf_counter()
                subprocess.run(args, input=event, stdin=None if event else subprocess.DEVNULL, stdout=out,
                               stderr=out, env=env, check=False)
                times[name].append((time.perf_counter() - begun) * 1000)
    print(f"{'':36} {'min':>8} {'p50':>8} {'p90':>8} {'added':>8}")
    for name, all_times in times.items():
        all_times.sort()
        p50, p90 = (all_times[int(len(all_times) * share)] for share in (0.5, 0.9))
        # The time without tamis: that of the shell for the prefix, and none for the other hooks.
        alone = {"shell prefix, a hook": "sh alone, a hook"}.get(name, name.replace("shell prefix,", "bash alone,"))
        if "alone" in name:
            added = ""
        elif alone in times and alone != name:
            added = f"{all_times[0] - min(times[alone]):8.2f}"
        else:
            added = f"{all_times[0]:8.2f}"
        print(f"{name:36} {all_times[0]:8.2f} {p50:8.2f} {p90:8.2f} {added:>8}")


if __name__ == "__main__":
    main()
