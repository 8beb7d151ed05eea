//! Command lines, rules and outputs that nobody writes in good faith: no panic, no hang.

use tamis::Limits;
use tamis_command::{CommandLine, CommandRules, OutputFilterRegistry};

use tamis_testkit::prng::Prng;

const FILES: [&str; 3] = [
    include_str!("../../../crates/command/src/builtin/build.toml"),
    include_str!("../../../crates/command/src/builtin/files.toml"),
    include_str!("../../../crates/command/src/builtin/python.toml"),
];

#[test]
fn files_of_rules_with_mistakes() {
    let mut prng = Prng::named("rules");
    let (mut good, mut bad) = (0, 0);
    for run in 0..1500 {
        let mut bytes = FILES[run % FILES.len()].as_bytes().to_vec();
        bytes.truncate(1 + prng.below(3000));
        for _ in 0..=prng.below(4) {
            let at = prng.below(bytes.len());
            match prng.below(4) {
                0 => bytes[at] = b"[]{}\"'=\n.,#\\x1"[prng.below(14)],
                1 => drop(bytes.drain(at..(at + prng.below(20)).min(bytes.len()))),
                2 => bytes.insert(at, prng.below(256) as u8),
                _ => {
                    let piece = bytes[at..(at + prng.below(60)).min(bytes.len())].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
            if bytes.is_empty() {
                bytes.push(b'\n');
            }
        }
        match CommandRules::parse_bytes("x.toml", &bytes) {
            Ok(rules) => {
                good += 1;
                let _ = rules.run_examples();
            }
            Err(error) => {
                bad += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert!(good > 10 && bad > 100, "{good} good, {bad} bad");
}

#[test]
fn command_lines_of_any_kind() {
    let words = [
        "cargo", "test", "+nightly", "git", "-C", "--", "-c", "sh", "bash", "-lc", "env", "X=1",
        "sudo", "timeout", "5", "python", "-m", "npx", "uv", "run", "|", "||", "&&", ";", "&", "(",
        ")", "'", "\"", "\\", "$(", "`", "<", ">", "2>&1", "<<", "#", "\n", "é", "\u{0}", "-",
        "time", "nice", "-n", "tee", "cat", "cd",
    ];
    let registry = OutputFilterRegistry::builtin();
    let mut prng = Prng::named("lines");
    let mut understood = 0;
    for _ in 0..20_000 {
        let mut typed = String::new();
        for _ in 0..prng.below(12) {
            typed.push_str(words[prng.below(words.len())]);
            if prng.below(8) > 0 {
                typed.push(' ');
            }
        }
        let line = CommandLine::parse(&typed);
        understood += usize::from(line.command().is_some());
        let _ = registry.filter_for(&line);
        // The parsed command is not longer when it is parsed again.
        if let Some(command) = line.command() {
            let again = CommandLine::parse(command);
            assert!(again.command().is_none_or(|again| again.len() <= command.len()), "{typed}");
        }
        let _ = CommandLine::from_args(typed.split(' '));
    }
    assert!(understood > 1000, "{understood}");
    for long in ["(".repeat(60_000), "a ".repeat(30_000), "$(".repeat(30_000), "'".repeat(60_001)] {
        assert!(CommandLine::parse(&long).typed().len() >= 60_000);
    }
}

#[test]
fn outputs_of_any_bytes() {
    let registry = OutputFilterRegistry::builtin();
    let limits = Limits::new().with_line(100).with_held(1000);
    let mut prng = Prng::named("bytes");
    for (_, command) in tamis_testkit::commands::drivers::COMMANDS {
        let line = CommandLine::parse(command);
        for _ in 0..30 {
            let mut run = registry.start(&line, &limits, Vec::new()).with_notice(false);
            let (mut length, mut is_utf_16) = (0, false);
            for _ in 0..prng.below(40) {
                let chunk: Vec<u8> = (0..prng.below(200)).map(|_| prng.below(256) as u8).collect();
                run.write(&chunk).unwrap();
                is_utf_16 |=
                    length == 0 && matches!(chunk[..], [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]);
                length += chunk.len();
            }
            let report = run.end().unwrap();
            let out = run.into_sink();
            // A mark before what may be a notice takes two bytes. A character of UTF-16 may have a byte less than in UTF-8.
            let marks = 2 * report.lines_marked as usize;
            let units = if is_utf_16 { length / 2 + 3 } else { 0 };
            assert!(
                out.len() <= length + units + marks,
                "{command}: {report:?} {}",
                out.escape_ascii()
            );
            assert_eq!(report.bytes_in, length as u64);
        }
    }
}
