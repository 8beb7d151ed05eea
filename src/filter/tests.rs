//! Properties of every program: long keys, deep nesting, all kernels.

use tamis_json::limits::Limits;
use tamis_json::scan::Scanner;

use super::Filter;
use crate::filter::compile::program::Program;
use crate::filter::costs::programs;
use crate::filter::options::CallOptions;
use crate::spec::rule_kind::{RuleGroup, RuleKind};
use crate::spec::{OnError, PatchOp, Spec, Whitespace};

/// A long key that matches nothing is not white space, and its value is dropped wherever the input is cut.
#[test]
fn long_keys_are_passed_where_white_space_is_kept() {
    let spec = Spec::new().root("object").select("a").whitespace(Whitespace::Keep);
    let program = Program::compile(&spec).unwrap();
    let options = CallOptions::new().with_limits(Limits::new().with_key(8));
    let document = br#"{"a": 1, "longer than eight"          :           2}"#;
    for first in 0..document.len() {
        for second in first..document.len() {
            let mut filter = Filter::new(program.with_options(&options), Vec::new());
            for chunk in [&document[..first], &document[first..second], &document[second..]] {
                filter.write(chunk).unwrap();
            }
            filter.end().unwrap();
            assert_eq!(filter.into_sink(), br#"{"a": 1}"#, "cut at {first} and {second}");
        }
    }
}

#[test]
fn depth_is_an_error_and_not_a_stack_overflow() {
    for (rules, spec) in programs() {
        let program = Program::compile(&spec).unwrap();
        for open in ["[", r#"{"a":"#] {
            let mut filter = Filter::new(&program, Vec::new());
            let error = filter.write(open.repeat(100_000).as_bytes()).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Limit, "{rules}");
            let deepest = 1024 * open.len() + open.len() - 1;
            let at = if open == "[" { 1024 } else { 1024 * open.len() };
            assert!(error.offset() == Some(at as u64), "{rules}: {error} {deepest}");
        }
    }
}

#[test]
fn every_kernel_filters_alike() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for name in ["github-list-repos.json", "github-list-repos.pretty.json", "wrapped-pages.json"] {
        let document = std::fs::read(corpus.join(name)).unwrap();
        for (rules, spec) in programs() {
            let program = Program::compile(&spec).unwrap();
            let mut expected = None;
            for (isa, scanner) in Scanner::present() {
                for chunk in [document.len(), 1000] {
                    let options = CallOptions::new().scan_with(scanner);
                    let mut filter = Filter::new(program.with_options(&options), Vec::new());
                    let written = document.chunks(chunk).try_for_each(|chunk| filter.write(chunk));
                    let ended =
                        written.and_then(|()| filter.end()).map_err(|error| error.to_string());
                    let said = (filter.sink().clone(), ended.map(|report| report.original_bytes));
                    let expected = expected.get_or_insert_with(|| said.clone());
                    assert!(*expected == said, "{name}, {rules}, {isa:?}, chunks of {chunk}");
                }
            }
        }
    }
}

