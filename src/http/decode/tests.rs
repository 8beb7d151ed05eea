//! Bodies of each coding: whole, cut anywhere, joined, damaged, and those that become very large.

use bytes::Bytes;
use compression_codecs::flate::params::FlateEncoderParams;
use compression_codecs::zstd::params::CParameter;
use compression_codecs::{BrotliEncoder, EncodeV2, GzipEncoder, ZstdEncoder, brotli};
use compression_core::Level;
use compression_core::util::{PartialBuffer, WriteBuffer};

use super::{ALLOWANCE, ContentCoding, DecodeOptions, Decoder, PIECE, SHARE};
use crate::{Error, ErrorKind, Fault};

const CODINGS: [ContentCoding; 3] =
    [ContentCoding::Gzip, ContentCoding::Brotli, ContentCoding::Zstd];

/// A skippable zstd frame of four bytes (RFC 8878, section 3.1.2).
const SKIPPABLE: &[u8] = &[0x5A, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, b's', b'k', b'i', b'p'];

fn encoder(coding: ContentCoding) -> Box<dyn EncodeV2> {
    match coding {
        ContentCoding::Gzip => Box::new(GzipEncoder::new(FlateEncoderParams::from(Level::Default))),
        ContentCoding::Brotli => {
            let params = brotli::params::EncoderParams::default().quality(Level::Precise(5));
            Box::new(BrotliEncoder::new(params))
        }
        ContentCoding::Zstd => {
            Box::new(ZstdEncoder::new_with_params(3, &[CParameter::checksum_flag(true)]))
        }
    }
}

fn encode_with(encoder: &mut dyn EncodeV2, text: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut room = vec![0; 64 << 10];
    let mut input = PartialBuffer::new(text);
    let mut ended = false;
    while !ended {
        let mut output = WriteBuffer::new_initialized(&mut room);
        if input.unwritten().is_empty() {
            ended = encoder.finish(&mut output).unwrap();
        } else {
            encoder.encode(&mut input, &mut output).unwrap();
        }
        body.extend_from_slice(output.written());
    }
    body
}

fn encode(coding: ContentCoding, text: &[u8]) -> Vec<u8> {
    encode_with(&mut *encoder(coding), text)
}

/// Returns the decoded text and the result, after checking that every call kept to its share.
fn decode_as(
    coding: ContentCoding,
    decoding: &DecodeOptions,
    chunks: impl IntoIterator<Item = Bytes>,
) -> (Vec<u8>, Result<(), Error>) {
    let mut decoder = Decoder::new(coding, decoding);
    let mut text = Vec::new();
    let result = (|| {
        for mut chunk in chunks {
            loop {
                let before = chunk.len();
                let piece = decoder.next(&mut chunk)?;
                assert!(before - chunk.len() <= SHARE);
                let Some(piece) = piece else { break };
                assert!(piece.len() <= PIECE);
                assert!(!piece.is_empty() || chunk.len() < before, "a call does something");
                text.extend_from_slice(&piece);
            }
            assert!(chunk.is_empty(), "None asks for more");
        }
        while let Some(piece) = decoder.finish()? {
            assert!(!piece.is_empty() && piece.len() <= PIECE);
            text.extend_from_slice(&piece);
        }
        assert!(decoder.finish()?.is_none(), "it stays ended");
        Ok(())
    })();
    (text, result)
}

fn decode(coding: ContentCoding, body: &[u8]) -> (Vec<u8>, Result<(), Error>) {
    decode_as(coding, &DecodeOptions::new(), [Bytes::copy_from_slice(body)])
}

/// Splits a body into chunks of `size` bytes.
fn chunks(body: &[u8], size: usize) -> Vec<Bytes> {
    body.chunks(size).map(Bytes::copy_from_slice).collect()
}

fn refused(coding: ContentCoding, body: &[u8]) -> Error {
    decode(coding, body).1.expect_err("it is refused")
}

/// Pseudo-random numbers, the same in each run (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// JSON of about `size` bytes, with parts that do not compress.
fn json(bytes: usize) -> Vec<u8> {
    let mut numbers = Numbers(1);
    let mut text = String::from("[0");
    while text.len() < bytes {
        text.push_str(&format!(",{{\"id\":{},\"state\":\"open\"}}", numbers.next()));
    }
    text.push(']');
    text.into_bytes()
}

