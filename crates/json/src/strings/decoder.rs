//! The public decoder: the unescaper with errors.

use std::fmt;

use super::unescape::StringUnescaper;

/// Decodes the contents of a JSON string, as they are spelled between its quotes, to text.
///
/// Use it to read a string of any length from a document whose places are known, for example from a
/// [`FoundValue`](crate::FoundValue). Bytes are pushed in, in chunks cut anywhere, also within an escape.
///
/// Escapes and quotes are checked. Control characters and UTF-8 are not: [`ValueFinder`](crate::ValueFinder) has checked
/// them.
///
/// ```
/// use tamis::json::{StringDecoder, StringErrorKind};
///
/// let (mut decoder, mut text) = (StringDecoder::new(), Vec::new());
/// for chunk in [r"caf\u", r"00e9 \ud83d", r"\ude00\n"] {
///     decoder.write(chunk.as_bytes(), &mut text)?;
/// }
/// decoder.end()?;
/// assert_eq!(text, "café \u{1f600}\n".as_bytes());
///
/// // Half a pair of surrogates is no character.
/// let error = StringDecoder::new().write(br"ab\ude00", &mut text).unwrap_err();
/// assert_eq!((error.kind(), error.offset()), (StringErrorKind::LoneSurrogate, 2));
/// # Ok::<(), tamis::json::StringError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct StringDecoder {
    unescape: StringUnescaper,
}

impl StringDecoder {
    /// Creates a decoder for one string.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a decoder that replaces each lone surrogate by U+FFFD, as the UTF-8 encoder of the
    /// [Encoding Standard](https://encoding.spec.whatwg.org/#interface-textencoder) does.
    ///
    /// ```
    /// use tamis::json::StringDecoder;
    ///
    /// let (mut decoder, mut text) = (StringDecoder::lossy(), Vec::new());
    /// decoder.write(br"cut here: \ud83d", &mut text)?;
    /// decoder.end_into(&mut text)?;
    /// assert_eq!(text, "cut here: \u{fffd}".as_bytes());
    /// # Ok::<(), tamis::json::StringError>(())
    /// ```
    #[must_use]
    pub fn lossy() -> Self {
        Self { unescape: StringUnescaper::lossy() }
    }

    /// Decodes the next bytes between the quotes, and appends their text. An escape that is not complete is held.
    ///
    /// # Errors
    /// The bytes have a lone surrogate, an invalid escape or an unescaped quote. The text before it was appended. All
    /// further calls return the same error.
    pub fn write(&mut self, content: &[u8], text: &mut Vec<u8>) -> Result<(), StringError> {
        if let Some((error, _)) = self.unescape.error() {
            return Err(error);
        }
        self.unescape.write(content, text);
        match self.unescape.error() {
            Some((error, end)) => {
                text.truncate(end);
                Err(error)
            }
            None => Ok(()),
        }
    }

    /// Ends the string. No text is pending then, unless the decoder is [`lossy`](Self::lossy).
    ///
    /// # Errors
    /// An escape is not complete, or the last one is half a pair of surrogates; or an earlier call failed.
    pub fn end(&mut self) -> Result<(), StringError> {
        self.end_into(&mut Vec::new())
    }

    /// Ends the string, and appends what stands for a lone surrogate at its end.
    ///
    /// # Errors
    /// As [`end`](Self::end), but a lone surrogate is an error only if the decoder is not [`lossy`](Self::lossy).
    pub fn end_into(&mut self, text: &mut Vec<u8>) -> Result<(), StringError> {
        if self.unescape.is_within_escape() {
            let before = text.len();
            self.unescape.end(text);
            if self.unescape.error().is_some() {
                text.truncate(before);
            }
        }
        self.unescape.error().map_or(Ok(()), |(error, _)| Err(error))
    }
}

/// The reason why the contents of a string cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringError {
    kind: StringErrorKind,
    offset: u64,
}

/// The class of a [`StringError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StringErrorKind {
    /// An escape is half a pair of surrogates (`\ud83d` without `\ude00`). The string is valid JSON, but it has no text.
    LoneSurrogate,
    /// A backslash is not followed by a known letter, or `\u` is not followed by four hexadecimal digits.
    InvalidEscape,
    /// A quote without a backslash: the string ended before.
    UnescapedQuote,
    /// The contents end within an escape.
    Incomplete,
}

impl StringError {
    pub(super) fn new(kind: StringErrorKind, offset: u64) -> Self {
        Self { kind, offset }
    }

    /// Returns the class of this error.
    #[must_use]
    pub fn kind(&self) -> StringErrorKind {
        self.kind
    }

    /// Returns the byte of the contents at which decoding failed, counted from 0: that of the backslash or of the quote,
    /// or the length of the contents if they end too early.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

impl fmt::Display for StringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = match self.kind {
            StringErrorKind::LoneSurrogate => "lone surrogate in a string",
            StringErrorKind::InvalidEscape => "invalid escape sequence",
            StringErrorKind::UnescapedQuote => "unescaped quote in a string",
            StringErrorKind::Incomplete => "the string ends within an escape sequence",
        };
        write!(f, "byte {}: {message}", self.offset)
    }
}

impl std::error::Error for StringError {}
