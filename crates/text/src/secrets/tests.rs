//! Tests of each kind with its samples, and a comparison of the search with the plain definition.

use std::collections::BTreeSet;

use super::before::Before;
use super::before_text::Earlier;
use super::filter::SecretFilter;
use super::key_list::key_line;
use super::kind_names;
use super::kinds::{Needs, SecretLevel};
use super::resolve::{TextForm, resolved};
use super::rest::RestState;
use super::sample_text::{Random, made};
use super::samples::SAMPLES;
use super::samples_more::SAMPLES as MORE;
use super::shape::{Match, announced, compare_value, find_at};
use super::strings::KEPT;
use super::table::KINDS;

fn run(form: TextForm, pieces: &[&[u8]]) -> (String, Vec<(&'static str, u64)>) {
    let mut filter = SecretFilter::new(form);
    let mut output = Vec::new();
    for piece in pieces {
        filter.write(piece, &mut output);
    }
    filter.end(&mut output);
    let found = filter.found().iter().map(|(kind, count)| (*kind, *count)).collect();
    (String::from_utf8(output).unwrap(), found)
}

/// Returns the ranges of the secrets of a text, by comparing at every position.
fn secrets_of(text: &[u8]) -> Vec<(std::ops::Range<usize>, &'static str)> {
    secrets_after(text, 0)
}

/// The same from a position on.
fn secrets_after(text: &[u8], begin: usize) -> Vec<(std::ops::Range<usize>, &'static str)> {
    let (mut found, mut index) = (Vec::new(), begin);
    let mut before = Before::EDGE.and(&text[..begin]);
    while index < text.len() {
        let (result, kind) = find_at(Earlier::NONE, text, index, before, true, SecretLevel::Known);
        let next = match result {
            Match::No | Match::More => index + 1,
            Match::Found { from, to } => {
                found.push((from..to, kind));
                to
            }
            Match::Long { from, to, rest } => {
                let to = to + RestState::new(rest).take(&text[to..], true).0;
                found.push((from..to, kind));
                to
            }
        };
        before = before.and(&text[index..next]);
        index = next;
    }
    found
}

/// Resolves a text up to its end, or up to the quote that closes a string. Returns where each character begins, too.
fn characters(bytes: &[u8], form: TextForm) -> (Vec<u8>, Vec<usize>) {
    let (mut text, mut ends) = (Vec::new(), vec![0]);
    while let Some((byte, len)) = resolved(&bytes[ends[text.len()]..], form, true) {
        ends.push(ends[text.len()] + len);
        text.push(byte);
    }
    (text, ends)
}

/// The definition for plain text.
fn plain_model(text: &str) -> String {
    let (mut output, mut at) = (String::new(), 0);
    let (characters, ends) = characters(text.as_bytes(), TextForm::Plain);
    for (range, kind) in secrets_of(&characters) {
        output += &format!("{}[redacted:{kind}]", &text[at..ends[range.start]]);
        at = ends[range.end];
    }
    output + &text[at..]
}

/// The definition for JSON: string by string.
fn json_model(document: &str) -> String {
    let bytes = document.as_bytes();
    let (mut output, mut at, mut open) = (String::new(), 0, Vec::new());
    // The kinds that the last key announces, if only its colon came after it.
    let mut announces = Vec::new();
    // The lines of a key may follow, if only a comma came after the first one.
    let mut key_lines: Option<bool> = None;
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => open.push(Vec::new()),
            b'}' | b']' => _ = open.pop(),
            _ => {}
        }
        output.push(char::from(bytes[at]));
        at += 1;
        if bytes[at - 1] != b'"' {
            announces.retain(|_| b": \t\r\n".contains(&bytes[at - 1]));
            key_lines = key_lines.filter(|_| b", \t\r\n".contains(&bytes[at - 1]));
            continue;
        }
        let begin = at;
        let (text, mut ends) = characters(&bytes[at..], TextForm::Json);
        ends.iter_mut().for_each(|end| *end += begin);
        at = ends[text.len()];
        let is_key = document[at + 1..].trim_start().starts_with(':') && at - begin <= KEPT;
        let announced_before = std::mem::take(&mut announces);
        if let Some(is_begun) = key_lines.take()
            && !is_key
            && at - begin <= KEPT
            && let Some(is_last) = key_line(&bytes[begin..at], is_begun)
        {
            output += "[redacted:private-key]\"";
            key_lines = (!is_last).then_some(true);
            at += 1;
            continue;
        }
        let mut secrets = secrets_of(&text);
        if is_key && secrets.is_empty() {
            announces = announced(&text, SecretLevel::Known);
        } else if at - begin <= KEPT
            && let Some((from, to, name)) =
                announced_before.iter().find_map(|kind| match compare_value(kind, &text) {
                    Match::Found { from, to } => Some((from, to, kind.name)),
                    _ => None,
                })
        {
            secrets = secrets_after(&text, to);
            secrets.insert(0, (from..to, name));
        }
        if let Some((range, "private-key")) = secrets.last()
            && !is_key
            && at - begin < KEPT
            && range.end == text.len()
            && let Match::Long { to, rest, .. } =
                find_at(Earlier::NONE, &text, range.start, Before::EDGE, true, SecretLevel::Known).0
        {
            let mut state = RestState::new(rest);
            state.take(&text[to..], true);
            key_lines = state.is_open_key().then(|| state.is_begun());
        }
        if let (true, Some((_, kind))) = (is_key, secrets.first()) {
            let names: &mut Vec<&str> = open.last_mut().unwrap();
            names.push(*kind);
            let number = names.iter().filter(|name| *name == kind).count();
            let number = if number > 1 { format!(" {number}") } else { String::new() };
            output += &format!("[redacted:{kind}{number}]\"");
        } else {
            let mut from = begin;
            for (range, kind) in secrets {
                output += &format!("{}[redacted:{kind}]", &document[from..ends[range.start]]);
                from = ends[range.end];
            }
            output += &document[from..=at];
        }
        at += 1;
    }
    output
}

