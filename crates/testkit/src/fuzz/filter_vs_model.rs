//! `filter_vs_model`: what streams is what a model makes of the tree: output, report, kind of error (`tests/model/`).
//!
//! The model's tree keeps what serde_json's does not: spellings of numbers, strings and names, duplicates and their order.

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
    let seed = input.choices.next();
    if let Err(why) = check::check(&rules, &text, seed) {
        panic!("{why}\n  document: {text}\n  spec: {:?}", rules.spec());
    }
}
