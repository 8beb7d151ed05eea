//! Puts personal data back into the arguments of calls: `[email:1]` becomes the value that the session replaced by this mark.
//!
//! Only strings that are values are looked at, not names. A value that was a number is a string.

use std::ops::Range;

use memchr::{memchr2, memchr2_iter};
use tamis::MarkTable;

use crate::jsonrpc::splice::{Piece, Splice};
use crate::jsonrpc::text;

/// Replaces the marks in a JSON text, which begins at a position of a message. `cut` has ranges of the message that are removed
/// from it, in order.
pub(super) fn put_back(
    json: &[u8],
    begin: u64,
    marks: &MarkTable,
    cut: &[Range<u64>],
    splice: &mut Splice,
) {
    let mut cut = cut.iter().peekable();
    for string in strings(json) {
        let spelled = json.get(string.clone()).unwrap_or_default();
        let span = begin + string.start as u64..begin + string.end as u64;
        while cut.next_if(|cut| cut.end <= span.start).is_some() {}
        let is_cut = cut.peek().is_some_and(|cut| cut.start < span.end);
        // Every mark has a bracket, which may be escaped.
        if is_cut || memchr2(b'[', b'\\', spelled).is_none() {
            continue;
        }
        if let Some(restored) = text::decode(spelled).and_then(|text| marks.put_back(&text)) {
            splice.replace(span, Piece::Bytes(text::quoted(&restored).into_bytes()));
        }
    }
}

/// Returns the places of strings that are values in a valid JSON text, with their quotes.
fn strings(json: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let open = at + memchr::memchr(b'"', json.get(at..)?)?;
            let close = close_of(json, open)?;
            at = close + 1;
            let next = json.get(at..).unwrap_or_default();
            if next.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b':') {
                return Some(open..at);
            }
        }
    })
}

/// Returns the closing quote of a string.
fn close_of(json: &[u8], open: usize) -> Option<usize> {
    let inside = json.get(open + 1..)?;
    let mut escaped = None;
    for at in memchr2_iter(b'"', b'\\', inside) {
        if escaped == Some(at) {
            continue;
        }
        match inside.get(at) {
            Some(b'"') => return Some(open + 1 + at),
            _ => escaped = Some(at + 1),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use tamis::spec::Redact;
    use tamis::{CallOptions, MarkTable, Program, Spec, filter_slice};

    use super::put_back;
    use crate::jsonrpc::splice::Splice;
    use crate::spool::{Spool, SpoolLimits};

    #[test]
    fn values_are_put_back_into_strings() {
        let marks = MarkTable::new();
        let program = Program::compile(&Spec::new().redact(Redact::new().personal(true))).unwrap();
        let options = CallOptions::new().with_marks(&marks);
        let input = br#"["mira@example.org","ni\u006cs@example.org"]"#;
        let (output, _) = filter_slice(program.with_options(&options), input).unwrap();
        assert_eq!(output, br#"["[email:1]","[email:2]"]"#);
        for (arguments, expected) in [
            (r#"{"to":"[email:1]"}"#, r#"{"to":"mira@example.org"}"#),
            (
                r#"{ "[email:1]" : ["x \"[email:2]\" \\", 1] }"#,
                r#"{ "[email:1]" : ["x \"nils@example.org\" \\", 1] }"#,
            ),
            (r#"{"a":"\u005bemail:2\u005d\n\\"}"#, r#"{"a":"nils@example.org\n\\"}"#),
            (r#"{"a":"[email:3] [phone:1]","b":"\\"}"#, r#"{"a":"[email:3] [phone:1]","b":"\\"}"#),
            (
                r#"{"_budget":"[email:1]","b":"[email:1]"}"#,
                r#"{"_budget":"[email:1]","b":"mira@example.org"}"#,
            ),
        ] {
            let message = Spool::from_vec(arguments.as_bytes().to_vec());
            let mut splice = Splice::default();
            let cut = arguments.find("_budget").map(|at| at as u64..at as u64 + 20);
            put_back(arguments.as_bytes(), 0, &marks, cut.as_slice(), &mut splice);
            let mut out = Spool::new(SpoolLimits::default());
            let nothing = Spool::new(SpoolLimits::default());
            splice.write(&message, 0..message.len(), &nothing, &mut out).unwrap();
            let written = out.to_vec(0..out.len(), 1 << 10).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }
}
