"""Values by handle with `@modelcontextprotocol/server-filesystem`: a file of 300 KB is read, changed by three edits and written
again, without passing through the client. Also: hidden tools, and a notice that would be written into a file.

    handles.py GATEWAY [SERVER.js]
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import kit

MANIFEST = """version: 1
filters: {}
handles: use
tools: {deny: ['edit_*', move_file]}
"""


class Client:
    """A client on standard input and output."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "peer", "version": "1"}}
        self.request("initialize", hello)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == self.number and "method" not in message:
                return message

    def call(self, tool, **arguments):
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def end(self):
        self.process.stdin.close()
        return self.process.wait(20)


def text(message):
    return message["result"]["content"][-1]["text"]


def main():
    gateway = sys.argv[1]
    server = sys.argv[2] if len(sys.argv) > 2 else str(kit.PACKAGES / "server-filesystem" / "dist" / "index.js")
    node = str(kit.NODE) if kit.NODE.exists() else "node"
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve() / "files"
        root.mkdir()
        manifest = root.parent / "tamis.yaml"
        manifest.write_text(MANIFEST)
        lines = [f"{number:05} Crane {number % 7} is idle, and its brake holds: é ‘ok’.\n" for number in range(6000)]
        page = "# Crane log\n" + "".join(lines) + "end"
        (root / "page.md").write_text(page)
        command = [gateway, "mcp", "--manifest", str(manifest), "--store", str(root.parent / "store")]
        client = Client([*command, "--", node, server, str(root)])

        names = [tool["name"] for tool in client.request("tools/list", {})["result"]["tools"]]
        assert "write_file" in names and "edit_file" not in names and "move_file" not in names, names
        refused = client.call("move_file", source="a", destination="b")
        assert refused["error"] == {"code": -32602, "message": "Unknown tool: move_file"}, refused

        read = client.call("read_text_file", path=str(root / "page.md"))
        shown = len(json.dumps(read))
        notice = text(read)
        handle = notice[notice.index("tm_") :][:29]
        value = {
            "$tamis": handle,
            "edits": [
                {"old": "# Crane log\n", "new": "# Log of the cranes\n"},
                {"old": "04321 Crane 2 is idle", "new": "04321 Crane 2 is busy"},
                {"old": "\nend", "new": "\nthe end\n"},
            ],
        }
        arguments = {"path": str(root / "copy.md"), "content": value}
        written = client.call("write_file", **arguments)
        assert not written["result"].get("isError"), written
        expected = page.replace("# Crane log\n", "# Log of the cranes\n")
        expected = expected.replace("04321 Crane 2 is idle", "04321 Crane 2 is busy")
        expected = expected.removesuffix("end") + "the end\n"
        assert (root / "copy.md").read_bytes() == expected.encode(), "the copy differs"

        copied = client.call("write_file", path=str(root / "page.md"), content=notice)
        assert copied["result"]["isError"] and "was not sent" in text(copied), copied
        assert (root / "page.md").read_text() == page
        assert client.end() == 0
        sent = len(json.dumps(arguments, ensure_ascii=False))
        print(f"page of {len(page.encode()):,} bytes; shown {shown:,}, arguments {sent:,} bytes; copy equal byte for byte")


if __name__ == "__main__":
    main()
