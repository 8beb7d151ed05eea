//! `json_verdict`: which bytes are JSON, to tamis, to serde_json, to struson, and to a grammar of RFC 8259 that says
//! where a text stops being one.
//!
//! Where the others decide otherwise, they do so for a reason of `DIFFERENCES`, which is looked for in the text.

use serde_json::Value;
use serde_json::value::RawValue;
use struson::reader::{JsonReader, JsonStreamReader, ReaderSettings};
use tamis::spec::Validation;
use tamis::{ErrorKind, Program, Spec};

use super::input::{Input, depth};
use crate::drivers::{Run, Subject, same};
use crate::model::complete::{completion, longest_beginning};
use crate::prng::Choices;

/// Containers that may be open at once, by default.
const DEPTH: usize = 1024;
/// A byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A parser that decides otherwise, for what, and how: `README.md` has the table.
type Difference = (&'static str, &'static str, fn(&[u8]) -> bool);

/// Where others refuse what tamis accepts.
const DIFFERENCES: [Difference; 5] = [
    ("struson", "a byte order mark", |text| text.starts_with(MARK)),
    ("struson", "a lone surrogate", lone_surrogate),
    ("serde_json::Value", "a lone surrogate", lone_surrogate),
    ("serde_json::Value", "a number that a float does not hold", big_number),
    ("serde_json::Value", "more than 127 containers inside one another", |text| depth(text) > 127),
];

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let document = input.document();
    let cuts = input.choices.cuts(document.len());
    let none = judge(&Spec::new(), &document, &cuts);
    // Dropped and searched values are checked as strictly as kept ones.
    let spec = match input.choices.below(5) {
        0 => Spec::new().retain("/nowhere"),
        1 => Spec::new().select("a").select("b.c").select("d[].e"),
        2 => Spec::new().exclude("a").drop_nulls(true).drop_empty(true).root("object"),
        3 => Spec::new().max_items(1),
        _ => Spec::new().retain("/a/b").retain("/items/a"),
    };
    let ruled = judge(&spec, &document, &cuts);
    assert_eq!(none.fault, ruled.fault, "rules make a difference: {spec:?}");
    structure(&spec, &document, &ruled);
    match &none.fault {
        None => accepted(&document, none.output.as_deref().unwrap_or_default()),
        Some(fault) if fault.kind == ErrorKind::Limit => assert!(depth(&document) > DEPTH),
        Some(_) => refused(&document, &none),
    }
}

fn judge(spec: &Spec, document: &[u8], cuts: &[usize]) -> Run {
    let program = Program::compile(spec).expect("the spec compiles");
    let options = crate::call_options();
    let subject = Subject { program: &program, options: &options, document };
    let whole = subject.push([]);
    let split = subject.push(cuts.iter().copied());
    same(&format!("cuts at {cuts:?}"), &whole, &split, true)
        .and_then(|()| same("a slice", &whole, &subject.slice(), false))
        .unwrap_or_else(|why| panic!("{why}\n  {spec:?}"));
    whole
}

/// All others accept it, but for the differences, and the output means what the input meant.
fn accepted(document: &[u8], output: &[u8]) {
    let text = document.strip_prefix(MARK).unwrap_or(document);
    let end = completion(text);
    assert_eq!(end.as_deref(), Some(&b""[..]), "accepted what is no document");
    let raw = serde_json::from_slice::<&RawValue>(text);
    assert!(raw.is_ok(), "accepted what serde_json refuses: {raw:?}");
    assert!(serde_json::from_slice::<&RawValue>(output).is_ok(), "the output is no document");

    let known = |parser: &str| {
        DIFFERENCES.iter().any(|(name, _, holds)| *name == parser && holds(document))
    };
    let struson = struson(document);
    assert!(struson.is_ok() || known("struson"), "struson refuses: {struson:?}");
    match serde_json::from_slice::<Value>(text) {
        Ok(value) => {
            let after = serde_json::from_slice::<Value>(output).ok();
            assert_eq!(after, Some(value), "the value changed");
        }
        Err(error) => assert!(known("serde_json::Value"), "serde_json's Value refuses: {error}"),
    }
    let again = judge(&Spec::new(), output, &[]);
    assert_eq!(again.output.as_deref(), Some(output), "minified again, it changes");
}

