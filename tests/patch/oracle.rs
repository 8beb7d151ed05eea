//! The json-patch crate over random documents and sequences.
//!
//! Not compared: the order of members (its objects have none of their own), and tests of numbers in other spellings, which it
//! calls different; documents have each name once.

use json_patch::Patch;
use serde_json::{Map, Value, json};
use tamis::{ErrorKind, Operation, Program, Spec, filter_slice};

use crate::prng::Prng;

const NAMES: [&str; 6] = ["a", "b", "c", "d/e", "~", "0"];

fn value(random: &mut Prng, depth: usize) -> Value {
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

/// A pointer that often leads somewhere.
fn pointer(random: &mut Prng, document: &Value) -> String {
    let mut pointer = String::new();
    let mut at = Some(document);
    while !random.one_in(3) {
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

fn operation(random: &mut Prng, document: &Value) -> Value {
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

/// What is refused when it is compiled, for it fails on every document; and to move the document to where it is, which does
/// nothing here and fails there.
fn is_left_out(operation: &Value) -> bool {
    let text = |name: &str| operation[name].as_str().unwrap_or_default();
    match text("op") {
        "remove" => text("path").is_empty(),
        "move" if text("from").is_empty() => true,
        "move" => text("path").starts_with(&format!("{}/", text("from"))),
        _ => false,
    }
}

#[test]
fn as_the_json_patch_crate() {
    let mut random = Prng::new(0x6902);
    let (mut fine, mut failed, mut stopped) = (0, 0, 0);
    for round in 0..20_000 {
        let document = value(&mut random, 4);
        let mut oracle = document.clone();
        let mut operations = Vec::new();
        let mut outcome = Ok(None);
        for number in 0..1 + random.below(5) {
            let operation = operation(&mut random, &oracle);
            if is_left_out(&operation) {
                continue;
            }
            operations.push(operation.clone());
            if outcome != Ok(None) {
                continue;
            }
            let patch: Patch = serde_json::from_value(json!([operation])).unwrap();
            // It applies a sequence or none of it; one at a time, it can stop at a test as we do.
            outcome = match json_patch::patch(&mut oracle, &patch) {
                Ok(()) => Ok(None),
                Err(_) if operation["op"] == "test" => Ok(Some(number)),
                Err(_) => Err(()),
            };
        }
        let about = format!("round {round}: {document} {}", Value::from(operations.clone()));
        let patch = Operation::parse_patch(&Value::from(operations).to_string()).unwrap();
        let spec = patch.into_iter().fold(Spec::new(), Spec::patch);
        let program = Program::compile(&spec).unwrap_or_else(|error| panic!("{about}: {error}"));
        match (filter_slice(&program, document.to_string().as_bytes()), outcome) {
            (Ok((output, report)), Ok(stop)) => {
                let output: Value = serde_json::from_slice(&output).unwrap();
                assert_eq!(output, oracle, "{about}");
                assert_eq!(report.patch_stopped_at.is_some(), stop.is_some(), "{about}");
                fine += 1;
                stopped += usize::from(stop.is_some());
            }
            (Err(error), Err(())) => {
                assert_eq!(error.kind(), ErrorKind::Patch, "{about}");
                failed += 1;
            }
            (ours, theirs) => panic!("{about}: {ours:?} and {theirs:?}"),
        }
    }
    assert!(fine > 5_000 && failed > 5_000 && stopped > 500, "{fine} {failed} {stopped}");
}
