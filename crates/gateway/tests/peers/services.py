"""Servers of five services, each asked plain questions directly and through the proxy: files, Jira, web pages, Notion, a browser.

    services.py GATEWAY SERVICES [NAME…]

SERVICES is a folder with a Python environment `py` that has mcp-atlassian and mcp-server-fetch, and with node_modules of
@modelcontextprotocol/server-filesystem, @notionhq/notion-mcp-server and @playwright/mcp (which needs a Chromium; its path may be
in CHROMIUM). Jira and Notion are replaced by a local API that responds with documents of `corpus/`.

A fact is a text that the direct result has. It must be in the result that comes through the proxy, or else in what `tamis_retrieve` returns
for the handle of its notice. The table has the characters of both results, and where the facts were.
"""

import contextlib
import http.server
import json
import os
import pathlib
import re
import sys
import tempfile
import threading

from handles import Client

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
CORPUS = ROOT / "corpus"

PAGE = "<html><head><title>Berths</title></head><body><nav>%s</nav><main><h1>Berths</h1><table>%s</table>%s</main></body></html>" % (
    "".join(f'<a href="/n{n}">Part {n}</a> ' for n in range(60)),
    "".join(
        f'<tr><td>berth {n}</td><td>{"free" if n % 3 else "taken"}</td><td><button title="Book {n}">Book</button></td></tr>'
        for n in range(300)
    ),
    "".join(f"<p>Remark {n}: the crane of berth {n} was inspected on day {n}, and nothing was found.</p>" for n in range(400)),
)


def corpus(name):
    return json.loads((CORPUS / name).read_text())


