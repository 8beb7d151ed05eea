//! Recognises what an input is that is not JSON, by its first bytes.
//!
//! The forms are those that people pass by mistake: compressed files, UTF-16 as PowerShell's `>` writes it, responses with their
//! headers (`curl -i`), server-sent events, pages, and prefixes that keep scripts from including JSON. This module must not
//! depend on commands.

use std::cell::RefCell;
use std::io::{Read, Result};
use std::rc::Rc;

use tamis::{Error, ErrorKind};

/// The number of bytes by which an input is recognised. An error after them is about something else.
const LENGTH: usize = 64;

/// The first bytes of an input. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head(Rc<RefCell<Vec<u8>>>);

impl Head {
    /// Wraps `reader` to see what is read.
    pub(crate) fn around<'a>(&self, reader: Box<dyn Read + 'a>) -> Box<dyn Read + 'a> {
        Box::new(Watched { inner: reader, head: self.clone() })
    }

    /// Returns what the input is, and what to do about it, if that is known.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        advice(&self.0.borrow())
    }
}

/// Returns whether an error says that the first bytes of the input are not JSON.
pub(crate) fn explains(error: &Error) -> bool {
    let is_of_text =
        matches!(error.kind(), ErrorKind::Syntax | ErrorKind::UnexpectedEnd | ErrorKind::Encoding);
    is_of_text && error.offset().is_some_and(|offset| offset < LENGTH as u64)
}

struct Watched<'a> {
    inner: Box<dyn Read + 'a>,
    head: Head,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.inner.read(buffer)?;
        let mut head = self.head.0.borrow_mut();
        let wanted = LENGTH.saturating_sub(head.len());
        head.extend(buffer.iter().take(count.min(wanted)));
        Ok(count)
    }
}

const UTF_16: &str = "UTF-16? convert it: iconv -f UTF-16 -t UTF-8";
const EVENTS: &str = "server-sent events? tamis filter --events reads them";
const PREFIX: &str =
    "a prefix that keeps scripts from including it? remove it: tail -n +2, or sed '1s/^[^[{]*//'";

/// The first bytes of known forms, each with the name of the form and a remedy.
const FORMS: [(&[u8], &str); 29] = [
    (b"\x1f\x8b", "compressed with gzip? decompress it: gzip -dc"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd? decompress it: zstd -dc"),
    (b"BZh", "compressed with bzip2? decompress it: bzip2 -dc"),
    (b"\xfd7zXZ", "compressed with xz? decompress it: xz -dc"),
    (b"PK\x03\x04", "a zip archive? extract the file: unzip -p"),
    (b"%PDF-", "a PDF?"),
    (b"\xff\xfe\0\0", "UTF-32? convert it: iconv -f UTF-32 -t UTF-8"),
    (b"\0\0\xfe\xff", "UTF-32? convert it: iconv -f UTF-32 -t UTF-8"),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
    (b"{\0", "UTF-16? convert it: iconv -f UTF-16LE -t UTF-8"),
    (b"[\0", "UTF-16? convert it: iconv -f UTF-16LE -t UTF-8"),
    (b"\0{", "UTF-16? convert it: iconv -f UTF-16BE -t UTF-8"),
    (b"\0[", "UTF-16? convert it: iconv -f UTF-16BE -t UTF-8"),
    (b"data:", EVENTS),
    (b"event:", EVENTS),
    (b"id:", EVENTS),
    (b"retry:", EVENTS),
    (b": ", EVENTS),
    (b"HTTP/", "the headers of a response? leave out -i (curl), or --include"),
    (b")]}'", PREFIX),
    (b"for(;;);", PREFIX),
    (b"while(1);", PREFIX),
    (b"{}&&", "a prefix that keeps scripts from including it? remove it: sed '1s/^{} *&& *//'"),
    (b"```", "a code block of Markdown? leave out its first and last line: sed '1d;$d'"),
    (b"\x1b[", "colours of a terminal? print it without them (NO_COLOR=1, --color never)"),
    (b"\xe2\x80\x9c", "typographic quotes? JSON has straight ones"),
    (b"<", "a page, or XML? tamis content prints the text of a page"),
    (b"---", "YAML? convert it to JSON first: yq -o=json"),
];

/// Returns what an input with these first bytes is, if it is not JSON.
pub(crate) fn advice(head: &[u8]) -> Option<&'static str> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let form = FORMS.iter().find(|(begin, _)| head.starts_with(begin));
    form.map(|(_, advice)| *advice).or_else(|| script_advice(head)).or_else(|| table_advice(head))
}

/// Returns what an input with these first bytes is, if no text in UTF-8 begins like that.
pub(crate) fn not_text(head: &[u8]) -> Option<&'static str> {
    let mut forms = FORMS.iter().filter(|(begin, _)| std::str::from_utf8(begin).is_err());
    forms.find(|(begin, _)| head.starts_with(begin)).map(|(_, advice)| *advice)
}

/// Returns whether a line after `name:` is one of YAML: nested, an element, or another name.
fn continues_yaml(line: &[u8]) -> bool {
    let rest = line.trim_ascii_start();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let name = rest.iter().take_while(|byte| is_name(byte)).count();
    rest.starts_with(b"- ") || (name > 0 && rest.get(name) == Some(&b':'))
}

