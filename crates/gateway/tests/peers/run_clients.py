"""Runs real clients against real servers, directly and through a proxy, and compares what the clients saw.

    run_clients.py                                            directly: shows that the peers work
    run_clients.py --stdio 'tamis-gateway mcp --'             the server's command is appended
    run_clients.py --http 'tamis-gateway mcp --upstream {upstream} --listen 127.0.0.1:{port}'
    run_clients.py --bridge 'tamis-gateway mcp --stdio --upstream {upstream}'     stdio client, HTTP server

Every client plays the same scenario (clients/plan.json): all pages of the tools, a call of every tool, progress, sampling,
elicitation, cancellation, a resumed stream, subscriptions, resources, prompts and completion.

By default the proxy may add the tool `tamis_retrieve`, and everything else has to be equal. With `--filtered` results may
be smaller, but no call may fail that succeeds directly. In both cases all reads with `tamis_retrieve` have to succeed, if the
tool is there. The exit code is 1 if a step fails. `--verbose` prints both versions of a step that failed.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import kit

PLAN = kit.HERE / "clients" / "plan.json"
# How each client is started. `rmcp` is used if it was built.
CLIENTS = {
    "ts1": [str(kit.NODE), str(kit.HERE / "clients" / "ts1.mjs")],
    "ts2": [str(kit.NODE), str(kit.HERE / "clients" / "ts2.mjs")],
    "py1": [str(kit.CACHE / "py1" / "bin" / "python"), str(kit.HERE / "clients" / "py1.py")],
    "py2": [str(kit.CACHE / "py2" / "bin" / "python"), str(kit.HERE / "clients" / "py2.py")],
    "rmcp": [str(kit.CACHE / "rmcp" / "debug" / "rmcp-client")],
}
FORMS = ("stdio", "http", "bridge")
SERVERS = ("everything", "filesystem", "fixture", "misbehaving")

# Times and identifiers that differ between two runs of the same server.
VARYING = [
    (re.compile(r"\d{1,2}:\d{2}:\d{2}(\s?[AP]M)?"), "TIME"),
    (re.compile(r"\d{4}-\d{2}-\d{2}T[\d:.]+Z?"), "DATE"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b"), "ID"),
]
# Tools whose responses a bridge replaces by an error: over HTTP only the response to the request of a POST is one.
REFUSED_BY_BRIDGE = ("respond_as",)
# The blob holds a time in base64.
VARYING_URIS = ("demo://resource/dynamic/blob",)


class Servers:
    """The servers: `command` for standard input and output, `http` for the command and environment of an HTTP server."""

    def __init__(self, root):
        self.files = root / "files"
        everything = str(kit.PACKAGES / "server-everything" / "dist" / "index.js")
        filesystem = str(kit.PACKAGES / "server-filesystem" / "dist" / "index.js")
        misbehaving = [sys.executable, str(kit.HERE / "misbehaving" / "upstream.py")]
        pages = ["--page-size", "7"]
        self.command = {
            "everything": [str(kit.NODE), everything, "stdio"],
            "filesystem": [str(kit.NODE), filesystem, str(self.files)],
            "fixture": [*kit.FIXTURE, "--stdio", *pages],
            "misbehaving": misbehaving,
        }
        self.http = {
            "everything": lambda port: ([str(kit.NODE), everything, "streamableHttp"], {"PORT": str(port)}),
            "fixture": lambda port: ([*kit.FIXTURE, "--port", str(port), *pages], {}),
            "misbehaving": lambda port: ([*misbehaving, "--http", str(port)], {}),
        }

    def reset(self):
        """Makes the folder of the filesystem server anew, with the same content each time."""
        shutil.rmtree(self.files, ignore_errors=True)
        self.files.mkdir(parents=True)
        lines = [f"line {number}: status={'ok' if number % 100 else 'failed'}" for number in range(1, 3001)]
        items = [{"id": number, "title": f"Item {number}", "body": "text " * 40, "empty": None} for number in range(300)]
        (self.files / "small.txt").write_text("first\nsecond\nthird\n")
        (self.files / "log.txt").write_text("\n".join(lines) + "\n")
        (self.files / "items.json").write_text(json.dumps({"items": items}))
        (self.files / "pixel.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(60))


def play(client, plan, server, target, log, era):
    """Runs one client and returns its steps."""
    words = [*CLIENTS[client], str(plan), server, *target]
    root = str(plan.parent / "files")
    env = {**os.environ, "TAMIS_PEERS_NODE": str(kit.CACHE / "node"), "TAMIS_ERA": era, "TAMIS_ROOT": root}
    with open(log, "ab") as errors:
        errors.write(f"--- {shlex.join(words)}\n".encode())
        errors.flush()
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=env, start_new_session=True
        )
        try:
            output, _ = process.communicate(timeout=150)
        except subprocess.TimeoutExpired:
            kit.stop(process)
            output = b""
        kit.stop(process)
    return [json.loads(line) for line in output.splitlines() if line.startswith(b"{")]


def run(form, proxy, client, plan, server, servers, log, era):
    """One run: directly if `proxy` is None, else through it."""
    servers.reset()
    if form == "stdio":
        target = [*kit.fill(proxy or ""), *servers.command[server]]
        return play(client, plan, server, ["stdio", *target], log, era)
    port = kit.free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    words, env = servers.http[server](port)
    with kit.running(words, port, log, {**os.environ, **env}):
        if proxy is None:
            return play(client, plan, server, ["http", url], log, era)
        if form == "bridge":
            return play(client, plan, server, ["stdio", *kit.fill(proxy, upstream=url)], log, era)
        front = kit.free_port()
        with kit.running(kit.fill(proxy, upstream=url, port=front), front, log):
            return play(client, plan, server, ["http", f"http://127.0.0.1:{front}/mcp"], log, era)


# -- Comparison -----------------------------------------------------------------------------------------------------------

def by_place(steps):
    """The steps by name and arguments. Log messages come at any time and are kept apart, sorted."""
    places, counts = {}, collections.Counter()
    for step in steps:
        if step["step"] in ("log", "retrieve"):
            continue
        key = json.dumps([step["step"], step.get("tool"), step.get("uri"), step.get("name"), step.get("arguments")])
        counts[key] += 1
        places[key, counts[key]] = step
    return places


def normal(step, filtered):
    """A step without what a proxy may add and without what differs between two runs."""
    step = json.loads(json.dumps(step))
    if step.get("varies") or step.get("uri", "").startswith(VARYING_URIS):
        return {"step": step["step"], "failed": "error" in step}
    if step["step"] == "tools" and "result" in step:
        entries = step["result"]["entries"] = [tool for tool in step["result"]["entries"] if tool["name"] != "tamis_retrieve"]
        for tool in entries if filtered else []:
            tool.pop("outputSchema", None)
            for added in ("_output_mode", "_budget"):
                tool.get("inputSchema", {}).get("properties", {}).pop(added, None)
    # A client may drop the last progress notifications, because the response follows at once.
    step["progress"] = step.get("progress", [])[:1]
    text = json.dumps(step, sort_keys=True)
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return json.loads(text)


def size(step):
    """The bytes of a result. Clients print only the size of a large one."""
    result = step.get("result") or step.get("error") or {}
    return result.get("bytes") or len(json.dumps(result))


def failed(step):
    """Whether a step failed. With a filter large results succeed where a client refuses the original."""
    return step is None or "error" in step or bool((step.get("result") or {}).get("isError"))


def compare(direct, proxied, filtered, server, over_stdio=()):
    """The counts of equal, changed and lost steps, and the lost ones. `over_stdio`: the direct run over the transport that the
    client of a bridge has, whose limits apply to it as well."""
    before, after = by_place(direct), by_place(proxied)
    same_client = by_place(over_stdio)
    counts, lost = collections.Counter(), []
    for key, step in before.items():
        other = after.get(key)
        versions = [normal(version, filtered) for version in (step, same_client.get(key)) if version]
        if other is not None and normal(other, filtered) in versions:
            counts["equal"] += 1
        elif over_stdio and step.get("tool") in REFUSED_BY_BRIDGE:
            counts["equal"] += failed(other)
        elif other is not None and failed(step) and not failed(other):
            counts["changed"] += 1
        elif filtered and step["step"] in ("call", "read", "task") and failed(other) <= failed(step):
            counts["changed"] += 1
            counts["bytes_before"] += size(step)
            counts["bytes_after"] += size(other)
        else:
            lost.append((step, other))
    lost += [(None, step) for key, step in after.items() if key not in before]
    # The simulated log of server-everything is random; the fixture's is not.
    if server == "fixture":
        logs = [sorted(str(step["data"]) for step in steps if step["step"] == "log") for steps in (direct, proxied)]
        if logs[0] != logs[1]:
            lost.append(({"step": "log", "result": logs[0]}, {"step": "log", "result": logs[1]}))
    reads = [step for step in proxied if step["step"] == "retrieve"]
    counts["read"] = sum(step["ok"] for step in reads)
    counts["reads"] = len(reads)
    lost += [(None, step) for step in reads if not step["ok"]]
    return counts, lost


def describe(step):
    if step is None:
        return "absent"
    name = step.get("tool") or step.get("uri") or step.get("name") or ""
    return f"{step['step']} {name}".strip()


def finished(steps):
    return any(step["step"] == "closed" for step in steps)


def report_lost(lost, verbose):
    for step, other in lost[:20]:
        print(f"    {describe(step or other)}: {'differs' if step and other else 'only ' + ('directly' if step else 'through the proxy')}")
        if verbose:
            for name, version in (("direct", step), ("proxied", other)):
                print(f"      {name}: {json.dumps(version)[:1500]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for form in FORMS:
        parser.add_argument(f"--{form}", metavar="COMMAND")
    parser.add_argument("--client", action="append", choices=sorted(CLIENTS))
    parser.add_argument("--server", action="append", choices=SERVERS)
    parser.add_argument("--form", action="append", choices=FORMS)
    parser.add_argument("--era", default="auto", help="for the clients of both eras: legacy, auto or a version")
    parser.add_argument("--filtered", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    root = kit.CACHE / "scratch"
    root.mkdir(parents=True, exist_ok=True)
    log = root / "clients.log"
    log.write_bytes(b"")
    servers = Servers(root)
    plan = root / "plan.json"
    plan.write_text(PLAN.read_text().replace("{files}", str(servers.files)))
    proxies = {form: getattr(options, form) for form in FORMS}
    given = [form for form in FORMS if proxies[form]]
    forms = options.form or given or ["stdio", "http"]
    clients = [name for name in options.client or CLIENTS if pathlib.Path(CLIENTS[name][0]).exists()]
    direct_runs, bad = {}, 0
    print(f"{'client':7}{'server':12}{'form':8}{'equal':>7}{'changed':>9}{'lost':>6}{'reads':>8}  bytes of changed results")
    for client in clients:
        for server in options.server or SERVERS:
            def direct_run(form, client=client, server=server):
                if (client, server, form) not in direct_runs:
                    direct_runs[client, server, form] = run(form, None, client, plan, server, servers, log, options.era)
                return direct_runs[client, server, form]

            for form in forms:
                if form != "stdio" and server not in servers.http:
                    continue
                direct = direct_run("http" if form == "bridge" else form)
                proxied = run(form, proxies[form], client, plan, server, servers, log, options.era) if proxies[form] else direct
                over_stdio = direct_run("stdio") if form == "bridge" else ()
                counts, lost = compare(direct, proxied, options.filtered, server, over_stdio)
                complete = finished(direct) and finished(proxied)
                bad += len(lost) + (not complete)
                sizes = f"{counts['bytes_before']} -> {counts['bytes_after']}" if counts["changed"] else ""
                reads = f"{counts['read']}/{counts['reads']}"
                print(f"{client:7}{server:12}{form:8}{counts['equal']:7}{counts['changed']:9}{len(lost):6}{reads:>8}  {sizes}", flush=True)
                if not complete:
                    print(f"    incomplete: {'direct' if not finished(direct) else 'proxied'} run did not end (log: {log})")
                report_lost(lost, options.verbose)
    print(f"{bad} failures")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
