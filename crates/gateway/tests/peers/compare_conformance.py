"""Runs the public conformance suite directly and through a proxy, and lists the checks whose status differs.

    compare_conformance.py                          the suite directly: the baseline
    compare_conformance.py --proxy 'COMMAND …'      directly and through the proxy

`{upstream}` in the command is replaced by the server's address and `{port}` by the port that the proxy has to listen on:

    --proxy 'tamis-gateway mcp --upstream {upstream} --listen 127.0.0.1:{port} --profile off --store off'

There are two legs. In the server leg the suite is the client and the fixture server is behind the proxy. In the client leg
the suite is the server, and a client of the TypeScript SDK talks to it through the proxy.

The exit code is 1 if a check that passes directly does not pass through the proxy and is not excused. `--expected FILE`
names a file with one excuse a line: `REVISION LEG SCENARIO CHECK REASON…`, where `*` stands for anything.
"""

import argparse
import collections
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import kit

REVISIONS = ("2025-11-25", "2026-07-28")
# The client leg without the scenarios of authorization, which need an OAuth client and are passed through as headers.
CLIENT_SCENARIOS = {
    "2025-11-25": ("initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "json-schema-2020-12-preservation"),
    "2026-07-28": (
        "tools_call", "request-metadata", "sep-2322-client-request-state", "http-standard-headers", "http-custom-headers",
        "http-invalid-tool-headers", "json-schema-ref-no-deref", "json-schema-2020-12-preservation",
    ),
}


def read_checks(folder):
    """The status of each check as `{(scenario, check): [status, …]}`. A check that runs several times has several."""
    checks = collections.defaultdict(list)
    for path in sorted(pathlib.Path(folder).glob("*/checks.json")):
        scenario = strip_time(path.parent.name)
        for check in json.loads(path.read_text()):
            checks[scenario, check["id"]].append(check["status"])
    return checks


def strip_time(name):
    """The scenario in the name of a result folder, which ends in a time such as `2026-01-31T12-00-00-000Z`."""
    name = name[: -len("-2026-01-31T12-00-00-000Z")]
    return name.removeprefix("server-")


def suite(arguments, output, log, env=None):
    words = [str(kit.NODE), str(kit.CONFORMANCE), *arguments, "-o", str(output)]
    with open(log, "ab") as file:
        subprocess.run(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file, timeout=600, env=env)


def server_leg(revision, proxy, folder):
    """One run of the suite against the fixture server, which is started anew."""
    port = kit.free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    log = folder / "server.log"
    arguments = ["server", "--requirements", revision]
    with kit.running([*kit.FIXTURE, "--port", str(port)], port, log):
        if proxy is None:
            suite([*arguments, "--url", url], folder / "server", log)
        else:
            front = kit.free_port()
            with kit.running(kit.fill(proxy, upstream=url, port=front), front, log):
                suite([*arguments, "--url", f"http://127.0.0.1:{front}/mcp"], folder / "server", log)
    return read_checks(folder / "server")


def client_leg(revision, proxy, folder):
    """The client scenarios. The suite starts the client, with its own address as the last argument."""
    # The suite splits the command at spaces and knows no quotes, so the proxy goes into the environment.
    command = f"{sys.executable} {kit.HERE / 'conformance_client.py'}"
    env = {**os.environ, **({"TAMIS_CONFORMANCE_PROXY": proxy} if proxy else {})}
    checks = collections.defaultdict(list)
    for scenario in CLIENT_SCENARIOS[revision]:
        output = folder / "client" / scenario
        arguments = ["client", "--command", command, "--scenario", scenario, "--spec-version", revision]
        suite(arguments, output, folder / "client.log", env)
        for path in output.rglob("checks.json"):
            for check in json.loads(path.read_text()):
                checks[scenario, check["id"]].append(check["status"])
    return checks


LEGS = {"server": server_leg, "client": client_leg}


def read_excuses(path):
    lines = pathlib.Path(path).read_text().splitlines() if path else []
    return [line.split(maxsplit=4) for line in lines if line.strip() and not line.startswith("#")]


def excuse_for(excuses, place):
    for *patterns, reason in excuses:
        if all(fnmatch.fnmatchcase(value, pattern) for value, pattern in zip(place, patterns)):
            return reason
    return None


def compare(direct, proxied, place, excuses):
    """Prints the differences of one leg and returns how many lost checks have no excuse."""
    lost = 0
    for scenario, check in sorted(set(direct) | set(proxied)):
        before, after = sorted(direct[scenario, check]), sorted(proxied[scenario, check])
        if before == after:
            continue
        reason = excuse_for(excuses, (*place, scenario, check))
        # Checks without a verdict are reported as INFO. A proxy may change how many of them there are.
        worse = after.count("SUCCESS") < before.count("SUCCESS") or after.count("FAILURE") > before.count("FAILURE")
        lost += worse and reason is None
        verdict = f"excused: {reason}" if reason else "LOST" if worse else "differs"
        print(f"  {scenario} / {check}: {show(before)} -> {show(after)} ({verdict})")
    return lost


def show(statuses):
    return ", ".join(f"{count} {status}" for status, count in sorted(collections.Counter(statuses).items())) or "absent"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--proxy", help="command line of the proxy")
    parser.add_argument("--revision", action="append", choices=REVISIONS)
    parser.add_argument("--leg", action="append", choices=sorted(LEGS))
    parser.add_argument("--expected", help="file with differences that are expected, and their reasons")
    parser.add_argument("--keep", help="folder for the suite's results")
    options = parser.parse_args()
    excuses = read_excuses(options.expected)
    lost = 0
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(options.keep or scratch)
        for revision in options.revision or REVISIONS:
            for leg in options.leg or ("server", "client"):
                results = {}
                for name, proxy in (("direct", None), ("proxied", options.proxy)):
                    if name == "proxied" and proxy is None:
                        continue
                    folder = root / revision / name
                    folder.mkdir(parents=True, exist_ok=True)
                    results[name] = LEGS[leg](revision, proxy, folder)
                    total = [status for statuses in results[name].values() for status in statuses]
                    print(f"{revision} {leg} {name}: {show(total)}", flush=True)
                if options.proxy:
                    lost += compare(results["direct"], results["proxied"], (revision, leg), excuses)
    if options.proxy:
        print(f"{lost} checks lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
