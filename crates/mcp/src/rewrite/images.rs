//! Images that a result holds as base64 in a text, or in a string of its JSON: a model can see them only as image blocks.
//!
//! A string counts if it is an image as a whole, or a `data:` URL of one (RFC 2397), of at least 1 KiB. The file must be
//! whole: models refuse a request with a broken image, and then see nothing at all.
//!
//! | format | whole if | source |
//! |---|---|---|
//! | PNG | its chunks begin with IHDR and end with IEND at the last byte | W3C PNG, third edition, 5.3 |
//! | JPEG | its segments have a frame, and it ends with EOI | ITU-T T.81, B.1 |
//! | GIF | it has a screen, and ends with the trailer | GIF89a, 18 and 27 |
//! | WebP | its RIFF header has the length of the file | RFC 9649, 2.3 |

use std::ops::Range;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;

use super::run::{self, Source, Texts};
use crate::jsonrpc::find::Found;
use crate::policy::failure::Failure;
use crate::spool::{Spool, SpoolError};

/// Shorter strings are not worth a block.
const SHORTEST: usize = 1 << 10;
/// The most bytes of an image, and the most pixels of a side, that models of all providers accept.
const LARGEST: usize = 3_932_160;
const LONGEST_SIDE: u64 = 8_000;
/// The most images of one result.
pub(super) const MOST: usize = 20;
/// The largest result that is searched.
const MOST_SEARCHED: usize = 32 << 20;

/// The end of the header of a `data:` URL.
const BASE64: &[u8] = b";base64,";

/// The first characters of each format in base64, and its media type.
const FORMATS: [(&str, &str); 4] = [
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
];

/// An image in base64.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    media_type: &'static str,
    data: Arc<str>,
}

impl Image {
    /// Returns the block for it.
    pub(super) fn block(&self) -> Vec<u8> {
        let Self { media_type, data } = self;
        format!("{{\"type\":\"image\",\"data\":\"{data}\",\"mimeType\":\"{media_type}\"}}")
            .into_bytes()
    }
}

/// Adds the images in the strings of a value, in their order, to those that are known. Strings inside strings count as well. A
/// longer value is not searched.
pub(super) fn find(
    message: &Spool,
    value: &Range<u64>,
    images: &mut Vec<Image>,
) -> Result<(), SpoolError> {
    let length = value.end.saturating_sub(value.start);
    if length < SHORTEST as u64 || length > MOST_SEARCHED as u64 {
        return Ok(());
    }
    let text = message.to_vec(value.clone(), MOST_SEARCHED)?;
    let mut places = Vec::new();
    // A long text may have any number of places that look like the beginning of an image.
    let begins = |at: &usize| {
        let before = text.get(..*at).unwrap_or_default();
        before.ends_with(b"\"") || before.ends_with(BASE64)
    };
    for (index, (first, _)) in FORMATS.iter().enumerate() {
        for first in [(*first).to_owned(), first.replace('/', "\\/")] {
            places.extend(memmem::find_iter(&text, &first).filter(begins).map(|at| (at, index)));
        }
    }
    places.sort_unstable();
    places.dedup();
    let mut searched = 0;
    for (at, format) in places {
        if images.len() >= MOST {
            break;
        }
        // A place inside a string that was read already.
        if at < searched {
            continue;
        }
        let Some((data, end)) = string_at(&text, at) else { continue };
        searched = end;
        let media_type = FORMATS.get(format).map_or("", |(_, media_type)| media_type);
        if is_image(&data, media_type) && !images.iter().any(|known| *known.data == *data) {
            images.push(Image { media_type, data: data.into() });
        }
    }
    Ok(())
}

/// Returns the image that the text of a block is.
pub(super) fn of_text(texts: &Texts<'_>, found: &Found) -> Result<Option<Image>, Failure> {
    let length = found.span.end.saturating_sub(found.span.start);
    if length < SHORTEST as u64 || length > (LARGEST * 2) as u64 {
        return Ok(None);
    }
    // The first characters nearly always decide.
    let first = texts.message.to_vec(found.span.start + 1..found.span.start + 12, 12)?;
    let starts = |start: &str| {
        let start = start.as_bytes();
        first.starts_with(start.get(..3).unwrap_or_default())
    };
    let is_space = first.first().is_some_and(|byte| matches!(byte, b' ' | b'\\'));
    if !is_space && !starts("data:image/") && !FORMATS.iter().any(|(format, _)| starts(format)) {
        return Ok(None);
    }
    let mut text = Vec::new();
    let read = run::read(texts, &Source::characters(found), |chunk| {
        text.extend_from_slice(chunk);
        Ok(())
    });
    Ok(read.ok().and_then(|()| one(&text)))
}

