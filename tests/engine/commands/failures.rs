//! Failures are whole: from the heading of a failure to the summary, every line is kept, whatever it looks like.
//!
//! Lines that some built-in filter removes elsewhere, and whole outputs of test runners, are planted inside the
//! failures of every runner, at random places and cut into random chunks.

use regex::Regex;
use tamis::Limits;
use tamis_command::OutputFilterRegistry;

use tamis_testkit::commands::drivers::Subject;
use tamis_testkit::commands::transcripts::transcripts;
use tamis_testkit::effort::share;
use tamis_testkit::prng::Prng;

/// Outputs for each runner.
const RUNS: u64 = 150;

/// The output of a runner that fails.
struct Failing {
    command: &'static str,
    /// A line that the filter removes before the failures.
    progress: &'static str,
    before: &'static str,
    /// The failures, from their heading on. Lines are planted after the first one and before the last one.
    failures: &'static str,
    /// The summary.
    after: &'static str,
    /// Texts that the filter shortens, and their short forms.
    shortened: &'static [(&'static str, &'static str)],
    /// Lines that may be removed inside the failures: frames, if they were shown before.
    frames: &'static str,
}

const RUNNERS: [Failing; 16] = [
    Failing {
        command: "npx jest",
        progress: "PASS t/pier.test.js\n",
        before: "FAIL t/quay.test.js\n",
        failures: "  ● holds two ships\n\n    expect(received).toBe(expected)\n\n    Expected: 2\n    Received: \"\n    one\n\"\n\n      at Object.toBe (t/quay.test.js:4:11)\n",
        after: "\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 total\n",
        shortened: &[("^⎯{6,}(.*?)⎯+$", "⎯⎯$1⎯⎯")],
        frames: "",
    },
    Failing {
        command: "npm test",
        progress: " ✓ t/pier.test.ts (2 tests) 3ms\n",
        before: " ❯ t/quay.test.ts (1 test | 1 failed) 6ms\n",
        failures: "⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯\n\n FAIL  t/quay.test.ts > holds two ships\nAssertionError: expected 1 to be 2\n ❯ t/quay.test.ts:4:11\n\n",
        after: "⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯\n\n Test Files  1 failed (1)\n      Tests  1 failed (1)\n",
        shortened: &[("^⎯{6,}(.*?)⎯+$", "⎯⎯$1⎯⎯")],
        frames: "",
    },
    Failing {
        command: "mocha",
        progress: "    ✔ holds one ship\n",
        before: "    1) holds two ships\n\n\n  1 passing (4ms)\n",
        failures: "  1 failing\n\n  1) quay\n       holds two ships:\n\n      AssertionError: 1 == 2\n      at Context.<anonymous> (t/quay.js:5:14)\n",
        after: "\n\n",
        shortened: &[("^⎯{6,}(.*?)⎯+$", "⎯⎯$1⎯⎯")],
        frames: "",
    },
    Failing {
        command: "python -m pytest -v",
        progress: "t/test_pier.py::test_one PASSED [ 50%]\n",
        before: "t/test_quay.py::test_two FAILED [100%]\n\n",
        failures: "=================================== FAILURES ===================================\n___________________________________ test_two ___________________________________\n\n    def test_two():\n>       assert 1 == 2\nE       assert 1 == 2\n\nt/test_quay.py:5: AssertionError\n----------------------------- Captured stdout call -----------------------------\nrunning\n",
        after: "=========================== short test summary info ============================\nFAILED t/test_quay.py::test_two - assert 1 == 2\n========================= 1 failed, 1 passed in 0.02s ==========================\n",
        shortened: &[
            ("^={6,} (.*?) ={6,}$", "== $1 =="),
            ("^_{6,} (.*?) _{6,}$", "__ $1 __"),
            ("^-{6,} (.*?) -{6,}$", "-- $1 --"),
            ("^(_ ){6,}$", "_ _ _"),
        ],
        frames: "",
    },
    Failing {
        command: "cargo test",
        progress: "   Compiling pier v0.1.0\n",
        before: "     Running unittests src/lib.rs (target/debug/deps/quay-1)\n\nrunning 3 tests\ntest one_ship ... ok\ntest two_ships ... FAILED\ntest three_ships - should panic ... FAILED\n\n",
        failures: "failures:\n\n---- two_ships stdout ----\nthread 'two_ships' panicked at src/lib.rs:3:5:\nno room\n\n---- three_ships stdout ----\nnote: test did not panic as expected\n\n",
        after: "failures:\n    three_ships\n    two_ships\n\ntest result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n",
        shortened: &[],
        frames: r"^ +\d+: |^ +at /rustc/",
    },
    Failing {
        command: "cargo nextest run",
        progress: "        PASS [   0.004s] pier one_ship\n",
        before: "    Starting 2 tests across 1 binary\n",
        failures: "        FAIL [   0.005s] quay two_ships\n  stdout ───\n\n    running 1 test\n\n  stderr ───\n\n    thread 'two_ships' panicked at src/lib.rs:3:5:\n",
        after: "────────────\n     Summary [   0.010s] 2 tests run: 1 passed, 1 failed, 0 skipped\n",
        shortened: &[],
        frames: "",
    },
    Failing {
        command: "go test ./...",
        progress: "?   \tharbour.example/pier\t[no test files]\n",
        before: "printed by a test\n",
        failures: "--- FAIL: TestQuay (0.00s)\n    quay_test.go:7: got 1, want 2\n        more\nFAIL\n",
        after: "FAIL\tharbour.example/quay\t0.002s\nFAIL\n",
        shortened: &[],
        frames: r"^(testing|runtime)\.|^panic|^created by testing|^\t\S*/src/(testing|runtime)/",
    },
    Failing {
        command: "go test -v",
        progress: "--- PASS: TestPier (0.00s)\n",
        before: "=== RUN   TestQuay\n",
        failures: "    --- FAIL: TestQuay/two (0.00s)\npanic: no room [recovered]\n\ngoroutine 7 [running]:\nharbour.example/quay.fit(0x2)\n\t/code/quay/quay.go:9 +0x1d\nFAIL\n",
        after: "FAIL\tharbour.example/quay\t0.002s\n",
        shortened: &[],
        frames: r"^(testing|runtime)\.|^panic|^created by testing|^\t\S*/src/(testing|runtime)/",
    },
    Failing {
        command: "make test",
        progress: "cc -c -o pier.o pier.c\n",
        before: "python -m pytest\n",
        failures: "=================================== FAILURES ===================================\n___________________________________ test_two ___________________________________\nE       assert 1 == 2\nt/test_quay.py:5: AssertionError\n",
        after: "make: *** [Makefile:4: test] Error 1\n",
        shortened: &[],
        frames: "",
    },
    Failing {
        command: "cargo build",
        progress: "   Compiling pier v0.1.0\n",
        before: "",
        failures: "error: failed to run custom build command for `quay v0.1.0`\n\nCaused by:\n  process didn't exit successfully: `build-script-build` (exit status: 101)\n  --- stderr\n  no room\n",
        after: "",
        shortened: &[],
        frames: "",
    },
    Failing {
        command: "pip install ./quay",
        progress: "  Downloading pier-1.0-py3-none-any.whl (73 kB)\n",
        before: "Processing ./quay\n",
        failures: "  error: subprocess-exited-with-error\n\n  × Getting requirements to build wheel did not run successfully.\n  │ exit code: 1\n  ╰─> [2 lines of output]\n      no room\n      [end of output]\n",
        after: "",
        shortened: &[],
        frames: "",
    },
    Failing {
        command: "docker build .",
        progress: "#5 sha256:1a2b 1.05MB / 3.37MB\n",
        before: "#6 [2/2] RUN make\n#6 0.211 no room\n",
        failures: "#6 ERROR: process \"/bin/sh -c make\" did not complete successfully: exit code: 2\n------\n > [2/2] RUN make:\n0.211 no room\n------\n",
        after: "Dockerfile:3\n",
        shortened: &[],
        frames: "",
    },
    Failing {
        command: "npx playwright test",
        progress: "  ✓   1 e2e/pier.spec.ts:2:1 › holds one ship (1ms)\n",
        before: "  ✘   2 e2e/quay.spec.ts:3:3 › holds two ships (26ms)\n\n",
        failures: "  1) e2e/quay.spec.ts:3:3 › holds two ships ───────\n\n    Error: expect(received).toBe(expected)\n\n    Expected: 2\n    Received: 1\n        at /code/e2e/quay.spec.ts:5:16\n",
        after: "\n  1 failed\n    e2e/quay.spec.ts:3:3 › holds two ships ───────\n  1 passed (1.1s)\n",
        shortened: &[],
        frames: "",
    },
    Failing {
        command: "python -m unittest -v",
        progress: "test_one (t.Pier.test_one) ... ok\n",
        before: "test_two (t.Quay.test_two) ... FAIL\n\n",
        failures: "======================================================================\nFAIL: test_two (t.Quay.test_two)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/code/t.py\", line 9, in test_two\nAssertionError: 1 != 2\n",
        after: "\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n",
        shortened: &[],
        frames: "",
    },
    Failing {
        command: "bundle exec rspec",
        progress: "....................\n",
        before: "F.\n\n",
        failures: "Failures:\n\n  1) Quay holds two ships\n     Failure/Error: expect(quay.ships).to eq(2)\n\n       expected: 2\n            got: 1\n     # ./spec/quay_spec.rb:4:in `block'\n",
        after: "\nFinished in 0.02669 seconds (files took 0.11783 seconds to load)\n2 examples, 1 failure\n\nFailed examples:\n\nrspec ./spec/quay_spec.rb:4 # Quay holds two ships\n",
        shortened: &[],
        frames: "",
    },
    Failing {
        command: "vendor/bin/phpunit",
        progress: "................................................................. 65 / 85 ( 76%)\n",
        before: ".F..................                                              85 / 85 (100%)\n\n",
        failures: "There was 1 failure:\n\n1) QuayTest::testTwo\nFailed asserting that 1 is identical to 2.\n\n/code/tests/QuayTest.php:6\n",
        after: "\nFAILURES!\nTests: 85, Assertions: 83, Failures: 1.\n",
        shortened: &[],
        frames: "",
    },
];

