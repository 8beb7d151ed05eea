//! Outputs that no tool printed: lines of all saved ones, mixed, cut and repeated, through every filter.

use tamis::Limits;
use tamis_command::OutputFilterRegistry;

use tamis_testkit::commands::drivers::COMMANDS;
use tamis_testkit::commands::drivers::{Subject, agree};
use tamis_testkit::commands::transcripts::transcripts;
use tamis_testkit::effort::share;
use tamis_testkit::prng::Prng;

/// Mixed outputs for each filter.
const RUNS: u64 = 60;

/// Lines of saved outputs with their ends, those of a filter first.
pub(crate) fn lines(filter: &str) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for transcript in transcripts() {
        let raw = transcript.raw();
        let lines = raw.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec);
        let list =
            if transcript.filter.as_deref() == Some(filter) { &mut own } else { &mut others };
        list.extend(lines);
    }
    (own, others)
}

fn pick<'a>(prng: &mut Prng, lists: (&'a [Vec<u8>], &'a [Vec<u8>])) -> &'a [u8] {
    let list = if lists.0.is_empty() || prng.below(4) == 0 { lists.1 } else { lists.0 };
    &list[prng.below(list.len())]
}

pub(crate) fn mixed(prng: &mut Prng, lists: (&[Vec<u8>], &[Vec<u8>])) -> Vec<u8> {
    let mut output = Vec::new();
    let most = if prng.below(3) == 0 { 20_000 } else { 1500 };
    let length = prng.below(most);
    while output.len() < length {
        let line = pick(prng, lists);
        match prng.below(12) {
            0 => output.extend_from_slice(&line[..prng.below(line.len() + 1)]),
            1 => output.extend(line.repeat(1 + prng.below(5))),
            2 => {
                output.extend_from_slice(line.trim_ascii_end());
                output.extend_from_slice(b"\r\n");
            }
            3 => output.push(b'\n'),
            _ => output.extend_from_slice(line),
        }
    }
    output
}

#[test]
fn mixed_outputs() {
    let registry = OutputFilterRegistry::builtin();
    let (runs, mut changed) = (share(RUNS), 0);
    let moves = regex::bytes::Regex::new(r"\x1b(?:[78Mc]|\[[0-9;?]*[A-HJdefhlsu`])").unwrap();
    for (name, command) in COMMANDS {
        let (own, others) = lines(name);
        let mut prng = Prng::named(name);
        for run in 0..runs {
            let output = mixed(&mut prng, (&own, &others));
            let held = [4 << 20, 3000, 0][prng.below(3)];
            let limits = Limits::new().with_held(held as u64).with_line(64 << prng.below(11));
            let exit_code = [None, Some(0), Some(1)][prng.below(3)];
            let subject = Subject {
                registry: &registry,
                limits: &limits,
                command,
                exit_code,
                quiet: true,
                full_output: "full.log",
                cap: tamis_command::OutputCap::new(),
                output: &output,
            };
            let what = format!("{name} {run}");
            let (out, report) = agree(&what, subject);
            assert!(out.len() <= output.len(), "{what}: {} of {}", out.len(), output.len());
            // A movement of the cursor to another row may make lines, and so does an overwritten text that says what failed.
            let lines = report.lines_in as usize;
            let is_plain = report.lines_overwritten == 0 && !moves.is_match(&output);
            assert!(
                lines == count(&output) || !is_plain,
                "{what}: {lines} lines of {}",
                output.escape_ascii()
            );
            assert_eq!(report.bytes_out, out.len() as u64, "{what}");
            changed += u64::from(report.changed);
            if output.len() <= 4 << 10 {
                let (said, report) = Subject { quiet: false, ..subject }.push([]);
                // A mark before a line that may be a notice, such as a long line of spaces, takes two bytes.
                let marks = 2 * report.lines_marked as usize;
                assert!(said.len() <= output.len() + marks, "{what}: with what is said");
            }
        }
    }
    assert!(changed > runs * 8, "{changed} outputs were changed");
}

/// Lines, a last one without an end among them if a terminal shows anything of it.
fn count(output: &[u8]) -> usize {
    let ends = output.iter().filter(|byte| **byte == b'\n').count();
    let last = output.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let shown = regex::bytes::Regex::new("\x1b\\[[0-9;]*m?|\x1b|\r").unwrap();
    ends + usize::from(!shown.replace_all(last, &b""[..]).is_empty())
}