/// Returns whether a response has a header of this name.
fn is_header(name: &[u8]) -> bool {
    const NAMES: [&str; 10] = [
        "cache-control",
        "connection",
        "content-length",
        "content-type",
        "date",
        "etag",
        "location",
        "server",
        "transfer-encoding",
        "vary",
    ];
    let name = name.to_ascii_lowercase();
    let is_further = name.starts_with(b"x-") || name.starts_with(b"access-control-");
    is_further || NAMES.iter().any(|known| known.as_bytes() == name)
}

/// Recognises headers of a response without the status line, YAML, and a table in CSV, by the first line.
fn table_advice(head: &[u8]) -> Option<&'static str> {
    let mut lines = head.split(|byte| *byte == b'\n');
    let line = lines.next()?.trim_ascii_end();
    let next = lines.next();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_- ".contains(byte);
    if !line.first()?.is_ascii_alphabetic() {
        return None;
    }
    let length = line.iter().take_while(|byte| is_word(byte)).count();
    let (name, rest) = line.split_at(length);
    match rest {
        [b':', b' ', ..] if is_header(name) => {
            Some("the headers of a response? leave out -i (curl), or --include")
        }
        [b':'] | [b':', b' ', ..] if next.is_some_and(continues_yaml) => {
            Some("YAML? convert it to JSON first: yq -o=json")
        }
        [b',', ..] if next.is_some_and(|next| next.contains(&b',')) => {
            Some("CSV? convert it to JSON first: mlr --icsv --ojson cat")
        }
        _ => None,
    }
}

/// Recognises a call with JSON in it (JSONP), and an object whose keys have single quotes or none.
fn script_advice(head: &[u8]) -> Option<&'static str> {
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.');
    let code = head.strip_prefix(b"/**/").unwrap_or(head).trim_ascii_start();
    let length = code.iter().take_while(|byte| name(byte)).count();
    if length > 0 && code.get(length) == Some(&b'(') {
        return Some("JSONP? remove the call around the value: sed 's/^[^(]*(//; s/);*$//'");
    }
    let inner = head.strip_prefix(b"[").unwrap_or(head).trim_ascii_start();
    let key = inner.strip_prefix(b"{")?.trim_ascii_start();
    match key.first()? {
        b'\xe2' if key.starts_with("\u{201c}".as_bytes()) => {
            Some("typographic quotes? JSON has straight ones")
        }
        b'\'' => Some("a Python dict? print it with json.dumps"),
        byte if byte.is_ascii_alphabetic() => {
            Some("an object of JavaScript? write it with JSON.stringify")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{advice, not_text};

    #[test]
    fn some_forms_are_no_text() {
        for (head, word) in [
            (&b"\x1f\x8b\x08\0"[..], "gzip"),
            (b"\x28\xb5\x2f\xfd", "zstd"),
            (b"\xfd7zXZ\0", "xz"),
            (b"\xff\xfea\0", "UTF-16"),
        ] {
            assert!(not_text(head).is_some_and(|advice| advice.contains(word)), "{word}");
        }
        for head in [&b""[..], b"\x1f", b"BZh91AY", b"data: 1", b"\x1b[1m", b"---", b"\xfe"] {
            assert_eq!(not_text(head), None);
        }
    }

    #[test]
    fn forms_are_recognised_by_their_beginning() {
        for (head, word) in [
            (&b"\x1f\x8b\x08\0"[..], "gzip"),
            (b"\x28\xb5\x2f\xfd\x04", "zstd"),
            (b"\xff\xfe{\0\"\0", "UTF-16"),
            (b"{\0\"\0", "UTF-16LE"),
            (b"\0[\0\"", "UTF-16BE"),
            (b"data: {\"a\":1}\n", "--events"),
            (b"\nevent: message\n", "--events"),
            (b"HTTP/1.1 200 OK\r\n", "-i"),
            (b")]}'\n{\"a\":1}", "prefix"),
            (b"for(;;);{\"a\":1}", "prefix"),
            (b"\xef\xbb\xbf<!doctype html>", "page"),
            (b"callback({\"a\":1});", "JSONP"),
            (b"/**/ jQuery.x_1([1])", "JSONP"),
            (b"{'a': 1}", "json.dumps"),
            (b"[{'a': 1}]", "json.dumps"),
            (b"{a: 1}", "JSON.stringify"),
            (b"\xff\xfe\0\0{\0\0\0", "UTF-32"),
            (b": ping\n\ndata: 1\n", "--events"),
            (b"{}&& {\"a\":1}", "prefix"),
            (b"```json\n{}\n```", "Markdown"),
            (b"\x1b[1;39m{", "colours"),
            ("{\u{201c}a\u{201d}: 1}".as_bytes(), "typographic"),
            ("\u{201c}a\u{201d}".as_bytes(), "typographic"),
            (b"content-type: application/json\r\n\r\n{}", "headers"),
            (b"Date: Mon\n", "headers"),
            (b"X-Request-Id: 7\nETag: a\n", "headers"),
            (b"api_version: 1\nuser_name: mira\n", "YAML"),
            (b"apiVersion: v1\nkind: Pod\n", "YAML"),
            (b"id,name\n1,a\n", "CSV"),
        ] {
            let text = String::from_utf8_lossy(head);
            assert!(advice(head).is_some_and(|advice| advice.contains(word)), "{text}");
        }
        for head in [
            &b""[..],
            b"{\"a\":tru}",
            b"[1,]",
            b"oops",
            b"{}",
            b"{",
            b"1.5.2",
            b"one, two",
            b"Error: no such file\nat main\n",
        ] {
            assert_eq!(advice(head), None, "{}", String::from_utf8_lossy(head));
        }
    }
}
