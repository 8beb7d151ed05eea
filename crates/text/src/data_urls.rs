//! Replaces long `data:` URLs (RFC 2397) in base64 by a mark, while a text arrives.
//!
//! ```text
//!            data:             ;base64,
//! text ────────────▶ header ────────────▶ data ── another character ──▶ text
//!   ▲                  │ another form      at most `over` characters: as it is; else a mark
//!   └──────────────────┘
//! ```
//!
//! Pages and Markdown have pictures in this form, which no model can read in the middle of a text. The text may be the content
//! of a JSON string, as it is spelled: PHP writes `\/` for each slash, and .NET `\u002B` for each plus sign.

use memchr::memmem::Finder;
use tamis_json::sink::Sink;

use crate::grouped::grouped;

/// A mark is shorter than a URL with this many characters of data.
const LEAST: u64 = 256;
/// Longer limits are not used: characters up to the limit are held.
const MOST: u64 = 64 << 10;
/// The longest header that is read: a media type with parameters.
const LONGEST_HEADER: usize = 128;
/// The longest place that a mark names.
const LONGEST_PLACE: usize = 128;
const SCHEME: &[u8] = b"data:";
const BASE64: &[u8] = b";base64,";
/// How JSON may spell a character of data.
const ESCAPES: [&[u8]; 7] =
    [b"\\/", b"\\u002B", b"\\u002b", b"\\u002F", b"\\u002f", b"\\u003D", b"\\u003d"];

/// Passes a text on, without long `data:` URLs.
#[derive(Debug)]
pub struct DataUrls {
    /// URLs with more characters of data are replaced.
    over: u64,
    scheme: Finder<'static>,
    /// Bytes that may be part of a URL: the beginning of its scheme, its header, or its first characters of data.
    open: Vec<u8>,
    /// The number of characters of data so far, once the header is complete.
    data: Option<u64>,
    /// The beginning of an escape, which may spell a character of data.
    escape: Vec<u8>,
    replaced: u64,
    replaced_characters: u64,
}

impl DataUrls {
    /// Replaces URLs with more than `over` characters of data, but at least 256. Above 64 Ki, nothing is replaced.
    #[must_use]
    pub fn new(over: u64) -> Self {
        Self {
            over: if over > MOST { u64::MAX } else { over.max(LEAST) },
            scheme: Finder::new(SCHEME),
            open: Vec::new(),
            data: None,
            escape: Vec::new(),
            replaced: 0,
            replaced_characters: 0,
        }
    }

    /// Returns how many URLs were replaced.
    #[must_use]
    pub fn replaced(&self) -> u64 {
        self.replaced
    }

    /// Returns how many characters of data they had.
    #[must_use]
    pub fn replaced_characters(&self) -> u64 {
        self.replaced_characters
    }

    /// Takes the next bytes of a text. `place`: where the text is, for the mark; empty: nowhere.
    pub fn write(&mut self, mut bytes: &[u8], place: &[u8], out: &mut dyn Sink) {
        if self.over == u64::MAX {
            return out.write(bytes);
        }
        while !bytes.is_empty() {
            bytes = match (self.data, self.open.is_empty()) {
                (Some(_), _) => self.data(bytes, place, out),
                (None, false) => self.header(bytes, place, out),
                (None, true) => self.pass(bytes, out),
            };
        }
    }

    /// Ends a text. Another one may follow.
    pub fn end(&mut self, place: &[u8], out: &mut dyn Sink) {
        self.close(place, out);
    }

