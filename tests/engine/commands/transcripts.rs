//! Saved outputs of real tools (`corpus/commands`): outputs are never longer, and output of unknown shape passes.
//!
//! The exact outputs are cases: `tests/cases/transcripts/transcripts.toml`.

use tamis::Limits;
use tamis_command::{CommandRules, OutputFilterRegistry};
use tamis_testkit::commands::drivers::{COMMANDS, Subject, agree};
use tamis_testkit::commands::transcripts::transcripts;
use tamis_testkit::paths;

#[test]
fn no_output_grows() {
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    for transcript in transcripts() {
        let raw = transcript.raw();
        let subject = transcript.subject(&registry, &limits, &raw);
        let (out, _) = subject.push([]);
        let (quiet, _) = Subject { quiet: true, ..subject }.push([]);
        assert!(quiet.len() <= raw.len(), "{}", transcript.name);
        if raw.len() <= 4 << 10 {
            assert!(out.len() <= raw.len(), "{}", transcript.name);
        }
        // However little of it came.
        for cut in (0..raw.len()).step_by(97) {
            let head = Subject { output: &raw[..cut], ..subject };
            assert!(head.push([]).0.len() <= cut || cut > 4 << 10, "{} to {cut}", transcript.name);
        }
    }
}

#[test]
fn every_saved_output_is_listed() {
    let mut found: Vec<String> = std::fs::read_dir(paths::path("corpus/commands"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".txt").map(str::to_owned))
        .collect();
    found.sort();
    let mut listed: Vec<String> = transcripts().into_iter().map(|one| one.name).collect();
    listed.sort();
    assert_eq!(found, listed);
}

/// Filters of which no output could be saved: they are from documentation.
const UNVERIFIED: [&str; 12] = [
    "aws",
    "brew",
    "cargo-nextest",
    "dotnet",
    "gcloud",
    "glab-ci",
    "golangci-lint",
    "helm",
    "pulumi",
    "swift",
    "systemctl",
    "xcodebuild",
];

#[test]
fn every_filter_has_an_output_that_went_well_and_one_that_did_not() {
    let transcripts = transcripts();
    for name in CommandRules::builtin().names() {
        let of: Vec<_> =
            transcripts.iter().filter(|one| one.filter.as_deref() == Some(name)).collect();
        if UNVERIFIED.contains(&name) {
            assert!(of.is_empty(), "{name} is verified");
            continue;
        }
        assert!(of.iter().any(|one| one.exit_code == 0), "{name} has one that went well");
        // These fail without a word of their own.
        if !["git-status", "git-diff", "git-log", "log", "compose-logs", "grep"].contains(&name) {
            assert!(of.iter().any(|one| one.exit_code != 0), "{name} has one that did not");
        }
    }
}

/// Text that none of the tools prints.
const UNKNOWN: [&str; 5] = [
    "Ahoy.\nThe quay is closed, and nobody knows why\n  until further notice\n",
    "no line end",
    "Segmentation fault (core dumped)\n",
    "Traceback (most recent call last):\n  File \"x\", line 1\nZeroDivisionError: division by zero\n",
    "usage: tool [-h] FILE\ntool: unrecognised option `--frobnicate`\n",
];

#[test]
fn empty_or_unknown_output_passes() {
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    for name in CommandRules::builtin().names() {
        assert!(COMMANDS.iter().any(|(known, _)| *known == name), "{name} has a command");
    }
    for (name, command) in COMMANDS {
        for text in UNKNOWN.iter().copied().chain([""]) {
            for exit_code in [None, Some(0), Some(1), Some(101)] {
                let output = text.as_bytes();
                let subject = Subject {
                    registry: &registry,
                    limits: &limits,
                    command,
                    exit_code,
                    quiet: false,
                    full_output: "full.log",
                    cap: tamis_command::OutputCap::new(),
                    output,
                };
                let (out, report) = agree(command, subject);
                assert_eq!(out, output, "{command}");
                assert_eq!(report.filter.as_deref(), Some(name), "{command}");
                assert!(!report.changed && !report.cut, "{command}");
            }
        }
    }
}

/// Every filter accepts invalid UTF-8 and all terminal control sequences.
#[test]
fn bytes_that_are_no_text_pass() {
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    let is_control = |byte: &u8| matches!(byte, 0x08 | b'\r' | 0x1b | 0x80..0xA0);
    let mut bytes: Vec<u8> = (0..=255).filter(|byte| !is_control(byte)).collect();
    bytes.extend_from_slice(b"\xff\xfe quay\n\xc3\n");
    for (name, command) in COMMANDS {
        let subject = Subject {
            registry: &registry,
            limits: &limits,
            command,
            exit_code: Some(1),
            quiet: false,
            full_output: "full.log",
            cap: tamis_command::OutputCap::new(),
            output: &bytes,
        };
        assert_eq!(subject.push([]).0, bytes, "{name}");
    }
}
