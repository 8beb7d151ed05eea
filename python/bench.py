"""Compare select with `json` and `orjson` on the same job: parse, keep some members of each item, write.

Two jobs: three members of each item (flat), and five, of which one is deeper and one an array (nested).

Usage: python bench.py [SECONDS]. Build with `maturin develop --release --extras test` first: it needs orjson. Prints a table of microseconds per document,
and the ratios. The outputs are compared before anything is measured.
"""

import functools
import json
import sys
import time

import orjson
import tamis

FLAT = tamis.Program(select=["number", "title", "state"], root="/items")
NESTED = tamis.Program(
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


def brief(number: int) -> dict:
    """Return an issue as an API without addresses returns it: about 0.33 KB."""
    whole = issue(number)
    labels = [{name: label[name] for name in ("id", "name", "color")} for label in whole["labels"]]
    user = {name: whole["user"][name] for name in ("login", "id", "type")}
    whole = {**whole, "user": user, "labels": labels}
    names = ("id", "number", "title", "user", "labels", "state", "locked", "assignee", "comments", "created_at")
    return {name: whole[name] for name in names}


def document(size: int) -> bytes:
    """Return a page of issues of about this size. Below 1 KB, the issues are brief ones."""
    items, length = [], 40
    while not items or length < size:
        items.append(issue(len(items)) if size >= 1_000 else brief(len(items)))
        length += len(orjson.dumps(items[-1])) + 1
    return orjson.dumps({"total_count": len(items), "incomplete_results": False, "items": items})


def flat(item: dict) -> dict:
    """Keep the members that `FLAT` keeps, in the order of the document."""
    return {"number": item["number"], "title": item["title"], "state": item["state"]}


def nested(item: dict) -> dict:
    """Keep the members that `NESTED` keeps."""
    return {
        "number": item["number"],
        "title": item["title"],
        "login": item["user"]["login"],
        "labels": [label["name"] for label in item["labels"]],
        "state": item["state"],
    }


def with_orjson(pick, data: bytes) -> bytes:
    page = orjson.loads(data)
    page["items"] = [pick(item) for item in page["items"]]
    return orjson.dumps(page)


def with_json(pick, data: bytes) -> bytes:
    page = json.loads(data)
    page["items"] = [pick(item) for item in page["items"]]
    return json.dumps(page, ensure_ascii=False, separators=(",", ":")).encode()


def microseconds(jobs, data: bytes, seconds: float) -> list[float]:
    """Return the mean of the best round of each job, in time of the processor: other programs may run meanwhile.

    The jobs take turns, so that all of them meet the same conditions.
    """
    def measure(job, calls: int) -> float:
        start = time.process_time()
        for _ in range(calls):
            job(data)
        return (time.process_time() - start) / calls

    counts = [max(1, int(0.003 / max(measure(job, 1), 1e-7))) for job in jobs]
    best, end = [float("inf")] * len(jobs), time.perf_counter() + seconds * len(jobs)
    while True:
        best = [min(one, measure(job, calls)) for one, job, calls in zip(best, jobs, counts)]
        if time.perf_counter() > end:
            return [one * 1e6 for one in best]


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    print("| job | document | bytes | tamis | orjson | json | orjson / tamis | json / tamis |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for job, program, pick in (("flat", FLAT, flat), ("nested", NESTED, nested)):
        for name, size in (("0.7 KB", 600), ("5 KB", 5_000), ("100 KB", 100_000), ("10 MB", 10_000_000)):
            data = document(size)
            jobs = [program.filter, functools.partial(with_orjson, pick), functools.partial(with_json, pick)]
            assert jobs[0](data) == jobs[1](data) == jobs[2](data)
            ours, fast, plain = microseconds(jobs, data, seconds)
            cells = f"{ours:,.1f} \u00b5s | {fast:,.1f} \u00b5s | {plain:,.1f} \u00b5s"
            print(f"| {job} | {name} | {len(data):,} | {cells} | {fast / ours:.1f} | {plain / ours:.1f} |")


if __name__ == "__main__":
    main()