/// The others refuse it as well, and its place is the first byte with which no document goes on.
fn refused(document: &[u8], run: &Run) {
    let fault = run.fault.as_ref().expect("it was refused");
    let text = document.strip_prefix(MARK).unwrap_or(document);
    let end = completion(text);
    assert!(end.is_none_or(|end| !end.is_empty()), "refused what is a document: {fault:?}");
    assert!(serde_json::from_slice::<&RawValue>(text).is_err(), "serde_json accepts: {fault:?}");
    assert!(struson(text).is_err(), "struson accepts: {fault:?}");
    if document.starts_with(&MARK[..1]) {
        // The grammar knows no mark, let alone half of one.
        return;
    }
    let good = longest_beginning(document);
    assert_eq!(fault.offset, Some(good as u64), "the place of {fault:?}");
    let at_end = fault.kind == ErrorKind::UnexpectedEnd;
    let inside = matches!(fault.kind, ErrorKind::Syntax | ErrorKind::Encoding);
    let whole = good == document.len();
    assert!(if whole { at_end } else { inside }, "the kind of {fault:?}");
}

/// `validation: structure` accepts whatever is accepted in full, and emits the same.
fn structure(spec: &Spec, document: &[u8], full: &Run) {
    let run = judge(&spec.clone().validation(Validation::Structure), document, &[]);
    match (&full.fault, &run.fault) {
        (None, _) => assert_eq!((run.fault, run.output), (None, full.output.clone())),
        (Some(one), Some(two)) => assert!(two.offset >= one.offset, "stricter: {two:?}, {one:?}"),
        (Some(_), None) => {
            let output = run.output.unwrap_or_default();
            assert!(serde_json::from_slice::<&RawValue>(&output).is_ok(), "no document comes out");
        }
    }
}

fn struson(text: &[u8]) -> Result<(), String> {
    let settings = ReaderSettings {
        restrict_number_values: false,
        max_nesting_depth: Some(DEPTH as u32),
        ..ReaderSettings::default()
    };
    let mut reader = JsonStreamReader::new_custom(text, settings);
    reader.skip_value().map_err(|error| error.to_string())?;
    reader.consume_trailing_whitespace().map_err(|error| error.to_string())
}

/// Whether half of a surrogate pair stands alone in an escape of a document that is valid.
fn lone_surrogate(text: &[u8]) -> bool {
    let mut at = 0;
    let mut high_before = None;
    while let Some(backslash) = text[at..].iter().position(|byte| *byte == b'\\') {
        at += backslash;
        if text.get(at + 1) != Some(&b'u') {
            at += 2;
            continue;
        }
        let digits = text.get(at + 2..at + 6).and_then(|digits| std::str::from_utf8(digits).ok());
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()).unwrap_or(0);
        let follows = high_before.take() == Some(at);
        match unit {
            0xd800..=0xdbff if text.get(at + 6) == Some(&b'\\') && !follows => {
                high_before = Some(at + 6);
            }
            0xdc00..=0xdfff if follows => {}
            0xd800..=0xdfff => return true,
            _ if follows => return true,
            _ => {}
        }
        at += 6;
        // Only a `\u` escape can be the second half.
        if high_before == Some(at) && text.get(at + 1) != Some(&b'u') {
            return true;
        }
    }
    false
}

/// Whether a number of a document that is valid is past what a float holds.
fn big_number(text: &[u8]) -> bool {
    let (mut string, mut escaped) = (false, false);
    let outside = |byte: &u8| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if string => escaped = true,
            b'"' => string = !string,
            _ => return if string { b' ' } else { *byte },
        }
        b' '
    };
    let outside: Vec<u8> = text.iter().map(outside).collect();
    let words =
        outside.split(|byte| !matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    let number = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<f64>().ok();
    words.into_iter().filter_map(number).any(f64::is_infinite)
}