/// Returns the image that a text is, or that it is a `data:` URL of, without white space around it.
fn one(text: &[u8]) -> Option<Image> {
    let text = text.trim_ascii();
    let data = match text.strip_prefix(b"data:image/") {
        Some(url) => match memmem::find(url.get(..64.min(url.len())).unwrap_or_default(), BASE64) {
            Some(at) => url.get(at + BASE64.len()..).unwrap_or_default(),
            None => return None,
        },
        None => text,
    };
    let data = std::str::from_utf8(data).ok()?;
    let (_, media_type) = *FORMATS.iter().find(|(first, _)| data.starts_with(first))?;
    is_image(data, media_type).then(|| Image { media_type, data: data.into() })
}

/// Returns the base64 that begins at a byte, without escapes, if it is the whole content of a string or follows the header of a
/// `data:` URL that is. Also returns its end.
fn string_at(text: &[u8], at: usize) -> Option<(String, usize)> {
    let before = text.get(..at)?;
    let start = match before.strip_suffix(BASE64) {
        None => before,
        Some(header) => {
            let near = header.get(header.len().saturating_sub(64)..)?;
            let begin = memmem::rfind(near, b"data:image/")?;
            header.get(..header.len() - near.len() + begin)?
        }
    };
    // Looked at first: a long text may have any number of places that begin like an image.
    if start.last() != Some(&b'"') {
        return None;
    }
    let mut end = at;
    let mut data = Vec::new();
    while let Some(byte) = text.get(end) {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' | b'=' => data.push(*byte),
            // An escaped slash, or the quote of a string inside a string.
            b'\\' => {}
            _ => break,
        }
        end += 1;
    }
    let is_string = text.get(end) == Some(&b'"');
    let data = String::from_utf8(data).ok()?;
    (is_string && data.len() >= SHORTEST).then_some((data, end))
}

/// Returns whether base64 is a whole image of this type that models accept.
fn is_image(data: &str, media_type: &str) -> bool {
    if data.len() < SHORTEST || data.len() / 4 * 3 > LARGEST + 2 {
        return false;
    }
    let Ok(file) = STANDARD.decode(data) else { return false };
    let sides = match media_type {
        "image/png" => png(&file),
        "image/jpeg" => jpeg(&file),
        "image/gif" => gif(&file),
        _ => webp(&file),
    };
    file.len() <= LARGEST
        && sides.is_some_and(|sides| sides.iter().all(|side| (1..=LONGEST_SIDE).contains(side)))
}

