//! Which content codings may be decoded, and how much a body may become.
//!
//! Knows names and numbers; nothing of how they are decoded.

use crate::error::{Error, ErrorKind};

/// A content coding that can be decoded (RFC 9110, section 8.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContentCoding {
    /// `gzip` (RFC 1952). Several members are one text.
    Gzip,
    /// `br`, Brotli (RFC 7932).
    Brotli,
    /// `zstd` (RFC 8878). Several frames are one text; skippable ones are skipped.
    Zstd,
}

impl ContentCoding {
    /// The coding that a field `Content-Encoding` names: `gzip` or `x-gzip`, `br`, `zstd`, in any case. None for `identity`
    /// and for a field without a name: such a body is the text itself.
    ///
    /// # Errors
    /// [`ErrorKind::Encoding`](crate::ErrorKind::Encoding) for any other coding, and for several of them: a body that was
    /// encoded twice has no use but to become a very large one.
    ///
    /// ```
    /// use tamis::ContentCoding;
    ///
    /// assert_eq!(ContentCoding::from_content_encoding(" GZIP")?, Some(ContentCoding::Gzip));
    /// assert_eq!(ContentCoding::from_content_encoding("identity")?, None);
    /// assert!(ContentCoding::from_content_encoding("compress").is_err());
    /// assert!(ContentCoding::from_content_encoding("gzip, br").is_err());
    /// # Ok::<(), tamis::Error>(())
    /// ```
    pub fn from_content_encoding(value: &str) -> Result<Option<Self>, Error> {
        // Empty elements of a list count for nothing (RFC 9110, section 5.6.1.2).
        let mut names =
            value.split(',').map(|name| name.trim_matches([' ', '\t'])).filter(|it| !it.is_empty());
        let Some(name) = names.next() else { return Ok(None) };
        if names.next().is_some() {
            return Err(refused("a body is decoded from one content coding", value));
        }
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("identity") {
            Ok(None)
        } else if is("gzip") || is("x-gzip") {
            Ok(Some(Self::Gzip))
        } else if is("br") {
            Ok(Some(Self::Brotli))
        } else if is("zstd") {
            Ok(Some(Self::Zstd))
        } else {
            Err(refused("content codings that are decoded are gzip, br and zstd", name))
        }
    }

    /// The name in `Content-Encoding`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// An error that shows the start of what a stranger wrote.
fn refused(reason: &str, value: &str) -> Error {
    const SHOWN: usize = 40;
    let start: String = value.chars().take(SHOWN).collect();
    let more = if value.chars().nth(SHOWN).is_some() { "…" } else { "" };
    Error::new(ErrorKind::Encoding, format!("{reason}, not `{}{more}`", start.escape_debug()))
}

/// Upper bounds of what an encoded body may become: a few bytes can decode to gigabytes. Beyond them decoding fails with
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit).
///
/// Decoded text is never held: it goes to the filter in pieces of at most 64 KiB. So these bound work, not memory. What a
/// decoder takes beside that does not depend on the body but on its coding, at most:
///
/// | coding | memory | because |
/// |---|---|---|
/// | `gzip` | 0.2 MiB | its window has 32 KiB (RFC 1951) |
/// | `br` | 28 MiB | a window of 16 MiB (RFC 7932), beside one of 8 MiB while it grows, and tables; "large windows" are refused |
/// | `zstd` | 9 MiB | a window of 8 MiB (RFC 9659); larger ones are refused |
///
/// ```
/// use tamis::DecodeOptions;
///
/// let decoding = DecodeOptions::new().with_max_bytes(64 << 20);
/// assert_eq!((decoding.max_bytes(), decoding.max_ratio()), (64 << 20, 256));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeOptions {
    max_ratio: u64,
    max_bytes: u64,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl DecodeOptions {
    /// The defaults that each setter names.
    #[must_use]
    pub const fn new() -> Self {
        Self { max_ratio: 256, max_bytes: 1 << 30 }
    }

    /// Decoded bytes for each encoded byte, beyond a first allowance of 1 MiB.
    ///
    /// ### Default
    /// 256 bytes. In gzip, JSON records that differ in a number and a URL have about 30, equal ones about 250, and none has more
    /// than 1,032; `br` and `zstd` have no such end.
    ///
    /// ### Caveat
    /// Asked for each piece, of all that was decoded so far: a body may reach it in the middle and not as a whole. How a body
    /// is cut into chunks moves the byte at which it is reached by up to a piece.
    #[must_use]
    pub const fn with_max_ratio(mut self, bytes: u64) -> Self {
        self.max_ratio = bytes;
        self
    }

    /// Bytes that a body may decode to.
    ///
    /// ### Default
    /// 1 GiB.
    #[must_use]
    pub const fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Decoded bytes for each encoded byte.
    #[must_use]
    pub const fn max_ratio(&self) -> u64 {
        self.max_ratio
    }

    /// Bytes that a body may decode to.
    #[must_use]
    pub const fn max_bytes(&self) -> u64 {
        self.max_bytes
    }
}
