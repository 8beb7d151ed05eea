//! JSON Patch in comparison with the json-patch crate: generated documents and sequences, and the crate's result.
//!
//! The order of members is not compared, because the crate's objects have none. Tests of numbers in other spellings are not
//! compared, because the crate considers them different. Documents have no duplicate names.

use json_patch::Patch;
use serde_json::{Map, Value, json};
use tamis::{Error, ErrorKind, Report};

use crate::prng::Choices;

const NAMES: [&str; 6] = ["a", "b", "c", "d/e", "~", "0"];

/// A value without numbers that have other spellings.
pub fn value(random: &mut impl Choices, depth: usize) -> Value {
    match random.below(if depth == 0 { 4 } else { 7 }) {
        0 => json!(random.below(3)),
        1 => json!("x"),
        2 => json!(null),
        3 => json!(random.one_in(2)),
        4 => (0..random.below(4)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let members = (0..random.below(5))
                .map(|_| (random.pick(&NAMES).to_owned(), value(random, depth - 1)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

/// A pointer that often leads to a value of the document.
fn pointer(random: &mut impl Choices, document: &Value) -> String {
    let mut pointer = String::new();
    let mut at = Some(document);
    while random.below(3) > 0 {
        let step = match at {
            Some(Value::Object(members)) if !members.is_empty() && !random.one_in(5) => {
                let number = random.below(members.len());
                members.keys().nth(number).unwrap().clone()
            }
            Some(Value::Array(elements)) if !random.one_in(5) => {
                random.below(elements.len() + 1).to_string()
            }
            Some(Value::Array(_)) => "-".to_owned(),
            _ => random.pick(&NAMES).to_owned(),
        };
        at = match at {
            Some(Value::Array(elements)) => {
                step.parse().ok().and_then(|at: usize| elements.get(at))
            }
            Some(Value::Object(members)) => members.get(&step),
            _ => None,
        };
        pointer.push('/');
        pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
    }
    pointer
}

/// An operation that often can be applied to the document.
pub fn operation(random: &mut impl Choices, document: &Value) -> Value {
    let path = pointer(random, document);
    let other = pointer(random, document);
    match random.below(6) {
        0 => json!({"op": "add", "path": path, "value": value(random, 2)}),
        1 => json!({"op": "remove", "path": path}),
        2 => json!({"op": "replace", "path": path, "value": value(random, 2)}),
        3 => json!({"op": "move", "from": other, "path": path}),
        4 => json!({"op": "copy", "from": other, "path": path}),
        _ => {
            let there = document.pointer(&path).cloned().unwrap_or_default();
            let value = if random.one_in(3) { value(random, 1) } else { there };
            json!({"op": "test", "path": path, "value": value})
        }
    }
}

/// Whether an operation is left out: tamis refuses it when it is compiled, because it fails on every document; or it moves the
/// document to its own place, which has no effect in tamis and is an error in the crate.
pub fn is_left_out(operation: &Value) -> bool {
    let text = |name: &str| operation[name].as_str().unwrap_or_default();
    match text("op") {
        "remove" => text("path").is_empty(),
        "move" if text("from").is_empty() => true,
        "move" => text("path").starts_with(&format!("{}/", text("from"))),
        _ => false,
    }
}

/// The crate's result of a sequence: the document, and whether a test stopped the sequence or an operation failed.
///
/// The crate applies a whole sequence or none of it. It gets one operation at a time here, so that a test can stop it.
#[derive(Debug)]
pub struct Theirs {
    pub document: Value,
    pub end: End,
    /// Whether a failed test ends the sequence without an error.
    pub stops: bool,
}

/// How a sequence ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Fine,
    Stopped,
    Failed,
}

impl Theirs {
    pub fn new(document: Value, stops: bool) -> Self {
        Self { document, end: End::Fine, stops }
    }

    pub fn apply(&mut self, operation: &Value) {
        if self.end != End::Fine {
            return;
        }
        let patch: Patch = serde_json::from_value(json!([operation])).unwrap();
        self.end = match json_patch::patch(&mut self.document, &patch) {
            Ok(()) => End::Fine,
            Err(_) if self.stops && operation["op"] == "test" => End::Stopped,
            Err(_) => End::Failed,
        };
    }

    /// Compares the result with that of tamis.
    pub fn compare(&self, about: &str, ours: &Result<(Vec<u8>, Report), Error>) {
        match (ours, self.end) {
            (Ok((output, report)), End::Fine | End::Stopped) => {
                let output: Value = serde_json::from_slice(output).unwrap();
                assert_eq!(output, self.document, "{about}");
                assert_eq!(report.patch_stopped_at.is_some(), self.end == End::Stopped, "{about}");
            }
            (Err(error), End::Failed) => assert_eq!(error.kind(), ErrorKind::Patch, "{about}"),
            (ours, theirs) => panic!("{about}: {ours:?} and {theirs:?}"),
        }
    }
}
