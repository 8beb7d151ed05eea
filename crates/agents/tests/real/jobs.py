"""What the agents are asked to do, and what must be true of the results."""

import re
import subprocess

# The crate that `cargo test` runs on: most tests pass, four fail in different ways.
PASSING = 240
CARGO_TOML = '[package]\nname = "fixture"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n'
LIB_RS = """//! A crate whose tests fail.

/// Returns the sum.
pub fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[cfg(test)]
mod tests {
    use super::add;

PASSING
    #[test]
    fn sum_of_large_numbers() {
        println!("adding large numbers");
        assert_eq!(add(2_000_000_000, 2), 2_000_000_003, "the sum is wrong");
    }

    #[test]
    fn lookup_of_missing_key() {
        let map = std::collections::BTreeMap::from([("a", 1)]);
        assert!(map.contains_key("b"), "key `b` is missing in {map:?}");
    }

    #[test]
    fn index_out_of_bounds() {
        let list = vec![1, 2, 3];
        let index = list.len() + 4;
        assert_eq!(list[index], 0);
    }

    #[test]
    fn result_is_an_error() -> Result<(), String> {
        Err("could not read the settings: no such file".to_owned())
    }
}
"""

KILLED = "sh -c 'echo before; kill -9 $$'"

# Prints lines of a build log, with one error in the middle.
NOISE = """import sys
size = int(float(sys.argv[1]) * 1024 * 1024)
lines = size // 64
for i in range(lines):
    if i == lines // 2:
        print("error: step 17 of the build failed: no space left in the pool")
    print(f"step {i:8}: copied block {i * 7919 % 1000003:8} of the image to target")
"""

FAIL_SH = """echo first line on standard output
sleep 0.2
echo first line on standard error >&2
sleep 0.2
echo second line on standard output
exit 3
"""

# Lines that must reach the model whatever a filter removes.
CARGO_KEEP = re.compile(
    r"^(test .* FAILED|---- .* ----|thread .* panicked at .*|assertion .* failed.*|  left: .*| right: .*|Error: .*|"
    r"test result: .*|error: .*|key `b` is missing.*|index out of bounds: .*)$",
    re.M,
)
LISTING_KEEP = re.compile(r"record-\d+-of-the-archive.txt$", re.M)
NOISE_KEEP = re.compile(r"^error: .*$", re.M)


class Job:
    """One job.

    `calls` are functions of the agent that return a call; they are made at once. `follow` adds a step that reads the output of a
    background command. `commands` are the shell commands behind the calls, for the full output. `expect` is "smaller" (what the
    model receives is smaller, `keep` lines are all there, the rest can be fetched back), "same" (equal but for times and ids) or
    "either".
    """

    def __init__(self, name, *commands, tool=None, expect="same", keep=None, follow=False, calls=None):
        self.name = name
        self.commands = commands
        self.tool = tool
        self.expect = expect
        self.keep = keep
        self.follow = follow
        self._calls = calls

    def calls(self, agent):
        if self._calls:
            return self._calls(agent)
        if self.tool:
            return [agent.mcp(self.tool)]
        return [agent.shell(command) for command in self.commands]


JOBS = [
    Job("cargo test with failures", "cargo test", expect="smaller", keep=CARGO_KEEP),
    Job("listing of 400 lines", "ls -l listing", expect="either", keep=LISTING_KEEP),
    Job("output of 1 MB", "python3 noise.py 1", expect="smaller", keep=NOISE_KEEP),
    Job("MCP result of 100 KB", tool="large", expect="smaller"),
    Job("MCP structuredContent", tool="structured", expect="smaller"),
    Job("MCP copy in both", tool="copied", expect="smaller"),
    Job("MCP error", tool="failing"),
    Job("exit code 3", "sh fail.sh"),
    Job("no output", "true"),
    Job("unknown command", "no-such-command --flag"),
    Job("pipe", "seq 1 400 | grep 7 | wc -l"),
    Job("heredoc", "cat <<'EOF'\nit's $HOME\nEOF"),
    Job("quotes and variables", "A='x  y'; printf '%s\\n' \"$A\" \"it's\" \"\\$HOME\""),
    Job("JSON output", "cargo metadata --format-version 1 --no-deps"),
    Job("change of folder", "cd listing && pwd && ls | wc -l"),
    Job("bytes that are not UTF-8", "printf 'a\\377b\\n'"),
    # opencode waits for its timeout when a command is killed.
    Job("killed by a signal", KILLED, calls=lambda a: [a.shell(KILLED, timeout=3000 if a.name == "opencode" else None)]),
    Job("compound command", "cargo build --quiet && cargo test", expect="either", keep=CARGO_KEEP),
    Job("background", "sleep 2; echo finished", calls=lambda a: [a.shell("sleep 2; echo finished", background=True)], follow=True),
    Job("timeout", "echo before; sleep 20", calls=lambda a: [a.shell("echo before; sleep 20", timeout=2000)]),
    Job("two calls at once", "cargo test", "seq 1 300", expect="smaller", keep=CARGO_KEEP),
]


