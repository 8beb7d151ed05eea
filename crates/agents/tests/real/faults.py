"""What must not stop an agent: tamis is gone, its settings are broken, its disk is full, an output is very large."""

import collections
import contextlib
import re
import subprocess

import jobs

# The jobs that are run under each fault.
FEW = ("cargo test with failures", "exit code 3", "heredoc", "MCP error", "compound command")

BIG_MEGABYTES = 50


def run(agent_run):
    agent, place, tamis = agent_run.agent, agent_run.place, agent_run.tamis
    agent_run.place.fresh(with_work=False)
    few = [job for job in jobs.JOBS if job.name in FEW]
    steps, where = jobs.steps(agent, few)
    base = agent_run.session("few jobs without tamis", steps)

    def session(name, same=False, servers=True):
        """The jobs under a fault, compared with the agent's own results. `servers`: whether MCP servers must start."""
        found = agent_run.session(name, steps, keep_settings=True)
        agent_run.check(f"{name}: every call has a result", found.finished, found.output[-300:])
        agent_run.check(f"{name}: exit status", found.code == base.code, f"{base.code} → {found.code}")
        for job in few:
            if job.tool and not servers:
                continue
            one, other = base.result(*where[job.name][0]), found.result(*where[job.name][0])
            if one is None or other is None:
                continue
            was, text = agent.unwrap(one.text), agent.unwrap(other.text)
            what = f"{name}: {job.name}"
            codes = {agent.code(was)}
            if job.commands and not agent.names_exit_code:
                codes.add(agent_run.full.get(job.commands[0], ("", 0))[1])
            agent_run.check(f"{what}: exit code", agent.code(text) in codes, f"{was[:200]!r} → {text[:200]!r}")
            full = agent_run.full[job.commands[0]][0] if job.keep else ""
            if same or job.expect == "same" or (job.keep and "[tamis" not in text):
                strange = strange_parts(was, text, full)
                agent_run.check(f"{what}: same", not strange, f"only in one result: {strange[:3]}")
            elif job.keep:
                lost = jobs.lost(job.keep, full, text)
                agent_run.check(f"{what}: failure lines", not lost, f"lost: {lost}")

    if agent_run.install():
        tamis.remove(place)
        session("binaries removed", same=True)

    if agent_run.install() and agent.name == "codex":
        # The shell of a command may have another PATH than the agent and its hooks.
        place.write(".profile", f"PATH='{place.path().replace(str(place.bin) + ':', '')}'\nexport PATH\n")
        session("tamis is not on the PATH of commands")

    if agent_run.install():
        place.write(".config/tamis/tamis.yaml", "filters: [\n  broken: {{\n")
        # The proxy cannot know whether the rules remove for safety: its servers may be missing.
        session("broken tamis.yaml", servers=False)

    if agent_run.install():
        with full_disk(place.home / ".local" / "state" / "tamis") as works:
            if works:
                session("full disk")
            else:
                agent_run.report.skip(f"{agent.label}: full disk", "a small file system cannot be mounted here")

    if agent_run.install():
        command = f"python3 noise.py {BIG_MEGABYTES}"
        found = agent_run.session(f"{BIG_MEGABYTES} MB", [[agent.shell(command)], [agent.shell("echo still here")]], keep_settings=True)
        agent_run.check(f"{BIG_MEGABYTES} MB: results", found.finished, found.output[-300:])
        second = found.result(1)
        agent_run.check(f"{BIG_MEGABYTES} MB: the agent goes on", bool(second) and "still here" in second.text)
        first = found.result(0)
        length = len(first.text) if first else 0
        agent_run.check(f"{BIG_MEGABYTES} MB: the result is short", 0 < length < 60_000, length)


# Codex writes this in place of the middle of a long output.
TRUNCATED = re.compile(r"\n|…\d+ \w+ truncated…")


def strange_parts(one, other, full):
    """The parts of two results that only one has, and that are not in the full output. An agent merges two streams in any order,
    and what it cuts depends on that order: it may cut other lines, and lines in another place, and put the line of one stream
    into that of the other. Results as JSON have escaped line ends."""
    one, other, full = (jobs.stable(text.replace("\\n", "\n")) for text in (one, other, full))
    one, other = (collections.Counter(TRUNCATED.split(text)) for text in (one, other))
    parts = (one - other) | (other - one)
    return [part for part in parts if not any(part[:at] in full and part[at:] in full for at in range(len(part) + 1))]


@contextlib.contextmanager
def full_disk(folder):
    """The folder is a file system without free space. Gives whether that worked; it needs root."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", str(folder)], capture_output=True)
    if done.returncode != 0:
        yield False
        return
    try:
        with contextlib.suppress(OSError), open(folder / "ballast", "wb") as out:
            while True:
                out.write(b"x" * 4096)
                out.flush()
        yield True
    finally:
        subprocess.run(["umount", "-l", str(folder)], capture_output=True)
