//! `html`: the main text of pages, responses and texts.
//!
//! Nothing panics. The output
//! - is text without controls, and the same for every split of the document;
//! - is not longer than a multiple of the document, nor than `max_tokens` and the mark;
//! - has something that a reader sees, unless the document is only white space. A document of controls becomes a notice.

use tamis::content::{Content, ContentFormat};
use tamis::{ErrorKind, Limits, Spec};

use super::input::{Choose, Input};
use super::programs;
use crate::content as parts;
use crate::drivers::{Run, Subject, same};
use crate::prng::Choices;

/// Longer documents take too long.
const LONGEST: usize = 64 << 10;
/// The maximum bytes of output per byte of the document: the indentation of a deeply nested list, and a marker.
const GROWTH: usize = 64;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let made = input.choices.one_in(2);
    let mut document = if made {
        parts::document(&mut Choose::new(input.rest)).into_bytes()
    } else {
        input.rest.to_vec()
    };
    document.truncate(LONGEST);
    let choices = &mut input.choices;
    let max = if choices.one_in(3) { 0 } else { 1 + choices.below(60) as u64 };
    let format = choices.pick(&[ContentFormat::Text, ContentFormat::Markdown]);
    let mut content = Content::new().max_tokens(max).format(format);
    let mut names = false;
    for name in ["title", "content", "items[0].text"] {
        if choices.one_in(4) {
            content = content.extract(name);
            names = true;
        }
    }
    let spec = Spec::new().content(content);
    let program = programs::compile(&spec).expect("the spec compiles");
    let tight = choices.one_in(4);
    let held = if tight { choices.below(300) as u64 } else { 4 << 20 };
    let options = crate::call_options().with_limits(Limits::new().with_held(held).with_spill(0));
    let subject = Subject { program: &program, options: &options, document: &document };

    let whole = subject.push([]);
    let check = |driver: &str, run: &Run, emitted: bool| {
        let about = || String::from_utf8_lossy(&document).into_owned();
        same(driver, &whole, run, emitted)
            .unwrap_or_else(|why| panic!("{why}\n  {spec:?} on {:?}", about()));
    };
    let cuts = choices.cuts(document.len());
    check(&format!("cuts at {cuts:?}"), &subject.push(cuts), true);
    let bytes = choices.byte_by_byte(document.len());
    check(&format!("one-byte chunks at {bytes:?}"), &subject.push(bytes), true);
    if !tight {
        check("slice", &subject.slice(), false);
    }
    let about = || format!("{spec:?} on {:?}", String::from_utf8_lossy(&document));
    if let Some(fault) = &whole.fault {
        let known = match fault.kind {
            ErrorKind::Limit => true,
            ErrorKind::UnexpectedEnd if document.trim_ascii().is_empty() => true,
            // With named fields, invalid JSON is an error.
            ErrorKind::Syntax | ErrorKind::UnexpectedEnd | ErrorKind::Encoding => names,
            _ => false,
        };
        assert!(known, "{fault:?}: {}", about());
        return;
    }
    let (Some(output), Some(report)) = (&whole.output, &whole.report) else { return };
    let output = std::str::from_utf8(output).unwrap_or_else(|error| panic!("{error}: {}", about()));
    assert!(output.len() <= GROWTH * (document.len() + 64), "{} bytes: {}", output.len(), about());
    let is_control = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
    assert!(!output.contains(is_control), "a control is left: {}", about());
    let is_blank = document.trim_ascii().is_empty();
    assert!(is_blank || !output.trim().is_empty(), "nothing is left: {}", about());
    if !output.is_empty() {
        parts::within(output, report, max);
    }
}
