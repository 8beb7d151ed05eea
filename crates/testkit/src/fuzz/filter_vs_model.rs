//! `filter_vs_model`: the output, the report and the kind of error are those of a model on trees (`crates/testkit/src/model`).
//!
//! The model's tree preserves what serde_json's does not: spellings of numbers, strings and names, duplicates and their order.

use serde_json::value::RawValue;

use super::input::{Input, node};
use crate::model::check;
use crate::model::dom::Node;
use crate::model::generate;
use crate::prng::Choices;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let text = match std::str::from_utf8(input.rest) {
        Ok(text) if !input.choices.one_in(3) && node(input.rest).is_some() => text.to_owned(),
        _ => input.valid(),
    };
    let tree = Node::parse(&text);
    let raw = serde_json::from_str::<&RawValue>(&text);
    assert!(raw.is_ok(), "the generator makes no JSON: {raw:?}: {text}");
    let rules = generate::rules(&mut input.choices, &tree);
    let seed = input.choices.next_u64();
    if let Err(why) = check::check(&rules, &text, seed) {
        panic!("{why}\n  document: {text}\n  spec: {:?}", rules.spec());
    }
}
