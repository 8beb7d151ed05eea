#!/usr/bin/env python3
"""Starts the agents that only get wrapped MCP servers, once without and once with `tamis install AGENT --mcp`.

    crates/agents/tests/real/setup
    cargo build -p tamis-cli -p tamis-gateway
    crates/agents/tests/real/others.py [--tamis FOLDER] [AGENT...]

AGENT is `qwen` or `copilot`. The first run installs them from npm into target/other-agents (about 400 MB; TAMIS_OTHERS names another
folder). The model is the scripted one of model.py. The checks: a result
with members that only machines need is smaller with tamis, a short result and an error are the same, and uninstalling restores the file.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

import main as real
from agents import CACHE, PROMPT, REPOSITORY, Agent, node_platform

FOLDER = pathlib.Path(os.environ.get("TAMIS_OTHERS") or REPOSITORY / "target" / "other-agents")
PACKAGES = {"qwen": "@qwen-code/qwen-code@0.24.4", "copilot": "@github/copilot@1.0.102"}
TOOLS = ("large", "structured", "copied", "echo", "failing")


class Other(Agent):
    def __init__(self, name):
        self.name = self.label = name

    def version(self):
        return PACKAGES[self.name].rsplit("@", 1)[1]


class Qwen(Other):
    settings = [".qwen/settings.json"]

    def binary(self):
        path = FOLDER / "node_modules" / "@qwen-code" / "qwen-code" / "cli.js"
        return path if path.exists() else None

    def configure(self, place, url, rules=None):
        words = self.server(place)
        settings = {
            "security": {"auth": {"selectedType": "openai"}},
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "mcpServers": {"mini": {"command": words[0], "args": words[1:], "trust": True}},
        }
        place.write(".qwen/settings.json", "// The settings of a test.\n" + json.dumps(settings, indent=2) + "\n")

    def start(self, place, url, mode):
        env = place.env(OPENAI_BASE_URL=f"{url}/v1", OPENAI_API_KEY="dummy", OPENAI_MODEL="scripted", QWEN_SANDBOX="false")
        return [CACHE / "bin" / "node", self.binary(), "--approval-mode", "yolo", "-p", PROMPT], env, None

    def mcp(self, tool, value=None):
        return {"name": f"mcp__mini__{tool}", "input": value or {}}


class Copilot(Other):
    settings = [".copilot/mcp-config.json"]

    def binary(self):
        path = FOLDER / "node_modules" / "@github" / f"copilot-{node_platform()}" / "copilot"
        return path if path.exists() else None

    def configure(self, place, url, rules=None):
        words = self.server(place)
        server = {"type": "local", "command": words[0], "args": words[1:], "tools": ["*"]}
        place.write(".copilot/mcp-config.json", json.dumps({"mcpServers": {"mini": server}}, indent=2) + "\n")

    def start(self, place, url, mode):
        env = place.env(
            COPILOT_PROVIDER_BASE_URL=f"{url}/v1",
            COPILOT_PROVIDER_API_KEY="dummy",
            COPILOT_MODEL="scripted",
            COPILOT_OFFLINE="true",
            COPILOT_AUTO_UPDATE="false",
        )
        return [self.binary(), "--allow-all-tools", "--no-color", "-p", PROMPT], env, None

    def mcp(self, tool, value=None):
        return {"name": f"mini-{tool}", "input": value or {}}


ALL = [Qwen("qwen"), Copilot("copilot")]


def setup():
    if all(agent.available() for agent in ALL):
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    words = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error", *PACKAGES.values()]
    subprocess.run(words, cwd=FOLDER, env={**os.environ, "PATH": f"{CACHE / 'bin'}:{os.environ['PATH']}"}, check=True)


def texts(run, keep_settings):
    steps = [[run.agent.mcp(tool)] for tool in TOOLS]
    session = run.session("with tamis" if keep_settings else "without tamis", steps, keep_settings=keep_settings)
    run.check("every call has a result", session.finished, session.output[-1500:])
    return {tool: session.result(step).text if session.result(step) else "" for step, tool in enumerate(TOOLS)}


def judge(run):
    agent, place = run.agent, run.place
    place.fresh()
    agent.configure(place, place.url)
    before = texts(run, False)
    place.fresh(with_work=False)
    agent.configure(place, place.url)
    run.tamis.place(place, agent)
    text = (place.home / agent.settings[0]).read_text()
    done = run.tamis.run(place, "install", agent.name, "--mcp", "--trust-path")
    run.check("install", done.returncode == 0 and "tamis-gateway" in (place.home / agent.settings[0]).read_text(), done.stdout + done.stderr)
    after = texts(run, True)
    for tool in TOOLS:
        print(f"  {agent.label} {agent.version()}, {tool}: {len(before[tool].encode()):,} → {len(after[tool].encode()):,} bytes", flush=True)
    # Both agents show only the beginning of a large result.
    run.check("a result with members for machines is smaller", len(after["structured"]) < len(before["structured"]), after["structured"][:300])
    run.check("a short result is the same", before["echo"] == after["echo"], f"{before['echo']!r} → {after['echo']!r}")
    run.check("an error is the same", before["failing"] == after["failing"], f"{before['failing']!r} → {after['failing']!r}")
    done = run.tamis.run(place, "uninstall", agent.name, "--mcp")
    left = (place.home / agent.settings[0]).read_text()
    # Qwen Code adds a member of its own.
    same = left == text or (agent.name == "qwen" and "tamis-gateway" not in left and agent.server(place)[0] in left)
    run.check("uninstall", done.returncode == 0 and same, done.stdout + done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", metavar="AGENT")
    parser.add_argument("--tamis", metavar="FOLDER", default=REPOSITORY / "target" / "debug")
    options = parser.parse_args()
    setup()
    report = real.Report()
    for agent in ALL:
        if options.agents and agent.name not in options.agents:
            continue
        if not agent.available():
            report.skip(agent.name, "npm has no package for this system")
            continue
        run = real.AgentRun(agent, real.Tamis(pathlib.Path(options.tamis).resolve()), report, None)
        judge(run)
        shutil.rmtree(run.place.root, ignore_errors=True)
    print(f"{report.passed} passed, {len(report.failed)} failed")
    sys.exit(1 if report.failed else 0)


if __name__ == "__main__":
    main()