/// Lines that one of the built-in filters removes, and lines that imitate the summary of a runner.
const NOISE: &str = "
test session starts
============================= test session starts ==============================
platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.7.0
cachedir: .pytest_cache
rootdir: /code/inner
plugins: cov-4.1.0
test_inner.py::test_a PASSED                                             [ 50%]
test_inner.py::test_b SKIPPED (later)                                    [100%]
[gw0] [ 50%] PASSED test_inner.py::test_a
test_inner.py ..s                                                        [100%]
..                                                                       [100%]
=========================== short test summary info ============================
========================= 1 failed, 1 passed in 0.02s ==========================
> inner@1.0.0 test
    ✓ step 1 of the migration
  √ step 2
✔ step 3
    ○ skipped step 4
PASS t/inner.test.js
FAIL t/inner.test.js
Test Suites: 1 failed, 1 passed, 2 total
  ● Console
   Compiling inner v0.1.0
    Checking inner v0.1.0
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.71s
     Running unittests src/lib.rs (target/debug/deps/inner-9f0c7a1b2d3e4f50)
   Doc-tests inner
running 3 tests
running 1 test
test inner ... ok
test inner ... ignored
test inner ... FAILED
failures:
    inner
successes:
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
...i..
        PASS [   0.004s] inner tests::adds
     Summary [   0.010s] 2 tests run: 1 passed, 1 failed, 0 skipped
