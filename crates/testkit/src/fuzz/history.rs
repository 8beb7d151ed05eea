//! `history`: pruning of chats.
//!
//! The result does not depend on the chunks, and a second run changes nothing. The output is JSON of the same shape,
//! and only results differ; ids keep their pairs. For histories of known shape, with protected tools, the result is
//! that of the model.

use serde_json::Value;
use tamis_chat::{PruneProgram, PruneSpec};

use super::input::{Choose, Input};
use crate::history::{drivers, generate, model, shapeless};
use crate::prng::Choices;

/// Members that hold results. Any value below these may differ.
const RESULTS: [&str; 8] = [
    "content",
    "output",
    "response",
    "text",
    "value",
    "result",
    "experimental_content",
    "attachments",
];
/// The path of the mark of a removed result.
const MARKS: [&str; 3] = ["metadata", "time", "compacted"];

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let raw = input.rest;
    let mut rest = Choose::new(raw);
    let choices = &mut input.choices;
    match choices.below(4) {
        0 | 1 => {
            let rules = generate::rules(choices);
            let history = generate::history(&mut rest);
            let output = pruned(choices, &generate::prune_of(&rules), history.as_bytes());
            let expected = model::prune(&history, &rules);
            let output = output.map(|output| String::from_utf8_lossy(&output).into_owned());
            assert_eq!(output, Some(expected), "{rules:?}, {history}");
        }
        2 => {
            let prune = shapeless::prune(choices);
            pruned(choices, &prune, shapeless::history(&mut rest).as_bytes());
        }
        _ => {
            let mut prune = generate::prune_of(&generate::rules(choices));
            if choices.one_in(4) {
                prune = prune.min_gain(choices.below(110) as u64);
            }
            if choices.one_in(4) {
                prune = prune.count_tokens(true);
            }
            pruned(choices, &prune, raw);
        }
    }
}

/// Prunes through every driver and returns the output, if the input is a history.
fn pruned(choices: &mut Choose<'_>, prune: &PruneSpec, history: &[u8]) -> Option<Vec<u8>> {
    let program = PruneProgram::compile(prune).expect("the rules compile");
    let about = || format!("{prune:?} on {}", String::from_utf8_lossy(history));
    let whole = drivers::chunks(&program, [history]);
    let slice = drivers::slice(&program, history);
    assert_eq!(slice.output, whole.output, "slice: {}", about());
    assert!(slice.report.is_none() || slice.report == whole.report, "slice: {}", about());
    let cuts = choices.cuts(history.len());
    assert_eq!(cut(&program, history, cuts), whole, "split: {}", about());
    let bytes = choices.byte_by_byte(history.len());
    assert_eq!(cut(&program, history, bytes), whole, "bytes: {}", about());
    let output = whole.output.ok()?;
    let report = whole.report?;
    let saved = history.len() as i64 - output.len() as i64;
    assert_eq!(report["bytes_saved"].as_i64(), Some(saved), "{}", about());

    let again = drivers::slice(&program, &output);
    assert_eq!(again.output.as_ref(), Ok(&output), "a second run: {}", about());
    assert_eq!(again.report.map(|report| report["results_pruned"].clone()), Some(0.into()));
    if output == history {
        return Some(output);
    }
    // Texts that serde_json cannot read (lone surrogates, numbers beyond a float) are compared by the other drivers.
    if let Ok(before) = serde_json::from_slice::<Value>(history) {
        let after: Value = serde_json::from_slice(&output).unwrap_or_else(|error| {
            panic!("{error}: {}\n{}", String::from_utf8_lossy(&output), about())
        });
        assert!(is_alike(&before, &after), "{}\n{}", String::from_utf8_lossy(&output), about());
    }
    Some(output)
}

fn cut(
    program: &PruneProgram,
    history: &[u8],
    cuts: impl IntoIterator<Item = usize>,
) -> drivers::Run {
    let mut begin = 0;
    let chunk = |end| &history[std::mem::replace(&mut begin, end)..end];
    drivers::chunks(program, cuts.into_iter().chain([history.len()]).map(chunk))
}

/// Returns whether a mark has a value that means "not pruned".
fn says_no(mark: &Value) -> bool {
    match mark {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => {
            text.is_empty() || text == "null" || text == "false" || text.parse() == Ok(0.0)
        }
        _ => false,
    }
}

/// Whether the values are equal except for results and the marks of their removal.
fn is_alike(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| is_alike(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            let kept = one.iter().all(|(name, value)| {
                two.get(name).is_some_and(|other| {
                    // A member with such a name may also hold messages. Then both are lists of the same length.
                    is_alike(value, other)
                        || RESULTS.contains(&name.as_str())
                        || (says_no(value) && MARKS.contains(&name.as_str()))
                })
            });
            let new = two.keys().filter(|name| !one.contains_key(*name));
            kept && new.into_iter().all(|name| MARKS.contains(&name.as_str()))
        }
        (one, two) => one == two,
    }
}
