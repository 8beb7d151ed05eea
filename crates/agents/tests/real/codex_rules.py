#!/usr/bin/env python3
"""Asks the real Codex whether it runs a command under a set of rules.

    codex_rules.py CASES.json [--hook COMMAND] [--tamis FOLDER] [--only NAME] > OUTCOMES.json

CASES.json is a list of objects with these members; only `command` is required:

    name            the case in messages; default: its number
    command         the command line that the model asks for
    rules           {file name: contents} for the folder `rules` of the user's Codex folder
    project_rules   {file name: contents} for `.codex/rules` of the project, which is trusted
    config          text that is appended to the user's config.toml
    sandbox         read-only, workspace-write or danger-full-access (default)
    approval        never (default), on-request or untrusted
    escalated       whether the model asks for the command to run outside of the sandbox
    hook            the command line of a PreToolUse hook for this case; default: --hook

The output is the list of cases, each with an `outcome`:

    ran             Codex started the command without a question. `exit_code` and `text` say what came of it.
    asked           Codex asked for approval, which was declined. `asked` is the command that the question showed.
    refused         Codex refused without a question. `text` is what the model received.
    failed          There is no result, for example because a rules file cannot be read. `text` has the reason.

Common programs (cargo, git, npm and so on) are replaced by a script that prints its arguments and whether a sandbox holds it, so
that a command can be allowed without harm.
"""

import argparse
import concurrent.futures
import json
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import threading
import time

from agents import HERE, RUNS, Codex, Place
from kit import stop
from model import PROMPT, Model

# How long Codex may take for one case.
CASE_SECONDS = 180

STUBS = ("cargo", "git", "npm", "pnpm", "yarn", "go", "make", "pytest", "python3", "docker", "kubectl", "rm", "curl", "gh", "tsc", "rustc", "ls", "grep", "find")

# A sandbox lets nothing be written in the home folder.
STUB = """#!/bin/sh
if touch "$HOME/probe" 2>/dev/null; then where=outside; else where=inside; fi
echo "RAN NAME $* ($where a sandbox, started by $(cat /proc/$PPID/comm 2>/dev/null))"
"""

# The sandbox takes time to start; a command has this long until Codex reports that it is still running.
YIELD_MS = 20000


