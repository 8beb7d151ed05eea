"""Checks that the misbehaving upstream misbehaves as its tools say. Run with `python3 -m unittest` in this folder."""

import http.client
import json
import pathlib
import re
import socket
import subprocess
import sys
import time
import unittest

UPSTREAM = [sys.executable, str(pathlib.Path(__file__).with_name("upstream.py"))]


def request(number, tool, arguments=None, **params):
    params = {"name": tool, "arguments": arguments or {}, **params}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def text_of(message):
    return message["result"]["content"][0]["text"]


class Stdio(unittest.TestCase):
    def lines(self, *messages, options=()):
        """Sends messages and returns the lines of the response, with the status."""
        data = "".join(json.dumps(message) + "\n" for message in messages)
        done = subprocess.run([*UPSTREAM, *options], input=data.encode(), capture_output=True, timeout=60)
        return done.stdout.decode().splitlines(), done.returncode

    def test_every_shape_is_a_valid_result(self):
        for shape in "structured text both lines blocks mixed resource image link array".split():
            with self.subTest(shape):
                (line,), _ = self.lines(request(1, "result", {"shape": shape, "bytes": 5000, "canary": "BIRD"}))
                result = json.loads(line)["result"]
                self.assertIn("content", result)
                self.assertEqual(shape not in ("image", "link"), "BIRD" in line)

    def test_sizes(self):
        (line,), _ = self.lines(request(1, "result", {"shape": "text", "bytes": 9 << 20}))
        self.assertGreater(len(line), 9 << 20)

    def test_order_of_members(self):
        for where in ({"options": ["--order", "result,jsonrpc,id"]}, {}):
            arguments = {} if where else {"order": ["result", "jsonrpc", "id"]}
            (line,), _ = self.lines(request(1, "echo", arguments), **where)
            self.assertEqual(["result", "jsonrpc", "id"], list(json.loads(line)))

    def test_single_lines(self):
        table = [
            ("respond_as", {"id": "{id}.0"}, r'"id": 7\.0'),
            ("respond_as", {"id": '"{id}"'}, r'"id": "7"'),
            ("result_type", {}, '"resultType": "unheard-of"'),
            ("batch", {}, r"^\[.*in a batch.*\"id\": 7"),
            ("duplicate", {"member": "content"}, r'"content".*harmless.*"content"'),
            ("duplicate", {"member": "id"}, r'"id": 987654.*"id": 7'),
            ("escaped_names", {}, r're\\u0073ult'),
            ("extra_members", {"top": True}, r'"x-top": 1\.10'),
            ("result", {"shape": "surrogate"}, r"\\ud800"),
            ("error", {"code": 5}, r'"error": \{"code": 5'),
        ]
        for tool, arguments, expected in table:
            with self.subTest(tool=tool, arguments=arguments):
                (line,), _ = self.lines(request(7, tool, arguments))
                self.assertRegex(line, expected)

    def test_more_lines_than_one(self):
        table = [("stranger", {}, 2), ("twice", {}, 2), ("noise", {"count": 5}, 6), ("oversized", {"bytes": 100000}, 2),
                 ("error_without_id", {}, 2), ("raw", {"before": ["a", "b"], "after": ["c"]}, 4)]
        for tool, arguments, count in table:
            with self.subTest(tool):
                lines, _ = self.lines(request(7, tool, arguments))
                self.assertEqual(count, len(lines))

    def test_exit_in_mid_message(self):
        (line,), status = self.lines(request(1, "exit", {"code": 9, "partial": 40}))
        self.assertEqual((40, 9), (len(line), status))

    def test_late_response_after_cancel(self):
        process = subprocess.Popen(UPSTREAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        with process:
            for message in (request(1, "after_cancel"), request(2, "echo", {"text": "first"})):
                process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            self.assertEqual("first", text_of(json.loads(process.stdout.readline())))
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
            process.stdin.write(json.dumps(cancel) + "\n")
            process.stdin.flush()
            self.assertEqual(1, json.loads(process.stdout.readline())["id"])
            process.stdin.close()

    def test_tasks(self):
        lines, _ = self.lines(request(1, "task", {"canary": "BIRD", "push": True}, task={"ttl": 1000}))
        start, push = map(json.loads, lines)
        self.assertEqual("working", start["result"]["task"]["status"])
        self.assertIn("BIRD", json.dumps(push["params"]["result"]))

    def test_empty_cursor(self):
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        second = {**listing, "id": 2, "params": {"cursor": ""}}
        (one, two), _ = self.lines(listing, second, options=["--page-size", "10", "--empty-cursor"])
        self.assertEqual("", json.loads(one)["result"]["nextCursor"])
        self.assertNotEqual(json.loads(one)["result"]["tools"], json.loads(two)["result"]["tools"])


class Http(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.process = subprocess.Popen([*UPSTREAM, "--http", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.port = int(re.search(r":(\d+)/", cls.process.stdout.readline()).group(1))

    @classmethod
    def tearDownClass(cls):
        cls.process.kill()
        cls.process.communicate()

    def send(self, message, method="POST", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        body = json.dumps(message) if message else None
        connection.request(method, "/mcp", body, {"Content-Type": "application/json", **headers})
        response = connection.getresponse()
        try:
            return response, response.read().decode()
        except http.client.IncompleteRead as error:
            return response, error.partial.decode()
        finally:
            connection.close()

    def call(self, tool, via, **arguments):
        return self.send(request(1, tool, {"via": via, **arguments}))[1]

    def test_json_or_events(self):
        self.assertEqual(1, json.loads(self.call("echo", {}))["id"])
        self.assertRegex(self.call("echo", {"framing": "sse"}), r"^data: \{.*\}\n\n$")
        self.assertEqual(2, self.call("twice", {}).count("data: "))

    def test_spellings_of_events(self):
        table = [
            ({"line_end": "cr"}, r"\}\r\r$"), ({"line_end": "crlf"}, r"\}\r\n\r\n$"), ({"prime": True}, r"^id: \w+/1\ndata: \n\n"),
            ({"retry": 7}, r"^retry: 7\n"), ({"split_data": True}, r"data: \{\ndata: "), ({"bom": True}, "^\ufeff"),
            ({"comment": True}, "^: a comment\n"), ({"event": "other"}, "event: other\n"), ({"chunk": 1}, r"\}\n\n$"),
        ]
        for via, expected in table:
            with self.subTest(via=via):
                self.assertRegex(self.call("echo", {"framing": "sse", **via}, text="a\u0085b\u2028c"), expected)

    def test_cut(self):
        self.assertEqual(50, len(self.call("result", {"cut": 50})))

    def test_resume(self):
        first = self.call("echo", {"resume": True}, text="later")
        last = re.search(r"id: (\S+)", first).group(1)
        self.assertNotIn("later", first)
        self.assertIn("later", self.send(None, "GET", **{"Last-Event-ID": last})[1])

    def test_sessions(self):
        start = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
        session = self.send(start)[0].getheader("Mcp-Session-Id")
        gone = {"Mcp-Session-Id": session}
        self.assertEqual(200, self.send(request(2, "echo"), **gone)[0].status)
        self.send(None, "DELETE", **gone)
        self.assertEqual(404, self.send(request(3, "echo"), **gone)[0].status)

    def test_disconnect_is_noted(self):
        message = json.dumps(request("gone", "late", {"ms": 800})).encode()
        head = f"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: {len(message)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(head.encode() + message)
            time.sleep(0.2)
        time.sleep(0.5)
        self.assertIn('{"disconnected": "gone"}', text_of(json.loads(self.call("received", {}))))
        self.assertNotIn('"disconnected": 1', text_of(json.loads(self.call("received", {}))))

    def test_status(self):
        response, body = self.send(request(1, "echo", {"via": {"status": 503, "body": "busy"}}))
        self.assertEqual((503, "busy"), (response.status, body))


if __name__ == "__main__":
    unittest.main()
