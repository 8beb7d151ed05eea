#!/usr/bin/env python3
"""Asks the real Codex about the commands that the hook rewrote under random rules: it must decide equally before and after.

    TAMIS_CODEX_CASES=/tmp/cases.jsonl cargo test -p tamis-agents --test codex_rules
    crates/agents/tests/real/execpolicy.py /tmp/cases.jsonl [COUNT]

Each case has the rules of four layers, the words of a command, and the words of the rewritten one. `codex execpolicy check` decides about both, with
the rules of all layers. COUNT is how many cases are asked about (default: all).
"""

import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

from agents import RUNS, Codex


def decide(binary, home, files, words):
    rules = [word for path in files for word in ("--rules", str(path))]
    line = [str(binary), "execpolicy", "check", *rules, "--resolve-host-executables", "--", *words]
    done = subprocess.run(line, capture_output=True, text=True, env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, cwd=home)
    if done.returncode != 0:
        return f"error: {done.stderr[-300:]}"
    return json.loads(done.stdout).get("decision", "none")


def main():
    cases = [json.loads(line) for line in open(sys.argv[1])]
    cases = cases[: int(sys.argv[2])] if len(sys.argv) > 2 else cases
    binary = Codex().binary()
    if binary is None:
        sys.exit("execpolicy: Codex is not installed (run: setup)")
    RUNS.mkdir(parents=True, exist_ok=True)
    found, wrong = {}, 0
    with tempfile.TemporaryDirectory(dir=RUNS) as folder:

        def one(numbered):
            number, case = numbered
            place = pathlib.Path(folder) / str(number)
            place.mkdir()
            files = []
            for index, text in enumerate(case["rules"]):
                files.append(place / f"{index}.rules")
                files[-1].write_text(text)
            return case, [decide(binary, folder, files, case[name]) for name in ("before", "after")]

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for case, (before, after) in pool.map(one, enumerate(cases)):
                found[before] = found.get(before, 0) + 1
                if before != after or before.startswith("error"):
                    wrong += 1
                    print(f"FAILED {before} -> {after}: {json.dumps(case)}", flush=True)
    print(f"{len(cases)} rewritten commands, {wrong} decided differently; decisions: {found}")
    sys.exit(1 if wrong else 0)


main()
