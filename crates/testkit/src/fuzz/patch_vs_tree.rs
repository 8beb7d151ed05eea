//! `patch_vs_tree`: a sequence of RFC 6902 that streams does what it does on a tree, and what the json-patch crate
//! does.
//!
//! The tree is had by one more operation that only a tree can do, and that does nothing: the document is copied to
//! where it is. Where the crate does otherwise it is not asked:
//!
//! | | the crate | here |
//! |---|---|---|
//! | `test` of numbers: 1 and 1.0, 2^53 and 2^53 + 1 | by type, and as 64-bit floats | by value, exactly |
//! | members of one name | the last counts, the others are lost | SPEC §8 |
//! | lone surrogates, numbers past a float, depth past 128 | no document | unchanged |
//! | `move` of a place to itself at the document | refused | nothing is done |
//! | a test that does not hold | no operation is applied | earlier operations are kept |
//! | order of members | none | unchanged, new ones last |

use serde_json::Value as Plain;
use tamis::spec::{OnTestFailure, PatchOp};
use tamis::{Error, ErrorKind, ExecutionMode, Program, Spec, filter_slice};

use super::input::{Choose, Input, node};
use super::programs;
use crate::drivers::{Run, Subject, same};
use crate::model::dom::{Node, Value};
use crate::prng::Choices;

use crate::patch::{self as patches, Theirs, is_left_out};

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    if input.choices.one_in(3) { generated(&mut input) } else { any(&mut input) }
}

/// Documents and sequences that the crate reads as we do.
fn generated(input: &mut Input<'_>) {
    let mut rest = Choose::new(input.rest);
    let document = patches::value(&mut rest, 4);
    let stops = rest.one_in(3);
    let mut theirs = Theirs::new(document.clone(), stops);
    let mut operations = Vec::new();
    for _ in 0..1 + rest.below(5) {
        let operation = patches::operation(&mut rest, &theirs.document);
        if !is_left_out(&operation) {
            theirs.apply(&operation);
            operations.push(operation);
        }
    }
    let operations = Plain::from(operations).to_string();
    let patch = PatchOp::parse_patch(&operations).expect("it is a patch");
    let mut spec = patch.into_iter().fold(Spec::new(), Spec::patch);
    if stops {
        spec = spec.on_test_failure(OnTestFailure::Stop);
    }
    let program = programs::compile(&spec).expect("the sequence compiles");
    let document = document.to_string();
    let ours = filter_slice(&program, document.as_bytes()).map_err(Error::from);
    theirs.compare(&format!("{document} {operations}"), &ours);
    both(&mut input.choices, &spec, document.as_bytes(), true);
}

