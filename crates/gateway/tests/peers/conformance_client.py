"""Starts the client of the conformance suite's client leg, with a proxy between it and the suite.

    conformance_client.py URL

The suite appends the address of its own server. TAMIS_CONFORMANCE_PROXY is the command line of the proxy, in which
`{upstream}` and `{port}` are replaced. Without it the client talks to the suite directly.
"""

import os
import subprocess
import sys
import urllib.parse

import kit


def client(url):
    env = {**os.environ, "TAMIS_PEERS_NODE": str(kit.CACHE / "node")}
    return subprocess.run([str(kit.NODE), str(kit.HERE / "clients" / "conformance.mjs"), url], env=env, timeout=60).returncode


def main():
    url = sys.argv[-1]
    proxy = os.environ.get("TAMIS_CONFORMANCE_PROXY")
    if proxy is None:
        return client(url)
    port = kit.free_port()
    path = urllib.parse.urlsplit(url).path or "/"
    with kit.running(kit.fill(proxy, upstream=url, port=port), port, kit.CACHE / "conformance-proxy.log"):
        return client(f"http://127.0.0.1:{port}{path}")


if __name__ == "__main__":
    sys.exit(main())
