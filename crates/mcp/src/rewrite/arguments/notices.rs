//! Finds notices in arguments: what a model copies from a shortened result without the rest of it.
//!
//! A notice is the sentence in brackets or the member `_tamis` of a result, with its handle. A handle without them
//! passes, so that a model can write about one.

use std::collections::BTreeSet;
use std::ops::Range;

use memchr::memmem;

use super::references::{HANDLE, Reference};
use crate::jsonrpc::text::{self, end_of_string};

/// The characters of a handle after its first three.
const LENGTH: usize = 26;

/// The most bytes of a notice before its handle, and after it.
const AROUND: usize = 600;

/// The most handles that are looked up.
const MOST: usize = 64;

/// Returns the handles of notices in arguments, which are valid JSON, apart from those in references.
pub(super) fn handles(json: &[u8], references: &[Reference]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut references = references.iter().peekable();
    let mut at = 0;
    while let Some(open) = json.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
        let start = at + open;
        let end = end_of_string(json, start);
        at = end;
        while references.next_if(|reference| reference.span.end <= start).is_some() {}
        let in_reference = references.peek().is_some_and(|reference| reference.span.start <= start);
        let spelled = json.get(start..end).unwrap_or_default();
        if in_reference || memmem::find(spelled, HANDLE).is_none() {
            continue;
        }
        let Some(decoded) = text::decode(spelled) else { continue };
        for place in places(decoded.as_bytes()) {
            let handle = decoded.get(place.clone()).unwrap_or_default();
            let is_whole = place == (0..decoded.len());
            let in_member = is_whole && is_in_member(json, start);
            if (in_member || is_in_notice(decoded.as_bytes(), &place)) && found.len() < MOST {
                found.insert(handle.to_owned());
            }
        }
    }
    found
}

/// Returns the places of handles in a text.
fn places(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    memmem::find_iter(text, HANDLE).filter_map(|at| {
        let end = at + HANDLE.len() + LENGTH;
        let word = text.get(at + HANDLE.len()..end)?;
        word.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7')).then_some(at..end)
    })
}

/// Whether a handle is in a sentence in brackets, or in a member `_tamis` of a JSON text.
fn is_in_notice(text: &[u8], handle: &Range<usize>) -> bool {
    let before = text.get(handle.start.saturating_sub(AROUND)..handle.start).unwrap_or_default();
    let after = text.get(handle.end..(handle.end + AROUND).min(text.len())).unwrap_or_default();
    let line_before = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let line_after = after.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let in_sentence =
        memmem::find(line_before, b"[tamis: ").is_some() && line_after.contains(&b']');
    in_sentence || memmem::find(before, b"\"_tamis").is_some()
}

/// Whether a string of the arguments is in a member `_tamis`.
fn is_in_member(json: &[u8], string: usize) -> bool {
    let before = json.get(string.saturating_sub(AROUND)..string).unwrap_or_default();
    memmem::rfind(before, b"\"_tamis").is_some_and(|at| {
        // The object of the member is still open. The notice about factored values has braces of its own, in pairs.
        let after = before.get(at..).unwrap_or_default();
        let count = |brace| memchr::memchr_iter(brace, after).count();
        count(b'{') > count(b'}')
    })
}

#[cfg(test)]
mod tests {
    use super::handles;

    #[test]
    fn handles_without_a_notice_pass() {
        let handle = format!("tm_{}", "a".repeat(26));
        for (json, is_notice) in [
            (
                r#"{"a":"x\n[tamis: 5 of 9 lines left out; tamis_retrieve(handle=\"HANDLE\", lines=\"2-6\")]\n"}"#,
                true,
            ),
            (r#"{"a":["{\"b\":1,\"_tamis\":{\"shown\":1,\"handle\":\"HANDLE\"}}"]}"#, true),
            (r#"{"a":{"b":1,"_tamis2":{"shown":1,"handle":"HANDLE"}}}"#, true),
            (r#"{"a":{"_tamis":{"factored":"of {path}","handle":"HANDLE"}}}"#, true),
            (r#"{"a":{"_tamis":{}},"handle":"HANDLE"}"#, false),
            (r#"{"handle":"HANDLE"}"#, false),
            (r#"{"a":"The handle is HANDLE, see [1]."}"#, false),
            (r#"{"a":"[tamis: a line]\nHANDLE"}"#, false),
            (r#"{"a":"[tamis: 5 lines left out; HANDLEx"}"#, false),
        ] {
            let found = handles(json.replace("HANDLE", &handle).as_bytes(), &[]);
            let expected: Vec<&String> = is_notice.then_some(&handle).into_iter().collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{json}");
        }
    }
}