/// A sink that needs no more output does not change how the rest of the input is read: not even while held input is
/// replayed, which takes several pieces here.
#[test]
fn a_closed_sink_is_no_error() {
    #[derive(Default)]
    struct ClosingSink {
        after: usize,
        bytes: usize,
    }
    impl tamis_json::sink::Sink for ClosingSink {
        fn write(&mut self, bytes: &[u8]) {
            self.bytes += bytes.len();
        }

        fn is_closed(&self) -> bool {
            self.bytes > self.after
        }
    }

    let items = r#"{"x":"long enough to fill more than one piece of a hold","l":[1,2]},"#;
    let list = format!("[{}", items.repeat(5000));
    let cases = [
        ("a hit", Spec::new().root("object").select("a"), [&list, r#"{"a":1}"#, r#",{"a":2}]"#]),
        ("a miss", Spec::new().root("object").select("zz"), [&list, r#"{"a":1}"#, r#",{"a":2}]"#]),
        ("auto", Spec::new().exclude("x"), [&format!(r#"{{"z":{list}1]"#), r#","items":[1"#, "]}"]),
        (
            "patches",
            Spec::new().patch(PatchOp::remove("/b")).on_error(OnError::Raw),
            [&format!(r#"{{"z":{list}1]"#), r#","b":1"#, "}"],
        ),
    ];
    for (name, spec, chunks) in cases {
        let program = Program::compile(&spec).unwrap();
        for after in [0, 10, usize::MAX] {
            let mut filter = Filter::new(&program, ClosingSink { after, bytes: 0 });
            let fed = chunks.iter().try_for_each(|chunk| filter.write(chunk.as_bytes()));
            let ended = fed.and_then(|()| filter.end());
            assert!(ended.is_ok(), "{name}, closed after {after}: {ended:?}");
        }
    }
}

/// The report of a run that fails before the first hit counts the items that were read, whichever stage failed.
#[test]
fn items_before_an_error_are_counted() {
    for spec in [Spec::new().select("zz"), Spec::new().retain("/0").select("zz")] {
        let program = Program::compile(&spec).unwrap();
        let mut filter = Filter::new(&program, Vec::new());
        filter.write(br#"[{"a":1},{"b":2}"#).unwrap();
        filter.end().unwrap_err();
        let report = filter.report();
        assert!(report.items_seen.is_some_and(|seen| seen > 0), "{spec:?}: {report:?}");
        assert_eq!(report.partial_miss, ["zz"], "{spec:?}");
    }
}

/// Returns a spec with one rule, as JSON. Empty for settings, which do nothing on their own, and for what only formats of
/// manifests set. A new rule does not compile before it has a spec here.
fn only_rule(rule: RuleKind) -> &'static str {
    match rule {
        RuleKind::Extract => r#"{"extract": "/a"}"#,
        RuleKind::JsonStrings => r#"{"json_strings": [{"at": "/a", "apply": {"exclude": ["b"]}}]}"#,
        RuleKind::Retain => r#"{"retain": ["/a"]}"#,
        RuleKind::Patches => r#"{"patches": [{"op": "remove", "path": "/a"}]}"#,
        RuleKind::When => {
            r#"{"when": [{"test": {"path": "/a", "value": 1}, "exclude": ["b"]}], "otherwise": "drop"}"#
        }
        RuleKind::Siblings => r#"{"siblings": "drop", "root": "items"}"#,
        RuleKind::Where => r#"{"where": [{"path": "a", "equals": 1}]}"#,
        RuleKind::MaxItems => r#"{"max_items": 1}"#,
        RuleKind::Select => r#"{"select": ["a"]}"#,
        RuleKind::Exclude => r#"{"exclude": ["a"]}"#,
        RuleKind::Omit => r#"{"omit": ["a"]}"#,
        RuleKind::DropNulls => r#"{"drop_nulls": true}"#,
        RuleKind::DropEmpty => r#"{"drop_empty": true}"#,
        RuleKind::TextFilter => r#"{"text_filter": {"strip_ansi": true}}"#,
        RuleKind::OmitBase64Over => r#"{"omit_base64_over": 99}"#,
        RuleKind::Redact => r#"{"redact": "secrets"}"#,
        RuleKind::Budget => r#"{"budget": {"bytes": 99}}"#,
        RuleKind::Compact => r#"{"compact": {"item": "{{.a}}"}}"#,
        RuleKind::Factor => r#"{"factor": true}"#,
        RuleKind::Encode => r#"{"encode": "toon"}"#,
        RuleKind::Content => r#"{"content": {"max_tokens": 9}}"#,
        // A shape decides whether other rules apply.
        RuleKind::Requires
        | RuleKind::OnKind
        | RuleKind::LenientRemove
        | RuleKind::OnTestFailure
        | RuleKind::Test
        | RuleKind::Otherwise
        | RuleKind::Root
        | RuleKind::StopEarly
        | RuleKind::MinItems
        | RuleKind::Omitted
        | RuleKind::OnOver
        | RuleKind::Prefer
        | RuleKind::OnError
        | RuleKind::Validation
        | RuleKind::Whitespace
        | RuleKind::AllowRaw
        | RuleKind::DuplicateKeys
        | RuleKind::Envelope
        | RuleKind::Foreign
        | RuleKind::Wrap
        | RuleKind::Pass => "",
    }
}

/// A rule with a row in the table that nothing runs would let through what it should remove.
#[test]
fn every_rule_has_a_stage() {
    let explained = |json: &str| {
        let spec: Spec = serde_json::from_str(json).unwrap();
        Program::compile(&spec).map(|program| program.explain(&CallOptions::new()).to_string())
    };
    let nothing = explained("{}").unwrap();
    let mut run = 0;
    for rule in RuleKind::ALL {
        let json = only_rule(*rule);
        let is_setting = rule.traits().group == RuleGroup::Setting || *rule == RuleKind::Wrap;
        assert_eq!(json.is_empty(), is_setting, "{rule:?}");
        match explained(if json.is_empty() { continue } else { json }) {
            Ok(text) => {
                assert_ne!(text, nothing, "{rule:?}");
                run += 1;
            }
            Err(error) => assert!(error.to_string().contains("the feature"), "{rule:?}: {error}"),
        }
    }
    assert!(run >= 16, "{run}");
}
