#!/usr/bin/env python3
"""Runs thirteen programs of jq and the commands of tamis that replace them over the JSON files of a folder.

    python3 crates/interop/jq/compare.py target/release/tamis corpus

Outputs are compared as parsed JSON: numbers as jq 1.6 reads them (64-bit floats), members with their order. A program runs on a file
if the file has what the program needs. Exits with 1 if an output differs.
"""

import json
import pathlib
import subprocess
import sys


def parsed(text):
    """Parses JSON; objects as lists of pairs, of which the last one with a name counts."""
    pairs = lambda members: ("object", list(dict(members).items()))
    return json.loads(text, object_pairs_hook=pairs, parse_int=float, parse_float=float)


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True, encoding="utf-8")
    return done.stdout if done.returncode == 0 else f"exit {done.returncode}: {done.stderr}"


def payload(document):
    """The path of the list that an automatic root takes, as keys, and the list."""
    if isinstance(document, list):
        return [], document
    lists = [key for key, value in document.items() if isinstance(value, list)]
    for key in ["items", "result", "data"] + lists[:1]:
        if key in lists:
            return [key], document[key]
    return None, []


def programs(document):
    """Yields names, jq programs and flags of tamis for one document."""
    yield "minify", ".", []
    if isinstance(document, dict):
        first = next(iter(document), None)
        if plain(first):
            yield "one member", "{%s}" % quoted(first), ["--root", "object", "--select", first]
            yield "retain", "{%s}" % quoted(first), ["--retain", "/" + first]
            yield "extract", ".[%s]" % quoted(first), ["--extract", first]
            if isinstance(document[first], str):
                yield "string", ".[%s]" % quoted(first), ["-r", "--extract", first]
    path, items = payload(document)
    if path is None or not items or not all(isinstance(item, dict) for item in items):
        return
    place = "." + "".join("[%s]" % quoted(key) for key in path)
    scalars = [
        key for key, value in items[0].items() if plain(key) and not isinstance(value, (dict, list))
    ]
    if len(scalars) > 1:
        kept = scalars[:2] if scalars[0] != scalars[1] else scalars[:1]
        names = ",".join(quoted(key) for key in kept)
        entries = "map(with_entries(select(.key | IN(%s))))" % names
        yield "select", f"{place} |= {entries}", ["--select", ",".join(kept)]
        yield "first items", f"{place} |= ({entries})[:3]", ["--select", ",".join(kept), "--max-items", "3"]
        yield "lines", f"{place} | {entries}[]", ["--lines", "--select", ",".join(kept)]
        yield "exclude", f"{place} |= map(del(.[{quoted(kept[0])}]))", ["--exclude", kept[0]]
        value = items[0][kept[1]]
        if isinstance(value, str) and "|" not in value and value not in ("", "true", "false", "null"):
            test = f"{kept[1]}={value}"
            yield "where", f"{place} |= map(select(.{kept[1]} == {json.dumps(value)}))", ["--where", test]
    nulls = "walk(if type == \"object\" then with_entries(select(.value != null)) else . end)"
    yield "drop nulls", f"{place} |= map({nulls})", ["--drop-nulls"]
    for key, value in items[0].items():
        if plain(key) and isinstance(value, dict) and all(isinstance(one.get(key), dict) for one in items):
            inner = next((name for name in value if plain(name)), None)
            if inner and all(inner in one[key] for one in items):
                yield "nested", f"{place} |= map({{x: .{key}.{inner}}})", ["--select", f"x={key}.{inner}"]
            break
    for key, value in items[0].items():
        has = lambda one: isinstance(one.get(key), list) and all(isinstance(e, dict) for e in one[key])
        if plain(key) and isinstance(value, list) and value and isinstance(value[0], dict) and all(map(has, items)):
            inner = [name for name in value[0] if plain(name)][:2]
            if len(inner) == 2:
                names = ",".join(quoted(name) for name in inner)
                program = f"{place} |= map({{{key}: [.{key}[] | with_entries(select(.key | IN({names})))]}})"
                yield "projection", program, ["--select", "%s[]{%s}" % (key, ",".join(inner))]
            break


def plain(key):
    return isinstance(key, str) and key.isidentifier() and key.isascii()


def quoted(key):
    return json.dumps(key)


def main():
    tamis, folder = sys.argv[1:]
    equal, differ = {}, 0
    for file in sorted(pathlib.Path(folder).glob("*.json")):
        document = json.loads(file.read_bytes())
        if not isinstance(document, (dict, list)):
            continue
        for name, program, flags in programs(document):
            jq = run("jq", "-r" if name == "string" else "-c", program, str(file))
            ours = run(tamis, "filter", *flags, str(file))
            if name == "string":
                same = jq == ours
            else:
                try:
                    same = [parsed(line) for line in jq.splitlines()] == [parsed(line) for line in ours.splitlines()]
                except ValueError:
                    same = False
            if same:
                equal[name] = equal.get(name, 0) + 1
            else:
                differ += 1
                print(f"{file.name}: {name}: {program} | {flags}\n  jq    {jq[:200]}\n  tamis {ours[:200]}")
    for name, count in sorted(equal.items()):
        print(f"{name}: equal on {count} files")
    print(f"{sum(equal.values())} equal, {differ} different")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
