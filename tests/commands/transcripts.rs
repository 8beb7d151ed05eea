//! Saved outputs of real tools (`corpus/commands`): what comes out, in every chunking, and that it is never longer.
//!
//! `TAMIS_BLESS=1` writes what comes out to `expected/`; read the difference before it is committed.

use std::path::PathBuf;

use serde::Deserialize;
use tamis::{CommandRules, Limits, OutputFilterRegistry};

pub(crate) use crate::drivers::COMMANDS;
use crate::drivers::{Subject, agree};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    transcript: Vec<Transcript>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Transcript {
    pub(crate) name: String,
    pub(crate) command: String,
    pub(crate) exit_code: i32,
    /// The filter that is for it.
    pub(crate) filter: Option<String>,
}

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

pub(crate) fn transcripts() -> Vec<Transcript> {
    let file: File = toml::from_str(include_str!("transcripts.toml")).unwrap();
    file.transcript
}

impl Transcript {
    pub(crate) fn raw(&self) -> Vec<u8> {
        std::fs::read(folder("corpus/commands").join(format!("{}.txt", self.name))).unwrap()
    }

    pub(crate) fn subject<'a>(
        &'a self,
        registry: &'a OutputFilterRegistry,
        limits: &'a Limits,
        output: &'a [u8],
    ) -> Subject<'a> {
        Subject {
            registry,
            limits,
            command: &self.command,
            exit_code: Some(self.exit_code),
            quiet: false,
            full_output: "full.log",
            output,
        }
    }
}

#[test]
fn what_comes_out() {
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    let bless = std::env::var_os("TAMIS_BLESS").is_some();
    for transcript in transcripts() {
        let raw = transcript.raw();
        let (out, report) = agree(&transcript.name, transcript.subject(&registry, &limits, &raw));
        let path = folder("tests/commands/expected").join(format!("{}.txt", transcript.name));
        if bless {
            std::fs::write(&path, &out).unwrap();
        }
        let expected = std::fs::read(&path).unwrap_or_else(|_| panic!("{path:?} is not there"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&out), text(&expected), "{}", transcript.name);
        assert_eq!(report.filter, transcript.filter, "{}", transcript.name);
        assert_eq!(report.bytes_in, raw.len() as u64, "{}", transcript.name);
        assert_eq!(report.bytes_out, out.len() as u64, "{}", transcript.name);
        assert_eq!(report.chars_out, text(&out).chars().count() as u64, "{}", transcript.name);
        assert_eq!(report.changed, out != raw, "{}", transcript.name);
    }
}

#[test]
fn nothing_is_longer_than_it_was() {
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
    let mut found: Vec<String> = std::fs::read_dir(folder("corpus/commands"))
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
const UNVERIFIED: [&str; 3] = ["cargo-nextest", "docker-build", "kubectl"];

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
        if !["git-status", "git-diff", "git-log", "log", "grep"].contains(&name) {
            assert!(of.iter().any(|one| one.exit_code != 0), "{name} has one that did not");
        }
    }
}

/// What none of the tools prints.
const UNKNOWN: [&str; 5] = [
    "Ahoy.\nThe quay is closed, and nobody knows why\n  until further notice\n",
    "no line end",
    "Segmentation fault (core dumped)\n",
    "Traceback (most recent call last):\n  File \"x\", line 1\nZeroDivisionError: division by zero\n",
    "usage: tool [-h] FILE\ntool: unrecognised option `--frobnicate`\n",
];

#[test]
fn what_is_empty_or_of_another_shape_passes() {
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

/// Bytes that are no UTF-8, and all that a terminal may do, are no trouble for any filter.
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
            output: &bytes,
        };
        assert_eq!(subject.push([]).0, bytes, "{name}");
    }
}
