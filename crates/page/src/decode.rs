//! Detects the encoding of a document, and whether it is HTML.
//!
//! A shortened form of the WHATWG standards. The encoding is that of the byte order mark, else the one in `<meta>`,
//! else UTF-8 if the beginning is valid UTF-8, else a guess from its bytes (Encoding, HTML §13.2.3.2). A document that begins
//! with a tag is HTML (MIME Sniffing §7.1, with more elements). There are two differences: text that is valid UTF-8
//! and not only ASCII is UTF-8 even if the page says otherwise, since the client may have converted it; and tags in
//! UTF-16 are recognised without a mark.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// How many bytes are searched for the declaration of an encoding. The standard uses 1,024, but many pages have a
/// longer `<head>`.
const HEAD: usize = 8 << 10;

/// The minimum number of bytes beyond ASCII in a text whose encoding is guessed. With fewer, it is windows-1252.
const GUESSED: usize = 8;

/// How many bytes show whether a document is text.
const BINARY: usize = 512;

/// Elements with which a page or a part of a page begins.
const FIRST: [&str; 66] = [
    "html",
    "head",
    "body",
    "title",
    "meta",
    "link",
    "base",
    "script",
    "style",
    "noscript",
    "header",
    "nav",
    "main",
    "article",
    "section",
    "aside",
    "footer",
    "div",
    "p",
    "span",
    "a",
    "b",
    "i",
    "em",
    "strong",
    "u",
    "font",
    "center",
    "br",
    "hr",
    "img",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "dl",
    "table",
    "tbody",
    "tr",
    "td",
    "pre",
    "blockquote",
    "figure",
    "iframe",
    "form",
    "svg",
    "template",
    "details",
    "dialog",
    "picture",
    "video",
    "audio",
    "fieldset",
    "figcaption",
    "code",
    "small",
    "sup",
    "button",
    "dt",
    "th",
    "thead",
];

/// Whether a text is HTML: after white space, controls, comments and declarations it begins with a usual tag.
pub fn is_html(text: &str) -> bool {
    // A stray control before a page does not turn its hidden text into text.
    let is_before = |char: char| matches!(char, '\u{feff}' | ' ') || char.is_control();
    let mut rest = text.trim_start_matches(is_before);
    // The number of comments before the first tag is limited.
    for _ in 0..32 {
        let Some(inside) = rest.strip_prefix('<') else { return false };
        if starts_with(inside, "!doctype html") {
            return true;
        }
        let end = if inside.starts_with("!--") { "-->" } else { ">" };
        if inside.starts_with('?') || inside.starts_with("!--") {
            let Some(at) = inside.find(end) else { return false };
            rest = inside.get(at + end.len()..).unwrap_or_default().trim_start();
            continue;
        }
        let name = inside.find(|char: char| !char.is_ascii_alphanumeric()).unwrap_or(inside.len());
        let (name, after) = inside.split_at(name);
        let ended = after.starts_with(['>', ' ', '/', '\t', '\n', '\r', '\u{c}']);
        return ended && FIRST.iter().any(|first| first.eq_ignore_ascii_case(name));
    }
    false
}

fn starts_with(text: &str, lower: &str) -> bool {
    text.get(..lower.len()).is_some_and(|start| start.eq_ignore_ascii_case(lower))
}

/// Decodes the bytes of a document to text.
pub struct Decoder {
    decoder: encoding_rs::Decoder,
    encoding: &'static Encoding,
}

impl Decoder {
    /// Creates a decoder for a document with this beginning.
    pub fn new(beginning: &[u8]) -> Self {
        let encoding = encoding(beginning);
        // A byte order mark does not belong to the text.
        Self { decoder: encoding.new_decoder_with_bom_removal(), encoding }
    }

    /// Creates a decoder for the same document, from its beginning.
    pub fn again(&self) -> Self {
        let encoding = self.encoding;
        Self { decoder: encoding.new_decoder_with_bom_removal(), encoding }
    }

    /// Decodes the next bytes; invalid sequences become U+FFFD.
    pub fn decode(&mut self, bytes: &[u8], last: bool) -> String {
        let room = self.decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len());
        let mut text = String::with_capacity(room);
        _ = self.decoder.decode_to_string(bytes, &mut text, last);
        text
    }
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("encoding", &self.encoding.name()).finish()
    }
}

