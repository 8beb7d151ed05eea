//! Tests of the decoder and the encoder: spellings, errors with their offsets, and every cut.

use serde_json::Value;

use super::{StringDecoder, StringEncoder, StringError, StringErrorKind};
use crate::sink::Sink;

/// Decodes contents in chunks that end at `cuts`, and a last one.
fn decode(contents: &[u8], cuts: &[usize]) -> (Vec<u8>, Result<(), StringError>) {
    let (mut decoder, mut text) = (StringDecoder::new(), Vec::new());
    let mut begin = 0;
    for end in cuts.iter().copied().chain([contents.len()]) {
        if let Err(error) = decoder.write(&contents[begin..end], &mut text) {
            assert_eq!(decoder.write(b"x", &mut Vec::new()), Err(error), "it stays failed");
            assert_eq!(decoder.end(), Err(error));
            return (text, Err(error));
        }
        begin = end;
    }
    let end = decoder.end();
    (text, end)
}

/// Decodes contents at every cut in two and byte by byte, and returns the result, which is always the same.
fn decode_all(contents: &[u8]) -> (Vec<u8>, Result<(), StringError>) {
    let whole = decode(contents, &[]);
    for cut in 0..=contents.len() {
        assert_eq!(decode(contents, &[cut]), whole, "{} at {cut}", contents.escape_ascii());
    }
    let bytes: Vec<usize> = (1..contents.len()).collect();
    assert_eq!(decode(contents, &bytes), whole, "{}", contents.escape_ascii());
    whole
}

const VALID: [&str; 12] = [
    "",
    "plain",
    "ein längerer Text ohne jede Besonderheit, länger als ein kurzes Stück",
    r#"\"\\\/\b\f\n\r\t"#,
    r"\u0041\u00e9\u20AC\uFFFF",
    r"\uD83D\ude00",
    r"a\ud83d\uDE00b",
    r"\u0000\u001f\u007f",
    r"\\u0041",
    r#"{\"a\":[1,\"\\u0041\\\"\",{}]}"#,
    "caf\u{e9}\u{1f600}\\n",
    r"0123456789abcde\n0123456789abcdef\n0123456789abcdefg\n",
];

#[test]
fn valid_contents_have_a_text() {
    for contents in VALID {
        let literal = format!("\"{contents}\"");
        let expected: String = serde_json::from_str(&literal).unwrap();
        let (text, end) = decode_all(contents.as_bytes());
        assert_eq!((text, end), (expected.into_bytes(), Ok(())), "{contents}");
    }
}