#[test]
fn a_body_is_decoded_in_chunks_of_any_size() {
    for coding in CODINGS {
        for size in [0, 1, 40, 500, PIECE, 300_000] {
            let text = if size < 2 { vec![b'7'; size] } else { json(size) };
            let body = encode(coding, &text);
            for chunk in [1, 2, 3, 7, 1000, SHARE, 1 << 20] {
                let (decoded, result) =
                    decode_as(coding, &DecodeOptions::new(), chunks(&body, chunk));
                result.unwrap_or_else(|error| panic!("{coding:?}, {size}, {chunk}: {error}"));
                assert!(decoded == text, "{coding:?}, {size}, {chunk}");
            }
        }
    }
}

#[test]
fn a_body_is_decoded_at_every_cut() {
    for coding in CODINGS {
        let text = json(900);
        let mut body = encode(coding, &text);
        let mut expected = text.clone();
        if coding != ContentCoding::Brotli {
            body.extend_from_slice(&encode(coding, &text));
            expected.extend_from_slice(&text);
        }
        for at in 0..=body.len() {
            let (front, back) = body.split_at(at);
            let two = [front, b"", back].map(Bytes::copy_from_slice);
            let (decoded, result) = decode_as(coding, &DecodeOptions::new(), two);
            assert!(result.is_ok() && decoded == expected, "{coding:?}, {at}: {result:?}");
        }
    }
}

/// The content of a chunk is returned before more input is needed, so a filter need not wait for the end.
#[test]
fn decoded_bytes_are_returned_at_once() {
    for coding in CODINGS {
        let mut encoder = encoder(coding);
        let mut room = vec![0; 64 << 10];
        let mut output = WriteBuffer::new_initialized(&mut room);
        encoder.encode(&mut PartialBuffer::new(&b"{\"first\":1,"[..]), &mut output).unwrap();
        assert!(encoder.flush(&mut output).unwrap());
        let mut chunk = Bytes::copy_from_slice(output.written());
        let mut decoder = Decoder::new(coding, &DecodeOptions::new());
        let piece = decoder.next(&mut chunk).unwrap().unwrap();
        assert_eq!(piece, &b"{\"first\":1,"[..], "{coding:?}");
    }
}

#[test]
fn members_and_frames_are_one_text() {
    let join = |parts: &[&[u8]]| parts.concat();
    let (one, two) = (encode(ContentCoding::Gzip, b"[1,"), encode(ContentCoding::Gzip, b"2]"));
    let none = encode(ContentCoding::Gzip, b"");
    let (first, second) = (encode(ContentCoding::Zstd, b"[1,"), encode(ContentCoding::Zstd, b"2]"));
    let bodies = [
        (ContentCoding::Gzip, join(&[&one, &two])),
        (ContentCoding::Gzip, join(&[&none, &one, &none, &none, &two, &none])),
        (ContentCoding::Zstd, join(&[&first, &second])),
        (ContentCoding::Zstd, join(&[SKIPPABLE, &first, SKIPPABLE, SKIPPABLE, &second, SKIPPABLE])),
        (ContentCoding::Zstd, join(&[&first, &encode(ContentCoding::Zstd, b""), &second])),
    ];
    for (coding, body) in bodies {
        for chunk in [1, 5, 1 << 20] {
            let (decoded, result) = decode_as(coding, &DecodeOptions::new(), chunks(&body, chunk));
            assert!(result.is_ok(), "{coding:?}: {result:?}");
            assert_eq!(decoded, b"[1,2]", "{coding:?}");
        }
    }
    let (decoded, result) = decode(ContentCoding::Zstd, SKIPPABLE);
    assert!(result.is_ok() && decoded.is_empty());
}

/// All the fields that a gzip header can have (RFC 1952, section 2.3).
#[test]
fn a_gzip_header_may_have_every_field() {
    let plain = encode(ContentCoding::Gzip, b"[1]");
    let mut body = vec![0x1F, 0x8B, 8, 0b1_1100, 0, 0, 0, 0, 0, 3];
    body.extend_from_slice(&[3, 0, b'e', b'x', b't']);
    body.extend_from_slice(b"name\0comment\0");
    body.extend_from_slice(&plain[10..]);
    for chunk in [1, 1 << 20] {
        let (decoded, result) =
            decode_as(ContentCoding::Gzip, &DecodeOptions::new(), chunks(&body, chunk));
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(decoded, b"[1]");
    }
}

