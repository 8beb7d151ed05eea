"""Reaches a server through real HTTP and SOCKS proxies, as the environment of the gateway asks for.

    proxies.py 'tamis-gateway'

The proxies are proxy.py and pproxy. The server is misbehaving/upstream.py, over HTTP and over TLS with a certificate of its own. It
is called `mcp.test`: a name that only the proxies know, so that a result is proof of the way it took. The exit code is 1 if a case
fails.
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import kit

PYTHON = str(kit.CACHE / "py2" / "bin" / "python")
UPSTREAM = [sys.executable, str(kit.HERE / "misbehaving" / "upstream.py")]

# Runs a module as a program that resolves names below `.test` to this machine.
RESOLVING = """
import runpy, socket, sys
resolve = socket.getaddrinfo
def resolved(host, *rest, **named):
    name = host.decode() if isinstance(host, bytes) else host
    return resolve("127.0.0.1" if name and name.endswith(".test") else host, *rest, **named)
socket.getaddrinfo = resolved
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
USER, PASSWORD = "mira", "tide@1"
CREDENTIALS = "mira:tide%401"
RESULT = {"name": "result", "arguments": {"shape": "lines", "bytes": 400_000}}


def proxy(kind, port):
    """The command line of a proxy that asks for a password, and the scheme of its address."""
    program = [PYTHON, "-c", RESOLVING]
    if kind == "proxy.py":
        options = ["--hostname", "127.0.0.1", "--port", port, "--num-workers", "1", "--num-acceptors", "1"]
        return [*program, "proxy", *options, "--basic-auth", f"{USER}:{PASSWORD}"], "http"
    listen = f"{kind}://127.0.0.1:{port}" + ("" if kind == "socks4" else f"#{USER}:{PASSWORD}")
    return [*program, "pproxy", "-l", listen], kind


def call(gateway, upstream, variables):
    """The result of a call through the gateway, or its error, as text."""
    names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]
    clean = {name: value for name, value in os.environ.items() if name.upper() not in names}
    process = subprocess.Popen(
        [gateway, "mcp", "--stdio", "--upstream", upstream],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**clean, **variables},
    )
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "proxies", "version": "1"}}
    try:
        for number, (method, value) in enumerate([("initialize", params), ("tools/call", RESULT)]):
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": value}) + "\n")
                process.stdin.flush()
            line = process.stdout.readline()
            if not line or "error" in json.loads(line):
                break
        process.stdin.close()
        errors = process.stderr.read()
        process.wait(5)
        return line or errors, errors
    finally:
        process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gateway")
    gateway = parser.parse_args().gateway
    failures = 0

    def expect(name, text, *parts, without=()):
        nonlocal failures
        line, errors = text
        whole = line + errors
        missing = [part for part in parts if part not in whole]
        shown = [part for part in (PASSWORD, CREDENTIALS, *without) if part in whole]
        failures += bool(missing or shown)
        print(f"{name}: {'ok' if not (missing or shown) else f'FAILED, lacks {missing}, has {shown}: {whole[:400]}'}")

    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        certificate, both = folder / "cert.pem", folder / "both.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=mcp.test", "-addext", "subjectAltName=DNS:mcp.test,IP:0.0.0.0", "-addext", "basicConstraints=critical,CA:FALSE",
             "-keyout", folder / "key.pem", "-out", certificate],
            check=True, capture_output=True,
        )
        both.write_text(certificate.read_text() + (folder / "key.pem").read_text())
        ports = {"http": kit.free_port(), "https": kit.free_port()}
        stack.enter_context(kit.running([*UPSTREAM, "--http", str(ports["http"])], ports["http"]))
        stack.enter_context(kit.running([*UPSTREAM, "--http", str(ports["https"]), "--tls", str(both)], ports["https"]))
        trusted = {"SSL_CERT_FILE": str(certificate)}
        used = {"http": "HTTP_PROXY", "https": "HTTPS_PROXY"}
        for kind in ("proxy.py", "http", "socks5", "socks4"):
            port = str(kit.free_port())
            words, scheme = proxy(kind, port)
            # The proxy resolves the name of the server. pproxy has no SOCKS 4a, so it gets an address.
            remote = {"http": "http", "socks5": "socks5h", "socks4": "socks4"}[scheme]
            host = "0.0.0.0" if scheme == "socks4" else "mcp.test"
            log = folder / f"{kind}.log"
            login = "" if scheme == "socks4" else CREDENTIALS + "@"
            with kit.running(words, int(port), log):
                address = f"{remote}://{login}127.0.0.1:{port}"
                # pproxy remembers addresses that have sent the right password, so the wrong one is first.
                for to, number in ports.items() if login else ():
                    wrong = address.replace(CREDENTIALS, "mira:wrong")
                    text = call(gateway, f"{to}://mcp.test:{number}/mcp", {**trusted, used[to]: wrong})
                    expect(f"{kind}, {to}, wrong password", text, '"error"', "the proxy", without=["wrong"])
                for to, number in ports.items():
                    for variable in (used[to], "ALL_PROXY", used[to].lower()):
                        text = call(gateway, f"{to}://{host}:{number}/mcp", {**trusted, variable: address})
                        expect(f"{kind}, {remote}, {to}, {variable}", text, "tamis_retrieve")
                    if scheme == "socks5":
                        local = f"{scheme}://{login}127.0.0.1:{port}"
                        text = call(gateway, f"{to}://0.0.0.0:{number}/mcp", {**trusted, "ALL_PROXY": local})
                        expect(f"{kind}, {scheme}, {to}", text, "tamis_retrieve")
                    if to == "https":
                        text = call(gateway, f"{to}://{host}:{number}/mcp", {used[to]: address})
                        expect(f"{kind}, {to}, unknown certificate", text, "certificate", "SSL_CERT_FILE")
                    # Some proxies accept the connection before they know the server.
                    text = call(gateway, f"{to}://other.invalid/mcp", {**trusted, used[to]: address})
                    expect(f"{kind}, {to}, unknown server", text, '"error"', *(["the proxy"] if to == "https" else []))
            # The proxy has ended: the server is not reached without it.
            for to, number in ports.items():
                text = call(gateway, f"{to}://{host}:{number}/mcp", {**trusted, used[to]: address})
                expect(f"{kind}, {to}, ended", text, "through the proxy", "connection refused")
        for address in ("socks://127.0.0.1:1", "ftp://127.0.0.1:1", "http://a b", "http://us er:p@127.0.0.1:1", "://"):
            text = call(gateway, f"http://mcp.test:{ports['http']}/mcp", {"HTTP_PROXY": address})
            expect(f"unusable, {address}", text, "cannot be used", "socks5://HOST:PORT")
            text = call(gateway, f"http://127.0.0.1:{ports['http']}/mcp", {"HTTP_PROXY": address})
            expect(f"not needed, {address}", text, "tamis_retrieve")
    print(f"{failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
