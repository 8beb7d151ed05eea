"""Compare select with `json` and `orjson` on the same job: parse, keep some members of each item, write.

Usage: python bench.py [SECONDS]. Build with `maturin develop --release` first. Prints a table of microseconds per document,
and the ratios. The outputs are compared before anything is measured.
"""

import json
import sys
import time

import orjson
import tamis

PROGRAM = tamis.Program(
    select={"number": "number", "title": "title", "state": "state", "login": "user.login", "labels": "labels[].name"},
    root="/items",
)


def issue(number: int) -> dict:
    """Return an issue in the shape that GitHub's API returns: about 2.5 KB, mostly addresses."""
    base = f"https://api.github.com/repos/harbour/tar/issues/{number}"
    user = {
        "login": f"user{number % 17}",
        "id": 1000 + number % 17,
        "node_id": "MDQ6VXNlcjE=",
        "avatar_url": f"https://avatars.githubusercontent.com/u/{number % 17}?v=4",
        "url": f"https://api.github.com/users/user{number % 17}",
        "html_url": f"https://github.com/user{number % 17}",
        "type": "User",
        "site_admin": False,
    }
    names = ("url", "repository_url", "labels_url", "comments_url", "events_url", "html_url")
    label = {"id": 7, "node_id": "MDU6TGFiZWw3", "url": f"{base}/labels/bug", "name": "bug", "color": "d73a4a", "default": True}
    return {
        **{name: f"{base}/{name}" for name in names},
        "id": 10_000_000 + number,
        "node_id": f"MDU6SXNzdWU{number}",
        "number": number,
        "title": f"Archives of more than {number} files \u2013 wrong order",
        "user": user,
        "labels": [label, {**label, "id": 8, "name": "help wanted", "default": False}],
        "state": "open" if number % 3 else "closed",
        "locked": False,
        "assignee": None,
        "assignees": [user],
        "comments": number % 9,
        "created_at": "2026-01-02T03:04:05Z",
        "body": "When I pack a folder, the order of the files is not kept.\n\n```sh\ntar -cf a.tar a\n```\n" * 3,
        "reactions": {"url": f"{base}/reactions", "total_count": 0, "+1": 0, "-1": 0, "laugh": 0},
    }


def document(size: int) -> bytes:
    """Return a page of issues of about this size."""
    items, length = [], 40
    while not items or length < size:
        items.append(issue(len(items)))
        length += len(orjson.dumps(items[-1])) + 1
    return orjson.dumps({"total_count": len(items), "incomplete_results": False, "items": items})


def picked(page: dict) -> dict:
    """Keep the same members as the program."""
    page["items"] = [
        {
            "number": item["number"],
            "title": item["title"],
            "login": item["user"]["login"],
            "labels": [label["name"] for label in item["labels"]],
            "state": item["state"],
        }
        for item in page["items"]
    ]
    return page


def with_orjson(data: bytes) -> bytes:
    return orjson.dumps(picked(orjson.loads(data)))


def with_json(data: bytes) -> bytes:
    return json.dumps(picked(json.loads(data)), ensure_ascii=False, separators=(",", ":")).encode()


def microseconds(job, data: bytes, seconds: float) -> float:
    """Return the mean of the best round, in time of the processor: other programs may run meanwhile."""
    start = time.process_time()
    job(data)
    calls = max(1, int(0.003 / max(time.process_time() - start, 1e-7)))
    best, end = float("inf"), time.perf_counter() + seconds
    while True:
        start = time.process_time()
        for _ in range(calls):
            job(data)
        best = min(best, (time.process_time() - start) / calls)
        if time.perf_counter() > end:
            return best * 1e6


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    print("| document | bytes | tamis | orjson | json | orjson / tamis | json / tamis |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, size in (("5 KB", 5_000), ("100 KB", 100_000), ("10 MB", 10_000_000)):
        data = document(size)
        assert PROGRAM.filter(data) == with_orjson(data) == with_json(data)
        ours, fast, plain = (microseconds(job, data, seconds) for job in (PROGRAM.filter, with_orjson, with_json))
        cells = f"{ours:,.1f} \u00b5s | {fast:,.1f} \u00b5s | {plain:,.1f} \u00b5s"
        print(f"| {name} | {len(data):,} | {cells} | {fast / ours:.1f} | {plain / ours:.1f} |")


if __name__ == "__main__":
    main()