/// Reads a number of up to four bytes, the most significant one first.
fn big(file: &[u8], range: Range<usize>) -> Option<u64> {
    Some(file.get(range)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Reads a number of up to four bytes, the least significant one first.
fn little(file: &[u8], range: Range<usize>) -> Option<u64> {
    Some(file.get(range)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn png(file: &[u8]) -> Option<[u64; 2]> {
    if !file.starts_with(b"\x89PNG\r\n\x1a\n") || file.get(12..16)? != b"IHDR" {
        return None;
    }
    let mut at = 8;
    loop {
        let length = usize::try_from(big(file, at..at + 4)?).ok()?;
        let name = file.get(at + 4..at + 8)?;
        // The length, the name and a checksum are not counted.
        let next = at.checked_add(length)?.checked_add(12)?;
        if name == b"IEND" {
            let sides = [big(file, 16..20)?, big(file, 20..24)?];
            return (next == file.len()).then_some(sides);
        }
        at = next;
    }
}

fn jpeg(file: &[u8]) -> Option<[u64; 2]> {
    if !file.ends_with(&[0xff, 0xd9]) {
        return None;
    }
    let mut at = 2;
    loop {
        let marker = *file.get(at + 1).filter(|_| file.get(at) == Some(&0xff))?;
        match marker {
            // A byte that only fills.
            0xff => at += 1,
            // Tables of codes, and conditions for arithmetic codes, have numbers among those of frames.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some([big(file, at + 5..at + 7)?, big(file, at + 7..at + 9)?]);
            }
            // The scan begins, and no frame came before it.
            0xda | 0xd9 => return None,
            _ => at = at.checked_add(2 + usize::try_from(big(file, at + 2..at + 4)?).ok()?)?,
        }
    }
}

fn gif(file: &[u8]) -> Option<[u64; 2]> {
    let is_whole =
        (file.starts_with(b"GIF87a") || file.starts_with(b"GIF89a")) && file.ends_with(b";");
    if !is_whole {
        return None;
    }
    Some([little(file, 6..8)?, little(file, 8..10)?])
}

fn webp(file: &[u8]) -> Option<[u64; 2]> {
    let length = little(file, 4..8)?;
    let is_whole = file.get(8..12)? == b"WEBP"
        && (length + 8 == file.len() as u64 || length + 9 == file.len() as u64);
    if !file.starts_with(b"RIFF") || !is_whole {
        return None;
    }
    match file.get(12..16)? {
        b"VP8X" => Some([little(file, 24..27)? + 1, little(file, 27..30)? + 1]),
        b"VP8L" => {
            let bits = little(file, 21..25)?;
            Some([(bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1])
        }
        b"VP8 " => Some([little(file, 26..28)? & 0x3fff, little(file, 28..30)? & 0x3fff]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::{Image, find, one};
    use crate::spool::Spool;

    /// Returns a file of each format with sides of 3 and 5 pixels, whose picture is not looked at.
    fn file(format: &str) -> Vec<u8> {
        let filling = vec![7; 2_000];
        let chunk = |name: &[u8], data: &[u8]| {
            [&(data.len() as u32).to_be_bytes()[..], name, data, &[0; 4]].concat()
        };
        match format {
            "png" => [
                b"\x89PNG\r\n\x1a\n".to_vec(),
                chunk(b"IHDR", &[0, 0, 0, 3, 0, 0, 0, 5, 8, 2, 0, 0, 0]),
                chunk(b"IDAT", &filling),
                chunk(b"IEND", b""),
            ]
            .concat(),
            "jpeg" => [
                &[0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc0, 0, 7, 8, 0, 5, 0, 3][..],
                &filling,
                &[0xff, 0xd9],
            ]
            .concat(),
            "gif" => [&b"GIF89a\x03\0\x05\0"[..], &filling, b";"].concat(),
            _ => {
                let length = (4 + 8 + 10 + filling.len() as u32).to_le_bytes();
                let frame = [0, 0, 0, 0, 2, 0, 0, 4, 0, 0];
                [&b"RIFF"[..], &length, b"WEBPVP8X", &[10, 0, 0, 0], &frame, &filling].concat()
            }
        }
    }

    fn found(result: &str) -> Vec<Image> {
        let (length, mut images) = (result.len() as u64, Vec::new());
        find(&Spool::from_vec(result.as_bytes().to_vec()), &(0..length), &mut images).unwrap();
        images
    }

    #[test]
    fn whole_images_are_found_in_strings() {
        for format in ["png", "jpeg", "gif", "webp"] {
            let data = STANDARD.encode(file(format));
            for text in [data.clone(), format!(" data:image/{format};base64,{data}\n")] {
                assert_eq!(&*one(text.as_bytes()).unwrap().data, data, "{format}");
            }
            for text in [
                format!("{{\"shot\":\"{data}\"}}"),
                format!("{{\"shot\":\"data:image/{format};base64,{data}\",\"again\":\"{data}\"}}"),
                format!("{{\"text\":\"{{\\\"shot\\\":\\\"{data}\\\"}}\"}}"),
                format!("[\"{}\"]", data.replace('/', "\\/")),
            ] {
                let found = found(&text);
                assert_eq!(found.len(), 1, "{format}");
                assert_eq!(&*found[0].data, data, "{format}");
                assert_eq!(found[0].media_type, format!("image/{format}"));
            }
        }
    }

    #[test]
    fn what_is_no_whole_image_stays_text() {
        for format in ["png", "jpeg", "gif", "webp"] {
            let file = file(format);
            let cut = STANDARD.encode(&file[..file.len() - 3]);
            let longer = STANDARD.encode([&file[..], b"more"].concat());
            let whole = STANDARD.encode(&file);
            assert!(found(&format!("[\"{cut}\"]")).is_empty(), "{format}");
            assert!(found(&format!("[\"{longer}\"]")).is_empty() || format == "jpeg", "{format}");
            assert!(found(&format!("[\"see {whole}\"]")).is_empty(), "{format}");
            assert!(found(&format!("[\"{whole} and more\"]")).is_empty(), "{format}");
        }
        let mut huge = file("png");
        huge[16] = 1;
        assert!(found(&format!("[\"{}\"]", STANDARD.encode(huge))).is_empty());
        assert!(found(&format!("[\"{}\"]", "iVBORw0KGgo".repeat(500))).is_empty());
    }
}
