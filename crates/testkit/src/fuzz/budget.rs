//! `budget`: the rest of a text fits, is the longest prefix of items or the largest form that fits, and is JSON, for every
//! budget (SPEC §6). The reference is the model of the tests (`crates/testkit/src/tail/budget.rs`).

use serde_json::value::RawValue;
use tamis::spec::{Budget, Omitted};
use tamis::{Program, Spec, filter_slice};

use super::input::{Choose, Input, node};
use crate::drivers::{Effort, Subject, agree};
use crate::prng::Choices;
use crate::tail::budget::{Asked, Ground, Tries, check};
use crate::tail::generate::generate;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let choices = &mut input.choices;
    if choices.one_in(3) || node(input.rest).is_none() {
        let generated = generate(&mut Choose::new(input.rest));
        let document = generated.document.as_bytes();
        budgets(choices, generated.spec, document, Some(generated.way.as_deref()));
        return;
    }
    let spec = match choices.below(6) {
        0 => Spec::new(),
        1 => Spec::new().root("object"),
        2 => Spec::new().root("first"),
        3 => Spec::new().exclude("a").root("items"),
        4 => Spec::new().max_items(1 + choices.below(4) as u64),
        _ => Spec::new().retain("/a").retain("/items").drop_nulls(true),
    };
    budgets(choices, spec, input.rest, None);
}

/// `way` is the path of the payload in the output of the rules, or `None` for the one that the report names.
fn budgets(choices: &mut Choose<'_>, spec: Spec, document: &[u8], way: Option<Option<&[String]>>) {
    let program = Program::compile(&spec).expect("the spec compiles");
    // A document that fails without a budget tests nothing.
    let Ok((filtered, _)) = filter_slice(&program, document) else { return };
    let unlimited = spec.clone().budget(Budget::Bytes(u64::MAX));
    let unlimited = Program::compile(&unlimited).expect("the spec compiles");
    let (output, report) = filter_slice(&unlimited, document).expect("it passed without a budget");
    if output != filtered {
        // A budget needs a payload with a unique name. The model begins after that check.
        assert!(report.duplicates_dropped > 0, "a budget that is never reached changes {spec:?}");
        return;
    }
    let size = filtered.len();
    let ground = Ground::new(spec.clone(), document);
    let reported: Option<Vec<String>> =
        ground.report.root.as_ref().map(|root| steps(root.as_str()));
    let asked = Asked {
        limit: 1 + choices.below(size + 2),
        min_items: choices.pick(&[0, 1, 1, 3]),
        omitted: choices.pick(&[None, None, Some(Omitted::Silent), Some(Omitted::Mark)]),
    };
    let tries =
        Tries { asked, seed: choices.next_u64(), effort: Effort::Few, spill: choices.one_in(8) };
    // Counting tokens takes most of the time.
    if choices.one_in(3) {
        tokens(choices, spec, document, size);
    } else {
        check(&ground, way.unwrap_or(reported.as_deref()), tries);
    }
}

/// The path of a payload, from a JSON Pointer.
fn steps(pointer: &str) -> Vec<String> {
    let unescape = |token: &str| token.replace("~1", "/").replace("~0", "~");
    pointer.split('/').skip(1).map(unescape).collect()
}

/// Tokens have no model. The output is JSON, is only longer in bytes by a mark, and does not depend on the chunks. The limit is
/// that of the sum of pieces. An estimate for the whole may differ, but is not a multiple of it.
fn tokens(choices: &mut Choose<'_>, spec: Spec, document: &[u8], size: usize) {
    // The longest mark of a document of this size. It may have more bytes than what it replaces, but fewer tokens.
    const MARK: usize = r#","_omitted123456":{"items":1000,"of":1000}"#.len();
    let limit = 1 + choices.below(size / 2 + 2) as u64;
    let spec = spec.budget(Budget::Tokens(limit)).min_items(choices.below(3) as u64);
    let program = Program::compile(&spec).expect("the spec compiles");
    let options = crate::call_options();
    let subject = Subject { program: &program, options: &options, document };
    let run = agree(subject, choices.next_u64(), Effort::Few)
        .unwrap_or_else(|why| panic!("{why}\n  {spec:?}"));
    assert_eq!(run.fault, None, "{spec:?}");
    let output = run.output.unwrap_or_default();
    assert!(serde_json::from_slice::<&RawValue>(&output).is_ok(), "no JSON text");
    let report = run.report.unwrap_or_default();
    let fits = report.tokens_result.is_none_or(|tokens| tokens <= 2 * limit + 16);
    assert!(
        output.len() <= size + MARK && (fits || report.budget_exceeded),
        "the output may have {size} bytes and a mark, and {} tokens unless it says `budget_exceeded`: {}\n  {}\n  {spec:?}",
        2 * limit + 16,
        document.escape_ascii(),
        output.escape_ascii()
    );
}