#[test]
fn a_body_of_no_bytes_is_an_empty_text() {
    for coding in CODINGS {
        let (text, result) = decode_as(coding, &DecodeOptions::new(), []);
        assert!(result.is_ok() && text.is_empty());
        let (text, result) = decode(coding, b"");
        assert!(result.is_ok() && text.is_empty());
    }
}

#[test]
fn a_body_that_is_cut_off_ended_too_early() {
    for coding in CODINGS {
        let text = json(900);
        let whole = encode(coding, &text);
        let mut bodies = vec![(whole.clone(), 0)];
        if coding != ContentCoding::Brotli {
            bodies.push(([&whole[..], &whole].concat(), whole.len()));
        }
        if coding == ContentCoding::Zstd {
            bodies.push((SKIPPABLE.to_vec(), 0));
        }
        for (body, start) in bodies {
            for end in start + 1..body.len() {
                for chunk in [1, 1 << 20] {
                    let cut = chunks(&body[..end], chunk);
                    let (decoded, result) = decode_as(coding, &DecodeOptions::new(), cut);
                    let error = result.expect_err("a cut");
                    assert_eq!(
                        error.kind(),
                        ErrorKind::UnexpectedEnd,
                        "{coding:?}, {end}: {error}"
                    );
                    assert_eq!(error.offset(), Some(end as u64));
                    assert!([&text[..], &text].concat().starts_with(&decoded));
                }
            }
        }
    }
    let error = refused(ContentCoding::Gzip, &encode(ContentCoding::Gzip, b"[1]")[..12]);
    assert_eq!(
        error.to_string(),
        "byte 12: unexpected end of the gzip body (place in the encoded body)"
    );
}

#[test]
fn bytes_behind_the_end_are_refused() {
    for coding in CODINGS {
        let body = encode(coding, b"[1]");
        for garbage in [&b"\0"[..], b"\0\0\0\0\0\0\0\0", b"\n", b"{}", b"\x1E\x8B\x08"] {
            let joined = [&body[..], garbage].concat();
            for chunk in [1, 1 << 20] {
                let (decoded, result) =
                    decode_as(coding, &DecodeOptions::new(), chunks(&joined, chunk));
                let error = result.expect_err("garbage");
                assert_eq!(error.kind(), ErrorKind::Encoding, "{coding:?}: {error}");
                assert_eq!(error.fault(), Fault::Input);
                assert_eq!(error.offset(), Some(body.len() as u64), "{coding:?}: {error}");
                assert!(b"[1]".starts_with(&decoded[..]));
            }
        }
    }
    // One Brotli stream is a body; a second one is not a part of it.
    let body = encode(ContentCoding::Brotli, b"[1]");
    assert_eq!(
        refused(ContentCoding::Brotli, &[&body[..], &body].concat()).kind(),
        ErrorKind::Encoding
    );
}

#[test]
fn a_body_that_is_something_else_is_refused() {
    let bodies: [(ContentCoding, &[u8], &str); 5] = [
        (
            ContentCoding::Gzip,
            b"{\"plain\": 1}",
            "cannot decode the gzip body: Invalid gzip header",
        ),
        (
            ContentCoding::Zstd,
            b"{\"plain\": 1}",
            "cannot decode the zstd body: Unknown frame descriptor",
        ),
        (ContentCoding::Brotli, b"\xFF\xFF\xFF\xFF", "cannot decode the br body: it is corrupt"),
        (
            ContentCoding::Brotli,
            b"\x11\x1E\0\0",
            "cannot decode the br body: its window has more than 16 MiB (RFC 7932)",
        ),
        // A frame header that declares a window of 16 MiB, and a last raw block of one byte.
        (
            ContentCoding::Zstd,
            &[0x28, 0xB5, 0x2F, 0xFD, 0, 14 << 3, 9, 0, 0, b'7'],
            "cannot decode the zstd body: its window has more than 8 MiB (RFC 9659)",
        ),
    ];
    for (coding, body, message) in bodies {
        for chunk in [1, 1 << 20] {
            let (_, result) = decode_as(coding, &DecodeOptions::new(), chunks(body, chunk));
            let error = result.expect_err("not of this coding");
            assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Encoding, message));
        }
    }
    let largest = [0x28, 0xB5, 0x2F, 0xFD, 0, 13 << 3, 9, 0, 0, b'7'];
    assert_eq!(decode(ContentCoding::Zstd, &largest).0, b"7", "a window of 8 MiB");
}

