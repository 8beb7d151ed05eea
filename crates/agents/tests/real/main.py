"""Runs the real agents without and with tamis, compares what their models receive, and prints a table of tokens."""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import codex_rules
import faults
import jobs
import permissions
from agents import ALL, REPOSITORY, RUNS

HANDLE = re.compile(r"tm_[a-z2-7]{26}")

# Folders that may be there after an uninstall: the store and the log.
KEPT = (".local/state/tamis",)

# The work that each part does; all of them by default.
PARTS = ("jobs", "permissions", "rules", "faults")


class Report:
    """Checks with a verdict, printed as they are made."""

    def __init__(self):
        self.failed = []
        self.passed = 0
        self.skipped = []

    def check(self, agent, what, good, detail=""):
        if good:
            self.passed += 1
        else:
            self.failed.append(f"{agent.label}: {what}: {detail}")
            print(f"FAILED {agent.label}: {what}: {detail}", flush=True)
        return good

    def skip(self, what, why):
        self.skipped.append(f"{what}: {why}")
        print(f"skipped {what}: {why}", flush=True)


class Tamis:
    """The binaries under test, put on an agent's PATH and taken off it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.binaries = [self.folder / name for name in ("tamis", "tamis-gateway")]

    def missing(self):
        return [str(path) for path in self.binaries if not path.exists()]

    def place(self, place, agent):
        for path in self.binaries:
            (place.bin / path.name).symlink_to(path)
        # An installation looks for the agent.
        (place.bin / agent.command()).symlink_to(agent.binary())

    def remove(self, place):
        for path in self.binaries:
            (place.bin / path.name).unlink(missing_ok=True)

    def run(self, place, *words):
        # Entries name the program by the path by which it was started.
        link = place.bin / "tamis"
        return subprocess.run(
            [str(link if link.exists() else self.folder / "tamis"), *words],
            cwd=place.work,
            env=place.env(),
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
        )


def snapshot(home):
    """Every file of a home folder: mode and content."""
    found = {}
    for path in sorted(home.rglob("*")):
        name = str(path.relative_to(home))
        if name.startswith(KEPT) or any(kept.startswith(name + "/") for kept in KEPT):
            continue
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_file():
            found[name] = (oct(path.stat().st_mode), hashlib.sha256(path.read_bytes()).hexdigest()[:16])
        else:
            found[name] = ("folder", oct(path.stat().st_mode))
    return found


def difference(before, after):
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def full_outputs(place):
    """{command: (its whole output, its exit code)} for the commands of all jobs."""
    found = {}
    for job in jobs.JOBS:
        for command in job.commands:
            if command not in found and job.expect != "same":
                done = subprocess.run(
                    ["bash", "-c", command], cwd=place.work, env=place.env(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
                )
                found[command] = (done.stdout.decode(errors="replace"), done.returncode)
    return found


def lines(text):
    """The lines in an order that does not depend on the run: tests run at the same time."""
    return sorted(line.rstrip() for line in jobs.stable(text).split("\n") if line.strip())


def equal(one, other):
    return lines(one) == lines(other)


def changes(one, other):
    """The first lines that differ."""
    one, other = collections.Counter(lines(one)), collections.Counter(lines(other))
    gone, new = list(one - other), list(other - one)
    return f"{len(gone)} lines gone, {len(new)} new: {[x[:200] for x in gone[:3]]} → {[x[:200] for x in new[:3]]}"


class AgentRun:
    """The sessions of one agent."""

    def __init__(self, agent, tamis, report, log):
        self.agent = agent
        self.tamis = tamis
        self.report = report
        self.place = agent.place()
        self.log = log
        self.base = {}
        self.full = {}
        self.table = collections.OrderedDict()
        self.client = ""
        self.reads = ""

    def check(self, what, good, detail=""):
        return self.report.check(self.agent, what, good, detail)

    def session(self, name, steps, **more):
        log = self.log / self.agent.label / name if self.log else None
        session = self.agent.session(steps, place=self.place, log=log, **more)
        print(f"  {self.agent.label}, {name}: {session.seconds:.0f} s, exit status {session.code}", flush=True)
        if not session.finished:
            print("    the last output of the agent:", session.output[-600:].replace("\n", "\n    "), flush=True)
        return session

    def prepare(self):
        """The work folder, which all sessions share."""
        self.place.fresh()
        jobs.fill(self.place.work, self.place.env())
        self.full = full_outputs(self.place)

    def install(self, rules=None):
        """A fresh home with the agent's settings, and tamis installed."""
        self.place.fresh(with_work=False)
        self.agent.configure(self.place, self.place.url, rules)
        self.tamis.place(self.place, self.agent)
        done = self.tamis.run(self.place, "install", self.agent.name, "--mcp", "--trust-path")
        return self.check("install", done.returncode == 0, (done.stdout + done.stderr)[-1500:])

    # Jobs

    def baseline(self):
        self.place.fresh(with_work=False)
        steps, where = jobs.steps(self.agent, jobs.JOBS)
        session = self.session("jobs without tamis", steps)
        self.check("every job has a result without tamis", session.finished, session.output[-300:])
        self.base = {name: [session.model.results.get(key) for key in keys] for name, keys in where.items()}
        self.base_code = session.code
        self.base_tools = session.model.tools
        for job in jobs.JOBS:
            self.table[job.name] = [self.size(self.base[job.name]), None]
        self.describe_client()

    @staticmethod
    def size(results):
        return sum(len(result.text.encode()) for result in results if result)

    def describe_client(self):
        for line in self.place.mcp_log.read_text().splitlines():
            message = json.loads(line) if line.strip() else {}
            if message.get("method") == "initialize":
                info = message["params"]["clientInfo"]
                self.client = f"`{info.get('name')}` {info.get('version')}, revision {message['params']['protocolVersion']}"
        result = self.base.get("MCP structuredContent", [None])[0]
        text = result.text if result else ""
        seen = [name for name in ("structuredContent", "content") if f"seen in {name}" in text]
        self.reads = " and ".join(seen) or "neither"

    def with_tamis(self):
        if not self.install_and_uninstall() or not self.install():
            return
        self.doctor()
        steps, where = jobs.steps(self.agent, jobs.JOBS)
        session = self.session("jobs with tamis", steps, keep_settings=True)
        self.check("every job has a result", session.finished, session.output[-300:])
        self.check("exit status of the agent", session.code == self.base_code, f"{self.base_code} → {session.code}")
        for job in jobs.JOBS:
            got = [session.model.results.get(key) for key in where[job.name]]
            self.table[job.name][1] = self.size(got)
            for i, result in enumerate(got):
                base = self.base[job.name][i]
                if result and base:
                    self.compare(job, i, base, result)
        self.retrieve()
        self.uninstall()

    def compare(self, job, i, base, result):
        """One result without and with tamis."""
        agent, name = self.agent, f"{job.name}, call {i}"
        text, was = agent.unwrap(result.text), agent.unwrap(base.text)
        full, code = self.full.get(job.commands[i], (None, None)) if i < len(job.commands) else (None, None)
        # A hook may name the exit code where the agent itself does not.
        codes = {agent.code(was)} | (set() if agent.names_exit_code or code is None else {code})
        self.check(f"{name}: exit code", agent.code(text) in codes, f"{codes} → {agent.code(text)}: {text[-300:]!r}")
        size = len(full or was)
        if job.expect == "smaller" and size > 4096 and job.name not in UNFILTERED.get(agent.label, {}):
            # Agents cut long results themselves, often to less than what tamis leaves.
            limit = size if full else max(size, AGENTS_LIMIT)
            self.check(f"{name}: smaller", len(text) < limit and not equal(was, text), f"{limit} → {len(text)}")
        elif job.expect == "same" or not HANDLE.search(text):
            self.check(f"{name}: same", equal(was, text), changes(was, text))
        if full and job.keep and not equal(was, text):
            self.kept(job, name, full, text)
        if full:
            self.recall(name, full, text)

    def kept(self, job, name, full, text):
        """The lines that must reach the model are there."""
        wanted = full
        if not HANDLE.search(text):
            # Agents cut long results themselves, with or without tamis.
            wanted = self.agent.unwrap(self.base[job.name][0].text)
        lost = jobs.lost(job.keep, wanted, text)
        self.check(f"{name}: failure lines", not lost, f"lost: {lost[:5]}")

    def recall(self, name, full, text):
        """What was left out can be had."""
        handle = HANDLE.search(text)
        if handle is None:
            return
        done = self.tamis.run(self.place, "recall", handle[0], "--limit", "all")
        good = done.returncode == 0 and equal(done.stdout, full)
        self.check(f"{name}: recall gives all", good, done.stderr[-200:] + changes(full, done.stdout))

    def retrieve(self):
        """A part of an MCP result that was cut is fetched back by the model."""

        def call(results):
            handle = HANDLE.search(results[(0, 0)].text)
            value = {"handle": handle[0] if handle else "none", "grep": "row 217 of the list"}
            return self.agent.mcp("tamis_retrieve", value)

        session = self.session("retrieve", [[self.agent.mcp("large")], [call]], keep_settings=True)
        first, second = session.result(0), session.result(1)
        if first is None or second is None:
            self.check("retrieve: results", False, session.output[-300:])
        elif HANDLE.search(first.text):
            self.check("retrieve: the row is found", "row 217 of the list" in second.text, second.text[:300])
        else:
            self.check("retrieve: the result names a handle", False, first.text[-300:])

    # Installing

    def install_and_uninstall(self):
        """Before anything is run: uninstall gives the home back as it was."""
        self.place.fresh(with_work=False)
        self.agent.configure(self.place, self.place.url)
        self.tamis.place(self.place, self.agent)
        before = snapshot(self.place.home)
        dry = self.tamis.run(self.place, "install", self.agent.name, "--mcp", "--trust-path", "--dry-run")
        self.check("install --dry-run", dry.returncode == 0, dry.stderr[-500:])
        self.check("install --dry-run writes nothing", snapshot(self.place.home) == before)
        done = self.tamis.run(self.place, "install", self.agent.name, "--mcp", "--trust-path")
        if not self.check("install", done.returncode == 0, done.stderr[-500:]):
            return False
        first = snapshot(self.place.home)
        self.check("install changes something", first != before)
        self.tamis.run(self.place, "install", self.agent.name, "--mcp", "--trust-path")
        second = snapshot(self.place.home)
        self.check("install again changes nothing", second == first, difference(first, second))
        done = self.tamis.run(self.place, "uninstall", self.agent.name)
        self.check("uninstall", done.returncode == 0, done.stderr[-500:])
        after = snapshot(self.place.home)
        self.check("uninstall restores the home", after == before, difference(before, after))
        return True

    def doctor(self):
        before = snapshot(self.place.home)
        done = self.tamis.run(self.place, "doctor")
        broken = [line for line in done.stdout.splitlines() if line.startswith("broken")]
        # Nobody approved the hook on Codex' screen, which doctor must say.
        expected = [line for line in broken if self.agent.name == "codex" and "not approved" in line]
        self.check("doctor", broken == expected and done.returncode == bool(broken), (done.stdout + done.stderr)[-1500:])
        # It asks the agents for their versions, and some of them write state of their own.
        written = [name for name in difference(before, snapshot(self.place.home)) if name in before]
        self.check("doctor changes no file", not written, written)

    def uninstall(self):
        """After sessions: the settings are as before the installation, apart from what the agent itself wrote."""
        installed = {name: (self.place.home / name).read_bytes() for name in self.agent.settings if (self.place.home / name).exists()}
        done = self.tamis.run(self.place, "uninstall", self.agent.name)
        self.check("uninstall after sessions", done.returncode == 0, done.stderr[-500:])
        rest = [name for name in installed if (self.place.home / name).exists() and b"tamis" in (self.place.home / name).read_bytes()]
        self.check("no settings name tamis", not rest, rest)
        left = [str(path) for path in self.place.home.rglob("*tamis*") if not str(path.relative_to(self.place.home)).startswith(KEPT)]
        left = [path for path in left if "/.local/state" not in path]
        self.check("no file of tamis is left", not left, left)

    # Permissions

    def judged(self, name, rules, mode, commands, with_tamis):
        """[(command, whether it ran, text)]"""
        made = [self.place.work / "made-by-a-session", self.place.home / "made-outside"]
        steps = permissions.calls(self.agent, commands)
        if with_tamis:
            if not self.install(rules):
                return []
        else:
            self.place.fresh(with_work=False)
        found = []
        for path in made:
            path.unlink(missing_ok=True)
        label = f"{name}, {'with' if with_tamis else 'without'} tamis"
        # Some agents end the session at the first refusal, so every command has a session of its own if one is missing.
        session = self.session(label, steps, rules=rules, mode=mode, keep_settings=with_tamis)
        for i, command in enumerate(commands):
            result = session.result(i)
            text = self.agent.unwrap(result.text) if result else "(no result)"
            ran = "test result:" in text if command == permissions.TEST else "record-0399" in text if command == permissions.LIST else None
            found.append((command, ran, text))
        found.append(("files that were made", [path.exists() for path in made], ""))
        found.append(("exit status", session.code, ""))
        return found

    def permissions(self):
        for name, rules, mode, commands in permissions.SETS.get(self.agent.label, []):
            without = self.judged(name, rules, mode, commands, False)
            if self.tamis is None:
                for command, ran, text in without:
                    print(f"    {command}: {ran} {text[:160]!r}")
                continue
            with_tamis = self.judged(name, rules, mode, commands, True)
            for (command, ran, text), (_, ran_too, text_too) in zip(without, with_tamis):
                self.check(f"permissions, {name}: {command}", ran == ran_too, f"{ran} → {ran_too}: {text[:300]!r} → {text_too[:300]!r}")
                codes = {self.agent.code(text)} | (set() if self.agent.names_exit_code else {self.full.get(command, (0, 0))[1]})
                self.check(
                    f"permissions, {name}: {command}: exit code",
                    self.agent.code(text_too) in codes,
                    f"{text[-200:]!r} → {text_too[-200:]!r}",
                )
                if not ran:
                    self.check(f"permissions, {name}: {command}: text", equal(text, text_too), changes(text, text_too))


