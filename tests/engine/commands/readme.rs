//! The tables of `corpus/commands/README.md`: the sizes of 20 recorded outputs after filtering, with the notice at their
//! end, and the sizes of all of them by filter.

use tamis::Limits;
use tamis_command::{CommandRules, OutputFilterRegistry};

use tamis_testkit::commands::drivers::Subject;
use tamis_testkit::commands::transcripts::{Transcript, transcripts};

/// The expected row.
fn row(transcript: &Transcript) -> String {
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    let raw = transcript.raw();
    let path = format!("corpus/commands/{}.txt", transcript.name);
    let subject = transcript.subject(&registry, &limits, &raw);
    let (out, _) = Subject { full_output: &path, ..subject }.push([]);
    let tokens = |bytes: &[u8]| {
        tiktoken::get_encoding("o200k_base").unwrap().count(&String::from_utf8_lossy(bytes))
    };
    let cells = |before: usize, after: usize| {
        // Rounded down, as `--stats` does.
        let tenths = (before - after) * 1000 / before;
        format!("{} | {} | {}.{} %", grouped(before), grouped(after), tenths / 10, tenths % 10)
    };
    format!(
        "| [`{}`]({}.txt) | {} | {} | {} |",
        transcript.command,
        transcript.name,
        transcript.exit_code,
        cells(raw.len(), out.len()),
        cells(tokens(&raw), tokens(&out)),
    )
}

fn grouped(number: usize) -> String {
    if number < 1000 {
        return number.to_string();
    }
    format!("{},{:03}", number / 1000, number % 1000)
}

#[test]
fn the_table_says_what_comes_out() {
    let readme = include_str!("../../../corpus/commands/README.md");
    let all = transcripts();
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in readme.lines().filter(|line| line.starts_with("| [`")) {
        let Some((_, rest)) = line.split_once("](") else { continue };
        let Some((name, _)) = rest.split_once(".txt)") else { continue };
        let transcript = all.iter().find(|one| one.name == name).unwrap();
        let row = row(transcript);
        if line != row {
            wrong.push(row);
        }
        rows += 1;
    }
    assert!(wrong.is_empty(), "these rows are:\n{}", wrong.join("\n"));
    assert_eq!(rows, 20);
}

/// The sizes of all outputs of each filter, without the notice.
#[test]
fn the_table_of_filters_has_every_filter() {
    let readme = include_str!("../../../corpus/commands/README.md");
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    let all = transcripts();
    let rules = CommandRules::builtin();
    let mut names: Vec<&str> = rules.names().collect();
    names.sort_unstable();
    let (mut rows, mut sums) = (Vec::new(), (0, 0, 0));
    let row = |name: &str, count: usize, before: usize, after: usize| {
        let tenths = (before - after) * 1000 / before.max(1);
        let (before, after) = (grouped(before), grouped(after));
        format!("| {name} | {count} | {before} | {after} | {}.{} % |", tenths / 10, tenths % 10)
    };
    for name in names {
        let of = all.iter().filter(|one| one.filter.as_deref() == Some(name));
        let (mut count, mut before, mut after) = (0, 0, 0);
        for transcript in of {
            let raw = transcript.raw();
            let subject = transcript.subject(&registry, &limits, &raw);
            let (out, _) = Subject { quiet: true, ..subject }.push([]);
            (count, before, after) = (count + 1, before + raw.len(), after + out.len());
        }
        if count > 0 {
            rows.push(row(name, count, before, after));
            sums = (sums.0 + count, sums.1 + before, sums.2 + after);
        }
    }
    rows.push(row("all", sums.0, sums.1, sums.2));
    let written: Vec<&str> = readme
        .lines()
        .skip_while(|line| *line != "## Sizes by filter")
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1)
        .take_while(|line| line.starts_with("| "))
        .collect();
    assert!(written == rows, "the rows are:\n{}", rows.join("\n"));
}

/// The table of `corpus/commands` has every saved output, and its length.
#[test]
fn the_corpus_is_described() {
    let described = include_str!("../../../corpus/commands/README.md");
    for transcript in transcripts() {
        let length = grouped(transcript.raw().len());
        let row = format!(
            "| `{}.txt` | `{}` | {} | {length} | ",
            transcript.name, transcript.command, transcript.exit_code
        );
        assert!(described.contains(&row), "{row}");
    }
    let rows = described.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, transcripts().len());
}