class Server:
    """A `codex app-server` on standard input and output."""

    def __init__(self, words, cwd, env):
        self.process = subprocess.Popen(
            words,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.messages = queue.Queue()
        self.errors = []
        self.number = 0
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.messages.put(json.loads(line))
        self.messages.put(None)

    def send(self, **message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def next(self, deadline):
        """The next message; None at the end of the output."""
        return self.messages.get(timeout=max(0.1, deadline - time.monotonic()))

    def call(self, method, params, deadline):
        """Calls a method and returns its result. Notifications that arrive before it are dropped."""
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        while (message := self.next(deadline)) is not None:
            if message.get("id") == self.number and "method" not in message:
                if "error" in message:
                    raise RuntimeError(message["error"].get("message", "unknown error"))
                return message["result"]
        raise RuntimeError("codex ended: " + "".join(self.errors)[-500:])


def prepare(place, tamis):
    """Writes the folders of a case."""
    place.fresh()
    for name in ("tamis", "tamis-gateway") if tamis else ():
        (place.bin / name).symlink_to(pathlib.Path(tamis).resolve() / name)
    stubs = place.root / "stubs"
    stubs.mkdir(exist_ok=True)
    for name in STUBS:
        path = stubs / name
        path.write_text(STUB.replace("NAME", name))
        path.chmod(0o755)
    profile = place.home / ".profile"
    profile.write_text(f"PATH='{stubs}:{place.path()}'\nexport PATH\n")


def configure(agent, place, url, case, hook):
    """Writes the rules, the hook and the settings of a case."""
    rules = {f"rules/{name}": text for name, text in (case.get("rules") or {}).items()}
    if hook:
        handler = {"type": "command", "command": hook, "timeout": 20}
        rules["hooks.json"] = json.dumps({"hooks": {"PreToolUse": [{"matcher": "^Bash$", "hooks": [handler]}]}})
    agent.configure(place, url, rules)
    for name, text in (case.get("project_rules") or {}).items():
        path = place.work / ".codex" / "rules" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    config = place.home / ".codex" / "config.toml"
    text = config.read_text().split("[mcp_servers.mini]")[0]
    text += f'[projects.{json.dumps(str(place.work))}]\ntrust_level = "trusted"\n' + case.get("config", "")
    config.write_text(text)


def trust(server, place, deadline):
    """Approves the hooks of the user's folder, as somebody does with /hooks."""
    listed = server.call("hooks/list", {"cwds": [str(place.work)]}, deadline)
    lines = []
    for entry in listed.get("data") or []:
        for hook in entry.get("hooks") or []:
            lines.append(f'[hooks.state.{json.dumps(hook["key"])}]\ntrusted_hash = {json.dumps(hook["currentHash"])}\n')
    config = place.home / ".codex" / "config.toml"
    config.write_text(config.read_text() + "\n" + "\n".join(lines))


def start(agent, place):
    server = Server([str(agent.binary()), "app-server"], place.work, place.env(MODEL_KEY="dummy"))
    deadline = time.monotonic() + CASE_SECONDS
    server.call("initialize", {"clientInfo": {"name": "tamis-tests", "version": "1.0.0"}}, deadline)
    server.send(method="initialized")
    return server, deadline


def judge(case, hook=None, slot=0, tamis=None):
    """The case with its outcome. `tamis` is a folder with the binaries that a hook may start."""
    agent = Codex()
    place = Place(f"codex-rules-{slot}")
    prepare(place, tamis)
    hook = case.get("hook", hook)
    value = {"cmd": case["command"], "yield_time_ms": YIELD_MS}
    if case.get("escalated"):
        value |= {"sandbox_permissions": "require_escalated", "justification": "it has to write elsewhere"}
    call = {"name": "exec_command", "input": value}
    model = Model([[call]])
    outcome = {"outcome": "failed", "text": "no result"}
    with model.serving() as url:
        configure(agent, place, url, case, hook)
        if hook:
            server, deadline = start(agent, place)
            try:
                trust(server, place, deadline)
            finally:
                stop(server.process)
        server, deadline = start(agent, place)
        try:
            outcome = converse(server, deadline, place, case, model)
        except (RuntimeError, queue.Empty) as error:
            outcome = {"outcome": "failed", "text": str(error) or "no answer in time"}
        finally:
            stop(server.process)
    return {**case, **outcome}


def converse(server, deadline, place, case, model):
    """One turn: what Codex asked and what the model received."""
    thread = server.call(
        "thread/start",
        {
            "cwd": str(place.work),
            "approvalPolicy": case.get("approval", "never"),
            "sandbox": case.get("sandbox", "danger-full-access"),
        },
        deadline,
    )["thread"]["id"]
    text = [{"type": "text", "text": PROMPT}]
    server.number += 1
    server.send(id=server.number, method="turn/start", params={"threadId": thread, "input": text})
    asked, notes, hooks = [], [], []
    while (message := server.next(deadline)) is not None:
        method = message.get("method", "")
        if "id" in message and method:
            # Every question is declined.
            asked.append(message["params"].get("command") or method)
            server.send(id=message["id"], result={"decision": "decline"})
        elif method in ("error", "warning", "configWarning"):
            note = message["params"].get("message") or json.dumps(message["params"])
            if "Model metadata" not in note:
                notes.append(note)
        elif method == "hook/completed":
            hooks.append(message["params"].get("run") or message["params"])
        elif method == "turn/completed":
            break
        elif "error" in message:
            raise RuntimeError(message["error"].get("message", "unknown error"))
    result = model.results.get((0, 0))
    got = result.text if result else ""
    more = {"notes": notes} if notes else {}
    if hooks:
        more["hooks"] = [hook.get("status") for hook in hooks]
    if asked:
        return {"outcome": "asked", "asked": asked[0], "text": got, **more}
    if result is None:
        return {"outcome": "failed", "text": "the model received no result", **more}
    found = re.search(r"^Process exited with code (\d+)$", got, re.M)
    if found:
        return {"outcome": "ran", "exit_code": int(found[1]), "text": got.partition("\nOutput:\n")[2], **more}
    if "Process running with session ID" in got:
        return {"outcome": "ran", "exit_code": None, "text": got.partition("\nOutput:\n")[2], **more}
    return {"outcome": "refused", "text": got, **more}


def judge_all(cases, hook=None, tamis=None, jobs=2):
    """All cases with their outcomes, in order."""
    slots = queue.Queue()
    for slot in range(jobs):
        slots.put(slot)

    def one(case):
        slot = slots.get()
        try:
            return judge(case, hook, slot, tamis)
        finally:
            slots.put(slot)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(one, cases))
    for slot in range(jobs):
        shutil.rmtree(RUNS / f"codex-rules-{slot}", ignore_errors=True)
    return outcomes


def reach(outcome):
    """How far a command got: 0 it did not run, 1 it was asked for, 2 it ran in a sandbox, 3 it ran outside of one."""
    if outcome["outcome"] != "ran":
        return 1 if outcome["outcome"] == "asked" else 0
    return 2 if "(inside a sandbox" in outcome["text"] else 3


def compare(report, agent, tamis):
    """The cases of codex_cases.json without and with the hook: nothing may get further with it than without it."""
    cases = json.loads((HERE / "codex_cases.json").read_text())
    without = judge_all(cases)
    with_hook = judge_all(cases, "tamis hook codex", tamis)
    rewritten = 0
    for one, other in zip(without, with_hook):
        detail = f"{one['outcome']} {one['text'][:200]!r} → {other['outcome']} {other['text'][:200]!r}"
        report.check(agent, f"rules, {one['name']}: reaches as far", reach(other) == reach(one), detail)
        report.check(agent, f"rules, {one['name']}: outcome", other["outcome"] == one["outcome"], detail)
        rewritten += "started by tamis" in other["text"]
    print(f"  codex, rules: {len(cases)} cases, {rewritten} of them rewritten", flush=True)
    report.check(agent, "rules: some commands are rewritten", rewritten > 0)


def main():
    parser = argparse.ArgumentParser(usage="codex_rules.py CASES.json [--hook COMMAND] [--tamis FOLDER] [--only NAME]")
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("--hook", help="the command line of a PreToolUse hook")
    parser.add_argument("--tamis", metavar="FOLDER", help="a folder with tamis, which is put on the PATH of hooks and commands")
    parser.add_argument("--only", help="judge only the case with this name")
    parser.add_argument("--jobs", type=int, default=2, help="how many cases are judged at the same time")
    options = parser.parse_args()
    if not Codex().available():
        sys.exit("codex_rules: Codex is not installed (run: setup)")
    cases = json.loads(options.cases.read_text())
    cases = [{"name": str(i), **case} for i, case in enumerate(cases)]
    if options.only:
        cases = [case for case in cases if case["name"] == options.only]
    json.dump(judge_all(cases, options.hook, options.tamis, options.jobs), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
