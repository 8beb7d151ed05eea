"""Personal data with `@modelcontextprotocol/server-filesystem`: a file of contacts is read, the client sees marks with numbers,
and writes a letter with these marks, in which the server gets the values. No value is in what the client receives, in the log or
in the store, and another session knows none of the marks.

    personal.py GATEWAY [SERVER.js]
"""

import json
import pathlib
import sys
import tempfile

import kit
from handles import Client

MANIFEST = """version: 1
filters: {}
put_back: [write_file]
"""

# Made-up values with valid checksums. The token is put together here, so that no scanner takes this file for a leak.
MIRA, NILS = "mira.holm@example.org", "nils@example.net"
PHONE, IBAN, CARD = "+49 30 901820", "DE89 3704 0044 0532 0130 00", "4111 1111 1111 1111"
TOKEN = "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"
VALUES = [MIRA, NILS, PHONE, IBAN, CARD, TOKEN]

CONTACTS = f"""Mira: {MIRA}, {PHONE}
Nils: {NILS}, account {IBAN}
Paid with {CARD} by {MIRA}
Deployed with {TOKEN}
"""


def session(gateway, folder, server, steps):
    """Runs a session of one client, and returns all that it received."""
    node = str(kit.NODE) if kit.NODE.exists() else "node"
    command = [gateway, "mcp", "--manifest", str(folder / "tamis.yaml"), "--redact", "secrets,personal"]
    command += ["--profile", "tight", "--store", str(folder / "store"), "--log", str(folder / "calls.jsonl")]
    client = Client([*command, "--", node, server, str(folder / "files")])
    received = []

    def call(tool, **arguments):
        message = client.call(tool, **arguments)
        received.append(json.dumps(message, ensure_ascii=False))
        return message

    steps(call)
    assert client.end() == 0
    return received


def main():
    gateway = sys.argv[1]
    server = sys.argv[2] if len(sys.argv) > 2 else str(kit.PACKAGES / "server-filesystem" / "dist" / "index.js")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        root = folder / "files"
        root.mkdir()
        (folder / "tamis.yaml").write_text(MANIFEST)
        (root / "contacts.md").write_text(CONTACTS)
        # Longer than the limit of the profile, so that the result is stored.
        (root / "mails.txt").write_text("".join(f"{at}: {MIRA} wrote to {NILS}\n" for at in range(3000)))

        def first(call):
            shown = call("read_text_file", path=str(root / "contacts.md"))["result"]["content"][0]["text"]
            print(shown)
            marks = ["[email:1]", "[email:2]", "[phone:1]", "[iban:1]", "[card:1]", "[redacted:github-token]"]
            assert all(mark in shown for mark in marks), shown
            cut = call("read_text_file", path=str(root / "mails.txt"))
            assert "tm_" in json.dumps(cut), "the long result is not stored"
            letter = "To [email:1] and [email:2], [phone:1], [iban:1], [card:1], [email:3], [redacted:github-token]\n"
            written = call("write_file", path=str(root / "letter.md"), content=letter)
            assert not written["result"].get("isError"), written
            # This tool gets no values.
            call("create_directory", path=str(root / "[email:2]"))

        received = session(gateway, folder, server, first)
        letter = (root / "letter.md").read_text()
        expected = f"To {MIRA} and {NILS}, {PHONE}, {IBAN}, {CARD}, [email:3], [redacted:github-token]\n"
        assert letter == expected, letter
        assert (root / "[email:2]").is_dir(), list(root.iterdir())

        def second(call):
            call("write_file", path=str(root / "next.md"), content="To [email:1]\n")

        received += session(gateway, folder, server, second)
        assert (root / "next.md").read_text() == "To [email:1]\n"

        kept = [path for place in ("store", "calls.jsonl") for path in [folder / place, *(folder / place).rglob("*")]]
        kept = [path.read_bytes() for path in kept if path.is_file()]
        assert len(kept) > 1, "nothing was stored or logged"
        for value in VALUES:
            forms = [value, json.dumps(value)[1:-1], value.replace(" ", "")]
            assert not any(form in message for form in forms for message in received), f"the client received {value}"
            assert not any(form.encode() in data for form in forms for data in kept), f"{value} is in the store or the log"
        log = [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
        counted = [line["redacted"] for line in log if "redacted" in line]
        print(f"letter equal; {len(received)} messages, {len(kept)} files without a value; counted: {counted}")
        assert counted and counted[0].get("github-token") == 1, log


if __name__ == "__main__":
    main()