    /// Ends a URL, or what might have become one.
    fn close(&mut self, place: &[u8], out: &mut dyn Sink) {
        let length = self.data.take().unwrap_or(0);
        if length > self.over {
            let header =
                self.open.split(|byte| matches!(byte, b';' | b',')).next().unwrap_or_default();
            let media_type = header.strip_prefix(SCHEME).unwrap_or_default();
            let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/.+-".contains(byte);
            let kind = std::str::from_utf8(media_type).unwrap_or_default().replace("\\/", "/");
            let of = match kind.bytes().all(|byte| is_plain(&byte)) && !kind.is_empty() {
                true => format!(" of {kind}"),
                false => String::new(),
            };
            let length_in_groups = grouped(length);
            let mark = format!(
                "[tamis: a data: URL{of} left out, {length_in_groups} characters of base64"
            );
            out.write(mark.as_bytes());
            if !place.is_empty() && place.len() <= LONGEST_PLACE {
                out.write(b" at ");
                out.write(place);
            }
            out.write(b"]");
            self.replaced += 1;
            self.replaced_characters += length;
        } else if !self.open.is_empty() {
            out.write(&self.open);
        }
        self.open.clear();
        out.write(&self.escape);
        self.escape.clear();
    }

    /// Reads a part of the text outside of a URL. Returns what follows it.
    fn pass<'b>(&mut self, bytes: &'b [u8], out: &mut dyn Sink) -> &'b [u8] {
        if let Some(at) = self.scheme.find(bytes) {
            let (before, url) = bytes.split_at(at);
            out.write(before);
            let (scheme, rest) = url.split_at(SCHEME.len());
            self.open.extend_from_slice(scheme);
            return rest;
        }
        // The scheme may go on in the next chunk.
        let begins = |length: &usize| {
            SCHEME.get(..*length).is_some_and(|beginning| bytes.ends_with(beginning))
        };
        let partial = (1..SCHEME.len()).rev().find(begins).unwrap_or(0);
        let (before, open) = bytes.split_at(bytes.len() - partial);
        out.write(before);
        self.open.extend_from_slice(open);
        &[]
    }

    /// Reads a part of the header. Returns what follows it.
    fn header<'b>(&mut self, mut bytes: &'b [u8], place: &[u8], out: &mut dyn Sink) -> &'b [u8] {
        while let Some((byte, rest)) = bytes.split_first() {
            let is_header = match SCHEME.get(self.open.len()) {
                Some(expected) => byte == expected,
                None if self.open.ends_with(b"\\") => matches!(byte, b'/' | b'u'),
                None => byte.is_ascii_alphanumeric() || b"/\\;=.+-_%,".contains(byte),
            };
            if !is_header || self.open.len() > LONGEST_HEADER {
                // The same byte may go on with another scheme.
                self.reopen(out);
                if self.open.is_empty() {
                    return bytes;
                }
                continue;
            }
            self.open.push(*byte);
            bytes = rest;
            if *byte == b',' && self.open.len() > SCHEME.len() {
                if self.open.ends_with(BASE64) {
                    self.data = Some(0);
                } else {
                    self.close(place, out);
                }
                return rest;
            }
        }
        bytes
    }

    /// Writes a header that was not one, except for the beginning of another scheme at its end.
    fn reopen(&mut self, out: &mut dyn Sink) {
        let inside = self.open.get(1..).unwrap_or_default();
        let begins = |length: &usize| {
            SCHEME.get(..*length).is_some_and(|beginning| inside.ends_with(beginning))
        };
        let kept = (1..SCHEME.len()).rev().find(begins).unwrap_or(0);
        let written = self.open.len() - kept;
        out.write(self.open.get(..written).unwrap_or_default());
        self.open.drain(..written);
    }

    /// Reads a part of the data. Returns what follows it.
    fn data<'b>(&mut self, bytes: &'b [u8], place: &[u8], out: &mut dyn Sink) -> &'b [u8] {
        if !self.escape.is_empty() {
            let Some((byte, rest)) = bytes.split_first() else { return bytes };
            let mut escape = std::mem::take(&mut self.escape);
            escape.push(*byte);
            if ESCAPES.contains(&escape.as_slice()) {
                self.keep(&escape, 1);
                return rest;
            }
            let is_beginning = ESCAPES.iter().any(|known| known.starts_with(&escape));
            if !is_beginning {
                escape.pop();
            }
            self.escape = escape;
            if is_beginning {
                return rest;
            }
            self.close(place, out);
            return bytes;
        }
        let is_data = |byte: &u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_' | b'%')
        };
        let end = bytes.iter().position(|byte| !is_data(byte)).unwrap_or(bytes.len());
        let (data, rest) = bytes.split_at(end);
        self.keep(data, data.len() as u64);
        match rest.split_first() {
            Some((b'\\', rest)) => {
                self.escape.push(b'\\');
                rest
            }
            Some(_) => {
                self.close(place, out);
                rest
            }
            None => rest,
        }
    }

    /// Counts characters of data, and keeps them as long as they may be written.
    fn keep(&mut self, data: &[u8], characters: u64) {
        let before = self.data.unwrap_or(0);
        self.data = Some(before + characters);
        if before + characters <= self.over {
            self.open.extend_from_slice(data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DataUrls;

    fn replaced(text: &str, chunk: usize, place: &str) -> (String, u64) {
        let mut out = Vec::new();
        let mut urls = DataUrls::new(0);
        for chunk in text.as_bytes().chunks(chunk) {
            urls.write(chunk, place.as_bytes(), &mut out);
        }
        urls.end(place.as_bytes(), &mut out);
        (String::from_utf8(out).unwrap(), urls.replaced())
    }

    #[test]
    fn long_urls_are_replaced_at_every_cut() {
        let long = "A".repeat(300);
        for (text, place, expected) in [
            (
                format!("![a](data:image/png;base64,{long}) b"),
                "",
                "![a]([tamis: a data: URL of image/png left out, 300 characters of base64]) b",
            ),
            (
                format!("data:;base64,{long}"),
                "/a",
                "[tamis: a data: URL left out, 300 characters of base64 at /a]",
            ),
            (
                format!("ddata:text/plain;charset=utf-8;base64,{long}."),
                "",
                "d[tamis: a data: URL of text/plain left out, 300 characters of base64].",
            ),
            // Words that only begin like a URL stay, whatever JSON spells after them.
            (
                format!("Sample data:\\n\\n![a](data:image/png;base64,{long}) end"),
                "",
                "Sample data:\\n\\n![a]([tamis: a data: URL of image/png left out, 300 characters of base64]) end",
            ),
            (
                format!("data:data:image/png;base64,{long}"),
                "",
                "data:[tamis: a data: URL of image/png left out, 300 characters of base64]",
            ),
            (
                format!("data:{}data:image/png;base64,{long}", "x".repeat(200)),
                "",
                &format!(
                    "data:{}[tamis: a data: URL of image/png left out, 300 characters of base64]",
                    "x".repeat(200)
                ),
            ),
            // As .NET spells it in JSON.
            (
                format!("data:image/svg\\u002Bxml;base64,\\u002B{long}\\u002f==\\u0022"),
                "",
                "[tamis: a data: URL left out, 304 characters of base64]\\u0022",
            ),
            (
                format!("data:image/png;base64,{}\\n", "A".repeat(1200)),
                "",
                "[tamis: a data: URL of image/png left out, 1,200 characters of base64]\\n",
            ),
            // As PHP spells it in JSON.
            (
                format!("<img src=\\\"data:image\\/png;base64,{long}\\/+\\/\\\">"),
                "",
                "<img src=\\\"[tamis: a data: URL of image/png left out, 303 characters of base64]\\\">",
            ),
        ] {
            for chunk in 1..40 {
                assert_eq!(replaced(&text, chunk, place), (expected.to_owned(), 1), "{chunk}");
            }
        }
    }

    #[test]
    fn everything_else_stays() {
        let short = "A".repeat(256);
        for text in [
            format!("data:image/png;base64,{short}"),
            format!("data:image/png;base64,{short}\\n"),
            format!("data:image/png;base64,{}\\", "A".repeat(99)),
            "the data: it is a list, see below".to_owned(),
            "data: data: data:, dat".to_owned(),
            format!("data:image/svg+xml,{}", "%3Csvg".repeat(100)),
            format!("data:{}", "x".repeat(500)),
            String::new(),
        ] {
            for chunk in [1, 2, 3, 7, 1000] {
                assert_eq!(replaced(&text, chunk, "/a"), (text.clone(), 0), "{chunk}");
            }
        }
    }
}
