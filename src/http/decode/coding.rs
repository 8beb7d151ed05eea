//! The content codings that can be decoded, and the limits of decoding.
//!
//! Names and numbers only; nothing about how they are decoded.

use tamis_json::error::{Error, ErrorKind};

/// A content coding that can be decoded (RFC 9110, section 8.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContentCoding {
    /// `gzip` (RFC 1952). Several members are decoded as one text.
    Gzip,
    /// `br`, Brotli (RFC 7932).
    Brotli,
    /// `zstd` (RFC 8878). Several frames are decoded as one text; skippable frames are skipped.
    Zstd,
}

impl ContentCoding {
    /// Parses the value of `Content-Encoding`: `gzip` or `x-gzip`, `br`, `zstd`, in any case. Returns `None` for `identity` and for
    /// an empty value, because the body is not encoded then.
    ///
    /// # Errors
    /// [`ErrorKind::Encoding`](crate::ErrorKind::Encoding) for any other coding, and for more than one: encoding twice has no use
    /// except for a decompression bomb.
    ///
    /// ```
    /// use tamis::http::ContentCoding;
    ///
    /// assert_eq!(ContentCoding::from_content_encoding(" GZIP")?, Some(ContentCoding::Gzip));
    /// assert_eq!(ContentCoding::from_content_encoding("identity")?, None);
    /// assert!(ContentCoding::from_content_encoding("compress").is_err());
    /// assert!(ContentCoding::from_content_encoding("gzip, br").is_err());
    /// # Ok::<(), tamis::Error>(())
    /// ```
    pub fn from_content_encoding(value: &str) -> Result<Option<Self>, Error> {
        // Empty elements of a list are ignored (RFC 9110, section 5.6.1.2).
        let mut names =
            value.split(',').map(|name| name.trim_matches([' ', '\t'])).filter(|it| !it.is_empty());
        let Some(name) = names.next() else { return Ok(None) };
        if names.next().is_some() {
            return Err(refused("expected a single content coding", value));
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
            Err(refused("expected the content coding gzip, br or zstd", name))
        }
    }

    /// Returns the name in `Content-Encoding`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// Creates an error that quotes the start of an untrusted value.
fn refused(reason: &str, value: &str) -> Error {
    const SHOWN: usize = 40;
    let start: String = value.chars().take(SHOWN).collect();
    let more = if value.chars().nth(SHOWN).is_some() { "…" } else { "" };
    Error::new(ErrorKind::Encoding, format!("{reason}, not `{}{more}`", start.escape_debug()))
}

/// The limits of decoding, because a few bytes can decode to gigabytes. Beyond them it fails with
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit).
///
/// Decoded text is never held: it is filtered in pieces of at most 64 KiB. So these limits bound work, not memory. The memory of a
/// decoder depends on its coding and not on the body. The maximum is:
///
/// | coding | memory | because |
/// |---|---|---|
/// | `gzip` | 0.2 MiB | its window has 32 KiB (RFC 1951) |
/// | `br` | 28 MiB | a window of 16 MiB (RFC 7932), next to one of 8 MiB while it grows, and tables; "large windows" are refused |
/// | `zstd` | 9 MiB | a window of 8 MiB (RFC 9659); larger ones are refused |
///
/// ```
/// use tamis::http::DecodeOptions;
///
/// let options = DecodeOptions::new().with_max_bytes(64 << 20);
/// assert_eq!((options.max_bytes(), options.max_ratio()), (64 << 20, 256));
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
    /// Creates options with the defaults documented at each setter.
    #[must_use]
    pub const fn new() -> Self {
        Self { max_ratio: 256, max_bytes: 1 << 30 }
    }

    /// Sets the maximum of decoded bytes per encoded byte. The first 1 MiB is exempt.
    ///
    /// ### Default
    /// The ratio 256. In gzip, JSON records that differ in a number and a URL have a ratio of about 30, equal ones of
    /// about 250. The maximum of gzip is 1,032; `br` and `zstd` have none.
    ///
    /// ### Caveat
    /// The ratio is checked after each piece, for all bytes decoded so far. A body may exceed it in the middle and not as a whole.
    /// The byte at which it is exceeded depends on the chunks, by up to one piece.
    #[must_use]
    pub const fn with_max_ratio(mut self, bytes: u64) -> Self {
        self.max_ratio = bytes;
        self
    }

    /// Sets the maximum size of the decoded body in bytes.
    ///
    /// ### Default
    /// 1 GiB.
    #[must_use]
    pub const fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Returns the maximum of decoded bytes per encoded byte.
    #[must_use]
    pub const fn max_ratio(&self) -> u64 {
        self.max_ratio
    }

    /// Returns the maximum size of the decoded body in bytes.
    #[must_use]
    pub const fn max_bytes(&self) -> u64 {
        self.max_bytes
    }
}
