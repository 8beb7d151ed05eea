//! Inputs that are compressed with gzip: recognised by their first bytes, and decoded while they are read.
//!
//! Only a header that no JSON text and no text in UTF-8 can begin with is recognised: the magic number and the method of RFC 1952,
//! without reserved flags. This module must not depend on what is read.

use std::fs::File;
use std::io::{self, Chain, Cursor, ErrorKind, Read, Seek, SeekFrom};

use flate2::read::MultiGzDecoder;

/// The magic number, and the only method.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// The flags of a header that have no meaning.
const RESERVED: u8 = 0b1110_0000;
/// The bytes by which a header is recognised.
const HEADER: usize = MAGIC.len() + 1;

/// The most bytes of one read while the header is looked for.
const FIRST_READ: usize = 512;

/// Returns whether the bytes may be the beginning of a header.
fn may_begin(head: &[u8]) -> bool {
    let has_magic = head.iter().zip(MAGIC).all(|(byte, magic)| *byte == magic);
    has_magic && head.get(MAGIC.len()).is_none_or(|flags| flags & RESERVED == 0)
}

/// Returns whether a file that can be read twice is compressed from its position on, which is unchanged.
pub(crate) fn is_compressed(file: &mut File) -> io::Result<bool> {
    let begin = file.stream_position()?;
    let mut head = Vec::new();
    file.by_ref().take(HEADER as u64).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(begin))?;
    Ok(head.len() == HEADER && may_begin(&head))
}

/// A reader that decodes its input if it is compressed, and returns it unchanged if not.
pub(crate) enum Decoded<R> {
    /// Nothing was read.
    New(R),
    Plain(Chain<Cursor<Vec<u8>>, R>),
    Compressed(MultiGzDecoder<Chain<Cursor<Vec<u8>>, R>>),
    /// The reader failed while the header was read.
    Failed,
}

impl<R: Read> Decoded<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self::New(reader)
    }

    /// Reads until it is known whether there is a header. A text is read once.
    fn begin(mut reader: R) -> io::Result<Self> {
        let mut head = Vec::new();
        while head.len() < HEADER && may_begin(&head) {
            let mut bytes = [0; FIRST_READ];
            match reader.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => head.extend(bytes.iter().take(count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let is_compressed = head.len() >= HEADER && may_begin(&head);
        let whole = Cursor::new(head).chain(reader);
        Ok(match is_compressed {
            true => Self::Compressed(MultiGzDecoder::new(whole)),
            false => Self::Plain(whole),
        })
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Self::New(_) = self
            && let Self::New(reader) = std::mem::replace(self, Self::Failed)
        {
            *self = Self::begin(reader)?;
        }
        match self {
            Self::Plain(reader) => reader.read(buffer),
            Self::Compressed(decoder) => decoder.read(buffer).map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => {
                    io::Error::new(ErrorKind::UnexpectedEof, "the gzip data ends too early")
                }
                ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                    io::Error::new(ErrorKind::InvalidData, format!("not valid gzip data: {error}"))
                }
                _ => error,
            }),
            Self::New(_) | Self::Failed => Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::Decoded;

    fn compressed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn decoded(input: &[u8]) -> Result<Vec<u8>, String> {
        let mut text = Vec::new();
        let read = Decoded::new(input).read_to_end(&mut text);
        read.map(|_| text).map_err(|error| error.to_string())
    }

    #[test]
    fn only_gzip_is_decoded() {
        let member = compressed(b"[1]");
        assert_eq!(decoded(&member).unwrap(), b"[1]");
        // Members that follow each other are one text (RFC 1952).
        assert_eq!(decoded(&[member, compressed(b" ")].concat()).unwrap(), b"[1] ");
        for plain in [&b""[..], b"[1]", b"\x1f", b"\x1f\x8b", b"\x1f\x8b\x08", b"\x1f\x8b\x08\xff"]
        {
            assert_eq!(decoded(plain).unwrap(), plain);
        }
    }

    #[test]
    fn broken_data_is_an_error() {
        let member = compressed(b"[1, 2, 3]");
        let cut = decoded(&member[..member.len() - 9]).unwrap_err();
        assert_eq!(cut, "the gzip data ends too early");
        let mut wrong = member;
        let last = wrong.len() - 6;
        wrong[last] ^= 0xff;
        assert!(decoded(&wrong).unwrap_err().starts_with("not valid gzip data"));
    }
}