# The longest result of an MCP tool that all agents show as it is.
AGENTS_LIMIT = 40_000

# Results that tamis does not change. The hook of Codex rewrites only commands that are known and have a filter.
UNFILTERED = {label: {"listing of 400 lines", "output of 1 MB"} for label in ("codex", "codex-scripts")}


def tokens(size):
    return "" if size is None else f"{(size + 3) // 4:,}"


def print_tables(runs):
    print("\n## Estimated tokens (bytes / 4) that the model receives\n")
    labels = [run.agent.label for run in runs]
    print("| job | " + " | ".join(f"{label} without | with" for label in labels) + " |")
    print("|---" * (1 + 2 * len(labels)) + "|")
    total = [[0, 0] for _ in runs]
    for job in jobs.JOBS:
        cells = []
        for i, run in enumerate(runs):
            without, with_tamis = run.table.get(job.name, [None, None])
            total[i][0] += without or 0
            total[i][1] += with_tamis or 0
            cells += [tokens(without), tokens(with_tamis)]
        print(f"| {job.name} | " + " | ".join(cells) + " |")
    print("| all jobs | " + " | ".join(f"{tokens(a)} | {tokens(b or None)}" for a, b in total) + " |")
    print("\n## MCP clients\n")
    print("| agent | clientInfo in `initialize` | what the model gets of a result with content and structuredContent |")
    print("|---|---|---|")
    for run in runs:
        print(f"| {run.agent.label} {run.agent.version()} | {run.client} | {run.reads} |")