fn encoding(beginning: &[u8]) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(beginning) {
        return encoding;
    }
    match beginning {
        [b'<', 0, letter, 0, ..] if letter.is_ascii_graphic() => return UTF_16LE,
        [0, b'<', 0, letter, ..] if letter.is_ascii_graphic() => return UTF_16BE,
        _ => {}
    }
    if let Some(encoding) = utf16(beginning) {
        return encoding;
    }
    // The sample may end within a character.
    let is_utf8 =
        std::str::from_utf8(beginning).map_or_else(|at| at.error_len().is_none(), |_| true);
    if is_utf8 && !beginning.is_ascii() {
        return UTF_8;
    }
    // A text that mentions `<meta>` does not declare its own encoding.
    if beginning.starts_with(b"<?xml") || is_html(&String::from_utf8_lossy(beginning)) {
        let head = beginning.get(..HEAD).unwrap_or(beginning).to_ascii_lowercase();
        if let Some(encoding) = declared(&head) {
            return encoding;
        }
    }
    if is_utf8 { UTF_8 } else { guessed(beginning) }
}

/// Returns the form of UTF-16 if every second byte is zero, as in UTF-16 without a mark in most languages of Europe.
fn utf16(beginning: &[u8]) -> Option<&'static Encoding> {
    let first = beginning.get(..BINARY).unwrap_or(beginning);
    let zeros = |from: usize| first.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    // At least eight of ten pairs have a zero.
    let is = |zeros: usize, others: usize| zeros * 5 >= first.len() * 2 && others == 0;
    match first.len() >= 16 {
        true if is(odd, even) => Some(UTF_16LE),
        true if is(even, odd) => Some(UTF_16BE),
        _ => None,
    }
}