=== RUN   TestInner
=== PAUSE TestInner
=== CONT  TestInner
=== NAME  TestInner
--- PASS: TestInner (0.00s)
    --- PASS: TestInner/one (0.00s)
PASS
FAIL
FAIL\tinner\t0.002s
ok  \tinner\t0.002s
?   \tinner\t[no test files]
go: downloading golang.org/x/text v0.14.0
make[1]: Entering directory '/code/inner'
make[1]: Leaving directory '/code/inner'
make[1]: Nothing to be done for 'all'.
cc -c -o inner.o inner.c
[ 12%] Building C object inner.o
npm warn deprecated inflight@1.0.6: This module is not supported
added 381 packages in 27s
Collecting inner
  Downloading inner-1.0-py3-none-any.whl (73 kB)
     |████████| 73 kB 1.2 MB/s eta 0:00:01
Requirement already satisfied: inner in /usr/lib (from quay)
[notice] A new release of pip is available
#5 sha256:1a2b 1.05MB / 3.37MB
#5 DONE 0.4s
Get:1 http://deb.debian.org/debian bookworm/main amd64 jq amd64 1.6-2.1 [64.4 kB]
Unpacking jq (1.6-2.1) ...
remote: Counting objects: 100% (111/111), done.
index a521863..aeff6bb 100644
aws_s3_bucket.logs: Refreshing state... [id=logs]
service/web unchanged
total 232
";

