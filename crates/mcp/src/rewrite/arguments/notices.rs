//! Finds notices in arguments: what a model copies from a shortened result without the rest of it.
//!
//! A notice is the sentence in brackets or the member `_tamis` of a result, with its handle. A handle without them
//! passes, so that a model can write about one.

use std::collections::BTreeSet;
use std::ops::Range;

use memchr::memmem;

use super::references::HANDLE;
use crate::jsonrpc::text::{self, end_of_string};

/// The characters of a handle after its first three.
const LENGTH: usize = 26;

/// The most bytes of a notice before its handle, and after it.
const AROUND: usize = 600;

/// The most different handles of notices in the arguments of a call. Each is looked up in the store.
const MOST: usize = 256;

/// The first bytes of the name of a member with a notice. It has a number after it if the result has a member of that name.
const NAME: &[u8] = b"_tamis";

/// Returns the handles of notices in arguments, which are valid JSON: also of those in the texts of edits and patches. The handle of a
/// reference is not in a notice. An error says why the call is refused.
pub(super) fn handles(json: &[u8]) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    let mut members = OpenMembers::default();
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        let start = at;
        at += 1;
        if *byte != b'"' {
            members.read(*byte);
            continue;
        }
        at = end_of_string(json, start);
        let spelled = json.get(start..at).unwrap_or_default();
        let rest = json.get(at..).unwrap_or_default();
        if rest.trim_ascii_start().first() == Some(&b':') {
            members.name(spelled);
        }
        if memmem::find(spelled, HANDLE).is_none() {
            continue;
        }
        let Some(decoded) = text::decode(spelled) else { continue };
        for place in places(decoded.as_bytes()) {
            if members.are_notice() || is_in_notice(decoded.as_bytes(), &place) {
                found.insert(decoded.get(place).unwrap_or_default().to_owned());
            }
            if found.len() > MOST {
                return Err(format!("an argument has more than {MOST} notices"));
            }
        }
    }
    Ok(found)
}

/// The containers that are open where arguments are read.
#[derive(Debug, Default)]
struct OpenMembers {
    depth: usize,
    /// The depth of the value of a member with a notice, if one is open.
    notice: Option<usize>,
    /// Whether the value that begins next is that of such a member.
    is_next: bool,
}

impl OpenMembers {
    /// Takes the name of a member.
    fn name(&mut self, spelled: &[u8]) {
        let has_name = |name: &[u8]| name.starts_with(NAME);
        self.is_next = match memchr::memchr(b'\\', spelled) {
            None => has_name(spelled.get(1..).unwrap_or_default()),
            Some(_) => text::decode(spelled).is_some_and(|name| has_name(name.as_bytes())),
        };
    }

    /// Takes a byte between strings.
    fn read(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => {
                self.depth += 1;
                if self.is_next {
                    self.notice = self.notice.or(Some(self.depth));
                }
                self.is_next = false;
            }
            b'}' | b']' => {
                if self.notice == Some(self.depth) {
                    self.notice = None;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.is_next = false,
            _ => {}
        }
    }

    fn are_notice(&self) -> bool {
        self.notice.is_some()
    }
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
            (r#"{"a":{"_tamis":{"factored":"of path}","handle":"HANDLE"}}}"#, true),
            (r#"{"a":{"_tamis":{"factored":"of \"}}","a":[{}],"b":{"handle":"HANDLE"}}}}"#, true),
            (r#"{"a":{"_t\u0061mis" : {"handle":"HANDLE"}}}"#, true),
            (r#"{"_tamis":{"retrieve":"tamis_retrieve(handle=\"HANDLE\")"}}"#, true),
            (r#"{"_tamis":{"{":1,"a":{}},"handle":"HANDLE"}"#, false),
            (r#"{"_tamis":1,"a":{"handle":"HANDLE"}}"#, false),
            (r#"{"a":"_tamis","b":{"handle":"HANDLE"}}"#, false),
            (r#"{"a":{"_tamis":{}},"handle":"HANDLE"}"#, false),
            (r#"{"handle":"HANDLE"}"#, false),
            (r#"{"a":"The handle is HANDLE, see [1]."}"#, false),
            (r#"{"a":"[tamis: a line]\nHANDLE"}"#, false),
            (r#"{"a":"[tamis: 5 lines left out; HANDLEx"}"#, false),
        ] {
            let found = handles(json.replace("HANDLE", &handle).as_bytes()).unwrap();
            let expected: Vec<&String> = is_notice.then_some(&handle).into_iter().collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{json}");
        }
    }
    /// Notices that nobody has issued do not hide another one.
    #[test]
    fn every_notice_is_found() {
        let notice = |number: usize| {
            let letter = |shift: usize| char::from(b'a' + (number >> shift) as u8 % 16);
            let letters: String = [letter(0), letter(4), letter(8)].iter().collect();
            format!("[tamis: x; tm_{letters}{}]\\n", "a".repeat(23))
        };
        let notices = |count: usize| (0..count).map(notice).collect::<String>();
        let json = |count| format!("{{\"a\":\"{}\"}}", notices(count));
        assert_eq!(handles(json(256).as_bytes()).unwrap().len(), 256);
        let why = handles(json(257).as_bytes()).unwrap_err();
        assert_eq!(why, "an argument has more than 256 notices");
        // The same one counts once.
        let again = format!("{{\"a\":\"{}\"}}", notice(7).repeat(10_000));
        assert_eq!(handles(again.as_bytes()).unwrap().len(), 1);
    }
}