/// Documents of any kind, perhaps pruned by `retain` before.
fn any(input: &mut Input<'_>) {
    let document = input.document();
    let tree = node(&document);
    let choices = &mut input.choices;
    let guide = tree.clone().unwrap_or_else(|| Node::parse(r#"{"a":[{"b":1}],"b":{"a":2}}"#));
    let mut spec = Spec::new();
    let mut operations = Vec::new();
    let mut reads_alike = true;
    let streams = choices.one_in(2);
    for _ in 0..1 + choices.below(6) {
        let operation = programs::operation(choices, &guide);
        // A number that JSON values of other libraries have no exact place for is not written as one.
        let text = serde_json::to_string(&operation).unwrap_or_default();
        let written: Plain = serde_json::from_str(&text).unwrap_or_default();
        if !streams || matches!(written["op"].as_str(), Some("add" | "remove" | "replace")) {
            spec = spec.patch(operation);
            operations.push(written);
            reads_alike &= !text.is_empty() && is_plain(&Node::parse(&text));
        }
    }
    let lenient = choices.one_in(3);
    let stops = choices.one_in(3);
    if stops {
        spec = spec.on_test_failure(OnTestFailure::Stop);
    }
    let retains = choices.one_in(4);
    spec = spec.lenient_remove(lenient);
    if retains {
        spec = spec.retain(crate::model::generate::pointer_into(choices, &guide));
    }
    let Some(program) = both(choices, &spec, &document, tree.is_some()) else { return };
    let Some(tree) = tree.filter(|tree| !lenient && !retains && is_plain(tree)) else { return };
    if !reads_alike || operations.iter().any(is_left_out) {
        return;
    }
    let Ok(value) = serde_json::from_str(&tree.minified()) else { return };
    let mut theirs = Theirs::new(value, stops);
    operations.iter().for_each(|operation| theirs.apply(operation));
    let about = format!("{} {operations:?}", String::from_utf8_lossy(&document));
    theirs.compare(&about, &filter_slice(&program, &document).map_err(Error::from));
}

/// As it is and as a tree, at every place where chunks may end. The program, if it is one.
fn both(choices: &mut Choose<'_>, spec: &Spec, document: &[u8], valid: bool) -> Option<Program> {
    let program = programs::compile(spec)?;
    let on_tree = spec.clone().patch(PatchOp::copy_from("", ""));
    let on_tree = programs::compile(&on_tree).expect("one more operation compiles");
    let plan = on_tree.plan();
    assert!(plan.iter().any(|step| step.mode() == ExecutionMode::Tree), "{plan:?}");
    let options = crate::call_options();
    let subject = Subject { program: &program, options: &options, document };
    let whole = subject.push([]);
    let cuts = choices.cuts(document.len());
    let split = subject.push(cuts.clone());
    let about = || format!("{spec:?} on {}", String::from_utf8_lossy(document));
    let check = |result: Result<(), String>| {
        result.unwrap_or_else(|why| panic!("{why}\n  {}", about()));
    };
    check(same(&format!("cuts at {cuts:?}"), &whole, &split, true));
    check(same("slice", &whole, &subject.slice(), false));
    let tree = Subject { program: &on_tree, ..subject }.push([]);
    if !valid {
        // Which of two errors comes first depends on how far a document is read before it is patched.
        assert_eq!(whole.fault.is_some(), tree.fault.is_some(), "{}", about());
        return Some(program);
    }
    match (&whole.fault, &tree.fault) {
        (None, None) => {
            let text = |run: &Run| {
                String::from_utf8_lossy(run.output.as_deref().unwrap_or_default()).into_owned()
            };
            assert_eq!(text(&whole), text(&tree), "{}", about());
            let (Some(one), Some(two)) = (&whole.report, &tree.report) else { return None };
            let stopped = one.patch_stopped_at.is_some();
            let applied = one.patches_applied.unwrap_or(0) + u64::from(!stopped);
            assert_eq!(Some(applied), two.patches_applied, "{}", about());
            assert_eq!(one.patch_stopped_at, two.patch_stopped_at, "{}", about());
            assert_eq!(one.patches_without_effect, two.patches_without_effect, "{}", about());
        }
        (Some(one), Some(two)) => {
            assert_eq!((one.kind, &one.message), (two.kind, &two.message), "{}", about());
            let emitted = whole.output.as_ref().is_some_and(|output| !output.is_empty());
            assert!(one.kind != ErrorKind::Patch || !emitted, "emitted: {}", about());
        }
        (one, two) => panic!("{one:?}, of a tree {two:?}: {}", about()),
    }
    Some(program)
}

/// Whether the crate reads a document as we do: no name twice, whole numbers that a float has.
fn is_plain(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(text) => match text.as_bytes().first() {
            Some(b'-' | b'0'..=b'9') => {
                let number = text.parse::<i64>().ok();
                number.is_some_and(|number| {
                    number.to_string() == *text && number.unsigned_abs() < 1 << 53
                })
            }
            Some(b'"') => crate::model::dom::unescape(text).is_some(),
            _ => true,
        },
        Value::Array(elements) => elements.iter().all(is_plain),
        Value::Object(members) => {
            let mut names: Vec<_> = members.iter().map(|member| &member.name).collect();
            names.sort_unstable();
            names.windows(2).all(|pair| pair[0] != pair[1])
                && members.iter().all(|member| member.name.is_some() && is_plain(&member.node))
        }
    }
}
