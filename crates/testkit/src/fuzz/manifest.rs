//! `manifest`: files of every format that map names to filters, and rules for commands.
//!
//! No panic; an error is short and has a place inside the text; what loads has filters that explain themselves and run,
//! and is found by its names. That work is bounded is the fuzzer's to see: an input that takes long is a finding of its
//! own.

use tamis::{Limits, Program, Spec, filter_slice};
use tamis_command::{CommandLine, CommandRules, OutputFilterRegistry};
use tamis_manifest::{Diagnostic, Manifest, ManifestError, ManifestErrorKind};

use super::input::{Choose, Input};
use crate::prng::Choices;

/// The name of the text in errors.
const FILE: &str = "x.yaml";
/// The maximum number of problems in one error.
const SHOWN: usize = 20;
const DOCUMENT: &[u8] = br#"{"data":{"items":[{"id":1,"name":"a","x":null},{"id":2}]},"total":2}"#;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let text = if input.choices.one_in(3) {
        lines(&mut Choose::new(input.rest)).into_bytes()
    } else {
        input.rest.to_vec()
    };
    if CommandRules::recognises(&text) || input.choices.one_in(8) {
        rules(&text);
    } else {
        manifest(&text);
    }
}

fn manifest(text: &[u8]) {
    let manifest = match Manifest::parse_bytes(FILE, text) {
        Ok(manifest) => manifest,
        Err(error) => return refused(&error, text),
    };
    for entry in manifest.entries() {
        inside(entry.warnings(), text);
        assert!(entry.fits(entry.name()) || entry.is_pattern(), "{}", entry.name());
        program(entry.program());
        _ = entry.reserved_parameters();
        assert!(manifest.has(entry.name()), "{}", entry.name());
        match manifest.entry(entry.name()) {
            Ok(_) => {}
            Err(error) => {
                assert!(error.kind() != ManifestErrorKind::UnknownTool, "{error}");
                assert!(!error.to_string().is_empty());
            }
        }
    }
    twice(&manifest);
}

/// Merges a manifest with itself. A name or a key for gateways in two manifests is an error at the second place, even if
/// both are equal, so every one of them is an error. Without them there are no conflicts, and no tool has a filter.
fn twice(manifest: &Manifest) {
    let settings = manifest.settings();
    let set = [
        settings.profile().is_some(),
        settings.service().is_some(),
        settings.catalog().is_some(),
        settings.store().is_some(),
    ];
    let set = set.into_iter().filter(|set| *set).count();
    let names = manifest.entries().map(|entry| 1 + entry.aliases().len()).sum();
    // Filters are compared only if no key is set twice.
    let conflicts = if set > 0 { set } else { names };
    match Manifest::merge([manifest.clone(), manifest.clone()]) {
        Ok(merged) => {
            assert_eq!((conflicts, merged.names().len()), (0, 0), "a name has two filters");
            // The tools that a registry does not name may be named by another file.
            let other = merged.entry("a").err().map(|error| error.kind());
            assert_eq!(other, Some(ManifestErrorKind::UnknownTool), "tools without a filter");
        }
        Err(error) => {
            assert_eq!(error.kind(), ManifestErrorKind::Invalid, "{error}");
            let problems = error.problems();
            assert_eq!(
                (problems.len(), problems.len() + error.more()),
                (conflicts.min(SHOWN), conflicts)
            );
            let (keys, filters): (Vec<_>, Vec<_>) =
                problems.iter().partition(|problem| problem.message().contains("is set already"));
            assert!(keys.len() <= set, "{error}");
            for problem in filters {
                assert!(problem.message().contains("has a filter already"), "{problem}");
                let place = |entry: &tamis_manifest::ManifestEntry| {
                    entry.line() == problem.line() || entry.aliases().len() > 0
                };
                assert!(manifest.entries().any(place), "{problem}");
            }
        }
    }
}

/// Checks that a compiled program can be explained and run, and that its spec can be read again if it can be written.
fn program(program: &Program) {
    let explanation = program.explain(&crate::call_options());
    assert!(!explanation.to_string().is_empty());
    _ = program.spec().summary();
    if let Ok((output, report)) = filter_slice(program, DOCUMENT) {
        let reported = report.output_bytes.unwrap_or(report.result_bytes);
        assert_eq!(reported, output.len() as u64, "{:?}", program.spec());
    }
    let written = match serde_json::to_string(program.spec()) {
        Ok(written) => written,
        Err(error) => {
            let known = ["no exact place", "lone surrogate"];
            let message = error.to_string();
            assert!(known.iter().any(|known| message.contains(known)), "{message}");
            return;
        }
    };
    let read: Result<Spec, _> = serde_json::from_str(&written);
    let read = read.unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(written, serde_json::to_string(&read).expect("a spec is written"));
}

