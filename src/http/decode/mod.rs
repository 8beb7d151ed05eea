//! Decodes content codings before a filter: encoded bytes are pushed in, pieces of text are returned.
//!
//! Uses the decoders of compression-codecs. This module tracks the ends of members and frames and the cost of a call;
//! it does not inspect the text.
//!
//! Invariants: a call takes at most [`SHARE`] encoded bytes and returns at most [`PIECE`] decoded ones, whatever the
//! body is. Work is linear in both (a Brotli decoder fills its window, 16 MiB at most, before it returns the first
//! piece of it). The body is never copied as a whole. Memory is that of [`DecodeOptions`].

mod coding;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::{Buf, Bytes};
use compression_codecs::zstd::params::DParameter;
use compression_codecs::{BrotliDecoder, DecodeV2, GzipDecoder, ZstdDecoder};
use compression_core::util::{PartialBuffer, WriteBuffer};

use tamis_json::error::{Error, ErrorKind, LimitName, Raise};

use super::transform::{Pace, Transform};
pub use coding::{ContentCoding, DecodeOptions};

/// Maximum number of decoded bytes that a call returns.
const PIECE: usize = 64 << 10;

/// Maximum number of encoded bytes that a call takes. A long body can decode to nothing, at the cost of a table for
/// every ten bits (empty blocks in gzip: about 2 µs each).
const SHARE: usize = 4 << 10;

/// Decoded bytes that are exempt from the ratio, because a short text of equal records has a high one.
const ALLOWANCE: u64 = 1 << 20;

/// The largest window of the content coding `zstd`, as a power of two: 8 MiB (RFC 9659, section 3).
const ZSTD_WINDOW_LOG: u32 = 23;

/// Decodes one body.
pub(crate) struct Decoder {
    coding: ContentCoding,
    decoding: DecodeOptions,
    codec: Box<dyn DecodeV2 + Send + Sync>,
    place: BodyPosition,
    /// The last piece was full, so there may be more without more input.
    full: bool,
    failed: bool,
    /// Encoded bytes so far.
    taken: u64,
    /// Decoded bytes so far.
    made: u64,
    /// The output buffer of the codec. Pieces are copied out of it, so that a short one does not occupy 64 KiB.
    scratch: Box<[u8]>,
}

/// The position of the decoder in the body.
///
/// ```text
/// Start ──byte──▶ Inside ──its end──▶ Between ──byte──▶ Inside (gzip, zstd)
///                                        └─────byte──▶ error (br)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyPosition {
    /// No byte was read yet. A body that ends here decodes to an empty text, as in browsers: servers send such a body
    /// in response to HEAD, and with 204 and 304.
    Start,
    /// Within a gzip member, a zstd frame, or the one Brotli stream.
    Inside,
    /// After a member, a frame or the stream. The body may end here.
    Between,
}

/// Why decoding cannot continue, without the place.
enum DecodeFlaw {
    /// The codec returned an error.
    Codec(std::io::Error),
    /// The codec panicked, or makes no progress.
    Stuck,
    /// The end is followed by something other than a member or frame.
    Trailing,
    /// A Brotli stream with a window that RFC 7932 does not allow.
    LargeWindow,
}

impl Transform {
    /// Decodes the input before it is filtered.
    ///
    /// All steps then run on the pool for blocking work, because the sender determines how long one takes.
    ///
    /// ```
    /// use std::io::Write;
    /// use tamis::http::{ContentCoding, DecodeOptions, Transform, transform_async};
    /// use tamis::{Program, Spec};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    /// encoder.write_all(br#"{"id": 1, "x": 2}"#)?;
    /// let response = encoder.finish()?;
    ///
    /// let program = Program::compile(&Spec::new().select("id"))?;
    /// let transform = Transform::json(&program).with_decoding(ContentCoding::Gzip, &DecodeOptions::new());
    /// let mut output = Vec::new();
    /// transform_async(transform, &response[..], &mut output).await?;
    /// assert_eq!(output, br#"{"id":1}"#);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_decoding(mut self, coding: ContentCoding, decoding: &DecodeOptions) -> Self {
        self.decoder = Some(Decoder::new(coding, decoding));
        self.pace = Pace::Work;
        self
    }
}

