#!/usr/bin/env python3
"""Records a session with each real agent and replays it.

    crates/agents/tests/real/setup > /dev/null
    cargo build -p tamis-cli
    crates/replay/tests/real/check.py [AGENT...]

The agents are those of crates/agents/tests/real, started without tamis against its scripted model. Of each recording, `tamis replay` must find
every result, the whole output of each result that the agent has cut (but for those of which the agents keep nothing), and the model of the
agent's cut must agree with what was recorded. TAMIS names another binary. An agent that is not installed is skipped.
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "crates" / "agents" / "tests" / "real"))
import agents  # noqa: E402

TAMIS = os.environ.get("TAMIS") or str(ROOT / "target" / "debug" / "tamis")

# Where each agent keeps its transcripts, and how many results of a recording are cut in full and in part.
PLACES = {
    "claude-code": (".claude/projects", 2, 1),
    "codex": (".codex/sessions", 1, 2),
    "codex-scripts": (".codex/sessions", 0, 3),
    "opencode": (".local/share/opencode/opencode.db", 3, 0),
    "gemini": (".gemini/tmp", 3, 0),
}


def check(agent):
    place = agent.place()
    place.fresh()
    (place.work / "notes.txt").write_text("".join(f"line {n} of berth_{n}\n" for n in range(60)))
    commands = ["cat notes.txt", "seq 1 20000", "seq 1 5000; echo error: berth_77; seq 5001 9000; exit 3", "grep -n berth_17 notes.txt"]
    calls = [agent.shell(command) for command in commands] + [agent.mcp(tool) for tool in ("large", "structured", "echo", "failing")]
    session = agent.session([[call] for call in calls], place=place)
    assert session.finished, f"{agent.label}: {session.output[-2000:]}"
    folder, whole, partly = PLACES[agent.label]
    words = [TAMIS, "replay", str(place.home / folder), "--defaults", "--json"]
    report = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)["report"]
    name = agent.variant_of or agent.label
    found = {
        "sessions": report["sessions"],
        "results": report["results"],
        "malformed": report["skipped"]["malformed"],
        "cut": report["cut_by_agent"],
        "cut alike": report["cut_alike"],
        "recorded in part": report["incomplete"],
        "requests": report["agents"][name]["requests"],
        "usage": [row["usage"] for row in report["agents"][name]["usage"].values()],
        "cost": [row["cost"] for row in report["agents"][name]["usage"].values()],
    }
    requests = len(calls) + 1
    expected = {
        "sessions": 1,
        "results": len(calls),
        "malformed": 0,
        "cut": whole,
        "cut alike": whole,
        "recorded in part": partly,
        "requests": requests,
        # The scripted model reports 10 tokens of input and 5 of output for each request, of which one costs 5 of input.
        "usage": [{"input": 10 * requests, "cache_write": 0, "cache_read": 0, "output": 5 * requests}],
        "cost": [str(35 * requests * 10**6)],
    }
    print(f"{agent.label} {report['agents'][name]['versions']}: {found}")
    wrong = [key for key in expected if found[key] != expected[key]]
    if wrong:
        print(f"{agent.label}: expected {expected}; other: {wrong}")
    return not wrong


def main():
    chosen = [agent for agent in agents.ALL if not sys.argv[1:] or agent.label in sys.argv[1:]]
    good = True
    for agent in chosen:
        if agent.available():
            good &= check(agent)
        else:
            print(f"{agent.label}: not installed, skipped")
    sys.exit(0 if good else 1)


main()