def main():
    parser = argparse.ArgumentParser(prog="run", description=__doc__)
    names = [agent.label for agent in ALL]
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=", ".join(names) + " (default: all)")
    parser.add_argument("--baseline", action="store_true", help="only without tamis: shows that the agents and the model work")
    parser.add_argument("--tamis", metavar="FOLDER", help="the folder of tamis and tamis-gateway (default: the debug build)")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part; may be repeated")
    parser.add_argument("--log", metavar="FOLDER", type=pathlib.Path, help="keep every request that the model received here")
    options = parser.parse_args()
    unknown = [name for name in options.agents if name not in names]
    if unknown:
        parser.error(f"unknown agent {unknown[0]}; expected one of {', '.join(names)}")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target")
    tamis = None if options.baseline else Tamis(options.tamis or target / "debug")
    if tamis and tamis.missing():
        parser.error(f"no {tamis.missing()[0]} (build it with: cargo build -p tamis-cli -p tamis-gateway)")
    parts = options.part or PARTS
    report, runs = Report(), []
    for agent in ALL:
        if options.agents and agent.label not in options.agents:
            continue
        if not agent.available():
            report.skip(agent.label, f"{agent.package} {agent.version()} is not installed (setup could not get it)")
            continue
        print(f"\n== {agent.label} {agent.version()}", flush=True)
        run = AgentRun(agent, tamis, report, options.log)
        run.prepare()
        runs.append(run)
        if "jobs" in parts:
            run.baseline()
            if tamis:
                run.with_tamis()
        if "permissions" in parts:
            run.permissions()
        if "rules" in parts and tamis and agent.label == "codex":
            codex_rules.compare(report, agent, tamis.folder)
        if "faults" in parts and tamis:
            faults.run(run)
        shutil.rmtree(run.place.root, ignore_errors=True)
    print_tables(runs)
    print(f"\n{report.passed} passed, {len(report.failed)} failed, {len(report.skipped)} skipped")
    for line in report.failed + [f"skipped {line}" for line in report.skipped]:
        print(line[:400])
    if not any(RUNS.glob("*")):
        shutil.rmtree(RUNS, ignore_errors=True)
    sys.exit(1 if report.failed else 0)


if __name__ == "__main__":
    main()
