//! Places and strings in JSON documents, for programs that route or edit messages without a tree.
//!
//! A [`ValueFinder`] finds the values at given paths while a document streams through. Such a program then replaces some of
//! these values and copies everything else, byte for byte. [`StringDecoder`] and [`StringEncoder`] read and write the
//! contents of strings in pieces.
//!
//! Rules that keep or drop values are in [`Spec`](crate::Spec) instead.
//!
//! ```
//! use tamis::Sink;
//! use tamis::json::{StringDecoder, StringEncoder, ValuePaths};
//!
//! let message = br#"{ "text": "\u0022ok\u0022", "id": 1.0 }"#;
//! let found = ValuePaths::new(["text"])?.find(message)?;
//! let [text] = found.as_slice() else { return Ok(()) };
//! // The contents, without the quotes.
//! let contents = text.span.start as usize + 1..text.span.end as usize - 1;
//!
//! let mut decoded = Vec::new();
//! let mut decoder = StringDecoder::new();
//! decoder.write(&message[contents.clone()], &mut decoded)?;
//! decoder.end()?;
//!
//! let mut edited = message[..contents.start].to_vec();
//! StringEncoder::new(&mut edited).write(&decoded.to_ascii_uppercase());
//! edited.extend_from_slice(&message[contents.end..]);
//! assert_eq!(edited, br#"{ "text": "\"OK\"", "id": 1.0 }"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use tamis_json::strings::{StringDecoder, StringEncoder, StringError, StringErrorKind};
pub use tamis_json::values::{FoundValue, JsonKind, ValueFinder, ValuePaths};
