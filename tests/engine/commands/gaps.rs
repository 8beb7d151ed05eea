//! Notices about missing lines are correct: each item is under its own heading, and the numbers add up.

use tamis::Limits;
use tamis_command::{CommandReport, CommandRules, OutputFilterRegistry};

use super::random::{lines, mixed};
use tamis_testkit::commands::drivers::{COMMANDS, Subject, agree};
use tamis_testkit::prng::Prng;

/// How a group of a rule is taken apart, in the test's own words: heading, separator, item.
const GROUP: &str = r"group = { by = '^([^:]+):(.*)$'";

/// Lines of files, in runs and scattered, with others between them.
fn found(prng: &mut Prng, most: usize) -> String {
    let mut output = String::new();
    let mut number = 0;
    for _ in 0..prng.below(most) {
        let file = ["src/a.rs", "src/deep/b.rs", "c.rs"][prng.below(3)];
        for _ in 0..=prng.below(4) {
            number += 1;
            output += &match prng.below(12) {
                0 => format!("note number {number}\n"),
                1 => format!("  indented {number}\n"),
                2 => "\n".to_owned(),
                _ => format!("{file}:{number}: let x{number} = 1;\n"),
            };
        }
    }
    output
}

/// Reads an output as a person does: the lines of the input that it shows, in their order, and the number of those that
/// its gaps speak of. `joint` is what stands between a heading and an item in a line.
fn read(out: &str, input: &str, joint: &str) -> (usize, u64) {
    let mut heading = None;
    let mut before_gap_or_end = false;
    let (mut shown, mut gone) = (0, 0);
    let mut rest: Vec<&str> = input.lines().collect();
    for line in out.lines() {
        if let Some(gap) = line.strip_prefix("... ").and_then(|gap| gap.split_once(" line")) {
            assert!(!before_gap_or_end, "a heading stands before a gap with nothing under it");
            gone += gap.0.parse::<u64>().unwrap();
            heading = None;
            continue;
        }
        let is_input = rest.contains(&line);
        if !is_input && line.ends_with(':') && !line.starts_with(' ') {
            assert!(!before_gap_or_end, "{line}: after a heading with nothing under it");
            heading = line.strip_suffix(':');
            before_gap_or_end = true;
            continue;
        }
        before_gap_or_end = false;
        let raw = match (heading, line.strip_prefix("  ")) {
            (Some(heading), Some(item)) if !is_input => format!("{heading}{joint}{item}"),
            _ => {
                heading = None;
                line.to_owned()
            }
        };
        let at = rest.iter().position(|other| *other == raw);
        let at = at.unwrap_or_else(|| {
            panic!("{line:?} is {raw:?}, which is no line of the input:\n{out}")
        });
        rest.remove(at);
        shown += 1;
    }
    assert!(!before_gap_or_end, "a heading ends the output");
    (shown, gone)
}

fn push(
    registry: &OutputFilterRegistry,
    command: &str,
    output: &str,
    about: &str,
) -> (String, CommandReport) {
    let limits = Limits::new();
    let subject = Subject {
        registry,
        limits: &limits,
        command,
        exit_code: None,
        quiet: true,
        full_output: "full.log",
        cap: tamis_command::OutputCap::new(),
        output: output.as_bytes(),
    };
    let (out, report) = if output.len() < 400 { agree(about, subject) } else { subject.push([]) };
    (String::from_utf8(out).unwrap(), report)
}

