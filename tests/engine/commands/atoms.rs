//! Information needed for debugging is never lost: names of failed tests, messages, places, counts.
//!
//! Patterns that are independent of the filters find it in the raw outputs; each match must also be in the filtered
//! output.

use std::sync::LazyLock;

use regex::Regex;
use tamis::Limits;
use tamis_command::OutputFilterRegistry;

use tamis_testkit::commands::transcripts::transcripts;

/// The patterns of the information. The output must contain the text of the first group.
const ATOMS: [&str; 16] = [
    // Names of tests that failed.
    r"^test (.+) \.\.\. FAILED$",
    r"^(?:FAILED|ERROR) (\S+)",
    r"--- FAIL: (\S+)",
    r"^ *(?:●|✕|×) (.+?)(?: \(?\d+ ?ms\)?)?$",
    r"^ FAIL  (.+)$",
    r"^FAIL[ \t]+(\S+)",
    // Messages.
    r"panicked at (.+):$",
    r"^E +(.+)$",
    r"^(?:.*: )?((?:fatal |internal )?(?:error|warning)(?:\[\w+\])?: .+)$",
    r"^(npm error .+)$",
    r"^((?:E|ERROR|W|CONFLICT)[:( ].+)$",
    r"^(\S*Error: .+)$",
    r"^(make: \*\*\* .+)$",
    // Counts of failures.
    r"(\d+ (?:failed|errors?|problems?)\b)",
    r"(Found \d+ errors? .*)$",
    r"^(hint: .+)$",
];

/// Places: a file and a line. Those inside Rust's standard library are excluded.
const PLACE: &str =
    r"(?:^|[\s(])((?:\./)?[\w-][\w./-]*\.(?:rs|py|js|mjs|ts|go|c|h)[:(]\d+(?:[:,]\d+)?)";

static ANSI: LazyLock<Regex> = LazyLock::new(|| Regex::new("\x1b\\[[0-9;]*m").unwrap());

/// Filters that move a file's name to a header: lines are looked for in their parts.
const GROUPED: [&str; 2] = ["grep", "find"];

#[test]
fn debugging_information_is_kept() {
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    let atoms: Vec<Regex> = ATOMS.iter().map(|atom| Regex::new(atom).unwrap()).collect();
    let place = Regex::new(PLACE).unwrap();
    // The places of tests that passed or were skipped.
    let passed = Regex::new(r"^ +(✓|-) +\d+ ").unwrap();
    let (mut looked_for, mut lost) = (vec![0; atoms.len() + 1], Vec::new());
    for transcript in transcripts() {
        let raw = transcript.raw();
        let (out, _) = transcript.subject(&registry, &limits, &raw).push([]);
        let raw = ANSI.replace_all(&String::from_utf8_lossy(&raw), "").into_owned();
        let out = String::from_utf8(out).unwrap();
        if transcript.filter.as_deref().is_some_and(|filter| GROUPED.contains(&filter)) {
            continue;
        }
        for line in raw.lines().filter(|line| !passed.is_match(line)) {
            for (number, atom) in atoms.iter().chain([&place]).enumerate() {
                for found in atom.captures_iter(line) {
                    let text = found[1].trim_end();
                    looked_for[number] += 1;
                    // Counts of suites that passed are summed.
                    let sums = text == "0 failed" && out.contains("; 0 failed; ");
                    if !out.contains(text) && !sums && !line.contains("at /rustc/") {
                        lost.push(format!("{}: {text}", transcript.name));
                    }
                }
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
    for (atom, count) in ATOMS.iter().chain([&PLACE]).zip(looked_for) {
        assert!(count > 0, "{atom} is nowhere");
    }
}

/// The atoms that each transcript lists are in its filtered output.
#[test]
fn listed_atoms_are_kept() {
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    let (mut lost, mut looked_for) = (Vec::new(), 0);
    for transcript in transcripts() {
        let raw = transcript.raw();
        let (out, _) = transcript.subject(&registry, &limits, &raw).push([]);
        let shown = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            ANSI.replace_all(&text, "").into_owned()
        };
        let out = shown(&out);
        // Without an atom: nothing was printed, or only progress.
        assert!(
            !transcript.atoms.is_empty() || raw.is_empty() || transcript.name == "cmake-build",
            "{} has atoms",
            transcript.name
        );
        for atom in &transcript.atoms {
            looked_for += 1;
            if !out.contains(atom.as_str()) {
                lost.push(format!("{}: {atom}", transcript.name));
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
    assert!(looked_for > 1000, "{looked_for}");
}

/// Every grouped line is in the output, under its header or unchanged.
#[test]
fn groups_are_complete() {
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    let mut lines = 0;
    for transcript in transcripts() {
        if !transcript.filter.as_deref().is_some_and(|filter| GROUPED.contains(&filter)) {
            continue;
        }
        let raw = transcript.raw();
        let (out, _) = transcript.subject(&registry, &limits, &raw).push([]);
        let out = String::from_utf8(out).unwrap();
        let mut header = "";
        let mut read = Vec::new();
        let separator = if transcript.filter.as_deref() == Some("grep") { ":" } else { "" };
        for line in out.lines() {
            if let Some(item) = line.strip_prefix("  ")
                && !header.is_empty()
            {
                read.push(format!("{header}{separator}{item}"));
            } else if let Some(key) = line.strip_suffix(':') {
                header = key;
            } else if !line.starts_with("[tamis ") {
                header = "";
                read.push(line.to_owned());
            }
        }
        let raw = String::from_utf8(raw).unwrap();
        assert_eq!(read.join("\n"), raw.trim_end(), "{}", transcript.name);
        lines += read.len();
    }
    assert!(lines > 100, "lines are compared");
}

/// The numbers of tests that passed are those of all suites together.
#[test]
fn sums_of_suites() {
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    let passed = Regex::new(r"(\d+) passed").unwrap();
    let sum = |text: &str| -> u64 {
        let results = text.lines().filter(|line| line.starts_with("test result: "));
        results
            .flat_map(|line| passed.captures(line))
            .map(|found| found[1].parse::<u64>().unwrap())
            .sum()
    };
    let mut seen = 0;
    for transcript in transcripts() {
        if transcript.filter.as_deref() != Some("cargo-test") {
            continue;
        }
        let raw = transcript.raw();
        let (out, _) = transcript.subject(&registry, &limits, &raw).push([]);
        let (raw, out) = (String::from_utf8(raw).unwrap(), String::from_utf8(out).unwrap());
        assert_eq!(sum(&out), sum(&raw), "{}", transcript.name);
        seen += sum(&raw);
    }
    assert!(seen > 0, "tests have passed");
}

/// A line that is too long to be held may report the failure, so it is kept unless a rule certainly removes it.
#[test]
fn long_lines_that_may_matter_stay() {
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    let long = "y".repeat(limits.line() + 1);
    for (command, begin) in [
        ("pytest", "FAILED t/test_a.py::test_m - ValueError: one line "),
        ("pytest", "E       ValueError: one line "),
        ("npx jest", "    Received: "),
        ("go test ./...", "    a_test.go:7: got "),
        ("cargo build", "error: expected one of "),
        ("npx tsc", "src/a.ts(3,3): error TS2322: Type "),
        ("git log -p", "-"),
        ("make", "a.c:1:22: warning: "),
    ] {
        let output = format!("{begin}{long}\n");
        let found = registry.apply(command, &output, 1);
        assert!(found.output == output, "{command}: {begin}");
    }
    let progress = format!("   Compiling {long}\n");
    assert_eq!(registry.apply("cargo build", &progress, 1).output, "");
}
