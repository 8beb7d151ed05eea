//! Lists the direct members of an object, or the elements of an array, whatever their names are.

use std::ops::Range;

use smallvec::SmallVec;

use super::find::{Found, ValueKind};
use super::text;
use crate::spool::{Spool, SpoolError};

/// The longest name that is read, with its quotes and escapes. A longer one is unknown to everyone here.
const LONGEST_NAME: usize = 256;

/// A member of an object, or an element of an array.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its name after unescaping. `None` for elements, and for names that cannot be read.
    pub(crate) name: Option<String>,
    pub(crate) found: Found,
}

/// Returns the first `most` members of a container in a message that is known to be valid JSON.
pub(crate) fn members(
    message: &Spool,
    container: &Range<u64>,
    most: usize,
) -> Result<Vec<Member>, SpoolError> {
    let mut lister = MemberLister { at: container.start, most, ..MemberLister::default() };
    message.each_chunk(container.clone(), |chunk| {
        lister.read(chunk);
        Ok::<_, SpoolError>(())
    })?;
    Ok(lister.members)
}

/// Follows the brackets and the strings of a container.
#[derive(Debug, Default)]
struct MemberLister {
    at: u64,
    most: usize,
    depth: usize,
    is_object: bool,
    in_string: bool,
    is_escaped: bool,
    /// The bytes of the name that is being read, or was read last.
    name: Vec<u8>,
    /// The first byte of the name.
    name_at: Option<u64>,
    /// Whether the colon after the name was read.
    has_colon: bool,
    /// The first byte of the value and its position.
    value: Option<(u8, u64)>,
    /// The end of the last byte that is not white space.
    end: u64,
    members: Vec<Member>,
}

impl MemberLister {
    fn read(&mut self, chunk: &[u8]) {
        for byte in chunk {
            if self.members.len() >= self.most {
                return;
            }
            self.byte(*byte);
            self.at += 1;
        }
    }

    fn byte(&mut self, byte: u8) {
        if self.in_string {
            if self.is_name() && self.name.len() <= LONGEST_NAME {
                self.name.push(byte);
            }
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => {
                    self.in_string = false;
                    self.end = self.at + 1;
                }
                _ => {}
            }
            return;
        }
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return;
        }
        match (byte, self.depth) {
            (b'{' | b'[', 0) => {
                self.is_object = byte == b'{';
                self.depth = 1;
                return;
            }
            (b'}' | b']' | b',', 1) => {
                self.finish();
                self.end = self.at + 1;
                return;
            }
            (b':', 1) => {
                self.has_colon = true;
                return;
            }
            (b'"', 1) if self.is_object && !self.has_colon => {
                self.name_at = Some(self.at);
                self.name.clear();
                self.name.push(byte);
            }
            (_, 1) if self.value.is_none() => self.value = Some((byte, self.at)),
            _ => {}
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.end = self.at + 1;
    }

    /// Whether the string that is being read is a name of the container itself.
    fn is_name(&self) -> bool {
        self.depth == 1 && self.is_object && !self.has_colon
    }

    /// Records the value that has ended.
    fn finish(&mut self) {
        let name_at = self.name_at.take();
        self.has_colon = false;
        let Some((first, at)) = self.value.take() else { return };
        let kind = match first {
            b'{' => ValueKind::Object,
            b'[' => ValueKind::Array,
            b'"' => ValueKind::String,
            b't' | b'f' => ValueKind::Bool,
            b'n' => ValueKind::Null,
            _ => ValueKind::Number,
        };
        let is_whole = self.is_object && self.name.len() <= LONGEST_NAME;
        let name = if is_whole { text::decode(&self.name) } else { None };
        let (span, start) = (at..self.end, name_at.unwrap_or(at));
        let found = Found { path: 0, kind, span, start, indices: SmallVec::new() };
        self.members.push(Member { name, found });
    }
}

#[cfg(test)]
mod tests {
    use super::members;
    use crate::spool::Spool;

    fn listed(text: &str, most: usize) -> Vec<String> {
        let message = Spool::from_vec(format!("  {text} ").into_bytes());
        let show = |range: std::ops::Range<u64>| {
            text[range.start as usize - 2..range.end as usize - 2].to_owned()
        };
        let all = members(&message, &(2..message.len() - 1), most).unwrap();
        let line = |member: &super::Member| {
            let found = &member.found;
            let whole = show(found.start..found.span.end);
            format!("{:?} {:?} {whole}", member.name.as_deref().unwrap_or("-"), found.kind)
        };
        all.iter().map(line).collect()
    }

    #[test]
    fn members_and_elements_are_listed() {
        let text =
            r#"{ "a\u0062" : {"x":["}",1]} , "b\"":"\\", "c":[],"d":-1 ,"e":null,"f":true }"#;
        assert_eq!(
            listed(text, 99),
            [
                r#""ab" Object "a\u0062" : {"x":["}",1]}"#,
                r#""b\"" String "b\"":"\\""#,
                r#""c" Array "c":[]"#,
                r#""d" Number "d":-1"#,
                r#""e" Null "e":null"#,
                r#""f" Bool "f":true"#,
            ]
        );
        assert_eq!(listed(text, 2).len(), 2);
        assert_eq!(listed("{}", 9), [""; 0]);
        assert_eq!(listed("[ ]", 9), [""; 0]);
        assert_eq!(
            listed(r#"[ {"a":1}, "x,y" ,3]"#, 9),
            [r#""-" Object {"a":1}"#, r#""-" String "x,y""#, r#""-" Number 3"#]
        );
        let long = format!("{{\"{}\":1}}", "a".repeat(300));
        assert!(listed(&long, 9)[0].starts_with("\"-\" Number"));
    }
}
