//! The contents of JSON strings: escapes that may be cut anywhere, decoded and encoded.
//!
//! [`unescape`] and [`escape`] do the work, without errors. [`StringDecoder`] and [`StringEncoder`] are their public
//! form.
//!
//! **Lone surrogates** are not characters and have no UTF-8 encoding. In decoded text, the escape of one is a unit of
//! five bytes that does not occur in UTF-8: `FF`, and a continuation byte for each of its four digits, none of which is
//! a C1 control. So no pattern mistakes it for text, nothing cuts it in two, and it can be encoded as the original
//! escape, including the case of its digits. The public decoder reports it as an error instead.

mod decoder;
mod encoder;
mod escape;
#[cfg(test)]
mod tests;
mod unescape;

pub use decoder::{StringDecoder, StringError, StringErrorKind};
pub use encoder::StringEncoder;
pub use escape::StringEscaper;
pub use unescape::StringUnescaper;

/// First byte of a lone surrogate.
const LONE: u8 = 0xFF;
/// Added to the index of a digit in [`DIGITS`].
const DIGIT: u8 = 0xA0;
/// Hexadecimal digits in every spelling. The index of a digit is what represents it after [`LONE`].
const DIGITS: &[u8; 22] = b"0123456789abcdefABCDEF";
