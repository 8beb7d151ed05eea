#!/usr/bin/env python3
"""Installs the plugins of the folder `plugins` as their agents do it, and starts each agent once.

    crates/agents/tests/real/setup
    cargo build -p tamis-cli -p tamis-gateway
    crates/agents/tests/real/plugins.py [--tamis FOLDER] [AGENT...]

AGENT is `claude-code`, `gemini` or `opencode`. The check: the model receives the filtered output of a command.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import jobs
import main as real
from agents import ALL, CACHE, REPOSITORY

PLUGINS = REPOSITORY / "plugins"
# A command that succeeds: the plugin of Claude Code sees no other.
COMMAND = "cargo test -- --skip sum_of_large --skip lookup --skip index_out --skip result_is"


def install(agent, place):
    """Installs the plugin, and returns what was printed."""
    env = place.env()
    if agent.name == "opencode":
        path = place.home / ".config/opencode/opencode.json"
        settings = json.loads(path.read_text())
        settings["plugin"] = [(PLUGINS / "opencode" / "index.js").as_uri()]
        path.write_text(json.dumps(settings, indent=2))
        return ""
    lines = {
        "gemini": [[CACHE / "bin" / "node", agent.binary(), "extensions", "install", PLUGINS / "gemini", "--consent"]],
        "claude-code": [
            [agent.binary(), "plugin", "marketplace", "add", PLUGINS / "claude-code"],
            [agent.binary(), "plugin", "install", "tamis@tamis"],
        ],
    }[agent.name]
    printed = ""
    for line in lines:
        # Gemini CLI asks whether the folder is trusted.
        words = [str(word) for word in line]
        done = subprocess.run(words, cwd=place.work, env=env, capture_output=True, text=True, input="y\n", timeout=120)
        printed += done.stdout + done.stderr
    return printed


def judge(run):
    agent, place = run.agent, run.place
    place.fresh()
    jobs.fill(place.work, place.env())
    agent.configure(place, place.url)
    program = place.home / ".cargo" / "bin" / "tamis"
    program.parent.mkdir(parents=True)
    shutil.copy(run.tamis.folder / "tamis", program)
    printed = install(agent, place)
    session = run.session("plugin", [[agent.shell(COMMAND)]], keep_settings=True)
    result = session.result(0)
    text = result.text if result else session.output[-500:]
    run.check("the plugin filters an output", "[tamis cargo-test" in text, printed[-800:] + text[-500:])
    log = place.home / ".local/state/tamis/calls.jsonl"
    sizes = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    for call in sizes:
        print(f"  {agent.label}: logged {call.get('shown_without', call['bytes_in']):,} → {call['bytes_out']:,} bytes, received {len(text.encode()):,}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", metavar="AGENT")
    parser.add_argument("--tamis", metavar="FOLDER", default=REPOSITORY / "target" / "debug")
    options = parser.parse_args()
    report = real.Report()
    for agent in ALL:
        if agent.label not in (options.agents or ("claude-code", "gemini", "opencode")):
            continue
        if not agent.available():
            report.skip(agent.name, "is not installed: crates/agents/tests/real/setup")
            continue
        run = real.AgentRun(agent, real.Tamis(pathlib.Path(options.tamis).resolve()), report, None)
        judge(run)
        shutil.rmtree(run.place.root, ignore_errors=True)
    print(f"{report.passed} passed, {len(report.failed)} failed")
    sys.exit(1 if report.failed else 0)


if __name__ == "__main__":
    main()
