//! Properties of every program: long keys, deep nesting, all kernels.

use super::Filter;
use crate::filter::compile::program::Program;
use crate::filter::costs::programs;
use crate::filter::options::CallOptions;
use crate::limits::Limits;
use crate::scan::tests::scanners;
use crate::spec::{Spec, Whitespace};

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
            for (isa, scanner) in scanners() {
                for chunk in [document.len(), 1000] {
                    let options = CallOptions::new().scan_with(scanner);
                    let mut filter = Filter::new(program.with_options(&options), Vec::new());
                    let written = document.chunks(chunk).try_for_each(|chunk| filter.write(chunk));
                    let ended =
                        written.and_then(|()| filter.end()).map_err(|error| error.to_string());
                    let said =
                        (filter.sink().clone(), ended.map(|report| report.filter_original_bytes));
                    let expected = expected.get_or_insert_with(|| said.clone());
                    assert!(*expected == said, "{name}, {rules}, {isa:?}, chunks of {chunk}");
                }
            }
        }
    }
}