#[test]
fn a_wrong_checksum_is_refused() {
    for coding in [ContentCoding::Gzip, ContentCoding::Zstd] {
        let body = encode(coding, &json(500));
        for back in 1..=4 {
            for chunk in [1, 1 << 20] {
                let mut wrong = body.clone();
                let at = wrong.len() - back;
                wrong[at] ^= 0x10;
                let (_, result) = decode_as(coding, &DecodeOptions::new(), chunks(&wrong, chunk));
                assert_eq!(result.expect_err("wrong").kind(), ErrorKind::Encoding, "{coding:?}");
            }
        }
    }
    let mut wrong = encode(ContentCoding::Gzip, &json(500));
    let at = wrong.len() - 8;
    wrong[at] ^= 1;
    let told = refused(ContentCoding::Gzip, &wrong).to_string();
    assert_eq!(told, "cannot decode the gzip body: CRC computed does not match");
}

#[test]
fn a_bomb_is_stopped_by_its_ratio() {
    for coding in CODINGS {
        let body = encode(coding, &vec![b' '; 40 << 20]);
        for chunk in [1, 100, 1 << 20] {
            let (text, result) = decode_as(coding, &DecodeOptions::new(), chunks(&body, chunk));
            let error = result.expect_err("a bomb");
            assert_eq!((error.kind(), error.fault()), (ErrorKind::Limit, Fault::Limit));
            let told = "the body decodes to more than 256 times its length (limit `max_ratio`)";
            assert_eq!(error.to_string(), told);
            let most = body.len() as u64 * 256 + ALLOWANCE;
            assert!(text.len() as u64 <= most && text.len() as u64 >= ALLOWANCE - PIECE as u64);
        }
        let generous = DecodeOptions::new().with_max_ratio(u64::MAX);
        let (text, result) = decode_as(coding, &generous, chunks(&body, 1 << 20));
        assert!(result.is_ok() && text.len() == 40 << 20, "{coding:?}: {result:?}");
        let (text, result) =
            decode_as(coding, &DecodeOptions::new(), [encode(coding, &text[..1 << 20]).into()]);
        assert!(result.is_ok() && text.len() == 1 << 20, "what is within the first allowance");
    }
}

#[test]
fn a_text_is_as_long_as_it_may_be() {
    for coding in CODINGS {
        let text = json(200_000);
        let body = encode(coding, &text);
        let exact = DecodeOptions::new().with_max_bytes(text.len() as u64);
        let (decoded, result) = decode_as(coding, &exact, chunks(&body, 1000));
        assert!(result.is_ok() && decoded == text);
        let less = exact.with_max_bytes(text.len() as u64 - 1);
        let (decoded, result) = decode_as(coding, &less, chunks(&body, 1000));
        let error = result.expect_err("one byte more");
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(error.limit(), Some("max_bytes"), "{error}");
        assert!(text.starts_with(&decoded));
    }
}

/// Bodies that are long and decode to nothing: `decode_as` asserts each call's share.
#[test]
fn empty_blocks_are_decoded_in_shares() {
    let empty_blocks = {
        let mut body = vec![0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3];
        body.extend([0, 0, 0, 0xFF, 0xFF].repeat(50_000));
        body.extend([1, 0, 0, 0xFF, 0xFF]);
        body.extend([0; 8]);
        body
    };
    let long_name = {
        let mut body = vec![0x1F, 0x8B, 8, 8, 0, 0, 0, 0, 0, 3];
        body.extend([b'n'; 300_000]);
        body.extend([0, 1, 0, 0, 0xFF, 0xFF]);
        body.extend([0; 8]);
        body
    };
    let bodies = [
        (ContentCoding::Gzip, empty_blocks),
        (ContentCoding::Gzip, long_name),
        (ContentCoding::Gzip, encode(ContentCoding::Gzip, b"").repeat(10_000)),
        (ContentCoding::Zstd, SKIPPABLE.repeat(20_000)),
        (ContentCoding::Zstd, encode(ContentCoding::Zstd, b"").repeat(10_000)),
    ];
    for (coding, body) in bodies {
        for chunk in [1, 1 << 20] {
            let (decoded, result) = decode_as(coding, &DecodeOptions::new(), chunks(&body, chunk));
            assert!(result.is_ok(), "{coding:?}: {result:?}");
            assert!(decoded.is_empty());
        }
    }
}

