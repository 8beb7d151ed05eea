//! The engine of [tamis](https://docs.rs/tamis): reads JSON as events while its bytes arrive, and writes it, without knowing rules.
//!
//! **Internal: no stable API.** Everything that programs may rely on is exported by `tamis`: use `tamis::json`,
//! `tamis::Error`, `tamis::Limits` and `tamis::Sink`. This crate is deliberately free of rules, formats, files (but
//! the anonymous one of [`spill`]), threads and features. It has the only unsafe code of the project, in the kernels of
//! [`scan`].
//!
//! | module | for |
//! |---|---|
//! | [`scan`] | bit masks of blocks of 64 bytes, without a grammar |
//! | [`path`] | parses paths, and follows many of them at once along a document |
//! | [`machine`] | walks the tokens of a window, validates them, and asks a [`Handler`] about each value; carries out its [`policy`] in loops |
//! | [`strings`], [`key`], [`values`], [`writer`] | the contents of strings, keys, places of values, output |
//! | [`event_fields`] | the lines and fields of an event stream |
//! | [`tree`] | a document as raw pieces, for patches that cannot stream |
//! | [`spill`], [`hold`], [`limits`], [`regex_budget`] | bytes that wait for a decision, and bounds |
//! | [`error`], [`sink`], [`excerpt`], [`nearest`], [`glob`] | errors and their places, where output goes, names |
//! | [`test_work`], [`fast_paths`] | counters of work and switches of shortcuts, only with debug assertions |
//!
//! The machine walks the tokens of a window, validates them, and asks its [`Handler`] about each value. The handler returns
//! an [`Interest`], which says how little work the value needs. With a [`Policy`] the handler states in advance what it would
//! return for the members of a container, so that the machine need not ask about each.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "internal: its documentation is for those who change it"
)]
#![expect(
    clippy::new_without_default,
    clippy::len_without_is_empty,
    reason = "internal: it has what tamis calls, and no more"
)]

pub mod bom;
pub mod error;
pub mod event_fields;
pub mod excerpt;
pub mod fast_paths;
pub mod glob;
pub mod hold;
pub mod key;
pub mod levels;
pub mod limits;
pub mod machine;
pub mod nearest;
pub mod path;
mod path_tracker;
pub mod policy;
pub mod regex_budget;
mod scalar;
pub mod scan;
pub mod sink;
pub mod spill;
pub mod strings;
pub mod test_work;
pub mod tokens;
pub mod tree;
pub mod values;
pub mod writer;

pub use error::{Error, ErrorKind, Fault};
pub use limits::Limits;
pub use sink::Sink;
pub use strings::{StringDecoder, StringEncoder, StringError, StringErrorKind};
pub use values::{FoundValue, JsonKind, ValueFinder, ValuePaths};

use crate::error::Raise;
use key::RawKey;
use machine::ObjectAhead;
use policy::Policy;

/// The kind of a value, known from its first byte (for strings: from the second).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// `""`. Reported as [`String`](Self::String) unless [`machine::MachineConfig::detect_empty_strings`] is set.
    EmptyString,
    /// A number, of any size.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

impl ValueKind {
    /// Whether the value has members or elements.
    pub fn is_container(self) -> bool {
        matches!(self, Self::Object | Self::Array)
    }
}

/// The place of a value in its parent.
#[derive(Clone, Copy)]
pub enum ValueSlot<'a> {
    /// The document itself.
    Top,
    /// A member of the object that was entered last.
    Member(RawKey<'a>),
    /// An element of the array that was entered last, counted from 0.
    Element(u64),
}

/// The interest of a handler in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
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
pub trait Handler {
    /// Returns the interest in a value. `offset` is the byte that decides its kind. Must not return
    /// [`Interest::Inspect`] for a scalar.
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise>;

    /// Looks at an element that is an object, or at a document that is one, before the machine asks for the interest in it.
    /// A handler may ignore it. After a stop it comes once more for the same object.
    #[inline]
    fn look_ahead(&mut self, object: &mut ObjectAhead<'_>) {
        _ = object;
    }

    /// Returns what the machine may do with the members or elements of the container that was entered last without a
    /// call of [`value`](Self::value). Called when the machine enters a container and when it returns to it; the
    /// machine may also ignore the policy and ask.
    #[inline]
    fn policy(&mut self) -> Policy<'_> {
        Policy::ASK
    }

    /// Enters the element at `index` of the container that was entered last, an object, and returns the policy for its
    /// members: [`value`](Self::value) and [`policy`](Self::policy) in one. `None`, and nothing is written or counted, if the
    /// machine must ask.
    ///
    /// If the object ends before the policy asks about a member, [`leave_object`](Self::leave_object) comes next, or
    /// [`drop_object`](Self::drop_object) if a member fails a test of the policy. Otherwise
    /// [`stay_in_object`](Self::stay_in_object) comes, and then the events of its other members.
    #[inline]
    fn enter_object(&mut self, index: u64) -> Option<Policy<'_>> {
        _ = index;
        None
    }

    /// Ends the object that [`enter_object`](Self::enter_object) has entered.
    #[inline]
    fn leave_object(&mut self) {}

    /// Drops the object that [`enter_object`](Self::enter_object) has entered, and what was written of it.
    #[inline]
    fn drop_object(&mut self) {}

    /// Makes the object that [`enter_object`](Self::enter_object) has entered the container that was entered last. Returns
    /// `false` if the machine must ask about the object instead; what was written of it is taken back. `container`: the next
    /// member has a container.
    #[inline]
    fn stay_in_object(&mut self, container: bool) -> bool {
        _ = container;
        true
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
