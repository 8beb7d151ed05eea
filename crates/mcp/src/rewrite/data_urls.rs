//! Replaces long `data:` URLs (RFC 2397) in base64 by a mark, while a text arrives.
//!
//! ```text
//!            data:             ;base64,
//! text ────────────▶ header ────────────▶ data ── another character ──▶ text
//!   ▲                  │ another form      at most 256 characters: as it is; else a mark
//!   └──────────────────┘
//! ```
//!
//! Pages and Markdown have pictures in this form, which no model can read in the middle of a text.

use memchr::memmem;
use tamis::Sink;

/// A longer one is replaced.
const LONGEST: usize = 256;
/// The longest header that is read: a media type with parameters.
const LONGEST_HEADER: usize = 128;
const SCHEME: &[u8] = b"data:";
const BASE64: &[u8] = b";base64,";

/// Passes a text on, without long `data:` URLs.
pub(super) struct DataUrls<'a, S: ?Sized> {
    out: &'a mut S,
    /// Whether anything is replaced.
    is_on: bool,
    /// Bytes that may be part of a URL: the beginning of its scheme, its header, or its first characters of data.
    open: Vec<u8>,
    /// The number of characters of data so far, once the header is complete.
    data: Option<u64>,
    /// Number of URLs that were replaced.
    replaced: u64,
}

impl<'a, S: Sink + ?Sized> DataUrls<'a, S> {
    pub(super) fn new(out: &'a mut S, is_on: bool) -> Self {
        Self { out, is_on, open: Vec::new(), data: None, replaced: 0 }
    }

    /// Ends the text. Returns whether a URL was replaced.
    pub(super) fn end(mut self) -> bool {
        self.close();
        self.replaced > 0
    }

    /// Ends a URL, or what might have become one.
    fn close(&mut self) {
        let length = self.data.take().unwrap_or(0);
        if length > LONGEST as u64 {
            let header =
                self.open.split(|byte| matches!(byte, b';' | b',')).next().unwrap_or_default();
            let media_type = header.strip_prefix(SCHEME).unwrap_or_default();
            let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/.+-".contains(byte);
            let kind = std::str::from_utf8(media_type).unwrap_or_default();
            let of = match kind.bytes().all(|byte| is_plain(&byte)) && !kind.is_empty() {
                true => format!(" of {kind}"),
                false => String::new(),
            };
            let mark = format!("[tamis: a data: URL{of} left out, {length} characters of base64]");
            self.out.write(mark.as_bytes());
            self.replaced += 1;
        } else if !self.open.is_empty() {
            self.out.write(&self.open);
        }
        self.open.clear();
    }

    /// Reads a part of the text outside of a URL. Returns what follows it.
    fn pass<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        if let Some(at) = memmem::find(bytes, SCHEME) {
            let (before, url) = bytes.split_at(at);
            self.out.write(before);
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
        self.out.write(before);
        self.open.extend_from_slice(open);
        &[]
    }

    /// Reads a part of the header. Returns what follows it.
    fn header<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        for (at, byte) in bytes.iter().enumerate() {
            let expected = SCHEME.get(self.open.len());
            let is_header = match expected {
                Some(expected) => byte == expected,
                None => byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b')' | b'>'),
            };
            if !is_header || self.open.len() > LONGEST_HEADER {
                self.close();
                return bytes.get(at..).unwrap_or_default();
            }
            self.open.push(*byte);
            if *byte == b',' && self.open.len() > SCHEME.len() {
                let rest = bytes.get(at + 1..).unwrap_or_default();
                if self.open.ends_with(BASE64) {
                    self.data = Some(0);
                } else {
                    self.close();
                }
                return rest;
            }
        }
        &[]
    }

    /// Reads a part of the data. Returns what follows it.
    fn data<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let is_data = |byte: &u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_' | b'%')
        };
        let end = bytes.iter().position(|byte| !is_data(byte)).unwrap_or(bytes.len());
        let (data, rest) = bytes.split_at(end);
        let before = self.data.unwrap_or(0);
        self.data = Some(before + data.len() as u64);
        let room = (LONGEST as u64).saturating_sub(before) as usize;
        self.open.extend_from_slice(data.get(..room.min(data.len())).unwrap_or_default());
        if !rest.is_empty() {
            self.close();
        }
        rest
    }
}

impl<S: Sink + ?Sized> Sink for DataUrls<'_, S> {
    fn write(&mut self, mut bytes: &[u8]) {
        if !self.is_on {
            return self.out.write(bytes);
        }
        while !bytes.is_empty() {
            bytes = match (self.data, self.open.is_empty()) {
                (Some(_), _) => self.data(bytes),
                (None, false) => self.header(bytes),
                (None, true) => self.pass(bytes),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DataUrls, Sink};

    fn replaced(text: &str, chunk: usize) -> (String, bool) {
        let mut out = Vec::new();
        let mut urls = DataUrls::new(&mut out, true);
        for chunk in text.as_bytes().chunks(chunk) {
            urls.write(chunk);
        }
        let is_replaced = urls.end();
        (String::from_utf8(out).unwrap(), is_replaced)
    }

    #[test]
    fn long_urls_are_replaced_at_every_cut() {
        let long = "A".repeat(300);
        for (text, expected) in [
            (
                format!("![a](data:image/png;base64,{long}) b"),
                "![a]([tamis: a data: URL of image/png left out, 300 characters of base64]) b",
            ),
            (
                format!("data:;base64,{long}"),
                "[tamis: a data: URL left out, 300 characters of base64]",
            ),
            (
                format!("ddata:text/plain;charset=utf-8;base64,{long}."),
                "d[tamis: a data: URL of text/plain left out, 300 characters of base64].",
            ),
        ] {
            for chunk in 1..40 {
                assert_eq!(replaced(&text, chunk), (expected.to_owned(), true), "{chunk}");
            }
        }
    }

    #[test]
    fn everything_else_stays() {
        let short = "A".repeat(256);
        for text in [
            format!("data:image/png;base64,{short}"),
            "the data: it is a list, see below".to_owned(),
            "data: data: data:, dat".to_owned(),
            format!("data:image/svg+xml,{}", "%3Csvg".repeat(100)),
            format!("data:{}", "x".repeat(500)),
            String::new(),
        ] {
            for chunk in [1, 2, 3, 7, 1000] {
                assert_eq!(replaced(&text, chunk), (text.clone(), false), "{chunk}");
            }
        }
    }
}