def steps(agent, jobs):
    """(the steps of one session, {job name: [(step, index), …]})"""
    plan, where = [], {}
    for job in jobs:
        calls = job.calls(agent)
        where[job.name] = [(len(plan), i) for i in range(len(calls))]
        plan.append(calls)
        if job.follow and agent.follow(0):
            where[job.name].append((len(plan), 0))
            plan.append([agent.follow(len(plan) - 1)])
    return plan, where


def fill(work, env):
    """Writes the files of the jobs into a work folder and builds the crate, so that no session waits for it."""
    (work / "src").mkdir()
    passing = "".join(
        f"    #[test]\n    fn sum_of_pair_number_{i:03}() {{\n        assert_eq!(add({i}, 1), {i + 1});\n    }}\n\n"
        for i in range(PASSING)
    )
    (work / "Cargo.toml").write_text(CARGO_TOML)
    # One after the other: agents cut long outputs, and another order of tests would leave other lines.
    (work / ".cargo").mkdir(exist_ok=True)
    (work / ".cargo" / "config.toml").write_text('[env]\nRUST_TEST_THREADS = "1"\n')
    (work / "src" / "lib.rs").write_text(LIB_RS.replace("PASSING\n", passing))
    (work / ".gitignore").write_text("target\n")
    (work / "noise.py").write_text(NOISE)
    (work / "fail.sh").write_text(FAIL_SH)
    (work / "listing").mkdir()
    for i in range(400):
        (work / "listing" / f"record-{i:04}-of-the-archive.txt").write_text("x" * (i % 7))
    for words in (["cargo", "build", "--quiet"], ["cargo", "test", "--no-run", "--quiet"]):
        subprocess.run(words, cwd=work, env=env, capture_output=True, check=True)


# Text that differs between two runs of the same command or the same agent: times, process ids, names of temporary files.
VOLATILE = [
    (re.compile(r'"chunk_id":"\w+"'), '"chunk_id":"-"'),
    (re.compile(r"Wall time:? [\d.]+ seconds"), "Wall time"),
    (re.compile(r'"wall_time_seconds":[\d.e-]+'), '"wall_time_seconds":0'),
    (re.compile(r"Process Group PGID: \d+"), "Process Group PGID: -"),
    (re.compile(r"\(PID: \d+\)"), "(PID: -)"),
    (re.compile(r"process \d+"), "process -"),
    (re.compile(r"session ID \d+"), "session ID -"),
    (re.compile(r'"session_id":\d+'), '"session_id":0'),
    (re.compile(r"Original token count: \d+"), "Original token count: -"),
    (re.compile(r'"original_token_count":\d+'), '"original_token_count":0'),
    (re.compile(r"finished in [\d.]+s"), "finished in -"),
    (re.compile(r"target\(s\) in [\d.]+s"), "target(s) in -"),
    (re.compile(r"(thread '[^']*') \(\d+\)"), r"\1"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "-uuid-"),
    (re.compile(r"\bID: \w+"), "ID: -"),
    (re.compile(r"/\S*/target/"), "target/"),
    (re.compile(r"\w+\.output"), "-.output"),
    (re.compile(r"tool_[0-9a-zA-Z]{20,}"), "tool_-"),
    (re.compile(r"fixture-[0-9a-f]{16}"), "fixture--"),
    (re.compile(r"line \d+: +\d+ Killed"), "line -: Killed"),
]


def stable(text):
    """The text without what differs from run to run."""
    for pattern, replacement in VOLATILE:
        text = pattern.sub(replacement, text)
    # The order of tests differs, because they run at the same time.
    lines = text.strip().split("\n")
    tests = iter(sorted(line for line in lines if line.startswith("test ") and " ... " in line))
    return "\n".join(next(tests) if line.startswith("test ") and " ... " in line else line for line in lines)


def lost(keep, full, text):
    """The lines that must be kept and are not in the text. Two streams that an agent merges may share a line."""
    text = stable(text)
    return sorted({line for line in keep.findall(stable(full)) if line not in text})