#[test]
fn every_item_stands_under_its_own_heading() {
    let mut prng = Prng::named("gaps");
    let mut cut = 0;
    for run in 0..600 {
        let most = if prng.one_in(4) { 200 } else { 12 };
        let input = found(&mut prng, most);
        let mut toml = "[[rules]]\nname = \"x\"\nmatch = { exact = \"x\" }\n".to_owned();
        toml += &format!("{GROUP}, scattered = {} }}\n", prng.one_in(2));
        if prng.one_in(3) {
            toml += "strip_sections = [{ from = '^note', before = '^src' }]\n";
        }
        for key in ["head", "tail", "max_lines"] {
            if prng.one_in(2) {
                toml += &format!("{key} = {}\n", 1 + prng.below(most));
            }
        }
        let rules = CommandRules::parse("x.toml", &toml).unwrap_or_else(|error| panic!("{error}"));
        let registry = OutputFilterRegistry::new().register_rules(rules);
        let about = format!("run {run}");
        let (out, report) = push(&registry, "x", &input, &about);
        let (shown, gone) = read(&out, &input, ":");
        let all = format!("{about}: {toml}\n{input}\n{out}\n{report:?}");
        assert_eq!(gone, report.lines_left_out, "{all}");
        assert_eq!(report.lines_in as usize, input.lines().count(), "{all}");
        assert_eq!(shown as u64 + report.lines_removed + gone, report.lines_in, "{all}");
        cut += u64::from(gone > 0);
    }
    assert!(cut > 150, "{cut} outputs were cut");
}

/// The filters that group lines, over more of them than they show.
#[test]
fn long_lists_of_the_filters_that_come_with_tamis() {
    let registry = OutputFilterRegistry::builtin();
    let mut prng = Prng::named("long lists");
    for command in ["grep -rn let src", "rg let", "find . -type f"] {
        for run in 0..6 {
            let mut input = String::new();
            for number in 0..800 + prng.below(2500) {
                let file = prng.below(1 + number / 300);
                input += &match command.starts_with("find") {
                    true => format!("./folder{file}/file{number}.rs\n"),
                    false => format!("src/file{file}.rs:{number}:let x = {number};\n"),
                };
            }
            // Sorted, files are in a row.
            let sorted = {
                let mut lines: Vec<&str> = input.lines().collect();
                lines.sort_unstable();
                lines.join("\n") + "\n"
            };
            let input = if run % 2 == 0 { sorted } else { input };
            let (out, report) = push(&registry, command, &input, command);
            let joint = if command.starts_with("find") { "" } else { ":" };
            let (shown, gone) = read(&out, &input, joint);
            assert_eq!(gone, report.lines_left_out, "{command}");
            assert_eq!(shown as u64 + gone, report.lines_in, "{command}");
            assert!(gone <= report.lines_in, "{command}");
        }
    }
}

/// Written, merged, removed and omitted lines add up to the number of input lines.
#[test]
fn numbers_add_up_for_every_filter() {
    let registry = OutputFilterRegistry::builtin();
    let limits = Limits::new();
    for (name, command) in COMMANDS {
        let (own, others) = lines(name);
        let mut prng = Prng::named(&format!("numbers of {name}"));
        for run in 0..30 {
            let output = mixed(&mut prng, (&own, &others));
            let subject = Subject {
                registry: &registry,
                limits: &limits,
                command,
                exit_code: None,
                quiet: true,
                full_output: "full.log",
                cap: tamis_command::OutputCap::new(),
                output: &output,
            };
            let (out, report) = subject.push([]);
            let CommandReport { lines_in, lines_out, lines_removed, lines_folded, .. } = report;
            let out = String::from_utf8_lossy(&out).into_owned();
            let about = format!("{name} {run}: {report:?}\n{out}");
            let gaps = out.lines().filter(|line| {
                line.strip_prefix("... ").is_some_and(|gap| gap.contains(" left out"))
            });
            let gaps: Vec<u64> =
                gaps.map(|gap| gap.split(' ').nth(1).unwrap().parse().unwrap()).collect();
            assert_eq!(gaps.iter().sum::<u64>(), report.lines_left_out, "{about}");
            let away = lines_removed + lines_folded + report.lines_left_out;
            assert!(away <= lines_in, "{about}");
            let shown = lines_out - gaps.len() as u64;
            if report.lines_shortened == 0 {
                assert_eq!(shown + away, lines_in, "{about}");
            } else {
                // The rest are headings.
                assert!(shown + away >= lines_in, "{about}");
            }
        }
    }
}