/// Guesses the encoding of a text that does not declare it, as Firefox does (chardetng).
fn guessed(beginning: &[u8]) -> &'static Encoding {
    if beginning.iter().filter(|byte| !byte.is_ascii()).count() < GUESSED {
        return WINDOWS_1252;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(beginning, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// Returns the label in `<meta charset=…>`, `<meta … content="…; charset=…">` or `<?xml encoding=…?>`.
fn declared(head: &[u8]) -> Option<&'static Encoding> {
    let mut rest = head;
    while let Some(at) = memchr::memchr(b'<', rest) {
        rest = rest.get(at + 1..)?;
        let key: &[u8] = match rest {
            _ if rest.starts_with(b"meta") => b"charset",
            _ if rest.starts_with(b"?xml") => b"encoding",
            _ => continue,
        };
        let tag = rest.get(..memchr::memchr(b'>', rest).unwrap_or(rest.len()))?;
        let Some(at) = memchr::memmem::find(tag, key) else { continue };
        let value = tag.get(at + key.len()..)?.trim_ascii_start();
        let Some(value) = value.strip_prefix(b"=") else { continue };
        let value = value.trim_ascii_start();
        let value = value.strip_prefix(b"\"").or(value.strip_prefix(b"'")).unwrap_or(value);
        let end = value.iter().position(|byte| b"\"'; \t\r\n/".contains(byte));
        let Some(encoding) = Encoding::for_label(value.get(..end.unwrap_or(value.len()))?) else {
            continue;
        };
        // The declaration was read as ASCII, so the page cannot be in UTF-16.
        return Some(match encoding {
            _ if encoding == UTF_16BE || encoding == UTF_16LE => UTF_8,
            _ if encoding == X_USER_DEFINED => WINDOWS_1252,
            _ => encoding,
        });
    }
    None
}

/// Returns what a document is, if it begins like a common format that is not text, or has bytes that no text has.
pub fn binary_kind(beginning: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 37] = [
        (b"\x1f\x8b", "gzip data (decompress it first)"),
        (b"\x28\xb5\x2f\xfd", "zstd data (decompress it first)"),
        (b"BZh", "bzip2 data (decompress it first)"),
        (b"\xfd7zXZ\0", "xz data (decompress it first)"),
        (b"PK\x03\x04", "a ZIP archive or an Office document"),
        (b"%PDF-", "a PDF document"),
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF87a", "a GIF image"),
        (b"GIF89a", "a GIF image"),
        (b"\x7fELF", "an executable"),
        (b"\0asm", "a WebAssembly module"),
        (b"wOF2", "a font"),
        (b"wOFF", "a font"),
        (b"OTTO", "a font"),
        (b"\0\x01\0\0", "a font"),
        (b"\xd0\xcf\x11\xe0", "an Office document"),
        (b"\x04\x22\x4d\x18", "LZ4 data (decompress it first)"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (b"Rar!\x1a\x07", "a RAR archive"),
        (b"PK\x05\x06", "an empty ZIP archive"),
        (b"II*\0", "a TIFF image"),
        (b"MM\0*", "a TIFF image"),
        (b"BM", "a BMP image"),
        (b"\0\0\x01\0", "an icon"),
        (b"\0\0\0\x0cjP  ", "a JPEG 2000 image"),
        (b"\xff\x0a", "a JPEG XL image"),
        (b"ID3", "an audio file"),
        (b"fLaC", "an audio file"),
        (b"OggS", "an audio or video file"),
        (b"\x1aE\xdf\xa3", "a video"),
        (b"FLV", "a video"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"PAR1", "a Parquet file"),
        (b"MZ", "an executable"),
        (b"\xcf\xfa\xed\xfe", "an executable"),
        (b"\xca\xfe\xba\xbe", "an executable"),
    ];
    if beginning.starts_with(b"RIFF") && beginning.get(8..12) == Some(b"WEBP") {
        return Some("a WebP image");
    }
    if beginning.starts_with(b"RIFF") && matches!(beginning.get(8..12), Some(b"WAVE" | b"AVI ")) {
        return Some("an audio or video file");
    }
    if beginning.get(257..262) == Some(b"ustar") {
        return Some("a tar archive");
    }
    if beginning.starts_with(b"\0\0\0") && beginning.get(4..8) == Some(b"ftyp") {
        return Some("a video or an image");
    }
    // A text may begin with letters that are also those of a format.
    let is_text = !beginning.iter().take(512).any(|byte| matches!(byte, 0..=8 | 14..=26));
    let is_certain = |magic: &[u8]| {
        !is_text || magic == b"%PDF-" || magic.iter().any(|byte| !(b' '..=b'~').contains(byte))
    };
    let kind = KINDS.iter().find(|(magic, _)| beginning.starts_with(magic));
    let named = kind.filter(|(magic, _)| is_certain(magic)).map(|(_, kind)| *kind);
    named.or_else(|| is_binary(beginning).then_some("binary data"))
}

/// Whether a document is in a format without a signature, such as Brotli. A log with a few control characters is text.
fn is_binary(beginning: &[u8]) -> bool {
    let first = beginning.get(..BINARY).unwrap_or(beginning);
    let controls = first.iter().filter(|byte| matches!(byte, 0..=6 | 14..=26 | 28..=31)).count();
    controls * 20 > first.len() && ![UTF_8, UTF_16LE, UTF_16BE].contains(&encoding(beginning))
}

#[cfg(test)]
mod tests {
    use super::{Decoder, binary_kind, is_html};

    #[test]
    fn formats_that_are_not_text() {
        for (bytes, is_binary) in [
            (&b"\x1f\x8b\x08\0\0"[..], true),
            (b"%PDF-1.7\n", true),
            (b"\x89PNG\r\n\x1a\n\0", true),
            (b"GIF89a\x01\0", true),
            (b"RIFF\0\0\0\0WEBP", true),
            (b"PK\x03\x04", true),
            (b"\0\0\0\x1cftypavif", true),
            (b"\x0b\x02\x80\x0e\x91\xfd\x1b\x03\xf7\x15\xc4\x88", true),
            (b"step 7\0\r\n\xe9\xe8\xe9 and then it worked again", false),
            (b"\0\0\0\0\0\0", false),
            (b"SQLite format 3\0\x10\0", true),
            (b"BZh91AY&SY\x8e\x02\x03\x04", true),
            (b"II*\0\x08\0\0\0", true),
            (b"BM\x36\0\0\0\0\0", true),
            (b"ID3\x03\0\0\0", true),
            (b"OggS\0\x02\0\0", true),
            (b"MZ\x90\0\x03\0", true),
            (b"GIF89a is a format.", false),
            (b"BMW and MZ are letters.", false),
            (b"ID3 tags", false),
            (b"SQLite format 3 is stable.", false),
            (b"BZh stands for bzip2.", false),
            (b"the ftyp box", false),
            (b"wOF2 fonts", false),
            (b"", false),
        ] {
            assert_eq!(binary_kind(bytes).is_some(), is_binary, "{bytes:?}");
        }
    }

    #[test]
    fn encodings_that_are_not_declared_are_guessed() {
        for (label, text) in [
            ("shift_jis", "<p>港の新しい水門が九年ぶりに開かれました。"),
            ("windows-1251", "<p>Новый шлюз порта открыт в понедельник."),
            ("gb18030", "<p>九年后，港口的新船闸于周一开放。"),
            ("euc-kr", "<p>항구의 새 갑문이 월요일에 열렸습니다."),
            (
                "windows-1252",
                "<p>Die Schleuse wurde geöffnet, früher als geplant, für größere Schiffe, hört man.",
            ),
        ] {
            let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
            assert_eq!(decode(&encoding.encode(text).0), text, "{label}");
        }
    }

    #[test]
    fn pages_begin_with_a_tag() {
        for page in [
            "<!DOCTYPE html><p>",
            " \n<HTML lang=en>",
            "<?xml version=\"1.0\"?>\n<!doctype html>",
            "<!-- saved --> <!-- twice --><body>",
            "<p>a",
            "<br/>",
            "<div\nclass=x>",
            "<details><summary>x",
            "\u{feff}<h1>x",
            "\0\u{1}\n<!doctype html>",
        ] {
            assert!(is_html(page), "{page}");
        }
        for text in [
            "",
            "a <p> b",
            "# Title\n\n<div>",
            "<rss><channel>",
            "<?xml version='1.0'?><feed>",
            "<- arrow",
            "<para>x",
            "<user@example.com>",
            "<p",
            "<!-- open",
            "{\"a\": \"<p>\"}",
        ] {
            assert!(!is_html(text), "{text}");
        }
    }

    fn decode(bytes: &[u8]) -> String {
        let mut decoder = Decoder::new(bytes);
        let (first, second) = bytes.split_at(bytes.len() / 2);
        decoder.decode(first, false) + &decoder.decode(second, true)
    }

    #[test]
    fn encodings_are_found() {
        assert_eq!(decode(b"\xEF\xBB\xBFgr\xC3\xBC\xC3\x9F"), "grüß");
        assert_eq!(decode(b"\xFF\xFEg\0r\0\xFC\0"), "grü");
        assert_eq!(decode("grüß".as_bytes()), "grüß");
        assert_eq!(decode(b"gr\xFC\xDF \x80"), "grüß €");
        for declared in [
            "<meta charset=\"shift_jis\">",
            "<META CHARSET = Shift_JIS />",
            "<meta http-equiv=content-type content='text/html; charset=SHIFT_JIS'>",
            "<?xml version=\"1.0\" encoding=\"Shift_JIS\"?>",
        ] {
            let bytes = [declared.as_bytes(), b"\x93\xFA\x96{"].concat();
            assert_eq!(decode(&bytes), format!("{declared}日本"), "{declared}");
        }
        // A page that was converted to UTF-8 still declares its old encoding.
        assert_eq!(decode(b"<meta charset=latin1>\xC3\xBC"), "<meta charset=latin1>ü");
        // A text may be about pages.
        assert_eq!(decode(b"Write <meta charset=shift_jis>."), "Write <meta charset=shift_jis>.");
        assert_eq!(
            decode(b"Write <meta charset=utf-8>, not \xFC."),
            "Write <meta charset=utf-8>, not ü."
        );
        // Tags are recognised without a mark.
        assert_eq!(decode(b"<\0p\0>\0\xFC\0"), "<p>ü");
        assert_eq!(decode(b"\0<\0p\0>\0\xFC"), "<p>ü");
        assert_eq!(decode(b"H\0a\0r\0b\0o\0u\0r\0 \0\xFC\0"), "Harbour ü");
        assert_eq!(decode(b"\0H\0a\0r\0b\0o\0u\0r\0 \0\xFC"), "Harbour ü");
        // With an unknown label, the bytes decide.
        assert_eq!(decode(b"<meta charset=nonsense>\xFC"), "<meta charset=nonsense>ü");
        assert_eq!(decode(b"<meta charset=utf-16>\xC3\xBC"), "<meta charset=utf-16>ü");
        assert_eq!(decode(b"<meta charset=utf-8>\xFC"), "<meta charset=utf-8>\u{fffd}");
        // The sample may end within a character.
        assert_eq!(decode(b"caf\xC3"), "caf\u{fffd}");
    }
}
