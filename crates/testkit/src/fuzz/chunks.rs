//! `chunks`: the result does not depend on the chunks (SPEC §2.1), for programs of every kind, under any limits.
//!
//! The output, the error, the bytes before it and the report are equal, except `plan` and `held_peak_bytes`. This includes runs
//! over a slice, which may be read twice instead of held.

use serde_json::value::RawValue;
use tamis::ErrorKind;

use super::input::{Input, node};
use super::programs;
use crate::drivers::{Run, Subject, same};
use crate::model::dom::Node;

/// Documents up to this length are cut at every offset.
const EVERY_SPLIT: usize = 24;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let document = input.document();
    let guide = node(&document).unwrap_or_else(|| Node::parse("{\"a\":[{\"b\":1}]}"));
    let spec = programs::spec(&mut input.choices, &guide);
    let Some(program) = programs::compile(&spec) else { return };
    let options = programs::options(&mut input.choices);
    let cuts = input.choices.cuts(document.len());

    let subject = Subject { program: &program, options: &options, document: &document };
    let whole = subject.push([]);
    let check = |driver: &str, run: &Run, emitted: bool| {
        same(driver, &whole, run, emitted)
            .unwrap_or_else(|why| panic!("{why}\n  {}\n  {spec:?}", document.escape_ascii()));
    };
    check(&format!("cuts at {cuts:?}"), &subject.push(cuts), true);
    let bytes = input.choices.byte_by_byte(document.len());
    check(&format!("one-byte chunks at {bytes:?}"), &subject.push(bytes), true);
    if document.len() <= EVERY_SPLIT {
        for cut in 1..document.len() {
            check(&format!("split at {cut}"), &subject.push([cut]), true);
        }
    }
    let slice = subject.slice();
    // A slice is read twice instead of held, so the limits on held bytes do not apply to it, and others may.
    if !is_limited(&whole) && !is_limited(&slice) {
        check("slice", &slice, false);
    }
    if let (None, Some(output)) = (&whole.fault, &whole.output) {
        let valid = serde_json::from_slice::<&RawValue>(output).is_ok();
        // The main text of a page or a response is text, and so are encodings. Not every spec can be serialised.
        let fields = format!("{spec:?}");
        let encoded = fields.split("encode: ").skip(1).any(|value| !value.starts_with("Json"));
        let text = encoded || fields.contains("content: Some");
        assert!(valid || text, "no JSON text: {}\n  {spec:?}", String::from_utf8_lossy(output));
    }
}

fn is_limited(run: &Run) -> bool {
    run.fault.as_ref().is_some_and(|fault| fault.kind == ErrorKind::Limit)
}