#[test]
fn errors_have_a_kind_and_an_offset() {
    use StringErrorKind::{Incomplete, InvalidEscape, LoneSurrogate, UnescapedQuote};
    let cases: [(&str, &str, StringErrorKind, u64); 19] = [
        (r"ab\ud83d", "ab", LoneSurrogate, 2),
        (r"ab\ud83dc", "ab", LoneSurrogate, 2),
        (r"ab\ud83d\n", "ab", LoneSurrogate, 2),
        (r"ab\ude00", "ab", LoneSurrogate, 2),
        (r"\ud83d\u0041", "", LoneSurrogate, 0),
        (r"\ud83d\ud83d\ude00", "", LoneSurrogate, 0),
        (r"\ud83d\ude00\ude00", "\u{1f600}", LoneSurrogate, 12),
        (r"\ud83d\u00", "", LoneSurrogate, 0),
        (r"a\x", "a", InvalidEscape, 1),
        (r"a\u12g4b", "a", InvalidEscape, 1),
        (r"a\u+123", "a", InvalidEscape, 1),
        (r"ab\ud83d\u00g0", "ab", LoneSurrogate, 2),
        (r"ab\ud83d\x", "ab", LoneSurrogate, 2),
        (r#"a"b"#, "a", UnescapedQuote, 1),
        (r#"\n""#, "\n", UnescapedQuote, 2),
        (r"a\", "a", Incomplete, 2),
        (r"a\u", "a", Incomplete, 3),
        (r"a\u123", "a", Incomplete, 6),
        (r#"ab\ud83d""#, "ab", LoneSurrogate, 2),
    ];
    for (contents, before, kind, offset) in cases {
        let (text, end) = decode_all(contents.as_bytes());
        let error = end.unwrap_err();
        assert_eq!((error.kind(), error.offset()), (kind, offset), "{contents}: {error}");
        assert_eq!(text, before.as_bytes(), "{contents}");
    }
}

/// Encodes a text in pieces.
/// Contents of many blocks, made of pieces that a number chooses.
fn long_contents(mut random: u64) -> Vec<u8> {
    const PIECES: [&[u8]; 16] = [
        b"\\\"",
        b"\\\\",
        b"\\n",
        b"\\/",
        b"plain text",
        b"x",
        b"\\\"name\\\":",
        b"\xC3\xA9",
        b"{}[],:",
        b"0123456789abcdef0123456789abcdef0123456789",
        b"\\u00e9",
        b"\\ud83d\\ude00",
        b"\\t\\b\\f\\r",
        b" ",
        b"\\ud83d",
        b"\\x",
    ];
    let mut contents = Vec::new();
    let rare = random.is_multiple_of(5);
    while contents.len() < 400 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let piece = (random >> 33) as usize % if rare { 400 } else { 14 };
        contents.extend_from_slice(PIECES.get(piece).unwrap_or(&PIECES[9]));
    }
    contents
}

#[test]
fn blocks_and_single_bytes_have_the_same_text() {
    for number in 0..if cfg!(miri) { 3 } else { 300 } {
        let contents = long_contents(number);
        let bytes: Vec<usize> = (1..contents.len()).collect();
        let whole = decode(&contents, &[]);
        assert_eq!(decode(&contents, &bytes), whole, "{}", contents.escape_ascii());
        let cut = number as usize % contents.len();
        assert_eq!(decode(&contents, &[cut]), whole, "{} at {cut}", contents.escape_ascii());
    }
}

fn encode(pieces: &[&[u8]]) -> Vec<u8> {
    let mut encoder = StringEncoder::new(Vec::new());
    for piece in pieces {
        encoder.write(piece);
    }
    encoder.into_sink()
}

#[test]
fn encoded_text_is_read_back() {
    let mut texts: Vec<String> = (0..0x180).filter_map(char::from_u32).map(String::from).collect();
    texts.push("a\"b\\c\u{1}\u{1f}\n\u{7f}\u{e9}\u{2028}\u{1f600}".to_owned());
    texts.push(r#"{"a":"\u0041\"","b":[]}"#.to_owned());
    for text in texts {
        let bytes = text.as_bytes();
        let encoded = encode(&[bytes]);
        for cut in 0..=bytes.len() {
            let (begin, end) = bytes.split_at(cut);
            assert_eq!(encode(&[begin, end]), encoded, "{text:?} at {cut}");
        }
        let literal = [b"\"".as_slice(), &encoded, b"\""].concat();
        assert_eq!(serde_json::from_slice::<Value>(&literal).unwrap(), Value::from(text.clone()));
        assert_eq!(decode_all(&encoded), (text.into_bytes(), Ok(())));
    }
}

#[test]
fn only_what_must_be_escaped_is() {
    let text = "\"\\/\u{7}\u{8}\t\n\u{b}\u{c}\r\u{7f}\u{e9}\u{2028}\u{1f600}";
    let encoded = "\\\"\\\\/\\u0007\\b\\t\\n\\u000b\\f\\r\u{7f}\u{e9}\u{2028}\u{1f600}";
    assert_eq!(encode(&[text.as_bytes()]), encoded.as_bytes());
}

/// A long text is encoded in windows.
#[test]
fn long_texts_pass_in_pieces() {
    #[derive(Default)]
    struct Longest(usize, usize);
    impl Sink for Longest {
        fn write(&mut self, bytes: &[u8]) {
            self.0 = self.0.max(bytes.len());
            self.1 += bytes.len();
        }
    }
    let text = "\u{1}".repeat(1 << 20);
    let mut encoder = StringEncoder::new(Longest::default());
    encoder.write(text.as_bytes());
    let Longest(longest, sum) = encoder.into_sink();
    assert_eq!(sum, 6 << 20);
    assert!(longest <= 6 * (16 << 10), "{longest}");
}