impl Decoder {
    pub(crate) fn new(coding: ContentCoding, decoding: &DecodeOptions) -> Self {
        let codec: Box<dyn DecodeV2 + Send + Sync> = match coding {
            ContentCoding::Gzip => Box::new(GzipDecoder::new()),
            ContentCoding::Brotli => Box::new(BrotliDecoder::new()),
            ContentCoding::Zstd => {
                let window = DParameter::window_log_max(ZSTD_WINDOW_LOG);
                Box::new(ZstdDecoder::new_with_params(&[window]))
            }
        };
        Self {
            coding,
            decoding: decoding.clone(),
            codec,
            place: BodyPosition::Start,
            full: false,
            failed: false,
            taken: 0,
            made: 0,
            scratch: vec![0; PIECE].into_boxed_slice(),
        }
    }

    /// Decodes the start of `input`, advances it, and returns a piece of at most 64 KiB. Returns `None` if all of it
    /// was taken and more is needed.
    ///
    /// A piece is empty if a call did its share of work without output: headers, empty blocks, skipped frames.
    ///
    /// # Errors
    /// Input that cannot be decoded, and the limits of [`DecodeOptions`]. Pieces returned before an error are correct.
    pub(crate) fn next(&mut self, input: &mut Bytes) -> Result<Option<Bytes>, Error> {
        if self.failed {
            return Err(Error::new(ErrorKind::Failed, "the decoder has failed before"));
        }
        let piece = self.piece(input);
        self.failed = piece.is_err();
        piece
    }

    /// Decodes the rest after all input was pushed, piece by piece, then returns `None`.
    ///
    /// # Errors
    /// As for [`next`](Self::next), and [`ErrorKind::UnexpectedEnd`] for a body that is cut off.
    pub(crate) fn finish(&mut self) -> Result<Option<Bytes>, Error> {
        let piece = self.next(&mut Bytes::new())?;
        if piece.is_none() && self.place == BodyPosition::Inside {
            self.failed = true;
            let message = format!("unexpected end of the {} body", self.coding.as_str());
            return Err(Error::in_encoded(ErrorKind::UnexpectedEnd, message, self.taken));
        }
        Ok(piece)
    }

    fn piece(&mut self, input: &mut Bytes) -> Result<Option<Bytes>, Error> {
        let mut encoded = PartialBuffer::new(input.get(..SHARE).unwrap_or(input));
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut decoded = WriteBuffer::new_initialized(&mut scratch);
        // The codecs should accept any bytes; a bug in one of them must not affect more than this body.
        let ran = catch_unwind(AssertUnwindSafe(|| self.run(&mut encoded, &mut decoded)));
        let (taken, made) = (encoded.written_len(), decoded.written_len());
        self.taken += taken as u64;
        ran.unwrap_or(Err(DecodeFlaw::Stuck)).map_err(|flaw| self.flawed(flaw))?;
        self.charge(made)?;
        input.advance(taken);
        let piece = scratch.get(..made).map(Bytes::copy_from_slice).unwrap_or_default();
        self.scratch = scratch;
        if piece.is_empty() && input.is_empty() { Ok(None) } else { Ok(Some(piece)) }
    }

