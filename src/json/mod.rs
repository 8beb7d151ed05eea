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

// The rest of this module is internal: JSON as events. It does not depend on rules. The machine walks the tokens of a
// window, validates them, and asks its `Handler` about each value. The handler returns an `Interest`, which says how
// little work the value needs. With a `Policy` the handler states in advance what it would return for the members of a
// container, so that the machine need not ask about each.

pub(crate) mod bom;
pub(crate) mod key;
pub(crate) mod levels;
pub(crate) mod machine;
mod path_tracker;
pub(crate) mod policy;
mod scalar;
pub(crate) mod strings;
mod values;
pub(crate) mod writer;

pub use strings::{StringDecoder, StringEncoder, StringError, StringErrorKind};
pub use values::{FoundValue, JsonKind, ValueFinder, ValuePaths};

use crate::error::Raise;
use key::RawKey;
use policy::Policy;

/// The kind of a value, known from its first byte (for strings: from the second).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Object,
    Array,
    String,
    /// `""`. Reported as [`String`](Self::String) unless [`machine::MachineConfig::detect_empty_strings`] is set.
    EmptyString,
    Number,
    Bool,
    Null,
}

impl ValueKind {
    pub(crate) fn is_container(self) -> bool {
        matches!(self, Self::Object | Self::Array)
    }
}

/// The place of a value in its parent.
#[derive(Clone, Copy)]
pub(crate) enum ValueSlot<'a> {
    /// The document itself.
    Top,
    /// A member of the object that was entered last.
    Member(RawKey<'a>),
    /// An element of the array that was entered last, counted from 0.
    Element(u64),
}

/// The interest of a handler in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Drop the value.
    Skip,
    /// Drop the value and the rest of its container.
    SkipRest,
    /// Copy the value: pass its bytes to [`Handler::raw`], then call [`Handler::copied`].
    Copy,
    /// Copy the value like [`Copy`](Self::Copy), preceded by the member's key and colon as they are spelled.
    CopyMember,
    /// Ask about each of its members or elements, then call [`Handler::close`]. Only for containers.
    Inspect,
    /// Stop before the value. If it is a container, the run can be continued later: the machine then asks about the
    /// value again.
    Stop,
}

/// Receives the events of a document, in document order.
///
/// The machine asks a handler about a value as soon as the value's first byte is valid. The bytes after it may still be
/// invalid; the handler then receives the bytes before the error and no further call.
pub(crate) trait Handler {
    /// Returns the interest in a value. `offset` is the byte that decides its kind. Must not return
    /// [`Interest::Inspect`] for a scalar.
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise>;

    /// Returns what the machine may do with the members or elements of the container that was entered last without a
    /// call of [`value`](Self::value). Called when the machine enters a container and when it returns to it; the
    /// machine may also ignore the policy and ask.
    #[inline]
    fn policy(&mut self) -> Policy<'_> {
        Policy::ASK
    }

    /// Ends the container that was entered last. Its closing bracket is at this offset.
    fn close(&mut self, offset: u64) -> Result<(), Raise>;

    /// Receives bytes of a copied value. White space outside strings is already removed, unless it is kept.
    fn raw(&mut self, bytes: &[u8]);

    /// Ends a copied value. The byte at this offset shows that it has ended.
    fn copied(&mut self, offset: u64) -> Result<(), Raise> {
        _ = offset;
        Ok(())
    }

    /// Receives white space before the next token. Only called if white space is kept.
    fn lead(&mut self, bytes: &[u8]) {
        _ = bytes;
    }

    /// Receives the bytes between a key and the next value, including the colon. Only called if white space is kept.
    fn gap(&mut self, bytes: &[u8]) {
        _ = bytes;
    }

    /// Whether members of the object that was entered last whose keys are longer than `limit` bytes, as spelled, can be
    /// handled without their keys.
    fn takes_long_keys(&self, limit: usize) -> bool {
        _ = limit;
        false
    }
}
