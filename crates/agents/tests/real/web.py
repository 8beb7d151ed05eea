"""A web page for the agents' tools that fetch pages: a proxy on the loopback interface that serves it for every host."""

import contextlib
import http.server
import socketserver
import ssl
import subprocess
import threading

HOST = "docs.python.org"
# Asked before, whether the host may be fetched.
CHECK = "api.anthropic.com"
URL = f"https://{HOST}/3/page.md"
# About 60 KB. Claude Code shows Markdown of hosts that it knows as it is, and of all others what a model makes of it.
PAGE = "# A page\n\n" + "".join(
    f"## Section {i}\n\nThe function `section_{i}()` returns the number {i * 37}. See [the next one](/3/section-{i + 1}.html) for what follows.\n\n"
    for i in range(450)
)


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_check = self.path.startswith("/api/web/domain_info")
        body = b'{"can_fetch":true}' if is_check else PAGE.encode()
        self.send_response(200)
        self.send_header("content-type", "application/json" if is_check else "text/markdown; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def certificates(folder):
    """(the certificate of an authority, that of the host with its key)"""
    folder.mkdir(exist_ok=True)
    authority, key, request, host = (folder / name for name in ("ca.pem", "ca.key", "host.csr", "host.pem"))
    if not host.exists():
        (folder / "names").write_text(f"subjectAltName=DNS:{HOST},DNS:{CHECK}\n")
        new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-batch"]
        host_key = folder / "host.key"
        for words in (
            [*new, "-x509", "-days", "2", "-subj", "/CN=tamis tests", "-keyout", key, "-out", authority],
            [*new, "-subj", f"/CN={HOST}", "-keyout", host_key, "-out", request],
            ["openssl", "x509", "-req", "-days", "2", "-in", request, "-CA", authority, "-CAkey", key, "-CAcreateserial", "-extfile", folder / "names", "-out", host],
        ):
            subprocess.run([str(word) for word in words], check=True, capture_output=True)
        host.write_text(host.read_text() + host_key.read_text())
    return authority, host


def proxy(context):
    class Proxy(socketserver.StreamRequestHandler):
        def handle(self):
            line = self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            if not line.startswith(tuple(f"CONNECT {host}:443 ".encode() for host in (HOST, CHECK))):
                self.wfile.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
                return
            self.wfile.write(b"HTTP/1.1 200 Connection Established\r\n\r\n")
            with contextlib.suppress(OSError), context.wrap_socket(self.connection, server_side=True) as secure:
                Page(secure, self.client_address, self.server)

    return Proxy


@contextlib.contextmanager
def serving(place):
    """Serves the page until the block ends."""
    authority, host = certificates(place.root / "web")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(host)
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), proxy(context))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place.web = {
        "HTTPS_PROXY": f"http://127.0.0.1:{server.server_address[1]}",
        "NO_PROXY": "127.0.0.1,localhost",
        "NODE_EXTRA_CA_CERTS": str(authority),
    }
    trust(place)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def trust(place):
    """Lets the agents of a place reach the page. To be called again when its folders are made anew."""
    place.extra_env |= place.web