    /// Runs until all of `encoded` is taken, or `decoded` is full. Returns an error, or makes progress.
    fn run(
        &mut self,
        encoded: &mut PartialBuffer<&[u8]>,
        decoded: &mut WriteBuffer<'_>,
    ) -> Result<(), DecodeFlaw> {
        while !decoded.has_no_spare_space() {
            match encoded.unwritten().first() {
                Some(&byte) if self.place != BodyPosition::Inside => self.enter(byte)?,
                None if !self.full || self.place != BodyPosition::Inside => return Ok(()),
                _ => {}
            }
            let drains = encoded.unwritten().is_empty();
            let before = (encoded.written_len(), decoded.written_len());
            let ended = if drains && self.coding == ContentCoding::Gzip {
                // Without input, the deflate decoder returns what is pending and reports the end as an error; `flush`
                // does not.
                self.codec.flush(decoded).map(|_| false)
            } else {
                self.codec.decode(encoded, decoded)
            };
            let ended = ended.map_err(DecodeFlaw::Codec)?;
            self.full = !ended && decoded.has_no_spare_space();
            if ended {
                self.place = BodyPosition::Between;
            } else if !drains && before == (encoded.written_len(), decoded.written_len()) {
                return Err(DecodeFlaw::Stuck);
            }
        }
        Ok(())
    }

    /// Takes the first byte of a member, a frame or the stream.
    fn enter(&mut self, byte: u8) -> Result<(), DecodeFlaw> {
        match (self.coding, self.place) {
            // RFC 7932 has no window that begins like this; the codec would allocate up to 1 GiB for it.
            (ContentCoding::Brotli, BodyPosition::Start) if byte & 0x7F == 0x11 => {
                return Err(DecodeFlaw::LargeWindow);
            }
            (_, BodyPosition::Start) => {}
            (ContentCoding::Gzip, _) if byte == 0x1F => {}
            // The magic numbers are 0xFD2FB528 and, for skippable frames, 0x184D2A50 to 0x184D2A5F, low byte first.
            (ContentCoding::Zstd, _) if byte == 0x28 || byte & 0xF0 == 0x50 => {}
            _ => return Err(DecodeFlaw::Trailing),
        }
        if self.place == BodyPosition::Between {
            self.codec.reinit().map_err(DecodeFlaw::Codec)?;
        }
        self.place = BodyPosition::Inside;
        Ok(())
    }

    fn charge(&mut self, made: usize) -> Result<(), Error> {
        self.made += made as u64;
        let (max_bytes, max_ratio) = (self.decoding.max_bytes(), self.decoding.max_ratio());
        let raise = if self.made > max_bytes {
            let message = format!("the body decodes to more than {max_bytes} bytes");
            Raise::limit(LimitName::MaxBytes, message)
        } else if self.made > self.taken.saturating_mul(max_ratio).saturating_add(ALLOWANCE) {
            let message = format!("the body decodes to more than {max_ratio} times its length");
            Raise::limit(LimitName::MaxRatio, message)
        } else {
            return Ok(());
        };
        Err(Error::from(raise))
    }

    fn flawed(&self, flaw: DecodeFlaw) -> Error {
        let name = self.coding.as_str();
        let refused = |reason: &dyn Display| {
            Error::new(ErrorKind::Encoding, format!("cannot decode the {name} body: {reason}"))
        };
        match flaw {
            // The codec's only error has no details.
            DecodeFlaw::Codec(_) if self.coding == ContentCoding::Brotli => {
                refused(&"it is corrupt")
            }
            DecodeFlaw::Codec(error) => {
                let reason = error.to_string();
                // The message is libzstd's. The offset of the frame's header is not available.
                if self.coding == ContentCoding::Zstd && reason.contains("too much memory") {
                    refused(&"its window has more than 8 MiB (RFC 9659)")
                } else {
                    refused(&reason)
                }
            }
            DecodeFlaw::Stuck => refused(&"the decoder failed"),
            DecodeFlaw::LargeWindow => refused(&"its window has more than 16 MiB (RFC 7932)"),
            DecodeFlaw::Trailing => {
                let message = format!("trailing bytes after the {name} body");
                Error::in_encoded(ErrorKind::Encoding, message, self.taken)
            }
        }
    }
}