fn rules(text: &[u8]) {
    let rules = match CommandRules::parse_bytes(FILE, text) {
        Ok(rules) => rules,
        Err(error) => return refused(&error, text),
    };
    // Examples are true or not; what is wrong with them has a place.
    inside(&rules.run_examples(), text);
    inside(rules.warnings(), text);
    assert!(rules.examples() <= text.len() && rules.names().len() <= text.len());
    let registry = OutputFilterRegistry::new().register_rules(rules.clone());
    let output = "a\nb\nb\n\x1b[1merror: c\x1b[0m\n";
    for name in rules.names() {
        let line = CommandLine::parse(name);
        let mut run = registry.start(&line, &Limits::new(), Vec::new()).with_notice(false);
        run.set_exit_code(Some(1));
        let ended = run.write(output.as_bytes()).and_then(|()| run.end());
        let (out, report) = (run.into_sink(), ended.expect("no output is an error"));
        assert_eq!(report.bytes_out, out.len() as u64);
    }
}

fn refused(error: &ManifestError, text: &[u8]) {
    assert_eq!(error.kind(), ManifestErrorKind::Invalid, "{error}");
    assert!(!error.problems().is_empty() && error.problems().len() <= SHOWN, "{error}");
    inside(error.problems(), text);
    let message = error.to_string();
    assert!(message.starts_with(FILE), "{message}");
    assert!(message.len() < 40_000, "{} bytes", message.len());
    assert!(message.chars().all(|char| char == '\n' || !char.is_control()), "{message:?}");
}

/// Places are those of the text: a line that it has, and a character of it or the end.
fn inside(problems: &[Diagnostic], text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    for problem in problems {
        assert!(!problem.message().is_empty(), "{problem}");
        if problem.line() == 0 {
            assert_eq!(problem.column(), 0, "{problem}");
            continue;
        }
        let joined = text.replace("\r\n", "\n");
        let line = joined.split(['\n', '\r']).nth(problem.line() - 1);
        let line = line.unwrap_or_else(|| panic!("no such line: {problem}\n{text:?}"));
        let length = line.chars().count();
        // A break of two characters is one more.
        assert!(
            (1..=length + 2).contains(&problem.column()),
            "no such column: {problem}\n{text:?}"
        );
    }
}

/// Returns typical lines of manifests with random indentation.
fn lines(choices: &mut Choose<'_>) -> String {
    const BEGINS: [&str; 8] = [
        "version: 1\nfilters:\n",
        "name: s\nactions:\n",
        "apiVersion: reshapr.io/v1alpha1\nkind: ToolsFilters\nmetadata: {name: x}\nservice: {name: S, version: '1'}\ntools:\n",
        "apiVersion: reshapr.io/v1alpha1\nkind: ToolsOutputFilters\nmetadata: {name: x}\nservice: {name: S, version: '1'}\ntools:\n",
        "tools:\n",
        "[[rules]]\nname = \"x\"\n",
        "{\"version\": 1, \"filters\": {\"a\": ",
        "",
    ];
    const PIECES: [&str; 66] = [
        "a:",
        "list_*:",
        "response:",
        "filter:",
        "select:",
        "exclude:",
        "retain:",
        "patches:",
        "jsonRetain:",
        "jsonPatches:",
        "convertToToon: true",
        "when:",
        "otherwise: pass",
        "max_items: 3",
        "max_items: -1",
        "compact:",
        "item: '{{.id}}'",
        "header: \"{{.Total}\"",
        "budget: {bytes: 10}",
        "budget: {tokens: 1e3}",
        "text_filter:",
        "strip_ansi: yes",
        "content:",
        "max_tokens: 5",
        "schema:",
        "field:",
        "type: object",
        "type: content",
        "- op: remove",
        "  path: /a",
        "- {op: add, path: /a/b, value: 1.10}",
        "- /a/b",
        "- a.b",
        "id: id",
        "[a, b.c]",
        "{a: b}",
        "&x",
        "*x",
        "<<: *x",
        "!!str 1",
        "'a'",
        "\"\\u0061\"",
        "null",
        "~",
        "? a",
        ": b",
        "|",
        ">-",
        "---",
        "# c",
        "\t",
        "é",
        "\u{2028}",
        "\r",
        "match = { prefix = \"x\" }",
        "strip = ['^a']",
        "keep = ['(']",
        "head = 2",
        "[[rules.examples]]",
        "strategy = { type = \"truncate\", max_lines = 3 }",
        "on_error: closed",
        "root: auto",
        "drop_nulls: true",
        "format: markdown",
        "text_filter: {strip_lines_matching: [x, '(\\w{90}|xN){2}']}",
        "keep = ['(\\w{90}|xN){9}']",
    ];
    let mut text = choices.pick(&BEGINS).to_owned();
    for _ in 0..choices.below(24) {
        text.extend(std::iter::repeat_n(' ', choices.below(10)));
        text.push_str(choices.pick(&PIECES));
        if !choices.one_in(6) {
            text.push('\n');
        }
    }
    text
}