class Api(http.server.BaseHTTPRequestHandler):
    """Jira, Notion and a page of the web."""

    protocol_version = "HTTP/1.1"

    def respond(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        kind, body = "application/json", None
        if path.endswith("/myself"):
            body = {"name": "mira", "key": "mira", "displayName": "Mira Okafor", "emailAddress": "mira@host.example"}
        elif "/field" in path:
            body = [{"id": "summary", "name": "Summary", "custom": False, "schema": {"type": "string"}}]
        elif "/search" in path and path.startswith("/rest"):
            body = plain(corpus("jira-search.json"))
        elif path.startswith("/rest/api") and "/issue/" in path:
            body = plain(corpus("jira-get-issue.json"))
        elif path.startswith("/v1/blocks"):
            body = corpus("notion-list-block-children.json")
        elif path.startswith("/v1/pages"):
            body = corpus("notion-get-page.json")
        elif path.startswith("/v1/search") or path.startswith("/v1/dat"):
            body = corpus("notion-query-database.json")
        elif path in ("/", "/page"):
            kind, body = "text/html; charset=utf-8", PAGE
        status = 200 if body is not None else 404
        data = (body if isinstance(body, str) else json.dumps(body or {"message": "not found"})).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = do_PUT = respond

    def log_message(self, *_):
        pass


def plain(value):
    """Version 2 of Jira's API has texts where version 3 has documents."""
    if isinstance(value, dict):
        if value.get("type") == "doc":
            return " ".join(texts_of(value))
        return {name: plain(member) for name, member in value.items()}
    return [plain(element) for element in value] if isinstance(value, list) else value


def texts_of(value):
    if isinstance(value, dict):
        found = [value["text"]] if isinstance(value.get("text"), str) else []
        return found + [text for member in value.values() for text in texts_of(member)]
    return [text for element in value for text in texts_of(element)] if isinstance(value, list) else []


@contextlib.contextmanager
def api():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def services(folder, address, files):
    """Names, commands with their variables, and calls with the facts that are asked for."""
    modules = folder / "node_modules"
    node = ["env", f"TAMIS_API={address}", "node", "--import", str(HERE / "loopback.mjs")]
    jira = ["env", f"JIRA_URL={address}", "JIRA_PERSONAL_TOKEN=x", "JIRA_SSL_VERIFY=false", str(folder / "py/bin/mcp-atlassian")]
    notion = [*node[:2], 'OPENAPI_MCP_HEADERS={"Authorization":"Bearer x","Notion-Version":"2022-06-28"}', "NOTION_TOKEN=x", *node[2:]]
    browser = ["node", str(modules / "@playwright/mcp/cli.js"), "--headless", "--isolated", "--no-sandbox"]
    browser += ["--executable-path", os.environ.get("CHROMIUM", "/usr/bin/chromium")]
    page = corpus("notion-get-page.json")["id"]
    return {
        "files": (
            ["node", str(modules / "@modelcontextprotocol/server-filesystem/dist/index.js"), files],
            [
                ("directory_tree", {"path": files}, ["report-17.md", "node_modules", "part-3"]),
                ("list_directory", {"path": files}, ["docs"]),
                ("read_text_file", {"path": f"{files}/docs/report-17.md"}, ["line 1 of report 17", "line 899 of report 17"]),
            ],
        ),
        "jira": (
            jira,
            [
                ("jira_get_issue", {"issue_key": corpus("jira-get-issue.json")["key"]}, facts_of_issue()),
                ("jira_search", {"jql": "project = X"}, [issue["key"] for issue in corpus("jira-search.json")["issues"]]),
            ],
        ),
        "fetch": (
            [str(folder / "py/bin/mcp-server-fetch"), "--ignore-robots-txt", "--allow-private-ips"],
            [("fetch", {"url": f"{address}/page", "max_length": 50000}, ["Remark 0:", "Remark 399:"])],
        ),
        "notion": (
            [*notion, str(modules / "@notionhq/notion-mcp-server/bin/cli.mjs")],
            [
                ("API-get-block-children", {"block_id": page}, texts("notion-list-block-children.json", "plain_text")[:9]),
                ("API-retrieve-a-page", {"page_id": page}, texts("notion-get-page.json", "plain_text")[:5]),
            ],
        ),
        "browser": (
            browser,
            [
                ("browser_navigate", {"url": f"{address}/page"}, ["Berths"]),
                ("browser_snapshot", {}, ["berth 0", "berth 299", "Remark 399"]),
            ],
        ),
    }


def facts_of_issue():
    issue = corpus("jira-get-issue.json")
    return [issue["key"], issue["fields"]["summary"], issue["fields"]["status"]["name"], issue["fields"]["assignee"]["displayName"]]


def texts(name, member):
    """The texts under a member's name, without those that JSON would write differently."""

    def collect(value):
        if isinstance(value, dict):
            own = value.get(member)
            found = [own] if isinstance(own, str) and re.fullmatch(r"[\w .,]{4,}", own) else []
            return found + [text for inner in value.values() for text in collect(inner)]
        return [text for inner in value for text in collect(inner)] if isinstance(value, list) else []

    return collect(corpus(name))


def shown(message):
    """Everything of a result that a client may show."""
    result = message.get("result") or {}
    parts = [block.get("text", "") for block in result.get("content", [])]
    return "\n".join(parts) + (json.dumps(result["structuredContent"], ensure_ascii=False) if "structuredContent" in result else "")


def has(text, fact):
    return fact in text or json.dumps(fact, ensure_ascii=False)[1:-1] in text


def retrieved(client, text):
    """What the handle of a notice returns."""
    handle = re.search(r"tm_[0-9a-zA-Z_-]+", text)
    pages, offset = "", 0
    while handle and offset is not None and len(pages) < 4_000_000:
        page = shown(client.call("tamis_retrieve", handle=handle[0], offset=offset))
        pages += page
        more = re.search(r"offset[=:] ?\"?(\d+)", page[-400:])
        offset = int(more[1]) if more and int(more[1]) > offset else None
    return pages


def main():
    gateway, folder, names = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    failed = False
    with api() as address, tempfile.TemporaryDirectory() as files:
        for part in ("docs", "src", "node_modules"):
            for number in range(40):
                place = pathlib.Path(files, part, f"part-{number % 8}") if part != "docs" else pathlib.Path(files, part)
                place.mkdir(parents=True, exist_ok=True)
                lines = "".join(f"line {line} of report {number}\n" for line in range(900))
                (place / f"report-{number}.md").write_text(lines)
        for name, (command, calls) in services(folder, address, files).items():
            if names and name not in names:
                continue
            direct, through = Client(command), {}
            for profile in ("standard", "tight"):
                proxy = [gateway, "mcp", "--profile", profile, "--store", "memory", "--log", os.devnull, "--"]
                through[profile] = Client([*proxy, *command])
            for tool, arguments, facts in calls:
                original = shown(direct.call(tool, **arguments))
                known = [fact for fact in facts if has(original, fact)]
                for profile, client in through.items():
                    text = shown(client.call(tool, **arguments))
                    missing = [fact for fact in known if not has(text, fact)]
                    again = retrieved(client, text) if missing else ""
                    lost = [fact for fact in missing if not has(again, fact)]
                    failed |= bool(lost) or not known
                    print(
                        f"{name:8} {tool:24} {profile:9} {len(original):7} -> {len(text):7} characters,"
                        f" {len(known) - len(missing)} of {len(known)} facts shown, {len(missing) - len(lost)} fetched"
                        + (f", LOST {lost}" if lost else "")
                        + ("" if known else f", the server has none: {original[:200]}")
                    )
            for client in (direct, *through.values()):
                client.end()
    sys.exit(failed)


if __name__ == "__main__":
    main()