/// Outputs of test runners, whole: what a failed test prints that runs one.
fn nested() -> Vec<String> {
    let runs =
        |filter: &str| matches!(filter, "js-test" | "pytest" | "cargo-test" | "go-test" | "make");
    let saved = transcripts().into_iter().filter(|one| one.filter.as_deref().is_some_and(runs));
    let mut outputs: Vec<String> = saved
        .filter_map(|one| String::from_utf8(one.raw()).ok())
        .filter(|raw| is_plain(raw))
        .collect();
    outputs.extend(
        RUNNERS
            .iter()
            .filter(|one| !one.command.starts_with("cargo test"))
            .map(|one| [one.progress, one.before, one.failures, one.after].concat()),
    );
    outputs
}

/// Whether nothing in a text is for a terminal.
fn is_plain(text: &str) -> bool {
    !text.contains(['\u{1b}', '\r', '\u{8}', '\u{7f}'])
}

/// A text as the filter may write it.
fn shortened(runner: &Failing, text: &str) -> String {
    let swaps: Vec<(Regex, &str)> = runner
        .shortened
        .iter()
        .map(|(pattern, with)| (Regex::new(pattern).unwrap(), *with))
        .collect();
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let mut text = line.trim_end_matches('\n').to_owned();
        for (pattern, with) in &swaps {
            let other = pattern.replace(&text, *with).into_owned();
            text = if other.len() < text.len() { other } else { text };
        }
        out += &text;
        out += &line[line.trim_end_matches('\n').len()..];
    }
    out
}

#[test]
fn failures_are_complete() {
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    let noise: Vec<String> = NOISE.lines().skip(1).map(|line| line.replace("\\t", "\t")).collect();
    let nested = nested();
    for runner in &RUNNERS {
        let frames = Regex::new(runner.frames).unwrap();
        let is_frame = |line: &str| !runner.frames.is_empty() && frames.is_match(line);
        let mut prng = Prng::named(runner.command);
        let mut cut = 0;
        let runs = share(RUNS);
        for run in 0..runs {
            let lines: Vec<&str> = runner.failures.split_inclusive('\n').collect();
            let mut failures = String::new();
            for (place, line) in lines.iter().enumerate() {
                failures += line;
                if place + 1 == lines.len() {
                    break;
                }
                for _ in 0..prng.below(4) {
                    if prng.one_in(20) {
                        let output = &nested[prng.below(nested.len())];
                        let lines = output.lines().filter(|line| !is_frame(line));
                        lines.for_each(|line| failures += &format!("{line}\n"));
                    } else if prng.one_in(5) {
                        failures += &"\n".repeat(1 + prng.below(4));
                    } else {
                        failures += &noise[prng.below(noise.len())];
                        failures.push('\n');
                    }
                }
            }
            let output =
                [&runner.progress.repeat(20), runner.before, &failures, runner.after].concat();
            let subject = Subject {
                registry: &registry,
                limits: &limits,
                command: runner.command,
                exit_code: Some(1),
                quiet: false,
                full_output: "full.log",
                cap: tamis_command::OutputCap::new(),
                output: output.as_bytes(),
            };
            let (out, report) = subject.push(prng.cuts(output.len()));
            let out = String::from_utf8(out).unwrap();
            let failures_and_after = failures + runner.after;
            let expected = shortened(runner, &failures_and_after);
            let what = format!("{} {run}", runner.command);
            if let Some(lost) = lost(&out, &expected) {
                panic!(
                    "{what}: {lost:?} is not in its place:\n{output}\n--- came out as ---\n{out}"
                );
            }
            cut += u64::from(report.cut);
            // The same where nothing comes for a while, now and then: lines leave before they are complete.
            let begin = output.len() - failures_and_after.len() - runner.before.len();
            let pauses = prng.cuts(output.len() - begin);
            let pauses: Vec<usize> = pauses.into_iter().map(|at| begin + at).collect();
            let (out, _) = subject.pause(&pauses);
            let out = shortened(runner, &String::from_utf8(out).unwrap());
            if let Some(lost) = lost(&out, &expected) {
                panic!(
                    "{what}: {lost:?} is not in its place with pauses at {pauses:?}:\n{output}\n--- came out as ---\n{out}"
                );
            }
        }
        assert_eq!(cut, runs, "{}: what is before the failures is filtered", runner.command);
    }
}

/// The first line of a section that is missing in an output, which has the section in one piece.
fn lost<'a>(out: &str, section: &'a str) -> Option<&'a str> {
    if out.contains(section) {
        return None;
    }
    let mut lines = section.split_inclusive('\n');
    let begin = out.rfind(lines.next()?).unwrap_or_default();
    let found = out[begin..].split_inclusive('\n');
    section
        .split_inclusive('\n')
        .zip(found)
        .find(|(line, found)| line != found)
        .map(|(line, _)| line)
}