#[test]
fn a_failed_decoder_stays_failed() {
    let mut decoder = Decoder::new(ContentCoding::Gzip, &DecodeOptions::new());
    assert!(decoder.next(&mut Bytes::from_static(b"{}")).is_err());
    let mut good = Bytes::from(encode(ContentCoding::Gzip, b"[1]"));
    assert_eq!(decoder.next(&mut good).unwrap_err().kind(), ErrorKind::Failed);
    assert_eq!(decoder.finish().unwrap_err().kind(), ErrorKind::Failed);
}

/// Damage is an error or another text, the same for any chunks; it is never a panic or a loop.
#[test]
fn damaged_bodies_are_survived() {
    const ROUNDS: usize = 300;
    let mut numbers = Numbers(7);
    for coding in CODINGS {
        let seeds = [
            encode(coding, b"[1,2,3]"),
            encode(coding, &json(2000)),
            encode(coding, &json(2000)).repeat(2),
            encode(coding, &vec![b'a'; 100_000]),
        ];
        for round in 0..ROUNDS {
            let mut body = seeds[round % seeds.len()].clone();
            for _ in 0..1 + numbers.below(4) {
                let at = numbers.below(body.len());
                match numbers.below(5) {
                    0 => body[at] = numbers.next() as u8,
                    1 => body[at] ^= 1 << numbers.below(8),
                    2 => body.truncate(at.max(1)),
                    3 => body.insert(at, numbers.next() as u8),
                    _ => {
                        let from = numbers.below(body.len());
                        let part = body[from..body.len().min(from + numbers.below(40))].to_vec();
                        body.splice(at..at, part);
                    }
                }
            }
            let whole = decode_as(coding, &DecodeOptions::new(), chunks(&body, 1 << 20));
            let size = 1 + numbers.below(50);
            let parts = decode_as(coding, &DecodeOptions::new(), chunks(&body, size));
            let said =
                |run: &(Vec<u8>, Result<(), Error>)| run.1.as_ref().copied().map_err(Error::kind);
            assert_eq!(said(&whole), said(&parts), "{coding:?}, {round}");
            let stuck = |result: &Result<(), Error>| {
                result.as_ref().is_err_and(|error| error.message().ends_with("the decoder failed"))
            };
            assert!(!stuck(&whole.1) && !stuck(&parts.1), "{coding:?}, {round}: a panic or a loop");
            if whole.1.is_ok() {
                assert!(whole.0 == parts.0, "{coding:?}, {round}");
            }
        }
    }
}

#[test]
fn codings_are_named_as_in_the_field() {
    for (value, coding) in [
        ("gzip", Some(ContentCoding::Gzip)),
        ("X-GZip", Some(ContentCoding::Gzip)),
        ("\tbr ", Some(ContentCoding::Brotli)),
        ("ZSTD,", Some(ContentCoding::Zstd)),
        ("Identity", None),
        ("", None),
        (" , ", None),
    ] {
        assert_eq!(ContentCoding::from_content_encoding(value).unwrap(), coding, "{value}");
    }
    for (value, message) in [
        ("deflate", "expected the content coding gzip, br or zstd, not `deflate`"),
        ("gzip, gzip", "expected a single content coding, not `gzip, gzip`"),
        ("gz\u{1b}ip", "expected the content coding gzip, br or zstd, not `gz\\u{1b}ip`"),
    ] {
        let error = ContentCoding::from_content_encoding(value).unwrap_err();
        assert_eq!((error.kind(), error.fault()), (ErrorKind::Encoding, Fault::Input));
        assert_eq!(error.message(), message);
    }
    let long = ContentCoding::from_content_encoding(&"x".repeat(5000)).unwrap_err();
    assert!(long.message().len() < 200, "{long}");
    for coding in CODINGS {
        assert_eq!(ContentCoding::from_content_encoding(coding.as_str()).unwrap(), Some(coding));
    }
}