/// Spells a text as a JSON string: `how` 0 escapes what must be, 1 also slashes, 2 every ASCII character.
fn quoted(text: &str, how: usize) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' if how < 2 => quoted.extend(['\\', c]),
            '\n' if how < 2 => quoted.push_str("\\n"),
            '\t' if how < 2 => quoted.push_str("\\t"),
            '/' if how == 1 => quoted.push_str("\\/"),
            _ if how == 2 && c.is_ascii() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => quoted.push(c),
        }
    }
    quoted + "\""
}

#[test]
fn each_kind_is_found_and_its_near_misses_are_not() {
    // The text of a sample does not depend on other samples.
    let random = |sample: &str| {
        let mix = |seed: u64, byte| seed.wrapping_mul(0x100_0000_01B3) ^ u64::from(byte);
        Random::new(sample.bytes().fold(1, mix))
    };
    let (mut known, mut wrong) = (BTreeSet::new(), Vec::new());
    for (kind, secrets, others) in SAMPLES.iter().chain(MORE) {
        known.insert(*kind);
        for sample in *secrets {
            let (text, range) = made(sample, &mut random(sample));
            let expected =
                format!("{}[redacted:{kind}]{}", &text[..range.start], &text[range.end..]);
            let output = run(TextForm::Plain, &[text.as_bytes()]);
            if output != (expected.clone(), vec![(*kind, 1)]) {
                wrong.push(format!("{kind} {text}\n  {output:?}"));
                continue;
            }
            for how in 0..3 {
                let document = format!(r#"{{"a":[{}]}}"#, quoted(&text, how));
                let (output, found) = run(TextForm::Json, &[document.as_bytes()]);
                assert_eq!(found, [(*kind, 1)], "{document}");
                let value: serde_json::Value = serde_json::from_str(&output).unwrap();
                assert_eq!(value["a"][0], *expected, "{document}");
            }
        }
        for sample in *others {
            let (text, _) = made(sample, &mut random(sample));
            let plain = run(TextForm::Plain, &[text.as_bytes()]);
            let mut outputs = vec![(text.clone(), plain)];
            for how in 0..3 {
                let document = quoted(&text, how);
                let same = run(TextForm::Json, &[document.as_bytes()]);
                outputs.push((document, same));
            }
            outputs.retain(|(text, (output, _))| output != text);
            wrong.extend(outputs.iter().map(|(text, found)| format!("{kind} {text}\n  {found:?}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    known.insert("random-value");
    assert_eq!(known, kind_names().into_iter().collect());
    assert!(known.len() >= 200, "{} kinds", known.len());
}

/// Random text after any name is only replaced on request.
#[test]
fn names_announce_random_text_on_request() {
    let mut random = Random::new(22);
    let secret = made("1aB{A29}", &mut random).0;
    let mark = "[redacted:random-value]";
    for text in [
        "deploy_key = VALUE",
        "token: VALUE",
        r#"{"webhook-secret": "VALUE"}"#,
        "auth: VALUE",
        r#"{"auth": "VALUE"}"#,
    ] {
        let text = text.replace("VALUE", &secret);
        for form in [TextForm::Plain, TextForm::Json] {
            if form == TextForm::Json && !text.starts_with('{') {
                continue;
            }
            let is_known = text.contains("secret");
            assert_eq!(run(form, &[text.as_bytes()]).0.contains(&secret), !is_known, "{text}");
            let mut filter = SecretFilter::new(form).with_level(SecretLevel::Aggressive);
            let mut output = Vec::new();
            filter.write(text.as_bytes(), &mut output);
            filter.end(&mut output);
            let output = String::from_utf8(output).unwrap();
            assert!(!output.contains(&secret) && (is_known || output.contains(mark)), "{output}");
        }
    }
}

/// Changes the first sample of each kind in ways in which it has no anchor or no end: with a letter before it, without its
/// first character, with another sign, in the other case, and cut off.
#[test]
fn changed_secrets_are_none() {
    let mut random = Random::new(21);
    let (mut changes, mut wrong) = (0, Vec::new());
    for (kind, secrets, _) in SAMPLES.iter().chain(MORE) {
        let Some(sample) = secrets.iter().find(|sample| !sample.contains(['[', ' ', '\\'])) else {
            continue;
        };
        let anchor = sample.split('{').next().unwrap_or_default();
        let (text, _) = made(sample, &mut random);
        let rest = &text[anchor.len()..];
        let other_sign = anchor.replace(['_', '-', '.'], "*");
        let other_case: String = anchor
            .chars()
            .map(|c| {
                if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
            })
            .collect();
        for changed in [
            format!("x{text}"),
            text[1..].to_owned(),
            format!("{other_sign}{rest}"),
            format!("{other_case}{rest}"),
            format!("{anchor}{}", &rest[..rest.len().min(6)]),
        ] {
            let is_cut = changed.len() < text.len() - 1;
            let anchors = KINDS.iter().filter(|one| one.name == *kind).flat_map(|one| one.anchors);
            let has_anchor = anchors.into_iter().any(|anchor| changed.starts_with(anchor));
            if is_cut || !has_anchor {
                let (output, found) = run(TextForm::Plain, &[changed.as_bytes()]);
                if found.iter().any(|(found, _)| found == kind) {
                    wrong.push(format!("{kind} {changed}\n  {output}"));
                }
                changes += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(changes > 600, "{changes}");
}

#[test]
fn keys_are_replaced_as_a_whole_and_numbered_in_each_object() {
    let mut random = Random::new(2);
    let mut secret = || made("ghp_{A36}", &mut random).0;
    let document = format!(
        r#"{{"x {}":{{"{}":1,"b":["{}"]}},"{}":2 , "{}" : {{"{} y":3}},"z":"a {} b {}"}}"#,
        secret(),
        secret(),
        secret(),
        secret(),
        secret(),
        secret(),
        secret(),
        secret()
    );
    let mark = "[redacted:github-token";
    let expected = format!(
        r#"{{"{mark}]":{{"{mark}]":1,"b":["{mark}]"]}},"{mark} 2]":2 , "{mark} 3]" : {{"{mark}]":3}},"z":"a {mark}] b {mark}]"}}"#
    );
    assert_eq!(run(TextForm::Json, &[document.as_bytes()]).0, expected);
}

#[test]
fn secrets_without_an_end_are_replaced_to_the_end_of_their_characters() {
    let long = format!("sk-ant-{}", "a1".repeat(40_000));
    for (text, expected) in [
        (format!("x {long} y"), "x [redacted:anthropic-key] y"),
        (
            format!("-----BEGIN PRIVATE KEY-----\n{}", "Ab9+/\n".repeat(20_000)),
            "[redacted:private-key]",
        ),
    ] {
        assert_eq!(run(TextForm::Plain, &[text.as_bytes()]).0, expected);
        let document = format!("[{}]", quoted(&text, 0));
        assert_eq!(run(TextForm::Json, &[document.as_bytes()]).0, format!("[{:?}]", expected));
        let key = format!(r#"{{{}:1}}"#, quoted(&text, 2));
        let (output, _) = run(TextForm::Json, &[key.as_bytes()]);
        let value: serde_json::Value = serde_json::from_str(&output).unwrap();
        assert_eq!(value, serde_json::json!({ expected: 1 }));
    }
}

/// A word also begins after an escape of the text itself, and after a sequence of a terminal.
#[test]
fn secrets_are_found_after_escapes_in_the_text() {
    let token = made("ghp_{A36}", &mut Random::new(4)).0;
    for filler in [0, 3 * KEPT] {
        for before in [
            r"\\n",
            r"\\u003d",
            r"%3D",
            r"\\x1b[0m",
            r"\\u001b[32m",
            r"\\033[1m",
            r"\\e[2;1m",
            r"\u001b[1;31m",
            r"\u001b[m",
            r"\u001b[31m\\n",
        ] {
            let text = "lorem ipsum ".repeat(filler / 12);
            let document = format!(r#"["{text}{before}{token}\\n{text}%0A{token}%"]"#);
            let expected = document.replace(&token, "[redacted:github-token]");
            assert_eq!(run(TextForm::Json, &[document.as_bytes()]).0, expected, "{before}");
            let few: Vec<&[u8]> = document.as_bytes().chunks(7).collect();
            assert_eq!(run(TextForm::Json, &few).0, expected, "{before}");
            if !before.starts_with(r"\u") {
                let plain = run(TextForm::Plain, &[document.as_bytes()]).0;
                assert_eq!(plain, expected, "{before}");
            }
        }
    }
}

/// Random texts of parts of secrets, escapes and edges: the search finds what a comparison of all places finds, and chunks
/// make no difference.
#[test]
fn the_search_finds_what_a_comparison_of_all_places_finds() {
    let mut random = Random::new(3);
    let samples: Vec<&str> = SAMPLES
        .iter()
        .chain(MORE)
        .flat_map(|(_, secrets, others)| secrets.iter().chain(*others))
        .copied()
        .collect();
    for round in 0..if cfg!(miri) { 2 } else { 1500 } {
        let mut strings = Vec::new();
        for _ in 0..1 + random.below(4) {
            let mut text = String::new();
            let long = random.below(30) == 0;
            for _ in 0..1 + random.below(if long { 300 } else { 4 }) {
                match random.below(5) {
                    0 => text.push_str(
                        ["\n", " ", "\\", "\"", "é", "/", "<", "x", ":", "\\\\\\"]
                            [random.below(10)],
                    ),
                    1 => text.push_str(&"lorem ipsum ".repeat(random.below(9))),
                    _ => {
                        let (sample, _) = made(samples[random.below(samples.len())], &mut random);
                        let cut = random.below(sample.len() + 1);
                        let whole = random.below(3) > 0 || !sample.is_char_boundary(cut);
                        text.push_str(if whole { &sample } else { &sample[..cut] });
                    }
                }
            }
            let how = random.below(3);
            let half = text.len() / 2;
            let mixed = match text.is_char_boundary(half) && random.below(2) == 0 {
                true => {
                    let (first, second) = (quoted(&text[..half], how), quoted(&text[half..], 0));
                    format!("{}{}", &first[..first.len() - 1], &second[1..])
                }
                false => quoted(&text, how),
            };
            strings.push(mixed);
        }
        let last = &strings[strings.len() - 1];
        let document = format!("[{{{} : {last},{last}:1}},{}]", strings[0], strings.join(","));
        let bytes = document.as_bytes();
        assert!(serde_json::from_slice::<serde_json::Value>(bytes).is_ok(), "{document}");
        let expected = json_model(&document);
        assert!(serde_json::from_str::<serde_json::Value>(&expected).is_ok(), "{expected}");
        let cut = random.below(bytes.len() + 1);
        let few: Vec<&[u8]> = bytes.chunks(1 + random.below(9)).collect();
        for pieces in [&[bytes][..], &[&bytes[..cut], &bytes[cut..]], &few] {
            same(&run(TextForm::Json, pieces).0, &expected, round, &document);
            same(&run(TextForm::Plain, pieces).0, &plain_model(&document), round, &document);
        }
    }
}

/// Panics with the place of the first difference: the documents are long.
fn same(output: &str, expected: &str, round: usize, document: &str) {
    if output == expected {
        return;
    }
    let both = output.bytes().zip(expected.bytes());
    let begin = both.take_while(|(one, other)| one == other).count().saturating_sub(200);
    let part = |text: &str| {
        let bytes = text.as_bytes().get(begin..).unwrap_or_default();
        String::from_utf8_lossy(bytes.get(..400).unwrap_or(bytes)).into_owned()
    };
    panic!(
        "round {round}, {} bytes, near {begin}\n{}\nexpected\n{}\nof\n{}",
        document.len(),
        part(output),
        part(expected),
        part(document),
    );
}

/// The most beginnings of a kind that the documentation lists.
const LISTED: usize = 8;

/// Returns the beginning of each row of the table of kinds: the name, and what its secrets begin with or contain.
fn rows_of_kinds() -> Vec<String> {
    let row = |name: &str| {
        let mut parts: Vec<String> = Vec::new();
        for kind in KINDS.iter().filter(|kind| kind.name == name) {
            let spelled = |anchor: &&str| match (*anchor, kind.needs) {
                ("", Needs::Text(_, mark)) => format!("…{}…", String::from_utf8_lossy(mark)),
                ("-", _) => "-…".to_owned(),
                (anchor, _) => anchor.to_owned(),
            };
            for part in kind.anchors.iter().chain(kind.names).map(spelled) {
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
        }
        let listed: Vec<_> = parts.iter().take(LISTED).map(|part| format!("`{part}`")).collect();
        let more = if parts.len() > LISTED { ", …" } else { "" };
        format!("| `{name}` | {}{more} |", listed.join(", "))
    };
    kind_names().into_iter().map(row).collect()
}

/// The documentation has one row for each kind, with its beginnings and a source.
#[test]
fn the_documentation_lists_the_kinds() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/credentials.md");
    // A package has no documentation of the project.
    let Ok(page) = std::fs::read_to_string(path) else { return };
    let (_, table) = page.split_once("## The kinds").unwrap();
    let (table, compared) = table.split_once("\n## ").unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    let expected = rows_of_kinds();
    for (row, expected) in rows.iter().zip(&expected) {
        let source = row.strip_prefix(expected.as_str()).unwrap_or_default();
        assert!(source.len() > " x |".len() && source.ends_with(" |"), "{row}\n{expected}");
    }
    assert_eq!(rows.len(), expected.len(), "{:?}", expected.get(rows.len()));
    // No row runs into the next: each has the cells of its table. A cell has no bar.
    let mut cells = 0;
    for line in page.lines() {
        let count = line.matches('|').count();
        match line.starts_with('|') {
            true if cells == 0 => cells = count,
            true => assert_eq!(count, cells, "{line}"),
            false => cells = 0,
        }
    }
    // The sentence counts the rows of the comparison.
    let gitleaks = compared.split("\n## ").next().unwrap();
    let rows = |verdict: &str| gitleaks.matches(&format!("| {verdict} |")).count();
    let counts = format!(
        "{} are found, {} partly, {} are out of scope",
        rows("found"),
        rows("partly"),
        rows("out of scope")
    );
    assert!(gitleaks.contains(&counts), "{counts}");
    // Rules of other lists are found by kinds.
    let kinds = kind_names();
    let found =
        compared.lines().filter(|line| line.contains("| found |") || line.contains("| partly |"));
    for line in found {
        let by = line.rsplit(" | ").next().unwrap_or_default();
        let names = by
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|name| name.ends_with("-token") || name.ends_with("-key"));
        for name in names {
            assert!(kinds.contains(&name), "{line}");
        }
    }
}
